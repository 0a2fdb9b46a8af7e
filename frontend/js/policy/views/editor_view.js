/**
 * The policy editor: four stages with their handlers, or the document as JSON, beside what somebody else has stored.
 *
 * @import { DraftHandler, Problem, Stage } from "../document.js"
 * @import { State } from "../state.js"
 * @import { Child } from "./parts.js"
 */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { STAGES, compare, differing, placeOf } from "../document.js";
import { below, written } from "../reduce_editor.js";
import { handlerView, sketchView } from "./handler_view.js";
import { button, emptyView, entry, failureView, fine, select, title } from "./parts.js";

const SCOPES = Object.entries({ user: "only me", operator: "everyone" });
const RECOMMENDED = "Recommended: ask before dangerous calls, hide secrets, keep an audit log";
const HIDDEN = { class: "visually-hidden" };
const SIGNS = { same: ["  ", ""], added: ["+ ", "mine: "], removed: ["− ", "stored: "] };

/** @type {Record<Stage, [string, string]>} */
const STAGE_WORDS = {
  pre_tool_use: ["Before a tool runs", "Rules can let the call run, change it, stop it, or ask a human."],
  post_tool_use: ["After a tool has run", "Rules can change the result before anyone reads it."],
  tool_error: ["After a tool has failed", "Rules see the error."],
  tool_skip: ["When a tool did not run", "Rules see calls that were stopped, refused or cancelled."],
};

/** What decides where a document does not. */
const BELOW = {
  user: { policy: "the operator's policy", mode: "As set by the operator", note: "Locked by the operator" },
  operator: { policy: "parley.yaml", mode: "As set in parley.yaml", note: "Locked in parley.yaml" },
};

