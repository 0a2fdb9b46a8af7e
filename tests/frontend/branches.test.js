/** Asking again: versions of a turn, which of them is sent, and what joins which. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { versionsOf } from "../../frontend/js/branches.js";
import { fromRecord } from "../../frontend/sdk/conversation.js";
import { conversationView } from "../../frontend/js/render/conversation_view.js";
import { inspectorView } from "../../frontend/js/render/inspector_view.js";
import { elements, Page, pluck, textOf, turn } from "./support.js";

/** Two turns, "First" and "Second", answered. */
function talked() {
  const page = new Page();
  answer(page.ask("First", "t1"), "t1", "One.");
  return answer(page.ask("Second", "t2"), "t2", "Two.");
}

function answer(page, id, text) {
  const t = turn(id);
  return page.receive(t.start(), t.text(text), t.sentence(0, text), t.end());
}

const again = (asked, turnId, text, at = 10) => ({ type: "ask_again", asked, turnId, at, ...(text && { text }) });
const sentTexts = (page) => pluck(page.sentOf("chat").at(-1).messages, "content");
const actionsOf = (page) =>
  elements(conversationView(page.state)).flatMap(({ attributes }) => attributes["data-action"] ?? []);

test("a turn asked again is sent without what followed, and the old version is kept", () => {
  const page = talked();

  page.dispatch(again("t1", "t3"));
  answer(page, "t3", "Another one.");

  assert.deepEqual(sentTexts(page), ["First"]);
  assert.deepEqual(page.history, ["user: First", "assistant: Another one."]);
  assert.deepEqual(versionsOf(page.conversation).get("t3"), ["t1", "t3"]);
  assert.match(textOf(conversationView(page.state)), /2 \/ 2/);
  page.dispatch({ type: "switch_branch", turnId: "t1" });
  assert.deepEqual(page.history, ["user: First", "assistant: One.", "user: Second", "assistant: Two."]);
});

test("what is sent next is the branch on screen", () => {
  const page = talked().dispatch(again("t2", "t3", "Third"));
  answer(page, "t3", "Three.");
  page.dispatch({ type: "switch_branch", turnId: "t2" });

  page.ask("Fourth", "t4");

  assert.deepEqual(sentTexts(page), ["First", "One.", "Second", "Two.", "Fourth"]);
});

test("an edited message is sent with its pictures; one left empty is not sent", () => {
  const page = new Page();
  const image = { id: "i", name: "y.png", url: "data:image/png;base64,eA==", width: 1, height: 1 };
  page.dispatch({ type: "attach", image });
  answer(page.ask("Look", "t1"), "t1", "One.");
  answer(page.ask("No picture", "t2"), "t2", "Two.");

  page.dispatch({ ...again("t2", "t3"), text: "  " });
  assert.equal(page.sentOf("chat").length, 2);
  page.dispatch({ type: "edit_message", turnId: "t1" }).dispatch(again("t1", "t4", "Look again"));

  assert.equal(page.state.editedTurn, null);
  assert.deepEqual(page.sentOf("chat").at(-1).messages[0].content, [
    { type: "text", text: "Look again" },
    { type: "image_url", image_url: { url: image.url } },
  ]);
});

test("versions stand in the order they were asked, wherever the user has been meanwhile", () => {
  const page = talked().dispatch(again("t2", "t3", "B", 10));
  answer(page, "t3", "b");
  page.dispatch({ type: "switch_branch", turnId: "t2" }).dispatch(again("t2", "t4", "C", 20));
  answer(page, "t4", "c");

  page.dispatch({ type: "switch_branch", turnId: "t3" });

  assert.deepEqual(versionsOf(page.conversation).get("t3"), ["t2", "t3", "t4"]);
  assert.deepEqual(versionsOf(page.conversation).get("t1"), undefined);
});

test("a turn with several branches behind it comes back with the one shown last", () => {
  const page = talked().dispatch(again("t2", "t3", "Other second"));
  answer(page, "t3", "Three.");
  page.dispatch(again("t1", "t4", "Other first"));
  answer(page, "t4", "Four.");

  page.dispatch({ type: "switch_branch", turnId: "t1" });

  assert.deepEqual(page.history.slice(2), ["user: Other second", "assistant: Three."]);
});

