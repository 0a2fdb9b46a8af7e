/** The conversations of this browser. @typedef {import("../state.js").State} State */

import { titleOf } from "../conversation.js";
import { openConversation } from "../state.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "../strings.js";

/** @param {State} state */
export function sidebarView(state) {
  return h(
    "nav",
    { class: "sidebar", id: "sidebar", tabindex: "-1", "aria-label": t.header.conversations, "data-open": state.isSidebarOpen },
    h(
      "div",
      { class: "sidebar-head" },
      h("span", { class: "brand" }, brandMark(), "Parley"),
      h(
        "button",
        {
          type: "button",
          class: "button icon-only narrow-only",
          "data-action": "close-sidebar",
          "aria-label": t.closeList,
        },
        icon("close"),
      ),
    ),
    h(
      "button",
      {
        type: "button",
        class: "button wide",
        "data-action": "new",
        "aria-keyshortcuts": "Control+K Meta+K",
        title: t.newConversationKey,
      },
      icon("plus"),
      t.newConversation,
    ),
    h(
      "ul",
      { class: "conversations" },
      listed(state).map((summary) => itemView(summary, summary.id === state.openId)),
    ),
  );
}

/** The open conversation stands in the list before it has a record. @param {State} state */
function listed(state) {
  const open = openConversation(state);
  const isListed = state.conversations.some(({ id }) => id === open?.id);
  return open && !isListed
    ? [{ id: open.id, title: titleOf(open), updatedAt: open.updatedAt }, ...state.conversations]
    : state.conversations;
}

/** @param {import("../state.js").Summary} summary @param {boolean} isOpen */
function itemView({ id, title }, isOpen) {
  return h(
    "li",
    { key: id },
    h(
      "button",
      {
        type: "button",
        class: "conversation",
        dir: "auto",
        "data-action": "open",
        "data-id": id,
        "aria-current": isOpen ? "true" : null,
        title,
      },
      title,
    ),
  );
}

function brandMark() {
  return h(
    "svg",
    { class: "brand-mark", viewBox: "0 0 32 32", "aria-hidden": "true", focusable: "false" },
    h("path", {
      d: "M4 15.5C4 9.7 9.1 5 15.5 5S27 9.7 27 15.5 21.9 26 15.5 26c-1.7 0-3.3-.3-4.7-.9L5.5 27l1.6-4.6A9.9 9.9 0 0 1 4 15.5z",
    }),
    h("path", { class: "brand-wave", d: "M11 13.5v4M15.5 10.5v10M20 13.5v4" }),
  );
}
