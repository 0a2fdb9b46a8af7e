import assert from "node:assert/strict";
import { test } from "node:test";

import { MicrophoneControl } from "../../frontend/sdk/voice/microphone_control.js";
import { MAX_DROP_MS, PAUSE_MS, PauseGate } from "../../frontend/sdk/voice/pause_gate.js";
import { explain, Microphone } from "../../frontend/sdk/voice/microphone.js";

/** A browser whose answers to `getUserMedia` the test gives. */
function microphone(t) {
  const asked = [];
  const mediaDevices = { getUserMedia: () => new Promise((_give, refuse) => asked.push(refuse)) };
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { value: { mediaDevices }, configurable: true });
  t.after(() => (before ? Object.defineProperty(globalThis, "navigator", before) : delete globalThis.navigator));
  const ignore = () => {};
  return { mic: new Microphone({ onFrame: ignore, onLevel: ignore, onLost: ignore, onMuted: ignore }), asked };
}

test("a start that fails after it was stopped or overtaken is no failure", async (t) => {
  const { mic, asked } = microphone(t);
  const first = mic.start("a");
  const second = mic.start("b");
  asked[0](new Error("gone"));
  assert.equal(await first, null);

  mic.stop();
  asked[1](new Error("gone"));
  assert.equal(await second, null);
});

test("a start that fails rejects", async (t) => {
  const { mic, asked } = microphone(t);
  const start = mic.start("a");
  asked[0](new Error("gone"));

  await assert.rejects(start, /gone/);
});

/** A browser that gives a microphone, and whose contexts run once `resume` is settled. */
function listening(t, resume) {
  const closed = [];
  const permission = { state: "granted" };
  const track = { stop: () => closed.push("track"), muted: false };
  const node = { port: {}, connect: () => {} };
  const fakes = {
    navigator: {
      mediaDevices: {
        getUserMedia: async () => ({ getTracks: () => [track] }),
        enumerateDevices: async () => [],
        addEventListener: () => {},
      },
      permissions: { query: async () => permission },
    },
    document: { hidden: true },
    AudioWorkletNode: class {
      port = {};
    },
    AudioContext: class {
      sampleRate = 16_000;
      audioWorklet = { addModule: async () => {} };
      createMediaStreamSource = () => node;
      resume = () => resume;
      close = async () => void closed.push("context");
    },
  };
  for (const [name, value] of Object.entries(fakes)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true });
    t.after(() => (before ? Object.defineProperty(globalThis, name, before) : delete globalThis[name]));
  }
  return { closed, track, permission };
}

test("a browser whose sound does not start says so, and the microphone is let go", async (t) => {
  const { closed } = listening(t, new Promise(() => {}));
  const ignore = () => {};
  const mic = new Microphone({
    onFrame: ignore,
    onLevel: ignore,
    onLost: ignore,
    onMuted: ignore,
    patience: async () => {},
  });

  const { problem } = await mic.start("").catch(explain);

  assert.equal(problem, "no_output");
  assert.deepEqual(closed, ["track", "context"]);
});

test("a browser whose sound starts is listened to", async (t) => {
  const { closed } = listening(t, Promise.resolve());
  const ignore = () => {};
  const mic = new Microphone({
    onFrame: ignore,
    onLevel: ignore,
    onLost: ignore,
    onMuted: ignore,
    patience: () => new Promise(ignore),
  });

  assert.equal(await mic.start(""), 16_000);
  assert.deepEqual(closed, []);
});

test("a context that was interrupted while the page was out of sight is resumed", async (t) => {
  let resumed = 0;
  listening(t, Promise.resolve());
  const ignore = () => {};
  const mic = new Microphone({
    onFrame: ignore,
    onLevel: ignore,
    onLost: ignore,
    onMuted: ignore,
    patience: () => new Promise(ignore),
  });
  mic.wake(); // before there is any: nothing happens
  await mic.start("");
  mic.context.resume = async () => void (resumed += 1);
  mic.wake();

  assert.equal(resumed, 1);
});

test("a machine without microphone is told so, whichever kind of error says it", () => {
  class OverconstrainedError extends Error {
    name = "OverconstrainedError"; // WebKit's is no DOMException
  }

  for (const error of [new OverconstrainedError("Invalid constraint"), new DOMException("none", "NotFoundError")]) {
    assert.equal(explain(error).problem, "not_found");
  }
});

