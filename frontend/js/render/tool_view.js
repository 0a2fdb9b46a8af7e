/** Tool activity as a line that opens; what a tool says to the user stands below it. */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { markdownView } from "./markdown_view.js";
import { pretty } from "../pretty.js";

const MAX_SUMMARY_CHARS = 72;

/** @param {import("../frames.js").ToolCall} call @param {import("../frames.js").ToolResult | null} result */
export function toolView(call, result) {
  const state = !result ? "running" : result.is_error ? "failed" : "done";
  const line = h(
    "details",
    { class: `tool tool-${state}`, "data-tool": call.name },
    h(
      "summary",
      {},
      icon(state === "running" ? "tool" : state === "failed" ? "alert" : "check"),
      h("span", { class: "tool-name" }, call.name),
      h("span", { class: "tool-arguments" }, summaryOf(call.arguments)),
      h("span", { class: "tool-state" }, result ? durationText(result) : "running…"),
      icon("chevron"),
    ),
    h(
      "div",
      { class: "tool-body" },
      h("h4", {}, "Arguments"),
      h("pre", { tabindex: "0" }, pretty(result?.arguments ?? call.arguments)),
      result && h("h4", {}, result.is_error ? "Error" : "Result"),
      result && h("pre", { tabindex: "0" }, result.content || "(nothing)"),
    ),
  );
  return h("div", { class: "tool-call" }, line, result?.for_user && markdownView(result.for_user));
}

/** @param {import("../frames.js").ToolResult} result */
function durationText({ is_error, duration_ms }) {
  const time = duration_ms < 1000 ? `${Math.round(duration_ms)} ms` : `${(duration_ms / 1000).toFixed(1)} s`;
  return is_error ? `failed, ${time}` : time;
}

/** @param {unknown} values */
function summaryOf(values) {
  const isObject = typeof values === "object" && values !== null && !Array.isArray(values);
  const text = isObject
    ? Object.values(values)
        .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
        .join(", ")
    : pretty(values);
  return text.length > MAX_SUMMARY_CHARS ? `${text.slice(0, MAX_SUMMARY_CHARS - 1)}…` : text;
}
