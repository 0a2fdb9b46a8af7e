/** The conversations of this browser. @typedef {import("../state.js").State} State */

import { summaryOf } from "../titles.js";
import { openConversation } from "../../sdk/state.js";
import { groupsByDay } from "./conversation_groups.js";
import { h, memoAll } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "../strings.js";

/** @param {State} state */
export function sidebarView(state) {
  return h(
    "nav",
    {
      class: "sidebar",
      id: "sidebar",
      tabindex: "-1",
      "aria-label": t.header.conversations,
      "data-open": state.isSidebarOpen,
    },
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
    searchField(),
    h(
      "div",
      { class: "conversations" },
      groupsByDay(shown(state), state.now).map((group) => groupView(group, state)),
      state.search.text.trim() && shown(state).length === 0 && h("p", { class: "fine" }, t.list.nothingFound),
    ),
    h("input", { type: "file", id: "import-picker", hidden: true, accept: ".json,application/json" }),
    h("button", { type: "button", class: "button quiet wide", "data-action": "import" }, icon("import"), t.list.import),
  );
}

function searchField() {
  return h("input", {
    type: "search",
    id: "search",
    class: "search",
    "aria-label": t.list.search,
    placeholder: t.list.search,
    autocomplete: "off",
    maxlength: "200",
  });
}

/** Return the conversations whose title or messages hold the searched text. @param {State} state */
function shown(state) {
  const { text, found } = state.search;
  const wanted = text.trim().toLocaleLowerCase();
  const all = listed(state);
  return wanted ? all.filter(({ id, title }) => found.includes(id) || title.toLocaleLowerCase().includes(wanted)) : all;
}

/** @param {ReturnType<typeof groupsByDay>[number]} group @param {State} state */
function groupView({ label, summaries }, { openId, actionsId }) {
  return h(
    "section",
    { key: label, "aria-label": label },
    h("h2", { class: "conversations-day" }, label),
    h(
      "ul",
      {},
      summaries.map((summary) =>
        itemView({ summary, isOpen: summary.id === openId, hasActions: summary.id === actionsId }),
      ),
    ),
  );
}

/** Return the conversations of the list, with the open one before it has a record. @param {State} state */
function listed(state) {
  const open = openConversation(state);
  const isListed = state.conversations.some(({ id }) => id === open?.id);
  return open && !isListed ? [summaryOf(open), ...state.conversations] : state.conversations;
}

/** View of an item, drawn once: there may be thousands, and few change. */
const itemView = memoAll(describe, ({ summary }) => summary);

/** @param {{summary: import("../state.js").Summary, isOpen: boolean, hasActions: boolean}} shown */
function describe({ summary, isOpen, hasActions }) {
  const { id, title } = summary;
  return h(
    "li",
    { key: id },
    h(
      "div",
      { class: "conversation-row" },
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
      h(
        "button",
        {
          type: "button",
          class: "button icon-only small conversation-more",
          "data-action": hasActions ? "leave-actions" : "list-actions",
          "data-id": id,
          "aria-label": t.list.actions(title),
          "aria-expanded": String(hasActions),
          "aria-controls": "conversation-actions",
        },
        icon("more"),
      ),
    ),
    hasActions && actionsView(summary),
  );
}

/** @param {import("../state.js").Summary} summary */
function actionsView({ id, title, pinnedAt }) {
  return h(
    "div",
    { class: "conversation-actions", id: "conversation-actions", role: "group", "aria-label": t.list.actions(title) },
    h("input", {
      class: "title",
      dir: "auto",
      "data-change": "rename",
      "data-id": id,
      "aria-label": t.header.title,
      value: title,
      maxlength: "120",
      autocomplete: "off",
      spellcheck: "false",
    }),
    h(
      "button",
      { type: "button", class: "button small", "data-action": "pin", "data-id": id },
      pinnedAt ? t.header.unpin : t.header.pin,
    ),
    h("button", { type: "button", class: "button small", "data-action": "delete", "data-id": id }, t.header.delete),
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