/** A `MicrophoneControl` in a browser with two microphones, and the events that it dispatches. */
async function microphoneControl(t) {
  t.mock.timers.enable({ apis: ["setTimeout"] }); // a real one of ten seconds would keep Node from ending
  const browser = listening(t, Promise.resolve());
  const events = [];
  const ignore = () => {};
  const microphone = new MicrophoneControl({
    dispatch: (event) => events.push(event),
    isOn: () => true,
    isOnline: () => true,
    onFrame: ignore,
    onLevel: ignore,
  });
  return { browser, microphone, events };
}

test("who has muted the microphone stays muted with another device, until listening ends", async (t) => {
  const { browser, microphone } = await microphoneControl(t);
  const enabled = [];
  Object.defineProperty(browser.track, "enabled", { set: (isOn) => enabled.push(isOn) });
  await microphone.open("a");
  microphone.silence(true);
  await microphone.open("b");
  microphone.silence(false);
  microphone.silence(true);
  microphone.close();
  await microphone.open("b");

  assert.deepEqual(enabled, [true, false, false, true, false, true]);
});

test("a microphone that goes away says whether it was unplugged or taken back", async (t) => {
  const { browser, microphone, events } = await microphoneControl(t);
  await microphone.open("");
  browser.track.onended();
  assert.equal(events.at(-1).problem, "unplugged");

  browser.permission.state = "prompt";
  browser.track.onended();

  assert.deepEqual(events.at(-1), { type: "microphone_off", problem: "no_longer_allowed" });
});

test("a microphone that the system mutes says so, also where it is muted from the first", async (t) => {
  const { browser, microphone, events } = await microphoneControl(t);
  const told = () => events.filter(({ type }) => type === "microphone_muted").map(({ isMuted }) => isMuted);
  await microphone.open("");
  assert.deepEqual(told(), []);
  browser.track.muted = true;
  browser.track.onmute();
  browser.track.muted = false;
  browser.track.onunmute();
  assert.deepEqual(told(), [true, false]);

  browser.track.muted = true;
  await microphone.open("");

  assert.deepEqual(told(), [true, false, true]);
});

const SPEECH = 0.6;
const WORD_GAP_MS = 300;

/** A gate, and how much of what it heard it let through. */
function gate() {
  const told = [];
  const gate = new PauseGate(() => told.push("dropped"));
  const hear = (level, ms, isOnline = true) => {
    let passedMs = 0;
    for (let at = 0; at < ms; at += 20) {
      gate.hear(level, isOnline);
      if (gate.isOpen) passedMs += 20;
    }
    return passedMs;
  };
  hear(0.1, 3000); // the room
  return { gate, hear, told };
}

test("of a sentence that a lost connection cuts in two, the second half is dropped, and it says so once", () => {
  const { gate: it, hear, told } = gate();
  assert.equal(hear(SPEECH, 1000), 1000);

  it.close();
  hear(SPEECH, 60, false);
  const passed = [hear(SPEECH, 800), hear(0.1, WORD_GAP_MS), hear(SPEECH, 800)];

  assert.deepEqual([...passed, told], [0, 0, 0, ["dropped"]]);
  hear(0.1, PAUSE_MS);
  assert.deepEqual([hear(SPEECH, 1000), told], [1000, ["dropped"]], "the next sentence is heard");
});

test("a sentence that begins while there is no connection is dropped as a whole", () => {
  const { gate: it, hear, told } = gate();

  it.close();
  hear(SPEECH, 400, false);

  assert.deepEqual([hear(SPEECH, 1000), told], [0, ["dropped"]]);
});

test("a user who is silent as the connection changes is heard at once", () => {
  const { gate: it, hear, told } = gate();

  it.close();
  hear(0.1, 100, false);
  hear(0.1, 20);

  assert.deepEqual([hear(SPEECH, 1000), told], [1000, []]);
});

test("a noise that never pauses, and that of the room, do not close a microphone for good", () => {
  const { gate: it, hear, told } = gate();
  hear(0.5, 10_000); // a fan is switched on
  it.close();
  assert.equal(hear(0.5, 1000) > 0, true);
  assert.deepEqual(told, []);

  it.close();
  for (let ms = 0; ms < MAX_DROP_MS; ms += 200) hear(0.9, 180) + hear(0.6, 20);

  assert.equal(it.isOpen, true);
});
