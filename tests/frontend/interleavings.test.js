/**
 * Any order of frames, sound, keys, losses and playback: nothing of a turn that
 * was cut is heard after its cut, and the history is what was heard.
 *
 * COUNT=10000 node --test tests/frontend/interleavings.test.js; SEED=n runs one.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Player } from "../../frontend/js/voice/player.js";
import { PlayerCore } from "../../frontend/js/voice/player_core.js";
import { Page, READY, seeded, turn } from "./support.js";

const COUNT = Number(process.env.COUNT ?? 200);
const SEED = process.env.SEED === undefined ? null : Number(process.env.SEED);
const STEPS = 120;
const RATE = 8_000; // of sentences and of the loudspeaker: a sample in is a sample out
const WORDS = "alpha beta gamma delta epsilon zeta".split(" ");

/** A server that keeps the protocol's order, behind a wire that takes its time in both directions. */
class FakeServer {
  constructor(random) {
    this.random = random;
    this.down = []; // frames and sound on their way to the page
    this.turn = null;
    this.utterance = null; // {id, phase: "maybe" | "speaking" | "stopped"}
    this.count = 0;
  }

  receive(frame) {
    switch (frame.type) {
      case "chat":
        this.utterance = this.discarded();
        return this.start(frame.id, "chat");
      case "interrupt":
        return this.turn?.id === frame.turn_id ? this.end("interrupted") : undefined;
      case "speech_start":
        return this.speech("started");
      case "speech_end":
        return this.utterance?.phase === "speaking" ? this.speech("stopped") : undefined;
    }
  }

  start(id, trigger) {
    if (this.turn) this.end("interrupted");
    const script = this.script(turn(id));
    this.down.push({ type: "turn_start", turn_id: id, trigger, skills: [] });
    this.turn = { id, script };
  }

  /** What the turn will send, in order. */
  script(t) {
    const script = [];
    const sentences = Math.floor(this.random() * 4);
    for (let index = 0; index < sentences; index += 1) {
      if (this.random() < 0.2) script.push(t.hook(`h${index}`));
      if (this.random() < 0.2) script.push(t.call(`c${index}`), t.result(`c${index}`));
      script.push(...this.sentence(t, index));
    }
    const reason = this.random() < 0.85 ? "completed" : "error";
    return [...script, t.end(reason)];
  }

  sentence(t, index) {
    const count = 1 + Math.floor(this.random() * 5);
    const words = Array.from({ length: count }, () => this.pick(WORDS));
    const text = `${words.join(" ")}. `;
    const isFailed = this.random() < 0.1;
    const hasSound = this.random() < 0.85;
    const ms = hasSound && !isFailed ? count * 60 : 0;
    const sound = { sound: new Int16Array((ms * RATE) / 1000) };
    const times = [];
    for (let word = 0, at = 0; word < count; at += words[word].length + 1, word += 1) times.push([at, word * 60]);
    return [
      t.text(text.slice(0, 3)),
      t.text(text.slice(3)),
      t.sentence(index, text, hasSound ? { format: "pcm16", sample_rate: RATE } : null),
      ...(ms
        ? [
            { ...sound, part: 0 },
            { ...sound, part: 1 },
          ]
        : []),
      t.sentenceEnd(index, ms, this.random() < 0.5 && ms ? times : undefined),
    ];
  }

  /** One more thing of the running turn, or of what is being said. */
  act() {
    if (this.turn && this.random() < 0.7) return this.speak();
    return this.hear();
  }

  speak() {
    const frame = this.turn.script.shift();
    this.down.push(frame);
    if (frame.type === "turn_end") this.turn = null;
  }

  end(reason) {
    const ends = this.turn.script.filter(({ type }) => type === "hook").slice(0, 1); // it had fired already
    this.down.push(...ends, turn(this.turn.id).end(reason));
    this.turn = null;
  }

  hear() {
    const chance = this.random();
    switch (this.utterance?.phase) {
      case undefined:
        return this.speech("detected");
      case "maybe":
        return this.speech(chance < 0.5 ? "rejected" : "started");
      case "speaking":
        return chance < 0.2 ? void (this.utterance = this.discarded()) : this.speech("stopped");
      case "stopped":
        return this.said(chance < 0.8);
    }
  }

  speech(what) {
    if (what === "detected" || (what === "started" && !this.utterance)) {
      this.count += 1;
      this.utterance = { id: `u${this.count}`, phase: "maybe" };
    }
    if (what === "started" && this.turn) this.end("interrupted");
    this.down.push({ type: `speech_${what}`, utterance: this.utterance.id, audio_ms: 0 });
    if (what === "rejected") this.utterance = null;
    if (what === "started") this.utterance.phase = "speaking";
    if (what === "stopped") this.utterance.phase = "stopped";
  }

