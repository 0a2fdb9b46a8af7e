import assert from "node:assert/strict";
import { test } from "node:test";

import { CaptureCore, levelOf } from "../../frontend/sdk/voice/capture_worklet.js";
import { Player } from "../../frontend/sdk/voice/player.js";
import { BUFFER_MS, PlayerCore } from "../../frontend/sdk/voice/player_worklet.js";
import { pluck, seeded } from "./support.js";

const RATE = 48_000;
const BLOCK = 128;

/** Sound of `ms`, every sample the same. */
function sound(ms, { rate = RATE, value = 8192 } = {}) {
  return new Int16Array(Math.round((ms * rate) / 1000)).fill(value);
}

/** The next `ms` of what is rendered. */
function render(core, ms) {
  const out = new Float32Array(Math.ceil((ms * RATE) / 1000 / BLOCK) * BLOCK);
  for (let at = 0; at < out.length; at += BLOCK) core.render(out.subarray(at, at + BLOCK));
  return out;
}

const loud = (samples) => samples.filter((sample) => sample !== 0).length;

function sentence(core, id, ms, options = {}) {
  core.begin(id, options.rate ?? RATE);
  core.push(sound(ms, options));
  core.end();
}

test("a sentence waits for a little sound before it begins, so that it does not stutter", () => {
  const core = new PlayerCore(RATE);
  core.begin(1, RATE);
  core.push(sound(BUFFER_MS - 20));
  assert.equal(loud(render(core, 50)), 0);

  core.push(sound(20));

  assert.ok(loud(render(core, 50)) > 0);
});

test("a sentence shorter than the buffer is played", () => {
  const core = new PlayerCore(RATE);
  sentence(core, 1, 30);

  const out = render(core, 100);

  assert.equal(loud(out), sound(30).length);
  assert.deepEqual(core.report(), [{ id: 1, ms: 30, isOver: true }]);
});

test("sound of another rate takes the same time and keeps its shape", () => {
  const core = new PlayerCore(RATE);
  const rate = 22_050;
  const wave = Int16Array.from({ length: rate / 2 }, (_, i) => 10_000 * Math.sin((2 * Math.PI * 200 * i) / rate));
  core.begin(1, rate);
  core.push(wave);
  core.end();

  const out = render(core, 600);

  const expected = Float32Array.from(out, (_, i) =>
    i < RATE / 2 ? (10_000 / 32768) * Math.sin((2 * Math.PI * 200 * i) / RATE) : 0,
  );
  const worst = Math.max(...out.map((sample, i) => Math.abs(sample - expected[i])).slice(0, RATE / 2 - 10));
  assert.ok(worst < 0.002, `off by ${worst}`);
});

test("sound that comes in pieces of any size is the sound that comes at once", () => {
  const random = seeded(3);
  const rate = 24_000;
  const wave = Int16Array.from({ length: rate }, () => (random() - 0.5) * 60_000);
  const whole = new PlayerCore(RATE);
  whole.begin(1, rate);
  whole.push(wave);
  whole.end();
  const pieces = new PlayerCore(RATE);
  pieces.begin(1, rate);
  for (let at = 0; at < wave.length;) {
    const next = at + 1 + Math.floor(random() * 900);
    pieces.push(wave.slice(at, next));
    at = next;
  }
  pieces.end();

  assert.deepEqual(render(pieces, 1100), render(whole, 1100));
});

test("sound that stops coming is waited for, and nothing of it is skipped", () => {
  const core = new PlayerCore(RATE);
  core.begin(1, RATE);
  core.push(sound(150));
  const first = loud(render(core, 400));
  assert.equal(core.underruns, 1);
  core.push(sound(150));
  core.end();

  const second = loud(render(core, 400));

  assert.equal(first + second, sound(300).length);
  assert.deepEqual(core.report(), [{ id: 1, ms: 300, isOver: true }]);
});

test("one sentence follows the other without a gap", () => {
  const core = new PlayerCore(RATE);
  sentence(core, 1, 101);
  sentence(core, 2, 101);

  const out = render(core, 202);

  assert.equal(loud(out.subarray(0, (202 * RATE) / 1000)), (202 * RATE) / 1000);
  assert.deepEqual(pluck(core.report(), "id"), [1, 2]);
});

test("what was heard is what was rendered, never more", () => {
  const core = new PlayerCore(RATE);
  sentence(core, 7, 1000);
  render(core, 400);

  const [{ id, ms, isOver }] = core.report();

  assert.deepEqual([id, isOver], [7, false]);
  assert.ok(Math.abs(ms - 400) < 3, `${ms}`);
});

