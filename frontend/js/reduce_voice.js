/**
 * The spoken side: the microphone, what the server hears in it, and what was
 * heard of the reply.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Voice} Voice
 * @typedef {import("./frames.js").SpeechFrame} SpeechFrame
 */

import { fitToLimits } from "./conversation.js";
import { heard } from "./playback.js";
import { playedOn } from "./reduce_playback.js";
import { begun, cutTurn } from "./reduce_turn.js";
import { NO_VOICE, openConversation, warning, withEffects, withNotice } from "./state.js";

const REPORT_MS = 500;

/** @param {State} state @param {SpeechFrame} frame @param {number} at @returns {State} */
export function spoken(state, frame, at) {
  switch (frame.type) {
    case "speech": {
      const { stt, tts, vad } = frame;
      return { ...state, speech: { stt, tts, vad } };
    }
    case "speech_detected":
      return withEffects(withVoice(state, { phase: "maybe" }), { type: "sound", act: "pause" });
    case "speech_rejected":
      return withEffects(withVoice(state, { phase: "quiet" }), { type: "sound", act: "resume" });
    case "speech_started":
      return started(state, frame.utterance);
    case "speech_stopped":
      return withVoice(state, { phase: "recognizing", isHeld: false });
    case "transcript":
      return understood(state, frame, at);
  }
}

/**
 * Somebody speaks: the reply is cut, and the history goes up before the words
 * are known, so that no time is lost when they are.
 *
 * @param {State} state @param {string} utterance
 * @returns {State}
 */
function started(state, utterance) {
  const next = cutTurn(state, "stopped");
  const conversation = openConversation(next);
  const fitting = fitToLimits(conversation?.conversationHistory ?? [], state.server?.limits ?? null);
  return withEffects(
    withVoice(next, { phase: "speaking", transcript: "", conversationId: next.openId }),
    { type: "sound", act: "flush" },
    { type: "send", frame: { type: "history", utterance, messages: fitting?.messages ?? [] } },
  );
}

/** @param {State} state @param {import("./frames.js").Transcript} frame @param {number} at @returns {State} */
function understood(state, frame, at) {
  if (!frame.final) return withVoice(state, { transcript: frame.text });
  const phase = state.voice.phase === "recognizing" ? "quiet" : state.voice.phase;
  const next = withVoice(state, { phase, transcript: "" });
  const conversation = next.loaded[state.voice.conversationId ?? ""];
  if (!frame.turn_id || !frame.text || conversation?.access !== "write") return next;
  const message = { role: /** @type {const} */ ("user"), content: frame.text, _turn: frame.turn_id };
  const conversationHistory = [...conversation.conversationHistory, { ...message, _answer: /** @type {const} */ ("pending") }];
  const asked = begun(next, { ...conversation, conversationHistory, updatedAt: at || conversation.updatedAt }, frame.turn_id);
  // The server has the words already: nothing is to be sent once they are stored.
  return asked.turn ? { ...asked, turn: { ...asked.turn, phase: "sent" } } : asked;
}

/** The button of the microphone. @param {State} state @returns {State} */
export function switched(state) {
  if (state.voice.mic !== "off") return switchedOff(state, null);
  return withEffects(withVoice(state, { mic: "starting", problem: null }), {
    type: "microphone",
    isOn: true,
    deviceId: state.settings.microphone,
  });
}

/** @param {State} state @param {number} rate @returns {State} */
export function switchedOn(state, rate) {
  return state.voice.mic === "starting" ? withVoice(state, { mic: "on", rate }) : state;
}

/** @param {State} state @param {string | null} problem @returns {State} */
export function switchedOff(state, problem) {
  const { rate, devices, isHeld: isSpeaking } = state.voice;
  const next = withEffects(
    { ...state, voice: { ...NO_VOICE, rate, devices, problem } },
    { type: "microphone", isOn: false, deviceId: "" },
    { type: "sound", act: "resume" },
  );
  return isSpeaking ? withEffects(next, { type: "send", frame: { type: "speech_cancel" } }) : next;
}

/** The key of push-to-talk goes down or up. @param {State} state @param {boolean} isHeld @returns {State} */
export function talked(state, isHeld) {
  const { voice, settings, connection } = state;
  const isPossible = voice.mic === "on" && settings.turnDetection === "push_to_talk" && connection.phase === "online";
  if (!isPossible || voice.isHeld === isHeld) return state;
  const next = isHeld ? cutTurn(state, "stopped") : state;
  return withEffects(withVoice(next, { isHeld }), {
    type: "send",
    frame: { type: isHeld ? "speech_start" : "speech_end" },
  });
}

/**
 * The player has come so far in a sentence; the server is told at the first
 * sample, with each sentence, twice a second and at the end.
 *
 * @param {State} state @param {{turnId: string, index: number, ms: number, isOver: boolean}} event
 * @returns {State}
 */
export function heardOf(state, { turnId, index, ms, isOver }) {
  const { turn } = state;
  if (turn?.id !== turnId) return state;
  const playback = heard(turn.playback, index, ms, isOver);
  const isLast = isOver && playback.reachedEnd !== null;
  const mark = isLast ? "stopped" : `${index}:${Math.floor(ms / REPORT_MS)}`;
  const next = playedOn(state, { ...turn, reported: mark }, playback);
  if (mark === turn.reported) return next;
  const phase = isLast ? "stopped" : turn.reported === "" ? "started" : "playing";
  return withEffects(next, {
    type: "send",
    frame: { type: "playback", turn_id: turnId, index, ms: Math.round(ms), state: phase },
  });
}

/** This browser plays nothing: replies are text from now on. @param {State} state @param {string} reason @returns {State} */
export function muted(state, reason) {
  const text = `This browser cannot play the reply (${reason}). It is shown as text.`;
  const next = withNotice({ ...state, canPlay: false }, warning("no_sound", text));
  return next.turn ? withEffects(cutTurn(next, "stopped"), { type: "send", frame: { type: "interrupt", turn_id: next.turn.id } }) : next;
}

/** @param {State} state @param {Partial<Voice>} change @returns {State} */
function withVoice(state, change) {
  return { ...state, voice: { ...state.voice, ...change } };
}
