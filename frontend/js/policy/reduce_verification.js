/**
 * Whether the audit log is what was written: the server reads all of it, so it is asked for.
 *
 * @typedef {import("./state.js").State} State
 *
 * @typedef {{type: "verify"}
 *   | {type: "verified", found: import("./state.js").Found}
 *   | {type: "verify_failed", failure: import("./state.js").Failure}} VerificationEvent
 */

import { announced, withEffects } from "./state.js";

/** @param {State} state @returns {State} */
export function verifying(state) {
  if (state.verification.isRunning) return state;
  const running = { ...state, verification: { isRunning: true, failure: null, found: null } };
  return announced(withEffects(running, { type: "verify" }), "Verifying the audit log.");
}

/** @param {State} state @param {import("./state.js").Found} found @returns {State} */
export function verified(state, found) {
  return announced({ ...state, verification: { isRunning: false, failure: null, found } }, verdict(found));
}

/** @param {State} state @param {import("./state.js").Failure} failure @returns {State} */
export function failed(state, failure) {
  return announced({ ...state, verification: { isRunning: false, failure, found: null } }, failure.message);
}

/** @param {import("./state.js").Found} found */
export function verdict({ is_whole: isWhole, problems, days }) {
  const entries = days.reduce((sum, day) => sum + day.entries, 0);
  const all = `${counted(entries, "entry", "entries")} of ${counted(days.length, "day", "days")}`;
  if (isWhole) return `${all}: as they were written.`;
  return `${all}: not what was written, in ${counted(problems.length, "place", "places")}.`;
}

/** @param {number} count @param {string} one @param {string} many */
function counted(count, one, many) {
  return `${count} ${count === 1 ? one : many}`;
}
