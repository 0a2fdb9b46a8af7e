/**
 * The audit log: asked for with a filter that stands in the page's address, read page after page, and verified.
 *
 * @import { AuditRow, Filter, Verification, State, Reducer } from "./state.js"
 */

import { p } from "../strings/policy.js";
import { NO_FILTER, announced, asking, failed, focused, patched, withEffects } from "./state.js";

export const MAX_ROWS = 2_000; // beyond it a filter or an export serves better than scrolling
const MAX_CHARS = 256; // as long as a field takes
const TIMES = ["since", "until"];

/** @param {State} state @param {string | null} cursor null for the newest page @param {Filter} filter @param {Partial<State["audit"]>} change */
function askedFrom(state, cursor, filter, change) {
  const requestId = state.audit.requestId + 1;
  return asking(state, "audit", { type: "load_audit", filter, cursor, requestId }, { ...change, requestId });
}

/** @param {State} state @param {Filter} filter */
export const asked = (state, filter) =>
  askedFrom(state, null, filter, { filter, fields: filter, next: null, openIds: [] });

/** Search with the filter and put it into the page's address. @param {State} state @param {Filter} filter */
function filtered(state, filter) {
  const query = String(parametersOf(filter));
  return withEffects(asked(state, filter), { type: "address", fragment: query ? `#/audit?${query}` : "#/audit" });
}

/** @param {State} state */
export const canContinue = ({ audit }) =>
  audit.phase === "ready" && audit.next !== null && audit.rows.length < MAX_ROWS;

/** @type {Record<string, Reducer>} */
export const AUDIT_REDUCERS = {
  search_audit: (state) => filtered(state, state.audit.fields),
  clear_filter: (state) => filtered(state, NO_FILTER),
  edit_filter: (state, { name, value }) =>
    patched(state, "audit", { fields: { ...state.audit.fields, [name]: value } }),

  /** Load the page after the last one. */
  more_audit: (state) => (canContinue(state) ? askedFrom(state, state.audit.next, state.audit.filter, {}) : state),

  /** @param {State} state @param {{requestId: number, rows: AuditRow[], next: string | null}} event */
  audit_loaded(state, { requestId, rows, next }) {
    const { audit } = state;
    if (requestId !== audit.requestId) return state;
    const isFirst = audit.next === null;
    const all = isFirst ? rows : [...audit.rows, ...rows];
    const ready = patched(state, "audit", { phase: "ready", rows: all, next });
    const followed = isFirst || !rows[0] ? ready : focused(ready, `entry-${rows[0].id}`);
    return announced(followed, summary(all.length, next !== null));
  },

  load_audit_failed: (state, { requestId, failure }) =>
    requestId === state.audit.requestId ? failed(state, "audit", failure) : state, // else of an earlier filter
  toggle_entry(state, { id }) {
    const openIds = new Set(state.audit.openIds);
    if (!openIds.delete(Number(id))) openIds.add(Number(id));
    return patched(state, "audit", { openIds: [...openIds] });
  },

  /** Makes a file of what the table's filter finds, one at a time. @param {State} state @param {{format: string}} event */
  export(state, { format }) {
    const { filter, isExporting } = state.audit;
    if (isExporting) return state;
    const exporting = patched(state, "audit", { isExporting: true });
    return announced(withEffects(exporting, { type: "export_audit", filter, format }), p.audit.exporting);
  },
  exported: (state) => announced(patched(state, "audit", { isExporting: false }), p.audit.exported),
  export_audit_failed: (state, { failure }) =>
    failed(patched(state, "audit", { isExporting: false }), "audit", failure),

  /** Verify the log; only on request, as the server reads all of it. */
  verify(state) {
    if (state.verification.phase === "loading") return state;
    return announced(asking(state, "verification", { type: "verify" }, { found: null }), p.verification.begun);
  },
  verified: (state, { found }) => announced(patched(state, "verification", { phase: "ready", found }), verdict(found)),
  verify_failed: (state, { failure }) => failed(state, "verification", failure),
};

/** @param {number} count @param {boolean} hasMore */
export function summary(count, hasMore) {
  const { nothingFound, newestFirst, newestOf } = p.audit;
  return count === 0 ? nothingFound : (hasMore ? newestOf : newestFirst)(count);
}

/** @param {Verification} found */
export function verdict({ is_whole: isWhole, problems, days }) {
  const entries = days.reduce((sum, day) => sum + day.entries, 0);
  const { changed, unchanged } = p.verification;
  return isWhole ? unchanged(entries, days.length) : changed(entries, days.length, problems.length);
}

/** The filter of an address; what is not understood is left out. @param {string} query `tool=send` @returns {Filter} */
export function filterOf(query) {
  const given = { ...NO_FILTER, ...Object.fromEntries(new URLSearchParams(query)) };
  return mapped(given, (text) => text.slice(0, MAX_CHARS), localTime);
}

/** What is asked of the server: local times become moments, so that a link means the same everywhere. @param {Filter} filter @param {Record<string, string | null>} [more] */
export function parametersOf(filter, more = {}) {
  const sent = mapped(
    filter,
    (text) => text.trim(),
    (text) => isoTime(new Date(text)),
  );
  return new URLSearchParams(Object.entries({ ...sent, ...more }).filter(([, value]) => value));
}

/** @param {Filter} filter @param {(text: string) => string} text @param {(text: string) => string} time @returns {any} another filter */
function mapped(filter, text, time) {
  const names = /** @type {(keyof Filter)[]} */ (Object.keys(NO_FILTER));
  return Object.fromEntries(names.map((name) => [name, (TIMES.includes(name) ? time : text)(filter[name])]));
}

/** @param {string} moment @returns {string} for a field of type datetime-local, to the minute; empty if there is none */
function localTime(moment) {
  const time = new Date(moment);
  return isoTime(new Date(time.getTime() - time.getTimezoneOffset() * 60_000)).slice(0, 16);
}

/** @param {Date} time @returns {string} RFC 3339; empty if it is no time */
const isoTime = (time) => (Number.isNaN(time.getTime()) ? "" : time.toISOString());
