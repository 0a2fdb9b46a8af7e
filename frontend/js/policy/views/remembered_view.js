/** Calls that were approved for good. @typedef {import("../state.js").State} State */

import { h } from "../../render/dom.js";
import { found } from "../reduce_remembered.js";
import { failureView } from "./failure_view.js";

const FEW = 8; // more are searched
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

const COVERS = { arguments: "", command: "With any arguments · ", tool: "Every call · " };

/** @param {State} state */
export function rememberedView({ remembered }) {
  const { approvals, phase, failure } = remembered;
  return [
    h("h2", { id: "approvals-title", tabindex: "-1" }, "Remembered approvals"),
    h("p", { class: "fine" }, "What you have allowed for good: calls with these very arguments, commands and tools. These run without a question."),
    failureView(failure, "load-approvals"),
    !approvals.length && phase === "loading" && h("p", { class: "line", role: "status" }, "Reading…"),
    !approvals.length &&
      phase === "ready" &&
      !failure &&
      h(
        "p",
        { class: "line" },
        "None. When a tool asks whether it may run, you can have the answer remembered: always.",
      ),
    (approvals.length > FEW || remembered.search !== "") && searchView(remembered),
    h(
      "ul",
      { class: "approvals", "aria-label": "Remembered approvals" },
      found(remembered).map((approval) => approvalView(approval, remembered)),
    ),
  ];
}

/** @param {State["remembered"]} remembered */
function searchView(remembered) {
  const count = found(remembered).length;
  const label = { type: "search", maxlength: "256", autocomplete: "off", placeholder: "in the tool or its arguments" };
  return h(
    "label",
    { class: "entry", key: "search" },
    h("span", {}, "Find"),
    h("input", { ...label, id: "approval-search", "data-field": "approvals", value: remembered.search }),
    h("span", { class: "fine" }, `${count} of ${remembered.approvals.length}`),
  );
}

/** @param {import("../state.js").Approval} approval @param {State["remembered"]} remembered */
function approvalView({ id, tool, shown, origin, created, remember_for }, { asking, revoking }) {
  return h(
    "li",
    { class: "remembered", key: id, "aria-busy": String(revoking === id) },
    h("div", {}, h("strong", {}, tool), shown && h("code", { class: "shown" }, shown)),
    h("p", { class: "fine" }, COVERS[remember_for] ?? "", timeView(created), origin && ` · asked by ${origin}`),
    asking === id
      ? h(
          "div",
          { class: "sure", role: "group", "aria-label": `Revoke ${tool}?`, key: "sure" },
          h("span", {}, "Be asked about it again?"),
          button("keep-approval", id, "Keep it", `keep-${id}`, false),
          button("revoke", id, "Revoke", `sure-${id}`, false),
        )
      : button("ask-revoke", id, "Revoke…", `revoke-${id}`, revoking !== null, `Revoke ${tool} ${shown}`),
  );
}

/** @param {string} time RFC 3339 */
export function timeView(time) {
  const date = new Date(time);
  return h("time", { datetime: time, title: time }, Number.isNaN(date.getTime()) ? time : MOMENT.format(date));
}

/** @param {string} action @param {string} id @param {string} label @param {string} elementId @param {boolean} disabled @param {string} [spoken] */
function button(action, id, label, elementId, disabled, spoken) {
  return h(
    "button",
    {
      type: "button",
      class: "button small",
      id: elementId,
      key: action,
      "data-action": action,
      "data-id": id,
      "aria-label": spoken ?? null,
      disabled,
    },
    label,
  );
}
