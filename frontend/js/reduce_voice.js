/**
 * The spoken side: the microphone, what the server hears in it, and what was
 * heard of the reply.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Voice} Voice
 * @typedef {import("../sdk/frames.js").SpeechFrame} SpeechFrame
 */

import { fitToLimits, insertBeforeTurn, withHistory } from "../sdk/conversation.js";
import { heard, silenced } from "../sdk/playback.js";
import { playedOn } from "./reduce_playback.js";
import { begun, cutBySpeech } from "./reduce_turn.js";
import {
  canSend,
  isVoiceLoading,
  lastEntries,
  NO_VOICE,
  openConversation,
  warning,
  withAnnouncements,
  withConversation,
  withEffects,
  withNotice,
  without,
} from "./state.js";
import { t } from "./strings.js";

const REPORT_MS = 500;
const MAX_UNANSWERED = 8; // utterances whose words have not come yet
const BLOCKED = "sound_blocked";
const NO_SOUND = "no_sound";
const PAUSE = /** @type {const} */ ({ type: "sound", act: "pause" });
const RESUME = /** @type {const} */ ({ type: "sound", act: "resume" });

/** @param {State} state @param {SpeechFrame} frame @param {number} at @returns {State} */
export function spoken(state, frame, at) {
  switch (frame.type) {
    case "speech": {
      const { type: _type, ...speech } = frame;
      return voiceCame({ ...state, speech }, state);
    }
    case "speech_detected":
      return withEffects(withVoice(state, { phase: "maybe", utterance: frame.utterance }), PAUSE);
    case "speech_rejected":
      return withEffects(withVoice(state, { phase: "quiet" }), RESUME);
    case "speech_started":
      return started(state, frame.utterance);
    case "speech_stopped":
      return withVoice(state, { phase: "recognizing" }); // the key may be down again already: only its user lifts it
    case "transcript":
      return understood(state, frame, at);
  }
}

/** Who talks and was told that the voice is loading is told that it is there. @param {State} state @param {State} before @returns {State} */
function voiceCame(state, before) {
  const isNew = isVoiceLoading(before) && state.speech?.tts.state === "ready" && state.voice.mic !== "off";
  return isNew ? withAnnouncements(withVoice(state, { isVoiceNew: true }), [t.voice.voiceReady]) : state;
}

/**
 * Somebody speaks: the reply is cut, and the history goes up before the words
 * are known, so that no time is lost when they are.
 *
 * @param {State} state @param {string} utterance
 * @returns {State}
 */
function started(state, utterance) {
  const next = cutBySpeech(state);
  const conversation = openConversation(next);
  const fitting = fitToLimits(conversation?.conversationHistory ?? [], state.server?.limits ?? null);
  return withEffects(
    withVoice(next, { phase: "speaking", transcript: "", utterance, spokenIn: spokenIn(next, utterance), isVoiceNew: false }),
    { type: "sound", act: "flush" },
    { type: "send", frame: { type: "history", utterance, messages: fitting?.messages ?? [], ...fitting?.hookState } },
  );
}

