/**
 * The spoken conversation: the button that begins it, and what stands in its place until it ends.
 *
 * @typedef {import("../state.js").State} State
 * @typedef {import("../../sdk/frames.js").Message} Message
 */

import { isUserMessage } from "../../sdk/conversation.js";
import { picksOf } from "../models.js";
import { isEmpty, isVoiceLoading, visibleTurn } from "../state.js";
import { canSend, openConversation } from "../../sdk/state.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { errorView, noticeView } from "./lines_view.js";
import { endView } from "./turn_view.js";
import { locale, namesSettings, t, unknownLanguage } from "../strings.js";

/** Return the button that begins to talk; null while the page listens. @param {State} state */
export function talkButton(state) {
  if (state.voice.mic !== "off") return null;
  const why = whyNot(state);
  return h(
    "button",
    {
      type: "button",
      class: "button primary talk-button",
      key: "talk",
      "data-action": "microphone",
      title: why ?? talkHint(state),
      disabled: why !== null,
    },
    icon("microphone"),
    t.voice.talk,
  );
}

/** Return what to do once the page listens, or why it cannot. @param {State} state */
export function talkHint(state) {
  return (
    whyNot(state) ??
    voiceNews(state) ??
    (isPushToTalk(state) ? (state.isTouch ? t.voice.holdButton : t.voice.holdAndSpeak) : t.voice.justSpeak)
  );
}

/**
 * Return how much room the talk takes: all there is as long as there is nothing else to show, and on a narrow
 * screen as long as replies are heard; null while the microphone is off.
 *
 * @param {State} state
 */
export function sizeOf(state) {
  const { voice, settings, canPlay, speech, isNarrow } = state;
  if (voice.mic === "off") return null;
  const isHeard = settings.readAloud !== "never" && canPlay && speech?.tts.state === "ready";
  return isEmpty(state) || (isNarrow && isHeard && !voice.isFolded) ? "large" : "small";
}

/** Show the spoken conversation: who is speaking, what was understood, what is being said, and how to end it. @param {State} state */
export function talkView(state) {
  const { voice } = state;
  if (voice.mic === "off") return null;
  const phase = phaseOf(state);
  return h(
    "section",
    { class: `talk voice-${phase}`, id: "talk", key: "talk", tabindex: "-1", "aria-label": t.voice.talk },
    h(
      "div",
      { class: "talk-orb", "aria-hidden": "true" },
      BARS.map((n) => h("i", { class: `bar-${n}` })),
    ),
    h(
      "div",
      { class: "talk-words" },
      // Announced once: a screen reader that names every change would talk into the conversation.
      h(
        "p",
        { role: "status", class: "visually-hidden" },
        statusOf(voice),
        isVoiceLoading(state) && ` ${t.voice.voiceLoading}`,
      ),
      h("p", { class: "voice-state" }, wordsOf(state)),
      captions(state),
    ),
    controls(state),
  );
}

const BARS = [1, 2, 3, 4, 5];

/** Show what was understood and the sentence being said, else what can be done now or what went wrong. @param {State} state */
function captions(state) {
  const turn = visibleTurn(state);
  const { playing } = turn?.playback ?? {};
  const asked = lastQuestion(state);
  const trouble = asked && sizeOf(state) === "large" ? troubleWith(state, asked) : []; // else it stands in the conversation
  const isUnanswered = trouble.length > 0 && asked?._answer !== undefined && asked._answer !== "stopped";
  const understood = state.voice.transcript || (turn || isUnanswered ? asked?.content : "");
  const problem = languageProblem(state);
  const hint = isUnanswered && phaseOf(state) === "listening" ? t.voice.sayAgain : hintOf(state);
  return [
    understood && h("p", { class: "voice-transcript", dir: "auto" }, understood),
    playing && h("p", { class: "voice-caption", dir: "auto" }, playing.sentence.spoken ?? playing.sentence.text),
    trouble,
    problem && h("p", { class: "voice-warning" }, problem),
    hint && h("p", { class: "voice-hint" }, hint),
  ];
}

/** Return the problems of the last question, as the conversation shows them. @param {State} state @param {Message} asked */
function troubleWith(state, asked) {
  const view = state.views[asked._turn ?? ""] ?? null;
  const isOver = !visibleTurn(state) && (asked._answer !== "stopped" || view?.end?.reason === "aborted"); // else the user did it
  return [
    ...(view?.notices ?? []).filter(({ level }) => level !== "info").map((notice) => noticeView(notice, false)),
    view?.error && errorView(view.error),
    isOver && endView(asked, view, { isLast: true, canAsk: canSend(state), ...picksOf(state) }),
  ].filter(Boolean);
}

/** Return the warning that speech in the chosen language, or the page's, will not be understood, or null. @param {State} state */
export function languageProblem({ settings, speech, server }) {
  const language = settings.language || locale;
  const unheard = unknownLanguage(speech?.stt_languages, language);
  const unread = unknownLanguage(server?.model.languages, language);
  if (unheard && unread) return t.voice.languageUnknownToBoth(unheard.wanted, unheard.known);
  if (unheard) return t.voice.languageUnknown(unheard.wanted, unheard.known);
  return unread && t.models.knowsOnly(unread.known);
}

