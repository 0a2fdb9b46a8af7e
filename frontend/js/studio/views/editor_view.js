/**
 * The editor: a text field over a copy of its text, which numbers and marks its lines; suggestions, problems, conflict.
 *
 * @import { Described } from "../../render/dom.js"
 * @import { State } from "../state.js"
 */

import { diffLines, withContext } from "../../diff.js";
import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { inFile } from "../reduce.js";
import { HOOKS, diagnosticsOf, isDirty } from "../state.js";
import { s } from "../../strings/studio.js";
import { button, fine } from "./parts.js";

const MAX_PROBLEMS = 50;

/** @param {State} state */
export function editorView(state) {
  const { path, buffers, listing } = state;
  const buffer = buffers[path];
  const isKnown = listing?.files.some((file) => file.path === path);
  return h("section", { class: "studio-editor", "aria-labelledby": "editor-title", key: "editor" }, [
    h("h3", { id: "editor-title", tabindex: "-1" }, path, isDirty(buffer) && h("span", { class: "tag tag-warning" }, s.edited)),
    conflictView(state),
    buffer ? codeView(state, buffer) : fine(isKnown && state.failure ? s.unreadable : s.loading),
    toolbarView(state),
    problemsView(state),
  ]);
}

/** @param {State} state @param {import("../state.js").Buffer} buffer */
function codeView(state, { text, revision }) {
  const { skill, path, listing, completion } = state;
  const marks = new Map(inFile(state, diagnosticsOf(state)).reverse().map(({ line, severity }) => [line, severity]));
  const isFixed = !listing?.is_writable || listing.files.some((file) => file.path === path && file.etag === null);
  const chosen = completion && { "aria-controls": "suggestions", "aria-activedescendant": `suggestion-${completion.chosen}` };
  const field = {
    id: "editor",
    key: `${skill}/${path}/${revision}`, // a text is never changed under the user's hands: another one gets a field of its own
    class: "code-text",
    "data-field": "typed",
    "aria-label": s.editor(path),
    "aria-describedby": "editor-help problems",
    "aria-autocomplete": path === HOOKS ? "list" : null,
    "aria-invalid": [...marks.values()].includes("error") ? "true" : null,
    readonly: isFixed,
    spellcheck: String(path.endsWith(".md")),
    autocomplete: "off",
    autocapitalize: "off",
    rows: 1,
    value: text,
  };
  return [
    h("div", { class: "code", key: "code" }, [
      h("div", { class: "code-area" }, [
        h("div", { class: "code-lines", id: "code-lines", "aria-hidden": "true" }, linesOf(text, marks)),
        h("textarea", { ...field, ...chosen }),
      ]),
    ]),
    completion && suggestionsView(completion),
    h("p", { class: "fine", id: "editor-help", key: "help" }, s.editorHelp, path === HOOKS && ` ${s.completionHelp}`),
  ];
}

/** @type {Described[]} of the last drawing: what has not changed is the same object, and is skipped */
let drawn = [];

/** @param {string} text @param {Map<number, string>} marks by line */
function linesOf(text, marks) {
  const before = drawn;
  drawn = text.split("\n").map((line, index) => {
    const kind = `code-line ${marks.has(index + 1) ? `has-${marks.get(index + 1)}` : ""}`.trim();
    const old = before[index];
    const isSame = old?.attributes.class === kind && (old.children[0]?.attributes.text ?? "") === line;
    return isSame ? old : h("div", { class: kind }, line);
  });
  return drawn;
}

/** @param {NonNullable<State["completion"]>} completion */
function suggestionsView({ items, chosen }) {
  const list = { class: "suggestions", id: "suggestions", role: "listbox", "aria-label": s.suggestions, key: "suggestions" };
  const views = items.map(({ label, detail }, index) => {
    const option = { role: "option", id: `suggestion-${index}`, "aria-selected": String(index === chosen), key: label };
    return h("li", { ...option, "data-action": "accept", "data-index": index }, h("code", {}, label), h("span", { class: "fine" }, detail));
  });
  return h("ul", list, views);
}

