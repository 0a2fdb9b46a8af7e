/**
 * Two ways to a new hook: a form beside the JSON, and a wish that the model writes a hook for.
 *
 * @import { State } from "../state.js"
 */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { CONDITIONS, withHooks } from "../hook_form.js";
import { locale } from "../../strings.js";
import { HOOKS } from "../state.js";
import { s } from "../../strings/studio.js";
import { differenceView } from "./editor_view.js";
import { button, fine } from "./parts.js";

/** @param {State} state */
export function hookFormView({ form, hook }) {
  if (form !== "hook") return null;
  const { name, text, timing, role, once, rows } = hook;
  const named = { ...field("name"), id: "hook-name", type: "text", value: name, autocomplete: "off", required: true };
  return h("form", { class: "studio-form", "aria-labelledby": "hook-title", key: "hook-form" }, [
    h("h3", { id: "hook-title" }, s.newHook),
    fine(s.hookFormHelp),
    labelled(s.hookName, h("input", { ...named, pattern: "[a-z0-9]+(-[a-z0-9]+)*", title: s.skillNameHelp })),
    labelled(s.hookText, h("textarea", { ...field("text"), rows: 3, value: text, required: true })),
    h("div", { class: "studio-columns" }, [
      labelled(s.timing, h("select", field("timing"), options(s.timings, timing))),
      labelled(s.role, h("select", field("role"), options(s.roles, role))),
    ]),
    h("fieldset", { class: "studio-conditions" }, [
      h("legend", {}, s.conditions),
      rows.length === 0 && fine(s.noConditions),
      rows.map(rowView),
      h("div", { class: "studio-bar" }, button("add_row", s.addCondition, { id: "add-row" })),
    ]),
    h("label", { class: "studio-box" }, h("input", { ...field("once"), type: "checkbox", checked: once }), s.onceHelp),
    h("div", { class: "studio-bar" }, [
      h("button", { type: "submit", class: "button small primary" }, s.addHook),
      button("form", s.cancel, { "data-form": "hook" }),
    ]),
  ]);
}

/** @param {import("../hook_form.js").Row} row @param {number} at */
function rowView({ key, value, isNot }, at) {
  const of = (/** @type {string} */ name) => ({ ...field(name), "data-row": at });
  const kind = CONDITIONS[/** @type {keyof typeof CONDITIONS} */ (key)];
  const written = {
    ...of("value"),
    type: "text",
    value,
    required: true,
    autocomplete: "off",
    placeholder: s.examples[key],
  };
  return h("div", { class: "studio-row", role: "group", "aria-label": s.condition(at + 1), key: at }, [
    labelled(s.condition(at + 1), h("select", { ...of("key"), id: `hook-row-${at}` }, options(s.conditionNames, key))),
    kind !== "true" && labelled(s.value, h("input", written)),
    h("label", { class: "studio-box" }, h("input", { ...of("isNot"), type: "checkbox", checked: isNot }), s.not),
    button("drop_row", s.removeCondition, {
      "data-row": at,
      "aria-label": `${s.removeCondition}: ${s.condition(at + 1)}`,
    }),
  ]);
}

/** @param {string} name of the form's field */
const field = (name) => ({ "data-field": "hook_field", "data-name": name });

/** @param {string} label @param {import("../../render/dom.js").Child} control */
const labelled = (label, control) => h("label", { key: label }, h("span", {}, label), control);

/** @param {Readonly<Record<string, string>>} names by value @param {string} chosen */
function options(names, chosen) {
  return Object.entries(names).map(([value, name]) =>
    h("option", { value, selected: value === chosen, key: value }, name),
  );
}

