import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { initialState, reduce } from "../../frontend/sdk/client.js";
import { formatsOf } from "../../frontend/sdk/speech.js";
import { OpusDecoding, OpusEncoding, opusCodecs } from "../../frontend/sdk/voice/opus.js";
import { Player } from "../../frontend/sdk/voice/player.js";

const BOTH = { encodes: true, decodes: true };
const PCM = { format: "pcm16", sample_rate: 16_000 };

/** A codec that works when it is told to. */
class FakeCodec {
  static made = [];
  static async isConfigSupported({ sampleRate }) {
    return { supported: sampleRate !== 44_100 };
  }
  constructor({ output, error }) {
    Object.assign(this, { output, error, state: "unconfigured", waiting: [], encodeQueueSize: 0 });
    FakeCodec.made.push(this);
  }
  configure(config) {
    this.state = "configured";
    this.config = config;
  }
  decode(chunk) {
    this.waiting.push(() => this.output(soundOf(new Uint8Array(chunk.data)[0])));
  }
  encode(sound) {
    this.waiting.push(() =>
      this.output({ byteLength: 1, copyTo: (into) => new Uint8Array(into).fill(sound.numberOfFrames / 320) }),
    );
  }
  flush() {
    return new Promise((resolve, reject) => {
      this.waiting.push(resolve);
      this.abort = reject;
    });
  }
  close() {
    this.state = "closed";
    this.waiting = [];
    this.abort?.(new Error("aborted"));
  }
  /** In tasks of their own, as browsers do. */
  async work() {
    await settled();
    for (const act of this.waiting.splice(0)) {
      act();
      await settled();
    }
  }
  async fail() {
    this.close();
    this.error(new Error("broken"));
    await settled();
  }
}

function soundOf(value) {
  return { numberOfFrames: 2, copyTo: (into) => into.fill(value / 32_767), close() {} };
}

async function settled() {
  for (let i = 0; i < 8; i += 1) await null;
}

const bytes = (...values) => Uint8Array.from(values).buffer;

beforeEach(() => {
  FakeCodec.made = [];
  globalThis.AudioEncoder = globalThis.AudioDecoder = FakeCodec;
  globalThis.EncodedAudioChunk = globalThis.AudioData = class {
    constructor(fields) {
      Object.assign(this, fields);
    }
    close() {}
  };
});

test("a browser without WebCodecs, and one that refuses, can do nothing of it", async () => {
  assert.deepEqual(await opusCodecs(), BOTH);

  FakeCodec.isConfigSupported = () => Promise.reject(new TypeError("no Opus"));
  assert.deepEqual(await opusCodecs(), { encodes: false, decodes: false });
  delete globalThis.AudioEncoder;
  delete globalThis.AudioDecoder;
  assert.deepEqual(await opusCodecs(), { encodes: false, decodes: false });
});

test("there is Opus where server and browser have it, for each direction", () => {
  const speech = { opus: { state: "ready" } };
  const of = (codecs, rate = 16_000, server = speech) => {
    const { input, output } = formatsOf({ codecs, speech: server, voice: { rate } });
    return [input.format, output?.format];
  };

  assert.deepEqual(of(BOTH), ["opus", "opus"]);
  assert.deepEqual(of({ encodes: false, decodes: true }), ["pcm16", "opus"]);
  assert.deepEqual(of(BOTH, 44_100), ["pcm16", "opus"]);
  assert.deepEqual(of(BOTH, 16_000, { opus: { state: "missing" } }), ["pcm16", "pcm16"]);
  assert.deepEqual(of(BOTH, 16_000, {}), ["pcm16", "pcm16"], "an older server");
  assert.deepEqual(of(null), ["pcm16", undefined]);
});

test("formats are sent once it is known what the browser can, and PCM where a codec fails", () => {
  const server = {
    type: "ready",
    skills: [],
    model: {},
    speech: { opus: { state: "ready" }, tts: {}, stt: {}, vad: {} },
    limits: {},
  };
  const settings = { speak: "spoken", turnDetection: "server_vad" };
  const configured = (state) => state.effects.find(({ frame }) => frame?.type === "configure")?.frame;
  let state = reduce(initialState("c", settings, {}), { type: "frame", frame: server, at: 0 });
  assert.deepEqual(configured(state).input, PCM);

  state = reduce(state, { type: "codecs", codecs: BOTH });
  const { type: _, ...formats } = configured(state);
  assert.deepEqual(formats, { input: { ...PCM, format: "opus" }, output: { format: "opus" } });

  state = reduce(state, { type: "codecs", codecs: { encodes: true, decodes: false } });
  assert.deepEqual(configured(state), { type: "configure", output: { format: "pcm16" } });
});

