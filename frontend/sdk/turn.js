/**
 * One turn, from the user's message to its end: asked, stored, sent, running, and then flushed into the history, or cut.
 * Pure.
 *
 * @typedef {import("./types/client.js").ClientState} ClientState
 * @typedef {import("./types/client.js").Turn} Turn
 * @typedef {import("./types/client.js").Conversation} Conversation
 * @typedef {import("./frames.js").Message} Message
 * @typedef {import("./frames.js").Answer} Answer
 */

import {
  askAgain,
  fitToLimits,
  isUserMessage,
  unansweredMessage,
  withAnswer,
  withHistory,
  withoutBranch,
  withState,
  withStateOfEmptyTurn,
} from "./conversation.js";
import { cut, cutAtReached, cutAtShown, flushHistorySegments, newPlayback, unsaidText } from "./playback.js";
import { GOING_AWAY, NOT_LOGGED_IN } from "./socket.js";
import { canSend, openConversation, withConversation, withEffects, withView } from "./state.js";

const MAX_TRIES = 8; // to connect, about a minute: then a turn that is to be sent again counts as lost

/**
 * Ask in the open conversation; what runs is cut. Without a connection nothing happens.
 *
 * @template {ClientState} S
 * @param {S} state @param {{text: string, images: readonly import("./frames.js").AttachedImage[], turnId: string, at: number}} event
 * @returns {S}
 */
export function asked(state, { text, images, turnId, at }) {
  if (!canSend(state)) return state;
  const next = cutByHand(state);
  const conversation = openConversation(next);
  if (!conversation) return state;
  /** @type {Message} */
  const message = { role: "user", content: text, _turn: turnId, _answer: "pending" };
  if (images.length) message._images = images;
  const conversationHistory = [...conversation.conversationHistory, message];
  if (!fitToLimits(conversationHistory, state.server?.limits ?? null))
    return withEffects(state, { type: "problem", code: "message_too_large" });
  return begun(next, { ...conversation, conversationHistory, updatedAt: at }, turnId);
}

/**
 * Ask the last user message again. Only ever by the user's hand.
 *
 * @template {ClientState} S @param {S} state @param {{turnId: string, at: number}} event @returns {S}
 */
export function retried(state, { turnId, at }) {
  const conversation = openConversation(state);
  const unanswered = conversation && unansweredMessage(conversation.conversationHistory);
  if (!unanswered || state.turn || !canSend(state)) return state;
  const next = begun(
    state,
    { ...withHistory(conversation, (history) => askAgain(history, turnId)), updatedAt: at },
    turnId,
  );
  return state.views[unanswered._turn ?? ""]?.isSpoken ? withView(next, turnId, { isSpoken: true }) : next;
}

/** @template {ClientState} S @param {S} state @param {Conversation} conversation @param {string} turnId @returns {S} */
export function begun(state, conversation, turnId) {
  /** @type {Turn} */
  const turn = {
    id: turnId,
    conversationId: conversation.id,
    phase: "storing",
    revision: conversation.revision + 1,
    streamed: "",
    playback: newPlayback(state.canPlay),
    reported: "",
    leavesOut: false,
    canResend: true,
    nudge: "",
    hookState: "",
  };
  return { ...withConversation(state, conversation), turn };
}

/**
 * Send the turn once its user message is stored.
 *
 * @template {ClientState} S @param {S} state @param {{id: string, revision: number}} event @returns {S}
 */
export function saved(state, { id, revision }) {
  const { turn } = state;
  if (turn?.phase !== "storing" || turn.conversationId !== id || revision < turn.revision) return state;
  return sent(state, turn);
}

