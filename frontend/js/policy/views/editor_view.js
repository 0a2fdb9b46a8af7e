/**
 * The policy editor: four stages with their handlers, or the document as JSON, beside what somebody else has stored.
 *
 * @typedef {import("../state.js").State} State
 * @typedef {import("../document.js").Stage} Stage
 * @typedef {import("../document.js").DraftStage} DraftStage
 * @typedef {import("../document.js").Problem} Problem
 */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { STAGES, compare, differing, documentOf, placeOf } from "../document.js";
import { canSave, isDirty, lockedBelow, openBelow, problemsOf } from "../reduce_editor.js";
import { handlerView, sketchView } from "./handler_view.js";
import { button, failureView, fine, select } from "./parts.js";

const SIGNS = { same: " ", added: "+", removed: "−" };
const WORDS = { same: "", added: "mine: ", removed: "stored: " };

/** @type {Record<Stage, [string, string]>} */
const STAGE_WORDS = {
  pre_tool_use: ["Before a tool runs", "Handlers can let the call run, change it, stop it, or ask a human."],
  post_tool_use: ["After a tool has run", "Handlers can change the result before anyone reads it."],
  tool_error: ["After a tool has failed", "Handlers see the error."],
  tool_skip: ["When a tool did not run", "Handlers see calls that were stopped, refused or cancelled."],
};

/** @param {State} state */
export function editorView(state) {
  const { base, failure, isUnsaved, scope } = state.editor;
  const below = scope === "operator" ? "in parley.yaml." : "by the operator.";
  const about = `What happens before and after each tool call. A stage that you do not set is decided ${below}`;
  return [
    h("h2", { id: "policy-title", tabindex: "-1" }, "Tool policy"),
    fine(about, " Changes apply from the next turn."),
    scopeView(state),
    wishView(state),
    failureView(failure, isUnsaved ? "save" : "load_policy"),
    conflictView(state),
    base ? documentView(state) : !failure && h("p", { class: "line", role: "status" }, "Loading the policy…"),
  ];
}

/** @param {State} state */
function scopeView({ who, editor }) {
  if (!who?.isOperator) return null;
  const options = { user: `My policy (${who.user})`, operator: "Operator's policy (applies to everyone)" };
  const choices = Object.entries(options).map(([value, label]) => {
    const checked = editor.scope === value;
    const box = h("input", { type: "radio", name: "scope", value, "data-field": "choose_scope", checked });
    return h("label", { key: value }, box, label);
  });
  return h("fieldset", { class: "choice" }, h("legend", {}, "Policy to edit"), choices);
}

/** @param {State} state */
function wishView({ editor }) {
  if (!editor.wish) return null;
  const what = editor.wish === "reload" ? "Reload" : "Switch policies";
  return h("div", { class: "line line-warning", role: "alert", key: "wish" }, [
    icon("alert"),
    h("p", {}, `${what} and discard your unsaved changes?`),
    button("stay", "Keep my changes", { id: "stay" }),
    button("discard", "Discard changes"),
  ]);
}

/** Somebody else has stored another version: both beside each other. @param {State} state */
function conflictView({ editor }) {
  if (!editor.conflict) return null;
  const mine = documentOf(editor.draft).document;
  const theirs = editor.conflict.document;
  const words = "The policy was changed elsewhere since you loaded it. Your changes are kept below.";
  return h("section", { class: "conflict", "aria-labelledby": "conflict-title", key: "conflict" }, [
    h("div", { class: "line line-warning" }, [
      icon("alert"),
      h("p", { id: "conflict-title", tabindex: "-1" }, words),
    ]),
    differing(mine, theirs).map((stage) => differenceView(stage, compare(theirs, mine, stage))),
    h("div", { class: "conflict-actions" }, [
      button("take_theirs", "Use the stored policy", { class: "button" }),
      button("keep_mine", "Keep mine", { class: "button" }),
    ]),
    fine("Keeping yours does not save it. Save then replaces the stored policy."),
  ]);
}

