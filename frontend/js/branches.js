/**
 * Versions of a conversation: asking a turn again begins another branch, and the one before it is kept. The
 * history on screen is the only one that is sent. Pure.
 *
 * @typedef {import("../sdk/frames.js").Message} Message
 * @typedef {import("./state.js").Conversation} Conversation
 * @typedef {readonly Message[]} Branch a whole history; messages that branches share are the same objects
 */

import { isUserMessage } from "../sdk/conversation.js";

const MAX_BRANCHES = 100; // of one conversation; asking again is refused beyond

/** @param {Branch} history @param {string} turnId */
export function askedIn(history, turnId) {
  return history.find((message) => isUserMessage(message) && message._turn === turnId) ?? null;
}

/**
 * Puts `message` in the place of the turn that it asks again; that turn and all behind it stay in a branch.
 *
 * @param {Conversation} conversation @param {Message} asked of the history on screen @param {Message} message
 * @returns {Conversation | null} null if there are too many branches
 */
export function forked(conversation, asked, message) {
  const { conversationHistory, branches } = conversation;
  if (branches.length >= MAX_BRANCHES) return null;
  const before = conversationHistory.slice(0, conversationHistory.indexOf(asked));
  return { ...conversation, conversationHistory: [...before, message], branches: [...branches, conversationHistory] };
}

/** Shows the branch with that turn, of several the one shown last. @param {Conversation} conversation @param {string} turnId */
export function switchedTo(conversation, turnId) {
  const { conversationHistory, branches } = conversation;
  const chosen = branches.findLast((branch) => askedIn(branch, turnId));
  if (!chosen) return conversation;
  const others = branches.filter((branch) => branch !== chosen);
  return { ...conversation, conversationHistory: chosen, branches: [...others, conversationHistory] };
}

/**
 * Lists, for each turn on screen that was asked in several versions, the turns they are, oldest first.
 *
 * @param {Pick<Conversation, "conversationHistory" | "branches">} conversation
 * @returns {Map<string, readonly string[]>}
 */
export function versionsOf({ conversationHistory, branches }) {
  /** @type {Map<string, Message[]>} */
  const found = new Map();
  const shown = conversationHistory.filter(isUserMessage);
  for (const branch of branches) {
    const others = branch.filter(isUserMessage);
    const place = shown.findIndex((message, index) => message._turn !== others[index]?._turn);
    const [mine, other] = [shown[place], others[place]];
    if (!mine?._turn || !other) continue;
    found.set(mine._turn, [...(found.get(mine._turn) ?? [mine]), other]);
  }
  return new Map(Array.from(found, ([turnId, versions]) => [turnId, inOrder(versions)]));
}

/** @param {Message[]} versions */
function inOrder(versions) {
  const sorted = versions.toSorted((a, b) => (a._at ?? 0) - (b._at ?? 0));
  return [...new Set(sorted.map(({ _turn = "" }) => _turn))];
}
