/**
 * Frames of the server: queued ones through the playback, immediate ones at once.
 * A frame of a turn that is not the running one is stale and is dropped, except
 * what a cut turn still brings: its hooks and its end.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Turn} Turn
 * @typedef {import("../sdk/frames.js").ServerFrame} ServerFrame
 * @typedef {import("../sdk/frames.js").QueuedFrame} QueuedFrame
 * @typedef {import("../sdk/frames.js").TurnEnd} TurnEnd
 */

import { withLateHook, withTurnState } from "../sdk/conversation.js";
import { EMPTY_TRACE, withTrace } from "./inspect.js";
import { opened, withModels } from "./models.js";
import { cutShort, enqueue, hookMessage } from "../sdk/playback.js";
import { asked, refusedEdit, resolved } from "./reduce_approvals.js";
import { playedOn } from "./reduce_playback.js";
import { isOfRereading, rereadOn } from "./reduce_rereading.js";
import { cutBySpeech, cutUnasked, refused, resent, revived, rolledBack } from "./reduce_turn.js";
import { spoken } from "./reduce_voice.js";
import { lastEntries, withConversation, withEffects, withNotice, without, withTurnNotice, withView } from "./state.js";
import { t } from "./strings.js";

const MAX_TRACES = 20;

/** @param {State} state @param {ServerFrame} frame @param {number} at @returns {State} */
export function received(state, frame, at) {
  if (isOfRereading(state, frame)) return rereadOn(state, frame);
  switch (frame.type) {
    case "speech":
    case "speech_detected":
    case "speech_rejected":
    case "speech_started":
    case "speech_stopped":
    case "transcript":
      return spoken(state, frame, at);
    case "ready":
      return connected(state, frame);
    case "model": {
      const { name, host, location } = frame;
      return state.server ? withModels({ ...state, server: { ...state.server, model: { name, host, location } } }) : state;
    }
    case "skills":
      return { ...state, skills: frame.skills, diagnostics: frame.diagnostics };
    case "nudge":
      return state; // answered by an event of its own
    case "turn_start":
      return started(state, frame);
    case "text":
      return ofRunning(state, frame.turn_id, (turn) => ({
        ...state,
        turn: { ...turn, streamed: turn.streamed + frame.delta },
      }));
    case "reasoning":
      return ofRunning(state, frame.turn_id, () => withReasoning(state, frame.turn_id, frame.delta));
    case "sentence":
    case "sentence_end":
    case "hook":
    case "tool_call":
    case "tool_result":
    case "media":
      return queued(state, frame);
    case "turn_end":
      return queued(withHookState(state, frame), frame); // kept on arrival: a cut may come before playback is there
    case "approval_request":
      return opened(asked(state, frame, at), false); // a modal picker would keep the user from the question
    case "approval_resolved":
      return resolved(state, frame);
    case "notice":
      return noticed(state, frame);
    case "trace":
      return traced(state, frame);
    case "error":
      return failed(state, frame);
    case "pong":
      return state;
  }
}

/** @param {State} state @param {import("../sdk/frames.js").Ready} ready @returns {State} */
function connected(state, ready) {
  const connection = { phase: /** @type {const} */ ("online"), attempt: 0, code: null };
  const next = {
    ...state,
    connection,
    server: ready,
    skills: ready.skills,
    diagnostics: [],
    speech: ready.speech ?? null,
    isTraceRefused: false,
  };
  return resent(withModels(withEffects(next, { type: "readiness" })));
}

/** @param {State} state @param {string} turnId @param {(turn: Turn) => State} act @returns {State} */
function ofRunning(state, turnId, act) {
  return state.turn?.id === turnId ? act(state.turn) : state;
}

/**
 * Words that came too late for their conversation start a turn that nobody waits for.
 *
 * @param {State} state @param {import("../sdk/frames.js").TurnStart} frame
 * @returns {State}
 */
function started(state, { turn_id, trigger }) {
  const { turn } = state;
  if (turn?.id === turn_id) return { ...state, turn: { ...turn, phase: "running" } };
  const next = revived(state, turn_id);
  const isUnwanted = next === state && trigger === "voice" && !state.cutTurns[turn_id];
  return isUnwanted ? withEffects(state, { type: "send", frame: { type: "interrupt", turn_id } }) : next;
}

/** @param {State} state @param {QueuedFrame} frame @returns {State} */
function queued(state, frame) {
  const { turn } = state;
  if (turn?.id !== frame.turn_id) return ofCutTurn(state, frame);
  if (frame.type === "turn_end" && (frame.reason === "interrupted" || frame.reason === "aborted"))
    return cutByServer(state, frame);
  return playedOn(state, turn, enqueue(turn.playback, frame));
}