test("while it is paused nothing is heard and nothing is lost", () => {
  const core = new PlayerCore(RATE);
  sentence(core, 1, 300);
  const before = loud(render(core, 100));
  core.isPaused = true;
  assert.equal(loud(render(core, 1000)), 0);
  core.isPaused = false;

  const after = loud(render(core, 400));

  assert.equal(before + after, sound(300).length);
});

test("after a flush there is silence, and the next sentence is not paused", () => {
  const core = new PlayerCore(RATE);
  sentence(core, 1, 300);
  core.begin(2, RATE);
  core.push(sound(300));
  core.isPaused = true;
  core.flush();
  core.push(sound(300)); // what was still on its way
  core.end();
  assert.equal(loud(render(core, 500)), 0);
  assert.deepEqual(core.report(), []);

  sentence(core, 3, 200);

  assert.equal(loud(render(core, 300)), sound(200).length);
});

// The player before its audio thread

class FakeNode {
  messages = [];
  port = { postMessage: (message) => this.messages.push(message), onmessage: null };
  connect() {}
  tell(...reports) {
    this.port.onmessage({ data: reports });
  }
}

function playerPage({ state = "running", addModule = async () => {}, browser = "Chrome" } = {}) {
  const node = new FakeNode();
  const page = { node, heard: [], failed: [], blocked: [], waits: [], mended: 0, contexts: 0 };
  const context = {
    state,
    outputLatency: 0,
    audioWorklet: { addModule },
    destination: {},
    resume: async () => {},
    close: async () => {},
  };
  page.context = context;
  page.player = new Player({
    createContext: () => ((page.contexts += 1), context),
    createNode: () => node,
    addWorklet: ({ audioWorklet }) => audioWorklet.addModule("player_worklet.js"),
    onHeard: (heard) => page.heard.push(heard),
    onFailed: (reason, isNotLoaded) => page.failed.push(isNotLoaded ? `away: ${reason}` : reason),
    onRestored: () => (page.mended += 1),
    onBlocked: (isBlocked) => page.blocked.push(isBlocked),
    later: (act) => page.waits.push(act),
    browser,
  });
  page.settled = async () => {
    for (let i = 0; i < 5; i += 1) await null;
    return page;
  };
  return page;
}

const kinds = ({ node }) => node.messages.map(({ type }) => type);

test("the sound of a sentence goes to the audio thread in order", async () => {
  const page = playerPage();
  page.player.begin("t", 0, 22_050);
  page.player.push(new ArrayBuffer(4));
  page.player.end();
  page.player.begin("t", 1, 22_050);

  assert.deepEqual(kinds(await page.settled()), ["begin", "push", "end", "begin"]);
});

test("where there can be no sound, nothing is kept of what comes", async () => {
  const page = playerPage({ addModule: () => Promise.reject(new Error("no worklet")) });
  page.player.begin("t", 0, 22_050);
  await page.settled();

  page.player.begin("t", 1, 22_050);
  page.player.push(new ArrayBuffer(4));

  assert.deepEqual(page.failed, ["away: no worklet"]);
  assert.equal(page.player.sentences.size, 0);
  assert.equal(page.player.open, null);
});

test("sound that belongs to no open sentence is dropped", async () => {
  const page = playerPage();
  page.player.unlock();
  page.player.push(new ArrayBuffer(4));
  page.player.begin("t", 0, 22_050);
  page.player.flush();
  page.player.push(new ArrayBuffer(4));
  page.player.end();

  assert.deepEqual(kinds(await page.settled()), ["begin", "flush"]);
});

test("reports name the sentence, and those of a sentence that was flushed are not told", async () => {
  const page = playerPage();
  page.player.begin("old", 0, 22_050);
  await page.settled();
  page.player.flush();
  page.player.begin("new", 0, 22_050);
  await page.settled();

  page.node.tell({ id: 1, ms: 500, isOver: true }, { id: 2, ms: 40, isOver: false });

  assert.deepEqual(page.heard, [{ turnId: "new", index: 0, ms: 40, isOver: false }]);
});

test("sound that is still on its way to the loudspeaker is not yet heard", async () => {
  const page = playerPage();
  page.player.begin("t", 0, 22_050);
  await page.settled();
  page.context.outputLatency = 0.2;

  page.node.tell({ id: 1, ms: 100, isOver: false });
  page.node.tell({ id: 1, ms: 500, isOver: false });

  assert.deepEqual(pluck(page.heard, "ms"), [300]);
});

test("Firefox on Linux is not asked how far its sound has come, for it could hang", async () => {
  const page = playerPage({ browser: "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0" });
  page.player.begin("t", 0, 22_050);
  await page.settled();
  const asked = () => assert.fail("asked");
  Object.defineProperties(page.context, { outputLatency: { get: asked }, baseLatency: { get: asked } });

  page.node.tell({ id: 1, ms: 100, isOver: false });

  assert.deepEqual(pluck(page.heard, "ms"), [100]);
});

