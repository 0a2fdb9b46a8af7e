/** The frame of the policy page: where one is, and the view that was chosen. @typedef {import("../state.js").State} State */

import { h } from "../../render/dom.js";
import { auditView } from "./audit_view.js";
import { editorView } from "./editor_view.js";
import { rememberedView } from "./remembered_view.js";

/** @type {Record<import("../state.js").View, string>} */
export const TITLES = { policy: "Tool policy", audit: "Audit log", approvals: "Remembered approvals" };
const VIEWS = { policy: editorView, audit: auditView, approvals: rememberedView };

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