test("asking again while a reply runs cuts it, and its late hook joins the branch it belongs to", () => {
  const page = talked();
  const t3 = turn("t3");
  page.ask("Third", "t3").receive(t3.start());

  page.dispatch(again("t2", "t4", "Other second")).receive(t3.hook("late"), t3.end("interrupted"));

  assert.deepEqual(page.history, ["user: First", "assistant: One.", "user: Other second"]);
  page.dispatch({ type: "switch_branch", turnId: "t2" });
  assert.equal(page.history.at(-1), "system: text of late");
});

test("a version whose turn never was leaves the one before it on screen", () => {
  const page = talked().dispatch(again("t2", "t3", "Other second"));

  page.receive(turn("t3").start(), turn("t3").end("aborted", { rollback: true, message: "no" }));

  assert.deepEqual(page.history.slice(2), ["user: Second", "assistant: Two."]);
  assert.deepEqual(page.conversation.branches, []);
});

test("branches are stored, and come back", () => {
  const page = talked().dispatch(again("t2", "t3", "Other second"));

  const back = fromRecord(page.records.get("c1"), "write");

  assert.deepEqual(versionsOf(back).get("t3"), ["t2", "t3"]);
  assert.deepEqual(fromRecord({ ...page.records.get("c1"), branches: undefined }, "write").branches, []);
});

test("clearing takes the branches away, and undoing it brings them back", () => {
  const page = talked().dispatch(again("t2", "t3", "Other second"));
  answer(page, "t3", "Three.");

  page.dispatch({ type: "clear" });
  assert.deepEqual(page.conversation.branches, []);
  page.dispatch({ type: "undo", at: 30 });

  assert.deepEqual(versionsOf(page.conversation).get("t3"), ["t2", "t3"]);
});

test("beyond a hundred versions asking again is refused, and said", () => {
  const page = talked();
  for (let n = 0; n < 101; n += 1) {
    page.dispatch(again(n ? `v${n - 1}` : "t2", `v${n}`, "Again", n + 10));
    if (page.state.turn) answer(page, `v${n}`, "Yes.");
  }

  assert.equal(page.conversation.branches.length, 100);
  assert.equal(page.state.notices.at(-1).code, "too_many_branches");
  assert.equal(page.history.at(-1), "assistant: Yes.");
});

test("Esc leaves the editor and ends nothing else; another conversation has none open", () => {
  const page = talked();
  page.ask("Third", "t3").receive(turn("t3").start()).dispatch({ type: "edit_message", turnId: "t1" });

  page.dispatch({ type: "escape" });

  assert.equal(page.state.editedTurn, null);
  assert.equal(page.state.turn.id, "t3");
  page.dispatch({ type: "edit_message", turnId: "t1" });
  page.dispatch({ type: "open_conversation", id: "c2", at: 40 });
  assert.equal(page.state.editedTurn, null);
});

test("a tab that only reads offers to copy, and nothing that would write", () => {
  const page = talked();
  assert.ok(actionsOf(page).includes("ask-again"));
  page.state.loaded.c1.access = "read";
  page.state = { ...page.state, loaded: { ...page.state.loaded } };

  assert.deepEqual([...new Set(actionsOf(page))].sort(), ["copy-message", "copy-reply"]);
});

test("what the model read opens the inspector with that turn alone", () => {
  const page = talked();
  const trace = (turn_id) => ({ type: "trace", turn_id, event: "model_call", data: { call: 1, purpose: "direct" } });
  page.receive(trace("t1"), trace("t2"));
  assert.equal(actionsOf(page).filter((action) => action === "inspect").length, 2);

  page.dispatch({ type: "inspect", turnId: "t1" });

  const shown = textOf(inspectorView(page.state));
  assert.equal(page.state.panel, "inspector");
  assert.match(shown, /First/);
  assert.doesNotMatch(shown, /Second/);
});
