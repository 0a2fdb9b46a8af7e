import assert from "node:assert/strict";
import { test } from "node:test";

import { ofType, Page, pluck, READY, turn } from "./support.js";

const t = turn("v1");
const AUDIO = { format: "pcm16", sample_rate: 22050 };
const PART = { state: "ready", name: "x", reason: null };

const ear = (utterance) => ({
  detected: () => ({ type: "speech_detected", utterance, audio_ms: 1 }),
  rejected: () => ({ type: "speech_rejected", utterance }),
  started: () => ({ type: "speech_started", utterance, audio_ms: 1 }),
  stopped: () => ({ type: "speech_stopped", utterance, audio_ms: 2 }),
  partial: (text) => ({ type: "transcript", utterance, text, final: false }),
  said: (text, turn_id) => ({ type: "transcript", utterance, text, final: true, turn_id }),
  nothing: () => ({ type: "transcript", utterance, text: "", final: true }),
});

function listening({ settings = {} } = {}) {
  const page = new Page().dispatch({ type: "set", change: settings });
  page.dispatch({ type: "microphone" }).dispatch({ type: "microphone_on", rate: 16_000 });
  page.sent = [];
  page.effects = [];
  return page;
}

/** Asked by voice, and the answer begins with a sentence whose sound is there. */
function answering(text = "One two three four. ") {
  const page = listening();
  const { started, stopped, said } = ear("u1");
  page.receive(started(), stopped(), said("What?", "v1"), { ...t.start(), trigger: "voice" });
  page.receive(t.text(text), t.sentence(0, text, AUDIO), t.sentenceEnd(0, 1000));
  return page;
}

const heard = (page, index, ms, isOver = false) => page.dispatch({ type: "heard", turnId: "v1", index, ms, isOver });
const sounds = ({ effects }) => effects.filter(({ type }) => type === "sound").map(({ act }) => act);

test("perhaps-speech pauses the sound, and nothing else", () => {
  const page = answering();
  page.effects = [];

  page.receive(ear("u2").detected());

  assert.deepEqual(sounds(page), ["pause"]);
  assert.equal(page.state.turn.id, "v1");
});

test("what was no speech after all lets the sound go on", () => {
  const page = answering();
  page.effects = [];

  page.receive(ear("u2").detected(), ear("u2").rejected());

  assert.deepEqual(sounds(page), ["pause", "resume"]);
  assert.equal(page.state.voice.phase, "quiet");
});

test("speech cuts the reply to what was heard, and only then sends the history", () => {
  const page = answering();
  heard(page, 0, 500);
  page.receive(ear("u2").started());

  assert.equal(page.state.turn, null);
  assert.deepEqual(page.history, ["user: What?", "assistant: One two"]);
  const [history] = page.sentOf("history").slice(-1);
  assert.equal(history.utterance, "u2");
  assert.deepEqual(pluck(history.messages, "content"), ["What?", "One two"]);
  assert.ok(sounds(page).includes("flush"));
});

test("a sentence that the server cut is not taken for heard because all of its sound was", () => {
  const page = listening().receive(ear("u1").started(), ear("u1").said("What?", "v1"), t.start());
  page.receive(t.text("One two three four five."), t.sentence(0, "One two three four five.", AUDIO));
  heard(page, 0, 700);

  page.receive(t.sentenceEnd(0, 700), t.end("interrupted"));

  assert.deepEqual(page.history, ["user: What?", "assistant: One two"]);
});

test("with the times of words a cut keeps the words that were over", () => {
  const page = listening().receive(ear("u1").started(), ear("u1").said("What?", "v1"), t.start());
  const words = [
    [0, 0],
    [4, 300],
    [8, 900],
  ];
  page.receive(t.text("One two three."), t.sentence(0, "One two three.", AUDIO), t.sentenceEnd(0, 1200, words));
  heard(page, 0, 950);

  page.receive(ear("u2").started());

  assert.deepEqual(page.history, ["user: What?", "assistant: One two"]);
});

const BY_HAND = {
  "the stop button": (page) => page.dispatch({ type: "stop" }),
  "a typed message": (page) => page.ask("And?", "c2"),
};

