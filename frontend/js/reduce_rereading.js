/**
 * A reply that is read aloud by the user's hand, or why there is none: a turn of the server that leaves nothing in the conversation.
 * It ends with the next turn, with speech, with the conversation on screen and with the connection.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("../sdk/frames.js").ServerFrame} ServerFrame
 *
 * @typedef {object} Rereading
 * @property {string} id of the server's turn
 * @property {string} turnId whose reply it is
 * @property {boolean} hasBegun
 * @property {boolean} hasEnded all of its sound has come
 * @property {number} last sentence with sound that has come
 * @property {number} heard the last one that was heard to its end
 * @property {boolean} isFailure what is read is why there is no reply; if that fails, nothing is said of it
 */

import { isUserMessage, replyTo } from "../sdk/conversation.js";
import { canReread, withEffects, withNotice } from "./state.js";
import { openConversation } from "../sdk/state.js";
import { adviceOn, t } from "./strings.js";

const MAX_CHARS = 20_000; // of `speak`

/** Read a reply, or stop reading it. @param {State} state @param {{turnId: string, id: string}} event @returns {State} */
export function reread(state, { turnId, id }) {
  const history = openConversation(state)?.conversationHistory ?? [];
  const text = replyTo(history, turnId).slice(0, MAX_CHARS);
  if (state.rereading?.turnId === turnId || !text || !canReread(state)) return { ...state, rereading: null };
  const rereading = { id, turnId, hasBegun: false, hasEnded: false, last: -1, heard: -1, isFailure: false };
  return withEffects({ ...state, rereading }, { type: "send", frame: { type: "speak", id, text } });
}

/**
 * Say why a spoken question has no reply, once and where replies are heard.
 *
 * @param {State} before @param {State} after @returns {State}
 */
export function sayFailure({ turn }, after) {
  const { voice, settings } = after;
  const asked = openConversation(after)?.conversationHistory.findLast(isUserMessage);
  if (!turn || asked?._turn !== turn.id || asked._answer !== "failed" || !canReread(after)) return after;
  const { isSpoken = false, error = null, end = null } = after.views[turn.id] ?? {};
  const isHeard = settings.readAloud === "always" || (settings.readAloud === "spoken" && isSpoken);
  if (!isHeard || voice.mic !== "on" || voice.phase !== "quiet") return after;
  const why = error ? adviceOn(error) || error.message : (end?.message ?? "");
  const id = `${turn.id.slice(0, 60)}_why`;
  const rereading = { id, turnId: turn.id, hasBegun: false, hasEnded: false, last: -1, heard: -1, isFailure: true };
  return withEffects({ ...after, rereading }, { type: "send", frame: { type: "speak", id, text: `${t.turns.failed} ${why}` } });
}

/** Its frames; an error that names no turn is the answer to `speak` until that has begun. @param {State} state @param {ServerFrame} frame */
export function isOfRereading({ rereading }, frame) {
  if (!rereading) return false;
  if ("turn_id" in frame) return frame.turn_id === rereading.id;
  return frame.type === "error" && !rereading.hasBegun;
}

/** @param {State} state @param {ServerFrame} frame of the reading @returns {State} */
export function rereadOn(state, frame) {
  const isTold = !state.rereading?.isFailure;
  switch (frame.type) {
    case "turn_start":
      return withRereading(state, { hasBegun: true });
    case "sentence":
      return frame.audio ? withRereading(state, { last: frame.index }) : state;
    case "turn_end":
      return frame.reason === "completed" ? withRereading(state, { hasEnded: true }) : { ...state, rereading: null };
    case "notice":
      return isTold ? withNotice(state, frame) : state;
    case "error": {
      const next = { ...state, rereading: null };
      return isTold ? withNotice(next, { type: "notice", level: "error", code: frame.code, message: frame.message }) : next;
    }
    default:
      return state;
  }
}

/** @param {State} state @param {number} index of the sentence that was heard to its end @returns {State} */
export function reheard(state, index) {
  return withRereading(state, { heard: index });
}

/** @param {State} state @param {Partial<Rereading>} change @returns {State} */
function withRereading(state, change) {
  if (!state.rereading) return state;
  const rereading = { ...state.rereading, ...change };
  return { ...state, rereading: rereading.hasEnded && rereading.heard >= rereading.last ? null : rereading };
}

/** Where it has ended, or something else has begun. @param {State} before @param {State} after @returns {State} */
export function leaveRereading(before, after) {
  const was = before.rereading;
  if (!was) return after;
  const isOnline = after.connection.phase === "online";
  const goesOn = isOnline && after.canPlay && !after.turn && after.voice.phase !== "speaking" && after.openId === before.openId;
  if (goesOn && after.rereading?.id === was.id) return after;
  const next = withEffects(goesOn ? after : { ...after, rereading: null }, { type: "sound", act: "flush" });
  if (was.hasEnded || !isOnline) return next;
  return withEffects(next, { type: "send", frame: { type: "interrupt", turn_id: was.id } }); // ignored where it is over
}
