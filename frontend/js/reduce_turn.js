/**
 * Turns of the page: what `sdk/turn.js` does not do for every client.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Conversation} Conversation
 * @typedef {import("../sdk/frames.js").Message} Message
 */

import { fitToLimits, unansweredMessage, withHistory } from "../sdk/conversation.js";
import { openConversation, withConversation } from "../sdk/state.js";
import { asked, refused, retried } from "../sdk/turn.js";
import { withEffects } from "./state.js";

/** @param {State} state @param {{text: string, turnId: string, at: number}} event @returns {State} */
export function submitted(state, { text, turnId, at }) {
  const { attachments: images } = state;
  if ((!text.trim() && !images.length) || state.pendingImages) return state;
  const next = asked(state, { text, images, turnId, at });
  return next.turn?.id !== turnId ? next : withEffects({ ...next, attachments: [] }, { type: "compose", text: "" });
}

/** @param {State} state @param {{turnId: string, at: number}} event @returns {State} */
export function retriedWithoutUnverified(state, event) {
  const conversation = openConversation(state);
  const failed = conversation && unansweredMessage(conversation.conversationHistory);
  if (!conversation || !failed) return state;
  const path = state.views[failed._turn ?? ""]?.error?.path;
  const next = retried(withConversation(state, leaveOut(state, conversation, path)), event);
  return next.turn ? { ...next, turn: { ...next.turn, leavesOut: true } } : state;
}

/**
 * Mark the message that the server named as not to be sent again; without a name, all system messages.
 *
 * @param {State} state @param {Conversation} conversation @param {string} [path] `$.messages[3]`
 * @returns {Conversation}
 */
function leaveOut(state, conversation, path) {
  const index = Number(/^\$\.messages\[(\d+)\]/.exec(path ?? "")?.[1] ?? NaN);
  const sent = fitToLimits(conversation.conversationHistory, state.server?.limits ?? null)?.messages ?? [];
  const named = /** @type {Message | undefined} */ (sent[index]); // one of a hook goes as it is kept
  const isNamed = (/** @type {Message} */ m) =>
    m.content === named?.content && m.role === named.role && m._sig === named._sig;
  const isOut = named ? isNamed : (/** @type {Message} */ m) => m.role === "system";
  return withHistory(conversation, (history) => history.map((m) => (isOut(m) ? { ...m, _unverified: true } : m)));
}

/**
 * End the running turn if the error refuses it. If the user has agreed to leave out what does not verify, that is done and the
 * rest sent, message by message.
 *
 * @param {State} state @param {import("../sdk/frames.js").ErrorFrame} error
 * @returns {State | null} null if the error is about another frame
 */
export function refusedTurn(state, error) {
  const { turn } = state;
  const next = refused(state, error);
  if (!next || !turn?.leavesOut || error.code !== "hook_signature_invalid" || next.turn) return next;
  const at = openConversation(next)?.updatedAt ?? 0;
  const hasMore = openConversation(next)?.conversationHistory.some((m) => m.role === "system" && !m._unverified);
  return hasMore ? retriedWithoutUnverified(next, { turnId: nextId(turn.id), at }) : next;
}

/** Return the turn id of the next attempt; ids hold 64 characters. @param {string} turnId */
function nextId(turnId) {
  const [stem = "", count = "1"] = turnId.split("_r");
  return `${stem}_r${Number(count) + 1}`;
}