for (const [name, act] of Object.entries(BY_HAND)) {
  test(`${name} keeps all that was shown of a reply that is spoken, with its hooks in their places`, () => {
    const page = answering().receive(t.hook("tone"), t.sentence(1, "Five. ", AUDIO), t.text("Five. `six`"));
    heard(page, 0, 500);

    act(page);

    const kept = ["user: What?", "assistant: One two three four. ", "system: text of tone", "assistant: Five. `six`"];
    assert.deepEqual(page.history.slice(0, 4), kept);
    assert.equal(page.state.views.v1.unheard, "");
  });
}

test("who stops the sound of a reply that is complete has its answer", () => {
  const page = answering().receive(t.end("completed", { metrics: { total: 7 } }));
  heard(page, 0, 500);
  page.sent = [];

  page.dispatch({ type: "stop" });

  assert.deepEqual(page.history, ["user: What?", "assistant: One two three four. "]);
  assert.equal(page.conversation.conversationHistory[0]._answer, undefined);
  assert.equal(page.state.views.v1.end.metrics.total, 7);
  assert.deepEqual(page.state.cutTurns, {});
  const sent = page.sent.map(({ type, state }) => state ?? type);
  assert.deepEqual(sent, ["interrupt", "stopped"]);
});

test("a connection that is lost keeps of a reply that is spoken what was heard", () => {
  const page = answering();
  heard(page, 0, 500);

  page.lose();

  assert.deepEqual(page.history, ["user: What?", "assistant: One two"]);
});

test("what was cut off unheard stays to be read until the page goes", () => {
  const page = answering("One two three four. ").receive(t.text("Five."));
  heard(page, 0, 500);
  page.receive(ear("u2").started());

  assert.equal(page.state.views.v1.unheard, " three four. Five.");
});

test("words become the user's message, and the server, which has them, is sent no chat", () => {
  const page = listening().receive(ear("u1").started(), ear("u1").stopped(), ear("u1").partial("Wh"));
  assert.equal(page.state.voice.transcript, "Wh");

  page.receive(ear("u1").said("What?", "v1"));

  assert.deepEqual(page.history, ["user: What?"]);
  assert.deepEqual([page.state.turn.id, page.state.turn.phase], ["v1", "sent"]);
  assert.deepEqual(page.sentOf("chat"), []);
  assert.deepEqual([page.state.voice.phase, page.state.voice.transcript], ["quiet", ""]);
});

test("an utterance without words leaves nothing behind, also one that was discarded while spoken", () => {
  for (const frames of [[ear("u1").stopped(), ear("u1").nothing()], [ear("u1").nothing()]]) {
    const page = listening().receive(ear("u1").started(), ...frames);

    assert.deepEqual(page.history, []);
    assert.equal(page.state.voice.phase, "quiet");
    assert.deepEqual(page.state.voice.spokenIn, {});
  }
});

test("words that come while the user speaks again do not end the hearing", () => {
  const page = listening();
  page.receive(ear("u1").started(), ear("u1").stopped(), ear("u2").detected(), ear("u1").said("One.", "v1"));

  assert.equal(page.state.voice.phase, "maybe");
});

test("words belong to the conversation they were spoken in, and their turn is refused in another", () => {
  const page = listening().receive(ear("u1").started(), ear("u1").stopped());
  page.dispatch({ type: "open_conversation", id: "c2", at: 3 });
  page.dispatch({ type: "opened", id: "c2", record: null, access: "write", at: 3 });
  page.receive(ear("u1").said("What?", "v1"), { ...t.start(), trigger: "voice" });

  assert.deepEqual(page.history, []);
  assert.equal(page.records.get("c1").conversationHistory[0].content, "What?");
  assert.deepEqual(page.sentOf("interrupt"), [{ type: "interrupt", turn_id: "v1" }]);
  assert.deepEqual(Object.keys(page.state.loaded), ["c2"]);
});

test("a message that was sent before the words came is the one that is answered", () => {
  const page = listening().receive(ear("u1").started(), ear("u1").stopped()).ask("Never mind.", "c1");
  page.receive(ear("u1").said("What?", "v1"), { ...t.start(), trigger: "voice" }, t.end("interrupted"));
  page.receive(turn("c1").start(), turn("c1").text("Fine."), turn("c1").sentence(0, "Fine."), turn("c1").end());

  assert.deepEqual(page.history, ["user: What?", "user: Never mind.", "assistant: Fine."]);
  assert.equal(page.state.turn, null);
});

