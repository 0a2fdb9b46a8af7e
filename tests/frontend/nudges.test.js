/** Nudges: when the page lets a skill speak first, and what becomes of the turn. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { conversationView } from "../../frontend/js/render/conversation_view.js";
import { settingsView } from "../../frontend/js/render/settings_view.js";
import { skillsView } from "../../frontend/js/render/skills_view.js";
import { Page, pluck, READY, skill, textOf, turn } from "./support.js";

const TRIGGERS = [
  { name: "greet", on: "connect" },
  { name: "still-there", on: "idle" },
];
const HOSTED = { ...READY, skills: [skill("host", { triggers: TRIGGERS })] };
const [t1, t2, t3, t4] = ["t1", "t2", "t3", "t4"].map(turn);

function hosted() {
  return new Page().receive(HOSTED);
}

function nudge(page, name, turnId = "t1", isAway = false) {
  return page.dispatch({
    type: "nudge",
    frame: { type: "nudge", id: `n-${turnId}`, skill: "host", name },
    turnId,
    isAway,
    at: 5,
  });
}

/** A conversation with one question and its answer. */
function talked() {
  const page = hosted().ask("Hi", "t0");
  const t0 = turn("t0");
  return page.receive(t0.start(), t0.text("Yes?"), t0.sentence(0, "Yes?"), t0.end());
}

const answered = (page) => page.sentOf("chat").filter((frame) => frame.nudge).length;

test("the server may nudge where a skill has triggers, the user wants it and the conversation is ours", () => {
  const wanted = (page) => page.sentOf("configure").findLast((frame) => "nudges" in frame).nudges;
  assert.equal(wanted(new Page()), false);

  const page = hosted();
  assert.equal(wanted(page), true);
  page.dispatch({ type: "open_conversation", id: "c2", at: 3 });
  assert.equal(wanted(page), false, "it is not loaded yet");
  page.dispatch({ type: "opened", id: "c2", record: null, access: "read", at: 3 });
  assert.equal(wanted(page), false, "another tab has it");
  page.dispatch({ type: "opened", id: "c2", record: null, access: "write", at: 3 });
  assert.equal(wanted(page), true);
  page.dispatch({ type: "set", change: { nudges: false } });
  assert.equal(wanted(page), false);
});

test("a greeting appears while it is written, without a message of the user, and stays", () => {
  const page = nudge(hosted(), "greet");
  const [chat] = page.sentOf("chat");
  assert.deepEqual(chat, { type: "chat", id: "t1", messages: [], voice: false, nudge: "n-t1" });

  page.receive({ ...t1.start(), trigger: "nudge" }, t1.text("Good morning."));
  assert.match(textOf(conversationView(page.state)), /Good morning/);
  page.receive(t1.sentence(0, "Good morning."), t1.end("completed", { state: "after t1" }));

  assert.deepEqual(page.history, ["assistant: Good morning."]);
  assert.match(textOf(conversationView(page.state)), /Good morning/);
  assert.deepEqual(pluck(page.records.get("c1").conversationHistory, "content"), ["Good morning."]);
  page.ask("Hello", "t2");
  assert.equal(page.sentOf("chat").at(-1).state, "after t1");
});

test("a greeting is for a conversation without messages", () => {
  assert.equal(answered(nudge(talked(), "greet")), 0);
});

test("a silence is broken for a user who is there and does nothing else", () => {
  const page = nudge(talked(), "still-there");
  assert.deepEqual(pluck(page.sentOf("chat").at(-1).messages, "role"), ["user", "assistant"]);

  const busy = {
    "hidden or typing": (page) => nudge(page, "still-there", "t1", true),
    asked: (page) => nudge(page.receive(t1.asks("a1", { turn_id: undefined, timeout_ms: 5000 })), "still-there"),
    "in a turn": (page) => nudge(page.ask("And?", "t2"), "still-there"),
    editing: (page) => nudge(page.dispatch({ type: "edit_message", turnId: "t0" }), "still-there"),
    speaking: (page) => nudge(page.receive({ type: "speech_started", utterance: "u1", audio_ms: 1 }), "still-there"),
    offline: (page) => nudge(page.lose(), "still-there"),
    "switched off": (page) => nudge(page.dispatch({ type: "set", change: { nudges: false } }), "still-there"),
  };
  for (const [name, act] of Object.entries(busy)) assert.equal(answered(act(talked())), 0, name);
});

