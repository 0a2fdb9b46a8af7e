/** A reply that is read aloud again: a turn of the server that leaves nothing in the conversation. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { conversationView } from "../../frontend/js/render/conversation_view.js";
import { settingsView } from "../../frontend/js/render/settings_view.js";
import { elements, Page, pluck, READY, textOf, turn } from "./support.js";

const t1 = turn("t1");
const r1 = turn("r1");
const PART = { state: "ready", name: "x", reason: null };
const AUDIO = { format: "pcm16", sample_rate: 22050 };

function answered({ tts = PART } = {}) {
  const page = new Page().receive({ ...READY, speech: { stt: PART, vad: PART, tts } });
  page.ask("Why?", "t1").receive(t1.start(), t1.hook("tone"), t1.text("So. There."));
  return page.receive(t1.sentence(0, "So. "), t1.sentenceEnd(0), t1.sentence(1, "There."), t1.sentenceEnd(1), t1.end());
}

function reading() {
  const page = answered().dispatch({ type: "read_aloud", turnId: "t1", id: "r1" });
  page.effects.length = 0;
  return page.receive(
    { ...r1.start(), trigger: "speak" },
    r1.text("So. "),
    r1.sentence(0, "So. ", AUDIO),
    r1.sentenceEnd(0, 300),
  );
}

const heard = (page, index) => page.dispatch({ type: "heard", turnId: "r1", index, ms: 300, isOver: true });

function button(page) {
  const shown = elements(conversationView(page.state));
  return shown.find(({ attributes }) => attributes["data-action"] === "read-aloud")?.attributes["aria-label"];
}

const flushes = (page) => page.effects.filter(({ type, act }) => type === "sound" && act === "flush").length;

test("a reply is read aloud as it stands in the conversation, which it leaves as it was", () => {
  const page = reading();
  const before = page.history;
  assert.deepEqual(page.sentOf("speak"), [{ type: "speak", id: "r1", text: "So. There." }]);
  assert.equal(button(page), "Stop reading");

  page.receive(r1.sentence(1, "There.", AUDIO), r1.sentenceEnd(1, 300), r1.end());
  heard(page, 0);
  assert.equal(button(page), "Stop reading", "the last sentence is still to be heard");
  heard(page, 1);

  assert.equal(button(page), "Read aloud");
  assert.deepEqual(page.history, before);
  assert.deepEqual(page.sentOf("interrupt"), []);
});

for (const [what, act] of [
  ["its button", (page) => page.dispatch({ type: "read_aloud", turnId: "t1", id: "r2" })],
  ["Esc", (page) => page.dispatch({ type: "escape" })],
  ["the next message", (page) => page.ask("And?", "t2")],
  ["speech", (page) => page.receive({ type: "speech_started", utterance: "u1", audio_ms: 1 })],
  ["another conversation", (page) => page.dispatch({ type: "open_conversation", id: "c2", at: 5 })],
  ["a player that fails", (page) => page.dispatch({ type: "no_sound", reason: "x", isNotLoaded: false })],
]) {
  test(`reading is ended by ${what}, and what was to be heard is dropped`, () => {
    const page = reading();

    act(page);

    assert.equal(page.state.speakTurn, null);
    assert.ok(flushes(page) >= 1);
    assert.deepEqual(page.sentOf("interrupt"), [{ type: "interrupt", turn_id: "r1" }]);
    assert.deepEqual(page.sentOf("speak").length, 1);
  });
}

test("a lost connection ends it without a word", () => {
  const page = reading().lose();

  assert.equal(page.state.speakTurn, null);
  assert.equal(flushes(page), 1);
  assert.deepEqual(page.sentOf("interrupt"), []);
});

test("why it cannot be read, or only in part, is said on the page", () => {
  const page = answered().dispatch({ type: "read_aloud", turnId: "t1", id: "r1" });
  page.receive({ type: "error", code: "too_many_turns", message: "Too many turns." });
  assert.equal(page.state.speakTurn, null);

  const other = reading().receive({
    type: "notice",
    code: "speech_failed",
    level: "warning",
    message: "No sound.",
    turn_id: "r1",
  });
  other.receive(r1.end("error"));

  assert.deepEqual(pluck(page.state.notices, "message"), ["Too many turns."]);
  assert.deepEqual(pluck(other.state.notices, "message"), ["No sound."]);
  assert.equal(other.state.speakTurn, null);
});

test("reading is not offered without a voice, without sound, nor while a turn runs", () => {
  assert.equal(button(answered()), "Read aloud");
  assert.equal(button(answered({ tts: { ...PART, state: "loading" } })), undefined);
  assert.equal(button(answered().dispatch({ type: "no_sound", reason: "x", isNotLoaded: false })), undefined);
  assert.equal(button(answered().ask("More", "t2")), undefined);
});

test("a voice can be heard in the settings before one chooses, and stopped", () => {
  const page = new Page().receive({ ...READY, speech: { stt: PART, vad: PART, tts: PART, voices: ["anna", "ben"] } });
  const sample = () =>
    elements(settingsView(page.state)).find(({ attributes }) => attributes["data-action"] === "hear-voice");

  page.dispatch({ type: "set", change: { speaker: "ben" } }).dispatch({ type: "hear_voice", id: "s1" });

  assert.equal(page.sentOf("configure").at(-1).speaker, "ben");
  assert.deepEqual(page.sentOf("speak"), [{ type: "speak", id: "s1", text: "This is how replies will sound." }]);
  assert.equal(textOf(sample()), "Stop");
  page.dispatch({ type: "hear_voice", id: "s2" });
  assert.equal(textOf(sample()), "Hear this voice");
  assert.equal(page.sentOf("speak").length, 1);
  page.lose();
  assert.equal(sample().attributes.disabled, true);
});
