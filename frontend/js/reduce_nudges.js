/**
 * Nudges: a skill asks for a turn without a question of the user. The page answers or ignores it.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("../sdk/frames.js").Nudge} Nudge
 */

import { begun, sent } from "../sdk/turn.js";
import { canSend, openConversation } from "../sdk/state.js";

/**
 * Greets in a conversation without messages; breaks a silence only for a user who is there and not writing.
 *
 * @param {State} state
 * @param {{frame: Nudge, turnId: string, isAway: boolean, at: number}} event `isAway`: the page is hidden, or the user is typing
 * @returns {State}
 */
export function nudged(state, { frame, turnId, isAway, at }) {
  const conversation = openConversation(state);
  if (!conversation || !isFree(state)) return state;
  const isGreeting = isForConnect(state, frame);
  if (isGreeting ? conversation.conversationHistory.length > 0 : isAway || isWriting(state)) return state;
  const next = begun(state, { ...conversation, updatedAt: at }, turnId);
  return next.turn ? sent(next, { ...next.turn, nudge: frame.id, canResend: false }) : state;
}

/** Return whether nothing is going on: no speech, no turn, no open question. @param {State} state */
function isFree(state) {
  const { settings, turn, approvals, speakTurn, voice } = state;
  return settings.nudges && canSend(state) && !turn && !approvals.length && !speakTurn && voice.phase === "quiet";
}

/** @param {State} state */
function isWriting({ editedTurn, attachments, pendingImages }) {
  return editedTurn !== null || attachments.length > 0 || pendingImages > 0;
}

/** @param {State} state @param {Nudge} nudge */
function isForConnect({ skills }, { skill, name }) {
  const triggers = skills.find((one) => one.name === skill)?.triggers ?? [];
  return triggers.some((trigger) => trigger.name === name && trigger.on === "connect");
}
