/**
 * The audit log: its filter, its entries as a table (on a narrow screen each row is a card), its verification.
 *
 * @import { AuditRow, Filter, Found, State } from "../state.js"
 * @import { Attributes, Child } from "./parts.js"
 */

import { h, memo } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { MAX_ROWS, canContinue, summary, verdict } from "../reduce_audit.js";
import { button, emptyView, entry, failureView, fine, select, timeView, title } from "./parts.js";

const PHASES = ["pre_tool_use", "post_tool_use", "tool_error", "tool_skip", "approval", "policy", "gap"];
const OUTCOMES = "called approved modified denied skipped ran answered failed stored revoked".split(" ");
const BAD = ["denied", "failed", "lost"];
const MAX_ABOUT = 120;
const SHOWN_ABOVE = ["phase", "tool", "outcome", "handler", "ts_us"];
const NOTHING_YET = "No entries yet. Add the rule audit_log to the tool policy to record calls here.";
const CHAINED = "Each entry holds the hash of the one before it, so that";

/** @param {State} state */
export function auditView(state) {
  const { audit, who } = state;
  const { failure, filter, next, phase, rows } = audit;
  const isFiltered = Object.values(filter).some((value) => value.trim());
  const isFull = next !== null && rows.length >= MAX_ROWS;
  return [
    title("audit", "Audit log"),
    fine("Tool calls, policy changes and approvals. ", who && !who.isOperator && "Only your own entries are shown."),
    filterView(state),
    failureView(failure, rows.length && next !== null ? "more_audit" : "ask_audit"),
    !rows.length && !failure && emptyView(phase, isFiltered ? "No entries match. Clear a filter field." : NOTHING_YET),
    rows.length > 0 && tableView(state),
    canContinue(state) && button("more_audit", "Show older entries", { class: "button" }),
    isFull && h("p", { class: "line" }, `${MAX_ROWS} entries are shown. Narrow the filter, or export them all.`),
    verificationView(state),
  ];
}

/** Exports follow what was asked, not what is being written. @param {State} state */
function filterView({ audit, who }) {
  const { fields, filter, failure, isExporting } = audit;
  /** @param {keyof Filter} name */
  const data = (name) => ({ name, "data-field": "edit_filter", "data-name": name });
  /** @param {string} label @param {keyof Filter} name @param {Attributes} [more] */
  const field = (label, name, more) => {
    const always = { type: "text", maxlength: "256", autocomplete: "off", value: fields[name] };
    const wrong = { "aria-invalid": name === failure?.path ? "true" : null };
    return entry(name, label, h("input", { ...data(name), ...always, ...wrong, ...more }));
  };
  const exporters = Object.entries({ jsonl: "JSON Lines", csv: "CSV" }).map(([format, name]) => {
    const more = { class: "button", key: format, "data-format": format, "aria-disabled": String(isExporting) };
    return button("export", `Export as ${name}`, more);
  });
  const phases = [...new Set(["", ...PHASES, fields.phase])]; // from a link: what is asked for is shown
  const options = phases.map((name) => [name, name || "all"]);
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
      exporters,
    ]),
  ]);
}

/** @param {unknown} value */
const text = (value) => String(value ?? "");

/** @type {readonly [name: string, cell: (row: AuditRow) => Child][]} */
const COLUMNS = [
  ["Time", ({ ts }) => timeView(ts)],
  ["Event", ({ entry }) => text(entry.phase)],
  ["Tool", ({ entry }) => text(entry.tool)],
  ["About", aboutView],
  ["Outcome", outcomeView],
  ["Handler", ({ entry }) => text(entry.handler)],
  ["User", ({ entry }) => text(entry.user)],
];

/** Roles are said again: browsers forget a table's when CSS makes cards of it. @param {State} state */
function tableView({ audit: { rows, next, phase, openIds } }) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const head = { scope: "col", role: "columnheader" };
  const heads = COLUMNS.map(([key]) => h("th", { ...head, "aria-sort": key === "Time" && "descending", key }, key));
  const last = h("th", { ...head, key: "details" }, h("span", { class: "visually-hidden" }, "Details"));
  return h("table", { class: "audit", role: "table", "aria-busy": String(phase === "loading") }, [
    h("caption", {}, `${summary(rows.length, next !== null)} Times are in ${timeZone}; exports use UTC.`),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads, last)),
    h("tbody", { role: "rowgroup" }, rows.map((row) => (openIds.includes(row.id) ? openRow(row) : closedRow(row)))),
  ]);
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

