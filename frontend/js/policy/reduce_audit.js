/**
 * The audit log: asked for with a filter that stands in the page's address, read page after page, and verified.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Audit} Audit
 * @typedef {import("./state.js").Filter} Filter
 * @typedef {import("./state.js").Failure} Failure
 */

import { NO_FILTER, announced, focused, withEffects } from "./state.js";

export const MAX_ROWS = 2_000; // beyond it a filter or an export serves better than scrolling
const MAX_CHARS = 256; // as long as a field takes
const TIMES = ["since", "until"];

/** @param {State} state @param {Partial<Audit>} change @returns {State} */
function withAudit(state, change) {
  return { ...state, audit: { ...state.audit, ...change } };
}

/** @param {State} state @param {Partial<import("./state.js").Verification>} verification @returns {State} */
function withVerification(state, verification) {
  return { ...state, verification: { isRunning: false, failure: null, found: null, ...verification } };
}

/** From the newest on. @param {State} state @param {Filter} filter @returns {State} */
export function asked(state, filter) {
  const question = state.audit.question + 1;
  const fresh = { filter, fields: filter, question, next: null, openIds: [] };
  const asking = withAudit(state, { phase: "loading", failure: null, ...fresh });
  return withEffects(asking, { type: "load_audit", filter, cursor: null, question });
}

/** The same, and the address follows. @param {State} state @param {Filter} filter */
function filtered(state, filter) {
  const query = String(parametersOf(filter));
  return withEffects(asked(state, filter), { type: "address", fragment: query ? `#/audit?${query}` : "#/audit" });
}

/** @param {State} state */
export function canContinue({ audit }) {
  return audit.phase === "ready" && audit.next !== null && audit.rows.length < MAX_ROWS;
}

/** What was shown stays, with the problem above it. @param {State} state @param {{question: number, failure: Failure}} event */
function failed(state, { question, failure }) {
  if (question !== state.audit.question) return state;
  return announced(withAudit(state, { phase: "ready", failure }), failure.message);
}

/** @type {Record<string, import("./state.js").Step>} */
export const AUDIT_STEPS = {
  ask_audit: (state) => filtered(state, state.audit.fields),
  clear_filter: (state) => filtered(state, NO_FILTER),
  /** @param {State} state @param {{name: import("./state.js").FilterName, value: string}} event */
  edit_filter: (state, { name, value }) => withAudit(state, { fields: { ...state.audit.fields, [name]: value } }),

  /** The page after the last one. */
  more_audit(state) {
    const { filter, next: cursor, question: last } = state.audit;
    if (!canContinue(state)) return state;
    const question = last + 1;
    const asking = withAudit(state, { phase: "loading", failure: null, question });
    return withEffects(asking, { type: "load_audit", filter, cursor, question });
  },

  /** The browser downloads by itself, and keeps to itself what the server refuses: that is asked for beside it. */
  export(state) {
    const { filter, question } = state.audit;
    return withEffects(state, { type: "check_audit", filter, question });
  },

  /** @param {State} state @param {{question: number, rows: import("./state.js").AuditRow[], next: string | null}} event */
  audit_loaded(state, { question, rows, next }) {
    const { audit } = state;
    if (question !== audit.question) return state; // the answer to a question of before
    const isFirst = audit.next === null;
    const all = isFirst ? rows : [...audit.rows, ...rows];
    const ready = withAudit(state, { phase: "ready", rows: all, next });
    const followed = isFirst || !rows[0] ? ready : focused(ready, `entry-${rows[0].id}`);
    return announced(followed, summary(all.length, next !== null));
  },

  load_audit_failed: failed,
  check_audit_failed: failed,

  /** @param {State} state @param {{id: string}} event */
  toggle_entry(state, { id }) {
    const { openIds } = state.audit;
    const others = openIds.filter((other) => other !== Number(id));
    return withAudit(state, { openIds: others.length < openIds.length ? others : [...openIds, Number(id)] });
  },

  /** The server reads all of the log for it, so it is asked for. */
  verify(state) {
    if (state.verification.isRunning) return state;
    const running = withVerification(state, { isRunning: true });
    return announced(withEffects(running, { type: "verify" }), "Verifying the audit log.");
  },
  /** @param {State} state @param {{found: import("./state.js").Found}} event */
  verified: (state, { found }) => announced(withVerification(state, { found }), verdict(found)),
  /** @param {State} state @param {{failure: Failure}} event */
  verify_failed: (state, { failure }) => announced(withVerification(state, { failure }), failure.message),
};

/** @param {number} count @param {boolean} hasMore */
export function summary(count, hasMore) {
  if (count === 0) return "No entries match.";
  return `${counted(count, "entry", "entries")}, newest first${hasMore ? "; there are older entries" : ""}.`;
}

/** @param {import("./state.js").Found} found */
export function verdict({ is_whole: isWhole, problems, days }) {
  const entries = days.reduce((sum, day) => sum + day.entries, 0);
  const all = `${counted(entries, "entry", "entries")} of ${counted(days.length, "day", "days")}`;
  if (isWhole) return `${all}: unchanged.`;
  return `${all}: changed in ${counted(problems.length, "place", "places")}.`;
}

/** @param {number} count @param {string} one @param {string} many */
function counted(count, one, many) {
  return `${count} ${count === 1 ? one : many}`;
}

/** The filter of an address; what is not understood is left out. @param {string} query `tool=send` @returns {Filter} */
export function filterOf(query) {
  const parameters = new URLSearchParams(query);
  const fields = Object.keys(NO_FILTER).map((name) => {
    const text = parameters.get(name) ?? "";
    return [name, TIMES.includes(name) ? localTime(text) : text.slice(0, MAX_CHARS)];
  });
  return Object.fromEntries(fields);
}

/** What is asked of the server: local times become moments, so that a link means the same everywhere. @param {Filter} filter */
export function parametersOf(filter) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) {
    const sent = TIMES.includes(name) ? isoTime(new Date(value)) : value.trim();
    if (sent) parameters.set(name, sent);
  }
  return parameters;
}

/** @param {string} moment @returns {string} for a field of type datetime-local, to the minute; empty = none */
function localTime(moment) {
  const time = new Date(moment);
  return isoTime(new Date(time.getTime() - time.getTimezoneOffset() * 60_000)).slice(0, 16);
}

/** @param {Date} time @returns {string} RFC 3339; empty = none */
function isoTime(time) {
  return Number.isNaN(time.getTime()) ? "" : time.toISOString();
}
