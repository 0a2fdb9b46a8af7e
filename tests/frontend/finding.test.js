/** The list of conversations: by day, pinned, searched; and files that are exported and imported. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { asJson } from "../../frontend/js/export.js";
import { fromJson } from "../../frontend/js/import.js";
import { groupsByDay } from "../../frontend/js/render/conversation_groups.js";
import { sidebarView } from "../../frontend/js/render/sidebar_view.js";
import { memoryStore } from "../../frontend/js/store.js";
import { ofType, Page, pluck, textOf, turn, withAttribute } from "./support.js";

const NOW = new Date(2026, 10, 22, 9, 0).getTime();
const at = (...date) => new Date(...date).getTime();
const summary = (id, updatedAt, pinnedAt = 0) => ({ id, title: id, updatedAt, pinnedAt });
const AS = { id: "here", at: 5 };

const listed = (page) => withAttribute(sidebarView(page.state), "class", "conversation").map(textOf);

function answered(page, id, question, reply) {
  const t = turn(id);
  return page.ask(question, id).receive(t.start(), t.hook("tone"), t.text(reply), t.sentence(0, reply), t.end());
}

test("conversations stand under their day, the older ones under their month, pinned ones first", () => {
  const groups = groupsByDay(
    [
      summary("now", NOW),
      summary("midnight", at(2026, 10, 22)),
      summary("last night", at(2026, 10, 21, 23, 59)),
      summary("pinned", at(2026, 10, 20), 7),
      summary("week", at(2026, 10, 16)),
      summary("month", at(2026, 10, 1)),
      summary("summer", at(2026, 6, 1)),
    ],
    NOW,
  );

  assert.deepEqual(
    groups.map(({ label, summaries }) => [label, ...summaries.map(({ id }) => id)]),
    [
      ["Pinned", "pinned"],
      ["Today", "now", "midnight"],
      ["Yesterday", "last night"],
      ["Previous 7 days", "week"],
      ["Previous 30 days", "month"],
      ["July 2026", "summer"],
    ],
  );
});

test("pinning is stored, keeps the time of the last message, and is taken back the same way", () => {
  const page = answered(new Page(), "t1", "Hello", "Hi.");

  page.dispatch({ type: "pin", at: 9 });
  assert.equal(page.records.get("c1").pinnedAt, 9);
  assert.equal(page.records.get("c1").updatedAt, 2);
  assert.equal(page.state.conversations[0].pinnedAt, 9);

  page.dispatch({ type: "pin", at: 10 });
  assert.equal(page.records.get("c1").pinnedAt, 0);
});

/** Two conversations in the list, of which the second is not loaded. */
function twoListed() {
  const page = answered(new Page(), "t1", "Hello", "Hi.");
  const other = { ...page.records.get("c1"), id: "c2", title: "Other", updatedAt: 1 };
  page.dispatch({ type: "listed", conversations: [...page.state.conversations, summary("c2", 1)] });
  const arrives = (access = "write") => page.dispatch({ type: "opened", id: "c2", record: other, access, at: 9 });
  return { page, arrives };
}

test("a conversation that is only in the list is loaded to be changed, stored, and let go", () => {
  const { page, arrives } = twoListed();

  page.dispatch({ type: "rename", id: "c2", title: " New name " }).dispatch({ type: "pin", id: "c2", at: 7 });
  assert.equal(page.effects.filter(({ type, id }) => type === "open" && id === "c2").length, 1);
  arrives();

  assert.deepEqual([page.records.get("c2").title, page.records.get("c2").pinnedAt], ["New name", 7]);
  assert.deepEqual(
    page.state.conversations.find(({ id }) => id === "c2"),
    { id: "c2", title: "New name", updatedAt: 1, pinnedAt: 7 },
  );
  assert.deepEqual(page.effects.at(-1), { type: "release", id: "c2" });
  assert.equal(page.state.openId, "c1");
  assert.equal(page.records.get("c1").title, "");
});

test("deleting from the list leaves the open conversation and its turn alone, and so does undoing it", () => {
  const { page, arrives } = twoListed();
  page.ask("More", "t2").receive(turn("t2").start());

  page.dispatch({ type: "delete", id: "c2", nextId: "c9", at: 9 });
  arrives();
  assert.deepEqual(ofType(page.effects, "remove"), [{ type: "remove", id: "c2" }]);
  assert.deepEqual(pluck(page.state.conversations, "id"), ["c1"]);

  page.dispatch({ type: "undo", at: 10 });
  assert.deepEqual(pluck(page.state.conversations, "id"), ["c1", "c2"]);
  assert.equal(page.records.get("c2").title, "Other");
  assert.deepEqual([page.state.openId, page.state.turn?.id], ["c1", "t2"]);
});