function playerPage() {
  const page = { posted: [], failures: 0 };
  const node = {
    port: { postMessage: ({ type, pcm }) => page.posted.push(pcm ? new Int16Array(pcm)[0] : type) },
    connect() {},
  };
  page.player = new Player({
    createContext: () => ({
      state: "running",
      resume: async () => {},
      close: async () => {},
    }),
    createNode: () => node,
    addWorklet: async () => {},
    onHeard: () => {},
    onFailed: assert.fail,
    onRestored: () => {},
    onBlocked: () => {},
    later: () => {},
    browser: "Chrome",
  });
  page.player.decodeWith(OpusDecoding, () => (page.failures += 1));
  page.sentence = (index, ...packets) => {
    page.player.begin("t", index, 24_000, "opus");
    for (const packet of packets) page.player.push(bytes(packet));
    page.player.end();
  };
  return page;
}

test("sound that is decoded later stays in its sentence", async () => {
  const page = playerPage();
  page.sentence(0, 1, 2);
  page.sentence(1, 3);
  page.player.begin("t", 2, 24_000);
  page.player.push(bytes(4, 0));
  await settled();
  assert.deepEqual(page.posted, ["begin"]);

  await FakeCodec.made[0].work();

  assert.deepEqual(page.posted, ["begin", 1, 2, "end", "begin", 3, "end", "begin", 4]);
  assert.equal(FakeCodec.made[0].config.sampleRate, 48_000);
});

test("of a reply that is cut, nothing comes after the cut", async () => {
  const page = playerPage();
  page.sentence(0, 1);
  page.sentence(1, 2);
  await settled();
  page.player.flush();
  await FakeCodec.made[0].work();
  page.sentence(0, 5);
  await FakeCodec.made[1].work();

  assert.deepEqual(page.posted, ["begin", "flush", "begin", 5, "end"]);
});

test("a decoder that fails ends its sentence, and says so", async () => {
  const page = playerPage();
  page.sentence(0, 1);
  await settled();
  await FakeCodec.made[0].fail();
  page.sentence(1, 2);
  await FakeCodec.made[1].work();

  assert.deepEqual(page.posted, ["begin", "end", "begin", 2, "end"]);
  assert.equal(page.failures, 1);
});

test("the microphone's frames become packets, at one rate each encoder", async () => {
  const packets = [];
  const encoding = new OpusEncoding((packet) => packets.push(new Uint8Array(packet)[0]), assert.fail);
  encoding.encode(new ArrayBuffer(640), 16_000);
  encoding.encode(new ArrayBuffer(640), 16_000);
  await FakeCodec.made[0].work();
  encoding.encode(new ArrayBuffer(1920), 48_000);
  await FakeCodec.made[1].work();

  assert.deepEqual(packets, [1, 1, 3]);
  assert.deepEqual(
    FakeCodec.made.map(({ config, state }) => [config.sampleRate, state]),
    [
      [16_000, "closed"],
      [48_000, "configured"],
    ],
  );
});

test("a busy encoder loses sound rather than time", () => {
  const encoding = new OpusEncoding(assert.fail, assert.fail);
  encoding.encode(new ArrayBuffer(640), 16_000);
  FakeCodec.made[0].encodeQueueSize = 100;
  encoding.encode(new ArrayBuffer(640), 16_000);

  assert.equal(FakeCodec.made[0].waiting.length, 1);
  encoding.close();
  assert.equal(FakeCodec.made[0].state, "closed");
});

test("decoding that nothing was given to does at once what it is asked", () => {
  const done = [];
  const decoding = new OpusDecoding(assert.fail, assert.fail);
  decoding.end();
  decoding.after(() => done.push(1));

  assert.deepEqual(done, [1]);
});
