/**
 * The policy editor: four stages with their handlers, or the document as JSON.
 *
 * @typedef {import("../state.js").State} State
 * @typedef {import("../document.js").Stage} Stage
 * @typedef {import("../document.js").Problem} Problem
 */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { placeOf } from "../check.js";
import { STAGES } from "../document.js";
import { canSave, isDirty, lockedBelow, openBelow, problemsOf } from "../reduce_editor.js";
import { conflictView } from "./conflict_view.js";
import { failureView } from "./failure_view.js";
import { handlerView, sketchView } from "./handler_view.js";

/** @type {Record<Stage, [string, string]>} */
export const STAGE_WORDS = {
  pre_tool_use: ["Before a tool runs", "Handlers can let the call run, change it, stop it, or ask a human."],
  post_tool_use: ["After it has run", "Handlers can change the result before anybody reads it."],
  tool_error: ["When it has failed", "Handlers see the error."],
  tool_skip: ["When it did not run", "Handlers see calls that were stopped, refused or cancelled."],
};

/** @param {State} state */
export function editorView(state) {
  const { editor } = state;
  return [
    h("h2", { id: "policy-title", tabindex: "-1" }, "Tool policy"),
    h(
      "p",
      { class: "fine" },
      "What is done before and after each tool call. A stage that you leave alone is decided ",
      editor.scope === "operator" ? "in parley.yaml." : "by the operator.",
      " Changes count from the next turn on.",
    ),
    scopeView(state),
    wishView(state),
    failureView(editor.failure, editor.isUnsaved ? "save" : "load-policy"),
    conflictView(state),
    editor.base
      ? documentView(state)
      : !editor.failure && h("p", { class: "line", role: "status" }, "Reading the policy…"),
  ];
}

/** @param {State} state */
function scopeView({ who, editor }) {
  if (!who?.isOperator) return null;
  const options = [
    ["user", `Mine (${who.user})`],
    ["operator", "The operator's, under everybody's"],
  ];
  return h(
    "fieldset",
    { class: "choice" },
    h("legend", {}, "Whose document"),
    options.map(([value = "", label = ""]) =>
      h(
        "label",
        { key: value },
        h("input", { type: "radio", name: "scope", value, "data-field": "scope", checked: editor.scope === value }),
        label,
      ),
    ),
  );
}

/** @param {State} state */
function wishView({ editor }) {
  if (!editor.wish) return null;
  const what = editor.wish === "reload" ? "Read it anew" : "Go to the other document";
  return h(
    "div",
    { class: "line line-warning", role: "alert", key: "wish" },
    icon("alert"),
    h("p", {}, `${what} and lose the changes that are not saved?`),
    button("stay", "Keep my changes", { id: "stay" }),
    button("discard", "Lose them"),
  );
}

/** @param {string} action @param {string} label @param {Record<string, import("../../render/dom.js").AttributeValue>} [more] */
function button(action, label, more = {}) {
  return h("button", { type: "button", class: "button small", "data-action": action, key: action, ...more }, label);
}

/** @param {State} state */
function documentView(state) {
  const { editor } = state;
  const problems = problemsOf(state);
  return h(
    "form",
    { id: "document", "aria-busy": String(editor.phase !== "ready"), key: editor.scope },
    formView(state),
    h(
      "fieldset",
      { class: "bare" },
      h("legend", { class: "visually-hidden" }, "The document"),
      editor.text === null
        ? STAGES.map((stage) => stageView(state, stage, problems))
        : textView(editor.text, problems.length > 0),
    ),
    problemsView(state, problems),
    footView(state, problems),
  );
}

/** Form or JSON: two ways to write the same. @param {State} state */
function formView({ editor }) {
  const isText = editor.text !== null;
  return h(
    "div",
    { class: "ways", role: "group", "aria-label": "How to edit" },
    button("show-form", "Form", { "aria-pressed": String(!isText) }),
    button("show-text", "JSON", { "aria-pressed": String(isText) }),
  );
}

/** @param {string} text @param {boolean} isWrong */
function textView(text, isWrong) {
  return h("textarea", {
    id: "policy-text",
    key: "text",
    class: "code",
    "data-field": "text",
    "aria-label": "The policy document, as JSON",
    "aria-invalid": isWrong ? "true" : null,
    "aria-describedby": isWrong ? "problems" : null,
    spellcheck: "false",
    autocomplete: "off",
    rows: Math.min(30, Math.max(12, text.split("\n").length + 1)),
    value: text,
  });
}

/** @param {State} state @param {Stage} stage @param {readonly Problem[]} problems */
function stageView(state, stage, problems) {
  const { editor } = state;
  const [title, help] = STAGE_WORDS[stage];
  const draft = editor.draft.stages[stage];
  const its = problems.filter((problem) => placeOf(problem)?.stage === stage);
  return h(
    "section",
    { class: "stage", "aria-labelledby": `title-${stage}`, key: stage },
    h(
      "div",
      { class: "stage-head" },
      h("h3", { id: `title-${stage}` }, title, " ", h("code", { class: "fine" }, stage)),
      modeView(editor.scope, stage, draft),
    ),
    h("p", { class: "fine" }, help),
    lockedView(state, stage),
    draft ? ownView(state, stage, draft, its) : belowView(state, stage),
  );
}

