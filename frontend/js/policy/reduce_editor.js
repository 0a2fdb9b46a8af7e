/**
 * The policy editor: read, change, save, and what to do when somebody else was faster.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Editor} Editor
 * @typedef {import("./state.js").Failure} Failure
 * @typedef {import("./state.js").Scope} Scope
 * @typedef {import("./document.js").PolicyDocument} PolicyDocument
 * @typedef {import("./document.js").Draft} Draft
 * @typedef {import("./document.js").Stage} Stage
 * @typedef {import("./document.js").Problem} Problem
 * @typedef {import("./edits.js").Edit} Edit
 */

import { differing, documentOf, draftOf, fitsForm, isSame, placeOf, readDocument } from "./document.js";
import { EDITS, withStage } from "./edits.js";
import { announced, emptyEditor, focused, withEffects } from "./state.js";

const MAX_UNDO = 100;
const CHANGED_ELSEWHERE = "The policy was changed elsewhere. Compare and decide.";
const UNSHOWN = { path: "$", message: "the form cannot show this document; save it to see what is wrong" };

/** @param {State} state @param {Partial<Editor>} change @returns {State} */
function withEditor(state, change) {
  return { ...state, editor: { ...state.editor, ...change } };
}

/** The document under the user's hands, and what keeps it from being sent. @param {Editor} editor */
function written({ draft, text }) {
  return text === null ? documentOf(draft) : readDocument(text);
}

/** @param {State} state */
export function isDirty({ editor }) {
  const { document, problems } = written(editor);
  return editor.base !== null && (problems.length > 0 || !isSame(document, editor.base.document));
}

/** What stands in the way of saving, and what the server found in what was sent. @param {State} state @returns {Problem[]} */
export function problemsOf({ editor }) {
  return [...written(editor).problems, ...editor.refused];
}

/** What the server refused may be tried again as it is: a handler may be there by now. @param {State} state */
export function canSave(state) {
  const { phase, conflict } = state.editor;
  return phase === "ready" && conflict === null && written(state.editor).problems.length === 0 && isDirty(state);
}

/** The handlers that this document can neither remove nor reorder. @param {State} state @param {Stage} stage */
export function lockedBelow({ editor }, stage) {
  const own = editor.scope === "operator" ? (editor.base?.document[stage]?.handlers ?? []) : [];
  const isOwn = new Set(own.map((handler) => JSON.stringify(handler)));
  const inForce = editor.effective[stage]?.handlers ?? [];
  return inForce.filter((handler) => handler.locked && !isOwn.has(JSON.stringify(handler)));
}

/** Handlers of the document below that are in force; null = they cannot be known from here. @param {State} state @param {Stage} stage */
export function openBelow({ editor }, stage) {
  if (editor.base?.document[stage]) return null;
  const inForce = editor.effective[stage];
  return inForce?.enabled === false ? [] : (inForce?.handlers ?? []).filter(({ locked }) => !locked);
}

/** @param {State} state @returns {State} */
export function loading(state) {
  const { phase, scope } = state.editor;
  if (phase === "saving") return state;
  const reading = withEditor(state, { phase: "loading", failure: null, isUnsaved: false });
  return withEffects(reading, { type: "load_policy", scope });
}

/** The focus goes to the field of the first problem. @param {State} state @param {readonly Problem[]} problems */
function atProblem(state, problems) {
  if (state.editor.text !== null) return focused(state, "policy-text");
  const place = problems.map(placeOf).find((found) => found !== null);
  if (!place) return state;
  const key = state.editor.draft.stages[/** @type {Stage} */ (place.stage)]?.handlers[place.index]?.key;
  return focused(state, `${place.field || "type"}-${key}`);
}

/** @param {State} state @param {Draft} draft @param {readonly Draft[]} past @param {string | null} [typing] */
function drafted(state, draft, past, typing = null) {
  return withEditor(state, { draft, past: past.slice(-MAX_UNDO), typing, refused: [], saved: null, failure: null });
}

/** What was before the change can be undone to; letters typed into one field in a row are one change. @param {State} state @param {Draft} next @param {string | null} field */
function changed(state, next, field) {
  const { draft, past, typing } = state.editor;
  const isGoingOn = field !== null && field === typing;
  return drafted(state, next, isGoingOn ? past : [...past, draft], field);
}

