/**
 * Notices and errors: what happened, and what cures it.
 *
 * @typedef {import("../../sdk/frames.js").Notice} Notice
 */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { adviceOn, namesSettings, t } from "../strings.js";

/** @param {Notice} notice @param {boolean} canDismiss */
export function noticeView({ code, level, message }, canDismiss) {
  return h(
    "div",
    { class: `line line-${level}`, role: level === "error" ? "alert" : "status", key: `${code}:${message}` },
    icon(level === "info" ? "info" : "alert"),
    h("p", {}, message, t.cures[code] && level === "error" && h("span", { class: "cure" }, ` ${t.cures[code]}`)),
    canDismiss &&
      h(
        "button",
        {
          type: "button",
          class: "button icon-only small",
          "data-action": "dismiss-notice",
          "data-code": code,
          "aria-label": t.dismiss,
        },
        icon("close"),
      ),
  );
}

/** @param {import("../../sdk/frames.js").ErrorFrame} error */
export function errorView(error) {
  const { code, message, path } = error;
  const advice = adviceOn(error);
  const isDetailed = !advice || (code !== "language_unknown" && !namesSettings(message));
  return h(
    "div",
    { class: "line line-error", role: "alert", "data-code": code },
    icon("alert"),
    h(
      "p",
      {},
      advice && h("span", { class: "cure" }, `${advice} `),
      isDetailed && h("span", { class: "details" }, message),
      path && !message.includes(path) && h("code", {}, path),
    ),
  );
}
