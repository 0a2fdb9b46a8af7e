// The features with @openai/agents: RealtimeAgent and RealtimeSession over TLS, with a key of /v1/realtime/client_secrets.

import { RealtimeAgent, RealtimeSession, tool } from "@openai/agents/realtime";
import { z } from "zod";
import { IMAGE, KEY, URL, WS_URL, check, question, report, speak } from "./features.mjs";

const getWeather = tool({
  name: "get_weather",
  description: "The weather in a city.",
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `rain in ${city}`,
});

async function clientSecret() {
  const response = await fetch(`${URL}/v1/realtime/client_secrets`, {
    method: "POST",
    headers: { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify({ session: { type: "realtime", model: "gpt-realtime" } }),
  });
  check(response.ok, await response.clone().text());
  return (await response.json()).value;
}

class Talk {
  static async begin(config = {}, tools = []) {
    const talk = new Talk();
    talk.replies = [];
    talk.sound = [];
    talk.changed = () => {};
    const agent = new RealtimeAgent({ name: "Helper", instructions: "Be brief.", tools });
    talk.session = new RealtimeSession(agent, {
      transport: "websocket",
      model: "gpt-realtime",
      config,
      tracingDisabled: true,
    });
    talk.session.on("agent_end", (_context, _agent, text) => {
      talk.replies.push(text);
      talk.changed();
    });
    talk.session.on("audio", ({ data }) => {
      talk.sound.push(data);
      talk.changed();
    });
    talk.session.on("audio_interrupted", () => {
      talk.isInterrupted = true;
      talk.changed();
    });
    talk.session.on("history_updated", () => talk.changed());
    talk.session.on("error", ({ error }) => {
      talk.error = new Error(JSON.stringify(error?.error ?? error));
      talk.changed();
    });
    await talk.session.connect({ apiKey: await clientSecret(), url: `${WS_URL}/v1/realtime?model=gpt-realtime` });
    return talk;
  }

  async until(isSo) {
    while (!isSo()) {
      if (this.error) throw this.error;
      await new Promise((resolve) => (this.changed = resolve));
    }
  }

  async reply() {
    await this.until(() => this.replies.some(Boolean));
    return this.replies.filter(Boolean).at(-1);
  }

  /** The words of the user's items in the history. */
  heard() {
    const items = this.session.history.filter((item) => item.role === "user");
    return items.flatMap((item) => item.content).map((part) => part.transcript ?? part.text ?? "").join("|");
  }

  hear(pcm, options) {
    this.session.sendAudio(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.length), options);
  }

  checkSpoken(reply) {
    check(reply === "It is noon.", reply);
    const size = this.sound.reduce((sum, { byteLength }) => sum + byteLength, 0);
    check(size === 48_000, size);
    return `${size / 48_000} s of sound`;
  }
}

await report({
  async text_turn() {
    const talk = await Talk.begin({ outputModalities: ["text"] });
    talk.session.sendMessage("What time is it?");
    const reply = await talk.reply();
    check(reply === "It is noon.", reply);
    talk.session.close();
    return reply;
  },

  async spoken_turn() {
    const talk = await Talk.begin();
    const saying = speak((pcm) => talk.hear(pcm));
    const detail = talk.checkSpoken(await talk.reply());
    await saying;
    talk.session.close();
    return detail;
  },

  async manual_commit() {
    const talk = await Talk.begin({ audio: { input: { turnDetection: null } } });
    const pieces = question();
    pieces.forEach((piece, i) => talk.hear(piece, { commit: i === pieces.length - 1 }));
    talk.session.transport.requestResponse();
    const detail = talk.checkSpoken(await talk.reply());
    talk.session.close();
    return detail;
  },

  async client_tool() {
    const talk = await Talk.begin({ outputModalities: ["text"] }, [getWeather]);
    talk.session.sendMessage("How is the weather?");
    const reply = await talk.reply();
    check(reply.includes("rain in Berlin"), reply);
    talk.session.close();
    return reply;
  },

  async interruption() {
    const talk = await Talk.begin();
    talk.session.sendMessage("Tell me a story.");
    await talk.until(() => talk.sound.length);
    const saying = speak((pcm) => talk.hear(pcm), 1600); // while the story is told
    await talk.until(() => talk.isInterrupted && talk.replies.some((reply) => reply.startsWith("I said")));
    await saying;
    const reply = talk.replies.at(-1);
    check(!reply.includes("number 8"), reply);
    talk.session.close();
    return reply;
  },

  async transcription() {
    const talk = await Talk.begin();
    const saying = speak((pcm) => talk.hear(pcm));
    await talk.until(() => talk.heard() === "What time is it?");
    await saying;
    talk.session.close();
    return talk.heard();
  },

  async image() {
    const talk = await Talk.begin({ outputModalities: ["text"] });
    talk.session.addImage(IMAGE);
    const reply = await talk.reply();
    check(reply === "A picture.", reply);
    talk.session.close();
    return reply;
  },
});
