/**
 * The frame of the policy page, the view that was chosen, and the smallest of them: calls that were approved for good.
 *
 * @import { Approval, State } from "../state.js"
 */

import { h } from "../../render/dom.js";
import { p } from "../../strings/policy.js";
import { auditView } from "./audit_view.js";
import { editorView } from "./editor_view.js";
import { button, emptyView, failureView, fine, timeView, title } from "./parts.js";

const VIEWS = { policy: editorView, audit: auditView, approvals: approvalsView };

/** @param {State} state */
export function pageView(state) {
  const { view, principal, announcements } = state;
  const links = Object.entries(p.titles).map(([name, title]) =>
    h("a", { href: `#/${name}`, "aria-current": name === view ? "page" : null, key: name }, title),
  );
  const log = { class: "visually-hidden", role: "log", "aria-live": "polite", "aria-label": p.happened };
  return [
    h("header", { class: "standing-head" }, [
      h("h1", {}, h("a", { href: "/" }, "Parley")),
      h("nav", { "aria-label": p.views }, links),
      principal &&
        h("p", { class: "who" }, principal.user, principal.isOperator && h("span", { class: "tag" }, p.operator)),
    ]),
    h("main", { class: "standing-main", key: view }, VIEWS[view](state)),
    h(
      "div",
      log,
      announcements.map(({ n, text }) => h("p", { key: n }, text)),
    ),
  ];
}

/** @param {State} state */
function approvalsView({ remembered: { approvals, phase, failure, revoking } }) {
  const list = { class: "approvals", "aria-label": p.titles.approvals };
  return [
    title("approvals", p.titles.approvals),
    fine(p.approvals.about),
    failureView(failure, "load_approvals"),
    !approvals.length && !failure && emptyView(phase, p.approvals.none),
    h(
      "ul",
      list,
      approvals.map((approval) => approvalView(approval, revoking)),
    ),
  ];
}

/** @param {Approval} approval @param {string | null} revoking */
function approvalView({ id, tool, shown, origin, created, remember_for }, revoking) {
  const spoken = { id: `revoke-${id}`, "aria-label": p.approvals.revokeOne(tool, shown), disabled: revoking !== null };
  return h("li", { class: "remembered", key: id, "aria-busy": String(revoking === id) }, [
    h("div", {}, h("strong", {}, tool), shown && h("code", { class: "shown" }, shown)),
    fine(p.approvals.covers[remember_for] ?? "", timeView(created), origin && p.approvals.askedBy(origin)),
    button("revoke", p.approvals.revoke, { ...spoken, "data-id": id }),
  ]);
}
