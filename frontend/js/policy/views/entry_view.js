/** All that an entry of the audit log says. @typedef {import("../state.js").AuditRow} AuditRow */

import { h } from "../../render/dom.js";

const FIRST = ["message", "arguments", "result", "approval", "details"];
const SHOWN_ABOVE = ["phase", "tool", "outcome", "handler", "ts_us"];

/** @param {AuditRow} row */
export function entryView({ entry, replica, day, number, hash, ts }) {
  const others = Object.keys(entry).filter((name) => !FIRST.includes(name) && !SHOWN_ABOVE.includes(name));
  const names = [...FIRST.filter((name) => name in entry), ...others.sort()];
  return h(
    "dl",
    { class: "facts" },
    names.map((name) => factView(name, entry[name])),
    factView("time", ts),
    factView("place", `number ${number} of ${replica}'s ${day}`),
    factView("hash", hash),
  );
}

/** @param {string} name @param {unknown} value */
function factView(name, value) {
  const isStructure = typeof value === "object" && value !== null;
  return h(
    "div",
    { key: name },
    h("dt", {}, name.replaceAll("_", " ")),
    h("dd", {}, isStructure ? h("pre", { tabindex: "0" }, JSON.stringify(value, null, 2)) : String(value)),
  );
}
