import assert from "node:assert/strict";
import { test } from "node:test";

import { composerView } from "../../frontend/js/render/composer_view.js";
import { conversationView } from "../../frontend/js/render/conversation_view.js";
import { sizeOf } from "../../frontend/js/render/voice_view.js";
import { inspectorView } from "../../frontend/js/render/inspector_view.js";
import { settingsView } from "../../frontend/js/render/settings_view.js";
import { talkHint } from "../../frontend/js/render/voice_view.js";
import { elements, Page, READY, textOf, turn, withAttribute } from "./support.js";

const t = turn("v1");
const PART = { state: "ready", name: "x", reason: null };
const SPEECH = { stt: PART, tts: PART, vad: PART };
const AUDIO = { format: "pcm16", sample_rate: 22050 };
const u1 = { utterance: "u1", audio_ms: 1 };

const withClass = (described, name) => withAttribute(described, "class", name);
const marked = (page, name) => textOf(withClass(conversationView(page.state), name));
const line = (page) => textOf(withClass(composerView(page.state), "voice-state"));

function control(page, action) {
  const described = [conversationView(page.state), composerView(page.state)];
  return elements(described).find(({ attributes }) => attributes["data-action"] === action);
}

const button = (page) => control(page, "microphone");

function listening(change = {}) {
  const page = new Page().receive({ ...READY, speech: SPEECH }).dispatch({ type: "set", change });
  return page.dispatch({ type: "microphone" }).dispatch({ type: "microphone_on", rate: 16_000 });
}

function answering() {
  const page = listening().receive({ type: "speech_started", ...u1 }, { type: "speech_stopped", ...u1 });
  page.receive({ type: "transcript", utterance: "u1", text: "What?", final: true, turn_id: "v1" });
  page.receive({ ...t.start(), trigger: "voice" }, t.text("One two three four. Five."));
  page.receive(t.sentence(0, "One two three four. ", AUDIO), t.sentenceEnd(0, 1000));
  return page;
}

test("while the voice loads the talk says that replies are text, and then that they are spoken", () => {
  const page = listening();
  const captions = () => textOf(withClass(composerView(page.state), "voice-hint"));
  const tts = (state) => page.receive({ type: "speech", ...SPEECH, tts: { ...PART, state } });

  tts("loading");
  assert.match(captions(), /still loading\. Replies are text until then/);
  tts("ready");
  assert.match(captions(), /voice is ready/);
  assert.match(page.state.announcements.at(-1).text, /voice is ready/);
  page.receive({ type: "speech_started", ...u1 }, { type: "speech_stopped", ...u1 });
  page.receive({ type: "transcript", utterance: "u1", text: "", final: true });
  assert.match(captions(), /Just speak/);

  page.dispatch({ type: "set", change: { readAloud: "never" } });
  tts("loading");
  assert.match(captions(), /Just speak/, "nothing is to be read aloud");
});

test("the microphone says why it cannot be used", () => {
  const missing = { ...PART, state: "missing", reason: "no engine is installed" };
  for (const [stt, why] of [
    [{ ...PART, state: "loading" }, /loading/],
    [missing, /no engine is installed/],
  ]) {
    const page = new Page().receive({ ...READY, speech: { ...SPEECH, stt } });

    assert.equal(button(page).attributes.disabled, true);
    assert.match(button(page).attributes.title, why);
  }
});

test("a microphone that is on can always be switched off", () => {
  const page = listening().lose();

  assert.ok(!button(page).attributes.disabled);
  assert.match(line(page), /Not connected\. You are not heard/);
});

test("a microphone that the system mutes is told of, until it is not any more", () => {
  const page = listening().dispatch({ type: "microphone_muted", isMuted: true });
  assert.match(line(page), /muted by the system or another program\. You are not heard/);

  page.dispatch({ type: "microphone_muted", isMuted: false });

  assert.doesNotMatch(line(page), /muted/);
});

test("the line says what is going on, in order", () => {
  const page = listening();
  const said = [line(page)];
  const tell = (...frames) => said.push(line(page.receive(...frames)));
  tell({ type: "speech_detected", ...u1 });
  tell({ type: "speech_started", ...u1 });
  tell({ type: "speech_stopped", ...u1 });
  tell({ type: "transcript", utterance: "u1", text: "What?", final: true, turn_id: "v1" });
  tell({ ...t.start(), trigger: "voice" }, t.text("One."), t.sentence(0, "One.", AUDIO));
  tell(t.sentenceEnd(0, 100), t.end());
  page.dispatch({ type: "heard", turnId: "v1", index: 0, ms: 100, isOver: true });

  assert.deepEqual(
    [...said, line(page)].map((words) => words.split(/[ …]/)[0]),
    ["Listening", "Hearing", "Hearing", "Thinking", "Thinking", "Speaking", "Speaking", "Listening"],
  );
});

