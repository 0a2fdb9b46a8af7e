/**
 * The only place where the policy page's state changes: `reduce(state, event)` is
 * the next state, with the effects that `main` is to carry out.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").View} View
 * @typedef {import("./state.js").Scope} Scope
 * @typedef {import("./state.js").Failure} Failure
 *
 * @typedef {import("./reduce_editor.js").EditorEvent} EditorEvent
 * @typedef {import("./reduce_audit.js").AuditEvent} AuditEvent
 * @typedef {import("./reduce_remembered.js").RememberedEvent} RememberedEvent
 * @typedef {import("./reduce_verification.js").VerificationEvent} VerificationEvent
 *
 * @typedef {{type: "show", view: View, filter?: import("./state.js").Filter}
 *   | {type: "who", who: import("./state.js").Who}
 *   | {type: "looked"}
 *   | EditorEvent
 *   | AuditEvent
 *   | RememberedEvent
 *   | VerificationEvent} Event
 *   show: without a filter, the audit log as it was asked for last
 *   looked: the user is back at this tab
 */

import * as audit from "./reduce_audit.js";
import * as editor from "./reduce_editor.js";
import * as remembered from "./reduce_remembered.js";
import * as verification from "./reduce_verification.js";
import { NO_FILTER, initialState } from "./state.js";

/** @param {State} before @param {Event} event @returns {State} */
export function reduce(before, event) {
  const state = { ...before, effects: [] };
  switch (event.type) {
    case "show":
      return begun({ ...state, view: event.view }, event.filter);
    case "who":
      return known(state, event.who);
    case "looked":
      return looked(state);
    case "load_policy":
      return editor.loading(state);
    case "policy_loaded":
      return editor.loaded(state, event);
    case "policy_failed":
      return editor.failed(state, event.failure);
    case "edit":
      return editor.edited(state, event.edit);
    case "undo":
      return editor.undone(state);
    case "show_text":
      return editor.textShown(state, event.isText);
    case "edit_text":
      return editor.textEdited(state, event.text);
    case "save":
      return editor.saving(state);
    case "policy_saved":
      return editor.saved(state, event);
    case "choose_scope":
      return editor.wished(state, event.scope);
    case "reload":
      return editor.wished(state, "reload");
    case "discard":
      return editor.discarded(state);
    case "stay":
      return editor.stayed(state);
    case "take_stage":
      return editor.stageTaken(state, event.stage);
    case "keep_mine":
      return editor.mineKept(state);
    case "take_theirs":
      return editor.theirsTaken(state);
    case "ask_audit":
      return audit.filtered(state, state.audit.fields);
    case "clear_filter":
      return audit.filtered(state, NO_FILTER);
    case "edit_filter":
      return audit.fieldEdited(state, event);
    case "exporting":
      return audit.exporting(state);
    case "more_audit":
      return audit.continued(state);
    case "audit_loaded":
      return audit.loaded(state, event);
    case "audit_failed":
      return audit.failed(state, event);
    case "toggle_entry":
      return audit.toggled(state, event.id);
    case "verify":
      return verification.verifying(state);
    case "verified":
      return verification.verified(state, event.found);
    case "verify_failed":
      return verification.failed(state, event.failure);
    case "load_approvals":
      return remembered.loading(state);
    case "approvals_loaded":
      return remembered.loaded(state, event.approvals);
    case "approvals_failed":
      return remembered.failed(state, event.failure);
    case "search_approvals":
      return remembered.searched(state, event.text);
    case "ask_revoke":
      return remembered.asking(state, event.id);
    case "keep_approval":
      return remembered.kept(state);
    case "revoke":
      return remembered.revoking(state);
    case "revoked":
      return remembered.revoked(state, event.id);
  }
}

/** A view reads what it shows when it is opened: the others may have changed it. @param {State} state @returns {State} */
function begun(state, filter = state.audit.filter) {
  switch (state.view) {
    case "policy":
      return editor.loading(state);
    case "audit":
      return audit.asked(state, filter);
    case "approvals":
      return remembered.loading(state);
  }
}

/** Somebody else has logged in in another tab: nothing of the one before is theirs. @param {State} state @param {import("./state.js").Who} who @returns {State} */
function known(state, who) {
  if (!state.who || state.who.user === who.user) return { ...state, who };
  const fresh = initialState();
  const audit = { ...fresh.audit, question: state.audit.question }; // an answer under way is not for them either
  return begun({ ...fresh, who, audit, view: state.view }, state.audit.filter); // which stands in the address
}

/** What others do shows without a reload; the audit log is left where it is being read. @param {State} state */
function looked(state) {
  return state.view === "audit" ? state : begun(state);
}
