/**
 * The audit log: its filter, its entries as a table (on a narrow screen each row is a card), its verification.
 *
 * @import { AuditRow, Filter, Verification, State } from "../state.js"
 * @import { Attributes, Child } from "./parts.js"
 */

import { h, memo } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { p } from "../../strings/policy.js";
import { MAX_ROWS, canContinue, summary, verdict } from "../reduce_audit.js";
import { button, emptyView, entry, failureView, fine, select, timeView, title } from "./parts.js";

const PHASES = ["pre_tool_use", "post_tool_use", "tool_error", "tool_skip", "approval", "policy", "gap"];
const OUTCOMES = "called approved modified denied skipped ran answered failed stored revoked".split(" ");
const BAD = ["denied", "failed", "lost"];
const MAX_ABOUT = 120;
const SHOWN_ABOVE = ["phase", "tool", "outcome", "handler", "ts_us"];

/** @param {State} state */
export function auditView(state) {
  const { audit, principal } = state;
  const { failure, filter, next, phase, rows } = audit;
  const isFiltered = Object.values(filter).some((value) => value.trim());
  const isFull = next !== null && rows.length >= MAX_ROWS;
  return [
    title("audit", p.titles.audit),
    fine(p.audit.about, principal && !principal.isOperator && p.audit.onlyOwn),
    filterView(state),
    failureView(failure, rows.length && next !== null ? "more_audit" : "search_audit"),
    !rows.length && !failure && emptyView(phase, isFiltered ? p.audit.noMatch : p.audit.nothingYet),
    rows.length > 0 && tableView(state),
    canContinue(state) && button("more_audit", p.audit.older, { class: "button" }),
    isFull && h("p", { class: "line" }, p.audit.full(MAX_ROWS)),
    verificationView(state),
  ];
}

/** Show the filter. Exports use the last search, not what is being typed. @param {State} state */
function filterView({ audit, principal }) {
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
    return button("export", p.audit.exportAs(name), more);
  });
  const phases = [...new Set(["", ...PHASES, fields.phase])]; // from a link: what is asked for is shown
  const options = phases.map((name) => [name, name || p.audit.all]);
  return h("form", { id: "filter", role: "search", "aria-label": p.audit.filter }, [
    field(p.audit.columns.tool, "tool", { placeholder: p.audit.toolHint }),
    entry("phase", p.audit.columns.phase, select(data("phase"), options, fields.phase)),
    field(p.audit.columns.outcome, "outcome", { list: "outcomes" }),
    h(
      "datalist",
      { id: "outcomes" },
      OUTCOMES.map((value) => h("option", { value, key: value })),
    ),
    (principal?.isOperator || filter.user) && field(p.audit.columns.user, "user"),
    field(p.audit.since, "since", { type: "datetime-local" }),
    field(p.audit.until, "until", { type: "datetime-local" }),
    field(p.audit.text, "text", { type: "search", placeholder: p.audit.textHint }),
    h("div", { class: "filter-actions" }, [
      h("button", { type: "submit", class: "button primary" }, icon("search"), p.audit.show),
      button("clear_filter", p.audit.clear, { class: "button" }),
      exporters,
    ]),
  ]);
}

/** @param {unknown} value */
const text = (value) => String(value ?? "");

/** @type {readonly [name: keyof typeof p.audit.columns, cell: (row: AuditRow) => Child][]} */
const COLUMNS = [
  ["time", ({ ts }) => timeView(ts)],
  ["phase", ({ entry }) => text(entry.phase)],
  ["tool", ({ entry }) => text(entry.tool)],
  ["about", aboutView],
  ["outcome", outcomeView],
  ["handler", ({ entry }) => text(entry.handler)],
  ["user", ({ entry }) => text(entry.user)],
];

/** Show the entries. Roles are explicit, as browsers drop a table's when CSS makes cards of it. @param {State} state */
function tableView({ audit: { rows, next, phase, openIds } }) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const head = { scope: "col", role: "columnheader" };
  const heads = COLUMNS.map(([key]) =>
    h("th", { ...head, "aria-sort": key === "time" && "descending", key }, p.audit.columns[key]),
  );
  const last = h("th", { ...head, key: "details" }, h("span", { class: "visually-hidden" }, p.audit.details));
  return h("table", { class: "audit", role: "table", "aria-busy": String(phase === "loading") }, [
    h("caption", {}, p.audit.caption(summary(rows.length, next !== null), timeZone)),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads, last)),
    h(
      "tbody",
      { role: "rowgroup" },
      rows.map((row) => (openIds.includes(row.id) ? openRow(row) : closedRow(row))),
    ),
  ]);
}