test("a conversation that another tab holds is left as it is, and that is said", () => {
  const { page, arrives } = twoListed();

  page.dispatch({ type: "delete", id: "c2", nextId: "c9", at: 9 });
  arrives("read");

  assert.match(page.state.notices[0].message, /open in another tab/);
  assert.equal(page.state.conversations.length, 2);
  assert.deepEqual(page.effects.at(-1), { type: "release", id: "c2" });
});

test("a conversation that was deleted elsewhere is not made again by renaming it", () => {
  const { page } = twoListed();

  page.dispatch({ type: "rename", id: "c2", title: "New name" });
  page.dispatch({ type: "opened", id: "c2", record: null, access: "write", at: 9 });

  assert.equal(page.records.has("c2"), false);
});

test("a search finds titles at once and messages when the store has answered; an answer that comes late is dropped", () => {
  const page = new Page().dispatch({ type: "listed", conversations: [summary("Apples", 3), summary("Pears", 2)] });

  page.dispatch({ type: "search", text: " aPP" });
  assert.deepEqual(listed(page), ["Apples"]);
  page.dispatch({ type: "found", text: " aPP", ids: ["Pears"] });
  assert.deepEqual(listed(page), ["Apples", "Pears"]);

  page.dispatch({ type: "search", text: "x" }).dispatch({ type: "found", text: " aPP", ids: ["Pears"] });
  assert.deepEqual(listed(page), []);
  assert.match(textOf(sidebarView(page.state)), /Nothing found/);
});

test("a search reads what was said, not what hooks added", async () => {
  const page = answered(new Page(), "t1", "Hello", "The Morning sun.");
  const store = memoryStore();
  await store.save(page.records.get("c1"));

  assert.deepEqual(await store.find("morning SUN"), ["c1"]);
  assert.deepEqual(await store.find("text of tone"), []);
});

test("an exported conversation is imported as it was, with its branches, as another one", () => {
  const page = answered(new Page(), "t1", "First", "One.");
  answered(page, "t2", "Second", "Two.");
  page.dispatch({ type: "ask_again", asked: "t2", text: "Other", turnId: "t3", at: 4 });
  const exported = asJson(page.records.get("c1"));
  assert.equal(exported.match(/"One\."/g).length, 1, "what branches share stands there once");

  page.dispatch({ type: "import", text: exported, name: "a.json", id: "c2", at: 8 });

  const record = page.records.get("c2");
  assert.equal(page.state.openId, "c2");
  assert.deepEqual(
    pluck(record.branches[0], "content"),
    page.records.get("c1").branches[0].map(({ content }) => content),
  );
  assert.deepEqual(record.conversationHistory.slice(0, -1), page.records.get("c1").conversationHistory.slice(0, -1));
  assert.equal(record.conversationHistory.at(-1)._answer, "lost", "it was pending there");
});

test("a file that holds no conversation is refused by its name, and changes nothing", () => {
  const file = (more) => JSON.stringify({ format: "parley-conversation", version: 1, title: "x", ...more });
  const refused = [
    "",
    "{",
    "null",
    "[]",
    JSON.stringify({ format: "other", version: 1, messages: [{ role: "user", content: "x" }] }),
    file({}),
    file({ messages: [] }),
    file({ messages: [{ role: "tool", content: "x" }] }),
    file({ messages: [{ role: "user", content: [{ type: "text" }] }] }),
    file({ messages: [null] }),
    file({ messages: [{ role: "user", content: "x" }], branches: [{ after: 0, messages: [{}] }] }),
    file({ messages: Array(20_001).fill({ role: "user", content: "x" }) }),
  ];
  for (const text of refused) assert.equal(fromJson(text, AS), null, text.slice(0, 80));
  const page = new Page();

  page.dispatch({ type: "import", text: "{", name: "b.json", id: "c2", at: 8 });

  assert.equal(page.state.openId, "c1");
  assert.match(page.state.notices[0].message, /^b\.json cannot be imported/);
});

test("of a file only what is known comes in", () => {
  const picture = { id: "p", name: "y.png", url: "data:image/png;base64,eA==", width: 1, height: 1 };
  const messages = [
    {
      role: "user",
      content: "x",
      _turn: "../x",
      _evil: 1,
      _images: [picture, { ...picture, url: "https://example.org/y.png" }, { ...picture, width: "1" }],
    },
    { role: "system", content: "h", _hook: "h", _skill: "s", _sig: "v1", _timing: 3, _turn: "t" },
  ];
  const text = JSON.stringify({ format: "parley-conversation", version: 1, title: 3, messages, branches: [null] });

  const record = fromJson(text, AS);

  assert.equal(record.title, "");
  assert.equal(record.id, "here");
  assert.deepEqual(record.conversationHistory, [
    { role: "user", content: "x", _images: [picture] },
    { role: "system", content: "h", _hook: "h", _skill: "s", _sig: "v1", _turn: "t" },
  ]);
});
