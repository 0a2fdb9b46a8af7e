/**
 * The policy editor: read, change, save, and what to do when somebody else was faster.
 *
 * @import { Draft, Handler, PolicyDocument, Problem, Stage } from "./document.js"
 * @import { Edit } from "./edits.js"
 * @import { State, Step, Stored } from "./state.js"
 */

import { p } from "../strings/policy.js";
import { differing, documentOf, draftOf, fitsForm, isSame, normal, placeOf, readDocument } from "./document.js";
import { EDITS } from "./edits.js";
import { announced, asking, confirming, emptyEditor, failed, focused, patched } from "./state.js";

const MAX_UNDO = 100;
const AUDITED = { handlers: [{ type: "audit_log" }] };
const RECOMMENDED = normal({
  pre_tool_use: { handlers: [...AUDITED.handlers, { type: "dangerous_confirmation" }] },
  post_tool_use: { handlers: [{ type: "security_scan" }, ...AUDITED.handlers] },
  tool_error: AUDITED,
  tool_skip: AUDITED,
});

/** The document under the user's hands, what is wrong with it, and whether it is worth saving and can be saved. @param {State} state */
export function written({ editor: { base, conflict, draft, phase, refused, text } }) {
  const { document, problems } = text === null ? documentOf(draft) : readDocument(text);
  const isDirty = base !== null && (problems.length > 0 || !isSame(document, base.document));
  // What the server refused may be tried again as it is: a handler may be there by now.
  const canSave = phase === "ready" && conflict === null && problems.length === 0 && isDirty;
  return { document, problems, all: [...problems, ...refused], isDirty, canSave };
}

/** The handlers in force that this document can neither remove nor reorder; `open`: the others of the document below, null = they cannot be known from here. @param {State} state @param {Stage} stage */
export function below({ editor: { base, effective, scope } }, stage) {
  const own = base?.document[stage];
  const { enabled = true, handlers = [] } = effective[stage] ?? {};
  const isOwn = (/** @type {Handler} */ handler) =>
    scope === "operator" && own?.handlers?.some((one) => isSame(one, handler));
  const open = own ? null : handlers.filter(({ locked }) => enabled && !locked);
  return { locked: handlers.filter((handler) => handler.locked && !isOwn(handler)), open };
}

/** @param {State} state */
export function loading(state) {
  const { phase, scope } = state.editor;
  return phase === "saving" ? state : asking(state, "editor", { type: "load_policy", scope }, { retry: "load_policy" });
}

/** The focus goes to the field of the first problem. @param {State} state @param {readonly Problem[]} problems @param {string} words */
function stopped(state, problems, words) {
  const { draft, text } = state.editor;
  const place = problems.map(placeOf).find((found) => found !== null);
  const said = announced(state, words);
  if (text !== null) return focused(said, "policy-text");
  return place ? focused(said, `${place.field || "type"}-${draft[place.stage]?.handlers[place.index]?.key}`) : said;
}

/** What was before the change can be undone to; letters typed into one field in a row are one change. @param {State} state @param {Draft} next @param {string | null} [field] */
function drafted(state, next, field = null) {
  const { draft, past, typing } = state.editor;
  const before = field !== null && field === typing ? past : [...past, draft].slice(-MAX_UNDO);
  return patched(state, "editor", { ...UNSENT, draft: next, past: before, typing: field });
}

const UNSENT = { refused: [], saved: null, failure: null };

/** @type {Step} edit: see EDITS */
function edited(state, edit) {
  const { type, stage, key, row, name } = /** @type {Edit} */ (edit);
  const draft = structuredClone(state.editor.draft);
  const handlers = draft[stage]?.handlers ?? [];
  const at = handlers.findIndex((handler) => handler.key === key);
  const place = { draft, handlers, at, handler: handlers[at], inForce: below(state, stage).open ?? [] };
  const { focus, words } = EDITS[type]({ ...edit, ...place }) ?? {};
  if (isSame(draft, state.editor.draft)) return state;
  const changed = drafted(state, draft, type === "set" ? [key, row, name].join() : null);
  const followed = focus ? focused(changed, ...focus) : changed;
  return words ? announced(followed, words) : followed;
}

/** What is being edited becomes `document`, in the form or as text. @param {State} state @param {PolicyDocument} document */
function replaced(state, document) {
  if (state.editor.text === null) return drafted(state, draftOf(document));
  return patched(state, "editor", { ...UNSENT, text: pretty(document) });
}

/** @param {PolicyDocument} document */
const pretty = (document) => JSON.stringify(document, null, 2);

/** @type {Step} */
function requestFailed(state, { type, failure }) {
  const { code, message, path } = failure;
  const ready = patched(state, "editor", { phase: "ready" });
  if (code === "version_stale") return loading(ready); // what is read then is the conflict
  const retry = type === "save_policy_failed" ? "save" : "load_policy";
  if (path === null) return failed(patched(ready, "editor", { retry }), "editor", failure);
  const refused = [{ path, message }];
  return stopped(patched(ready, "editor", { refused }), refused, p.editor.refused(path, message));
}