/** @param {State} state @param {import("../sdk/frames.js").Transcript} frame @param {number} at @returns {State} */
function understood(state, frame, at) {
  if (!frame.final) return withVoice(state, { transcript: frame.text });
  const { voice } = state;
  const phase = frame.utterance === voice.utterance ? "quiet" : voice.phase; // else somebody speaks already again
  const next = withVoice(state, { phase, transcript: "", spokenIn: without(voice.spokenIn, frame.utterance) });
  const conversation = next.loaded[voice.spokenIn[frame.utterance] ?? ""];
  if (!frame.turn_id || !frame.text || conversation?.access !== "write") return next;
  // Another conversation was opened, or a message sent, before these words came: their turn is refused when it starts.
  const isLate = conversation.id !== next.openId || next.turn !== null;
  /** @type {import("../sdk/frames.js").Message} */
  const message = { role: "user", content: frame.text, _turn: frame.turn_id, _answer: isLate ? "stopped" : "pending" };
  const added = withHistory(conversation, (history) => insertBeforeTurn(history, message, next.turn?.id));
  if (isLate) return withConversation(next, added);
  const asked = begun(next, { ...added, updatedAt: at || added.updatedAt }, frame.turn_id);
  // The server has the words already: nothing is to be sent once they are stored.
  return asked.turn ? { ...asked, turn: { ...asked.turn, phase: "sent", canResend: false } } : asked;
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

/** The button that mutes: what was said up to here is answered. @param {State} state @returns {State} */
export function silencedByUser(state) {
  const isSilenced = state.voice.mic !== "off" && !state.voice.isSilenced;
  return withEffects(withVoice(state, { isSilenced }), { type: "silence", isSilenced });
}

/** @param {State} state @param {number} rate @returns {State} */
export function switchedOn(state, rate) {
  return state.voice.mic === "starting" ? withVoice(state, { mic: "on", rate, isMuted: false }) : state;
}

/**
 * What is being said is discarded; what was said is still answered.
 *
 * @param {State} state @param {string | null} problem
 * @returns {State}
 */
export function switchedOff(state, problem) {
  const { rate, devices, spokenIn: unanswered } = state.voice;
  const next = withEffects(
    { ...state, voice: { ...NO_VOICE, rate, devices, spokenIn: unanswered, problem } },
    { type: "microphone", isOn: false, deviceId: "" },
    RESUME,
  );
  return withEffects(next, ...discardFrames(state));
}

/**
 * @param {State} state
 * @param {{problem: import("../sdk/voice/microphone.js").MicrophoneProblem | null, detail?: string}} event
 * @returns {State}
 */
export function microphoneGone(state, { problem, detail = "" }) {
  const text = problem && t.voice.microphoneProblems[problem];
  return switchedOff(state, typeof text === "function" ? text(detail) : text);
}

/** @param {State} state @returns {import("./state.js").Effect[]} */
function discardFrames({ voice, settings, connection }) {
  if (connection.phase !== "online") return [];
  if (voice.isHeld) return [{ type: "send", frame: { type: "speech_cancel" } }];
  if (voice.phase !== "maybe" && voice.phase !== "speaking") return [];
  // no sound will come any more that could end the utterance
  return [{ type: "send", frame: { type: "configure", turn_detection: settings.turnDetection } }];
}

/**
 * The user has chosen another microphone, or another way to talk.
 *
 * @param {State} state @param {Partial<import("./state.js").Settings>} change
 * @returns {State}
 */
export function chosen(state, change) {
  const { mic } = state.voice;
  const isOtherWay = change.turnDetection !== undefined;
  const next = isOtherWay ? withEffects(withVoice(state, { phase: "quiet", isHeld: false }), RESUME) : state;
  if (change.microphone === undefined || mic === "off") return next;
  const restart = /** @type {const} */ ({ type: "microphone", isOn: true, deviceId: change.microphone });
  return withEffects(withVoice(next, { mic: "starting" }), restart);
}

/** A conversation that another tab writes takes no words here. @param {State} state @returns {State} */
export function deafIfReading(state) {
  const isReading = openConversation(state)?.access === "read";
  if (!isReading || state.voice.mic === "off") return state;
  return switchedOff(state, t.voice.openElsewhere);
}

/** The key of push-to-talk goes down or up. @param {State} state @param {boolean} isHeld @returns {State} */
export function talked(state, isHeld) {
  const { voice, settings } = state;
  const isPossible = voice.mic === "on" && settings.turnDetection === "push_to_talk" && canSend(state);
  if (voice.isHeld === isHeld || (isHeld && !isPossible)) return state; // a key that is down can always come up
  const next = isHeld ? cutBySpeech(state) : state;
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
  const mark = isLast ? "stopped" : `${index}:${isOver ? "over" : Math.floor(ms / REPORT_MS)}`;
  const next = playedOn(state, { ...turn, reported: mark }, playback);
  if (mark === turn.reported) return next;
  const phase = isLast ? "stopped" : turn.reported === "" ? "started" : "playing";
  return withEffects(next, {
    type: "send",
    frame: { type: "playback", turn_id: turnId, index, ms: Math.round(ms), state: phase },
  });
}

/** Nothing is played here: replies are text from now on. @param {State} state @param {{reason: string, isAway: boolean}} event @returns {State} */
export function muted(state, { reason, isAway }) {
  const why = isAway ? t.voice.playerNotLoaded(reason) : t.voice.cannotPlay(reason);
  const next = withNotice({ ...state, canPlay: false }, warning(NO_SOUND, why));
  return next.turn ? playedOn(next, next.turn, silenced(next.turn.playback)) : next;
}

/** The next reply can be heard. @param {State} state @returns {State} */
export function unmuted(state) {
  return { ...state, canPlay: true, notices: state.notices.filter(({ code }) => code !== NO_SOUND) };
}

/** The browser keeps the page silent until the user touches it. @param {State} state @param {boolean} isBlocked @returns {State} */
export function blocked(state, isBlocked) {
  if (isBlocked)
    return withNotice(state, warning(BLOCKED, t.voice.soundBlocked));
  return { ...state, notices: state.notices.filter(({ code }) => code !== BLOCKED) };
}

/** @param {State} state @param {string} utterance */
function spokenIn({ voice, openId }, utterance) {
  return openId ? lastEntries({ ...voice.spokenIn, [utterance]: openId }, MAX_UNANSWERED) : voice.spokenIn;
}

/** @param {State} state @param {Partial<Voice>} change @returns {State} */
function withVoice(state, change) {
  return { ...state, voice: { ...state.voice, ...change } };
}
