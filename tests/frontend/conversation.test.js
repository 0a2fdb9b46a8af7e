import assert from "node:assert/strict";
import { test } from "node:test";

import { askAgain, fitToLimits, fromRecord, insertLateHook, withAnswer } from "../../frontend/sdk/conversation.js";
import { titleOf } from "../../frontend/js/titles.js";
import { asJson, asMarkdown, fileName, turnAsJson } from "../../frontend/js/export.js";
import { EMPTY_TRACE, withTrace } from "../../frontend/js/inspect.js";

const user = (content, _turn, more = {}) => ({ role: "user", content, _turn, ...more });
const assistant = (content, _turn) => ({ role: "assistant", content, _turn });
const hook = (content, _turn, more = {}) => ({
  role: "system",
  content,
  _hook: "h",
  _skill: "s",
  _sig: "x",
  _turn,
  ...more,
});
const texts = (history) => history.map(({ content }) => content);

test("whole oldest turns go until the count fits, hooks with their turn", () => {
  const history = [
    user("1", "a"),
    hook("h1", "a"),
    assistant("A", "a"),
    user("2", "b"),
    hook("h2", "b"),
    assistant("B", "b"),
    user("3", "c"),
  ];

  const { messages, droppedTurns } = fitToLimits(history, { max_messages: 5, max_message_bytes: 1e6 });

  assert.deepEqual(texts(messages), ["2", "h2", "B", "3"]);
  assert.equal(droppedTurns, 1);
});

test("whole oldest turns go until the frame's bytes fit, counted as UTF-8", () => {
  const history = [user("é".repeat(400), "a"), assistant("A", "a"), user("é".repeat(100), "b")];

  const { messages } = fitToLimits(history, { max_messages: 10, max_message_bytes: 700 });

  assert.equal(messages.length, 1);
  assert.ok(new TextEncoder().encode(JSON.stringify({ type: "chat", id: "x".repeat(64), messages })).length <= 700);
});

test("a last message that cannot fit is refused, not sent in part", () => {
  assert.equal(
    fitToLimits([user("1", "a"), user("x".repeat(1000), "b")], { max_messages: 10, max_message_bytes: 900 }),
    null,
  );
});

test("a hook that plays the user's role does not begin a turn", () => {
  const history = [user("1", "a"), hook("as user", "a", { role: "user" }), assistant("A", "a"), user("2", "b")];

  const { messages } = fitToLimits(history, { max_messages: 3, max_message_bytes: 1e6 });

  assert.deepEqual(texts(messages), ["2"]);
});

test("what the user agreed to leave out is not sent", () => {
  const { messages } = fitToLimits([hook("old", "a", { _unverified: true }), user("1", "b")], null);

  assert.deepEqual(texts(messages), ["1"]);
});

test("a late hook goes behind its own turn, before the next user message", () => {
  const history = [user("1", "a"), assistant("A", "a"), user("2", "b", { _answer: "pending" })];

  assert.deepEqual(texts(insertLateHook(history, hook("late", "a"))), ["1", "A", "late", "2"]);
});

test("a late hook of a turn that was asked again goes before the new user message", () => {
  assert.deepEqual(texts(insertLateHook([user("1", "a2")], hook("late", "a"))), ["late", "1"]);
});

test("asking again moves the message behind the failed turn's hooks", () => {
  const again = askAgain([user("1", "a", { _answer: "lost" }), hook("h", "a")], "b");

  assert.deepEqual(texts(again), ["h", "1"]);
  assert.equal(again[1]._turn, "b");
  assert.equal(again[1]._answer, "pending");
});

test("asking again keeps what was heard", () => {
  const again = askAgain([user("1", "a", { _answer: "lost" }), assistant("Once", "a")], "b");

  assert.deepEqual(texts(again), ["1", "Once", "1"]);
  assert.equal(again[0]._answer, "lost");
});