test("there is one button to talk: large in the empty page, else beside the field", () => {
  const page = new Page().receive({ ...READY, speech: SPEECH });
  const places = () =>
    [conversationView, composerView].map((view) => withClass(view(page.state), "talk-button").length);
  const empty = places();

  page.ask("Q", "t1");

  assert.deepEqual(empty, [1, 0]);
  assert.deepEqual(places(), [0, 1]);
});

test("what is being said is captioned, below what was understood", () => {
  const page = answering();
  const captions = () =>
    ["voice-transcript", "voice-caption"].map((name) => textOf(withClass(composerView(page.state), name)));
  assert.deepEqual(captions(), ["What?", "One two three four. "]);

  page.receive(t.end("interrupted"));

  assert.deepEqual(captions(), ["", ""]);
});

test("the talk fills an empty page, and a narrow screen unless its text is wanted or nothing is heard", () => {
  const page = listening();
  const sizes = [sizeOf(page.state)];
  page.receive(
    { type: "speech_started", ...u1 },
    { type: "transcript", utterance: "u1", text: "What?", final: true, turn_id: "v1" },
  );
  const next = (event) => sizes.push(sizeOf(page.dispatch(event).state));
  next({ type: "narrow", isNarrow: false });
  next({ type: "narrow", isNarrow: true });
  next({ type: "fold_talk" });
  next({ type: "fold_talk" });
  next({ type: "no_sound", reason: "x" });
  next({ type: "microphone_off", problem: null });

  assert.deepEqual(sizes, ["large", "small", "large", "small", "large", "small", null]);
});

test("muted by the user, the page says that the user is not heard, until the microphone is off", () => {
  const page = listening().dispatch({ type: "mute" });
  assert.equal(line(page), "Muted");
  assert.equal(control(page, "mute").attributes["aria-pressed"], "true");
  assert.match(textOf(composerView(page.state)), /You are not heard/);

  page
    .dispatch({ type: "microphone" })
    .dispatch({ type: "microphone" })
    .dispatch({ type: "microphone_on", rate: 16_000 });

  assert.equal(line(page), "Listening");
});

test("words appear as they are understood", () => {
  const page = listening();
  page.receive({ type: "speech_started", ...u1 }, { type: "transcript", utterance: "u1", text: "<b>Wh", final: false });

  assert.equal(textOf(withClass(composerView(page.state), "voice-transcript")), "<b>Wh");
});

test("on a device that only a finger points at, push-to-talk speaks of no space bar", () => {
  const page = listening({ turnDetection: "push_to_talk" });

  page.dispatch({ type: "narrow", isNarrow: true, isTouch: true });

  assert.equal(textOf(withClass(composerView(page.state), "voice-hint")), "Hold the button while you speak.");
});

test("push-to-talk has a button that says what its release does", () => {
  const page = listening({ turnDetection: "push_to_talk" });
  assert.match(textOf(withClass(composerView(page.state), "voice-hint")), /Hold the space bar/);
  const talk = () => control(page, "hold");
  assert.equal(textOf(talk()), "Hold to talk");

  page.dispatch({ type: "talk", isHeld: true });

  assert.equal(textOf(talk()), "Release to send");
});

test("a screen reader is told that the microphone is on, not of every change", () => {
  const page = listening();
  const told = () => textOf(withAttribute(composerView(page.state), "role", "status"));
  const before = told();

  page.receive({ type: "speech_started", ...u1 }, { type: "speech_stopped", ...u1 });

  assert.match(before, /The microphone is on/);
  assert.equal(told(), before);
});

test("why there is no microphone is said, with a way to try again", () => {
  const page = new Page().dispatch({ type: "microphone" }).dispatch({ type: "microphone_off", problem: "in_use" });

  assert.match(textOf(composerView(page.state)), /then try again\.Try again/);
});

test("a language that is not understood here is said at the choice and at Talk, with what helps", () => {
  const page = new Page().receive({ ...READY, speech: { ...SPEECH, stt_languages: ["en"] } });
  const said = /understands English, not German\. Type, choose another language .* or ask the operator/;
  const found = ["de", "en-GB", ""].map((language) => {
    page.dispatch({ type: "set", change: { language } });
    const choice = textOf(settingsView(page.state));
    page.dispatch({ type: "microphone" }).dispatch({ type: "microphone_on", rate: 16_000 });
    const talk = textOf(withClass(composerView(page.state), "voice-warning"));
    page.dispatch({ type: "microphone" });
    return [said.test(choice), said.test(talk), said.test(marked(page, "model-offer"))];
  });

  assert.deepEqual(found, [
    [true, true, true],
    [false, false, false],
    [false, false, false],
  ]);
});

