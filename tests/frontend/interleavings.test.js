/**
 * Any order of frames, sound, keys, losses and playback: nothing of a turn that
 * was cut is heard after its cut, and the history is what was heard.
 *
 * COUNT=10000 node --test tests/frontend/interleavings.test.js; SEED=n runs one.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { READY, seeded, turn } from "./support.js";
import { RATE, settled, World } from "./world.js";

const COUNT = Number(process.env.COUNT ?? 200);
const SEED = process.env.SEED === undefined ? null : Number(process.env.SEED);
const STEPS = 120;
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

/** A page, its server, and what happens between them. */
class Scene {
  constructor(seed) {
    this.random = seeded(seed);
    this.server = new FakeServer(this.random);
    this.world = new World({ turnOf: (sample) => Math.floor(sample / 16), isPushToTalk: this.random() < 0.3 });
    this.asked = 0;
    this.current = null; // the turn and sentence whose sound is coming in
  }

  deliver() {
    const message = this.server.down.shift();
    if (!message) return;
    if (message.sound) return this.deliverSound(message);
    if (message.type === "sentence") this.current = message;
    this.world.deliver(message);
  }

  /** Every sample says whose it is. */
  deliverSound({ sound, part }) {
    const half = sound.length / 2;
    const { n = 999 } = this.world.turns.get(this.current.turn_id) ?? {};
    this.world.deliverSound(sound.slice(part * half, (part + 1) * half).fill(n * 16 + this.current.index));
  }

  step() {
    const chance = this.random();
    const { world } = this;
    if (chance < 0.3) return this.server.act();
    if (chance < 0.6) return this.deliver();
    if (chance < 0.8) return world.listen(5 + Math.floor(this.random() * 80));
    if (chance < 0.9) return this.arrive();
    if (chance < 0.94) return world.dispatch({ type: "submit", text: "Why?", turnId: `c${(this.asked += 1)}`, at: 2 });
    if (chance < 0.96) return world.dispatch({ type: "stop" });
    if (chance < 0.99) return world.dispatch({ type: "talk", isHeld: this.random() < 0.5 });
    return this.lose();
  }

  arrive() {
    const frame = this.world.up.shift();
    if (frame) this.server.receive(frame);
  }

  lose() {
    this.server.down = [];
    Object.assign(this.server, { turn: null, utterance: null });
    this.world.lose();
    this.world.dispatch({ type: "frame", frame: READY });
  }

  /** Lets all that is under way come to its end, without further actions. */
  async finish() {
    this.world.dispatch({ type: "talk", isHeld: false });
    for (let i = 0; i < 500; i += 1) {
      this.arrive();
      if (this.server.utterance) this.server.hear();
      else if (this.server.turn) this.server.speak();
      this.deliver();
      await settled();
      this.world.listen(50);
    }
    this.world.check();
  }
}

async function run(seed) {
  const scene = new Scene(seed);
  for (let i = 0; i < STEPS; i += 1) {
    scene.step();
    await settled();
  }
  await scene.finish();
  return scene.world;
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
    cut += world.cut;
  }
  if (SEED === null) assert.ok(turns > COUNT && cut > COUNT / 4, `only ${turns} turns, ${cut} cut`);
});
