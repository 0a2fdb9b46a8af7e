// The features with openai-node: OpenAIRealtimeWS over TLS.

import OpenAI from "openai";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
import { IMAGE, KEY, Refused, URL, check, question, report, speak } from "./features.mjs";

const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "The weather in a city.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

class Talk {
  constructor(props) {
    this.events = [];
    this.changed = () => {};
    this.socket = new OpenAIRealtimeWS(props, new OpenAI({ apiKey: KEY, baseURL: `${URL}/v1` }));
    this.socket.on("event", (event) => {
      this.events.push(event);
      this.changed();
    });
    this.socket.on("error", (error) => {
      this.error = error;
      this.changed();
    });
  }

  static async begin(session, props = { model: "gpt-realtime" }) {
    const talk = new Talk(props);
    await talk.until("session.created");
    talk.send({ type: "session.update", session: { type: "realtime", ...session } });
    await talk.until("session.updated");
    return talk;
  }

  send(event) {
    this.socket.send(event);
  }

  /** All events up to the next one of this type. */
  async until(type) {
    for (;;) {
      const at = this.events.findIndex((event) => event.type === type);
      if (at >= 0) return this.events.splice(0, at + 1);
      if (this.error) throw this.error;
      await new Promise((resolve) => (this.changed = resolve));
    }
  }

  async ask(text) {
    this.send({
      type: "conversation.item.create",
      item: { type: "message", role: "user", content: [{ type: "input_text", text }] },
    });
    this.send({ type: "response.create" });
    return this.until("response.done");
  }

  append(pcm) {
    this.send({ type: "input_audio_buffer.append", audio: pcm.toString("base64") });
  }
}

const joined = (events, type) => events.filter((e) => e.type === type).map((e) => e.delta).join("");

function checkSpoken(events) {
  const words = joined(events, "response.output_audio_transcript.delta");
  check(words === "It is noon.", words);
  const sound = events.filter((e) => e.type === "response.output_audio.delta").map((e) => Buffer.from(e.delta, "base64"));
  const size = Buffer.concat(sound).length;
  check(size === 48_000, size);
  return `${size / 48_000} s of sound`;
}

await report({
  async text_turn() {
    const talk = await Talk.begin({ output_modalities: ["text"] });
    const events = await talk.ask("What time is it?");
    check(joined(events, "response.output_text.delta") === "It is noon.", JSON.stringify(events.at(-1)));
    talk.socket.close();
    return `${events.at(-1).response.usage.total_tokens} tokens`;
  },

  async spoken_turn() {
    const talk = await Talk.begin({ audio: { input: { turn_detection: { type: "server_vad" } } } });
    speak((pcm) => talk.append(pcm));
    return checkSpoken(await talk.until("response.done"));
  },

  async manual_commit() {
    const talk = await Talk.begin({ audio: { input: { turn_detection: null } } });
    for (const piece of question()) talk.append(piece);
    talk.send({ type: "input_audio_buffer.commit" });
    talk.send({ type: "response.create" });
    const detail = checkSpoken(await talk.until("response.done"));
    talk.socket.close();
    return detail;
  },

  async client_tool() {
    const talk = await Talk.begin({ output_modalities: ["text"], tools: [WEATHER] });
    const [call] = (await talk.ask("How is the weather?")).at(-1).response.output;
    const output = { type: "function_call_output", call_id: call.call_id, output: `${call.arguments}: rain` };
    talk.send({ type: "conversation.item.create", item: output });
    talk.send({ type: "response.create" });
    const reply = joined(await talk.until("response.done"), "response.output_text.delta");
    check(reply.includes("rain"), reply);
    talk.socket.close();
    return reply;
  },

  async interruption() {
    const talk = await Talk.begin({ audio: { input: { turn_detection: null } } });
    const told = talk.ask("Tell me a story.");
    await new Promise((resolve) => talk.socket.on("response.output_audio.delta", resolve));
    talk.send({ type: "response.cancel" });
    const events = await told;
    check(events.at(-1).response.status === "cancelled", events.at(-1).response.status);
    const { item_id } = events.find((event) => event.type === "response.output_audio.delta");
    talk.send({ type: "conversation.item.truncate", item_id, content_index: 0, audio_end_ms: 400 });
    await talk.until("conversation.item.truncated");
    const reply = joined(await talk.ask("What time is it?"), "response.output_audio_transcript.delta");
    check(reply.includes("This is") && !reply.includes("number 2"), reply);
    talk.socket.close();
    return reply;
  },

  async transcription() {
    const talk = new Talk({ intent: "transcription" });
    await talk.until("session.created");
    const input = { transcription: { model: "whisper-1" } };
    talk.send({ type: "session.update", session: { type: "transcription", audio: { input } } });
    speak((pcm) => talk.append(pcm));
    return (await talk.until("conversation.item.input_audio_transcription.completed")).at(-1).transcript;
  },

  async image() {
    const talk = await Talk.begin({ output_modalities: ["text"] });
    const content = [{ type: "input_image", image_url: IMAGE }, { type: "input_text", text: "What is this?" }];
    talk.send({ type: "conversation.item.create", item: { type: "message", role: "user", content } });
    talk.send({ type: "response.create" });
    const reply = joined(await talk.until("response.done"), "response.output_text.delta");
    check(reply === "A picture.", reply);
    talk.socket.close();
    return reply;
  },

  async mcp_by_address() {
    const talk = await Talk.begin({});
    const tools = [{ type: "mcp", server_label: "theirs", server_url: "https://mcp.example.com/" }];
    talk.send({ type: "session.update", session: { type: "realtime", tools } });
    const { error } = (await talk.until("error")).at(-1);
    talk.socket.close();
    throw new Refused(`${error.code}: ${error.message}`);
  },
});