test("a conversation that another tab writes takes the microphone away", () => {
  const page = listening().dispatch({ type: "open_conversation", id: "c2", at: 3 });
  page.dispatch({ type: "opened", id: "c2", record: null, access: "read", at: 3 });

  assert.equal(page.state.voice.mic, "off");
  assert.match(page.state.voice.problem, /another tab/);
});

test("the microphone that is switched off lets a paused reply go on and discards what was being said", () => {
  const page = answering().receive(ear("u2").detected());
  page.effects = [];

  page.dispatch({ type: "microphone" });

  assert.deepEqual(sounds(page), ["resume"]);
  assert.deepEqual(page.sentOf("configure"), [{ type: "configure", turn_detection: "server_vad" }]);
});

test("what was said before the microphone was switched off is still answered", () => {
  const page = listening().receive(ear("u1").started(), ear("u1").stopped()).dispatch({ type: "microphone" });
  page.receive(ear("u1").said("What?", "v1"), t.start());

  assert.equal(page.state.turn.id, "v1");
  assert.deepEqual(page.sentOf("configure"), []);
});

test("a microphone that fails says why, and can be tried again", () => {
  const page = new Page().dispatch({ type: "microphone" }).dispatch({ type: "microphone_off", problem: "in_use" });
  assert.equal(page.state.voice.mic, "off");
  assert.match(page.state.voice.problem, /in use by another program/);

  page.dispatch({ type: "microphone" });

  assert.deepEqual([page.state.voice.mic, page.state.voice.problem], ["starting", null]);
});

test("a microphone that was switched off while it started stays off", () => {
  const page = new Page().dispatch({ type: "microphone" }).dispatch({ type: "microphone" });

  page.dispatch({ type: "microphone_on", rate: 16_000 });

  assert.equal(page.state.voice.mic, "off");
});

test("another microphone takes effect at once", () => {
  const page = listening();

  page.dispatch({ type: "set", change: { microphone: "usb" } });

  assert.deepEqual(ofType(page.effects, "microphone"), [{ type: "microphone", isOn: true, deviceId: "usb" }]);
});

test("the server is sent the rate of the microphone, and nothing that would discard an utterance twice", () => {
  const page = new Page();
  page.sent = [];
  page.dispatch({ type: "microphone" }).dispatch({ type: "microphone_on", rate: 48_000 });

  assert.deepEqual(page.sentOf("configure"), [{ type: "configure", input: { format: "pcm16", sample_rate: 48_000 } }]);
});

test("a microphone that is on stays on over a lost connection, and the new server is sent its rate", () => {
  const page = listening().receive(ear("u1").started()).lose();
  page.sent = [];
  page.receive(READY);

  assert.equal(page.state.voice.mic, "on");
  assert.deepEqual([page.state.voice.phase, page.state.voice.spokenIn], ["quiet", {}]);
  assert.equal(page.sentOf("configure")[0].input.sample_rate, 16_000);
});

test("speech that is lost with the connection is reported, silence is not", () => {
  const { detected, started, stopped, nothing } = ear("u1");
  const lost = (...frames) =>
    listening()
      .receive(...frames)
      .lose(1001);
  const held = listening({ settings: { turnDetection: "push_to_talk" } }).dispatch({ type: "talk", isHeld: true });

  for (const page of [lost(started()), lost(started(), stopped()), held.lose(1001)])
    assert.deepEqual(pluck(page.state.notices, "code"), ["speech_lost"]);
  for (const page of [lost(), lost(detected()), lost(started(), stopped(), nothing())])
    assert.deepEqual(page.state.notices, []);
});

test("a key that a stopping server refuses, which it says without having noticed anything, leads to nothing", () => {
  const page = listening({ settings: { turnDetection: "push_to_talk" } });

  page.dispatch({ type: "talk", isHeld: true });
  page.receive(ear("u1").rejected(), {
    type: "error",
    code: "turn_refused_draining",
    message: "the server is stopping",
  });
  page.dispatch({ type: "talk", isHeld: false });

  assert.deepEqual(sounds(page), ["resume"]);
  assert.deepEqual([page.state.voice.phase, page.state.voice.isHeld, page.state.turn], ["quiet", false, null]);
  assert.deepEqual(pluck(page.state.notices, "code"), ["turn_refused_draining"]);
  assert.deepEqual(page.history, []);
});

