/** Tool activity as a line that opens; what a tool says to the user stands below it. */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { markdownView } from "./markdown_view.js";
import { shortened } from "../text.js";
import { pretty } from "../../sdk/escaped_json.js";
import { t } from "../strings.js";

const MAX_SUMMARY_CHARS = 72;

/**
 * @param {import("../../sdk/frames.js").ToolCall} call
 * @param {import("../../sdk/frames.js").ToolResult | null} result
 * @param {{isAsked?: boolean, isRefused?: boolean}} user is asked about it at this moment; has said no
 */
export function toolView(call, result, { isAsked = false, isRefused = false } = {}) {
  const state = !result ? "running" : result.is_error ? "failed" : "done";
  const ran = result?.arguments ?? call.arguments; // a hook or a human may have changed them
  const line = h(
    "details",
    { class: `tool tool-${state}`, "data-tool": call.name },
    h(
      "summary",
      {},
      icon(state === "running" ? "tool" : state === "failed" ? "alert" : "check"),
      h("span", { class: "tool-name" }, call.name),
      h("span", { class: "tool-arguments" }, summaryOf(ran)),
      h(
        "span",
        { class: "tool-state" },
        result ? outcomeText(result, isRefused) : isAsked ? t.tools.waits : t.tools.running,
      ),
      icon("chevron"),
    ),
    h(
      "div",
      { class: "tool-body" },
      h("p", { class: "tool-part" }, t.tools.arguments),
      h("pre", { tabindex: "0" }, pretty(ran)),
      result && h("p", { class: "tool-part" }, result.is_error ? t.tools.error : t.tools.result),
      result && h("pre", { tabindex: "0" }, result.content || t.tools.nothing),
    ),
  );
  return h("div", { class: "tool-call" }, line, result?.for_user && markdownView(result.for_user));
}

/** @param {import("../../sdk/frames.js").ToolResult} result @param {boolean} isRefused */
function outcomeText({ is_error, duration_ms, ending }, isRefused) {
  switch (ending) {
    case "denied":
      return isRefused ? t.tools.refused : t.tools.denied;
    case "skipped":
      return t.tools.notCarriedOut;
    case "answered":
      return is_error ? t.tools.answeredError : t.tools.answered;
  }
  if (is_error && duration_ms === 0) return ending ? t.tools.stopped : t.tools.notCarriedOut; // with its turn
  return is_error ? t.tools.failed(msText(duration_ms)) : msText(duration_ms);
}

/** @param {number} ms */
function msText(ms) {
  if (ms < 1) return "< 1 ms";
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** @param {unknown} values */
function summaryOf(values) {
  const isObject = typeof values === "object" && values !== null && !Array.isArray(values);
  const text = isObject
    ? Object.values(values)
        .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
        .join(", ")
    : pretty(values);
  return shortened(text, MAX_SUMMARY_CHARS);
}
