/**
 * Frames of the server that concern the conversation: queued ones through the playback, immediate ones at once.
 * A frame of a turn that is not the running one is stale and is dropped, except
 * what a cut turn still brings: its hooks and its end. Pure.
 *
 * @typedef {import("./types/client.js").ClientState} ClientState
 * @typedef {import("./types/client.js").Turn} Turn
 * @typedef {import("./frames.js").QueuedFrame} QueuedFrame
 * @typedef {import("./frames.js").TurnEnd} TurnEnd
 */

import { withHistory, withLateHook, withStateOfEmptyTurn, withTurnState } from "./conversation.js";
import { markedIncomplete, enqueue, hookMessage } from "./playback.js";
import { withConversation, withEffects, without, withView } from "./state.js";
import { aborted, cutBySpeech, cutByFailure, playedOn, resent, revived } from "./turn.js";

/** @template {ClientState} S @param {S} state @param {import("./frames.js").Ready} ready @returns {S} */
export function connected(state, ready) {
  const connection = { phase: /** @type {const} */ ("online"), attempt: 0, code: null };
  return resent({ ...state, connection, server: ready, speech: ready.speech ?? null });
}

/** @template {ClientState} S @param {S} state @param {string} turnId @param {(turn: Turn) => S} act @returns {S} */
export function withRunningTurn(state, turnId, act) {
  return state.turn?.id === turnId ? act(state.turn) : state;
}

/** @template {ClientState} S @param {S} state @param {import("./frames.js").Text} frame @returns {S} */
export function streamed(state, { turn_id, delta }) {
  return withRunningTurn(state, turn_id, (turn) => ({ ...state, turn: { ...turn, streamed: turn.streamed + delta } }));
}

/**
 * Mark the turn as running. A spoken turn whose words came too late for their conversation is interrupted.
 *
 * @template {ClientState} S @param {S} state @param {import("./frames.js").TurnStart} frame @returns {S}
 */
export function turnStarted(state, { turn_id, trigger }) {
  const { turn } = state;
  if (turn?.id === turn_id) return { ...state, turn: { ...turn, phase: "running" } };
  const next = revived(state, turn_id);
  const isUnwanted = next === state && trigger === "voice" && !state.cutTurns[turn_id];
  return isUnwanted ? withEffects(state, { type: "send", frame: { type: "interrupt", turn_id } }) : next;
}

/** @template {ClientState} S @param {S} state @param {QueuedFrame} frame @returns {S} */
export function queued(state, frame) {
  if (frame.type !== "turn_end") return played(state, frame);
  return played(withHookState(state, frame), frame); // kept on arrival: a cut may come before playback is there
}

/** @template {ClientState} S @param {S} state @param {QueuedFrame} frame @returns {S} */
function played(state, frame) {
  const { turn } = state;
  if (turn?.id !== frame.turn_id) return ofCutTurn(state, frame);
  if (frame.type === "turn_end" && (frame.reason === "interrupted" || frame.reason === "aborted"))
    return cutByServer(state, turn, frame);
  return playedOn(state, turn, enqueue(turn.playback, frame));
}

/** @template {ClientState} S @param {S} state @param {QueuedFrame} frame @returns {S} */
function ofCutTurn(state, frame) {
  const conversationId = state.cutTurns[frame.turn_id];
  if (!conversationId) return state;
  if (frame.type === "turn_end") return endOfCutTurn(state, conversationId, frame);
  const conversation = state.loaded[conversationId];
  if (frame.type !== "hook" || !conversation) return state;
  const segments = [...(state.views[frame.turn_id]?.segments ?? []), { kind: /** @type {const} */ ("hook"), frame }];
  return withConversation(withView(state, frame.turn_id, { segments }), withLateHook(conversation, hookMessage(frame)));
}

/** @template {ClientState} S @param {S} state @param {TurnEnd} end @returns {S} */
function withHookState(state, { turn_id, state: text, rollback }) {
  if (!text || rollback) return state;
  for (const conversation of Object.values(state.loaded)) {
    const kept = withTurnState(conversation, turn_id, text);
    if (kept) return withConversation(state, kept);
  }
  const cutIn = state.loaded[state.cutTurns[turn_id] ?? ""];
  if (cutIn)
    return withConversation(
      state,
      withHistory(cutIn, (history) => withStateOfEmptyTurn(history, text, state.turn?.id)),
    );
  return withRunningTurn(state, turn_id, (turn) => ({ ...state, turn: { ...turn, hookState: text } }));
}

/** @template {ClientState} S @param {S} state @param {string} conversationId @param {TurnEnd} end @returns {S} */
function endOfCutTurn(state, conversationId, end) {
  const next = { ...state, cutTurns: without(state.cutTurns, end.turn_id) };
  return end.rollback ? aborted(next, { id: end.turn_id, conversationId }, end) : next;
}

/** @template {ClientState} S @param {S} state @param {Turn} turn @param {TurnEnd} end @returns {S} */
function cutByServer(state, turn, end) {
  if (end.rollback) return aborted(state, turn, end);
  const short = { ...state, turn: { ...turn, playback: markedIncomplete(turn.playback) } };
  const isRestart = end.message && end.reason === "interrupted"; // else it follows from what the user said, or a hook's word
  const next = isRestart ? cutByFailure(short, "restarted") : cutBySpeech(short);
  return withView({ ...next, cutTurns: without(next.cutTurns, end.turn_id) }, end.turn_id, { end });
}