/** @param {State} state @param {any} edit see EDITS */
function edited(state, edit) {
  const { draft } = state.editor;
  const next = EDITS[/** @type {Edit} */ (edit).type](draft, edit, openBelow(state, edit.stage) ?? []);
  if (next === draft) return state;
  const isTyped = edit.type === "set" || edit.type === "set_argument";
  const field = isTyped ? JSON.stringify([edit.stage, edit.key, edit.row, edit.name]) : null;
  return followed(changed(state, next, field), edit, draft);
}

/** Where the focus goes, and what is said, when what had it has moved or gone. @param {State} state @param {Edit & {by: string}} edit @param {Draft} before */
function followed(state, { type, stage, key, by }, before) {
  const handlers = state.editor.draft.stages[stage]?.handlers ?? [];
  switch (type) {
    case "add":
      return focused(state, `type-${handlers.at(-1)?.key}`);
    case "add_argument":
      return focused(state, `argument-h${before.next}`);
    case "remove": {
      const old = before.stages[stage]?.handlers ?? [];
      const gone = old.findIndex((handler) => handler.key === key);
      const next = handlers[Math.min(gone, handlers.length - 1)];
      const left = focused(state, ...(next ? [`remove-${next.key}`] : []), `add-${stage}`);
      return announced(left, `${old[gone]?.type} removed. Undo restores it.`);
    }
    case "move": {
      const at = handlers.findIndex((handler) => handler.key === key);
      const [first, second] = Number(by) < 0 ? ["up", "down"] : ["down", "up"];
      const place = `${handlers[at]?.type} is number ${at + 1} of ${handlers.length}`;
      return announced(focused(state, `${first}-${key}`, `${second}-${key}`), place);
    }
    default:
      return state;
  }
}

/** The draft becomes `next`, on what is stored as `base`; the text follows, if it is shown. @param {State} state @param {Draft} next @param {Partial<Editor>} [change] */
function replaced(state, next, change = {}) {
  const { draft, past, text } = state.editor;
  const shown = text && pretty(documentOf(next).document);
  return withEditor(drafted(state, next, [...past, draft]), { text: shown, ...change });
}

/** The draft stays as it is, over what is stored now; saving it is a step of its own. @param {State} state */
function mineKept(state) {
  const { conflict: base } = state.editor;
  return base ? focused(withEditor(state, { base, conflict: null }), "save", "policy-title") : state;
}

/** @param {PolicyDocument} document */
function pretty(document) {
  return JSON.stringify(document, null, 2);
}

/** @param {State} state @param {{failure: Failure}} event */
function failed(state, { failure }) {
  const isUnsaved = state.editor.phase === "saving";
  const ready = withEditor(state, { phase: "ready" });
  const { code, message, path } = failure;
  if (code === "version_stale") return loading(ready); // what is read then is the conflict
  if (path === null) return announced(withEditor(ready, { failure, isUnsaved }), message);
  const refused = [{ path, message }];
  return atProblem(announced(withEditor(ready, { refused }), `Not saved. ${path}: ${message}`), refused);
}