/** Return what was called, or said about it; the rest is in the details. @param {AuditRow} row */
function aboutView({ entry: { arguments: given, message } }) {
  const about = text(message) || (given === undefined ? "" : JSON.stringify(given));
  return about && h("code", {}, about.length > MAX_ABOUT ? `${about.slice(0, MAX_ABOUT)}…` : about);
}

/** Return the outcome, with the answer of the user. @param {AuditRow} row */
function outcomeView({ entry: { outcome, approval } }) {
  const words = [outcome, approval].map(text).filter(Boolean).join(", ");
  return words && h("span", { class: BAD.includes(text(outcome)) ? "tag tag-warning" : "tag" }, words);
}

/** View of a row, drawn once as there may be thousands. */
const closedRow = memo((/** @type {AuditRow} */ row) => summaryRow(row, false));

/** @param {AuditRow} row @param {boolean} isOpen */
function summaryRow(row, isOpen) {
  const { id, entry } = row;
  const what = [entry.phase, entry.tool].map(text).filter(Boolean).join(" ");
  const opens = { "aria-expanded": String(isOpen), "aria-controls": isOpen ? `details-${id}` : null };
  const word = isOpen ? p.audit.less : p.audit.more;
  const more = { id: `entry-${id}`, "data-id": id, ...opens, "aria-label": p.audit.named(word, what) };
  return h("tr", { role: "row", key: `row-${id}` }, [
    COLUMNS.map(([name, cell]) => h("td", { role: "cell", "data-label": p.audit.columns[name], key: name }, cell(row))),
    h("td", { role: "cell", key: "details" }, button("toggle_entry", word, more)),
  ]);
}

/** Show all fields of the entry. @param {AuditRow} row */
function openRow(row) {
  const { id, entry, replica, day, number, hash, ts } = row;
  const rest = Object.entries(entry).filter(([name]) => !SHOWN_ABOVE.includes(name));
  const facts = [
    ...rest,
    [p.audit.time, ts],
    [p.audit.place, p.audit.placeOf(number, replica, day)],
    [p.audit.hash, hash],
  ];
  const views = facts.map(([name, value]) => {
    const isStructure = typeof value === "object" && value !== null;
    const shown = isStructure ? h("pre", { tabindex: "0" }, JSON.stringify(value, null, 2)) : String(value);
    return h("div", { key: text(name) }, h("dt", {}, text(name).replaceAll("_", " ")), h("dd", {}, shown));
  });
  const cell = h("td", { role: "cell", colspan: COLUMNS.length + 1 }, h("dl", { class: "facts" }, views));
  const key = `details-${id}`;
  return [summaryRow(row, true), h("tr", { role: "row", class: "details", id: key, key }, cell)];
}

/** Show to operators whether the log is as it was written; to others, what the hashes are for. @param {State} state */
function verificationView({ verification: { phase, failure, found }, principal }) {
  if (!principal?.isOperator) return fine(p.verification.forOperators);
  const isRunning = phase === "loading";
  const section = { "aria-labelledby": "verification-title", "aria-busy": String(isRunning) };
  const verifying = { class: "button", id: "verify", "aria-disabled": String(isRunning) };
  return h("section", { class: "verification", ...section }, [
    h("h3", { id: "verification-title" }, p.verification.title),
    fine(p.verification.about),
    button("verify", isRunning ? p.verification.verifying : p.verification.verify, verifying),
    failureView(failure, "verify"),
    found && foundView(found),
  ]);
}

/** @param {Verification} found */
function foundView(found) {
  const { is_whole: isWhole, problems, days, pruned } = found;
  const list = { class: "problems", "aria-label": p.verification.problems, hidden: problems.length === 0 };
  const dayViews = [...pruned, ...days].map(({ replica, day, entries, last_hash: hash, is_closed: isClosed }) => {
    const dayState = isClosed === undefined ? "pruned" : isClosed ? "closed" : "open";
    const words = p.verification.day(`${replica} ${day}`, p.verification.dayStates[dayState], entries);
    return h("li", { key: `${replica} ${day}` }, words, h("code", {}, hash));
  });
  return [
    h("div", { class: isWhole ? "line" : "line line-error", key: "verdict" }, [
      icon(isWhole ? "check" : "alert"),
      h("p", {}, verdict(found)),
    ]),
    h(
      "ul",
      list,
      problems.map((problem, key) => h("li", { key }, problem)),
    ),
    h("details", { key: "days", hidden: dayViews.length === 0 }, [
      h("summary", {}, h("span", { class: "fine" }, p.verification.days)),
      h("ul", { class: "days" }, dayViews),
    ]),
  ];
}