/** @template {ClientState} S @param {S} state @param {Turn} turn @returns {S} */
export function sent(state, turn) {
  const fitting = fitToLimits(
    state.loaded[turn.conversationId]?.conversationHistory ?? [],
    state.server?.limits ?? null,
  );
  if (!fitting) return state;
  const { messages, hookState, droppedTurns } = fitting;
  const isSpoken = state.voice.mic === "on" && (turn.nudge || state.views[turn.id]?.isSpoken); // else it was typed
  const voice = state.settings.readAloud === "spoken" && !isSpoken ? { voice: false } : {};
  const nudge = turn.nudge ? { nudge: turn.nudge } : {};
  const resend = turn.phase === "waiting" ? { resend: true } : {}; // sent on the last connection
  /** @type {Turn} */
  const sending = { ...turn, phase: "sent" };
  const next = withEffects(
    { ...state, turn: sending },
    { type: "send", frame: { type: "chat", id: turn.id, messages, ...voice, ...hookState, ...nudge, ...resend } },
  );
  if (!droppedTurns) return next;
  return withEffects(next, { type: "problem", code: "history_shortened", turnId: turn.id, detail: droppedTurns });
}

/**
 * Send a turn again that never began on the last connection.
 *
 * @template {ClientState} S @param {S} state @returns {S}
 */
export function resent(state) {
  const { turn } = state;
  if (turn?.phase !== "waiting") return state;
  const canWrite = state.loaded[turn.conversationId]?.access === "write";
  const next = canWrite ? sent(state, turn) : state;
  return next === state ? ended(state, turn, "failed") : next;
}

/** @template {ClientState} S @param {S} state @param {{id: string, revision: number, message: string}} event @returns {S} */
export function saveFailed(state, { id, revision, message }) {
  const { turn } = state;
  const next = withEffects(state, { type: "problem", code: "storage_failed", detail: message });
  const isUnsent = turn?.phase === "storing" && turn.conversationId === id && revision >= turn.revision;
  return isUnsent ? ended(next, turn, "failed") : next;
}

/** @template {ClientState} S @param {S} state @returns {S} */
export function stopped(state) {
  const { turn } = state;
  if (!turn) return state;
  const next = cutByHand(state);
  return isUnsent(turn) ? next : withEffects(next, { type: "send", frame: { type: "interrupt", turn_id: turn.id } });
}

/** Return whether no server has received the turn. @param {Turn} turn */
function isUnsent({ phase }) {
  return phase === "storing" || phase === "waiting";
}

/**
 * Let a typed turn that never began, and was not sent twice, wait for another connection.
 *
 * @template {ClientState} S @param {S} state @param {Turn} turn
 * @returns {S | null} null if the turn may not wait
 */
function postponed(state, turn) {
  const mayWait = turn.phase === "sent" && turn.canResend;
  return mayWait ? { ...state, turn: { ...turn, phase: "waiting", canResend: false } } : null;
}

/**
 * Keep a turn that may outlast the socket: it waits already, or the server was going away before the turn began.
 *
 * @template {ClientState} S @param {S} state @param {{attempt: number, code: number}} event
 * @returns {S | null} null if the turn is lost
 */
function keptWaiting(state, { attempt, code }) {
  const { turn } = state;
  if (turn?.phase === "waiting") return attempt > MAX_TRIES || code === NOT_LOGGED_IN ? null : state;
  return turn && code === GOING_AWAY ? postponed(state, turn) : null;
}

/**
 * Follow the loss of the socket: a turn that has begun, or may have, is lost; one whose end has arrived plays on.
 *
 * @template {ClientState} S
 * @param {S} state @param {{attempt: number, code: number, silently: boolean}} event
 * @returns {S}
 */
