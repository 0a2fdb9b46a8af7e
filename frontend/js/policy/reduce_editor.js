/**
 * The policy editor: read, change, save, and what to do when another user was faster.
 *
 * @import { Inherited, Problem } from "./document.js"
 * @import { State, Reducer, Stored } from "./state.js"
 */

import { p } from "../strings/policy.js";
import { STAGES, handlersOf, isSame, pretty, readDocument, withPreset } from "./document.js";
import { announced, asking, confirming, emptyEditor, failed, focused, patched, withEffects } from "./state.js";

const MAX_CHECKED_CHARS = 8192; // that the server reads without storing it

/** Return the draft, its problems, and whether it differs from the stored document and can be saved. @param {State} state */
export function draftOf({ editor: { base, conflict, phase, refused, text } }) {
  const { document, problems } = readDocument(text);
  const isDirty = base !== null && (problems.length > 0 || !isSame(document, base.document));
  // What the server refused may be tried again as it is: a handler may be there by now.
  const canSave = phase === "ready" && conflict === null && problems.length === 0 && isDirty;
  const said = refused.map(({ path, message }) => ({ path, message: p.editor.notAccepted(message) }));
  return { document, problems, all: [...problems, ...said], isDirty, canSave };
}

/** Return what the draft inherits. @param {State} state @returns {Inherited} */
export function inherited({ editor: { base, effective, scope } }) {
  const stages = STAGES.map((name) => {
    const stored = base?.document[name];
    const inForce = handlersOf(effective[name]);
    const isOwn = (/** @type {import("./document.js").Handler} */ handler) =>
      scope === "operator" && handlersOf(stored).some((one) => isSame({ [name]: [one] }, { [name]: [handler] }));
    const open = stored ? null : inForce.filter(({ locked }) => !locked);
    return [name, { locked: inForce.filter((handler) => handler.locked && !isOwn(handler)), open }];
  });
  return Object.fromEntries(stages);
}

/** @param {State} state */
export function loading(state) {
  const { phase, scope } = state.editor;
  return phase === "saving" ? state : asking(state, "editor", { type: "load_policy", scope }, { retry: "load_policy" });
}

/** Change the text and have the server check it. @param {State} state @param {string} text */
function edited(state, text) {
  const next = patched(state, "editor", { text, saved: null, failure: null });
  const { document, problems, isDirty } = draftOf(next);
  const asked = JSON.stringify(document);
  if (problems.length || !isDirty || asked.length > MAX_CHECKED_CHARS) return patched(next, "editor", { refused: [] });
  return withEffects(next, { type: "check", text: asked, of: text });
}

/** @type {Reducer} */
function requestFailed(state, { type, failure }) {
  const { code, message, path } = failure;
  const ready = patched(state, "editor", { phase: "ready" });
  if (code === "version_stale") return loading(ready); // what is read then is the conflict
  const retry = type === "save_policy_failed" ? "save" : "load_policy";
  if (path === null) return failed(patched(ready, "editor", { retry }), "editor", failure);
  const refused = [{ path, message }];
  return announced(focused(patched(ready, "editor", { refused }), "editor"), p.editor.refused(path, message));
}

/** Keep what the server has found, unless the text has changed since. @param {State} state @param {string} of @param {readonly Problem[]} refused */
const checked = (state, of, refused) => (of === state.editor.text ? patched(state, "editor", { refused }) : state);

/** @type {Record<string, Reducer>} */
export const EDITOR_REDUCERS = {
  load_policy: loading,

  /** Replace the text by what was read, unless it has changes: then show the conflict. */
  policy_loaded(state, { scope, schema, effective, document, etag }) {
    const { base: known, phase, saved } = state.editor;
    if (scope !== state.editor.scope || phase === "saving") return state; // too late
    /** @type {Stored} */
    const base = { document, etag };
    const read = patched(state, "editor", { phase: "ready", schema, effective, failure: null });
    const fresh = patched(read, "editor", { base, conflict: null });
    if (!draftOf(state).isDirty) {
      const isKnown = known !== null && isSame(known.document, document); // as the user writes it
      return patched(fresh, "editor", isKnown ? {} : { text: pretty(document), saved });
    }
    if (known?.etag === etag) return fresh;
    const already = p.editor.alreadySaved;
    if (!draftOf(fresh).isDirty) return announced(patched(fresh, "editor", { saved: already }), already);
    const conflicting = patched(read, "editor", { conflict: base, saved: null });
    return announced(focused(conflicting, "conflict-title"), p.editor.changedElsewhere);
  },

  load_policy_failed: requestFailed,
  save_policy_failed: requestFailed,
  edit_text: (state, { value }) => edited(state, value),
  checked: (state, { of }) => checked(state, of, []),
  check_failed: (state, { of, failure: { path, message } }) =>
    checked(state, of, path === null ? [] : [{ path, message }]),

  /** Switch a preset, which writes the document anew. */
  preset(state, { name, value }) {
    const { document, problems } = draftOf(state);
    return problems.length
      ? announced(state, p.editor.fixFirst)
      : edited(state, pretty(withPreset(name, value, document, inherited(state))));
  },
  read_yaml: (state) => asking(state, "editor", { type: "read_yaml", text: state.editor.text }),
  yaml_read(state, { document }) {
    const read = edited(patched(state, "editor", { phase: "ready", refused: [] }), pretty(document));
    return announced(focused(read, "save"), p.editor.filledIn);
  },
  read_yaml_failed: requestFailed,
  go_to: (state, { line }) => withEffects(state, { type: "line", line: Number(line) }),

  /** Save the draft, or say what prevents it and move the focus there. */
  save(state) {
    const { base, conflict, phase, scope } = state.editor;
    if (!base || phase !== "ready") return state;
    if (conflict) return announced(focused(state, "conflict-title"), p.editor.changedElsewhere);
    const { document, problems, isDirty } = draftOf(state);
    if (problems.length) return announced(focused(state, "editor"), p.editor.notSaved);
    if (!isDirty) return announced(state, p.editor.noChanges);
    const sent = { type: /** @type {const} */ ("save_policy"), scope, etag: base.etag, document };
    return asking(state, "editor", sent, { phase: "saving", refused: [] });
  },

  /** Keep what was changed while it was saved; it waits for the next saving. */
  policy_saved(state, { version, etag, document }) {
    if (state.editor.phase !== "saving") return state; // of a document that was left meanwhile
    const saved = p.editor.saved(version);
    const ready = patched(state, "editor", { phase: "ready", base: { document, etag }, saved });
    return loading(announced(ready, saved)); // what is in force has changed with it
  },

  /** Choose another document, or read this one again; ask first if there are changes. */
  choose_scope(state, { value, isConfirmed }) {
    const { scope } = state.editor;
    if (value === scope) return state;
    const event = { type: "choose_scope", value };
    if (draftOf(state).isDirty && !isConfirmed) return confirming(state, p.editor.discard, event);
    return loading({ ...state, editor: emptyEditor(value === "reload" ? scope : value) });
  },

  keep_mine: mineKept,
  take_theirs(state) {
    const { conflict } = state.editor;
    return conflict ? mineKept(edited(state, pretty(conflict.document))) : state;
  },
};

/** Keep the draft over what is stored now; it still has to be saved. @param {State} state */
function mineKept(state) {
  const { conflict: base } = state.editor;
  return base ? focused(patched(state, "editor", { base, conflict: null }), "save", "policy-title") : state;
}
