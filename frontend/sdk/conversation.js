/**
 * A conversation and its history: pure, no frames, no storage.
 *
 * @typedef {import("./frames.js").Message} Message
 * @typedef {import("./frames.js").SentMessage} SentMessage
 * @typedef {import("./types/client.js").Conversation} Conversation
 * @typedef {import("./types/client.js").ConversationRecord} ConversationRecord
 */

import { withPictures } from "./attachments.js";
import { flushHistorySegments } from "./playback.js";

/** @param {string} id @param {number} at @returns {Conversation} */
export function newConversation(id, at) {
  return {
    id,
    title: "",
    createdAt: at,
    updatedAt: at,
    pinnedAt: 0,
    conversationHistory: [],
    branches: [],
    access: "opening",
    revision: 0,
  };
}

/**
 * Return a conversation from its stored record. If this client writes it, a turn that was
 * running when its page went away is over: what was heard joins the history,
 * and its user message is not answered.
 *
 * @param {ConversationRecord} record @param {"write" | "read"} access
 * @returns {Conversation}
 */
export function fromRecord({ historySegments, branches = [], pinnedAt = 0, ...record }, access) {
  const turnId = record.conversationHistory.findLast(isUserMessage)?._turn ?? "";
  const whole = [...record.conversationHistory, ...flushHistorySegments(historySegments, turnId)];
  return {
    ...record,
    branches, // old records have none, and no pin
    pinnedAt,
    conversationHistory: access === "write" ? whole.map(lostIfPending) : whole,
    access,
    revision: 0,
  };
}

/** @param {Message} message @returns {Message} */
function lostIfPending(message) {
  return message._answer === "pending" ? { ...message, _answer: "lost" } : message;
}

/** Return whether the user wrote the message; a hook may have the role `user` too. @param {Pick<Message, "role" | "_hook">} message */
export function isUserMessage(message) {
  return message.role === "user" && !message._hook;
}

/**
 * @param {Conversation} conversation
 * @param {(history: readonly Message[]) => readonly Message[]} edit
 * @returns {Conversation}
 */
export function withHistory(conversation, edit) {
  return { ...conversation, conversationHistory: edit(conversation.conversationHistory) };
}

/**
 * Insert the hook of a turn that was cut behind that turn's last message, so before the next user message.
 *
 * @param {readonly Message[]} history @param {Message} hook
 * @returns {readonly Message[]}
 */
export function insertLateHook(history, hook) {
  const ofTurn = history.findLastIndex((message) => message._turn === hook._turn);
  const at = ofTurn >= 0 ? ofTurn + 1 : history.findLastIndex(isUserMessage);
  return at < 0 ? [...history, hook] : history.toSpliced(at, 0, hook);
}

/**
 * Insert a message that was said before the turn's question and became known after it; without such a turn, append it.
 *
 * @param {readonly Message[]} history @param {Message} message @param {string} [turnId]
 * @returns {readonly Message[]}
 */
export function insertBeforeTurn(history, message, turnId) {
  const at = turnId ? history.findIndex(({ _turn }) => _turn === turnId) : -1;
  return at < 0 ? [...history, message] : history.toSpliced(at, 0, message);
}

/**
 * @param {readonly Message[]} history @param {string} turnId @param {import("./frames.js").Answer | null} answer null if it is answered
 * @returns {readonly Message[]}
 */
export function withAnswer(history, turnId, answer) {
  return history.map((message) => {
    if (!isUserMessage(message) || message._turn !== turnId) return message;
    const { _answer, ...rest } = message;
    return answer ? { ...rest, _answer: answer } : rest;
  });
}

/**
 * Return the history with the last user message asked once more, as `turnId`. Nothing
 * that was said is lost: the message moves behind the hooks of the failed turn,
 * and is said a second time if part of an answer was heard.
 *
 * @param {readonly Message[]} history @param {string} turnId
 * @returns {readonly Message[]}
 */
export function askAgain(history, turnId) {
  const at = history.findLastIndex(isUserMessage);
  const asked = history[at];
  if (!asked) return history;
  const { _state, ...again } = { ...asked, _turn: turnId, _answer: /** @type {const} */ ("pending") };
  const wasHeard = history.slice(at + 1).some((message) => message.role === "assistant");
  if (wasHeard) delete again._at; // it is no version of another turn
  return [...(wasHeard ? history : withState(history.toSpliced(at, 1), asked._turn, _state)), again];
}

/**
 * Keeps what hooks of the server remember after a turn on the turn's first message.
 *
 * @param {readonly Message[]} history @param {string} [turnId] @param {string} [state]
 * @returns {readonly Message[]} the same one if the turn is not there
 */
export function withState(history, turnId, state) {
  const first = history.find(({ _turn }) => _turn === turnId);
  return first && turnId && state ? history.with(history.indexOf(first), { ...first, _state: state }) : history;
}

/**
 * Keeps it on the last message before the running turn: that of a turn which no message of the user began, and which was
 * cut before its first word.
 *
 * @param {readonly Message[]} history @param {string} state @param {string} [runningId]
 * @returns {readonly Message[]}
 */
export function withStateOfEmptyTurn(history, state, runningId) {
  const at = history.findLastIndex(({ _turn }) => !runningId || _turn !== runningId);
  const last = history[at];
  return last && state ? history.with(at, { ...last, _state: state }) : history;
}