test("where model and ears do not know the language of the page, Talk says so before any language is chosen", () => {
  const speech = { ...SPEECH, stt_languages: ["fr"] };
  const page = new Page().receive({ ...READY, model: { ...READY.model, languages: ["fr"] }, speech });
  const said = "The model and the speech recognition on this server understand only French, not English.";

  assert.ok(marked(page, "model-offer").startsWith(said));
  page.receive({ ...READY, model: { ...READY.model, languages: ["fr"] }, speech: SPEECH });
  assert.ok(marked(page, "model-offer").startsWith("This model knows only French."));
  page.dispatch({ type: "set", change: { turnDetection: "push_to_talk" } });
  assert.match(talkHint(page.state), /^Hold the space bar/, "the warning takes no hint's place, and stands there once");
});

test("on a phone push-to-talk is offered with the button alone", () => {
  const page = new Page().dispatch({ type: "narrow", isNarrow: true, isTouch: true });

  assert.match(textOf(settingsView(page.state)), /Push to talk: hold a button/);
});

test("why the server cannot hear is said without the names of its settings", () => {
  const off = { ...PART, state: "missing", reason: "switched off (speech.stt.provider: none)" };
  const page = new Page().receive({ ...READY, speech: { ...SPEECH, stt: off } });

  assert.equal(talkHint(page.state), "This server has no speech recognition");
});

test("voice and speed can be chosen where there is a voice, and only what there is", () => {
  const page = new Page();
  const choices = () =>
    elements(settingsView(page.state)).filter(({ attributes }) =>
      ["speaker", "speed"].includes(attributes["data-name"]),
    );
  page.receive({ ...READY, speech: SPEECH });
  const without = choices().length;

  page.receive({ ...READY, speech: { ...SPEECH, voices: ["joe", "espeak-ng"] } });

  assert.equal(without, 0);
  assert.deepEqual(choices().map(textOf), ["joeespeak-ng", "0.5×0.75×1×1.25×1.5×2×"]);
});

test("the sentence that is being heard is marked, and what waits is not", () => {
  const page = answering();
  const hears = (index, ms, isOver) => page.dispatch({ type: "heard", turnId: "v1", index, ms, isOver });
  page.receive(t.text(" *Six* `seven`."), t.sentence(1, "Five.", AUDIO), t.sentenceEnd(1, 300));
  const found = [marked(page, "saying")];

  hears(0, 500, false);
  found.push(marked(page, "saying"));
  hears(0, 1000, true);
  hears(1, 10, false);
  found.push(marked(page, "saying"));
  page.receive(t.sentence(2, " *Six* `seven`.", AUDIO), t.sentenceEnd(2, 300));
  hears(1, 300, true);
  hears(2, 10, false);

  assert.deepEqual([...found, marked(page, "saying")], ["", "One two three four.", "Five.", "Six seven."]);
  assert.equal(marked(page, "unheard"), "");
  assert.equal(marked(page, "markdown"), "One two three four. Five. Six seven.");
});

test("what is being heard is marked behind a tool, too", () => {
  const page = answering().receive(t.call("c"), t.result("c"), t.sentence(1, "Five.", AUDIO), t.sentenceEnd(1, 300));
  page.dispatch({ type: "heard", turnId: "v1", index: 0, ms: 1000, isOver: true });
  page.dispatch({ type: "heard", turnId: "v1", index: 1, ms: 10, isOver: false });

  assert.equal(marked(page, "saying"), "Five.");
});

test("what speech cut off unheard stays, paler, and says so", () => {
  const page = answering().dispatch({ type: "heard", turnId: "v1", index: 0, ms: 500, isOver: false });
  page.receive(t.end("interrupted"));

  assert.equal(marked(page, "unheard"), "three four. Five.");
  assert.match(textOf(conversationView(page.state)), /The greyed-out part was not spoken/);
});

const ERROR = { type: "error", code: "provider_unreachable", message: "refused: ECONNREFUSED" };

/** The question was spoken or typed, on a phone, and its turn has failed. */
function failed(page, { isTyped = false, error = { ...ERROR, turn_id: "v1" } } = {}) {
  page.dispatch({ type: "narrow", isNarrow: true });
  if (isTyped) page.ask("What?", "v1");
  else
    page.receive(
      { type: "speech_started", ...u1 },
      { type: "transcript", utterance: "u1", text: "What?", final: true, turn_id: "v1" },
    );
  if (error.turn_id) page.receive(t.start(), error, t.end("error"));
  else page.receive(error);
  return page;
}

