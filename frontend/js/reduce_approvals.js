/**
 * Requests to run a tool, in the order they came, each open until the server says what became of it. No answer means
 * no, so nothing here ever says yes by itself.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("../sdk/frames.js").ApprovalRequest} ApprovalRequest
 * @typedef {import("../sdk/frames.js").ApprovalResolved} ApprovalResolved
 * @typedef {{arguments: string, reason: string, remember: "no" | "conversation" | "always",
 *   rememberFor?: import("../sdk/frames.js").RememberFor}} Fields as the user filled them in
 */

import { withoutSpokenQuestion } from "../sdk/speech.js";
import { pretty } from "../sdk/escaped_json.js";
import { withEffects, withNotice, withTurnNotice } from "./state.js";
import { withView } from "../sdk/state.js";
import { t } from "./strings.js";

const MAX_OPEN = 32;

/** @param {State} state @param {ApprovalRequest} frame @param {number} at @returns {State} */
export function asked(state, frame, at) {
  const others = state.approvals.filter(({ frame: { id } }) => id !== frame.id);
  const approval = { frame, deadline: at + frame.timeout_ms, isEditing: false, isAnswered: false, problem: "" };
  return { ...state, now: at, approvals: [...others, approval].slice(-MAX_OPEN) };
}

/** @param {State} state @param {ApprovalResolved} frame @returns {State} */
export function resolved(state, frame) {
  const answered = state.approvals.find(({ frame: { id } }) => id === frame.id);
  const approvals = state.approvals.filter((approval) => approval !== answered);
  const tool = answered?.frame.tool ?? frame.tool;
  const next = tool ? withOutcome({ ...state, approvals }, frame, tool) : { ...state, approvals };
  const silent = withoutSpokenQuestion(answered ? withRefusal(next, frame, answered.frame) : next, frame.id);
  return answered ? withEffects(silent, { type: "leave_approval" }) : silent;
}

const USER = ["user", "voice", "other_client"];

/** Mark the call that the user said no to. @param {State} state @param {ApprovalResolved} frame @param {ApprovalRequest} request @returns {State} */
function withRefusal(state, { approved, by }, { turn_id, call_id }) {
  if (approved || !USER.includes(by) || !turn_id || !call_id) return state;
  const { refused = [] } = state.views[turn_id] ?? {};
  return withView(state, turn_id, { refused: [...refused, call_id] });
}

/**
 * Drop the open requests when the connection is lost: they are denied. Those of other windows come again with the next
 * connection.
 *
 * @param {State} state
 * @returns {State}
 */
export function unanswered(state) {
  if (!state.approvals.length) return state;
  const isLost = (/** @type {import("./state.js").Approval} */ approval) =>
    approval.frame.turn_id !== undefined && !approval.isAnswered;
  /** @type {State} */
  const next = withEffects({ ...state, approvals: [] }, { type: "leave_approval" });
  return state.approvals
    .filter(isLost)
    .reduce(
      (noticed, { frame }) => withOutcome(noticed, { ...frame, approved: false, by: "disconnect" }, frame.tool),
      next,
    );
}

/** @param {State} state @param {string} id @returns {State} */
export function editing(state, id) {
  return withApproval(state, id, { isEditing: true, problem: "" });
}

/** Leave the editor by Esc: the arguments are as they were, and the request stays open. @param {State} state @param {string} id @returns {State} */
export function leftEditor(state, id) {
  const isAnswered = state.approvals.some((approval) => approval.frame.id === id && approval.isAnswered);
  return isAnswered ? state : withApproval(state, id, { isEditing: false, problem: "" });
}

/**
 * The user's answer. Edited arguments that are no JSON object are not sent: the field says what is wrong.
 *
 * @param {State} state @param {{id: string, approved: boolean, fields: Fields}} event
 * @returns {State}
 */
export function answered(state, { id, approved, fields }) {
  const approval = state.approvals.find(({ frame }) => frame.id === id);
  if (!approval || approval.isAnswered) return state;
  const edited = approved && approval.isEditing ? readObject(fields.arguments) : null;
  if (edited && "problem" in edited) return withApproval(state, id, { problem: edited.problem });
  const isChanged = edited && pretty(edited.value) !== pretty(approval.frame.arguments);
  return withEffects(withApproval(state, id, { isAnswered: true, problem: "" }), {
    type: "send",
    frame: {
      type: "approval",
      id,
      approved,
      ...(fields.reason.trim() && { reason: fields.reason.trim() }),
      ...(isChanged && { arguments: edited.value }),
      ...(approved && remembered(fields)),
    },
  });
}

/** Return the fields of an answer that is to be remembered; defaults are left out. @param {Fields} fields */
function remembered({ remember, rememberFor = "arguments" }) {
  if (remember === "no") return {};
  return rememberFor === "arguments" ? { remember } : { remember, remember_for: rememberFor };
}

/**
 * The server does not run what was edited: the question is open still, and its field says why.
 * An error names no question; answers are read in their order.
 *
 * @param {State} state @param {string} problem
 * @returns {State | null} null if no edited answer is open
 */
export function refusedEdit(state, problem) {
  const approval = state.approvals.find(({ isAnswered, isEditing }) => isAnswered && isEditing);
  return approval ? withApproval(state, approval.frame.id, { isAnswered: false, problem }) : null;
}

/** Deny the request by Esc, while it has the focus. @param {State} state @param {string} id @returns {State} */
export function dismissed(state, id) {
  return answered(state, { id, approved: false, fields: { arguments: "", reason: "", remember: "no" } });
}

/** @param {State} state @param {string} id @param {Partial<import("./state.js").Approval>} change @returns {State} */
function withApproval(state, id, change) {
  return {
    ...state,
    approvals: state.approvals.map((approval) => (approval.frame.id === id ? { ...approval, ...change } : approval)),
  };
}

/** @param {string} text @returns {{value: Record<string, unknown>} | {problem: string}} */
function readObject(text) {
  try {
    const value = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? { value } : { problem: t.approval.notObject };
  } catch (error) {
    return { problem: t.approval.notJson(error instanceof Error ? error.message : String(error)) };
  }
}

/** @param {State} state @param {Pick<ApprovalResolved, "by" | "approved" | "turn_id">} frame @param {string} tool @returns {State} */
function withOutcome(state, { by, approved, turn_id }, tool) {
  /** @type {Record<string, (tool: string, isAllowed: boolean) => string>} */
  const outcomes = t.approval.outcomes; // the user's own answer here has none
  const message = outcomes[by]?.(tool, approved);
  if (!message) return state;
  /** @type {import("../sdk/frames.js").Notice} */
  const notice = { type: "notice", code: `approval_${by}`, level: "info", message };
  return turn_id ? withTurnNotice(state, turn_id, notice) : withNotice(state, notice);
}
