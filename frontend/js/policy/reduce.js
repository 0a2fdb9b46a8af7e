/**
 * The only place where the policy page's state changes: `reduce(state, event)` is
 * the next state, with the effects that `main` is to carry out.
 *
 * @import { Event, Filter, State, Reducer, View } from "./state.js"
 */

import { p } from "../strings/policy.js";
import { AUDIT_REDUCERS, asked, filterOf } from "./reduce_audit.js";
import { EDITOR_REDUCERS, loading as loadPolicy } from "./reduce_editor.js";
import { announced, asking, confirming, failed, focused, initialState, patched } from "./state.js";

/** @param {State} state */
const loadApprovals = (state) => asking(state, "remembered", { type: "load_approvals" });

/** Read what a view shows when it is opened, as other users may have changed it. @type {Record<View, (state: State, filter: Filter) => State>} */
const LOADERS = { policy: loadPolicy, audit: asked, approvals: loadApprovals };

/** @type {Reducer} */
function revoked(state, { id }) {
  const { approvals } = state.remembered;
  const at = approvals.findIndex((approval) => approval.id === id);
  const next = approvals[at + 1] ?? approvals[at - 1];
  const left = patched(state, "remembered", { approvals: approvals.toSpliced(at, 1), revoking: null });
  const words = p.approvals.revoked(approvals[at]?.tool ?? "");
  return announced(focused(left, ...(next ? [`revoke-${next.id}`] : []), "approvals-title"), words);
}

/** @type {Record<string, Reducer>} */
const REDUCERS = {
  ...EDITOR_REDUCERS,
  ...AUDIT_REDUCERS,

  /** Open a view; the audit log without a filter as it was searched last. @param {State} state @param {{view: View, filter?: Filter}} event */
  show: (state, { view, filter = state.audit.filter }) => LOADERS[view]({ ...state, view }, filter),

  /** Another user has logged in in another tab: start anew, without anything of the one before. */
  principal(state, { principal }) {
    if (!state.principal || state.principal.user === principal.user) return { ...state, principal };
    const fresh = initialState();
    const audit = { ...fresh.audit, requestId: state.audit.requestId }; // an answer under way is not for them either
    return LOADERS[state.view]({ ...fresh, principal, audit, view: state.view }, state.audit.filter); // as in the address
  },

  /** Read the view again when the user comes back to the tab; the audit log stays where it is being read. */
  refresh: (state) => (state.view === "audit" ? state : LOADERS[state.view](state, state.audit.filter)),

  load_approvals: loadApprovals,
  load_approvals_failed: (state, { failure }) => failed(state, "remembered", failure),
  approvals_loaded: (state, { approvals }) => patched(state, "remembered", { phase: "ready", approvals }),
  revoke(state, { id, isConfirmed }) {
    if (state.remembered.revoking) return state;
    if (!isConfirmed) return confirming(state, p.approvals.confirm, { type: "revoke", id });
    return asking(state, "remembered", { type: "revoke", id }, { phase: "ready", revoking: id });
  },
  revoked,
  revoke_failed(state, { failure }) {
    const { revoking: id } = state.remembered;
    if (failure.code === "approval_unknown") return revoked(state, { id }); // revoked by another user already
    return failed(patched(state, "remembered", { revoking: null }), "remembered", failure);
  },
};

/** @param {State} state @param {Event} event @returns {State} */
export function reduce(state, event) {
  const reducer = REDUCERS[event.type];
  if (!reducer) throw new TypeError(`no reducer for \`${event.type}\``);
  return reducer({ ...state, effects: [] }, event);
}

/** Return the event of a click on an element, by its data-action. @param {DOMStringMap} data @returns {Event} */
export const clicked = ({ action = "", ...data }) => ({ ...data, type: action });

/** Return the event of an input into a field, by its data-field. @param {DOMStringMap} data @param {{type: string, value: string, checked: boolean}} field */
export function entered({ field = "", ...data }, { type, value, checked }) {
  return { ...data, type: field, value: type === "checkbox" ? checked : value };
}

/** Return the view and filter of the page's address; a reload and a shared link lead to the same. @param {string} fragment `#/audit?tool=send` */
export function routeOf(fragment) {
  // A slash begins the fragment: it keeps it apart from the conversations of the other page.
  const [name = "", query = ""] = fragment.slice(2).split(/\?(.*)/s);
  const view = Object.hasOwn(LOADERS, name) ? /** @type {View} */ (name) : "policy";
  return { view, filter: filterOf(query) };
}