export function disconnected(state, { attempt, code, silently }) {
  const phase = silently ? "connecting" : "waiting";
  const isEndHere = state.turn?.playback.audioQueue.some((frame) => frame.type === "turn_end");
  const next = isEndHere ? state : (keptWaiting(state, { attempt, code }) ?? cutByFailure(state, "lost"));
  const { phase: spoken, isHeld } = next.voice;
  const isSpeechLost = isHeld || spoken === "speaking" || spoken === "recognizing";
  const voice = { ...next.voice, phase: /** @type {const} */ ("quiet"), transcript: "", spokenIn: {}, isHeld: false };
  const left = withEffects(
    { ...next, voice, cutTurns: {}, connection: { phase, attempt, code } },
    { type: "sound", act: "resume" }, // the verdict whether that was speech will not come
  );
  const reported = isSpeechLost ? withEffects(left, { type: "problem", code: "speech_lost" }) : left;
  return code === NOT_LOGGED_IN ? withEffects(reported, { type: "log_in" }) : reported;
}

/** End the turn because the user speaks: what was heard is kept. @template {ClientState} S @param {S} state @returns {S} */
export function cutBySpeech(state) {
  return state.turn ? cutTurn(state, state.turn, cut(state.turn.playback), "stopped") : state;
}

/** End the turn by a message or a button of the user: what was shown is kept. @template {ClientState} S @param {S} state @returns {S} */
export function cutByHand(state) {
  const { turn } = state;
  if (!turn) return state;
  const playback = cutAtShown(turn.playback, turn.streamed);
  return playback.reachedEnd
    ? endReached(state, { ...turn, playback }, playback.reachedEnd) // only its sound was left
    : cutTurn(state, turn, playback, "stopped");
}

/** End the turn because of a failure, of the connection or the server. @template {ClientState} S @param {S} state @param {Answer} answer @returns {S} */
export function cutByFailure(state, answer) {
  const { turn } = state;
  return turn ? cutTurn(state, turn, cutAtReached(turn.playback, turn.streamed), answer) : state;
}

/**
 * End the turn and remember it until its `turn_end`: hooks that come before are kept too.
 *
 * @template {ClientState} S
 * @param {S} state @param {Turn} turn @param {import("./playback.js").Playback} playback as it was cut @param {Answer} answer
 * @returns {S}
 */
function cutTurn(state, turn, playback, answer) {
  const unheard = turn.reported && unsaidText(playback, turn.streamed); // of a reply that was spoken
  const next = withView(ended(state, { ...turn, playback }, answer), turn.id, { unheard });
  if (isUnsent(turn)) return next;
  return { ...next, cutTurns: { ...next.cutTurns, [turn.id]: turn.conversationId } };
}

/**
 * Take the next playback of the running turn, and end the turn if playback has come to its end.
 *
 * @template {ClientState} S
 * @param {S} state @param {Turn} turn @param {import("./playback.js").Playback} playback
 * @returns {S}
 */
export function playedOn(state, turn, playback) {
  const played = { ...turn, playback };
  const next = withEffects(
    { ...state, turn: played },
    { type: "reached", turnId: turn.id, before: turn.playback, after: playback },
  );
  return playback.reachedEnd ? endReached(next, played, playback.reachedEnd) : next;
}

/** @template {ClientState} S @param {S} state @param {Turn} turn @param {import("./frames.js").TurnEnd} end @returns {S} */
export function endReached(state, turn, end) {
  const next = withView(ended(state, turn, end.reason === "completed" ? null : "failed"), turn.id, { end });
  return end.rollback ? rolledBack(next, turn) : next;
}

/**
 * End the turn and flush it into the history. `answer` is why the user message has no whole answer; null if it has.
 *
 * @template {ClientState} S
 * @param {S} state @param {Turn} turn @param {Answer | null} answer
 * @returns {S}
 */
export function ended(state, turn, answer) {
  const { historySegments } = turn.playback;
  const next = withView({ ...state, turn: null }, turn.id, { segments: historySegments });
  const conversation = next.loaded[turn.conversationId];
  if (!conversation) return next;
  const said = flushHistorySegments(historySegments, turn.id);
  const history = [...conversation.conversationHistory, ...said];
  if (!history.some(({ _turn }) => _turn === turn.id))
    return withConversation(
      next,
      withHistory(conversation, (kept) => withStateOfEmptyTurn(kept, turn.hookState)),
    );
  const conversationHistory = withState(history, turn.id, turn.hookState);
  return withConversation(
    next,
    withHistory({ ...conversation, conversationHistory }, (history) => withAnswer(history, turn.id, answer)),
  );
}

