import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { parseFrame } from "../../frontend/sdk/socket.js";
import { Page, READY, turn } from "./support.js";

/** The frames as the server's own types describe them: type → {properties, required}. */
function framesOf(name) {
  const file = new URL(`../../docs/schemas/${name}.schema.json`, import.meta.url);
  const { oneOf, $defs } = JSON.parse(readFileSync(file, "utf8"));
  return Object.fromEntries(
    oneOf.map(({ $ref }) => {
      const frame = $defs[$ref.split("/").at(-1)];
      const { enum: [named] = [], const: constant } = frame.properties.type;
      return [named ?? constant, frame];
    }),
  );
}

const FROM_SERVER = framesOf("server-frames");
const TO_SERVER = framesOf("client-frames");

test("the page reads every frame that the server may send", () => {
  for (const type of Object.keys(FROM_SERVER)) assert.notEqual(parseFrame(JSON.stringify({ type })), null, type);
});

test("what these tests call a frame of the server is one", () => {
  const t = turn("t1");
  const frames = [
    t.start(),
    t.text("a"),
    t.sentence(0, "a"),
    t.sentenceEnd(0, 5, [[0, 1]]),
    t.hook("h"),
    t.call("c"),
    t.result("c"),
    t.media(),
    t.asks("a1"),
    t.resolves("a1", "user"),
    t.error("internal"),
    t.end("aborted", { rollback: true, message: "m" }),
  ];

  for (const frame of frames) {
    const { properties, required } = FROM_SERVER[frame.type];
    for (const key of Object.keys(frame)) assert.ok(key in properties, `${frame.type}.${key}`);
    for (const key of required) assert.ok(key in frame, `${frame.type}.${key}`);
  }
  for (const key of Object.keys(READY)) assert.ok(key in FROM_SERVER.ready.properties, `ready.${key}`);
});

test("what the page sends is what the server reads", () => {
  const page = new Page().ask("Hello", "t1");
  page.receive(turn("t1").start(), turn("t1").hook("h"), turn("t1").sentence(0, "Hi."), turn("t1").end());
  page.dispatch({ type: "toggle_skill", name: "calm" });
  page.ask("More", "t2").receive(turn("t2").start(), turn("t2").asks("a1"));
  const fields = { arguments: '{"path": "b"}', reason: "why", remember: "always", rememberFor: "tool" };
  page.dispatch({ type: "edit_approval", id: "a1" });
  page.dispatch({ type: "answer_approval", id: "a1", approved: true, fields });
  page.dispatch({ type: "stop" });

  assert.deepEqual([...new Set(page.sent.map(({ type }) => type))], ["configure", "chat", "approval", "interrupt"]);
  for (const frame of page.sent) {
    const { properties, required } = TO_SERVER[frame.type];
    for (const key of Object.keys(frame)) assert.ok(key in properties, `${frame.type}.${key}`);
    for (const key of required) assert.ok(key in frame, `${frame.type}.${key}`);
  }
});

test("ids made by the page have the letters that ids may have", () => {
  assert.match("a-B_9_r2", new RegExp(TO_SERVER.chat.properties.id.pattern ?? "^[A-Za-z0-9_-]{1,64}$"));
});
