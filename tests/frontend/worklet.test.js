import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

import { captureWorklet } from "../../frontend/sdk/voice/capture_worklet.js";
import { playerWorklet } from "../../frontend/sdk/voice/player_worklet.js";
import { addWorklet } from "../../frontend/sdk/voice/worklet.js";

const FILE = new URL("https://server/worklet.js");

/** An audio thread that has no files, and one that takes no text either. */
function threadWithoutFiles({ takesText = true } = {}) {
  const names = [];
  class AudioWorkletProcessor {}
  const scope = { AudioWorkletProcessor, registerProcessor: (name) => names.push(name), sampleRate: 16_000 };
  const addModule = async (url) => {
    if (url === FILE) throw new Error("no such file");
    if (!takesText) throw new Error("refused by the page's policy");
    runInNewContext(await (await fetch(url)).text(), scope);
  };
  return { audioWorklet: { addModule }, names };
}

test("a worklet whose file a bundler has left behind runs from its text alone", async () => {
  const thread = threadWithoutFiles();

  await addWorklet(thread, FILE, async () => captureWorklet);
  await addWorklet(thread, FILE, async () => playerWorklet);

  assert.deepEqual(thread.names, ["parley-capture", "parley-player"]);
});

test("a worklet that loads neither way fails as its file did", async () => {
  const thread = threadWithoutFiles({ takesText: false });

  await assert.rejects(() => addWorklet(thread, FILE, async () => captureWorklet), /no such file/);
});