  said(hasWords) {
    const { id: utterance } = this.utterance;
    const turn_id = hasWords ? `v${this.count}` : undefined;
    this.down.push({ type: "transcript", utterance, text: hasWords ? "What?" : "", final: true, turn_id });
    this.utterance = null;
    if (turn_id) this.start(turn_id, "voice");
  }

  /** Nothing comes of the utterance under way. */
  discarded() {
    if (!this.utterance) return null;
    const { id: utterance, phase } = this.utterance;
    if (phase === "maybe") this.down.push({ type: "speech_rejected", utterance });
    else this.down.push({ type: "transcript", utterance, text: "", final: true });
    return null;
  }

  pick(list) {
    return list[Math.floor(this.random() * list.length)];
  }
}

/** The page with its player, the loudspeaker, and a witness who writes down what was to be heard. */
class World {
  constructor(seed) {
    this.random = seeded(seed);
    this.server = new FakeServer(this.random);
    this.up = [];
    this.page = new Page();
    this.asked = 0;
    this.turns = new Map(); // id → what came of it before its cut, and what was heard
    this.core = new PlayerCore(RATE);
    this.player = new Player({
      createContext: () => ({
        state: "running",
        destination: {},
        audioWorklet: { addModule: async () => {} },
        resume: async () => {},
      }),
      createNode: () => (this.node = { port: { postMessage: (message) => this.post(message) }, connect() {} }),
      worklet: "",
      onHeard: (heard) => this.dispatch({ type: "heard", ...heard }),
      onFailed: assert.fail,
      onBlocked: assert.fail,
      later: () => {},
    });
    this.current = null; // the turn and sentence whose sound is coming in
    if (this.random() < 0.3) this.dispatch({ type: "set", change: { turnDetection: "push_to_talk" } });
    this.dispatch({ type: "microphone" });
    this.dispatch({ type: "microphone_on", rate: 16_000 });
  }

  /** As player_worklet.js does. */
  post({ type, id, rate, pcm }) {
    if (type === "begin") this.core.begin(id, rate);
    if (type === "push") this.core.push(new Int16Array(pcm));
    if (type === "end") this.core.end();
    if (type === "flush") this.core.flush();
    if (type === "pause" || type === "resume") this.core.isPaused = type === "pause";
  }

  dispatch(event) {
    const before = this.page.state.turn?.id;
    const from = this.page.effects.length;
    this.page.dispatch(event);
    for (const effect of this.page.effects.slice(from)) {
      if (effect.type === "sound") this.player[effect.act]();
      if (effect.type === "send") this.up.push(structuredClone(effect.frame));
    }
    const after = this.page.state.turn?.id;
    if (before !== after && before) this.record(before).isOver = true;
    if (after) this.record(after);
  }

  record(id) {
    if (!this.turns.has(id))
      this.turns.set(id, { frames: [], late: [], heard: {}, isOver: false, n: this.turns.size + 1 });
    return this.turns.get(id);
  }

  /** As main.js does. */
  deliver() {
    const message = this.server.down.shift();
    if (!message) return;
    if (message.sound) return this.deliverSound(message);
    const record = this.turns.get(message.turn_id);
    if (record && !record.isOver) record.frames.push(message);
    else if (record && message.type === "hook") record.late.push(message);
    if (message.type === "sentence") this.current = message;
    this.dispatch({ type: "frame", frame: message, at: 1 });
    this.player.follow(message, this.page.state.turn?.id ?? null);
  }

  /** Every sample says whose it is. */
  deliverSound({ sound, part }) {
    const half = sound.length / 2;
    const samples = sound
      .slice(part * half, (part + 1) * half)
      .fill((this.turns.get(this.current.turn_id)?.n ?? 999) * 16 + this.current.index);
    this.player.push(samples.buffer);
  }

  listen(ms) {
    const out = new Float32Array((ms * RATE) / 1000);
    this.core.render(out);
    const now = this.turns.get(this.page.state.turn?.id);
    for (const sample of out) {
      if (sample !== 0)
        assert.equal(Math.floor(Math.round(sample * 32768) / 16), now?.n, "sound of a turn that is over");
    }
    const reports = this.core.report();
    for (const { id, ms: heardMs, isOver } of reports) {
      const { turnId, index } = this.player.sentences.get(id) ?? {};
      if (turnId) this.turns.get(turnId).heard[index] = { ms: heardMs, isOver };
    }
    if (reports.length) this.node.port.onmessage({ data: reports });
  }

