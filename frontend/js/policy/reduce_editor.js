/**
 * The policy editor: read, change, save, and what to do when somebody else was faster.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Scope} Scope
 * @typedef {import("./state.js").Failure} Failure
 * @typedef {import("./document.js").PolicyDocument} PolicyDocument
 * @typedef {import("./document.js").Draft} Draft
 * @typedef {import("./document.js").Stage} Stage
 * @typedef {import("./document.js").Problem} Problem
 * @typedef {import("./edits.js").Edit} Edit
 *
 * @typedef {{type: "load_policy"}
 *   | Loaded
 *   | {type: "policy_failed", failure: Failure}
 *   | {type: "edit", edit: Edit}
 *   | {type: "undo"}
 *   | {type: "show_text", isText: boolean}
 *   | {type: "edit_text", text: string}
 *   | {type: "save"}
 *   | {type: "policy_saved", version: number, etag: string, document: PolicyDocument}
 *   | {type: "choose_scope", scope: Scope}
 *   | {type: "reload"}
 *   | {type: "discard"}
 *   | {type: "stay"}
 *   | {type: "take_stage", stage: Stage}
 *   | {type: "keep_mine"}
 *   | {type: "take_theirs"}} EditorEvent
 *
 * @typedef {object} Loaded
 * @property {"policy_loaded"} type
 * @property {Scope} scope
 * @property {import("./state.js").Kind[]} kinds
 * @property {PolicyDocument} effective
 * @property {PolicyDocument} document
 * @property {string} etag
 */

import { checkDocument, placeOf, readDocument } from "./check.js";
import { differing } from "./compare.js";
import { canonical, documentOf, draftOf } from "./document.js";
import { edited as draftEdited, withStage } from "./edits.js";
import { announced, emptyEditor, withEditor, withEffects } from "./state.js";

const MAX_UNDO = 100;

/** @param {State} state */
export function isDirty({ editor }) {
  const { base, draft, text, textProblems } = editor;
  if (!base) return false;
  const { document, problems } = documentOf(draft);
  const isUnread = text !== null && textProblems.length > 0;
  return isUnread || problems.length > 0 || JSON.stringify(document) !== canonical(base.document);
}

/** What stands in the way of saving. @param {State} state @returns {Problem[]} */
function ownProblems({ editor }) {
  const { draft, kinds, scope, textProblems } = editor;
  if (textProblems.length) return [...textProblems];
  const { document, problems } = documentOf(draft);
  return [...problems, ...checkDocument(document, kinds, { mayLock: scope === "operator" })];
}

/** And what the server found in what was sent. @param {State} state @returns {Problem[]} */
export function problemsOf(state) {
  return [...ownProblems(state), ...state.editor.refused];
}

