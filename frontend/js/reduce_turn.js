/**
 * One turn, from the user's message to its end: asked, stored, sent, running,
 * and then flushed into the history, or cut.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Turn} Turn
 * @typedef {import("./state.js").Conversation} Conversation
 * @typedef {import("../sdk/frames.js").Message} Message
 * @typedef {import("../sdk/frames.js").Answer} Answer
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
} from "../sdk/conversation.js";
import { cut, cutWhereLost, cutWhereRead, flushHistorySegments, newPlayback, unsaidText } from "../sdk/playback.js";
import { givenBack } from "./reduce_attachments.js";
import { GOING_AWAY, NOT_LOGGED_IN } from "../sdk/socket.js";
import {
  canSend,
  openConversation,
  warning,
  withConversation,
  withEffects,
  withNotice,
  withSpeechLost,
  withTurnNotice,
  withView,
} from "./state.js";
import { t } from "./strings.js";

const MAX_TRIES = 8; // to connect, about a minute: then a turn that is to be sent again counts as lost

/** @param {State} state @param {{text: string, turnId: string, at: number}} event @returns {State} */
export function submitted(state, { text, turnId, at }) {
  const { attachments } = state;
  if ((!text.trim() && !attachments.length) || state.pendingImages || !canSend(state)) return state;
  const next = { ...cutByHand(state), attachments: [] };
  const conversation = openConversation(next);
  if (!conversation) return state;
  /** @type {Message} */
  const message = { role: "user", content: text, _turn: turnId, _answer: "pending" };
  if (attachments.length) message._images = attachments;
  const conversationHistory = [...conversation.conversationHistory, message];
  if (!fitToLimits(conversationHistory, state.server?.limits ?? null)) {
    return withNotice(
      state,
      warning("message_too_large", t.turns.tooLong),
    );
  }
  return withEffects(begun(next, { ...conversation, conversationHistory, updatedAt: at }, turnId), {
    type: "compose",
    text: "",
  });
}

/**
 * Ask the last user message again. Only ever by the user's hand.
 *
 * @param {State} state
 * @param {{turnId: string, at: number}} event
 * @returns {State}
 */
export function retried(state, { turnId, at }) {
  const conversation = openConversation(state);
  if (!conversation || state.turn || !canSend(state) || !unansweredMessage(conversation.conversationHistory))
    return state;
  return begun(state, { ...withHistory(conversation, (history) => askAgain(history, turnId)), updatedAt: at }, turnId);
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
  const isNamed = (/** @type {Message} */ m) => m.content === named?.content && m.role === named.role && m._sig === named._sig;
  const isOut = named ? isNamed : (/** @type {Message} */ m) => m.role === "system";
  return withHistory(conversation, (history) => history.map((m) => (isOut(m) ? { ...m, _unverified: true } : m)));
}

/** @param {State} state @param {Conversation} conversation @param {string} turnId @returns {State} */
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
 * The user message is safe: now it may be sent.
 *
 * @param {State} state
 * @param {{id: string, revision: number}} event
 * @returns {State}
 */
export function saved(state, { id, revision }) {
  const { turn } = state;
  if (turn?.phase !== "storing" || turn.conversationId !== id || revision < turn.revision) return state;
  return sent(state, turn);
}

/** @param {State} state @param {Turn} turn @returns {State} */
export function sent(state, turn) {
  const fitting = fitToLimits(
    state.loaded[turn.conversationId]?.conversationHistory ?? [],
    state.server?.limits ?? null,
  );
  if (!fitting) return state;
  const { messages, hookState, droppedTurns } = fitting;
  const isSpoken = turn.nudge && state.voice.mic === "on"; // else it was typed, or sent again by hand
  const voice = state.settings.readAloud === "spoken" && !isSpoken ? { voice: false } : {};
  const nudge = turn.nudge ? { nudge: turn.nudge } : {};
  const next = withEffects(
    { ...state, turn: { ...turn, phase: "sent" } },
    { type: "send", frame: { type: "chat", id: turn.id, messages, ...voice, ...hookState, ...nudge } },
  );
  if (!droppedTurns) return next;
  return withTurnNotice(next, turn.id, warning("history_shortened", t.turns.shortened(droppedTurns)));
}