/** @param {State} state @param {QueuedFrame} frame @returns {State} */
function ofCutTurn(state, frame) {
  const conversationId = state.cutTurns[frame.turn_id];
  if (!conversationId) return state;
  if (frame.type === "turn_end") return endOfCutTurn(state, conversationId, frame);
  const conversation = state.loaded[conversationId];
  if (frame.type !== "hook" || !conversation) return state;
  const segments = [...(state.views[frame.turn_id]?.segments ?? []), { kind: /** @type {const} */ ("hook"), frame }];
  return withConversation(
    withView(state, frame.turn_id, { segments }),
    withLateHook(conversation, hookMessage(frame)),
  );
}

/** @param {State} state @param {TurnEnd} end @returns {State} */
function withHookState(state, { turn_id, state: text }) {
  if (!text) return state;
  for (const conversation of Object.values(state.loaded)) {
    const kept = withTurnState(conversation, turn_id, text);
    if (kept) return withConversation(state, kept);
  }
  return ofRunning(state, turn_id, (turn) => ({ ...state, turn: { ...turn, hookState: text } }));
}

/** @param {State} state @param {string} conversationId @param {TurnEnd} end @returns {State} */
function endOfCutTurn(state, conversationId, end) {
  const next = { ...state, cutTurns: without(state.cutTurns, end.turn_id) };
  return end.rollback ? withMessage(rolledBack(next, { id: end.turn_id, conversationId }), end) : next;
}

/** @param {State} state @param {TurnEnd} end @returns {State} */
function cutByServer(state, end) {
  const { turn } = state;
  if (turn && end.rollback) return withMessage(rolledBack(state, turn), end);
  const short = { ...state, turn: turn && { ...turn, playback: cutShort(turn.playback) } };
  const isRestart = end.message && end.reason === "interrupted"; // else it follows from what the user said, or a hook's word
  const next = isRestart ? cutUnasked(short, "restarted") : cutBySpeech(short);
  return withView({ ...next, cutTurns: without(next.cutTurns, end.turn_id) }, end.turn_id, { end });
}

/**
 * The reason of a turn that leaves no trace in the conversation.
 *
 * @param {State} state
 * @param {TurnEnd} end
 * @returns {State}
 */
function withMessage(state, end) {
  return withNotice(state, {
    type: "notice",
    code: "turn_aborted",
    level: "warning",
    message: end.message ?? t.turns.ended,
  });
}

/** @param {State} state @param {string} turnId @param {string} delta @returns {State} */
function withReasoning(state, turnId, delta) {
  return withView(state, turnId, { reasoning: (state.views[turnId]?.reasoning ?? "") + delta });
}

/** @param {State} state @param {import("../sdk/frames.js").Notice} notice @returns {State} */
function noticed(state, notice) {
  if (notice.code === "trace_not_allowed") return { ...state, isTraceRefused: true }; // said where the trace would stand
  const turnId = notice.turn_id ?? state.turn?.id;
  return turnId ? withTurnNotice(state, turnId, notice) : withNotice(state, notice);
}

/** @param {State} state @param {import("../sdk/frames.js").Trace} frame @returns {State} */
function traced(state, { turn_id, event, data }) {
  const trace = withTrace(state.traces[turn_id] ?? EMPTY_TRACE, event, data);
  return { ...state, traces: lastEntries({ ...state.traces, [turn_id]: trace }, MAX_TRACES) };
}

/**
 * An error with the turn's id comes before its `turn_end`. One without, while a
 * turn waits for its `turn_start`, is the answer to our `chat`.
 *
 * @param {State} state @param {import("../sdk/frames.js").ErrorFrame} error
 * @returns {State}
 */
function failed(state, error) {
  const { turn } = state;
  if (error.code === "nudge_unknown" && !turn?.nudge) return state; // the user has said something meanwhile
  if (turn?.phase === "sent" && (error.turn_id === turn.id || (!error.turn_id && isAboutChat(error)))) {
    return refused(state, turn, error);
  }
  if (error.turn_id) return withView(state, error.turn_id, { error });
  const reopened = error.path === "$.arguments" ? refusedEdit(state, error.message) : null;
  if (reopened) return reopened;
  return withNotice(state, { type: "notice", code: error.code, level: "error", message: withPath(error) });
}

/** @param {import("../sdk/frames.js").ErrorFrame} error */
function isAboutChat({ code, path }) {
  const isOfOtherFrame = path && !/^\$($|\.(messages|id|nudge)\b)/.test(path);
  return (
    !isOfOtherFrame && code !== "frame_type_unknown" && code !== "audio_misaligned" && code !== "speech_unavailable"
  );
}

/** @param {import("../sdk/frames.js").ErrorFrame} error */
export function withPath({ message, path }) {
  return path && !message.includes(path) ? `${message} (${path})` : message;
}
