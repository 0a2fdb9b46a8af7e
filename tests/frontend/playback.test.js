import assert from "node:assert/strict";
import { test } from "node:test";

import {
  storedSegments,
  cut,
  markedIncomplete,
  enqueue,
  flushHistorySegments,
  heard,
  heardText,
  newPlayback,
} from "../../frontend/sdk/playback.js";
import { turn } from "./support.js";

const t = turn("t1");
const AUDIO = { format: "pcm16", sample_rate: 22050 };

function play(frames, { hasSound = false } = {}) {
  return frames.reduce(enqueue, newPlayback(hasSound));
}

function contents(playback) {
  return flushHistorySegments(playback.historySegments, "t1").map(({ role, content }) => `${role}: ${content}`);
}

test("without sound a sentence is heard when it is reached", () => {
  const playback = play([t.sentence(0, "One. "), t.sentenceEnd(0), t.sentence(1, "Two.")]);

  assert.deepEqual(contents(playback), ["assistant: One. Two."]);
  assert.equal(playback.audioQueue.length, 0);
});

test("a sentence with sound waits until it was heard, and so does all that follows", () => {
  const waiting = play([t.sentence(0, "One. ", AUDIO), t.sentenceEnd(0, 900), t.hook("h"), t.end()], {
    hasSound: true,
  });
  assert.deepEqual(contents(waiting), []);
  assert.equal(waiting.reachedEnd, null);

  const done = heard(waiting, 0, 900, true);

  assert.deepEqual(contents(done), ["assistant: One. ", "system: text of h"]);
  assert.equal(done.reachedEnd.reason, "completed");
});

test("a sentence whose synthesis failed is heard when it is reached", () => {
  const playback = play([t.sentence(0, "One.", AUDIO), t.sentenceEnd(0, 0)], { hasSound: true });

  assert.deepEqual(contents(playback), ["assistant: One."]);
});

test("neighbouring sentences are joined unless a hook stands between; a tool is no hook", () => {
  const playback = play([
    t.hook("before"),
    t.sentence(0, "Let me look. "),
    t.call("c"),
    t.result("c"),
    t.sentence(1, "\n\nHere it is. "),
    t.hook("between"),
    t.sentence(2, "And more."),
  ]);

  assert.deepEqual(contents(playback), [
    "system: text of before",
    "assistant: Let me look. \n\nHere it is. ",
    "system: text of between",
    "assistant: And more.",
  ]);
});

test("a hook becomes a message that names its hook, skill and signature", () => {
  const [message] = flushHistorySegments(play([t.hook("tone", "Be calm.", "user")]).historySegments, "t1");

  assert.deepEqual(
    { role: message.role, content: message.content, _hook: message._hook, _skill: message._skill, _sig: message._sig },
    { role: "user", content: "Be calm.", _hook: "tone", _skill: "calm", _sig: "sig of tone" },
  );
});

test("a result finds its call, whatever came between", () => {
  const { historySegments } = play([t.call("a"), t.call("b"), t.result("b", "B"), t.result("a", "A")]);

  assert.deepEqual(
    historySegments.map(({ call, result }) => [call.id, result.content]),
    [
      ["a", "A"],
      ["b", "B"],
    ],
  );
});

const LONG = "The quick brown fox jumps.";
const WORDS = [
  [0, 0],
  [4, 200],
  [10, 400],
  [16, 600],
  [20, 800],
];
const CUTS = [
  { name: "nothing heard keeps nothing", heardMs: 0, end: t.sentenceEnd(0, 1000), kept: "" },
  { name: "less than a word keeps nothing", heardMs: 80, end: t.sentenceEnd(0, 1000), kept: "" },
  { name: "half keeps half, back to a word boundary", heardMs: 500, end: t.sentenceEnd(0, 1000), kept: "The quick" },
  { name: "all of it keeps all of it", heardMs: 1000, end: t.sentenceEnd(0, 1000), kept: LONG },
  {
    name: "word times go before proportion",
    heardMs: 650,
    end: t.sentenceEnd(0, 4000, WORDS),
    kept: "The quick brown",
  },
  { name: "the word being spoken does not count", heardMs: 399, end: t.sentenceEnd(0, 1000, WORDS), kept: "The" },
  { name: "the first word being spoken keeps nothing", heardMs: 100, end: t.sentenceEnd(0, 1000, WORDS), kept: "" },
  { name: "a length that is not known yet keeps nothing", heardMs: 500, end: null, kept: "" },
];

