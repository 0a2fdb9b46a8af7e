/**
 * The page with its player and a loudspeaker, without browser or time, and a
 * witness who knows from the frames alone what the history must be.
 */

import assert from "node:assert/strict";

import { Player } from "../../frontend/sdk/voice/player.js";
import { PlayerCore } from "../../frontend/sdk/voice/player_worklet.js";
import { Page, ofType, pluck } from "./support.js";

export const RATE = 8_000; // of sentences and of the loudspeaker: a sample in is a sample out

/**
 * Every sample says whose it is: `turnOf` makes the number of a turn of it.
 * What the page sends waits in `up`.
 */
export class World {
  /** @param {{turnOf: (sample: number) => number, isPushToTalk: boolean}} options */
  constructor({ turnOf, isPushToTalk }) {
    this.turnOf = turnOf;
    this.up = [];
    this.page = new Page();
    this.turns = new Map(); // id → what came of it before its cut, and what was heard
    this.core = new PlayerCore(RATE);
    this.player = new Player({
      createContext: () => ({
        state: "running",
        destination: {},
        resume: async () => {},
      }),
      createNode: () => (this.node = { port: { postMessage: (message) => this.post(message) }, connect() {} }),
      addWorklet: async () => {},
      onHeard: (heard) => this.dispatch({ type: "heard", ...heard }),
      onFailed: assert.fail,
      onRestored: assert.fail,
      onBlocked: assert.fail,
      later: () => {},
    });
    this.dispatch({ type: "set", change: { readAloud: "always" } });
    if (isPushToTalk) this.dispatch({ type: "set", change: { turnDetection: "push_to_talk" } });
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
    const isRead = event.type === "submit" || event.type === "stop";
    const isLost = event.type === "disconnected";
    const from = this.page.effects.length;
    this.page.dispatch(event);
    for (const effect of this.page.effects.slice(from)) {
      if (effect.type === "sound") this.player[effect.act]();
      if (effect.type === "send") this.up.push(structuredClone(effect.frame));
    }
    const after = this.page.state.turn?.id;
    if (before !== after && before) {
      const record = this.record(before);
      const isSpoken = record.frames.some(({ type, audio }) => type === "sentence" && audio);
      Object.assign(record, { isOver: true, isRead: isRead || (isLost && !isSpoken) });
    }
    if (after) this.record(after);
  }

  record(id) {
    if (!this.turns.has(id))
      this.turns.set(id, { frames: [], late: [], heard: {}, isOver: false, n: this.turns.size + 1 });
    return this.turns.get(id);
  }

  /** As main.js does. */
  deliver(frame) {
    const record = this.turns.get(frame.turn_id);
    if (record && !record.isOver) record.frames.push(frame);
    else if (record && frame.type === "hook") record.late.push(frame);
    this.dispatch({ type: "frame", frame, at: 1 });
    const { turn } = this.page.state;
    this.player.follow(frame, turn?.playback.hasSound ? turn.id : null);
  }

  /** @param {Int16Array} samples */
  deliverSound(samples) {
    this.player.push(samples.buffer);
  }

  listen(ms) {
    const out = new Float32Array((ms * RATE) / 1000);
    this.core.render(out);
    const now = this.turns.get(this.page.state.turn?.id);
    for (const sample of out) {
      if (sample !== 0) assert.equal(this.turnOf(Math.round(sample * 32768)), now?.n, "sound of a turn that is over");
    }
    const reports = this.core.report();
    for (const { id, ms: heardMs, isOver } of reports) {
      const { turnId, index } = this.player.sentences.get(id) ?? {};
      if (turnId) this.turns.get(turnId).heard[index] = { ms: heardMs, isOver };
    }
    if (reports.length) this.node.port.onmessage({ data: reports });
  }

  lose() {
    this.up = [];
    this.dispatch({ type: "disconnected", attempt: 1, code: 1006, silently: false });
  }

  /** When all that was under way has come to its end. */
  check() {
    assert.equal(this.page.state.turn, null, "a turn that never ends");
    assert.equal(this.core.pieces.length, 0, "sound that is never played");
    for (const [id, record] of this.turns) {
      assert.equal(this.kept(id), expected(record), `history of ${id}`);
      const last = record.frames.at(-1);
      if (last?.type !== "turn_end" || last.reason !== "completed") continue;
      const sum = (type, key) => pluck(ofType(record.frames, type), key).join("");
      assert.equal(sum("sentence", "text"), sum("text", "delta"), `sentences of ${id}`);
    }
  }

  /** Turns that ended otherwise than in their own time. */
  get cut() {
    return [...this.turns.values()].filter(({ frames }) => frames.at(-1)?.type !== "turn_end").length;
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

/** PROTOCOL.md: the history as a function of the frames before the cut, what was heard of each sentence, and how it was cut. */
function expected({ frames, late, heard, isRead }) {
  const kept = [];
  let isCut = false;
  let unsaid = frames.map(({ type, delta }) => (type === "text" ? delta : "")).join("");
  for (const frame of frames) {
    if (frame.type === "hook") kept.push({ hook: `[${frame.name}]` });
    if (frame.type !== "sentence" || isCut) continue;
    const end = frames.find(({ type, index }) => type === "sentence_end" && index === frame.index);
    const { ms = 0, isOver = false } = heard[frame.index] ?? {};
    unsaid = unsaid.slice(frame.text.length);
    const isWhole = isRead || !frame.audio || (end && (isOver || end.duration_ms === 0));
    const text = isWhole ? frame.text : end ? partOf(frame.text, lengthOf(frame, end, frames), end.words, ms) : "";
    if (text) kept.push({ text });
    isCut = !isWhole;
  }
  if (isRead && unsaid) kept.push({ text: unsaid });
  for (const { name } of late) kept.push({ hook: `[${name}]` });
  return kept.reduce((joined, { hook, text }, i) => {
    const isJoined = text && kept[i - 1]?.text;
    return joined + (i && !isJoined ? "|" : "") + (hook ?? text);
  }, "");
}

/** How long a sentence is: of the last one of a turn that the server stopped, what it sent is only known to be a part. */
function lengthOf({ text, spoken }, { index, duration_ms }, frames) {
  const isStopped = ["interrupted", "aborted"].includes(frames.at(-1).reason);
  const isLast = frames.findLast(({ type }) => type === "sentence").index === index;
  return isStopped && isLast ? Math.max(duration_ms, 60 * (spoken ?? text).trim().length) : duration_ms;
}

function partOf(text, duration_ms, words, ms) {
  if (ms <= 0) return "";
  if (ms >= duration_ms) return text;
  if (words) return text.slice(0, words.findLast(([, start]) => start <= ms)[0]).trimEnd();
  let length = Math.floor((text.length * ms) / duration_ms);
  while (length > 0 && /\w\w/.test(text.slice(length - 1, length + 1))) length -= 1;
  return text.slice(0, length).trimEnd();
}

/** What waits for promises that are there has happened. */
export async function settled() {
  for (let i = 0; i < 4; i += 1) await null;
}