/**
 * There is another connection: what never began on the last one is sent again.
 *
 * @param {State} state
 * @returns {State}
 */
export function resent(state) {
  const { turn } = state;
  if (turn?.phase !== "waiting") return state;
  const canWrite = state.loaded[turn.conversationId]?.access === "write";
  const next = canWrite ? sent(state, turn) : state;
  return next === state ? ended(state, turn, "failed") : next;
}

/** @param {State} state @param {{id: string, revision: number, message: string}} event @returns {State} */
export function saveFailed(state, { id, revision, message }) {
  const { turn } = state;
  const next = withNotice(state, warning("storage_failed", t.storage.failed(message)));
  const isUnsent = turn?.phase === "storing" && turn.conversationId === id && revision >= turn.revision;
  return isUnsent ? ended(next, turn, "failed") : next;
}

/** @param {State} state @returns {State} */
export function stopped(state) {
  const { turn } = state;
  if (!turn) return state;
  const next = cutByHand(state);
  return isUnsent(turn)
    ? next
    : withEffects(next, { type: "send", frame: { type: "interrupt", turn_id: turn.id } });
}

/** No server knows of it. @param {Turn} turn */
function isUnsent({ phase }) {
  return phase === "storing" || phase === "waiting";
}

/**
 * A typed turn that never began, and was not sent twice, waits for another connection.
 *
 * @param {State} state @param {Turn} turn
 * @returns {State | null} null: it was
 */
function postponed(state, turn) {
  const mayWait = turn.phase === "sent" && turn.canResend;
  return mayWait ? { ...state, turn: { ...turn, phase: "waiting", canResend: false } } : null;
}

/**
 * The turn may outlast the socket: it waits already, or the server said goodbye before the turn began.
 *
 * @param {State} state @param {{attempt: number, code: number}} event
 * @returns {State | null} null: it is lost
 */
function keptWaiting(state, { attempt, code }) {
  const { turn } = state;
  if (turn?.phase === "waiting") return attempt > MAX_TRIES || code === NOT_LOGGED_IN ? null : state;
  return turn && code === GOING_AWAY ? postponed(state, turn) : null;
}

/**
 * The socket is gone, and every turn with it that has begun or may have; one whose end has arrived plays on.
 *
 * @param {State} state @param {{attempt: number, code: number, silently: boolean}} event
 * @returns {State}
 */
export function disconnected(state, { attempt, code, silently }) {
  const phase = silently ? "connecting" : "waiting";
  const isEndHere = state.turn?.playback.audioQueue.some((frame) => frame.type === "turn_end");
  const next = isEndHere ? state : (keptWaiting(state, { attempt, code }) ?? cutUnasked(state, "lost"));
  const { phase: spoken, isHeld } = next.voice;
  const isSpeechLost = isHeld || spoken === "speaking" || spoken === "recognizing";
  const voice = { ...next.voice, phase: /** @type {const} */ ("quiet"), transcript: "", spokenIn: {}, isHeld: false };
  const left = withEffects(
    { ...next, voice, cutTurns: {}, loading: null, connection: { phase, attempt, code } },
    { type: "sound", act: "resume" }, // nobody will say any more whether that was speech
  );
  const told = isSpeechLost ? withSpeechLost(left) : left;
  return code === NOT_LOGGED_IN ? withEffects(told, { type: "log_in" }) : told;
}

/** Speech ends the turn: what was heard is kept. @param {State} state @returns {State} */
export function cutBySpeech(state) {
  return state.turn ? cutTurn(state, state.turn, cut(state.turn.playback), "stopped") : state;
}

/** The user ends the turn with a message or a button: what was shown is kept. @param {State} state @returns {State} */
export function cutByHand(state) {
  const { turn } = state;
  if (!turn) return state;
  const playback = cutWhereRead(turn.playback, turn.streamed);
  return playback.reachedEnd
    ? endReached(state, { ...turn, playback }, playback.reachedEnd) // only its sound was left
    : cutTurn(state, turn, playback, "stopped");
}

