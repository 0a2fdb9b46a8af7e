/**
 * Approvals that are remembered for good: listed, and revoked after one more
 * question; nothing but a new approval brings one back.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Remembered} Remembered
 * @typedef {import("./state.js").Approval} Approval
 */

import { announced, focused, withEffects } from "./state.js";

/** @param {State} state @param {Partial<Remembered>} change @returns {State} */
function withRemembered(state, change) {
  return { ...state, remembered: { ...state.remembered, ...change } };
}

/** @param {State} state @returns {State} */
export function loading(state) {
  return withEffects(withRemembered(state, { phase: "loading", failure: null }), { type: "load_approvals" });
}

/** Those that are shown: upper and lower case do not differ. @param {Remembered} remembered */
export function found({ approvals, search }) {
  const wanted = search.trim().toLowerCase();
  return approvals.filter(({ tool, shown }) => `${tool} ${shown}`.toLowerCase().includes(wanted));
}

/** @param {State} state @param {{failure: import("./state.js").Failure}} event */
function failed(state, { failure }) {
  const { revoking } = state.remembered;
  const ready = withRemembered(state, { phase: "ready", failure, revoking: null });
  if (failure.code !== "approval_unknown" || !revoking) return announced(ready, failure.message);
  return revoked(withRemembered(ready, { failure: null }), revoking); // somebody else has: that is what was wanted
}

/** @type {Record<string, import("./state.js").Step>} */
export const REMEMBERED_STEPS = {
  load_approvals: loading,

  /** @param {State} state @param {{approvals: Approval[]}} event */
  approvals_loaded(state, { approvals }) {
    const { asking } = state.remembered;
    const isThere = approvals.some(({ id }) => id === asking);
    return withRemembered(state, { phase: "ready", approvals, asking: isThere ? asking : null });
  },

  load_approvals_failed: failed,
  revoke_failed: failed,

  /** @param {State} state @param {{value: string}} event */
  search_approvals(state, { value: search }) {
    const next = withRemembered(state, { search, asking: null });
    return announced(next, `${found(next.remembered).length} of ${next.remembered.approvals.length}`);
  },

  /** @param {State} state @param {{id: string}} event */
  ask_revoke(state, { id }) {
    if (state.remembered.revoking) return state;
    return focused(withRemembered(state, { asking: id, failure: null }), `keep-${id}`);
  },

  keep_approval(state) {
    const { asking: id } = state.remembered;
    return id === null ? state : focused(withRemembered(state, { asking: null }), `revoke-${id}`);
  },

  revoke(state) {
    const { asking: id } = state.remembered;
    if (id === null) return state;
    return withEffects(withRemembered(state, { asking: null, revoking: id }), { type: "revoke", id });
  },

  /** @param {State} state @param {{id: string}} event */
  revoked: (state, { id }) => revoked(state, id),
};

/** @param {State} state @param {string} id @returns {State} */
function revoked(state, id) {
  const { approvals } = state.remembered;
  const gone = approvals.find((approval) => approval.id === id);
  const shown = found(state.remembered);
  const at = shown.findIndex((approval) => approval === gone);
  const next = shown[at + 1] ?? shown[at - 1];
  const rest = withRemembered(state, { approvals: approvals.filter((one) => one !== gone), revoking: null });
  const left = focused(rest, ...(next ? [`revoke-${next.id}`] : []), "approvals-title");
  return announced(left, `Revoked. You will be asked about ${gone?.tool ?? "it"} again.`);
}
