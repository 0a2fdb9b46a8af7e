import assert from "node:assert/strict";
import { test } from "node:test";

import { Microphone } from "../../frontend/js/voice/microphone.js";

/** A browser whose answers to `getUserMedia` the test gives. */
function microphone(t) {
  const asked = [];
  const mediaDevices = { getUserMedia: () => new Promise((_give, refuse) => asked.push(refuse)) };
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { value: { mediaDevices }, configurable: true });
  t.after(() => (before ? Object.defineProperty(globalThis, "navigator", before) : delete globalThis.navigator));
  const ignore = () => {};
  return { mic: new Microphone({ onFrame: ignore, onLevel: ignore, onLost: ignore }), asked };
}

test("a start that fails after it was stopped or overtaken fails nobody", async (t) => {
  const { mic, asked } = microphone(t);
  const first = mic.start("a");
  const second = mic.start("b");
  asked[0](new Error("gone"));
  assert.equal(await first, null);

  mic.stop();
  asked[1](new Error("gone"));
  assert.equal(await second, null);
});

test("a start that fails is told to whoever asked for it", async (t) => {
  const { mic, asked } = microphone(t);
  const start = mic.start("a");
  asked[0](new Error("gone"));

  await assert.rejects(start, /gone/);
});