/** A row is drawn once: there may be thousands. */
const closedRow = memo((/** @type {AuditRow} */ row) => summaryRow(row, false));

/** @param {AuditRow} row @param {boolean} isOpen */
function summaryRow(row, isOpen) {
  const { id, entry } = row;
  const what = [entry.phase, entry.tool].map(text).filter(Boolean).join(" ");
  const opens = { "aria-expanded": String(isOpen), "aria-controls": isOpen ? `details-${id}` : null };
  const more = { id: `entry-${id}`, "data-id": id, ...opens, "aria-label": `Details of ${what}` };
  return h("tr", { role: "row", key: `row-${id}` }, [
    COLUMNS.map(([name, cell]) => h("td", { role: "cell", "data-label": name, key: name }, cell(row))),
    h("td", { role: "cell", key: "details" }, button("toggle_entry", isOpen ? "Less" : "More", more)),
  ]);
}

/** With all that the entry says. @param {AuditRow} row */
function openRow(row) {
  const { id, entry, replica, day, number, hash, ts } = row;
  const rest = Object.entries(entry).filter(([name]) => !SHOWN_ABOVE.includes(name));
  const facts = [...rest, ["time", ts], ["place", `entry ${number} of ${replica} on ${day}`], ["hash", hash]];
  const views = facts.map(([name, value]) => {
    const isStructure = typeof value === "object" && value !== null;
    const shown = isStructure ? h("pre", { tabindex: "0" }, JSON.stringify(value, null, 2)) : String(value);
    return h("div", { key: text(name) }, h("dt", {}, text(name).replaceAll("_", " ")), h("dd", {}, shown));
  });
  const cell = h("td", { role: "cell", colspan: COLUMNS.length + 1 }, h("dl", { class: "facts" }, views));
  const key = `details-${id}`;
  return [summaryRow(row, true), h("tr", { role: "row", class: "details", id: key, key }, cell)];
}

/** Whether the log is what was written: for operators; to everybody else only what the hashes are for. @param {State} state */
function verificationView({ verification: { phase, failure, found }, who }) {
  if (!who?.isOperator) return fine(`${CHAINED} an operator can find changed or removed entries.`);
  const isRunning = phase === "loading";
  const section = { "aria-labelledby": "verification-title", "aria-busy": String(isRunning) };
  const verifying = { class: "button", id: "verify", "aria-disabled": String(isRunning) };
  return h("section", { class: "verification", ...section }, [
    h("h3", { id: "verification-title" }, "Verification"),
    fine(`${CHAINED} changed or removed entries are found. Verification reads the whole log, whatever the filter.`),
    button("verify", isRunning ? "Verifying…" : "Verify integrity", verifying),
    failureView(failure, "verify"),
    found && foundView(found),
  ]);
}

/** @param {Found} found */
function foundView(found) {
  const { is_whole: isWhole, problems, days, pruned } = found;
  const list = { class: "problems", "aria-label": "Problems found", hidden: problems.length === 0 };
  const dayViews = [...pruned, ...days].map(({ replica, day, entries, last_hash: hash, is_closed: isClosed }) => {
    const fate = isClosed === undefined ? "deleted as too old" : isClosed ? "closed" : "open";
    const words = `${replica} ${day}, ${fate}, entries: ${entries} `;
    return h("li", { key: `${replica} ${day}` }, words, h("code", {}, hash));
  });
  return [
    h("div", { class: isWhole ? "line" : "line line-error", key: "verdict" }, [
      icon(isWhole ? "check" : "alert"),
      h("p", {}, verdict(found)),
    ]),
    h("ul", list, problems.map((problem, key) => h("li", { key }, problem))), // prettier-ignore
    h("details", { key: "days", hidden: dayViews.length === 0 }, [
      h("summary", {}, h("span", { class: "fine" }, "Each day with its last hash, to compare with the server's log")),
      h("ul", { class: "days" }, dayViews),
    ]),
  ];
}
