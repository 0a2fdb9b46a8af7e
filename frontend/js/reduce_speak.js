/**
 * The turn of a `speak` frame: a reply that the user has read aloud again, a sentence to try a voice, or the reason why a spoken question has no
 * reply. It leaves nothing in the conversation, and ends with the next turn, with speech, when another conversation is
 * opened and when the connection is lost.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("../sdk/frames.js").ServerFrame} ServerFrame
 *
 * @typedef {object} SpeakTurn
 * @property {string} id of the server's turn
 * @property {string} turnId whose reply it is, or VOICE_SAMPLE
 * @property {boolean} hasBegun
 * @property {boolean} hasEnded all of its sound has arrived
 * @property {number} last index of the last sentence with sound that has arrived
 * @property {number} heard index of the last sentence that was played to its end
 * @property {boolean} isFailure it says why there is no reply; its own errors are not shown
 */

import { isUserMessage, replyTo } from "../sdk/conversation.js";
import { canSpeak, withEffects, withNotice } from "./state.js";
import { openConversation } from "../sdk/state.js";
import { en } from "./strings/en.js";
import { adviceOn, locale, primary, t } from "./strings.js";

const MAX_CHARS = 20_000; // of `speak`

/** Start to read a reply aloud, or stop if that one is being read. @param {State} state @param {{turnId: string, id: string}} event @returns {State} */
export function readAloud(state, { turnId, id }) {
  const history = openConversation(state)?.conversationHistory ?? [];
  return spoken(state, turnId, id, replyTo(history, turnId).slice(0, MAX_CHARS));
}

/** Stands for a reply: the sentence by which the chosen voice can be heard. */
export const VOICE_SAMPLE = "voice sample";

/** Let the chosen voice say a sentence, or stop it. @param {State} state @param {string} id @returns {State} */
export function voiceTried(state, id) {
  const known = state.speech?.tts_languages ?? [];
  const canSayOurs = !known.length || known.some((tag) => primary(tag) === primary(locale));
  return spoken(state, VOICE_SAMPLE, id, (canSayOurs ? t : en).settings.sample);
}

/** @param {State} state @param {string} turnId @param {string} id @param {string} text @returns {State} */
function spoken(state, turnId, id, text) {
  if (state.speakTurn?.turnId === turnId || !text || !canSpeak(state)) return { ...state, speakTurn: null };
  const speakTurn = { id, turnId, hasBegun: false, hasEnded: false, last: -1, heard: -1, isFailure: false };
  return withEffects({ ...state, speakTurn }, { type: "send", frame: { type: "speak", id, text } });
}

/**
 * Say aloud why a spoken question has no reply, once, if its reply would have been spoken.
 *
 * @param {State} before @param {State} after @returns {State}
 */
export function failureSpoken({ turn }, after) {
  const { voice, settings } = after;
  const asked = openConversation(after)?.conversationHistory.findLast(isUserMessage);
  if (!turn || asked?._turn !== turn.id || asked._answer !== "failed" || !canSpeak(after)) return after;
  const { isSpoken = false, error = null, end = null } = after.views[turn.id] ?? {};
  const isHeard = settings.readAloud === "always" || (settings.readAloud === "spoken" && isSpoken);
  if (!isHeard || voice.mic !== "on" || voice.phase !== "quiet") return after;
  const why = error ? adviceOn(error) || error.message : (end?.message ?? "");
  const id = `${turn.id.slice(0, 60)}_why`;
  const speakTurn = { id, turnId: turn.id, hasBegun: false, hasEnded: false, last: -1, heard: -1, isFailure: true };
  return withEffects(
    { ...after, speakTurn },
    { type: "send", frame: { type: "speak", id, text: `${t.turns.failed} ${why}` } },
  );
}

/**
 * Return whether the frame belongs to the `speak` turn. Until that turn has begun, an error that names no turn answers
 * its `speak`.
 *
 * @param {State} state @param {ServerFrame} frame
 */
export function isOfSpeakTurn({ speakTurn }, frame) {
  if (!speakTurn) return false;
  if ("turn_id" in frame) return frame.turn_id === speakTurn.id;
  return frame.type === "error" && !speakTurn.hasBegun;
}

/** @param {State} state @param {ServerFrame} frame of the `speak` turn @returns {State} */
export function speakTurnReceived(state, frame) {
  const isShown = !state.speakTurn?.isFailure;
  switch (frame.type) {
    case "turn_start":
      return withSpeakTurn(state, { hasBegun: true });
    case "sentence":
      return frame.audio ? withSpeakTurn(state, { last: frame.index }) : state;
    case "turn_end":
      return frame.reason === "completed" ? withSpeakTurn(state, { hasEnded: true }) : { ...state, speakTurn: null };
    case "notice":
      return isShown ? withNotice(state, frame) : state;
    case "error": {
      const next = { ...state, speakTurn: null };
      return isShown
        ? withNotice(next, { type: "notice", level: "error", code: frame.code, message: frame.message })
        : next;
    }
    default:
      return state;
  }
}

/** @param {State} state @param {number} index of the sentence that was played to its end @returns {State} */
export function speakTurnHeard(state, index) {
  return withSpeakTurn(state, { heard: index });
}

/** @param {State} state @param {Partial<SpeakTurn>} change @returns {State} */
function withSpeakTurn(state, change) {
  if (!state.speakTurn) return state;
  const speakTurn = { ...state.speakTurn, ...change };
  return { ...state, speakTurn: speakTurn.hasEnded && speakTurn.heard >= speakTurn.last ? null : speakTurn };
}

/** End the `speak` turn once it is over, or something else has begun. @param {State} before @param {State} after @returns {State} */
export function endSpeakTurn(before, after) {
  const was = before.speakTurn;
  if (!was) return after;
  const isOnline = after.connection.phase === "online";
  const goesOn =
    isOnline && after.canPlay && !after.turn && after.voice.phase !== "speaking" && after.openId === before.openId;
  if (goesOn && after.speakTurn?.id === was.id) return after;
  const next = withEffects(goesOn ? after : { ...after, speakTurn: null }, { type: "sound", act: "flush" });
  if (was.hasEnded || !isOnline) return next;
  return withEffects(next, { type: "send", frame: { type: "interrupt", turn_id: was.id } }); // the server ignores it if the turn is over
}