/** @param {State} state */
function toolbarView({ path, buffers, listing, isSaving }) {
  const isWritable = Boolean(listing?.is_writable);
  const buffer = buffers[path];
  const can = isWritable && isDirty(buffer);
  const last = listing?.undo.at(-1);
  const next = listing?.redo.at(-1);
  const saving = { class: "button small primary", id: "save", title: s.saveKey, "aria-disabled": can && !isSaving ? null : "true" };
  return h("div", { class: "studio-bar", key: "bar" }, [
    button("save", isSaving ? s.saving : s.save, saving),
    button("discard", s.discard, { disabled: !can }),
    button("undo", s.undo, { disabled: !isWritable || !last, title: last && s.undoOf(last.path) }),
    button("redo", s.redo, { disabled: !isWritable || !next, title: next && s.redoOf(next.path) }),
  ]);
}

/** Of all files: an edit of one can break another. @param {State} state */
function problemsView(state) {
  const all = diagnosticsOf(state);
  const count = (/** @type {string} */ level) => all.filter(({ severity }) => severity === level).length;
  const notes = all.filter(({ severity }) => severity === "info");
  return h("section", { class: "studio-problems", id: "problems", "aria-label": s.problems, key: "problems" }, [
    h("p", { class: "fine", role: "status" }, all.length > notes.length ? s.counted(count("error"), count("warning")) : s.noProblems),
    problemList(state, all.filter(({ severity }) => severity !== "info")),
    notes.length > 0 &&
      h("details", { key: "notes" }, h("summary", {}, icon("chevron"), h("span", { class: "fine" }, s.notes(notes.length))), problemList(state, notes)),
  ]);
}

/** @param {State} state @param {readonly import("../state.js").Diagnostic[]} found */
function problemList(state, found) {
  return h("ul", {}, found.slice(0, MAX_PROBLEMS).map((one) => problemView(state, one))); // prettier-ignore
}

/** @param {State} state @param {import("../state.js").Diagnostic} found */
function problemView(state, { severity, file, path, message }) {
  const line = inFile({ ...state, path: file }, [{ severity, file, path, message }])[0]?.line ?? 1;
  const isListed = state.listing?.files.some((one) => one.path === file && one.etag !== null);
  const place = { class: "button small", "aria-label": s.goTo(file, line), "data-path": file, "data-line": line };
  return h("li", { class: `problem-${severity}`, key: `${file} ${path} ${message}` }, [
    file && !state.buffers[file] && (isListed ? button("open_file", file, { "data-path": file }) : h("code", {}, file)),
    file && state.buffers[file] && button("go_to", file === state.path ? s.line(line) : `${file} · ${s.line(line)}`, place),
    h("p", {}, h("span", { class: "visually-hidden" }, s.levels[severity]), path && h("code", {}, path), " ", message),
  ]);
}

/** @param {State} state */
function conflictView({ conflict, buffers }) {
  if (!conflict) return null;
  const { path, current } = conflict;
  const lines = withContext(diffLines(current ?? "", buffers[path]?.text ?? ""));
  return h("section", { class: "conflict", id: "conflict", tabindex: "-1", "aria-label": s.conflict(path), key: "conflict" }, [
    h("p", {}, h("strong", {}, s.conflict(path)), " ", current === null ? s.gone : s.conflictHelp),
    current !== null &&
      h("pre", { tabindex: "0" }, lines.map((line) => (line ? h("span", { class: `diff diff-${line.kind}` }, `${SIGNS[line.kind]} ${line.text}\n`) : "…\n"))), // prettier-ignore
    h("div", { class: "studio-bar" }, button("take_theirs", s.takeTheirs), button("keep_mine", s.keepMine)),
  ]);
}

const SIGNS = { same: " ", removed: "−", added: "+" };
