/**
 * The microphone: its button, and the line that says what is going on.
 *
 * @typedef {import("../state.js").State} State
 */

import { openConversation, visibleTurn } from "../state.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";

const MUTED = "The microphone is muted by the system or another program";

/** @param {State} state */
export function microphoneButton(state) {
  const { mic } = state.voice;
  const isOn = mic !== "off";
  const label = isOn ? "Stop listening" : "Talk";
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
      voice.mic !== "on" ? "Asking for the microphone" : voice.isMuted ? MUTED : "The microphone is on",
    ),
    h("p", { class: "voice-state" }, wordsOf(state)),
    voice.transcript && h("p", { class: "voice-transcript", dir: "auto" }, voice.transcript),
    isPushToTalk &&
      voice.mic === "on" &&
      h(
        "button",
        { type: "button", class: "button small", "data-talk": "", "aria-pressed": String(voice.isHeld) },
        voice.isHeld ? "Release to send" : "Hold to talk",
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
    h("button", { type: "button", class: "button small", "data-action": "microphone" }, "Try again"),
  );
}

/** Why the server or this tab cannot listen; null = it can. @param {State} state */
function whyNot(state) {
  const { connection, speech } = state;
  if (connection.phase !== "online") return "Not connected";
  if (openConversation(state)?.access === "read") return "Read-only in this tab";
  if (!speech) return "This server has no speech recognition";
  for (const part of [speech.stt, speech.vad]) {
    if (part.state === "loading") return "Speech recognition is still loading";
    if (part.state === "missing") return part.reason ?? "This server has no speech recognition";
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
  const deafness = state.voice.mic === "on" ? (whyNot(state) ?? (state.voice.isMuted ? MUTED : null)) : null;
  if (deafness) return `${deafness}. Nobody hears you.`;
  switch (phaseOf(state)) {
    case "starting":
      return "Asking for the microphone…";
    case "hearing":
      return "Hearing you…";
    case "speaking":
      return isPushToTalk ? "Speaking…" : "Speaking… talk to interrupt";
    case "thinking":
      return "Thinking…";
    default:
      return isPushToTalk ? "Hold the button or the space bar, and speak" : "Listening";
  }
}
