/**
 * The audit log: its filter, its entries as a table (on a narrow screen each row is a card), its verification.
 *
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").AuditRow} AuditRow
 * @typedef {import("../state.js").Filter} Filter
 * @typedef {[name: string, cell: (row: AuditRow) => import("./parts.js").Child]} Column
 */

import { h, memo } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { MAX_ROWS, canContinue, parametersOf, summary, verdict } from "../reduce_audit.js";
import { button, entry, failureView, fine, listView, select, timeView } from "./parts.js";

const PHASES = ["pre_tool_use", "post_tool_use", "tool_error", "tool_skip", "approval", "policy", "gap"];
const DECIDED = ["called", "approved", "modified", "denied", "skipped"];
const OUTCOMES = [...DECIDED, "ran", "answered", "failed", "stored", "revoked"];
const BAD = ["denied", "failed", "lost"];
const MAX_ABOUT = 120;
const FIRST_FACTS = ["message", "arguments", "result", "approval", "details"];
const SHOWN_ABOVE = ["phase", "tool", "outcome", "handler", "ts_us"];
const NOTHING_YET = "No entries yet. Add the handler audit_log to the tool policy to record calls here.";
const CHAINED = "Each entry holds the hash of the one before it, so that";

/** @param {State} state */
export function auditView(state) {
  const { audit, who } = state;
  const { failure, filter, next, phase, rows } = audit;
  const isFiltered = Object.values(filter).some((value) => value.trim());
  const isFull = next !== null && rows.length >= MAX_ROWS;
  return listView({
    id: "audit-title",
    title: "Audit log",
    about: [
      "Tool calls, policy changes and approvals. ",
      who && !who.isOperator && "Only your own entries are shown.",
    ],
    failure: [filterView(state), failureView(failure, rows.length && next !== null ? "more_audit" : "ask_audit")],
    isLoading: phase === "loading",
    empty: rows.length || failure ? null : isFiltered ? "No entries match. Clear a filter field." : NOTHING_YET,
    list: [
      rows.length > 0 && tableView(state),
      canContinue(state) && button("more_audit", "Show older entries", { class: "button" }),
      isFull && h("p", { class: "line" }, `${MAX_ROWS} entries are shown. Narrow the filter, or export them all.`),
      verificationView(state),
    ],
  });
}

/** The links follow what was asked, not what is being written. @param {State} state */
function filterView({ audit, who }) {
  const { fields, filter, failure } = audit;
  /** @param {import("../state.js").FilterName} name */
  const data = (name) => ({ name, "data-field": "edit_filter", "data-name": name });
  /** @param {string} label @param {import("../state.js").FilterName} name @param {import("./parts.js").Attributes} [more] */
  const field = (label, name, more = {}) => {
    const always = { type: "text", maxlength: "256", autocomplete: "off", value: fields[name] };
    const wrong = { "aria-invalid": name === failure?.path ? "true" : null };
    return entry(name, label, h("input", { ...data(name), ...always, ...wrong, ...more }));
  };
  const phases = new Set(["", ...PHASES, fields.phase]); // from a link: what is asked for is shown
  const options = Array.from(phases, (name) => /** @type {[string, string]} */ ([name, name || "all"]));
  return h("form", { id: "filter", role: "search", "aria-label": "Audit log filter" }, [
    field("Tool", "tool", { placeholder: "name or prefix*" }),
    entry("phase", "Event", select(data("phase"), options, fields.phase)),
    field("Outcome", "outcome", { list: "outcomes" }),
    h("datalist", { id: "outcomes" }, OUTCOMES.map((value) => h("option", { value, key: value }))), // prettier-ignore
    (who?.isOperator || filter.user) && field("User", "user"),
    field("From", "since", { type: "datetime-local" }),
    field("Until", "until", { type: "datetime-local" }),
    field("Text", "text", { type: "search", placeholder: "anywhere in the entry" }),
    h("div", { class: "filter-actions" }, [
      h("button", { type: "submit", class: "button primary" }, icon("inspect"), "Show"),
      button("clear_filter", "Clear", { class: "button" }),
      exportLink("Export as JSON Lines", "jsonl", filter),
      exportLink("Export as CSV", "csv", filter),
    ]),
  ]);
}

/** @param {string} label @param {string} format @param {Filter} filter */
function exportLink(label, format, filter) {
  const parameters = parametersOf(filter);
  parameters.set("format", format);
  const href = `/api/audit/export?${parameters}`;
  return h("a", { class: "button", href, download: "", "data-action": "export", key: format }, label);
}

/** Roles are said again: browsers forget a table's when CSS makes cards of it. @param {State} state */
function tableView({ audit, who }) {
  const { rows, next, phase, openIds } = audit;
  const { columns, closedRow } = who?.isOperator ? OPERATORS : USERS;
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const zone = timeZone === "UTC" ? "Times are in UTC." : `Times are in ${timeZone}; exports use UTC.`;
  const head = { scope: "col", role: "columnheader" };
  const heads = columns.map(([key]) => h("th", { ...head, "aria-sort": key === "Time" && "descending", key }, key));
  const shown = (/** @type {AuditRow} */ row) => (openIds.includes(row.id) ? openRow(row, columns) : closedRow(row));
  const last = h("th", { ...head, key: "details" }, h("span", { class: "visually-hidden" }, "Details"));
  return h("table", { class: "audit", role: "table", "aria-busy": String(phase === "loading") }, [
    h("caption", {}, `${summary(rows.length, next !== null)} ${zone}`),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads, last)),
    h("tbody", { role: "rowgroup" }, rows.map(shown)),
  ]);
}