/**
 * Remove the turn: its messages go, and what the user wrote comes back to where it was written.
 *
 * @template {ClientState} S
 * @param {S} state
 * @param {Pick<Turn, "id" | "conversationId">} turn the running one, or one that was cut
 * @returns {S}
 */
export function rolledBack(state, { id, conversationId }) {
  const next = state.turn?.id === id ? { ...state, turn: null } : state;
  const conversation = next.loaded[conversationId];
  if (!conversation) return next;
  const asked = conversation.conversationHistory.findLast((message) => isUserMessage(message) && message._turn === id);
  const isFork = asked?._at !== undefined && conversation.conversationHistory.at(-1)?._turn === id;
  const gone = withConversation(
    next,
    isFork
      ? withoutBranch(conversation)
      : withHistory(conversation, (history) => history.filter((message) => message._turn !== id)),
  );
  const isOnScreen = conversationId === next.openId && !next.turn;
  if (!asked || !isOnScreen) return gone;
  return withEffects(gone, { type: "give_back", text: asked.content, images: asked._images ?? [] });
}

/**
 * Roll the turn back and report why it was aborted.
 *
 * @template {ClientState} S
 * @param {S} state @param {Pick<Turn, "id" | "conversationId">} turn @param {{message?: string}} why
 * @returns {S}
 */
export function aborted(state, turn, { message = "" }) {
  return withEffects(rolledBack(state, turn), { type: "problem", code: "turn_aborted", detail: message });
}

/**
 * End the turn that the server refused before it began, if the error answers its `chat`. If the server is draining, the
 * turn waits for another one; if it cannot read the messages, the turn is rolled back, or no later turn could be read.
 *
 * @template {ClientState} S
 * @param {S} state @param {import("./frames.js").ErrorFrame} error
 * @returns {S | null} null if the error is about another frame
 */
export function refused(state, error) {
  const { turn } = state;
  if (turn?.phase !== "sent" || (error.turn_id ? error.turn_id !== turn.id : !isAboutChat(error))) return null;
  if (turn.nudge) return { ...state, turn: null }; // the user did not ask for it
  const later = error.code === "turn_refused_draining" ? postponed(state, turn) : null;
  if (later) return later;
  if (error.code === "turn_id_reused") return ended(state, turn, "lost"); // it had begun on the last connection
  const next = withView(state, turn.id, { error });
  return isUnreadable(error) ? aborted(next, turn, error) : ended(next, turn, "failed");
}

/** @param {import("./frames.js").ErrorFrame} error */
function isUnreadable({ code, path }) {
  return (code === "frame_invalid" || code === "message_too_large") && !!path?.startsWith("$.messages");
}

/** @param {import("./frames.js").ErrorFrame} error */
function isAboutChat({ code, path }) {
  const isOfOtherFrame = path && !/^\$($|\.(messages|id|nudge|type)\b)/.test(path);
  return (
    !isOfOtherFrame && code !== "frame_type_unknown" && code !== "audio_misaligned" && code !== "speech_unavailable"
  );
}

/**
 * Take up a turn that was taken for refused and has begun after all: the error was about another frame.
 *
 * @template {ClientState} S
 * @param {S} state
 * @param {string} turnId
 * @returns {S}
 */
export function revived(state, turnId) {
  const conversation = openConversation(state);
  const asked = conversation?.conversationHistory.at(-1);
  if (!conversation || state.turn || asked?._turn !== turnId || asked._answer !== "failed") return state;
  const pending = withHistory(conversation, (history) => withAnswer(history, turnId, "pending"));
  const next = begun(withView(state, turnId, { error: null }), pending, turnId);
  return next.turn ? { ...next, turn: { ...next.turn, phase: "running" } } : state;
}