/** Return the news that the voice is loading or has just become ready, or null. @param {State} state */
function voiceNews(state) {
  if (isVoiceLoading(state)) return t.voice.voiceLoading;
  return state.voice.isVoiceNew ? t.voice.voiceReady : null;
}

/** @param {State} state */
function lastQuestion(state) {
  return openConversation(state)?.conversationHistory.findLast(isUserMessage);
}

/** @param {State} state */
function controls(state) {
  const { voice } = state;
  const isLarge = sizeOf(state) === "large";
  return h(
    "div",
    { class: "talk-controls" },
    isPushToTalk(state) &&
      voice.mic === "on" &&
      h(
        "button",
        {
          type: "button",
          class: "button talk-hold",
          key: "hold",
          "data-action": "hold",
          "aria-pressed": String(voice.isHeld),
        },
        voice.isHeld ? t.voice.release : t.voice.hold,
      ),
    control("mute", voice.isSilenced ? "muted" : "microphone", t.voice.mute, {
      "aria-pressed": String(voice.isSilenced),
    }),
    isLarge && visibleTurn(state) && control("stop", "stop", t.voice.stop, { "aria-label": t.composer.stop }),
    control("talk-mode", "space", t.voice.pushToTalk, {
      "aria-pressed": String(isPushToTalk(state)),
      "data-mode": isPushToTalk(state) ? "server_vad" : "push_to_talk",
    }),
    state.isNarrow &&
      !isEmpty(state) &&
      control("fold-talk", isLarge ? "text" : "enlarge", isLarge ? t.voice.showText : t.voice.enlarge, {}),
    control("microphone", "close", t.voice.end, {}),
  );
}

/**
 * @param {string} action @param {keyof typeof import("./icons.js").PATHS} name @param {string} label
 * @param {Record<string, string>} attributes
 */
function control(action, name, label, attributes) {
  return h(
    "button",
    {
      type: "button",
      class: `button talk-control talk-${action}`,
      key: action,
      "data-action": action,
      title: label,
      ...attributes,
    },
    icon(name),
    h("span", {}, label),
  );
}

/** Return the line that says why the page stopped listening, with a button to try again. @param {State} state */
export function problemLine({ voice: { problem } }) {
  if (!problem) return null;
  return h(
    "div",
    { class: "line line-warning", role: "alert", key: "microphone-problem" },
    icon("alert"),
    h("p", {}, problem),
    h("button", { type: "button", class: "button small", "data-action": "microphone" }, t.voice.tryAgain),
  );
}

/** Return the state in a word, for the header. @param {State} state */
export function talkState(state) {
  if (state.voice.mic === "off") return null;
  return h("p", { class: `talk-state talk-state-${phaseOf(state)}`, key: "talk-state" }, nameOf(phaseOf(state)));
}

/** Return why the server or this tab cannot listen; null if it can. @param {State} state */
function whyNot(state) {
  const { connection, speech } = state;
  if (connection.phase !== "online") return t.voice.notConnected;
  if (openConversation(state)?.access === "read") return t.readOnly;
  if (!speech) return t.voice.noRecognition;
  for (const part of [speech.stt, speech.vad]) {
    if (part.state === "loading") return t.voice.recognitionLoading;
    if (part.state === "missing")
      return part.reason && !namesSettings(part.reason) ? part.reason : t.voice.noRecognition;
  }
  return null;
}

/** @typedef {"starting" | "muted" | "listening" | "hearing" | "thinking" | "speaking"} Phase */

/** @param {State} state @returns {Phase} */
function phaseOf(state) {
  const { mic, phase, isSilenced } = state.voice;
  if (mic !== "on") return "starting";
  if (phase === "speaking" || phase === "maybe") return "hearing";
  const turn = visibleTurn(state);
  if (turn?.playback.playing || state.speakTurn) return "speaking";
  if (phase === "recognizing" || turn) return "thinking";
  return isSilenced ? "muted" : "listening";
}

/** @param {Phase} phase */
function nameOf(phase) {
  return phase === "starting" ? `${t.voice.asking}…` : t.voice[phase];
}

/** @param {State} state */
function wordsOf(state) {
  const why = state.voice.mic === "on" ? (whyNot(state) ?? (state.voice.isMuted ? t.voice.mutedBySystem : null)) : null;
  if (why) return t.voice.notHeard(why);
  const phase = phaseOf(state);
  return phase === "listening" && isPushToTalk(state) ? t.voice.ready : nameOf(phase);
}

/** @param {State} state */
function hintOf(state) {
  const phase = phaseOf(state);
  if (phase === "muted") return t.voice.unmuteToGoOn;
  if (phase === "listening") return talkHint(state);
  if (phase === "speaking") return isPushToTalk(state) || state.voice.isSilenced ? "" : t.voice.interrupt;
  return voiceNews(state);
}

/** @param {import("../state.js").Voice} voice */
function statusOf({ mic, isMuted, isSilenced }) {
  if (mic !== "on") return t.voice.asking;
  if (isMuted) return t.voice.mutedBySystem;
  return isSilenced ? t.voice.muted : t.voice.isOn;
}

/** @param {State} state */
function isPushToTalk({ settings }) {
  return settings.turnDetection === "push_to_talk";
}
