/**
 * The spoken side of the page: what `sdk/speech.js` does not do for every client.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Voice} Voice
 */

import * as speech from "../sdk/speech.js";
import { openConversation } from "../sdk/state.js";
import { isVoiceLoading, warning, withAnnouncements, withEffects, withNotice } from "./state.js";
import { t } from "./strings.js";

const BLOCKED = "sound_blocked";
const NO_SOUND = "no_sound";

/** @param {State} state @param {import("../sdk/frames.js").SpeechFrame} frame @param {number} at @returns {State} */
export function spoken(state, frame, at) {
  const next = speech.spoken(state, frame, at);
  if (frame.type === "speech") return voiceCame(next, state);
  return frame.type === "speech_started" ? withVoice(next, { isVoiceNew: false }) : next;
}

/** Announce that the voice is ready, if the user has talked while it was loading. @param {State} state @param {State} before @returns {State} */
function voiceCame(state, before) {
  const isNew = isVoiceLoading(before) && state.speech?.tts.state === "ready" && state.voice.mic !== "off";
  return isNew ? withAnnouncements(withVoice(state, { isVoiceNew: true }), [t.voice.voiceReady]) : state;
}

/** Switch the microphone on or off. @param {State} state @returns {State} */
export function microphoneToggled(state) {
  return state.voice.mic === "off" ? speech.switchingOn(state, state.settings.microphone) : switchedOff(state, null);
}

/** @param {State} state @param {string | null} problem @returns {State} */
export function switchedOff(state, problem) {
  return withVoice(speech.switchedOff(state, problem), { isFolded: false, isVoiceNew: false });
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

/**
 * Follow a change of the settings: another microphone, or another way to talk.
 *
 * @param {State} state @param {Partial<import("./state.js").Settings>} change
 * @returns {State}
 */
export function settingsChanged(state, change) {
  const { mic } = state.voice;
  const isOtherWay = change.turnDetection !== undefined;
  const quiet = isOtherWay ? withVoice(state, { phase: "quiet", isHeld: false }) : state;
  const next = isOtherWay ? withEffects(quiet, { type: "sound", act: "resume" }) : state;
  if (change.microphone === undefined || mic === "off") return next;
  const restart = /** @type {const} */ ({ type: "microphone", isOn: true, deviceId: change.microphone });
  return withEffects(withVoice(next, { mic: "starting" }), restart);
}

/** Switch the microphone off in a conversation that another tab writes. @param {State} state @returns {State} */
export function switchedOffIfReadOnly(state) {
  const isReadOnly = openConversation(state)?.access === "read";
  if (!isReadOnly || state.voice.mic === "off") return state;
  return switchedOff(state, t.voice.openElsewhere);
}

/** Say why no sound can be played here, and go on without. @param {State} state @param {{reason: string, isNotLoaded: boolean}} event @returns {State} */
export function soundFailed(state, { reason, isNotLoaded }) {
  const why = isNotLoaded ? t.voice.playerNotLoaded(reason) : t.voice.cannotPlay(reason);
  return speech.soundFailed(withNotice(state, warning(NO_SOUND, why)));
}

/** Play sound again, from the next reply on. @param {State} state @returns {State} */
export function soundRestored(state) {
  return { ...state, canPlay: true, notices: state.notices.filter(({ code }) => code !== NO_SOUND) };
}

/** Show or remove the notice that the browser plays nothing until the user touches the page. @param {State} state @param {boolean} isBlocked @returns {State} */
export function blocked(state, isBlocked) {
  if (isBlocked) return withNotice(state, warning(BLOCKED, t.voice.soundBlocked));
  return { ...state, notices: state.notices.filter(({ code }) => code !== BLOCKED) };
}

/** @param {State} state @param {Partial<Voice>} change @returns {State} */
function withVoice(state, change) {
  return { ...state, voice: { ...state.voice, ...change } };
}
