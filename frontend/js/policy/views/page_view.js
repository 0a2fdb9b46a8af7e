/**
 * The frame of the policy page, the view that was chosen, and the smallest of them: calls that were approved for good.
 *
 * @import { Approval, State, View } from "../state.js"
 */

import { h } from "../../render/dom.js";
import { auditView } from "./audit_view.js";
import { editorView } from "./editor_view.js";
import { button, emptyView, failureView, fine, timeView, title } from "./parts.js";

/** @type {Record<View, string>} */
export const TITLES = { policy: "Tool policy", audit: "Audit log", approvals: "Remembered approvals" };
const VIEWS = { policy: editorView, audit: auditView, approvals: approvalsView };

const NONE = "None. When a tool asks whether it may run, you can choose to remember the answer: always.";
const COVERS = { arguments: "", command: "With any arguments · ", tool: "Every call · " };

/** @param {State} state */
export function pageView(state) {
  const { view, who, announcements } = state;
  const links = Object.entries(TITLES).map(([name, title]) =>
    h("a", { href: `#/${name}`, "aria-current": name === view ? "page" : null, key: name }, title),
  );
  const log = { class: "visually-hidden", role: "log", "aria-live": "polite", "aria-label": "What happened" };
  return [
    h("header", { class: "standing-head" }, [
      h("h1", {}, h("a", { href: "/" }, "Parley")),
      h("nav", { "aria-label": "Views" }, links),
      who && h("p", { class: "who" }, who.user, who.isOperator && h("span", { class: "tag" }, "operator")),
    ]),
    h("main", { class: "standing-main", key: view }, VIEWS[view](state)),
    h("div", log, announcements.map(({ n, text }) => h("p", { key: n }, text))), // prettier-ignore
  ];
}

/** @param {State} state */
function approvalsView({ remembered: { approvals, phase, failure, revoking } }) {
  const list = { class: "approvals", "aria-label": "Remembered approvals" };
  return [
    title("approvals", "Remembered approvals"),
    fine("Calls that you always allow: by exact arguments, by command or by tool. They run without asking."),
    failureView(failure, "load_approvals"),
    !approvals.length && !failure && emptyView(phase, NONE),
    h("ul", list, approvals.map((approval) => approvalView(approval, revoking))), // prettier-ignore
  ];
}

/** @param {Approval} approval @param {string | null} revoking */
function approvalView({ id, tool, shown, origin, created, remember_for }, revoking) {
  const spoken = { id: `revoke-${id}`, "aria-label": `Revoke ${tool} ${shown}`, disabled: revoking !== null };
  return h("li", { class: "remembered", key: id, "aria-busy": String(revoking === id) }, [
    h("div", {}, h("strong", {}, tool), shown && h("code", { class: "shown" }, shown)),
    fine(COVERS[remember_for] ?? "", timeView(created), origin && ` · asked by ${origin}`),
    button("revoke", "Revoke…", { ...spoken, "data-id": id }),
  ]);
}