  step() {
    const chance = this.random();
    if (chance < 0.3) return this.server.act();
    if (chance < 0.6) return this.deliver();
    if (chance < 0.8) return this.listen(5 + Math.floor(this.random() * 80));
    if (chance < 0.9) return this.arrive();
    if (chance < 0.94) return this.dispatch({ type: "submit", text: "Why?", turnId: `c${(this.asked += 1)}`, at: 2 });
    if (chance < 0.96) return this.dispatch({ type: "stop" });
    if (chance < 0.99) return this.dispatch({ type: "talk", isHeld: this.random() < 0.5 });
    return this.lose();
  }

  arrive() {
    const frame = this.up.shift();
    if (frame) this.server.receive(frame);
  }

  lose() {
    this.server.down = [];
    this.up = [];
    Object.assign(this.server, { turn: null, utterance: null });
    this.dispatch({ type: "disconnected", attempt: 1, code: 1006, silently: false });
    this.dispatch({ type: "frame", frame: READY });
  }

  /** Nobody does anything more, and all that is under way comes to its end. */
  async finish() {
    for (let i = 0; i < 500; i += 1) {
      this.arrive();
      if (this.server.utterance) this.server.hear();
      else if (this.server.turn) this.server.speak();
      this.deliver();
      await settled();
      this.listen(50);
    }
    assert.equal(this.page.state.turn, null, "a turn that never ends");
    assert.equal(this.core.pieces.length, 0, "sound that is never played");
  }

  /** @param {string} id what the history keeps of the turn */
  kept(id) {
    const found = [];
    for (const { _turn, _hook, role, content } of this.page.conversation.conversationHistory) {
      if (_turn === id && (_hook || role === "assistant")) found.push(_hook ? `[${_hook}]` : content);
    }
    return found.join("|");
  }
}

/** PROTOCOL.md: the history as a function of the frames before the cut and what was heard of each sentence. */
function expected({ frames, late, heard }) {
  const kept = [];
  let isCut = false;
  for (const frame of frames) {
    if (frame.type === "hook") kept.push({ hook: `[${frame.name}]` });
    if (frame.type !== "sentence" || isCut) continue;
    const end = frames.find(({ type, index }) => type === "sentence_end" && index === frame.index);
    const { ms = 0, isOver = false } = heard[frame.index] ?? {};
    const isWhole = !frame.audio || (end && (isOver || end.duration_ms === 0));
    const text = isWhole ? frame.text : end ? partOf(frame.text, end, ms) : "";
    if (text) kept.push({ text });
    isCut = !isWhole;
  }
  for (const { name } of late) kept.push({ hook: `[${name}]` });
  return kept.reduce((joined, { hook, text }, i) => {
    const isJoined = text && kept[i - 1]?.text;
    return joined + (i && !isJoined ? "|" : "") + (hook ?? text);
  }, "");
}

function partOf(text, { duration_ms, words }, ms) {
  if (ms <= 0) return "";
  if (ms >= duration_ms) return text;
  if (words) return text.slice(0, words.findLast(([, start]) => start <= ms)[0]).trimEnd();
  let length = Math.floor((text.length * ms) / duration_ms);
  while (length > 0 && /\w\w/.test(text.slice(length - 1, length + 1))) length -= 1;
  return text.slice(0, length).trimEnd();
}

async function settled() {
  for (let i = 0; i < 4; i += 1) await null;
}

async function run(seed) {
  const world = new World(seed);
  for (let i = 0; i < STEPS; i += 1) {
    world.step();
    await settled();
  }
  world.dispatch({ type: "talk", isHeld: false });
  await world.finish();
  for (const [id, record] of world.turns) {
    assert.equal(world.kept(id), expected(record), `history of ${id}`);
    const last = record.frames.at(-1);
    if (last?.type !== "turn_end" || last.reason !== "completed") continue;
    const sum = (type, key) => record.frames.filter((frame) => frame.type === type).map((frame) => frame[key]).join(""); // prettier-ignore
    assert.equal(sum("sentence", "text"), sum("text", "delta"), `sentences of ${id}`);
  }
  return world;
}

test("no order of events lets a cut turn be heard or the history say what was not heard", async () => {
  const seeds = SEED === null ? Array.from({ length: COUNT }, (_, i) => i) : [SEED];
  let turns = 0;
  let cut = 0;
  for (const seed of seeds) {
    const world = await run(seed).catch((error) => {
      error.message = `SEED=${seed}: ${error.message}`;
      throw error;
    });
    turns += world.turns.size;
    cut += [...world.turns.values()].filter(({ frames }) => frames.at(-1)?.type !== "turn_end").length;
  }
  if (SEED === null) assert.ok(turns > COUNT && cut > COUNT / 4, `only ${turns} turns, ${cut} cut`);
});