/** @type {Record<string, Step>} */
export const EDITOR_STEPS = {
  ...Object.fromEntries(Object.keys(EDITS).map((name) => [name, edited])),
  load_policy: loading,

  /** What was read replaces the draft, unless there are changes in it: then it is shown beside them. */
  policy_loaded(state, { scope, kinds, effective, document, etag }) {
    const { base: known, phase, saved } = state.editor;
    if (scope !== state.editor.scope || phase === "saving") return state; // too late
    /** @type {Stored} */
    const base = { document: normal(document), etag };
    const read = patched(state, "editor", { phase: "ready", kinds, effective: normal(effective), failure: null });
    const fresh = patched(read, "editor", { base, conflict: null });
    if (!written(state).isDirty)
      return isSame(known, base) ? read : patched(replaced(fresh, base.document), "editor", { past: [], saved });
    if (known?.etag === etag) return fresh;
    const already = p.editor.alreadySaved;
    if (!written(fresh).isDirty) return announced(patched(fresh, "editor", { saved: already }), already);
    const conflicting = patched(read, "editor", { conflict: base, saved: null });
    return announced(focused(conflicting, "conflict-title"), p.editor.changedElsewhere);
  },

  load_policy_failed: requestFailed,
  save_policy_failed: requestFailed,
  recommend: (state) => announced(focused(replaced(state, RECOMMENDED), "save"), p.editor.filledIn),
  read_yaml: (state) => asking(state, "editor", { type: "read_yaml", text: state.editor.text }),
  yaml_read(state, { document }) {
    if (state.editor.text === null) return state; // what was to be read was left meanwhile
    const form = replaced(patched(state, "editor", { phase: "ready", text: null }), normal(document));
    return announced(focused(form, "save"), p.editor.filledIn);
  },
  read_yaml_failed: requestFailed,
  undo(state) {
    const { past } = state.editor;
    const before = past.at(-1);
    if (!before) return state;
    return announced(patched(drafted(state, before), "editor", { past: past.slice(0, -1) }), p.editor.undone);
  },
  show_text(state) {
    const { document, problems } = written(state);
    if (problems.length) return stopped(state, problems, p.editor.fixFirst);
    return patched(state, "editor", { text: state.editor.text ?? pretty(document) });
  },

  /** A text that the form cannot show is not left. */
  show_form(state) {
    const { draft, text } = state.editor;
    const { document, problems } = written(state);
    if (problems.length) return announced(state, p.editor.fixFirst);
    const message = p.editor.unshown;
    if (!fitsForm(document)) return announced(patched(state, "editor", { refused: [{ path: "$", message }] }), message);
    const shown = patched(state, "editor", { text: null });
    return text === null || isSame(document, documentOf(draft).document) ? shown : replaced(shown, document);
  },
  edit_text: (state, { value: text }) => patched(state, "editor", { ...UNSENT, text }),

  /** What is in the way is said, and the focus goes there. */
  save(state) {
    const { base, conflict, phase, scope } = state.editor;
    if (!base || phase !== "ready") return state;
    if (conflict) return announced(focused(state, "conflict-title"), p.editor.changedElsewhere);
    const { document, problems, isDirty } = written(state);
    if (problems.length) return stopped(state, problems, p.editor.notSaved);
    if (!isDirty) return announced(state, p.editor.noChanges);
    const sent = { type: /** @type {const} */ ("save_policy"), scope, etag: base.etag, document };
    return asking(state, "editor", sent, { phase: "saving", refused: [] });
  },

  /** What was changed meanwhile stays, and waits for the next saving. */
  policy_saved(state, { version, etag, document }) {
    if (state.editor.phase !== "saving") return state; // of a document that was left meanwhile
    const saved = p.editor.saved(version);
    const ready = patched(state, "editor", { phase: "ready", base: { document, etag }, saved, typing: null });
    return loading(announced(ready, saved)); // what is in force has changed with it
  },

  /** Another document is chosen, or this one is to be read again: changes ask first. */
  choose_scope(state, { value, isSure }) {
    const { scope, kinds } = state.editor;
    if (value === scope) return state;
    const event = { type: "choose_scope", value };
    if (written(state).isDirty && !isSure) return confirming(state, p.editor.discard, event);
    return loading({ ...state, editor: { ...emptyEditor(value === "reload" ? scope : value), kinds } });
  },

  /** One stage becomes as it is stored; with the last that differed the conflict ends. */
  take_stage(state, { stage }) {
    const { conflict } = state.editor;
    const { document, problems } = written(state);
    if (!conflict || problems.length) return state;
    const taken = replaced(state, { ...document, [stage]: conflict.document[/** @type {Stage} */ (stage)] });
    const isSettled = differing(written(taken).document, conflict.document).length === 0;
    return isSettled ? mineKept(taken) : focused(taken, "conflict-title"); // the button that was pressed is gone
  },

  keep_mine: mineKept,
  take_theirs: (state) =>
    state.editor.conflict ? mineKept(replaced(state, state.editor.conflict.document)) : state,
};

/** The draft stays as it is, over what is stored now; saving it is a step of its own. @param {State} state */
function mineKept(state) {
  const { conflict: base } = state.editor;
  return base ? focused(patched(state, "editor", { base, conflict: null }), "save", "policy-title") : state;
}