/** The turn ends without the user having asked for it. @param {State} state @param {Answer} answer @returns {State} */
export function cutUnasked(state, answer) {
  const { turn } = state;
  return turn ? cutTurn(state, turn, cutWhereLost(turn.playback, turn.streamed), answer) : state;
}

/**
 * The turn's `turn_end` is awaited: hooks that come before it are kept too.
 *
 * @param {State} state @param {Turn} turn @param {import("../sdk/playback.js").Playback} playback as it was cut @param {Answer} answer
 * @returns {State}
 */
function cutTurn(state, turn, playback, answer) {
  const unheard = turn.reported && unsaidText(playback, turn.streamed); // of a reply that was spoken
  const next = withView(ended(state, { ...turn, playback }, answer), turn.id, { unheard });
  if (isUnsent(turn)) return next;
  return { ...next, cutTurns: { ...next.cutTurns, [turn.id]: turn.conversationId } };
}

/** @param {State} state @param {Turn} turn @param {import("../sdk/frames.js").TurnEnd} end @returns {State} */
export function endReached(state, turn, end) {
  const next = withView(ended(state, turn, end.reason === "completed" ? null : "failed"), turn.id, { end });
  return end.rollback ? rolledBack(next, turn) : next;
}

/**
 * The turn is over: flush it into the history. `answer` null = the user message has its answer.
 *
 * @param {State} state @param {Turn} turn @param {Answer | null} answer
 * @returns {State}
 */
export function ended(state, turn, answer) {
  const { historySegments } = turn.playback;
  const next = withView({ ...state, turn: null }, turn.id, { segments: historySegments });
  const conversation = next.loaded[turn.conversationId];
  if (!conversation) return next;
  const said = flushHistorySegments(historySegments, turn.id);
  const conversationHistory = withState([...conversation.conversationHistory, ...said], turn.id, turn.hookState);
  return withConversation(
    next,
    withHistory({ ...conversation, conversationHistory }, (history) => withAnswer(history, turn.id, answer)),
  );
}

/**
 * The turn never was: its messages go, and what the user wrote comes back to where it was written.
 *
 * @param {State} state
 * @param {Pick<Turn, "id" | "conversationId">} turn the running one, or one that was cut
 * @returns {State}
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
  return withEffects(givenBack(gone, asked._images ?? []), { type: "give_back", text: asked.content });
}

/**
 * The server refused the turn before it began. One that is draining is left for another, soon. If the user has agreed to leave
 * out what does not verify, that is done and the rest sent, message by message.
 *
 * @param {State} state @param {Turn} turn @param {import("../sdk/frames.js").ErrorFrame} error
 * @returns {State}
 */
export function refused(state, turn, error) {
  if (turn.nudge) return { ...state, turn: null }; // nobody has asked for it
  const later = error.code === "turn_refused_draining" ? postponed(state, turn) : null;
  if (later) return later;
  const next = ended(withView(state, turn.id, { error }), turn, "failed");
  if (!turn.leavesOut || error.code !== "hook_signature_invalid") return next;
  const at = openConversation(next)?.updatedAt ?? 0;
  const hasMore = openConversation(next)?.conversationHistory.some((m) => m.role === "system" && !m._unverified);
  return hasMore ? retriedWithoutUnverified(next, { turnId: nextId(turn.id), at }) : next;
}

/**
 * A turn that was taken for refused has begun after all: the error was about another frame.
 *
 * @param {State} state
 * @param {string} turnId
 * @returns {State}
 */
export function revived(state, turnId) {
  const conversation = openConversation(state);
  const asked = conversation?.conversationHistory.at(-1);
  if (!conversation || state.turn || asked?._turn !== turnId || asked._answer !== "failed") return state;
  const pending = withHistory(conversation, (history) => withAnswer(history, turnId, "pending"));
  const next = begun(withView(state, turnId, { error: null }), pending, turnId);
  return next.turn ? { ...next, turn: { ...next.turn, phase: "running" } } : state;
}

/** A turn id of its own for each attempt; ids hold 64 characters. @param {string} turnId */
function nextId(turnId) {
  const [stem = "", count = "1"] = turnId.split("_r");
  return `${stem}_r${Number(count) + 1}`;
}
