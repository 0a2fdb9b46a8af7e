/**
 * Approvals that are remembered for good: listed, and revoked after one more
 * question; nothing but a new approval brings one back.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Remembered} Remembered
 * @typedef {import("./state.js").Approval} Approval
 *
 * @typedef {{type: "load_approvals"}
 *   | {type: "approvals_loaded", approvals: Approval[]}
 *   | {type: "approvals_failed", failure: import("./state.js").Failure}
 *   | {type: "search_approvals", text: string}
 *   | {type: "ask_revoke", id: string}
 *   | {type: "keep_approval"}
 *   | {type: "revoke"}
 *   | {type: "revoked", id: string}} RememberedEvent
 */

import { announced, withEffects } from "./state.js";

/** @param {State} state @param {Partial<Remembered>} change @returns {State} */
function withRemembered(state, change) {
  return { ...state, remembered: { ...state.remembered, ...change } };
}

/** @param {State} state @returns {State} */
export function loading(state) {
  return withEffects(withRemembered(state, { phase: "loading", failure: null }), { type: "load_approvals" });
}

/** @param {State} state @param {Approval[]} approvals @returns {State} */
export function loaded(state, approvals) {
  const { asking } = state.remembered;
  const isThere = approvals.some(({ id }) => id === asking);
  return withRemembered(state, { phase: "ready", approvals, asking: isThere ? asking : null });
}

/** @param {State} state @param {string} search @returns {State} */
export function searched(state, search) {
  const next = withRemembered(state, { search, asking: null });
  const count = found(next.remembered).length;
  return announced(next, `${count} of ${next.remembered.approvals.length}`);
}

/** Those that are shown: upper and lower case do not differ. @param {Remembered} remembered */
export function found({ approvals, search }) {
  const wanted = search.trim().toLowerCase();
  return approvals.filter(({ tool, shown }) => `${tool} ${shown}`.toLowerCase().includes(wanted));
}

/** @param {State} state @param {import("./state.js").Failure} failure @returns {State} */
export function failed(state, failure) {
  const { revoking } = state.remembered;
  const ready = withRemembered(state, { phase: "ready", failure, revoking: null });
  // somebody else has revoked it: that is what was wanted
  if (failure.code === "approval_unknown" && revoking)
    return revoked(withRemembered(ready, { failure: null }), revoking);
  return announced(ready, failure.message);
}

/** @param {State} state @param {string} id @returns {State} */
export function asking(state, id) {
  if (state.remembered.revoking) return state;
  return withEffects(withRemembered(state, { asking: id, failure: null }), { type: "focus", ids: [`keep-${id}`] });
}

/** @param {State} state @returns {State} */
export function kept(state) {
  const { asking: id } = state.remembered;
  if (id === null) return state;
  return withEffects(withRemembered(state, { asking: null }), { type: "focus", ids: [`revoke-${id}`] });
}

/** @param {State} state @returns {State} */
export function revoking(state) {
  const { asking: id } = state.remembered;
  if (id === null) return state;
  return withEffects(withRemembered(state, { asking: null, revoking: id }), { type: "revoke", id });
}

/** @param {State} state @param {string} id @returns {State} */
export function revoked(state, id) {
  const { approvals } = state.remembered;
  const gone = approvals.find((approval) => approval.id === id);
  const others = approvals.filter((approval) => approval !== gone);
  const shown = found(state.remembered);
  const at = shown.findIndex((approval) => approval === gone);
  const next = shown[at + 1] ?? shown[at - 1];
  const ids = [...(next ? [`revoke-${next.id}`] : []), "approvals-title"];
  const left = withEffects(withRemembered(state, { approvals: others, revoking: null }), { type: "focus", ids });
  return announced(left, `Revoked. You will be asked about ${gone?.tool ?? "it"} again.`);
}