/** @param {import("../state.js").Scope} scope @param {Stage} stage @param {import("../document.js").DraftStage | null} draft */
function modeView(scope, stage, draft) {
  const mode = draft ? (draft.enabled ? "own" : "off") : "below";
  const options = [
    ["below", scope === "operator" ? "As parley.yaml says" : "As the operator decides"],
    ["own", "As decided here"],
    ["off", "Off"],
  ];
  return h(
    "label",
    { class: "mode" },
    h("span", { class: "visually-hidden" }, `${STAGE_WORDS[stage][0]}: who decides`),
    h(
      "select",
      { id: `mode-${stage}`, "data-field": "mode", "data-stage": stage },
      options.map(([value = "", text = ""]) => h("option", { value, selected: value === mode, key: value }, text)),
    ),
  );
}

/** Before everything else, whatever this document says. @param {State} state @param {Stage} stage */
function lockedView(state, stage) {
  const locked = lockedBelow(state, stage);
  if (!locked.length) return null;
  const who = state.editor.scope === "operator" ? "Locked in parley.yaml" : "Locked by the operator";
  return h(
    "ol",
    { class: "handlers", "aria-label": `${STAGE_WORDS[stage][0]}: locked handlers, always first` },
    locked.map((handler, index) => sketchView(handler, { key: `locked-${index}`, note: who })),
  );
}

/** @param {State} state @param {Stage} stage */
function belowView(state, stage) {
  const handlers = openBelow(state, stage);
  if (handlers === null) return h("p", { class: "fine" }, "The document below decides, once this is saved.");
  if (!handlers.length)
    return lockedBelow(state, stage).length ? null : h("p", { class: "fine" }, "Nothing is done here.");
  return h(
    "ol",
    { class: "handlers", "aria-label": `${STAGE_WORDS[stage][0]}: handlers in force` },
    handlers.map((handler, index) => sketchView(handler, { key: `below-${index}`, note: "" })),
  );
}

/**
 * @param {State} state
 * @param {Stage} stage
 * @param {import("../document.js").DraftStage} draft
 * @param {readonly Problem[]} problems
 */
function ownView({ editor }, stage, draft, problems) {
  const count = draft.handlers.length;
  if (!draft.enabled)
    return h("p", { class: "fine" }, "Off: only locked handlers work here.", count > 0 && ` ${count} kept for later.`);
  const fitting = editor.kinds.filter(({ stages }) => stages.includes(stage));
  const offered = fitting.find(({ name }) => draft.handlers.every(({ type }) => type !== name)) ?? fitting[0];
  return [
    !count && h("p", { class: "fine" }, "Nothing is done here yet."),
    h(
      "ol",
      { class: "handlers", "aria-label": `${STAGE_WORDS[stage][0]}: handlers, in the order they are asked` },
      draft.handlers.map((handler, index) =>
        handlerView(handler, {
          stage,
          index,
          count,
          kinds: editor.kinds,
          mayLock: editor.scope === "operator",
          problems: problems.filter((problem) => placeOf(problem)?.index === index),
        }),
      ),
    ),
    h(
      "button",
      {
        type: "button",
        class: "button small add",
        id: `add-${stage}`,
        "data-action": "add",
        "data-stage": stage,
        "data-type": offered?.name ?? "",
        disabled: !offered,
        "aria-label": `Add a handler: ${STAGE_WORDS[stage][0]}`,
      },
      icon("plus"),
      "Add a handler",
    ),
  ];
}

/** Those that no field of the form shows. @param {State} state @param {readonly Problem[]} problems */
function problemsView({ editor }, problems) {
  const shown = editor.text === null ? problems.filter((problem) => !placeOf(problem)) : problems;
  return h(
    "ul",
    { id: "problems", class: "problems", "aria-label": "What is wrong", hidden: shown.length === 0 },
    shown.map(({ path, message }, index) => h("li", { key: index }, h("code", {}, path), " ", message)),
  );
}

/** @param {State} state @param {readonly Problem[]} problems */
function footView(state, problems) {
  const { editor } = state;
  return h(
    "footer",
    { class: "standing-foot" },
    h("p", { role: "status", class: "fine" }, stateWords(state, problems.length)),
    // None is disabled in earnest: that would take the focus from whoever has just pressed it.
    editor.text === null && button("undo", "Undo", { "aria-disabled": String(editor.past.length === 0) }),
    button("reload", "Read anew", { "aria-disabled": String(editor.phase !== "ready") }),
    h(
      "button",
      { type: "submit", class: "button primary", id: "save", "aria-disabled": String(!canSave(state)) },
      editor.phase === "saving" ? "Saving…" : "Save",
    ),
  );
}

/** @param {State} state @param {number} problems */
function stateWords(state, problems) {
  const { saved, conflict } = state.editor;
  if (conflict) return "Changed elsewhere: compare first.";
  if (problems) return problems === 1 ? "One thing to mend." : `${problems} things to mend.`;
  if (isDirty(state)) return "Changes that are not saved.";
  return saved === null ? "" : `${saved} In force for the next turn.`;
}