test("a reply that was paused when the connection went plays on if its end is here", () => {
  const page = answering().receive(t.end(), ear("u2").detected());
  page.effects = [];
  page.lose();
  heard(page, 0, 1000, true);

  assert.equal(sounds(page)[0], "resume");
  assert.deepEqual(page.history, ["user: What?", "assistant: One two three four. "]);
});

test("the key of push-to-talk cuts the reply; its release asks", () => {
  const page = answering().dispatch({ type: "set", change: { turnDetection: "push_to_talk" } });
  page.sent = [];
  heard(page, 0, 500);
  page.dispatch({ type: "talk", isHeld: true }).dispatch({ type: "talk", isHeld: true });
  assert.deepEqual(page.history, ["user: What?", "assistant: One two"]);

  page.dispatch({ type: "talk", isHeld: false }).dispatch({ type: "talk", isHeld: false });

  assert.deepEqual([page.sentOf("speech_start").length, page.sentOf("speech_end").length], [1, 1]);
});

test("the key does nothing hands-free, with the microphone off, or without a connection", () => {
  const handsFree = listening();
  const off = new Page().dispatch({ type: "set", change: { turnDetection: "push_to_talk" } });
  const lost = listening({ settings: { turnDetection: "push_to_talk" } }).lose();

  for (const page of [handsFree, off, lost]) {
    page.dispatch({ type: "talk", isHeld: true });
    assert.equal(page.state.voice.isHeld, false);
    assert.deepEqual(page.sentOf("speech_start"), []);
  }
});

test("a key pressed again before the server has answered its release still comes up", () => {
  const page = listening({ settings: { turnDetection: "push_to_talk" } });
  const talk = (isHeld) => page.dispatch({ type: "talk", isHeld });
  talk(true);
  page.receive(ear("u1").started());
  talk(false);
  talk(true);
  page.receive(ear("u1").stopped());
  talk(false);

  assert.deepEqual([page.sentOf("speech_start").length, page.sentOf("speech_end").length], [2, 2]);
});

test("a key that is down comes up also while another microphone starts", () => {
  const page = listening({ settings: { turnDetection: "push_to_talk" } });
  page.dispatch({ type: "talk", isHeld: true }).dispatch({ type: "set", change: { microphone: "other" } });
  page.dispatch({ type: "talk", isHeld: false });

  assert.equal(page.sentOf("speech_end").length, 1);
  assert.equal(page.state.voice.isHeld, false);
});

test("a key that is down when the way to talk changes is up", () => {
  const page = listening({ settings: { turnDetection: "push_to_talk" } }).dispatch({ type: "talk", isHeld: true });

  page.dispatch({ type: "set", change: { turnDetection: "server_vad" } });

  assert.equal(page.state.voice.isHeld, false);
});

test("a microphone that is switched off with the key down discards what was said", () => {
  const page = listening({ settings: { turnDetection: "push_to_talk" } });
  page.dispatch({ type: "talk", isHeld: true }).dispatch({ type: "microphone" });

  assert.equal(page.sentOf("speech_cancel").length, 1);
});

test("replies are read aloud when the user speaks, always or never", () => {
  const found = ["spoken", "always", "never"].map((readAloud) => {
    const page = new Page().dispatch({ type: "set", change: { readAloud } }).ask("Hello", "c1");
    const configured = page.sentOf("configure").filter(({ voice }) => voice !== undefined);
    return [configured.at(-1).voice, page.sentOf("chat")[0].voice];
  });

  assert.deepEqual(found, [
    [true, false],
    [true, undefined],
    [false, undefined],
  ]);
});

test("the chosen voice is named to the server once that is known to have it", () => {
  const page = new Page().dispatch({ type: "set", change: { speaker: "ben", speed: "1.5" } });
  page.sent = [];
  page.receive({ type: "speech", stt: PART, tts: PART, vad: PART, voices: ["ann", "ben"] });
  page.receive({ type: "speech", stt: PART, tts: PART, vad: PART, voices: ["ann"] });

  assert.deepEqual(pluck(page.sentOf("configure"), "speaker"), ["ben", null]);
});