test("a nudge that has come too late is dropped without a word", () => {
  const error = { type: "error", code: "nudge_unknown", message: "gone", path: "$.nudge" };
  const page = nudge(talked(), "still-there").receive(error);

  assert.equal(page.state.turn, null);
  assert.deepEqual(page.history, ["user: Hi", "assistant: Yes?"]);
  assert.deepEqual(page.state.notices, []);

  nudge(page, "still-there", "t2").ask("Wait", "t3").receive(error);
  assert.equal(page.state.turn.id, "t3", "it was not about what the user asks");
});

test("a server that takes no turns now says nothing of a nudge", () => {
  const page = nudge(hosted(), "greet").receive({ type: "error", code: "turn_refused_draining", message: "stops" });

  assert.equal(page.state.turn, null);
  assert.deepEqual([page.state.notices, page.history], [[], []]);
});

test("a greeting that is refused leaves no conversation in the list", () => {
  const error = { type: "error", code: "nudge_unknown", message: "gone", path: "$.nudge" };
  const page = nudge(hosted(), "greet").receive(error);
  assert.deepEqual([page.state.conversations, page.records.size], [[], 0]);

  nudge(page, "greet", "t2").receive(t2.start(), t2.end("error", { code: "provider_failed", message: "no model" }));
  assert.deepEqual([page.state.conversations, page.records.size], [[], 0]);

  nudge(page, "greet", "t3").receive(t3.start(), t3.text("Good"));
  assert.equal(page.state.conversations.length, 1, "there is something to lose");
});

test("what hooks remember of a turn that was cut before its first word is kept beside the turn before", () => {
  const page = nudge(talked(), "still-there").receive(t1.start()).dispatch({ type: "stop" });
  page.receive(t1.end("interrupted", { state: "after t1" })).ask("And?", "t2");
  assert.equal(page.sentOf("chat").at(-1).state, "after t1");

  page.receive(t2.start(), t2.text("Well."), t2.sentence(0, "Well."), t2.end("completed", { state: "after t2" }));
  nudge(page, "still-there", "t3").receive(t3.start(), t3.end("error", { state: "after t3", message: "no model" }));
  nudge(page, "still-there", "t4").receive(t4.start());
  assert.equal(page.sentOf("chat").at(-1).state, "after t3");
  page.ask("Wait", "t5").receive(t4.end("interrupted", { state: "after t4" }));
  assert.deepEqual(
    page.state.loaded.c1.conversationHistory.map(({ _state }) => _state ?? ""),
    ["", "after t1", "after t2", "after t4", ""],
  );

  const gone = nudge(talked(), "still-there").receive(t1.start());
  gone.receive(t1.end("aborted", { rollback: true, state: "after t1" })).ask("And?", "t2");
  assert.equal(gone.sentOf("chat").at(-1).state, undefined);
});

test("a lost greeting is not sent again", () => {
  const page = nudge(hosted(), "greet").lose(1001).receive(HOSTED);

  assert.equal(answered(page), 1);
  assert.equal(page.state.turn, null);
});

test("who talks hears what a skill says first", () => {
  const page = hosted().dispatch({ type: "microphone" }).dispatch({ type: "microphone_on", rate: 16000 });

  assert.ok(!("voice" in nudge(page, "greet").sentOf("chat")[0]));
});

test("the skills panel names what may speak first", () => {
  assert.match(textOf(skillsView(hosted().state)), /May speak first: greet \(connect\), still-there \(idle\)/);
});

test("the switch is there where a skill may speak first", () => {
  const shown = (page) => textOf(settingsView(page.state));
  assert.match(shown(hosted()), /Skills may speak first/);
  assert.doesNotMatch(shown(new Page()), /speak first/);
});