/** @param {unknown} value */
function text(value) {
  return value === undefined || value === null ? "" : String(value);
}

/** What was called, or said of it: the rest is in the details. @param {AuditRow} row */
function aboutView({ entry: { arguments: given, message } }) {
  const about = text(message) || (given === undefined ? "" : JSON.stringify(given));
  return about && h("code", {}, about.length > MAX_ABOUT ? `${about.slice(0, MAX_ABOUT)}…` : about);
}

/** With how a human answered. @param {AuditRow} row */
function outcomeView({ entry: { outcome, approval } }) {
  const words = [outcome, approval].map(text).filter(Boolean).join(", ");
  return words && h("span", { class: BAD.includes(text(outcome)) ? "tag tag-warning" : "tag" }, words);
}

/** @param {AuditRow} row @param {readonly Column[]} columns @param {boolean} isOpen */
function summaryRow(row, columns, isOpen) {
  const { id, entry } = row;
  const what = [entry.phase, entry.tool].map(text).filter(Boolean).join(" ");
  const opens = { "aria-expanded": String(isOpen), "aria-controls": isOpen ? `details-${id}` : null };
  const more = { id: `entry-${id}`, "data-id": id, ...opens, "aria-label": `Details of ${what}` };
  return h("tr", { role: "row", key: `row-${id}` }, [
    columns.map(([name, cell]) => h("td", { role: "cell", "data-label": name, key: name }, cell(row))),
    h("td", { role: "cell", key: "details" }, button("toggle_entry", isOpen ? "Less" : "More", more)),
  ]);
}

/** With all that the entry says. @param {AuditRow} row @param {readonly Column[]} columns */
function openRow(row, columns) {
  const { id, entry, replica, day, number, hash, ts } = row;
  const known = [...FIRST_FACTS, ...SHOWN_ABOVE];
  const others = Object.keys(entry).filter((name) => !known.includes(name));
  const names = [...FIRST_FACTS.filter((name) => name in entry), ...others.sort()];
  const facts = h("dl", { class: "facts" }, [
    names.map((name) => factView(name, entry[name])),
    factView("time", ts),
    factView("place", `entry ${number} of ${replica} on ${day}`),
    factView("hash", hash),
  ]);
  const cell = h("td", { role: "cell", colspan: columns.length + 1 }, facts);
  const key = `details-${id}`;
  return [summaryRow(row, columns, true), h("tr", { role: "row", class: "details", id: key, key }, cell)];
}

/** @param {string} name @param {unknown} value */
function factView(name, value) {
  const isStructure = typeof value === "object" && value !== null;
  const shown = isStructure ? h("pre", { tabindex: "0" }, JSON.stringify(value, null, 2)) : String(value);
  return h("div", { key: name }, h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, shown));
}

/** A row is drawn once: there may be thousands. @param {readonly Column[]} columns */
function table(columns) {
  return { columns, closedRow: memo((/** @type {AuditRow} */ row) => summaryRow(row, columns, false)) };
}

/** @type {readonly Column[]} */
const COLUMNS = [
  ["Time", ({ ts }) => timeView(ts)],
  ["Event", ({ entry }) => text(entry.phase)],
  ["Tool", ({ entry }) => text(entry.tool)],
  ["About", aboutView],
  ["Outcome", outcomeView],
  ["Handler", ({ entry }) => text(entry.handler)],
];
const USERS = table(COLUMNS);
const OPERATORS = table([...COLUMNS, ["User", ({ entry }) => text(entry.user)]]);

/** Whether the log is what was written: for operators; to everybody else only what the hashes are for. @param {State} state */
function verificationView({ verification, who }) {
  const { isRunning, failure, found } = verification;
  if (!who?.isOperator) return fine(`${CHAINED} an operator can find changed or removed entries.`);
  const section = { "aria-labelledby": "verification-title", "aria-busy": String(isRunning) };
  const verifying = { class: "button", id: "verify", "aria-disabled": String(isRunning) };
  return h("section", { class: "verification", ...section }, [
    h("h3", { id: "verification-title" }, "Verification"),
    fine(`${CHAINED} changed or removed entries are found. Verification reads the whole log, whatever the filter.`),
    button("verify", isRunning ? "Verifying…" : "Verify the log", verifying),
    failureView(failure, "verify"),
    found && foundView(found),
  ]);
}

/** @param {import("../state.js").Found} found */
function foundView(found) {
  const { is_whole: isWhole, problems, days, pruned } = found;
  const list = { class: "problems", "aria-label": "Problems found", hidden: problems.length === 0 };
  const summaryWords = "Each day with its last hash, to compare with the server's log";
  return [
    h("div", { class: isWhole ? "line" : "line line-error", key: "verdict" }, [
      icon(isWhole ? "check" : "alert"),
      h("p", {}, verdict(found)),
    ]),
    h("ul", list, problems.map((problem, key) => h("li", { key }, problem))), // prettier-ignore
    days.length + pruned.length > 0 &&
      h("details", { key: "days" }, [
        h("summary", {}, h("span", { class: "fine" }, summaryWords)),
        h("ul", { class: "days" }, [...pruned.map((day) => dayView(day, "deleted as too old")), ...days.map(keptView)]),
      ]),
  ];
}

/** @param {import("../state.js").Day} day */
function keptView(day) {
  return dayView(day, day.is_closed ? "closed" : "open");
}

/** @param {import("../state.js").PrunedDay} day @param {string} state */
function dayView({ replica, day, entries, last_hash: hash }, state) {
  const words = `${replica} ${day}, ${state}, entries: ${entries} `;
  return h("li", { key: `${replica} ${day}` }, words, h("code", {}, hash));
}
