/**
 * Frames of the server: those that concern the conversation go to `sdk/frames_in.js`, the others are the page's.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("../sdk/frames.js").ServerFrame} ServerFrame
 */

import * as client from "../sdk/frames_in.js";
import { lastEntries, withView } from "../sdk/state.js";
import { EMPTY_TRACE, withTrace } from "./inspect.js";
import { opened, withModels } from "./models.js";
import { asked, refusedEdit, resolved } from "./reduce_approvals.js";
import { isOfSpeakTurn, speakTurnReceived } from "./reduce_speak.js";
import { refusedTurn } from "./reduce_turn.js";
import { spoken } from "./reduce_voice.js";
import { withEffects, withNotice, withTurnNotice } from "./state.js";

const MAX_TRACES = 20;

/** @param {State} state @param {ServerFrame} frame @param {number} at @returns {State} */
export function received(state, frame, at) {
  if (isOfSpeakTurn(state, frame)) return speakTurnReceived(state, frame);
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
      return state.server
        ? withModels({ ...state, server: { ...state.server, model: { name, host, location } } })
        : state;
    }
    case "skills":
      return { ...state, skills: frame.skills, diagnostics: frame.diagnostics };
    case "nudge": // answered by an event of its own
    case "client_tool_call": // the page has no tools
      return state;
    case "turn_start":
      return client.turnStarted(state, frame);
    case "text":
      return client.streamed(state, frame);
    case "reasoning":
      return client.withRunningTurn(state, frame.turn_id, () => withReasoning(state, frame.turn_id, frame.delta));
    case "sentence":
    case "sentence_end":
    case "hook":
    case "tool_call":
    case "tool_result":
    case "media":
    case "turn_end":
      return client.queued(state, frame);
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
  const next = { ...state, server: ready, skills: ready.skills, diagnostics: [], isTraceRefused: false };
  return client.connected(withModels(withEffects(next, { type: "readiness" })), ready);
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
 * Show an error in its turn or on the page. One without a turn's id, while a turn waits for its `turn_start`, answers
 * our `chat`.
 *
 * @param {State} state @param {import("../sdk/frames.js").ErrorFrame} error
 * @returns {State}
 */
function failed(state, error) {
  const { turn } = state;
  if (error.code === "nudge_unknown" && !turn?.nudge) return state; // the user has said something meanwhile
  const next = refusedTurn(state, error);
  if (next) return next;
  if (error.turn_id) return withView(state, error.turn_id, { error });
  const reopened = error.path === "$.arguments" ? refusedEdit(state, error.message) : null;
  if (reopened) return reopened;
  return withNotice(state, { type: "notice", code: error.code, level: "error", message: withPath(error) });
}

/** @param {import("../sdk/frames.js").ErrorFrame} error */
export function withPath({ message, path }) {
  return path && !message.includes(path) ? `${message} (${path})` : message;
}