/** @type {Record<string, import("./state.js").Step>} */
export const EDITOR_STEPS = {
  ...Object.fromEntries(Object.keys(EDITS).map((name) => [name, edited])),
  load_policy: loading,

  /**
   * What was read replaces the draft, unless there are changes in it: then it is shown beside them.
   *
   * @param {State} state @param {{scope: Scope, kinds: Editor["kinds"], effective: PolicyDocument, document: PolicyDocument, etag: string}} event
   */
  policy_loaded(state, { scope, kinds, effective, document, etag }) {
    const { editor } = state;
    if (scope !== editor.scope || editor.phase === "saving") return state; // too late
    const read = withEditor(state, { phase: "ready", kinds, effective, failure: null });
    const base = { document, etag };
    const isKnown = editor.base?.etag === etag;
    if (!isDirty(state)) {
      const fresh = { base, draft: draftOf(document), past: [], refused: [], conflict: null };
      return isKnown ? read : withEditor(read, { ...fresh, text: editor.text && pretty(document) });
    }
    const known = withEditor(read, { base, conflict: null });
    if (isKnown) return known;
    const mine = written(editor);
    if (mine.problems.length === 0 && isSame(mine.document, document)) {
      const saved = "Already saved.";
      return announced(withEditor(known, { saved }), saved);
    }
    const conflicting = withEditor(read, { conflict: base, saved: null });
    return announced(focused(conflicting, "conflict-title"), CHANGED_ELSEWHERE);
  },

  load_policy_failed: failed,
  save_policy_failed: failed,

  undo(state) {
    const { past } = state.editor;
    const before = past.at(-1);
    return before ? announced(drafted(state, before, past.slice(0, -1)), "Last change undone.") : state;
  },

  show_text(state) {
    const { document, problems } = documentOf(state.editor.draft);
    if (problems.length) return announced(atProblem(state, problems), "Fix the marked problems first.");
    return withEditor(state, { text: state.editor.text ?? pretty(document) });
  },

  /** A text that the form cannot show is not left. */
  show_form(state) {
    const { document, problems } = written(state.editor);
    if (problems.length) return announced(state, "Fix the marked problems first.");
    if (fitsForm(document)) return withEditor(state, { text: null });
    return announced(withEditor(state, { refused: [UNSHOWN] }), UNSHOWN.message);
  },

  /** @param {State} state @param {{value: string}} event */
  edit_text(state, { value: text }) {
    const { document, problems } = readDocument(text);
    const isShown = !problems.length && fitsForm(document);
    const next = isShown ? changed(state, draftOf(document), "text") : state;
    return withEditor(next, { text, refused: [], saved: null });
  },

  /** What is in the way is said, and the focus goes there. */
  save(state) {
    const { base, conflict, phase, scope } = state.editor;
    if (!base || phase !== "ready") return state;
    if (conflict) return announced(focused(state, "conflict-title"), CHANGED_ELSEWHERE);
    const { document, problems } = written(state.editor);
    if (problems.length) return announced(atProblem(state, problems), "Not saved. Fix the marked problems first.");
    if (!isDirty(state)) return announced(state, "No changes to save.");
    const busy = withEditor(state, { phase: "saving", failure: null, isUnsaved: false, refused: [] });
    return withEffects(busy, { type: "save_policy", scope, etag: base.etag, document });
  },

  /** What was changed meanwhile stays, and waits for the next saving. @param {State} state @param {{version: number, etag: string, document: PolicyDocument}} event */
  policy_saved(state, { version, etag, document }) {
    if (state.editor.phase !== "saving") return state; // of a document that was left meanwhile
    const saved = `Saved: version ${version}.`;
    const ready = withEditor(state, { phase: "ready", base: { document, etag }, saved, typing: null });
    return loading(announced(ready, saved)); // what is in force has changed with it
  },

  /** Another document is chosen, or this one is to be read again: changes ask first. @param {State} state @param {{value: Scope | "reload"}} event */
  choose_scope(state, { value: wish }) {
    if (wish === state.editor.scope) return withEditor(state, { wish: null });
    const wishing = withEditor(state, { wish });
    if (!isDirty(state)) return discarded(wishing);
    return announced(focused(wishing, "stay"), "You have unsaved changes.");
  },

  stay: (state) => focused(withEditor(state, { wish: null }), "policy-title"),
  discard: (state) => discarded(state),

  /** @param {State} state @param {{stage: Stage}} event */
  take_stage(state, { stage }) {
    const { conflict, draft } = state.editor;
    if (!conflict) return state;
    const { stages, next } = draftOf(conflict.document, draft.next);
    const taken = replaced(state, withStage({ ...draft, next }, stage, stages[stage]));
    const isSettled = differing(documentOf(taken.editor.draft).document, conflict.document).length === 0;
    return isSettled ? mineKept(taken) : focused(taken, "conflict-title"); // the button that was pressed is gone
  },

  keep_mine: mineKept,

  take_theirs(state) {
    const { conflict: base, draft } = state.editor;
    if (!base) return state;
    const theirs = draftOf(base.document, draft.next);
    return focused(replaced(state, theirs, { base, conflict: null }), "policy-title");
  },
};

/** The changes go, and what waited for that happens. @param {State} state @returns {State} */
function discarded(state) {
  const { wish, scope, kinds } = state.editor;
  if (wish === null) return state;
  const emptied = loading({ ...state, editor: { ...emptyEditor(wish === "reload" ? scope : wish), kinds } });
  return isDirty(state) ? focused(emptied, "policy-title") : emptied; // the question is gone that had the focus
}
