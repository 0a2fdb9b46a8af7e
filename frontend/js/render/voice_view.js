/**
 * The microphone: its button, and the line that says what is going on.
 *
 * @typedef {import("../state.js").State} State
 */

import { openConversation, visibleTurn } from "../state.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "../strings.js";

/** @param {State} state */
export function microphoneButton(state) {
  const { mic } = state.voice;
  const isOn = mic !== "off";
  const label = isOn ? t.voice.stopListening : t.voice.talk;
  return h(
    "button",
    {
      type: "button",
      class: `button round microphone microphone-${phaseOf(state)}`,
      key: "microphone",
      "data-action": "microphone",
      "aria-label": label,
      "aria-pressed": String(isOn),
      title: isOn ? label : (whyNot(state) ?? label),
      disabled: !isOn && whyNot(state) !== null,
    },
    icon("microphone"),
  );
}

/** @param {State} state */
export function voiceLine(state) {
  const { voice, settings } = state;
  if (voice.problem) return problemLine(voice.problem);
  if (voice.mic === "off") return null;
  const isPushToTalk = settings.turnDetection === "push_to_talk";
  return h(
    "div",
    { class: `line voice-line voice-${phaseOf(state)}`, key: "voice" },
    h("span", { class: "voice-level", "aria-hidden": "true" }),
    // Told once: a screen reader that names every change would talk into the conversation.
    h(
      "p",
      { role: "status", class: "visually-hidden" },
      voice.mic !== "on" ? t.voice.asking : voice.isMuted ? t.voice.muted : t.voice.isOn,
    ),
    h("p", { class: "voice-state" }, wordsOf(state)),
    voice.transcript && h("p", { class: "voice-transcript", dir: "auto" }, voice.transcript),
    isPushToTalk &&
      voice.mic === "on" &&
      h(
        "button",
        { type: "button", class: "button small", "data-talk": "", "aria-pressed": String(voice.isHeld) },
        voice.isHeld ? t.voice.release : t.voice.hold,
      ),
  );
}

/** @param {string} problem */
function problemLine(problem) {
  return h(
    "div",
    { class: "line line-warning", role: "alert", key: "microphone-problem" },
    icon("alert"),
    h("p", {}, problem),
    h("button", { type: "button", class: "button small", "data-action": "microphone" }, t.voice.tryAgain),
  );
}

/** Why the server or this tab cannot listen; null = it can. @param {State} state */
function whyNot(state) {
  const { connection, speech } = state;
  if (connection.phase !== "online") return t.voice.notConnected;
  if (openConversation(state)?.access === "read") return t.readOnly;
  if (!speech) return t.voice.noRecognition;
  for (const part of [speech.stt, speech.vad]) {
    if (part.state === "loading") return t.voice.recognitionLoading;
    if (part.state === "missing") return part.reason ?? t.voice.noRecognition;
  }
  return null;
}

/** @param {State} state */
function phaseOf(state) {
  const { mic, phase } = state.voice;
  if (mic !== "on") return mic;
  if (phase === "speaking" || phase === "maybe") return "hearing";
  const turn = visibleTurn(state);
  if (turn?.playback.playing) return "speaking";
  if (phase === "recognizing" || turn) return "thinking";
  return "listening";
}

/** @param {State} state */
function wordsOf(state) {
  const isPushToTalk = state.settings.turnDetection === "push_to_talk";
  const deafness = state.voice.mic === "on" ? (whyNot(state) ?? (state.voice.isMuted ? t.voice.muted : null)) : null;
  if (deafness) return t.voice.nobodyHears(deafness);
  switch (phaseOf(state)) {
    case "starting":
      return `${t.voice.asking}…`;
    case "hearing":
      return t.voice.hearing;
    case "speaking":
      return isPushToTalk ? t.voice.speaking : t.voice.speakingInterrupt;
    case "thinking":
      return t.voice.thinking;
    default:
      return isPushToTalk ? t.voice.holdAndSpeak : t.voice.listening;
  }
}
