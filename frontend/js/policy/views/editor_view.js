/**
 * The policy editor: three presets and the document, beside what another user has stored.
 *
 * @import { Preset } from "../document.js"
 * @import { State } from "../state.js"
 */

import { diffLines, withContext } from "../../diff.js";
import { lineOf } from "../../editor/problem_lines.js";
import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { p } from "../../strings/policy.js";
import { PRESETS, STAGES, handlersOf, isLocked, isOn, pretty } from "../document.js";
import { inherited, draftOf } from "../reduce_editor.js";
import { button, emptyView, entry, failureView, fine, select, title } from "./parts.js";

const HIDDEN = { class: "visually-hidden" };
const SIGNS = { same: "  ", added: "+ ", removed: "− " };

/** @param {State} state */
export function editorView(state) {
  const { principal, editor } = state;
  const { base, failure, phase, retry, scope } = editor;
  return [
    title("policy", p.titles.policy),
    fine(p.editor.about(p.editor.inherited[scope].policy)),
    principal?.isOperator &&
      entry(
        "scope",
        p.editor.appliesTo,
        select({ "data-field": "choose_scope" }, Object.entries(p.editor.scopes), scope),
      ),
    failureView(failure, retry),
    conflictView(state),
    base ? documentView(state) : !failure && emptyView(phase, ""),
  ];
}

/** Show two versions beside each other, when another user has stored one. @param {State} state */
function conflictView({ editor: { conflict, text } }) {
  if (!conflict) return null;
  const lines = withContext(diffLines(pretty(conflict.document), text)).map((line, key) => {
    if (!line) return "…\n";
    const sign = h("span", { "aria-hidden": "true" }, SIGNS[line.kind]);
    return h(
      "span",
      { class: `diff diff-${line.kind}`, key },
      sign,
      h("span", HIDDEN, p.editor.lines[line.kind]),
      `${line.text}\n`,
    );
  });
  return h("section", { class: "conflict", "aria-labelledby": "conflict-title", key: "conflict" }, [
    h(
      "div",
      { class: "line line-warning" },
      icon("alert"),
      h("p", { id: "conflict-title", tabindex: "-1" }, p.editor.conflict),
    ),
    h("pre", { tabindex: "0", "aria-label": p.editor.difference }, lines),
    h("div", { class: "conflict-actions" }, [
      button("take_theirs", p.editor.takeTheirs, { class: "button" }),
      button("keep_mine", p.editor.keepMine, { class: "button" }),
    ]),
    fine(p.editor.keepHelp),
  ]);
}

/** @param {State} state */
function documentView(state) {
  const { phase, scope, text } = state.editor;
  const { all, canSave } = draftOf(state);
  const problems = all.map((problem) => ({ ...problem, line: lineOf({ file: "policy.json", ...problem }, text) }));
  // aria-disabled, because `disabled` would take the focus from a button that was just pressed.
  const disabled = (/** @type {boolean} */ isOff) => ({ "aria-disabled": String(isOff) });
  const saving = { type: "submit", class: "button primary", id: "save", ...disabled(!canSave) };
  const marked = problems.map(({ line, message }) => ({ line, severity: "error", message }));
  const field = {
    id: "editor",
    key: "editor",
    "data-field": "edit_text",
    language: "json",
    label: p.editor.document,
    help: p.editor.editorHelp,
    problems: JSON.stringify(marked),
    value: text,
  };
  const file = { type: "file", accept: ".yaml,.yml,.json", "aria-label": p.editor.file };
  return h("form", { id: "document", "aria-busy": String(phase !== "ready"), key: scope }, [
    presetsView(state),
    h("code-editor", field),
    h("p", { class: "fine", key: "help", "aria-hidden": "true" }, p.editor.editorHelp),
    h("div", { class: "ways" }, button("read_yaml", p.editor.readYaml), h("input", file)),
    inForceView(state),
    h("footer", { class: "standing-foot" }, [
      h(
        "ul",
        { id: "problems", class: "problems", "aria-label": p.editor.problems, hidden: problems.length === 0 },
        problems.map(problemView),
      ),
      h("p", { role: "status", class: "fine" }, stateWords(state)),
      button("choose_scope", p.editor.reload, { "data-value": "reload", ...disabled(phase !== "ready") }),
      h("button", saving, phase === "saving" ? p.editor.saving : p.editor.save),
    ]),
  ]);
}

/** @param {State} state */
function presetsView(state) {
  const { document, problems } = draftOf(state);
  const under = inherited(state);
  const switches = /** @type {Preset[]} */ (Object.keys(PRESETS)).map((name) => {
    const locked = isLocked(name, under);
    const field = {
      type: "checkbox",
      role: "switch",
      "data-field": "preset",
      "data-name": name,
      checked: isOn(name, document, under),
    };
    const help = locked ? p.editor.inherited[state.editor.scope].note : p.editor.presets[name].help;
    return h("label", { class: "switch", key: name }, [
      h("span", {}, h("strong", {}, p.editor.presets[name].name), h("span", { class: "fine" }, help)),
      h("input", { ...field, disabled: locked || problems.length > 0 }),
    ]);
  });
  return h("fieldset", { class: "bare presets", key: "presets" }, h("legend", HIDDEN, p.editor.presetsTitle), switches);
}

/** @param {import("../document.js").Problem & {line: number}} problem @param {number} key */
function problemView({ line, path, message }, key) {
  return h(
    "li",
    { key },
    button("go_to", p.editor.line(line), { "data-line": line }),
    " ",
    h("code", {}, path),
    " ",
    message,
  );
}

/** Show the policy in force, with the handlers that this document cannot change. @param {State} state */
function inForceView({ editor: { effective } }) {
  const hasLocked = STAGES.some((name) => handlersOf(effective[name]).some(({ locked }) => locked));
  return h("details", { class: "in-force", key: "in-force" }, [
    h("summary", {}, icon("chevron"), h("span", {}, p.editor.inForce)),
    hasLocked && fine(p.editor.lockedHelp),
    h("pre", { tabindex: "0", "aria-label": p.editor.inForce }, pretty(effective)),
  ]);
}

/** @param {State} state */
function stateWords(state) {
  const { saved, conflict } = state.editor;
  const { all: problems, isDirty } = draftOf(state);
  if (conflict) return p.editor.compareFirst;
  if (problems.length) return p.editor.toFix(problems.length);
  if (isDirty) return p.editor.unsaved;
  return saved === null ? "" : p.editor.appliesNext(saved);
}
