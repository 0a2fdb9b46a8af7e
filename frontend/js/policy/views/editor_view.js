/**
 * The policy editor: four stages with their handlers, or the document as JSON, beside what somebody else has stored.
 *
 * @import { DraftHandler, Problem, Stage } from "../document.js"
 * @import { State } from "../state.js"
 * @import { Child } from "./parts.js"
 */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { p } from "../../strings/policy.js";
import { STAGES, compare, differing, placeOf } from "../document.js";
import { below, written } from "../reduce_editor.js";
import { handlerView, sketchView } from "./handler_view.js";
import { button, emptyView, entry, failureView, fine, select, title } from "./parts.js";

const HIDDEN = { class: "visually-hidden" };
const SIGNS = { same: "  ", added: "+ ", removed: "− " };

/** @param {State} state */
export function editorView(state) {
  const { who, editor } = state;
  const { base, failure, phase, retry, scope } = editor;
  return [
    title("policy", p.titles.policy),
    fine(p.editor.about(p.editor.below[scope].policy)),
    who?.isOperator && entry("scope", p.editor.appliesTo, select({ "data-field": "choose_scope" }, Object.entries(p.editor.scopes), scope)),
    failureView(failure, retry),
    conflictView(state),
    base ? documentView(state) : !failure && emptyView(phase, ""),
  ];
}

/** Somebody else has stored another version: both beside each other. @param {State} state */
function conflictView(state) {
  const { conflict } = state.editor;
  if (!conflict) return null;
  const mine = written(state).document;
  const differences = differing(mine, conflict.document).map((stage) => {
    const taking = { "data-stage": stage, "aria-label": p.editor.takeStoredOf(stage) };
    const lines = compare(conflict.document, mine, stage).map(({ kind, text }, key) => {
      const sign = h("span", { "aria-hidden": "true" }, SIGNS[kind]);
      return h("span", { class: `diff diff-${kind}`, key }, sign, h("span", HIDDEN, p.editor.lines[kind]), `${text}\n`);
    });
    return h("div", { class: "difference", key: stage }, [
      h("div", { class: "stage-head" }, [
        h("h3", {}, h("code", {}, stage)),
        button("take_stage", p.editor.takeStored, taking),
      ]),
      h("pre", { tabindex: "0", "aria-label": p.editor.difference(stage) }, lines),
    ]);
  });
  return h("section", { class: "conflict", "aria-labelledby": "conflict-title", key: "conflict" }, [
    h("div", { class: "line line-warning" }, [
      icon("alert"),
      h("p", { id: "conflict-title", tabindex: "-1" }, p.editor.conflict),
    ]),
    differences,
    h("div", { class: "conflict-actions" }, [
      button("take_theirs", p.editor.takeTheirs, { class: "button" }),
      button("keep_mine", p.editor.keepMine, { class: "button" }),
    ]),
    fine(p.editor.keepHelp),
  ]);
}

/** @param {State} state */
function documentView(state) {
  const { past, phase, scope, text } = state.editor;
  const { all: problems, canSave, document } = written(state);
  const isEmpty = text === null && Object.keys(document).length === 0;
  const unplaced = text === null ? problems.filter((problem) => !placeOf(problem)) : problems;
  const list = { id: "problems", class: "problems", "aria-label": p.editor.problems, hidden: unplaced.length === 0 };
  const pressed = (/** @type {boolean} */ isOn) => ({ "aria-pressed": String(isOn) });
  // None is disabled in earnest: that would take the focus from whoever has just pressed it.
  const disabled = (/** @type {boolean} */ isOff) => ({ "aria-disabled": String(isOff) });
  const saving = { type: "submit", class: "button primary", id: "save", ...disabled(!canSave) };
  return h("form", { id: "document", "aria-busy": String(phase !== "ready"), key: scope }, [
    h("div", { class: "ways", role: "group", "aria-label": p.editor.ways }, [
      button("show_form", p.editor.form, pressed(text === null)),
      button("show_text", p.editor.text, pressed(text !== null)),
    ]),
    isEmpty && button("recommend", p.editor.recommended, { class: "button" }),
    h("fieldset", { class: "bare" }, [
      h("legend", HIDDEN, p.editor.document),
      text === null ? STAGES.map((stage) => stageView(state, stage, problems)) : textView(text, problems.length > 0),
    ]),
    h("ul", list, unplaced.map(({ path, message }, key) => h("li", { key }, h("code", {}, path), " ", message))), // prettier-ignore
    h("footer", { class: "standing-foot" }, [
      h("p", { role: "status", class: "fine" }, stateWords(state)),
      text === null && button("undo", p.editor.undo, disabled(past.length === 0)),
      button("choose_scope", p.editor.reload, { "data-value": "reload", ...disabled(phase !== "ready") }),
      h("button", saving, phase === "saving" ? p.editor.saving : p.editor.save),
    ]),
  ]);
}

