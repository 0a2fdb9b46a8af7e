/** The frame of the policy page: where one is, and the view that was chosen. @typedef {import("../state.js").State} State */

import { h } from "../../render/dom.js";
import { auditView } from "./audit_view.js";
import { editorView } from "./editor_view.js";
import { rememberedView } from "./remembered_view.js";

/** @type {Record<import("../state.js").View, string>} */
export const TITLES = { policy: "Tool policy", audit: "Audit log", approvals: "Remembered approvals" };

/** @param {State} state */
export function pageView(state) {
  return [
    h(
      "header",
      { class: "standing-head" },
      h("h1", {}, h("a", { href: "/" }, "Parley")),
      h(
        "nav",
        { "aria-label": "Views" },
        Object.entries(TITLES).map(([name, title]) =>
          h("a", { href: `#/${name}`, "aria-current": name === state.view ? "page" : null, key: name }, title),
        ),
      ),
      state.who &&
        h("p", { class: "who" }, state.who.user, state.who.isOperator && h("span", { class: "tag" }, "operator")),
    ),
    h("main", { class: "standing-main", key: state.view }, viewOf(state)),
    h(
      "div",
      { class: "visually-hidden", role: "log", "aria-live": "polite", "aria-label": "What happened" },
      state.announcements.map(({ n, text }) => h("p", { key: n }, text)),
    ),
  ];
}

/** @param {State} state */
function viewOf(state) {
  switch (state.view) {
    case "policy":
      return editorView(state);
    case "audit":
      return auditView(state);
    case "approvals":
      return rememberedView(state);
  }
}
