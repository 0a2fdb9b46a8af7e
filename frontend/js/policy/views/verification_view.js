/** Whether the audit log is what was written. @typedef {import("../state.js").State} State */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { verdict } from "../reduce_verification.js";
import { failureView } from "./failure_view.js";

/** For operators; to everybody else only what the hashes are for. @param {State} state */
export function verificationView({ verification, who }) {
  const { isRunning, failure, found } = verification;
  const about = "Entries are chained by their hashes, so that what was changed or taken out is found";
  if (!who?.isOperator) return h("p", { class: "fine", key: "verification" }, `${about} by an operator.`);
  return h(
    "section",
    { class: "verification", "aria-labelledby": "verification-title", "aria-busy": String(isRunning) },
    h("h3", { id: "verification-title" }, "Is it what was written?"),
    h("p", { class: "fine" }, `${about}. All of the log is read, whatever the filter says.`),
    h(
      "button",
      { type: "button", class: "button", id: "verify", "data-action": "verify", "aria-disabled": String(isRunning) },
      isRunning ? "Verifying…" : "Verify the log",
    ),
    failureView(failure, "verify"),
    found && foundView(found),
  );
}

/** @param {import("../state.js").Found} found */
function foundView(found) {
  return [
    h(
      "div",
      { class: found.is_whole ? "line" : "line line-error", key: "verdict" },
      icon(found.is_whole ? "check" : "alert"),
      h("p", {}, verdict(found)),
    ),
    h(
      "ul",
      { class: "problems", "aria-label": "What is not as it was written", hidden: found.problems.length === 0 },
      found.problems.map((problem, index) => h("li", { key: index }, problem)),
    ),
    found.days.length > 0 &&
      h(
        "details",
        { key: "days" },
        h("summary", {}, h("span", { class: "fine" }, "Each day with its last hash, to compare with the server's log")),
        h("ul", { class: "days" }, found.days.map(dayView)),
      ),
  ];
}

/** @param {import("../state.js").Day} day */
function dayView({ replica, day, entries, last_hash: hash, is_closed: isClosed }) {
  return h(
    "li",
    { key: `${replica} ${day}` },
    `${replica} ${day}, ${isClosed ? "closed" : "open"}, entries: ${entries} `,
    h("code", {}, hash),
  );
}