/** A skill from elsewhere, or from the bin. @param {State} state */
export function addView({ form, source, arrivals, isReceiving, bin }) {
  if (form !== "add") return null;
  const address = { id: "source", type: "text", value: source.data ? "" : source.source, autocomplete: "off" };
  return h("form", { class: "studio-form", "aria-labelledby": "add-title", key: "add-form" }, [
    h("h3", { id: "add-title" }, s.addSkill),
    fine(s.addHelp),
    labelled(s.fileToAdd, h("input", { type: "file", accept: ".zip,.json", "data-field": "file_chosen" })),
    labelled(
      s.address,
      h("input", { ...address, "data-field": "source", placeholder: "https://example.org/skills.git#pirate" }),
    ),
    h("div", { class: "studio-bar", key: "bar" }, [
      h("button", { type: "submit", class: "button small primary" }, isReceiving ? s.loading : s.look),
      button("form", s.cancel, { "data-form": "add" }),
    ]),
    arrivals &&
      h("section", { id: "arrivals", tabindex: "-1", "aria-label": s.arrivals, key: "arrivals" }, [
        h("pre", { class: "difference", tabindex: "0", role: "group", "aria-label": s.arrivals }, arrivals.text),
        button("add_skill", s.addThem(arrivals.names.join(", ")), { class: "button small primary" }),
      ]),
    h("h4", { key: "bin-title" }, s.bin),
    bin.length === 0 && fine(s.emptyBin),
    h(
      "ul",
      { class: "studio-bin", key: "bin" },
      bin.map(({ entry, name, at }) =>
        h("li", { key: entry }, button("restore", s.restore(name), { "data-entry": entry }), ` ${shownDate(at)}`),
      ),
    ),
  ]);
}

/** @param {string} at `20261128T183000.5` in UTC */
function shownDate(at) {
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)/.exec(at) ?? [];
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0] = parts.map(Number);
  return new Date(Date.UTC(year, month - 1, day, hour, minute)).toLocaleString(locale, DATE);
}

const DATE = /** @type {const} */ ({ dateStyle: "medium", timeStyle: "short" });

/** @param {State} state */
export function describeView(state) {
  const { wish, draft, listing } = state;
  if (!listing?.is_writable) return null;
  const isRunning = Boolean(draft?.isRunning);
  const asking = { class: `button small ${isRunning ? "" : "primary"}`, disabled: !isRunning && !wish.trim() };
  const last = draft?.steps.at(-1);
  const before = state.buffers[HOOKS]?.text ?? "";
  const document = withHooks(before, last?.hooks ?? [], last?.variables) ?? before;
  const files = last?.hooks.length ? Object.entries({ ...last.files, [HOOKS]: document }) : [];
  return h("section", { class: "studio-describe studio-entry", "aria-labelledby": "describe-title", key: "describe" }, [
    h("h3", { id: "describe-title" }, s.describe),
    fine(s.describeHelp),
    labelled(
      s.wish,
      h("textarea", {
        id: "wish",
        rows: 2,
        maxlength: 2000,
        value: wish,
        "data-field": "wish",
        placeholder: s.wishExample,
      }),
    ),
    h("div", { class: "studio-bar", key: "bar" }, button("describe", isRunning ? s.stop : s.writeDraft, asking)),
    draft &&
      h("ol", { class: "studio-steps", "aria-busy": String(isRunning), key: "steps" }, [
        draft.steps.map(stepView),
        isRunning && h("li", { class: "fine", key: "next" }, s.drafting(draft.steps.length + 1)),
      ]),
    draft &&
      !isRunning &&
      files.length > 0 &&
      h("section", { id: "draft", tabindex: "-1", "aria-label": s.difference, key: "draft" }, [
        last && last.problems.length > 0 && h("p", { class: "problem" }, s.draftWrong),
        last && last.broken.length > 0 && h("p", { class: "problem" }, `${s.draftBreaks} ${last.broken.join("; ")}`),
        files.map(([path, text]) => [
          h("h4", { key: path }, path),
          differenceView(path === HOOKS ? before : "", text, s.differenceOf(path)),
        ]),
        h("div", { class: "studio-bar" }, [
          button("take_draft", s.takeDraft, { class: "button small primary" }),
          button("drop_draft", s.dropDraft),
        ]),
      ]),
  ]);
}

/** @param {import("../state.js").DraftStep} step */
function stepView({ draft, problems, tests, passed }) {
  const sum = h("span", { class: "fine" }, s.draftSum(draft, problems.length, passed, tests));
  if (!problems.length) return h("li", { key: draft }, sum);
  const list = problems.map((problem, at) => h("li", { key: at }, h("pre", { tabindex: "0" }, problem)));
  return h("li", { key: draft }, h("details", {}, h("summary", {}, icon("chevron"), sum), h("ul", {}, list)));
}
