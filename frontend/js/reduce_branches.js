/**
 * Asking a turn again, as it was or edited, and going back to an earlier version.
 *
 * @typedef {import("./state.js").State} State
 */

import { askedIn, forked, switchedTo } from "./branches.js";
import { fitToLimits } from "../sdk/conversation.js";
import { begun, cutByHand, stopped } from "../sdk/turn.js";
import { warning, withNotice } from "./state.js";
import { canSend, openConversation, withConversation } from "../sdk/state.js";
import { t } from "./strings.js";

/** @param {State} state @param {string | null} turnId null to leave the editor @returns {State} */
export function editing(state, turnId) {
  const conversation = openConversation(state);
  const canEdit = turnId && conversation?.access === "write" && askedIn(conversation.conversationHistory, turnId);
  return { ...state, editedTurn: canEdit ? turnId : null };
}

/**
 * Asks as the turn `asked` did, with other words if there are any. What runs is cut, as by a typed message.
 *
 * @param {State} state
 * @param {{asked: string, text?: string | undefined, turnId: string, at: number}} event
 * @returns {State}
 */
export function askedAgain(state, { asked, text, turnId, at }) {
  if (!canSend(state)) return state;
  const next = { ...cutByHand(state), editedTurn: null };
  const conversation = openConversation(next);
  const old = conversation && askedIn(conversation.conversationHistory, asked);
  const content = text ?? old?.content ?? "";
  if (!conversation || !old || (!content.trim() && !old._images?.length)) return state;
  const { _state, ...message } = { ...old, content, _turn: turnId, _answer: /** @type {const} */ ("pending"), _at: at };
  const fork = forked(conversation, old, message);
  if (!fork) return withNotice(state, warning("too_many_branches", t.turns.tooManyBranches));
  if (!fitToLimits(fork.conversationHistory, state.server?.limits ?? null))
    return withNotice(state, warning("message_too_large", t.turns.tooLong));
  return begun(next, { ...fork, updatedAt: at }, turnId);
}

/** @param {State} state @param {string} turnId @returns {State} */
export function switched(state, turnId) {
  if (openConversation(state)?.access !== "write") return state;
  const next = stopped(state);
  const conversation = openConversation(next);
  return conversation ? { ...withConversation(next, switchedTo(conversation, turnId)), editedTurn: null } : state;
}