test("an answer clears the mark of its own turn alone", () => {
  const history = withAnswer([user("1", "a", { _answer: "lost" }), user("2", "b", { _answer: "pending" })], "b", null);

  assert.deepEqual(
    history.map((message) => message._answer),
    ["lost", undefined],
  );
  assert.ok(!("_answer" in history[1]));
});

const RECORD = {
  id: "c",
  title: "",
  createdAt: 0,
  updatedAt: 0,
  conversationHistory: [user("1", "a", { _answer: "pending" })],
  historySegments: [
    { kind: "sentence", text: "Heard. " },
    {
      kind: "hook",
      frame: { turn_id: "a", name: "h", role: "system", content: "kept", skill: "s", timing: "t", sig: "x" },
    },
  ],
};

test("a record of a turn that was running keeps what was heard and marks the question", () => {
  const { conversationHistory } = fromRecord(RECORD, "write");

  assert.deepEqual(texts(conversationHistory), ["1", "Heard. ", "kept"]);
  assert.equal(conversationHistory[0]._answer, "lost");
});

test("a tab that only reads along does not call a running turn lost", () => {
  assert.equal(fromRecord(RECORD, "read").conversationHistory[0]._answer, "pending");
});

test("a title is the first line the user wrote, cut to a length", () => {
  assert.equal(
    titleOf({ title: "", conversationHistory: [hook("h", "a", { role: "user" }), user("  Hello \n there ", "a")] }),
    "Hello there",
  );
  assert.equal(titleOf({ title: "", conversationHistory: [user("x".repeat(100), "a")] }).length, 60);
  assert.equal(titleOf({ title: "Mine", conversationHistory: [] }), "Mine");
});

test("an exported conversation holds what the running turn has said", () => {
  const exported = JSON.parse(asJson(RECORD));

  assert.deepEqual(texts(exported.messages), ["1", "Heard. ", "kept"]);
  assert.match(asMarkdown(RECORD), /\*\*You\*\*\n\n1\n\n\*\*Parley\*\*\n\nHeard\.\n\n> \*Hook s\/h/);
});

test("a traced turn is exported as the test that it makes", () => {
  const message = (id, role, kind, content) => ({ id, role, content, origin: { kind } });
  const events = [
    ["facts", { channel: "voice", tools: ["t"] }],
    ["values", { context: { plan: "pro" }, variables: { s: { score: 1 } } }],
    [
      "messages",
      {
        messages: [
          message("m0", "system", "system", "prompt"),
          message("m1", "user", "history", "hi"),
          message("m2", "assistant", "history", ""),
          message("m3", "user", "user", "Hello"),
          message("m4", "system", "hook", "text"),
        ],
      },
    ],
    ["injected", { skill: "s", hook: "h" }],
    ["ran", { call: 2, calls: [{ tool: "a" }] }],
    ["ran", { call: 2, calls: [{ tool: "b" }] }],
    ["ran", { call: 3, calls: [{ tool: "c" }] }],
    ["variables", { changes: [{ skill: "s", hook: "h", name: "score", value: 2 }] }],
  ];

  const trace = events.reduce((trace, [event, data]) => withTrace(trace, event, data), EMPTY_TRACE);

  assert.deepEqual(JSON.parse(turnAsJson(trace)), {
    format: "parley-turn",
    version: 1,
    test: {
      history: [{ user: "hi" }],
      user: "Hello",
      channel: "voice",
      tools: ["t"],
      context: { plan: "pro" },
      script: [{ calls: [{ tool: "a" }, { tool: "b" }] }, { calls: [{ tool: "c" }] }],
      expect: { fires: ["s/h"], variables: { "s/score": 2 } },
    },
    variables: { s: { score: 1 } },
  });
});

test("a file name holds nothing that a file system would mind", () => {
  assert.equal(fileName({ ...RECORD, title: '../a\\b:c*?"<>|\u0000 今天' }, "md"), "a-b-c-今天.md");
  assert.equal(fileName({ ...RECORD, title: "///" }, "json"), "conversation.json");
});
