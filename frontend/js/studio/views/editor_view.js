/**
 * The editor with its toolbar, problems and conflict.
 *
 * @import { State } from "../state.js"
 */

import { diffLines, withContext } from "../../diff.js";
import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { inFile } from "../reduce.js";
import { HOOKS, diagnosticsOf, editsOf, isDirty } from "../state.js";
import { s } from "../../strings/studio.js";
import { button, fine } from "./parts.js";

const MAX_PROBLEMS = 50;

/** @param {State} state */
export function editorView(state) {
  const { path, buffers, listing } = state;
  const buffer = buffers[path];
  const isKnown = listing?.files.some((file) => file.path === path);
  return h("section", { class: "studio-editor", "aria-labelledby": "editor-title", key: "editor" }, [
    h(
      "h3",
      { id: "editor-title", tabindex: "-1" },
      path,
      isDirty(buffer) && h("span", { class: "tag tag-warning" }, s.edited),
    ),
    conflictView(state),
    buffer ? codeView(state, buffer.text) : fine(isKnown && state.failure ? s.unreadable : s.loading),
    toolbarView(state),
    problemsView(state),
  ]);
}

/** @param {State} state @param {string} value */
function codeView(state, value) {
  const { skill, path, listing } = state;
  const problems = inFile(state, diagnosticsOf(state)).map(({ line, severity, message }) => ({
    line,
    severity,
    message,
  }));
  const isFixed = !listing?.is_writable || listing.files.some((file) => file.path === path && file.etag === null);
  const help = [s.editorHelp, path === HOOKS && s.completionHelp].filter(Boolean).join(" ");
  const field = {
    id: "editor",
    key: `${skill}/${path}`, // each file is edited, and undone, by itself
    "data-field": "typed",
    label: s.editor(path),
    help,
    language: LANGUAGES[path.split(".").at(-1) ?? ""],
    problems: JSON.stringify(problems),
    readonly: isFixed,
    value,
  };
  return [h("code-editor", field), h("p", { class: "fine", key: "help", "aria-hidden": "true" }, help)];
}

/** @type {Readonly<Record<string, string>>} by the ending of a file */
const LANGUAGES = { json: "json", md: "markdown", yaml: "yaml", yml: "yaml" };

/** @param {State} state */
function toolbarView(state) {
  const { path, buffers, listing, isSaving } = state;
  const isWritable = Boolean(listing?.is_writable);
  const buffer = buffers[path];
  const can = isWritable && isDirty(buffer);
  const last = listing?.undo.at(-1);
  const next = listing?.redo.at(-1);
  const saving = {
    class: "button small primary",
    id: "save",
    title: s.saveKey,
    "aria-disabled": can && !isSaving ? null : "true",
  };
  return h("div", { class: "studio-bar", key: "bar" }, [
    button("save", isSaving ? s.saving : s.save, saving),
    Object.keys(editsOf(state)).length > 1 &&
      button("save_all", s.saveAll(Object.keys(editsOf(state)).length), { disabled: !isWritable || isSaving }),
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
    h(
      "p",
      { class: "fine", role: "status" },
      all.length > notes.length ? s.counted(count("error"), count("warning")) : s.noProblems,
    ),
    problemList(
      state,
      all.filter(({ severity }) => severity !== "info"),
    ),
    notes.length > 0 &&
      h(
        "details",
        { key: "notes" },
        h("summary", {}, icon("chevron"), h("span", { class: "fine" }, s.notes(notes.length))),
        problemList(state, notes),
      ),
  ]);
}

/** @param {State} state @param {readonly import("../state.js").Diagnostic[]} found */
function problemList(state, found) {
  return h(
    "ul",
    {},
    found.slice(0, MAX_PROBLEMS).map((one) => problemView(state, one)),
  );
}

/** @param {State} state @param {import("../state.js").Diagnostic} found */
function problemView(state, { severity, file, path, message }) {
  const line = inFile({ ...state, path: file }, [{ severity, file, path, message }])[0]?.line ?? 1;
  const isListed = state.listing?.files.some((one) => one.path === file && one.etag !== null);
  const place = { class: "button small", "aria-label": s.goTo(file, line), "data-path": file, "data-line": line };
  return h("li", { class: `problem-${severity}`, key: `${file} ${path} ${message}` }, [
    file && !state.buffers[file] && (isListed ? button("open_file", file, { "data-path": file }) : h("code", {}, file)),
    file &&
      state.buffers[file] &&
      button("go_to", file === state.path ? s.line(line) : `${file} · ${s.line(line)}`, place),
    h("p", {}, h("span", { class: "visually-hidden" }, s.levels[severity]), path && h("code", {}, path), " ", message),
  ]);
}

/** @param {State} state */
function conflictView({ conflict, buffers }) {
  if (!conflict) return null;
  const { path, current } = conflict;
  return h(
    "section",
    { class: "conflict", id: "conflict", tabindex: "-1", "aria-label": s.conflict(path), key: "conflict" },
    [
      h("p", {}, h("strong", {}, s.conflict(path)), " ", current === null ? s.gone : s.conflictHelp),
      current !== null && differenceView(current, buffers[path]?.text ?? "", s.differenceOf(path)),
      h("div", { class: "studio-bar" }, button("take_theirs", s.takeTheirs), button("keep_mine", s.keepMine)),
    ],
  );
}

/** @param {string} before @param {string} after @param {string} label */
export function differenceView(before, after, label) {
  const lines = withContext(diffLines(before, after)).map((line) =>
    line ? h("span", { class: `diff diff-${line.kind}` }, `${SIGNS[line.kind]} ${line.text}\n`) : "…\n",
  );
  return h("pre", { class: "difference", tabindex: "0", role: "group", "aria-label": label }, lines);
}

const SIGNS = { same: " ", removed: "−", added: "+" };
