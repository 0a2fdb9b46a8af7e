/**
 * The spoken side of a client: the microphone, what the server hears in it, and what was heard of the reply. Pure.
 *
 * @typedef {import("./types/client.js").ClientState} ClientState
 * @typedef {import("./frames.js").SpeechFrame} SpeechFrame
 */

import { fitToLimits, insertBeforeTurn, withHistory } from "./conversation.js";
import { heard, questionSentences, withoutSound, withoutQuestion } from "./playback.js";
import {
  canSend,
  lastEntries,
  openConversation,
  QUIET,
  withConversation,
  withEffects,
  without,
  withView,
  withVoice,
} from "./state.js";
import { begun, cutBySpeech, playedOn } from "./turn.js";

const REPORT_MS = 500;
const MAX_UNANSWERED = 8; // utterances whose words have not come yet
const PAUSE = /** @type {const} */ ({ type: "sound", act: "pause" });
const RESUME = /** @type {const} */ ({ type: "sound", act: "resume" });

/** @template {ClientState} S @param {S} state @param {SpeechFrame} frame @param {number} at @returns {S} */
export function spoken(state, frame, at) {
  switch (frame.type) {
    case "speech": {
      const { type: _type, ...speech } = frame;
      return { ...state, speech };
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

/**
 * The user speaks: the reply is cut, and the history is sent before the words are known, so that no time is lost when
 * they are.
 *
 * @template {ClientState} S @param {S} state @param {string} utterance @returns {S}
 */
function started(state, utterance) {
  const next = cutBySpeech(state);
  const conversation = openConversation(next);
  const fitting = fitToLimits(conversation?.conversationHistory ?? [], state.server?.limits ?? null);
  return withEffects(
    withVoice(next, { phase: "speaking", transcript: "", utterance, spokenIn: spokenIn(next, utterance) }),
    { type: "sound", act: "flush" },
    { type: "send", frame: { type: "history", utterance, messages: fitting?.messages ?? [], ...fitting?.hookState } },
  );
}

/** @param {ClientState} state @param {string} utterance */
function spokenIn({ voice, openId }, utterance) {
  return openId ? lastEntries({ ...voice.spokenIn, [utterance]: openId }, MAX_UNANSWERED) : voice.spokenIn;
}

/**
 * @template {ClientState} S
 * @param {S} state @param {import("./frames.js").Transcript} frame @param {number} at
 * @returns {S}
 */
function understood(state, frame, at) {
  if (!frame.final) return withVoice(state, { transcript: frame.text });
  const { voice } = state;
  const phase = frame.utterance === voice.utterance ? "quiet" : voice.phase; // else the user is speaking again already
  const next = withVoice(state, { phase, transcript: "", spokenIn: without(voice.spokenIn, frame.utterance) });
  const conversation = next.loaded[voice.spokenIn[frame.utterance] ?? ""];
  if (!frame.turn_id || !frame.text || conversation?.access !== "write") return next;
  // Another conversation was opened, or a message sent, before these words came: their turn is refused when it starts.
  const isLate = conversation.id !== next.openId || next.turn !== null;
  /** @type {import("./frames.js").Message} */
  const message = { role: "user", content: frame.text, _turn: frame.turn_id, _answer: isLate ? "stopped" : "pending" };
  const added = withHistory(conversation, (history) => insertBeforeTurn(history, message, next.turn?.id));
  if (isLate) return withConversation(next, added);
  const asked = withView(begun(next, { ...added, updatedAt: at || added.updatedAt }, frame.turn_id), frame.turn_id, {
    isSpoken: true,
  });
  // The server has the words already: nothing is to be sent once they are stored.
  return asked.turn ? { ...asked, turn: { ...asked.turn, phase: "sent", canResend: false } } : asked;
}

/** @template {ClientState} S @param {S} state @param {string} deviceId empty for the system's @returns {S} */
export function switchingOn(state, deviceId) {
  return withEffects(withVoice(state, { mic: "starting", problem: null }), {
    type: "microphone",
    isOn: true,
    deviceId,
  });
}

/** Mute or unmute the microphone by the user's wish; what was said up to here is answered. @template {ClientState} S @param {S} state @returns {S} */
export function muteToggled(state) {
  const isSilenced = state.voice.mic !== "off" && !state.voice.isSilenced;
  return withEffects(withVoice(state, { isSilenced }), { type: "silence", isSilenced });
}

/**
 * Return the formats of sound in both directions: Opus where the server and this browser can. Before it is known what the browser
 * can, and on the server's own machine, there is only PCM.
 *
 * @param {ClientState} state @returns {Pick<import("./frames.js").ClientSettings, "input" | "output">}
 */
export function formatsOf({ codecs, speech, voice: { rate } }) {
  if (!codecs) return { input: { format: "pcm16", sample_rate: rate } };
  const best = speech?.opus?.state === "ready" ? "opus" : "pcm16";
  const isEncoded = codecs.encodes && 48_000 % rate === 0; // of the rates that microphones have, those that Opus has
  return {
    input: { format: isEncoded ? best : "pcm16", sample_rate: rate },
    output: { format: codecs.decodes ? best : "pcm16" },
  };
}

/** @template {ClientState} S @param {S} state @param {number} rate @returns {S} */
export function switchedOn(state, rate) {
  return state.voice.mic === "starting" ? withVoice(state, { mic: "on", rate, isMuted: false }) : state;
}

/**
 * Switch the microphone off: what is being said is discarded, what was said is still answered.
 *
 * @template {ClientState} S @param {S} state @param {string | null} problem @returns {S}
 */
export function switchedOff(state, problem) {
  const { rate, spokenIn: unanswered } = state.voice;
  const next = withEffects(
    withVoice(state, { ...QUIET, rate, spokenIn: unanswered, problem }),
    { type: "microphone", isOn: false, deviceId: "" },
    RESUME,
  );
  return withEffects(next, ...discardFrames(state));
}

/** @param {ClientState} state @returns {import("./types/client.js").Effect[]} */
function discardFrames({ voice, settings, connection }) {
  if (connection.phase !== "online") return [];
  if (voice.isHeld) return [{ type: "send", frame: { type: "speech_cancel" } }];
  if (voice.phase !== "maybe" && voice.phase !== "speaking") return [];
  // no sound will come any more that could end the utterance
  return [{ type: "send", frame: { type: "configure", turn_detection: settings.turnDetection } }];
}

/** Follow the key of push-to-talk, down or up. @template {ClientState} S @param {S} state @param {boolean} isHeld @returns {S} */
export function pushToTalk(state, isHeld) {
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
 * Take the player's report on how far a sentence was heard, and pass it on to the server at the first sample, with each
 * sentence, twice a second and at the end.
 *
 * @template {ClientState} S
 * @param {S} state @param {{turnId: string, index: number, ms: number, isOver: boolean}} event
 * @returns {S}
 */
export function playbackHeard(state, { turnId, index, ms, isOver }) {
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

/** Go on without sound: replies are text from now on. @template {ClientState} S @param {S} state @returns {S} */
export function soundFailed(state) {
  const next = { ...state, canPlay: false };
  return next.turn ? playedOn(next, next.turn, withoutSound(next.turn.playback)) : next;
}

/** Skip the spoken question about a tool once it is answered. @template {ClientState} S @param {S} state @param {string} id @returns {S} */
export function withoutSpokenQuestion(state, id) {
  const { turn } = state;
  const asking = turn ? questionSentences(turn.playback, id) : [];
  if (!turn || !asking.length) return state;
  const { playing } = turn.playback;
  const heardSoFar = { turn_id: turn.id, index: playing?.sentence.index ?? 0, ms: Math.round(playing?.heardMs ?? 0) };
  const isHeard = playing?.sentence.approval === id && playing.heardMs > 0;
  /** @type {import("./types/client.js").Effect[]} */
  const effects = asking.map(({ index }) => ({ type: "skip", turnId: turn.id, index }));
  if (isHeard) effects.push({ type: "send", frame: { type: "playback", ...heardSoFar, state: "stopped" } });
  return playedOn(withEffects(state, ...effects), turn, withoutQuestion(turn.playback, id));
}
