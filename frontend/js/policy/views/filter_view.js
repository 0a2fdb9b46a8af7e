/** What is asked of the audit log. @typedef {import("../state.js").State} State */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { parametersOf } from "../address.js";

const PHASES = ["pre_tool_use", "post_tool_use", "tool_error", "tool_skip", "approval", "policy", "gap"];
const OUTCOMES = ["called", "approved", "modified", "denied", "skipped", "ran", "answered", "failed", "stored", "revoked"];

/** The links follow what was asked, not what is being written. @param {State} state */
export function filterView({ audit, who }) {
  const { fields, filter, failure } = audit;
  const wrong = failure?.path ?? null;
  /** @param {import("../state.js").FilterName} name */
  const field = (name) => ({ name, value: fields[name], wrong: name === wrong });
  return h(
    "form",
    { id: "filter", role: "search", "aria-label": "The audit log" },
    entry("Tool", { ...field("tool"), placeholder: "name, or begin*" }),
    select("What", field("phase"), PHASES),
    entry("Outcome", { ...field("outcome"), list: "outcomes" }),
    h(
      "datalist",
      { id: "outcomes" },
      OUTCOMES.map((name) => h("option", { value: name, key: name })),
    ),
    (who?.isOperator || filter.user) && entry("User", field("user")),
    entry("From", { ...field("since"), type: "datetime-local" }),
    entry("Until", { ...field("until"), type: "datetime-local" }),
    entry("Text", { ...field("text"), type: "search", placeholder: "anywhere in it" }),
    h(
      "div",
      { class: "filter-actions" },
      h("button", { type: "submit", class: "button primary" }, icon("inspect"), "Show"),
      h("button", { type: "button", class: "button", "data-action": "clear-filter" }, "Clear"),
      exportLink("Export as JSON Lines", "jsonl", filter),
      exportLink("Export as CSV", "csv", filter),
    ),
  );
}

/** @typedef {{name: import("../state.js").FilterName, value: string, wrong: boolean}} Field */

/** @param {string} label @param {Field & {type?: string, placeholder?: string, list?: string}} field */
function entry(label, { name, wrong, type = "text", ...more }) {
  const always = { name, type, "data-field": "filter", "data-name": name, maxlength: "256", autocomplete: "off" };
  return h(
    "label",
    { class: "entry", key: name },
    h("span", {}, label),
    h("input", { ...always, "aria-invalid": wrong ? "true" : null, ...more }),
  );
}

/** @param {string} label @param {Field} field @param {readonly string[]} values */
function select(label, { name, value: chosen }, values) {
  const all = ["", ...values];
  if (!all.includes(chosen)) all.push(chosen); // from a link: what is asked for is shown
  return h(
    "label",
    { class: "entry", key: name },
    h("span", {}, label),
    h(
      "select",
      { name, "data-field": "filter", "data-name": name },
      all.map((value) => h("option", { value, selected: value === chosen, key: value }, value || "everything")),
    ),
  );
}

/** @param {string} label @param {string} format @param {import("../state.js").Filter} filter */
function exportLink(label, format, filter) {
  const parameters = parametersOf(filter);
  parameters.set("format", format);
  return h(
    "a",
    {
      class: "button",
      href: `/api/audit/export?${parameters}`,
      download: "",
      "data-action": "export",
      key: format,
    },
    label,
  );
}