const alerts = (page) => textOf(withAttribute(composerView(page.state), "role", "alert"));

for (const [what, error] of [
  ["fails", { ...ERROR, turn_id: "v1" }],
  ["is refused", { ...ERROR, code: "rate_limited" }],
])
  test(`a spoken question whose turn ${what} says why and what to do, where the talk fills the screen, and aloud, once`, () => {
    const page = failed(listening(), { error });
    const view = withClass(composerView(page.state), "talk-words");

    assert.match(
      alerts(page),
      error.turn_id ? /^The model does not answer\..* then retry\./ : /^Too many requests\..* then retry\./,
    );
    assert.match(textOf(view), /What\?.*Not answered\. *Retry/);
    assert.deepEqual(page.sentOf("speak"), [
      { type: "speak", id: "v1_why", text: `Not answered. ${alerts(page).split(" refused:")[0]}` },
    ]);
    assert.equal(line(page), "Speaking…");

    page.receive({ type: "error", code: "speech_unavailable", message: "no voice" });
    assert.equal(line(page), "Listening");
    assert.match(textOf(withClass(composerView(page.state), "voice-hint")), /Say it again, or press Retry/);
    assert.deepEqual(
      [page.sentOf("speak").length, page.state.notices],
      [1, []],
      "why it could not be said is not said",
    );

    page.dispatch({ type: "retry", turnId: "v2", at: 3 });
    assert.equal(alerts(page), "");
    assert.equal(page.sentOf("chat")[0].voice, undefined, "it is answered aloud, as it was asked");
  });

for (const [what, change, more] of [
  ["was typed", {}, { isTyped: true }],
  ["has nothing read aloud", { readAloud: "never" }, {}],
  ["ends with the microphone off", {}, { isOff: true }],
])
  test(`why a turn failed is not said aloud to a user whose question ${what}`, () => {
    const page = listening(change);
    if (more.isOff) page.receive({ type: "speech_started", ...u1 }).dispatch({ type: "microphone" });
    failed(page, more);

    assert.equal(page.sentOf("speak").length, 0);
  });

test("a reply that the user has cut by speaking is no failure", () => {
  const page = answering().dispatch({ type: "narrow", isNarrow: true });
  page.receive(
    { ...ERROR, turn_id: "v1" },
    { type: "speech_started", utterance: "u2", audio_ms: 2 },
    t.end("interrupted"),
  );

  assert.doesNotMatch(textOf(withClass(composerView(page.state), "talk-words")), /Stopped|Retry/);
  assert.equal(page.sentOf("speak").length, 0);
});

test("a notice that the talk hides with its conversation stands in the talk", () => {
  const page = answering().dispatch({ type: "narrow", isNarrow: true });
  page.receive({
    type: "notice",
    code: "speech_failed",
    level: "warning",
    message: "A sentence stays text.",
    turn_id: "v1",
  });

  const words = () => textOf(withClass(composerView(page.state), "talk-words"));
  assert.match(words(), /A sentence stays text\./);

  page.receive(t.end()).dispatch({ type: "heard", turnId: "v1", index: 0, ms: 1000, isOver: true });
  assert.match(
    words(),
    /^The microphone is onListeningA sentence stays text\.Just speak/,
    "it was answered: nothing is to be said again",
  );
});

test("the inspector shows where the time of a turn went", () => {
  const page = answering().receive({ type: "trace", turn_id: "v1", event: "messages", data: { messages: [] } });
  page.receive(t.end("interrupted", { metrics: { transcript: 310.4, first_audio: 920.6, first_token: null } }));

  assert.match(textOf(inspectorView(page.state)), /words 310 · first sound 921/);
});

test("a question that the included model cannot read is not sent to it again, and another model can be picked", () => {
  const server = { ...READY, model: { ...READY.model, languages: ["en"] }, user: { name: "anna", is_operator: true } };
  const page = new Page().receive(server).ask("Was?", "v1");
  page.receive(
    t.start(),
    { type: "error", code: "language_unknown", message: "knows en only", turn_id: "v1" },
    t.end("error"),
  );

  assert.equal(control(page, "retry"), undefined);
  assert.equal(textOf(control(page, "models")), "Use another model");
  assert.equal(textOf(withClass(conversationView(page.state), "details")), "");

  page.receive(READY); // another one was picked
  assert.ok(control(page, "retry"));
});
