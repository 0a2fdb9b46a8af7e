// A client of OpenAI's Realtime API in plain JavaScript: typed turns, and a tool that runs here.
//
//   PARLEY_KEY=… node examples/clients/realtime.mjs ws://localhost:8765/v1/realtime      (Node 22 or later; no packages)
//
// The server keeps the conversation while the socket lives; docs/realtime.md says what it takes and sends.

import { createInterface } from "node:readline";
import { freemem, hostname } from "node:os";

const tools = {
  describe_computer: {
    description: "The name and the free memory of the user's computer.",
    parameters: { type: "object", properties: {} },
    run: () => ({ name: hostname(), free_megabytes: Math.round(freemem() / 2 ** 20) }),
  },
};

const protocols = ["realtime"];
if (process.env.PARLEY_KEY) protocols.push(`openai-insecure-api-key.${process.env.PARLEY_KEY}`);
const socket = new WebSocket(process.argv[2] ?? "ws://localhost:8765/v1/realtime", protocols);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
let answered = () => {};

const send = (event) => socket.send(JSON.stringify(event));
const add = (item) => send({ type: "conversation.item.create", item });

const take = {
  "session.created": ({ session }) => {
    console.log(`[${session.model}]`);
    const listed = Object.entries(tools).map(([name, { run: _, ...tool }]) => ({ type: "function", name, ...tool }));
    send({ type: "session.update", session: { type: "realtime", output_modalities: ["text"], tools: listed } });
  },
  "session.updated": async () => {
    for (let line = await lines.next(); !line.done; line = await lines.next()) {
      add({ type: "message", role: "user", content: [{ type: "input_text", text: line.value }] });
      send({ type: "response.create" });
      await new Promise((resolve) => (answered = resolve));
    }
    socket.close();
  },
  "response.output_text.delta": ({ delta }) => process.stdout.write(delta),
  "response.done": async ({ response }) => {
    const calls = response.output.filter((item) => item.type === "function_call");
    for (const { call_id, name, arguments: given } of calls) {
      console.log(`[${name} ${given}]`);
      add({ type: "function_call_output", call_id, output: JSON.stringify(await tools[name].run(JSON.parse(given))) });
    }
    if (calls.length) return send({ type: "response.create" }); // the model goes on with the results
    console.log(response.status === "completed" ? "" : `[${response.status}]`);
    answered();
  },
  error: ({ error }) => {
    console.log(`[${error.code}: ${error.message}]`);
    answered();
  },
};

socket.onmessage = ({ data }) => {
  const event = JSON.parse(data);
  take[event.type]?.(event);
};
socket.onclose = ({ code }) => process.exit(code === 1000 ? 0 : 1);
socket.onerror = () => console.error("no server answers there");
