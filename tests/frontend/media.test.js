import assert from "node:assert/strict";
import { test } from "node:test";

import { asMarkdown } from "../../frontend/js/export.js";
import { conversationView } from "../../frontend/js/render/conversation_view.js";
import { mediaView } from "../../frontend/js/render/media_view.js";
import { elements, Page, pluck, textOf, turn } from "./support.js";

const t = turn("t1");
const FILE = { url: "/media/0f?u=a&e=1&s=b", content_type: "image/png", name: "dot.png", size: 2048 };

function drawn() {
  const page = new Page().ask("Draw", "t1");
  page.receive(
    t.start(),
    t.sentence(0, "Let me draw."),
    t.call("c", "paint"),
    { ...t.result("c"), for_user: "I used **red**." },
    t.media(),
    t.sentence(1, "\n\nHere it is."),
    t.end(),
  );
  return page;
}

const linksOf = (view) => elements(view).flatMap(({ attributes: { href, src } }) => [href, src].filter(Boolean));

test("a file stays in its place in the conversation, and the model gets the reply as it was written", () => {
  const page = drawn();
  assert.deepEqual(page.history, [
    "user: Draw",
    "assistant: Let me draw.",
    "assistant: ",
    "assistant: \n\nHere it is.",
  ]);

  page.ask("Thanks", "t2");

  assert.deepEqual(
    page.sentOf("chat")[1].messages.map(({ role, content }) => `${role}: ${content}`),
    ["user: Draw", "assistant: Let me draw.\n\nHere it is.", "user: Thanks"],
  );
  assert.ok(!JSON.stringify(page.sentOf("chat")[1]).includes("/media/"));
});

test("a file is shown again after a reload, also of a turn that the reload cut", () => {
  const page = new Page().ask("Draw", "t1").receive(t.start(), t.media());
  const record = page.records.get("c1");

  const again = new Page();
  again.dispatch({ type: "open_conversation", id: "c2", at: 1 });
  again.dispatch({ type: "opened", id: "c2", record: { ...record, id: "c2" }, access: "write", at: 1 });

  const [picture] = elements(conversationView(again.state)).filter(({ tag }) => tag === "img");
  assert.equal(picture.attributes.alt, "Picture: y.png");
  assert.match(asMarkdown(record), /y\.png/);
});

test("what a tool says to the user stands in the open, and is not kept", () => {
  const page = drawn();

  const view = conversationView(page.state);

  const folded = elements(view).filter(({ tag }) => tag === "details");
  assert.match(textOf(view), /I used red\./);
  assert.ok(folded.every((details) => !textOf(details).includes("I used")));
  assert.ok(!JSON.stringify(page.records.get("c1")).includes("I used"));
});

test("files and words for the user are read out", () => {
  const page = new Page().ask("Draw", "t1");
  page.receive(t.start(), t.call("c"), { ...t.result("c"), for_user: "I used **red**." }, t.media("dot.png"));

  assert.deepEqual(pluck(page.state.announcements, "text"), ["I used red.", "Shown: dot.png"]);
});

for (const [type, tag] of [
  ["image/png", "img"],
  ["audio/mpeg", "audio"],
  ["video/mp4", "video"],
]) {
  test(`${type} is shown by ${tag}, and can be downloaded`, () => {
    const found = elements(mediaView({ ...FILE, content_type: type }));

    assert.equal(found.filter((element) => element.tag === tag).length, 1);
    assert.ok(found.some(({ attributes }) => attributes.download === "dot.png"));
  });
}

for (const type of ["image/svg+xml", "text/html", "application/pdf", "", "IMAGE/PNG"]) {
  test(`${type || "a file without a type"} is for downloading only`, () => {
    const found = elements(mediaView({ ...FILE, content_type: type }));

    assert.deepEqual(
      found.filter(({ tag }) => ["img", "audio", "video", "iframe", "object"].includes(tag)),
      [],
    );
    assert.deepEqual(linksOf(mediaView({ ...FILE, content_type: type })), [FILE.url]);
    assert.match(textOf(mediaView({ ...FILE, content_type: type })), /dot\.png \(2 KB\)/);
  });
}

for (const url of [
  "//evil.example/x",
  "https://evil.example/media/1",
  "/api/logout",
  "/media/../api/logout",
  "/media/%2e%2e/api",
  "/media\\evil",
  "javascript:alert(1)",
  "data:image/png;base64,",
  "/media/1#x",
]) {
  test(`${url} is named, not linked`, () => {
    assert.deepEqual(linksOf(mediaView({ ...FILE, url })), []);
    assert.match(textOf(mediaView({ ...FILE, url })), /dot\.png/);
  });
}
