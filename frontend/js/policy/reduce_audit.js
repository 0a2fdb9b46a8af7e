/**
 * The audit log: asked for with a filter, read page after page.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Audit} Audit
 * @typedef {import("./state.js").AuditRow} AuditRow
 * @typedef {import("./state.js").Filter} Filter
 *
 * @typedef {{type: "edit_filter", name: import("./state.js").FilterName, value: string}
 *   | {type: "ask_audit"}
 *   | {type: "clear_filter"}
 *   | {type: "more_audit"}
 *   | {type: "exporting"}
 *   | {type: "audit_loaded", question: number, rows: AuditRow[], next: string | null}
 *   | {type: "audit_failed", question: number, failure: import("./state.js").Failure}
 *   | {type: "toggle_entry", id: number}} AuditEvent
 */

import { auditFragment } from "./address.js";
import { announced, withEffects } from "./state.js";

export const MAX_ROWS = 2_000; // beyond it a filter or an export serves better than scrolling

/** @param {State} state @param {Partial<Audit>} change @returns {State} */
function withAudit(state, change) {
  return { ...state, audit: { ...state.audit, ...change } };
}

/** From the newest on. @param {State} state @param {Filter} filter @returns {State} */
export function asked(state, filter) {
  const question = state.audit.question + 1;
  const fresh = { filter, fields: filter, question, next: null, openIds: [] };
  const asking = withAudit(state, { phase: "loading", failure: null, ...fresh });
  return withEffects(asking, { type: "load_audit", filter, cursor: null, question });
}

/** As `asked`, and the address follows. @param {State} state @param {Filter} filter @returns {State} */
export function filtered(state, filter) {
  return withEffects(asked(state, filter), { type: "address", fragment: auditFragment(filter) });
}

/** @param {State} state @param {Extract<AuditEvent, {type: "edit_filter"}>} event @returns {State} */
export function fieldEdited(state, { name, value }) {
  return withAudit(state, { fields: { ...state.audit.fields, [name]: value } });
}

/** @param {State} state */
export function canContinue({ audit }) {
  return audit.phase === "ready" && audit.next !== null && audit.rows.length < MAX_ROWS;
}

/** The page after the last one. @param {State} state @returns {State} */
export function continued(state) {
  const { filter, next, question } = state.audit;
  if (!canContinue(state)) return state;
  const asking = withAudit(state, { phase: "loading", failure: null, question: question + 1 });
  return withEffects(asking, { type: "load_audit", filter, cursor: next, question: question + 1 });
}

/** The browser downloads by itself, and keeps to itself what the server refuses: that is asked for beside it. @param {State} state @returns {State} */
export function exporting(state) {
  const { filter, question } = state.audit;
  return withEffects(state, { type: "check_audit", filter, question });
}

/** @param {State} state @param {Extract<AuditEvent, {type: "audit_loaded"}>} event @returns {State} */
export function loaded(state, { question, rows, next }) {
  const { audit } = state;
  if (question !== audit.question) return state; // the answer to a question of before
  const isFirst = audit.next === null;
  const all = isFirst ? rows : [...audit.rows, ...rows];
  const ready = withAudit(state, { phase: "ready", rows: all, next });
  const first = rows[0];
  const followed = isFirst || !first ? ready : withEffects(ready, { type: "focus", ids: [`entry-${first.id}`] });
  return announced(followed, summary(all.length, next !== null));
}

/** @param {number} count @param {boolean} hasMore */
export function summary(count, hasMore) {
  if (count === 0) return "No entry fits.";
  return `${count} ${count === 1 ? "entry" : "entries"}, newest first${hasMore ? "; there are older ones" : ""}.`;
}

/** What was shown stays, with the problem above it. @param {State} state @param {Extract<AuditEvent, {type: "audit_failed"}>} event @returns {State} */
export function failed(state, { question, failure }) {
  if (question !== state.audit.question) return state;
  return announced(withAudit(state, { phase: "ready", failure }), failure.message);
}

/** @param {State} state @param {number} id @returns {State} */
export function toggled(state, id) {
  const { openIds } = state.audit;
  const others = openIds.filter((other) => other !== id);
  return withAudit(state, { openIds: others.length < openIds.length ? others : [...openIds, id] });
}
