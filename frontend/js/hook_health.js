/**
 * `GET /api/hooks/processes` → how the process hooks fare. Read with care: it is
 * a report for people, and its shape may grow.
 *
 * @typedef {object} HookHealth One process hook.
 * @property {string} name
 * @property {string} state "starting", "up", "down", "closed"
 * @property {readonly string[]} modes
 * @property {string} lastError
 * @property {number} restarts
 * @property {number | null} retryInS
 * @property {readonly string[]} gates the stages at which it is one: what it does not let pass is denied
 * @property {boolean | null} isArmed whether the gate has shown that it answers; null if it was not asked yet
 * @property {string} armedReason
 * @property {number} calls
 * @property {number} failures
 * @property {number | null} p50Ms
 * @property {number | null} p99Ms
 * @property {number} events that it observes
 * @property {number} droppedEvents
 * @property {readonly {text: string, count: number}[]} warnings what its author should know
 *
 * @typedef {{processes: readonly HookHealth[] | null, problem: string}} Health `processes` null until they are known
 */

import { t } from "./strings.js";

/**
 * What was known stays on screen when the server does not answer.
 *
 * @param {Health} known @param {number} status 0 if there was no answer @param {unknown} body
 * @returns {Health}
 */
export function healthOf(known, status, body) {
  const processes = /** @type {{processes?: unknown} | null} */ (body)?.processes;
  if (status === 200 && Array.isArray(processes)) return { processes: processes.map(asHealth), problem: "" };
  const isMine = status !== 401 && status !== 403;
  const problem = status === 401 ? t.hooks.logIn : status === 403 ? t.hooks.operatorsOnly : t.hooks.noAnswer;
  return { processes: isMine ? known.processes : null, problem };
}

/** @param {any} hook @returns {HookHealth} */
function asHealth(hook) {
  return {
    name: String(hook?.name),
    state: String(hook?.state),
    modes: textsOf(hook?.modes),
    lastError: String(hook?.last_error ?? ""),
    restarts: Number(hook?.restarts ?? 0),
    retryInS: numberOrNull(hook?.retry_in_s),
    gates: textsOf(hook?.gates),
    isArmed: typeof hook?.armed === "boolean" ? hook.armed : null,
    armedReason: String(hook?.armed_reason ?? ""),
    calls: Number(hook?.calls ?? 0),
    failures: Number(hook?.failures ?? 0),
    p50Ms: numberOrNull(hook?.p50_ms),
    p99Ms: numberOrNull(hook?.p99_ms),
    events: Number(hook?.events ?? 0),
    droppedEvents: Number(hook?.dropped_events ?? 0),
    warnings: [...countsOf(hook?.ignored, t.hooks.ignoredOutput), ...countsOf(hook?.warnings, "")],
  };
}

/** @param {unknown} values @returns {string[]} */
function textsOf(values) {
  return Array.isArray(values) ? values.map(String) : [];
}

/** @param {unknown} value */
function numberOrNull(value) {
  return typeof value === "number" ? value : null;
}

/** @param {unknown} counts @param {string} before */
function countsOf(counts, before) {
  if (typeof counts !== "object" || counts === null) return [];
  return Object.entries(counts).map(([text, count]) => ({ text: `${before}${text}`, count: Number(count) }));
}
