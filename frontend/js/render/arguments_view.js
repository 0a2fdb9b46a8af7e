/**
 * The arguments of a tool call, for the user who is asked about it: a table, with the JSON on demand. What looks alike
 * stands as in JSON: the text "1" in quotes, white space at an end, signs that turn the text.
 */

import { escapedJson } from "../../sdk/escaped_json.js";
import { t } from "../strings.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";

/** @param {unknown} values */
export function argumentsView(values) {
  const isObject = typeof values === "object" && values !== null && !Array.isArray(values);
  if (!isObject) return h("pre", { class: "approval-arguments", tabindex: "0" }, escapedJson(values));
  const rows = Object.entries(values);
  if (!rows.length) return h("p", { class: "fine" }, t.approval.noArguments);
  return [
    h(
      "div",
      { class: "approval-arguments approval-table", tabindex: "0", role: "group", "aria-label": t.tools.arguments },
      h("table", {}, h("tbody", {}, rows.map(rowView))),
    ),
    h(
      "details",
      { class: "approval-json" },
      h("summary", {}, icon("chevron"), t.approval.json),
      h("pre", { tabindex: "0" }, escapedJson(values)),
    ),
  ];
}

/** @param {[string, unknown]} row */
function rowView([name, value]) {
  const text = typeof value === "string" && isPlain(value) ? value : JSON.stringify(value, null, 2);
  return h(
    "tr",
    {},
    h("th", { scope: "row", dir: "auto" }, escapedJson(name)),
    h("td", { dir: "auto" }, escapedJson(text)),
  );
}

/** Return whether the text cannot be taken for another JSON value. @param {string} text */
function isPlain(text) {
  if (text === "" || text !== text.trim()) return false;
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}
