import assert from "node:assert/strict";
import { test } from "node:test";

import { fitToLimits } from "../../frontend/sdk/conversation.js";
import { titleOf } from "../../frontend/js/titles.js";
import { asMarkdown } from "../../frontend/js/export.js";
import { attachable } from "../../frontend/js/attach_files.js";
import { asDocument, fittedSize, imageBudgetBytes, isDocumentUrl, MAX_ATTACHED } from "../../frontend/js/images.js";
import { composerView } from "../../frontend/js/render/composer_view.js";
import { conversationView } from "../../frontend/js/render/conversation_view.js";
import { elements, LIMITS, Page, pluck, READY, textOf, turn, withAttribute } from "./support.js";

const URL_OF = (id) => `data:image/png;base64,${Buffer.from(id).toString("base64")}`;
const image = (id, more = {}) => ({ id, name: `${id}.png`, url: URL_OF(id), width: 4, height: 3, ...more });

function withAttached(page, ...ids) {
  page.dispatch({ type: "reading_images", count: ids.length });
  for (const id of ids) page.dispatch({ type: "attach", image: image(id) });
  return page;
}

function ask(page, text, turnId, ...ids) {
  withAttached(page, ...ids).ask(text, turnId);
  return page.receive(turn(turnId).start(), turn(turnId).sentence(0, "I see."), turn(turnId).end());
}

/** Contents as the server gets them; of pictures the name. */
function contents(chat) {
  return chat.messages.map(({ content }) =>
    typeof content === "string"
      ? content
      : content.map((part) => part.text ?? `<${Buffer.from(part.image_url.url.split(",")[1], "base64")}>`),
  );
}

test("a picture goes with the message as a part, and nothing of ours goes along", () => {
  const page = ask(new Page(), "What is this?", "t1", "cat");

  const [chat] = page.sentOf("chat");

  assert.deepEqual(chat.messages[0].content, [
    { type: "text", text: "What is this?" },
    { type: "image_url", image_url: { url: URL_OF("cat") } },
  ]);
  assert.ok(!("_images" in chat.messages[0]));
  assert.deepEqual(page.state.attachments, []);
});

test("a picture without words is a message", () => {
  const page = ask(new Page(), " ", "t1", "cat");

  assert.deepEqual(contents(page.sentOf("chat")[0]), [["<cat>"]]);
  assert.equal(titleOf(page.conversation), "cat.png");
  assert.match(asMarkdown(page.records.get("c1")), /\*\[image: cat\.png\]\*/);
});

test("only the last two pictures are sent again; the others are named in words and stay in sight", () => {
  const page = ask(new Page(), "One", "t1", "a", "b");
  ask(page, "Two", "t2", "c");
  page.ask("Three", "t3");

  assert.deepEqual(contents(page.sentOf("chat")[1]), [["One", "[image]", "<b>"], "I see.", ["Two", "<c>"]]);
  assert.deepEqual(contents(page.sentOf("chat")[2]), [
    ["One", "[image]", "<b>"],
    "I see.",
    ["Two", "<c>"],
    "I see.",
    "Three",
  ]);
  const shown = elements(conversationView(page.state)).filter(({ tag }) => tag === "img");
  assert.deepEqual(pluck(pluck(shown, "attributes"), "alt"), ["a.png", "b.png", "c.png"]);
});

test("all pictures of one message are sent with it, and two of them again", () => {
  const page = ask(new Page(), "Old", "t0", "z");
  ask(page, "Four", "t1", "a", "b", "c", "d");
  page.ask("And?", "t2");

  assert.deepEqual(contents(page.sentOf("chat")[1]), [
    "Old\n\n[image]",
    "I see.",
    ["Four", "<a>", "<b>", "<c>", "<d>"],
  ]);
  assert.deepEqual(contents(page.sentOf("chat")[2])[2], ["Four", "[image]", "[image]", "<c>", "<d>"]);
});

test("a spoken turn sends the last two pictures in its history", () => {
  const page = ask(new Page(), "One", "t1", "a", "b", "c");

  page.receive({ type: "speech_started", utterance: "u1", audio_ms: 1 });

  assert.deepEqual(contents(page.sentOf("history")[0])[0], ["One", "[image]", "<b>", "<c>"]);
});

test("one picture too many is left out and said so", () => {
  const page = withAttached(new Page(), "a", "b", "c", "d", "e");

  assert.equal(page.state.attachments.length, MAX_ATTACHED);
  assert.match(page.state.notices[0].message, /up to 4 files/);
});

test("nothing is sent while a picture is being read, and a failed one holds nothing up", () => {
  const page = new Page().dispatch({ type: "reading_images", count: 1 }).ask("Look", "t1");
  assert.equal(page.sentOf("chat").length, 0);
  assert.match(textOf(composerView(page.state)), /Reading the file/);

  page.dispatch({ type: "attach", image: null }).ask("Look", "t1");

  assert.equal(page.sentOf("chat").length, 1);
});