/** @param {Stage} stage @param {ReturnType<typeof compare>} lines */
function differenceView(stage, lines) {
  const taking = { "data-stage": stage, "aria-label": `Use the stored version of ${stage}` };
  const spans = lines.map(({ kind, text }, index) =>
    h("span", { class: `diff diff-${kind}`, key: index }, [
      h("span", { "aria-hidden": "true" }, `${SIGNS[kind]} `),
      WORDS[kind] && h("span", { class: "visually-hidden" }, WORDS[kind]),
      `${text}\n`,
    ]),
  );
  return h("div", { class: "difference", key: stage }, [
    h("div", { class: "stage-head" }, [
      h("h3", {}, h("code", {}, stage)),
      button("take_stage", "Use the stored version", taking),
    ]),
    h("pre", { tabindex: "0", "aria-label": `${stage}: − is stored, + is mine` }, spans),
  ]);
}

/** @param {State} state */
function documentView(state) {
  const { phase, scope, text } = state.editor;
  const problems = problemsOf(state);
  const pressed = (/** @type {boolean} */ isOn) => ({ "aria-pressed": String(isOn) });
  return h("form", { id: "document", "aria-busy": String(phase !== "ready"), key: scope }, [
    h("div", { class: "ways", role: "group", "aria-label": "How to edit" }, [
      button("show_form", "Form", pressed(text === null)),
      button("show_text", "JSON", pressed(text !== null)),
    ]),
    h("fieldset", { class: "bare" }, [
      h("legend", { class: "visually-hidden" }, "Policy document"),
      text === null
        ? STAGES.map((stage) => stageView(state, stage, problems))
        : textView(text, problems.length > 0),
    ]),
    problemsView(state, problems),
    footView(state, problems),
  ]);
}

/** @param {string} value @param {boolean} isWrong */
function textView(value, isWrong) {
  const code = { id: "policy-text", key: "text", class: "code", spellcheck: "false", autocomplete: "off" };
  const wrong = isWrong ? { "aria-invalid": "true", "aria-describedby": "problems" } : {};
  const rows = Math.min(30, Math.max(12, value.split("\n").length + 1));
  const field = { "data-field": "edit_text", "aria-label": "The policy document, as JSON", rows, value };
  return h("textarea", { ...code, ...wrong, ...field });
}

/** @param {State} state @param {Stage} stage @param {readonly Problem[]} problems */
function stageView(state, stage, problems) {
  const [title, help] = STAGE_WORDS[stage];
  const draft = state.editor.draft.stages[stage];
  return h("section", { class: "stage", "aria-labelledby": `title-${stage}`, key: stage }, [
    h("div", { class: "stage-head" }, [
      h("h3", { id: `title-${stage}` }, title, " ", h("code", { class: "fine" }, stage)),
      modeView(state, stage, draft),
    ]),
    fine(help),
    lockedView(state, stage),
    draft ? ownView(state, stage, draft, problems) : belowView(state, stage),
  ]);
}

/** @param {State} state @param {Stage} stage @param {DraftStage | null} draft */
function modeView({ editor }, stage, draft) {
  const mode = draft ? (draft.enabled ? "own" : "off") : "below";
  const below = editor.scope === "operator" ? "As set in parley.yaml" : "As set by the operator";
  const field = { id: `mode-${stage}`, "data-field": "mode", "data-stage": stage };
  return h("label", { class: "mode" }, [
    h("span", { class: "visually-hidden" }, `${STAGE_WORDS[stage][0]}: who decides`),
    select(field, [["below", below], ["own", "Own handlers"], ["off", "Off"]], mode), // prettier-ignore
  ]);
}

/** Before everything else, whatever this document says. @param {State} state @param {Stage} stage */
function lockedView(state, stage) {
  const note = state.editor.scope === "operator" ? "Locked in parley.yaml" : "Locked by the operator";
  const locked = lockedBelow(state, stage).map((one, index) => sketchView(one, { key: `locked-${index}`, note }));
  return locked.length > 0 && listOf(stage, "locked handlers, always first", locked);
}