/** @param {State} state */
export function editorView(state) {
  const { who, editor } = state;
  const { base, failure, phase, retry, scope } = editor;
  const about = "What happens before and after each tool call. A stage that you do not set is decided by";
  return [
    title("policy", "Tool policy"),
    fine(`${about} ${BELOW[scope].policy}. Changes apply from the next turn.`),
    who?.isOperator && entry("scope", "Applies to", select({ "data-field": "choose_scope" }, SCOPES, scope)),
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
  const words = "The policy was changed elsewhere since you loaded it. Your changes are kept below.";
  const differences = differing(mine, conflict.document).map((stage) => {
    const taking = { "data-stage": stage, "aria-label": `Use the stored version of ${stage}` };
    const lines = compare(conflict.document, mine, stage).map(({ kind, text }, key) => {
      const sign = h("span", { "aria-hidden": "true" }, SIGNS[kind][0]);
      return h("span", { class: `diff diff-${kind}`, key }, sign, h("span", HIDDEN, SIGNS[kind][1]), `${text}\n`);
    });
    return h("div", { class: "difference", key: stage }, [
      h("div", { class: "stage-head" }, [
        h("h3", {}, h("code", {}, stage)),
        button("take_stage", "Use the stored version", taking),
      ]),
      h("pre", { tabindex: "0", "aria-label": `${stage}: − is stored, + is mine` }, lines),
    ]);
  });
  return h("section", { class: "conflict", "aria-labelledby": "conflict-title", key: "conflict" }, [
    h("div", { class: "line line-warning" }, [
      icon("alert"),
      h("p", { id: "conflict-title", tabindex: "-1" }, words),
    ]),
    differences,
    h("div", { class: "conflict-actions" }, [
      button("take_theirs", "Use the stored policy", { class: "button" }),
      button("keep_mine", "Keep mine", { class: "button" }),
    ]),
    fine("Keep mine does not save yet. When you save, your policy replaces the stored one."),
  ]);
}

/** @param {State} state */
function documentView(state) {
  const { past, phase, scope, text } = state.editor;
  const { all: problems, canSave, document } = written(state);
  const isEmpty = text === null && Object.keys(document).length === 0;
  const unplaced = text === null ? problems.filter((problem) => !placeOf(problem)) : problems;
  const list = { id: "problems", class: "problems", "aria-label": "Problems", hidden: unplaced.length === 0 };
  const pressed = (/** @type {boolean} */ isOn) => ({ "aria-pressed": String(isOn) });
  // None is disabled in earnest: that would take the focus from whoever has just pressed it.
  const disabled = (/** @type {boolean} */ isOff) => ({ "aria-disabled": String(isOff) });
  const saving = { type: "submit", class: "button primary", id: "save", ...disabled(!canSave) };
  return h("form", { id: "document", "aria-busy": String(phase !== "ready"), key: scope }, [
    h("div", { class: "ways", role: "group", "aria-label": "How to edit" }, [
      button("show_form", "Form", pressed(text === null)),
      button("show_text", "JSON", pressed(text !== null)),
    ]),
    isEmpty && button("recommend", RECOMMENDED, { class: "button" }),
    h("fieldset", { class: "bare" }, [
      h("legend", HIDDEN, "Policy document"),
      text === null ? STAGES.map((stage) => stageView(state, stage, problems)) : textView(text, problems.length > 0),
    ]),
    h("ul", list, unplaced.map(({ path, message }, key) => h("li", { key }, h("code", {}, path), " ", message))), // prettier-ignore
    h("footer", { class: "standing-foot" }, [
      h("p", { role: "status", class: "fine" }, stateWords(state)),
      text === null && button("undo", "Undo", disabled(past.length === 0)),
      button("choose_scope", "Reload", { "data-value": "reload", ...disabled(phase !== "ready") }),
      h("button", saving, phase === "saving" ? "Saving…" : "Save"),
    ]),
  ]);
}

/** @param {State} state */
function stateWords(state) {
  const { saved, conflict } = state.editor;
  const { all: problems, isDirty } = written(state);
  if (conflict) return "Changed elsewhere: compare the versions first.";
  if (problems.length) return problems.length === 1 ? "1 problem to fix." : `${problems.length} problems to fix.`;
  if (isDirty) return "Unsaved changes.";
  return saved === null ? "" : `${saved} Applies from the next turn.`;
}

/** @param {string} value @param {boolean} isWrong */
function textView(value, isWrong) {
  const wrong = isWrong ? { "aria-invalid": "true", "aria-describedby": "problems" } : {};
  const rows = Math.min(30, Math.max(12, value.split("\n").length + 1));
  const field = { id: "policy-text", "data-field": "edit_text", "aria-label": "The policy document, as JSON", value };
  return h("textarea", { ...field, ...wrong, key: "text", class: "code", spellcheck: "false", rows });
}

/** @param {State} state @param {Stage} stage @param {readonly Problem[]} problems */
function stageView(state, stage, problems) {
  const [name, help] = STAGE_WORDS[stage];
  const { draft, kinds, scope } = state.editor;
  const own = draft[stage];
  const { mode, note, policy } = BELOW[scope];
  const field = { id: `mode-${stage}`, "data-field": "mode", "data-stage": stage };
  const modes = Object.entries({ below: mode, own: "Own rules", off: "Off" });
  const { locked, open } = below(state, stage);
  const sketches = open?.map((handler, key) => sketchView(handler, key, "")) ?? [];
  const handlers = own?.enabled ? own.handlers : [];
  const place = { stage, count: handlers.length, kinds, mayLock: scope === "operator", problems };
  const views = own ? handlers.map((handler, index) => handlerView(handler, { ...place, index })) : sketches;
  const hasNone = (own?.enabled || (!own && open)) && views.length + locked.length === 0;
  /** @param {string} what @param {Child[]} rows */
  const list = (what, rows) =>
    rows.length > 0 && h("ol", { class: "handlers", "aria-label": `${name}: ${what}`, key: what }, rows);
  return h("section", { class: "stage", "aria-labelledby": `title-${stage}`, key: stage }, [
    h("div", { class: "stage-head" }, [
      h("h3", { id: `title-${stage}` }, name, " ", h("code", { class: "fine" }, stage)),
      h("label", { class: "mode" }, [
        h("span", HIDDEN, `${name}: who decides`),
        select(field, modes, own ? (own.enabled ? "own" : "off") : "below"),
      ]),
    ]),
    fine(help),
    list("locked rules, always first", locked.map((handler, key) => sketchView(handler, key, note))),
    list("rules, in the order they run", views),
    hasNone && fine("No rules."),
    own?.enabled && addView(state, handlers, stage),
    own?.enabled === false && fine("Off: only locked rules run. Your own are kept for later."),
    !own && !open && fine(`After you save, ${policy} decides.`),
  ]);
}

/** @param {State} state @param {readonly DraftHandler[]} handlers @param {Stage} stage */
function addView({ editor: { kinds } }, handlers, stage) {
  const fitting = kinds.filter(({ stages }) => stages.includes(stage));
  const offered = fitting.find(({ name }) => handlers.every(({ type }) => type !== name)) ?? fitting[0];
  const data = { id: `add-${stage}`, "data-stage": stage, "data-name": offered?.name, disabled: !offered };
  const spoken = { class: "button small add", "aria-label": `Add a rule: ${STAGE_WORDS[stage][0]}` };
  return button("add", [icon("plus"), "Add a rule"], { ...data, ...spoken });
}