test("a browser without audio threads says so once and goes on silently", async () => {
  const page = playerPage();
  page.context.audioWorklet = undefined;
  page.player.begin("t", 0, 22_050);
  page.player.push(new ArrayBuffer(4));
  await page.settled();
  page.player.unlock();
  await page.settled();

  assert.equal(page.failed.length, 1);
  assert.match(page.failed[0], /^(?!away).*addModule/);
  assert.deepEqual(kinds(page), []);
});

test("what a server that was away did not send is asked for again, in a context of its own", async () => {
  let isNotLoaded = true;
  const page = playerPage({ addModule: async () => isNotLoaded && Promise.reject(new Error("not loaded")) });
  page.player.unlock();
  await page.settled();
  page.player.resumeIfSilent();
  page.player.resumeIfSilent(); // one start at a time
  await page.settled();
  isNotLoaded = false;
  page.player.resumeIfSilent();
  await page.settled();
  page.player.resumeIfSilent();
  page.player.begin("t", 0, 22_050);

  assert.deepEqual([page.failed, page.mended, page.contexts], [["away: not loaded"], 1, 3]);
  assert.deepEqual(kinds(await page.settled()), ["begin"]);
});

test("a browser that keeps the page silent is spoken of until it plays", async () => {
  const page = playerPage({ state: "suspended" });
  page.player.begin("t", 0, 22_050);
  await page.settled();
  for (const act of page.waits) act();
  page.context.state = "running";
  page.context.onstatechange();

  assert.deepEqual(page.blocked, [true, false]);
});

test("a browser that interrupts the sound, as Safari does for a call, is spoken of until it goes on", async () => {
  const page = playerPage();
  page.player.begin("t", 0, 22_050);
  await page.settled();
  for (const state of ["interrupted", "running"]) {
    page.context.state = state;
    page.context.onstatechange();
  }

  assert.deepEqual(page.blocked, [true, false]);
});

// The microphone

test("blocks become frames of 20 ms, and no sample is lost", () => {
  const core = new CaptureCore(16_000, 20);
  const frames = [];
  for (let i = 0; i < 25; i += 1) {
    const block = Float32Array.from({ length: BLOCK }, (_, n) => (i * BLOCK + n) / 4096);
    core.push(block, (frame) => frames.push(frame));
  }

  assert.deepEqual(pluck(frames, "length"), Array(10).fill(320));
  assert.equal(frames[9].at(-1), Math.round((3199 / 4096) * 32767));
});

test("samples beyond full scale are clipped, not wrapped around", () => {
  const core = new CaptureCore(16_000, 20);
  const frames = [];
  core.push(new Float32Array(320).fill(1.5).fill(-1.5, 160), (frame) => frames.push(frame));

  assert.equal(frames[0][0], 32767);
  assert.equal(frames[0][319], -32768);
});

test("frames of a rate that 20 ms do not divide hold whole samples", () => {
  const core = new CaptureCore(44_100, 20);
  const frames = [];
  core.push(new Float32Array(44_100), (frame) => frames.push(frame));

  assert.equal(frames.length, 50);
});

test("the level is 0 for silence and 1 for full scale", () => {
  assert.equal(levelOf(new Int16Array(320)), 0);
  assert.ok(levelOf(new Int16Array(320).fill(32767)) > 0.99);
  assert.ok(Math.abs(levelOf(new Int16Array(320).fill(1036)) - 0.5) < 0.01);
});

test("a sentence that is passed over falls silent, and what stands behind it is heard", () => {
  const core = new PlayerCore(RATE);
  sentence(core, 1, 500);
  sentence(core, 2, 40);
  render(core, 50);
  core.report();

  core.skip(1);

  assert.equal(loud(render(core, 100)), sound(40).length);
  assert.deepEqual(core.report(), [{ id: 2, ms: 40, isOver: true }]);
});

test("of a sentence that is passed over nothing more is played or told, though its sound still comes", async () => {
  const page = playerPage();
  page.player.begin("t", 0, 22_050);
  page.player.end();
  page.player.begin("t", 1, 22_050);

  page.player.skip("t", 1);
  page.player.push(new ArrayBuffer(4));
  page.player.end();
  await page.settled();
  page.node.tell({ id: 2, ms: 10, isOver: false }, { id: 1, ms: 5, isOver: true });

  assert.deepEqual(kinds(page), ["begin", "end", "begin", "skip"]);
  assert.deepEqual(pluck(page.heard, "index"), [0]);
});