/** What the server refused may be tried again as it is: a handler may be there by now. @param {State} state */
export function canSave(state) {
  const { phase, conflict, base } = state.editor;
  const isIdle = base !== null && phase === "ready" && conflict === null;
  return isIdle && ownProblems(state).length === 0 && isDirty(state);
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

/**
 * What was read replaces the draft, unless there are changes in it: then it is shown beside them.
 *
 * @param {State} state @param {Loaded} event
 * @returns {State}
 */
export function loaded(state, { scope, kinds, effective, document, etag }) {
  const { editor } = state;
  if (scope !== editor.scope || editor.phase === "saving") return state; // too late
  const read = { phase: /** @type {const} */ ("ready"), kinds, effective, failure: null };
  const isKnown = editor.base?.etag === etag;
  if (!isDirty(state)) {
    const fresh = { base: { document, etag }, draft: draftOf(document), past: [], refused: [], conflict: null };
    return withEditor(state, isKnown ? read : { ...read, ...fresh, text: editor.text && pretty(document) });
  }
  const known = withEditor(state, { ...read, base: { document, etag }, conflict: null });
  if (isKnown) return known;
  if (differing(documentOf(editor.draft).document, document).length === 0) {
    const saved = "This is what is stored.";
    return announced(withEditor(known, { saved }), saved);
  }
  return announced(
    withEffects(withEditor(state, { ...read, conflict: { document, etag }, saved: null }), TO_CONFLICT),
    "The policy was changed elsewhere. Compare and decide.",
  );
}

/** @param {State} state @param {Failure} failure @returns {State} */
export function failed(state, failure) {
  const isUnsaved = state.editor.phase === "saving";
  const ready = withEditor(state, { phase: "ready" });
  if (failure.code === "version_stale") return loading(ready); // what is read then is the conflict
  if (failure.path === null) return announced(withEditor(ready, { failure, isUnsaved }), failure.message);
  const refused = [{ path: failure.path, message: failure.message }];
  const told = announced(withEditor(ready, { refused }), `Not saved. ${failure.path}: ${failure.message}`);
  return atProblem(told, refused);
}

/** @type {import("./state.js").Effect} */
const TO_CONFLICT = { type: "focus", ids: ["conflict-title"] };
/** @type {import("./state.js").Effect} */
const TO_TITLE = { type: "focus", ids: ["policy-title"] };

/** The focus goes to the field of the first problem. @param {State} state @param {readonly Problem[]} problems @returns {State} */
function atProblem(state, problems) {
  if (state.editor.text !== null) return withEffects(state, { type: "focus", ids: ["policy-text"] });
  const place = problems.map(placeOf).find((found) => found !== null);
  if (!place) return state;
  const key = state.editor.draft.stages[/** @type {Stage} */ (place.stage)]?.handlers[place.index]?.key;
  return withEffects(state, { type: "focus", ids: [`${place.field || "type"}-${key}`] });
}

/** @param {State} state @param {Draft} draft @param {readonly Draft[]} past @param {string | null} [typing] @returns {State} */
function drafted(state, draft, past, typing = null) {
  const change = { draft, past: past.slice(-MAX_UNDO), typing };
  return withEditor(state, { ...change, refused: [], saved: null, failure: null });
}

/** What was before the change can be undone to; letters typed into one field in a row are one change. @param {State} state @param {Draft} next @param {string | null} field @returns {State} */
function changed(state, next, field) {
  const { draft, past, typing } = state.editor;
  const isGoingOn = field !== null && field === typing;
  return drafted(state, next, isGoingOn ? past : [...past, draft], field);
}

/** The field that is typed into; null = a change by itself. @param {Edit} edit */
function fieldOf(edit) {
  if (edit.edit === "set") return JSON.stringify([edit.stage, edit.key, Object.keys(edit.change)]);
  if (edit.edit === "set_argument") return JSON.stringify([edit.stage, edit.row, Object.keys(edit.change)]);
  return null;
}

/** @param {State} state @param {Edit} edit @returns {State} */
export function edited(state, edit) {
  const { draft } = state.editor;
  const next = draftEdited(draft, edit, openBelow(state, edit.stage) ?? []);
  if (next === draft) return state;
  return followed(changed(state, next, fieldOf(edit)), edit, draft);
}

/** Where the focus goes, and what is said, when what had it has moved or gone. @param {State} state @param {Edit} edit @param {Draft} before @returns {State} */
function followed(state, edit, before) {
  const { draft } = state.editor;
  const handlers = draft.stages[edit.stage]?.handlers ?? [];
  switch (edit.edit) {
    case "add":
      return withEffects(state, { type: "focus", ids: [`type-${handlers.at(-1)?.key}`] });
    case "add_argument":
      return withEffects(state, { type: "focus", ids: [`argument-h${before.next}`] });
    case "remove": {
      const old = before.stages[edit.stage]?.handlers ?? [];
      const gone = old.findIndex(({ key }) => key === edit.key);
      const next = handlers[Math.min(gone, handlers.length - 1)];
      const ids = [...(next ? [`remove-${next.key}`] : []), `add-${edit.stage}`];
      return announced(
        withEffects(state, { type: "focus", ids }),
        `${old[gone]?.type} is removed. Undo brings it back.`,
      );
    }
    case "move": {
      const at = handlers.findIndex(({ key }) => key === edit.key);
      const [first, second] = edit.by < 0 ? ["up", "down"] : ["down", "up"];
      const ids = [`${first}-${edit.key}`, `${second}-${edit.key}`];
      const place = `${handlers[at]?.type} is number ${at + 1} of ${handlers.length}`;
      return announced(withEffects(state, { type: "focus", ids }), place);
    }
    default:
      return state;
  }
}

/** @param {State} state @returns {State} */
export function undone(state) {
  const { past } = state.editor;
  const before = past.at(-1);
  if (!before) return state;
  return announced(drafted(state, before, past.slice(0, -1)), "The last change is undone.");
}

/** The other way to write it; a form or a text that is not right yet is not left. @param {State} state @param {boolean} isText @returns {State} */
export function textShown(state, isText) {
  const { document, problems } = documentOf(state.editor.draft);
  if (isText && problems.length === 0) return withEditor(state, { text: pretty(document), textProblems: [] });
  if (!isText && state.editor.textProblems.length === 0) return withEditor(state, { text: null });
  return announced(state, "Mend what is marked first.");
}

/** @param {State} state @param {string} text @returns {State} */
export function textEdited(state, text) {
  const { document, problems } = readDocument(text);
  if (!document) return withEditor(state, { text, textProblems: problems, refused: [], saved: null });
  return withEditor(changed(state, draftOf(document), "text"), { text, textProblems: [] });
}

/** What is in the way is said, and the focus goes there. @param {State} state @returns {State} */
export function saving(state) {
  const { base, conflict, draft, phase, scope } = state.editor;
  if (!base || phase !== "ready") return state;
  if (conflict) return announced(withEffects(state, TO_CONFLICT), "The policy was changed elsewhere. Compare and decide.");
  const problems = ownProblems(state);
  if (problems.length) return announced(atProblem(state, problems), "Not saved: mend what is marked first.");
  if (!isDirty(state)) return announced(state, "There is nothing to save.");
  const { document } = documentOf(draft);
  const busy = withEditor(state, { phase: "saving", failure: null, isUnsaved: false, refused: [] });
  return withEffects(busy, { type: "save_policy", scope, etag: base.etag, document });
}

/** What was changed meanwhile stays, and waits for the next saving. @param {State} state @param {Extract<EditorEvent, {type: "policy_saved"}>} event @returns {State} */
export function saved(state, { version, etag, document }) {
  if (state.editor.phase !== "saving") return state; // of a document that was left meanwhile
  const saved = `Saved: version ${version}.`;
  const ready = withEditor(state, { phase: "ready", base: { document, etag }, saved, typing: null });
  return loading(announced(ready, saved)); // what is in force has changed with it
}

/** @param {State} state @param {Scope | "reload"} wish @returns {State} */
export function wished(state, wish) {
  if (wish === state.editor.scope) return withEditor(state, { wish: null });
  const wishing = withEditor(state, { wish });
  if (!isDirty(state)) return discarded(wishing);
  const asking = withEffects(wishing, { type: "focus", ids: ["stay"] });
  return announced(asking, "There are changes that are not saved.");
}

/** @param {State} state @returns {State} */
export function stayed(state) {
  return withEffects(withEditor(state, { wish: null }), TO_TITLE);
}

/** The changes go, and what waited for that happens. @param {State} state @returns {State} */
export function discarded(state) {
  const { wish, scope, kinds } = state.editor;
  if (wish === null) return state;
  const fresh = emptyEditor(wish === "reload" ? scope : wish);
  const emptied = loading({ ...state, editor: { ...fresh, kinds } });
  return isDirty(state) ? withEffects(emptied, TO_TITLE) : emptied; // the question is gone that had the focus
}

/** @param {State} state @param {Stage} stage @returns {State} */
export function stageTaken(state, stage) {
  const { conflict, draft, past, text } = state.editor;
  if (!conflict) return state;
  const theirs = draftOf(conflict.document).stages[stage];
  const renamed = theirs && {
    ...theirs,
    handlers: theirs.handlers.map((one) => ({ ...one, key: `t${draft.next}-${one.key}` })),
  };
  const next = withStage({ ...draft, next: draft.next + 1 }, stage, renamed);
  const taken = withEditor(drafted(state, next, [...past, draft]), {
    text: text && pretty(documentOf(next).document),
    textProblems: [],
  });
  const isSettled = differing(documentOf(next).document, conflict.document).length === 0;
  return isSettled ? mineKept(taken) : withEffects(taken, TO_CONFLICT); // the button that was pressed is gone
}

/** The draft stays as it is, over what is stored now; saving it is a step of its own. @param {State} state @returns {State} */
export function mineKept(state) {
  const { conflict } = state.editor;
  if (!conflict) return state;
  const kept = withEditor(state, { base: conflict, conflict: null });
  return withEffects(kept, { type: "focus", ids: ["save", "policy-title"] });
}

/** @param {State} state @returns {State} */
export function theirsTaken(state) {
  const { conflict, draft, past, text } = state.editor;
  if (!conflict) return state;
  const taken = drafted(state, draftOf(conflict.document), [...past, draft]);
  return withEffects(
    withEditor(taken, { base: conflict, conflict: null, text: text && pretty(conflict.document), textProblems: [] }),
    TO_TITLE,
  );
}

/** @param {PolicyDocument} document */
function pretty(document) {
  return JSON.stringify(document, null, 2);
}