/** @param {State} state @param {Stage} stage */
function belowView(state, stage) {
  const handlers = openBelow(state, stage)?.map((one, index) => sketchView(one, { key: `below-${index}`, note: "" }));
  const below = state.editor.scope === "operator" ? "parley.yaml" : "the operator's policy";
  if (!handlers) return fine(`After you save, ${below} decides.`);
  if (handlers.length) return listOf(stage, "handlers in force", handlers);
  return lockedBelow(state, stage).length ? null : fine("No handlers.");
}

/** @param {Stage} stage @param {string} what @param {import("./parts.js").Child[]} handlers */
function listOf(stage, what, handlers) {
  return h("ol", { class: "handlers", "aria-label": `${STAGE_WORDS[stage][0]}: ${what}` }, handlers);
}

/** @param {State} state @param {Stage} stage @param {DraftStage} draft @param {readonly Problem[]} problems */
function ownView({ editor }, stage, { enabled, handlers }, problems) {
  const { kinds, scope } = editor;
  const count = handlers.length;
  if (!enabled) return fine("Off: only locked handlers run.", count > 0 && ` ${count} kept for later.`);
  const fitting = kinds.filter(({ stages }) => stages.includes(stage));
  const offered = fitting.find(({ name }) => handlers.every(({ type }) => type !== name)) ?? fitting[0];
  const data = { id: `add-${stage}`, "data-stage": stage, "data-name": offered?.name, disabled: !offered };
  const adding = { ...data, class: "button small add", "aria-label": `Add a handler: ${STAGE_WORDS[stage][0]}` };
  const views = handlers.map((handler, index) => {
    const its = problems.filter((problem) => {
      const place = placeOf(problem);
      return place?.stage === stage && place.index === index;
    });
    return handlerView(handler, { stage, index, count, kinds, mayLock: scope === "operator", problems: its });
  });
  return [
    !count && fine("No handlers yet."),
    listOf(stage, "handlers, in the order they run", views),
    button("add", [icon("plus"), "Add a handler"], adding),
  ];
}

/** Those that no field of the form shows. @param {State} state @param {readonly Problem[]} problems */
function problemsView({ editor }, problems) {
  const shown = editor.text === null ? problems.filter((problem) => !placeOf(problem)) : problems;
  const list = { id: "problems", class: "problems", "aria-label": "Problems", hidden: shown.length === 0 };
  return h("ul", list, shown.map(({ path, message }, key) => h("li", { key }, h("code", {}, path), " ", message)));
}

/** @param {State} state @param {readonly Problem[]} problems */
function footView(state, problems) {
  const { past, phase, text } = state.editor;
  // None is disabled in earnest: that would take the focus from whoever has just pressed it.
  const disabled = (/** @type {boolean} */ isOff) => ({ "aria-disabled": String(isOff) });
  const saving = { type: "submit", class: "button primary", id: "save", ...disabled(!canSave(state)) };
  return h("footer", { class: "standing-foot" }, [
    h("p", { role: "status", class: "fine" }, stateWords(state, problems.length)),
    text === null && button("undo", "Undo", disabled(past.length === 0)),
    button("choose_scope", "Reload", { "data-value": "reload", ...disabled(phase !== "ready") }),
    h("button", saving, phase === "saving" ? "Saving…" : "Save"),
  ]);
}

/** @param {State} state @param {number} problems */
function stateWords(state, problems) {
  const { saved, conflict } = state.editor;
  if (conflict) return "Changed elsewhere: compare the versions first.";
  if (problems) return problems === 1 ? "1 problem to fix." : `${problems} problems to fix.`;
  if (isDirty(state)) return "Unsaved changes.";
  return saved === null ? "" : `${saved} Applies from the next turn.`;
}
