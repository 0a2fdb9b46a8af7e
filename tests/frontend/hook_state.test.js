/** The state of the server's hooks: kept beside the turn that gave it, sent with the next one. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { fitToLimits, fromRecord } from "../../frontend/sdk/conversation.js";
import { asJson } from "../../frontend/js/export.js";
import { fromJson } from "../../frontend/js/import.js";
import { Page, pluck, turn } from "./support.js";

/** Turns "q1", "q2", … of which each was answered and gave a state. */
function talked(count) {
  const page = new Page();
  for (let number = 1; number <= count; number += 1) answer(page.ask(`q${number}`, `t${number}`), `t${number}`);
  return page;
}

function answer(page, id) {
  const t = turn(id);
  return page.receive(t.start(), t.text("Yes."), t.sentence(0, "Yes."), t.end("completed", { state: `after ${id}` }));
}

const chatState = (page) => page.sentOf("chat").at(-1).state;
const again = (asked, turnId) => ({ type: "ask_again", asked, turnId, at: 9 });
const started = (utterance) => ({ type: "speech_started", utterance, audio_ms: 1 });

test("each turn is sent with the state of the one before, typed and spoken", () => {
  const page = talked(2);

  page.receive(started("u1"));

  assert.deepEqual(pluck(page.sentOf("chat"), "state"), [undefined, "after t1"]);
  assert.equal("state" in page.sentOf("chat")[0], false);
  assert.equal(page.sentOf("history").at(-1).state, "after t2");
});

test("no message takes a state along", () => {
  const page = talked(2);

  assert.doesNotMatch(JSON.stringify(page.sentOf("chat").at(-1).messages), /after t1/);
});

test("a turn without a state leaves the last one as it is", () => {
  const page = talked(1);
  const t = turn("t2");
  page.ask("q2", "t2").receive(t.start(), t.text("No."), t.sentence(0, "No."), t.end());

  page.ask("q3", "t3");

  assert.equal(chatState(page), "after t1");
});

test("the state counts from its arrival, while the sound still plays", () => {
  const page = talked(1);
  const t = turn("t2");
  page.ask("q2", "t2");
  page.receive(t.start(), t.text("Long."), t.sentence(0, "Long.", { format: "pcm16", sample_rate: 16000 }));
  page.receive(t.end("completed", { state: "after t2" }));

  page.receive(started("u1"));

  assert.equal(page.sentOf("history").at(-1).state, "after t2");
});

test("a turn that was cut leaves the state that comes behind the cut", () => {
  const page = talked(1);
  const t = turn("t2");
  page.ask("q2", "t2").receive(t.start(), t.text("Begun")).dispatch({ type: "stop" });
  page.receive(t.end("interrupted", { state: "after t2" }));

  page.ask("q3", "t3");

  assert.equal(chatState(page), "after t2");
});

test("words that came too late for their conversation keep the state of their turn", () => {
  const page = talked(1).receive(started("u1")).ask("q2", "t2");
  page.receive({ type: "transcript", utterance: "u1", text: "late", final: true, turn_id: "v1" });
  page.receive(turn("v1").start("voice"), turn("v1").end("interrupted", { state: "after v1" }));

  const [late] = page.conversation.conversationHistory.filter(({ _turn }) => _turn === "v1");

  assert.equal(late._state, "after v1");
});

test("a turn that never was takes its state away", () => {
  const page = talked(1);
  page.ask("q2", "t2").receive(turn("t2").start(), turn("t2").end("aborted", { rollback: true, state: "after t2" }));

  page.ask("q3", "t3");

  assert.equal(chatState(page), "after t1");
});

test("each branch goes on from the state of its own last turn", () => {
  const page = talked(2).dispatch(again("t2", "t3"));
  assert.equal(chatState(page), "after t1", "the turn that is asked again never was");
  answer(page, "t3");
  page.dispatch({ type: "switch_branch", turnId: "t2" }).ask("q4", "t4");
  assert.equal(chatState(page), "after t2");
  answer(page, "t4");
  page.dispatch({ type: "switch_branch", turnId: "t3" });

  page.ask("q5", "t5");

  assert.equal(chatState(page), "after t3");
});

test("a failed turn that is sent again leaves its state with the hooks it leaves", () => {
  const page = talked(1);
  const fail = (id, ...frames) => {
    const t = turn(id);
    page.receive(t.start(), ...frames.map((name) => t.hook(name)), t.error("provider_failed"));
    page.receive(t.end("error", { state: `after ${id}` }));
  };
  fail(page.ask("q2", "t2") && "t2");
  page.dispatch({ type: "retry", turnId: "t3", at: 3 });
  assert.equal(chatState(page), "after t1");
  fail("t3", "greet");

  page.dispatch({ type: "retry", turnId: "t4", at: 4 });

  assert.equal(chatState(page), "after t3", "the model has read that hook, and will again");
});

test("the states of the last hundred turns are kept, in each version", () => {
  const page = talked(105).dispatch(again("t104", "t106"));
  answer(page, "t106");

  const [shown, other] = [page.conversation.conversationHistory, ...page.conversation.branches];
  const kept = (history) => history.flatMap(({ _state }) => _state ?? []);
  assert.deepEqual([kept(shown)[0], kept(shown).at(-1), kept(shown).length], ["after t6", "after t106", 99]);
  assert.deepEqual([kept(other)[0], kept(other).at(-1), kept(other).length], ["after t6", "after t105", 100]);
  assert.equal(shown[0], other[0], "a message of both is one object");
});

test("a turn that is asked again before these hundred begins without a state", () => {
  const page = talked(105).dispatch(again("t3", "t106"));

  assert.equal(chatState(page), undefined);
});

test("a state counts for the size of a frame as it travels", () => {
  const history = [{ role: "user", content: "q1", _turn: "t1", _state: '"'.repeat(1000) }];
  history.push({ role: "user", content: "q2", _turn: "t2" });
  const bytes = new TextEncoder().encode(JSON.stringify({ messages: history, state: '"'.repeat(1000) })).length;

  assert.equal(fitToLimits(history, { max_messages: 9, max_message_bytes: 2000 }), null);
  assert.ok(fitToLimits(history, { max_messages: 9, max_message_bytes: bytes }));
});

test("states are stored, exported and imported", () => {
  const page = talked(2).dispatch(again("t2", "t3"));
  answer(page, "t3");

  const stored = fromRecord(page.records.get("c1"), "write");
  const imported = fromJson(asJson(page.records.get("c1")), { id: "c2", at: 5 });

  const states = ({ conversationHistory, branches }) =>
    [conversationHistory, ...branches].map((branch) => branch.flatMap(({ _state }) => _state ?? []));
  assert.deepEqual(states(stored), [
    ["after t1", "after t3"],
    ["after t1", "after t2"],
  ]);
  assert.deepEqual(states(imported), states(stored));
});