/** Remove the branch on screen, whose turn was rolled back. @param {Conversation} conversation */
export function withoutBranch(conversation) {
  const conversationHistory = conversation.branches.at(-1) ?? [];
  return { ...conversation, conversationHistory, branches: conversation.branches.slice(0, -1) };
}

/**
 * Puts a hook of a turn that was cut behind that turn, in whichever branch it stands.
 *
 * @param {Conversation} conversation @param {Message} hook
 * @returns {Conversation}
 */
export function withLateHook(conversation, hook) {
  const { conversationHistory, branches } = conversation;
  const holds = (/** @type {readonly Message[]} */ branch) => branch.some(({ _turn }) => _turn === hook._turn);
  if (holds(conversationHistory) || !branches.some(holds))
    return { ...conversation, conversationHistory: insertLateHook(conversationHistory, hook) };
  return {
    ...conversation,
    branches: branches.map((branch) => (holds(branch) ? insertLateHook(branch, hook) : branch)),
  };
}

/**
 * Keeps what hooks remember after a turn beside it, in whichever branch it stands.
 *
 * @param {Conversation} conversation @param {string} turnId @param {string} state
 * @returns {Conversation | null} null if no message is of the turn
 */
export function withTurnState(conversation, turnId, state) {
  const { conversationHistory, branches } = conversation;
  const kept = withState(conversationHistory, turnId, state);
  const others = branches.map((branch) => withState(branch, turnId, state));
  const isKept = kept !== conversationHistory || others.some((branch, index) => branch !== branches[index]);
  return isKept ? withLastStates({ ...conversation, conversationHistory: kept, branches: others }) : null;
}

const MAX_STATES = 100; // of a version of a conversation, each up to 16 KiB

/**
 * Forget the states of all turns but the last. A message that branches share stays one object.
 *
 * @param {Conversation} conversation
 * @returns {Conversation}
 */
function withLastStates(conversation) {
  const versions = [conversation.conversationHistory, ...conversation.branches];
  const isLast = new Set(versions.flatMap((history) => history.filter(({ _state }) => _state).slice(-MAX_STATES)));
  /** @type {Map<Message, Message>} */
  const forgetful = new Map();
  for (const message of versions.flat()) {
    const { _state, ...rest } = message;
    if (_state && !isLast.has(message)) forgetful.set(message, rest);
  }
  if (!forgetful.size) return conversation;
  const [conversationHistory = [], ...branches] = versions.map((history) =>
    history.map((message) => forgetful.get(message) ?? message),
  );
  return { ...conversation, conversationHistory, branches };
}

/** Return the reply of a turn, as the model wrote it. @param {readonly Message[]} history @param {string} turnId */
export function replyTo(history, turnId) {
  const said = history.filter((message) => message._turn === turnId && isReply(message));
  return said
    .map(({ content }) => content)
    .join("")
    .trim();
}

/** Return the last user message, if it can be asked again. @param {readonly Message[]} history @returns {Message | null} */
export function unansweredMessage(history) {
  const last = history.findLast(isUserMessage);
  return last?._answer && last._answer !== "pending" ? last : null;
}

/**
 * Return the messages that a `chat` frame carries: without what the user agreed to leave
 * out, and without whole oldest turns until the frame fits; with the hooks' state, if there is one. Null: the last
 * message alone is too big.
 *
 * @param {readonly Message[]} history @param {import("./frames.js").Limits | null} limits
 * @returns {{messages: SentMessage[], hookState: {state?: string}, droppedTurns: number} | null}
 */
export function fitToLimits(history, limits) {
  let messages = withPictures(asSent(history));
  const state = history.findLast(({ _state }) => _state)?._state ?? "";
  const hookState = state ? { state } : {};
  if (!limits) return { messages, hookState, droppedTurns: 0 };
  let droppedTurns = 0;
  let bytes = messages.reduce((sum, message) => sum + bytesOf(message), ENVELOPE_BYTES + bytesOf(hookState));
  while (messages.length > limits.max_messages || bytes > limits.max_message_bytes) {
    const next = messages.findIndex((message, index) => index > 0 && isUserMessage(message));
    if (next < 0) return null;
    bytes -= messages.slice(0, next).reduce((sum, message) => sum + bytesOf(message), 0);
    messages = messages.slice(next);
    droppedTurns += 1;
  }
  return { messages, hookState, droppedTurns };
}

/**
 * Join the parts of a reply around a file that was shown in its midst: it is one message, as it was written.
 *
 * @param {readonly Message[]} history
 * @returns {Message[]}
 */
function asSent(history) {
  /** @type {Message[]} */
  const messages = [];
  let isBehindFile = false;
  for (const { _state, ...message } of history) {
    const last = messages.at(-1);
    if (message._media) isBehindFile = true;
    else if (message._unverified) continue;
    else if (isBehindFile && last && isReply(last) && isReply(message) && last._turn === message._turn) {
      messages[messages.length - 1] = { ...last, content: last.content + message.content };
    } else {
      messages.push(message);
      isBehindFile = false;
    }
  }
  return messages;
}

/** @param {Message} message */
function isReply({ role, _hook }) {
  return role === "assistant" && !_hook;
}

const ENVELOPE_BYTES = 200;
const encoder = new TextEncoder();

/** Return the size of the message or the state in bytes, with the comma that follows it. @param {SentMessage | {state?: string}} part */
function bytesOf(part) {
  return encoder.encode(JSON.stringify(part)).length + 1;
}
