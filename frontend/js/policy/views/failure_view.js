/** What went wrong, and what helps. @typedef {import("../state.js").Failure} Failure */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";

/** @param {Failure | null} failure @param {string} retry the action that tries again */
export function failureView(failure, retry) {
  if (!failure) return null;
  return h(
    "div",
    { class: "line line-error", role: "alert", key: "failure" },
    icon("alert"),
    h("p", {}, failure.message, failure.path && [" (", h("code", {}, failure.path), ")"]),
    // In a tab of its own: what was changed here would be lost.
    failure.kind === "login" &&
      h("a", { class: "button small", href: "/login", target: "_blank", rel: "noopener" }, "Log in"),
    h("button", { type: "button", class: "button small", "data-action": retry }, "Try again"),
  );
}