for (const { name, heardMs, end, kept } of CUTS) {
  test(`cut in a sentence: ${name}`, () => {
    const playing = { sentence: t.sentence(0, LONG, AUDIO), end, heardMs, isOver: false };

    assert.equal(heardText(playing), kept);
  });
}

const STOPPED = [
  { name: "counts at 60 ms a character", heardMs: 600, sentMs: 600, spoken: null, kept: "The quick" },
  { name: "counts as long as it was sent", heardMs: 1000, sentMs: 4000, spoken: null, kept: "The" },
  { name: "counts what is said, not what is shown", heardMs: 200, sentMs: 400, spoken: "A fox.", kept: "The quick" },
  { name: "can be heard whole", heardMs: 4000, sentMs: 4000, spoken: null, kept: LONG },
];

for (const { name, heardMs, sentMs, spoken, kept } of STOPPED) {
  test(`the last sentence of a turn that the server stops ${name}`, () => {
    const sentence = { ...t.sentence(0, LONG, AUDIO), spoken };
    const playing = play([sentence, t.sentenceEnd(0, sentMs)], { hasSound: true });

    const { historySegments } = cut(markedIncomplete(heard(playing, 0, heardMs, false)));

    assert.equal(historySegments.map(({ text }) => text).join(), kept);
  });
}

test("a sentence that another one follows is as long as the server told", () => {
  const frames = [t.sentence(0, LONG, AUDIO), t.sentenceEnd(0, 800), t.sentence(1, "More.", AUDIO)];
  const playing = play(frames, { hasSound: true });

  assert.equal(cut(markedIncomplete(heard(playing, 0, 400, false))).historySegments[0].text, "The quick");
});

test("times of words count whole characters, however the browser stores them", () => {
  const sentence = t.sentence(0, "𝐎ne 𝐭wo three.", AUDIO);
  const words = [
    [0, 0],
    [4, 300],
    [8, 600],
  ];

  assert.equal(heardText({ sentence, end: t.sentenceEnd(0, 900, words), heardMs: 700, isOver: false }), "𝐎ne 𝐭wo");
});

test("a language without spaces is cut between its words", () => {
  const playing = {
    sentence: t.sentence(0, "今天天气很好。", AUDIO),
    end: t.sentenceEnd(0, 700),
    heardMs: 450,
    isOver: false,
  };

  assert.equal(heardText(playing), "今天天气");
});

test("a cut drops what was not reached and keeps every hook received", () => {
  const playing = play(
    [
      t.sentence(0, "Heard. "),
      t.sentence(1, LONG, AUDIO),
      t.sentenceEnd(1, 1000),
      t.hook("behind"),
      t.call("c"),
      t.sentence(2, "Never reached."),
      t.hook("last"),
    ],
    { hasSound: true },
  );

  const after = cut(heard(playing, 1, 500, false));

  assert.deepEqual(contents(after), ["assistant: Heard. The quick", "system: text of behind", "system: text of last"]);
  assert.equal(after.audioQueue.length, 0);
  assert.equal(after.playing, null);
});

test("a report about a sentence that is not being played changes nothing", () => {
  const playing = play([t.sentence(3, LONG, AUDIO), t.sentenceEnd(3, 1000)], { hasSound: true });

  assert.equal(heard(playing, 2, 500, true), playing);
});

test("a reply of white space leaves no message", () => {
  assert.deepEqual(contents(play([t.sentence(0, " \n")])), []);
});

test("stored segments leave the same in the history, and hold no tools", () => {
  const segments = [
    { kind: "sentence", text: "One. " },
    { kind: "tool", call: { id: "c" }, result: null },
    { kind: "sentence", text: "Two. " },
    { kind: "sentence", text: "Three. " },
    { kind: "hook", frame: t.hook("tone") },
    { kind: "sentence", text: "Four." },
  ];

  const short = storedSegments(segments);

  assert.deepEqual(
    short.map(({ kind, text }) => text ?? kind),
    ["One. Two. Three. ", "hook", "Four."],
  );
  assert.deepEqual(flushHistorySegments(short, "t1"), flushHistorySegments(segments, "t1"));
});