test("the server learns of the first sound, each sentence, twice a second, and the end", () => {
  const page = answering().receive(t.sentence(1, "More.", AUDIO), t.sentenceEnd(1, 300), t.end());
  for (const ms of [10, 40, 490, 510, 900]) heard(page, 0, ms);
  heard(page, 0, 1000, true);
  heard(page, 1, 20);
  heard(page, 1, 300, true);

  assert.deepEqual(
    page.sentOf("playback").map(({ index, ms, state }) => `${index} ${ms} ${state}`),
    ["0 10 started", "0 510 playing", "0 1000 playing", "1 20 playing", "1 300 stopped"],
  );
});

test("a cut tells the server how far the listener came", () => {
  const page = answering();
  heard(page, 0, 430);
  page.dispatch({ type: "stop" });

  assert.deepEqual(page.sentOf("playback").at(-1), {
    type: "playback",
    turn_id: "v1",
    index: 0,
    ms: 430,
    state: "stopped",
  });
});

test("reports of a turn that was cut change nothing", () => {
  const page = answering().dispatch({ type: "stop" });
  const before = page.state;

  heard(page, 0, 900, true);

  assert.deepEqual(page.state.loaded, before.loaded);
});

test("the store is written when another word was heard, not with every report", () => {
  const page = answering();
  const saves = () => ofType(page.effects, "save").length;
  heard(page, 0, 480);
  const before = saves();
  for (let ms = 481; ms < 500; ms += 1) heard(page, 0, ms);
  assert.equal(saves(), before);

  heard(page, 0, 800);

  assert.equal(saves(), before + 1);
  assert.deepEqual(page.records.get("c1").historySegments, [{ kind: "sentence", text: "One two three" }]);
});

test("a browser that cannot play shows the reply to its end", () => {
  const page = answering().receive(t.sentence(1, "More.", AUDIO), t.sentenceEnd(1, 300), t.end());
  page.dispatch({ type: "no_sound", reason: "no AudioWorklet" });

  assert.deepEqual(page.history, ["user: What?", "assistant: One two three four. More."]);
  assert.deepEqual(page.sentOf("interrupt"), []);
  assert.equal(page.sentOf("configure").at(-1).voice, false);
});

test("while the server does not send the player, replies are text, and the page says so", () => {
  const page = listening().dispatch({ type: "no_sound", reason: "not loaded", isNotLoaded: true });
  const messages = page.state.notices.map(({ message }) => message);

  page.dispatch({ type: "sound_back" });

  assert.match(messages.join(), /The server did not send .*not loaded.*shown as text until it does/);
  assert.deepEqual(pluck(page.sentOf("configure"), "voice"), [false, true]);
  assert.deepEqual(page.state.notices, []);
});

test("a page that the browser keeps silent asks for a click, until there is sound", () => {
  const page = answering().dispatch({ type: "sound_blocked", isBlocked: true });
  assert.match(page.state.notices[0].message, /Click or tap/);

  page.dispatch({ type: "sound_blocked", isBlocked: false });

  assert.deepEqual(page.state.notices, []);
});

test("what the page speaks is not read out by the screen reader as well; what it cannot speak is", () => {
  const page = answering();
  heard(page, 0, 500);
  heard(page, 0, 1000, true);
  page.receive(t.sentence(1, "Only text.", null), t.sentenceEnd(1, 0));

  assert.deepEqual(pluck(page.state.announcements, "text"), ["Only text."]);
});

test("engines that finish loading are known", () => {
  const page = new Page().receive({ type: "speech", stt: PART, tts: PART, vad: PART });

  assert.equal(page.state.speech.stt.state, "ready");
});

test("a voice turn that the server has no place for can be tried again", () => {
  const page = listening().receive(ear("u1").started(), ear("u1").stopped(), ear("u1").said("What?", "v1"));
  page.receive({ type: "error", code: "too_many_turns", message: "later" });

  assert.equal(page.state.turn, null);
  assert.equal(page.conversation.conversationHistory[0]._answer, "failed");
});
