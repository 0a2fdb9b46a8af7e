/** What is asked of the audit log. @typedef {import("../state.js").State} State */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { parametersOf } from "../reduce_audit.js";

const PHASES = ["pre_tool_use", "post_tool_use", "tool_error", "tool_skip", "approval", "policy", "gap"];
const OUTCOMES = ["allowed", "denied", "modified", "ran", "failed", "approved", "timeout", "cancelled", "no_client"];

/** The fields are the user's until they ask; the links follow what was asked. @param {State} state */
export function filterView({ audit, who }) {
  const { filter, failure } = audit;
  const wrong = failure?.path ?? null;
  return h(
    "form",
    { id: "filter", role: "search", "aria-label": "The audit log" },
    entry("Tool", "tool", { placeholder: "name, or begin*", wrong }),
    select("What", "phase", PHASES),
    entry("Outcome", "outcome", { list: "outcomes", wrong }),
    h(
      "datalist",
      { id: "outcomes" },
      OUTCOMES.map((name) => h("option", { value: name, key: name })),
    ),
    who?.isOperator && entry("User", "user", { wrong }),
    entry("From", "since", { type: "datetime-local", wrong }),
    entry("Until", "until", { type: "datetime-local", wrong }),
    entry("Text", "text", { type: "search", placeholder: "anywhere in it", wrong }),
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

/**
 * @param {string} label
 * @param {import("../state.js").FilterName} name
 * @param {{type?: string, placeholder?: string, list?: string, wrong: string | null}} more
 */
function entry(label, name, { wrong, type = "text", ...more }) {
  const isWrong = wrong === name;
  return h(
    "label",
    { class: "entry", key: name },
    h("span", {}, label),
    h("input", { name, type, maxlength: "256", autocomplete: "off", "aria-invalid": isWrong ? "true" : null, ...more }),
  );
}

/** @param {string} label @param {import("../state.js").FilterName} name @param {readonly string[]} values */
function select(label, name, values) {
  return h(
    "label",
    { class: "entry", key: name },
    h("span", {}, label),
    h(
      "select",
      { name },
      h("option", { value: "", key: "" }, "everything"),
      values.map((value) => h("option", { value, key: value }, value)),
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
      key: format,
    },
    label,
  );
}