test("a picture can be taken back, and the screen reader says both", () => {
  const page = withAttached(new Page(), "a", "b");
  const buttons = withAttribute(composerView(page.state), "data-action", "detach");
  assert.deepEqual(pluck(pluck(buttons, "attributes"), "aria-label"), ["Remove a.png", "Remove b.png"]);

  page.dispatch({ type: "detach", id: "a" });

  assert.deepEqual(pluck(page.state.attachments, "id"), ["b"]);
  assert.ok(page.state.effects.some(({ type }) => type === "focus"));
  assert.deepEqual(pluck(page.state.announcements, "text"), ["Attached: a.png", "Attached: b.png", "Removed: a.png"]);
});

test("a rollback gives the pictures back with the words", () => {
  const page = withAttached(new Page(), "a").ask("Look", "t1").receive(turn("t1").start());
  withAttached(page, "b");

  page.receive(turn("t1").end("aborted", { rollback: true }));

  assert.deepEqual(pluck(page.state.attachments, "id"), ["a", "b"]);
});

test("a message that is asked again has its pictures again", () => {
  const page = withAttached(new Page(), "a").ask("Look", "t1").lose().receive(READY);

  page.dispatch({ type: "retry", turnId: "t2", at: 3 });

  assert.deepEqual(contents(page.sentOf("chat")[1]), [["Look", "<a>"]]);
});

test("a picture that this browser has lost is a word for the model and a line for the user", () => {
  const page = new Page();
  const lost = { role: "user", content: "Look", _turn: "t0", _images: [image("a", { url: "" })] };
  const record = { id: "c2", title: "", createdAt: 1, updatedAt: 1, conversationHistory: [lost], historySegments: [] };
  page.dispatch({ type: "open_conversation", id: "c2", at: 1 });
  page.dispatch({ type: "opened", id: "c2", record, access: "write", at: 1 });
  assert.match(textOf(conversationView(page.state)), /a\.png: this browser has lost the picture/);

  page.ask("And?", "t1");

  assert.deepEqual(contents(page.sentOf("chat")[0]), ["Look\n\n[image]", "And?"]);
});

test("a message full of pictures of the largest size fits into a frame", () => {
  const bytes = imageBudgetBytes(LIMITS);
  const url = `data:image/jpeg;base64,${Buffer.alloc(bytes).toString("base64")}`;
  const images = Array.from({ length: MAX_ATTACHED }, (_, n) => image(`i${n}`, { url }));

  assert.ok(fitToLimits([{ role: "user", content: "x".repeat(50_000), _images: images }], LIMITS));
  assert.ok(imageBudgetBytes({ max_message_bytes: 1 << 40, max_messages: 1 }) <= 5 << 20);
});

test("a picture is made smaller, never larger, and keeps its shape", () => {
  assert.deepEqual(fittedSize({ width: 4032, height: 3024 }), { width: 1568, height: 1176 });
  assert.deepEqual(fittedSize({ width: 100, height: 3136 }), { width: 50, height: 1568 });
  assert.deepEqual(fittedSize({ width: 20, height: 10 }), { width: 20, height: 10 });
  assert.deepEqual(fittedSize({ width: 9000, height: 1 }), { width: 1568, height: 1 });
});

test("what is no picture is not taken for one", () => {
  const files = [{ type: "text/html" }, { type: "image/png" }, { type: "" }];

  assert.deepEqual(attachable(files), [{ type: "image/png" }]);
  assert.deepEqual(attachable(null), []);
});

test("a document goes as text with its message and all later ones, and pictures count by themselves", () => {
  const notes = asDocument({ id: "d1", name: 'my "notes".md', text: "# Ä\n100 % 🙂" });
  const page = new Page().dispatch({ type: "reading_images", count: 2 }).dispatch({ type: "attach", image: notes });
  page.dispatch({ type: "attach", image: image("cat") }).ask("Read it.", "t1");
  page.receive(turn("t1").start(), turn("t1").sentence(0, "I see."), turn("t1").end());
  ask(page, "And?", "t2");

  const [first, second] = page.sentOf("chat");

  const text = 'Document "my \\"notes\\".md":\n\n# Ä\n100 % 🙂';
  assert.deepEqual(contents(first), [["Read it.", text, "<cat>"]]);
  assert.deepEqual(contents(second)[0], ["Read it.", text, "<cat>"]);
  assert.match(textOf(conversationView(page.state)), /my "notes"\.md/);
});

test("the address of a document is what this page writes, and nothing else", () => {
  const { url } = asDocument({ id: "d", name: "a.txt", text: "a b ä" });

  assert.equal(isDocumentUrl(url), true);
  for (const other of [null, "", "data:text/html,x", `${url}%FF`, `${url}<b>`, `${url}%`])
    assert.equal(isDocumentUrl(other), false);
});

test("a picture whose address is none of ours is not loaded", () => {
  const page = new Page();
  for (const url of [
    "https://evil.example/x.png",
    "data:image/svg+xml;base64,AAAA",
    'data:image/png;base64," onload=',
  ]) {
    page.dispatch({ type: "attach", image: image("x", { url }) });
  }

  assert.ok(elements(composerView(page.state)).every(({ tag }) => tag !== "img"));
});
