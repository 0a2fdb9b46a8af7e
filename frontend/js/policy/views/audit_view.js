/**
 * The audit log as a table; on a narrow screen each row is a card.
 *
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").AuditRow} AuditRow
 */

import { h, memo } from "../../render/dom.js";
import { MAX_ROWS, canContinue, summary } from "../reduce_audit.js";
import { entryView } from "./entry_view.js";
import { failureView } from "./failure_view.js";
import { filterView } from "./filter_view.js";
import { timeView } from "./remembered_view.js";
import { verificationView } from "./verification_view.js";

const BAD = ["denied", "failed", "lost"];
const MAX_ABOUT = 120;

/** @param {State} state */
export function auditView(state) {
  const { audit } = state;
  const isFull = audit.next !== null && audit.rows.length >= MAX_ROWS;
  return [
    h("h2", { id: "audit-title", tabindex: "-1" }, "Audit log"),
    h(
      "p",
      { class: "fine" },
      "What happened to tool calls, to the policy and to approvals. ",
      state.who && !state.who.isOperator && "You see what is your own.",
    ),
    filterView(state),
    failureView(audit.failure, audit.rows.length && audit.next !== null ? "more-audit" : "ask-audit"),
    tableView(state),
    !audit.rows.length && !audit.failure && emptyView(state),
    canContinue(state) &&
      h("button", { type: "button", class: "button", "data-action": "more-audit" }, "Show older ones"),
    isFull && h("p", { class: "line" }, `${MAX_ROWS} entries are shown. Narrow the filter, or export them all.`),
    verificationView(state),
  ];
}

/** @param {State} state */
function emptyView({ audit }) {
  if (audit.phase === "loading") return h("p", { class: "line", role: "status" }, "Reading…");
  const isFiltered = Object.values(audit.filter).some((value) => value.trim());
  return h(
    "p",
    { class: "line" },
    isFiltered
      ? "No entry fits. Clear a field of the filter."
      : "Nothing yet. Add the handler audit_log to the tool policy, and calls are written here.",
  );
}

/** Roles are said again: browsers forget a table's when CSS makes cards of it. @param {State} state */
function tableView(state) {
  const { rows, next, phase } = state.audit;
  if (!rows.length) return null;
  const isOperator = state.who?.isOperator === true;
  const columns = isOperator ? OPERATORS_COLUMNS : COLUMNS;
  return h(
    "table",
    { class: "audit", role: "table", "aria-busy": String(phase === "loading") },
    h("caption", {}, `${summary(rows.length, next !== null)} ${zoneWords()}`),
    h(
      "thead",
      { role: "rowgroup" },
      h(
        "tr",
        { role: "row" },
        columns.map(([name]) =>
          h(
            "th",
            { scope: "col", role: "columnheader", "aria-sort": name === "Time" ? "descending" : null, key: name },
            name,
          ),
        ),
        h(
          "th",
          { scope: "col", role: "columnheader", key: "details" },
          h("span", { class: "visually-hidden" }, "Details"),
        ),
      ),
    ),
    h(
      "tbody",
      { role: "rowgroup" },
      rows.map((row) => {
        if (state.audit.openIds.includes(row.id)) return openView(row, columns);
        return isOperator ? operatorsRow(row) : usersRow(row);
      }),
    ),
  );
}

/** @typedef {[string, (row: AuditRow) => import("../../render/dom.js").Child]} Column */

/** @type {readonly Column[]} */
const COLUMNS = [
  ["Time", ({ ts }) => timeView(ts)],
  ["What", ({ entry }) => text(entry.phase)],
  ["Tool", ({ entry }) => text(entry.tool)],
  ["About", aboutView],
  ["Outcome", outcomeView],
  ["Handler", ({ entry }) => text(entry.handler)],
];
/** @type {readonly Column[]} */
const OPERATORS_COLUMNS = [...COLUMNS, ["User", ({ entry }) => text(entry.user)]];

// Drawn once: there may be thousands.
const usersRow = memo((/** @type {AuditRow} */ row) => summaryView(row, COLUMNS, false));
const operatorsRow = memo((/** @type {AuditRow} */ row) => summaryView(row, OPERATORS_COLUMNS, false));

/** @param {unknown} value */
function text(value) {
  return value === undefined || value === null ? "" : String(value);
}

/** What was called, or said of it: the rest is in the details. @param {AuditRow} row */
function aboutView({ entry }) {
  const { arguments: given, message } = entry;
  const about = text(message) || (given === undefined ? "" : JSON.stringify(given));
  return about && h("code", {}, about.length > MAX_ABOUT ? `${about.slice(0, MAX_ABOUT)}…` : about);
}

/** With how a human answered. @param {AuditRow} row */
function outcomeView({ entry }) {
  const { outcome, approval } = { outcome: text(entry.outcome), approval: text(entry.approval) };
  const words = [outcome, approval].filter(Boolean).join(", ");
  return words && h("span", { class: BAD.includes(outcome) ? "tag tag-warning" : "tag" }, words);
}

function zoneWords() {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return timeZone === "UTC" ? "Times are UTC." : `Times are those of ${timeZone}; an export has UTC.`;
}

/** @param {AuditRow} row @param {readonly Column[]} columns @param {boolean} isOpen */
function summaryView(row, columns, isOpen) {
  const { id, entry } = row;
  const what = [entry.phase, entry.tool].map(text).filter(Boolean).join(" ");
  return h(
    "tr",
    { role: "row", key: `row-${id}` },
    columns.map(([name, cell]) => h("td", { role: "cell", "data-label": name, key: name }, cell(row))),
    h(
      "td",
      { role: "cell", key: "details" },
      h(
        "button",
        {
          type: "button",
          class: "button small",
          id: `entry-${id}`,
          "data-action": "toggle-entry",
          "data-id": id,
          "aria-expanded": String(isOpen),
          "aria-controls": isOpen ? `details-${id}` : null,
          "aria-label": `Details of ${what}`,
        },
        isOpen ? "Less" : "More",
      ),
    ),
  );
}

/** @param {AuditRow} row @param {readonly Column[]} columns */
function openView(row, columns) {
  const key = `details-${row.id}`;
  return [
    summaryView(row, columns, true),
    h(
      "tr",
      { role: "row", class: "details", id: key, key },
      h("td", { role: "cell", colspan: columns.length + 1 }, entryView(row)),
    ),
  ];
}
