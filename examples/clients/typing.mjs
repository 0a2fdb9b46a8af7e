// A client in plain JavaScript: typed turns, tools that ask, and a history that keeps its hooks.
//
//   node examples/clients/typing.mjs ws://localhost:8765/ws      (Node 22 or later; no packages)
//
// What it leaves out: sound (docs/protocol.md, "Order": what was not heard stays out of the history), and connecting again.

import { createInterface } from "node:readline";

const socket = new WebSocket(process.argv[2] ?? "ws://localhost:8765/ws", ["parley.v1"]);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const history = []; // the server keeps nothing: all of it goes along with each turn
let turn = []; // what the turn under way adds to it
let state; // what the hooks of the server remember
let ended = () => {};

const send = (frame) => socket.send(JSON.stringify(frame));

const take = {
  ready: async ({ model }) => {
    console.log(`[${model.name} at ${model.host}]`);
    send({ type: "configure", voice: false });
    for (let line = await lines.next(); !line.done; line = await lines.next()) await say(line.value);
    socket.close();
  },
  text: ({ delta }) => process.stdout.write(delta),
  sentence: ({ text }) => {
    const last = turn.at(-1);
    if (last?.role === "assistant") last.content += text;
    else turn.push({ role: "assistant", content: text });
  },
  hook: ({ role, content, name, skill, sig }) => turn.push({ role, content, _hook: name, _skill: skill, _sig: sig }),
  tool_call: ({ name, arguments: given }) => console.log(`[${name} ${JSON.stringify(given)}]`),
  approval_request: async ({ id, message }) => {
    console.log(`[${message} (y/n)]`);
    send({ type: "approval", id, approved: (await lines.next()).value === "y" });
  },
  notice: ({ code, message }) => console.log(`[${code}: ${message}]`),
  error: ({ code, message, turn_id }) => {
    console.log(`[${code}: ${message}]`);
    if (!turn_id) ended(); // no turn comes of what was sent
  },
  turn_end: ({ reason, rollback, state: after = state }) => {
    console.log(reason === "completed" ? "" : `[${reason}]`);
    if (rollback) history.pop();
    else history.push(...turn);
    if (!rollback) state = after;
    ended();
  },
};

function say(content) {
  turn = [];
  history.push({ role: "user", content });
  send({ type: "chat", messages: history, state });
  return new Promise((resolve) => (ended = resolve));
}

socket.onmessage = ({ data }) => {
  const frame = JSON.parse(data); // without voice nothing binary comes
  take[frame.type]?.(frame); // what is not known is ignored
};
socket.onclose = ({ code }) => process.exit(code === 1000 ? 0 : 1);
socket.onerror = () => console.error("no server answers there");