/** @param {State} state */
function stateWords(state) {
  const { saved, conflict } = state.editor;
  const { all: problems, isDirty } = written(state);
  if (conflict) return p.editor.compareFirst;
  if (problems.length) return p.editor.toFix(problems.length);
  if (isDirty) return p.editor.unsaved;
  return saved === null ? "" : p.editor.appliesNext(saved);
}

/** @param {string} value @param {boolean} isWrong */
function textView(value, isWrong) {
  const wrong = isWrong ? { "aria-invalid": "true", "aria-describedby": "problems" } : {};
  const rows = Math.min(30, Math.max(12, value.split("\n").length + 1));
  const field = { id: "policy-text", "data-field": "edit_text", "aria-label": p.editor.asText, value };
  const file = { type: "file", accept: ".yaml,.yml,.json", "aria-label": p.editor.file };
  return [
    h("textarea", { ...field, ...wrong, key: "text", class: "code", spellcheck: "false", rows }),
    h("div", { class: "ways" }, button("read_yaml", p.editor.readYaml), h("input", file)),
  ];
}

/** @param {State} state @param {Stage} stage @param {readonly Problem[]} problems */
function stageView(state, stage, problems) {
  const words = p.editor;
  const { name, help } = words.stages[stage];
  const { draft, kinds, scope } = state.editor;
  const own = draft[stage];
  const { mode, note, policy } = words.below[scope];
  const field = { id: `mode-${stage}`, "data-field": "mode", "data-stage": stage };
  const modes = Object.entries({ below: mode, ...words.modes });
  const { locked, open } = below(state, stage);
  const sketches = open?.map((handler, key) => sketchView(handler, key, "")) ?? [];
  const handlers = own?.enabled ? own.handlers : [];
  const place = { stage, count: handlers.length, kinds, mayLock: scope === "operator", problems };
  const views = own ? handlers.map((handler, index) => handlerView(handler, { ...place, index })) : sketches;
  const hasNone = (own?.enabled || (!own && open)) && views.length + locked.length === 0;
  /** @param {string} what @param {Child[]} rows */
  const list = (what, rows) =>
    rows.length > 0 && h("ol", { class: "handlers", "aria-label": what, key: what }, rows);
  return h("section", { class: "stage", "aria-labelledby": `title-${stage}`, key: stage }, [
    h("div", { class: "stage-head" }, [
      h("h3", { id: `title-${stage}` }, name, " ", h("code", { class: "fine" }, stage)),
      h("label", { class: "mode" }, [
        h("span", HIDDEN, words.decides(name)),
        select(field, modes, own ? (own.enabled ? "own" : "off") : "below"),
      ]),
    ]),
    fine(help),
    list(words.locked(name), locked.map((handler, key) => sketchView(handler, key, note))),
    list(words.rules(name), views),
    hasNone && fine(words.noRules),
    own?.enabled && addView(state, handlers, stage),
    own?.enabled === false && fine(words.off),
    !own && !open && fine(words.afterSave(policy)),
  ]);
}

/** @param {State} state @param {readonly DraftHandler[]} handlers @param {Stage} stage */
function addView({ editor: { kinds } }, handlers, stage) {
  const fitting = kinds.filter(({ stages }) => stages.includes(stage));
  const offered = fitting.find(({ name }) => handlers.every(({ type }) => type !== name)) ?? fitting[0];
  const data = { id: `add-${stage}`, "data-stage": stage, "data-name": offered?.name, disabled: !offered };
  const spoken = { class: "button small add", "aria-label": p.editor.addTo(p.editor.stages[stage].name) };
  return button("add", [icon("plus"), p.editor.add], { ...data, ...spoken });
}
