/**
 * The bar above the conversation: its title, who answers, and the panels.
 *
 * @typedef {import("../state.js").State} State
 */

import { titleOf } from "../conversation.js";
import { openConversation } from "../state.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "../strings.js";

/** @type {{panel: import("../state.js").Panel, name: keyof typeof import("./icons.js").PATHS}[]} */
const PANELS = [
  { panel: "skills", name: "skills" },
  { panel: "inspector", name: "inspect" },
  { panel: "hooks", name: "hook" },
  { panel: "settings", name: "settings" },
];

/** @param {State} state */
export function headerView(state) {
  const conversation = openConversation(state);
  return h(
    "header",
    { class: "header" },
    h(
      "button",
      {
        type: "button",
        class: "button icon-only narrow-only",
        "data-action": "open-sidebar",
        "aria-label": t.header.conversations,
        "aria-expanded": String(state.isSidebarOpen),
        "aria-controls": "sidebar",
      },
      icon("menu"),
    ),
    h("h1", { class: "visually-hidden" }, "Parley"),
    h("input", {
      class: "title",
      dir: "auto",
      "data-change": "rename",
      "aria-label": t.header.title,
      value: conversation ? titleOf(conversation) : "",
      readonly: conversation?.access !== "write",
      maxlength: "120",
      autocomplete: "off",
      spellcheck: "false",
    }),
    modelView(state),
    h(
      "div",
      { class: "header-buttons", role: "group", "aria-label": t.panels.all },
      panelsOf(state).map(({ panel, name }) =>
        h(
          "button",
          {
            type: "button",
            class: "button quiet",
            "data-action": "panel",
            "data-panel": panel,
            "aria-expanded": String(state.panel === panel),
            "aria-controls": "panel",
            title: t.panels[panel],
            "aria-label": t.panels[panel],
          },
          icon(name),
          h("span", { class: "button-label" }, t.panels[panel]),
          panel === "skills" && diagnosticsMark(state),
        ),
      ),
      menuView(conversation),
    ),
    userView(state),
  );
}

/** How the server's programs fare is its operators' business. @param {State} state */
function panelsOf({ server, panel: open }) {
  return PANELS.filter(({ panel }) => panel !== "hooks" || server?.user?.is_operator || open === "hooks");
}

/** @param {State} state */
function modelView({ server }) {
  if (!server) return null;
  const { name, host, location } = server.model;
  const where = location === "local" ? "local" : "cloud";
  return h(
    "p",
    { class: `model model-${where}`, title: t.header.modelAt(name, host) },
    icon(where),
    h("span", { class: "model-name" }, name),
    h("span", { class: "model-where" }, location === "local" ? t.header.local : t.header.cloud(host)),
  );
}

/** Who is logged in. Without login there is nobody to name. @param {State} state */
function userView({ server }) {
  if (!server?.user?.is_logged_in) return null;
  const { name } = server.user;
  const label = t.header.logOut(name);
  return h(
    "button",
    { type: "button", class: "button quiet user", "data-action": "log-out", title: label, "aria-label": label },
    h("span", { class: "user-name" }, name),
    icon("leave"),
  );
}

/** @param {State} state */
function diagnosticsMark({ diagnostics }) {
  const count = diagnostics.filter(({ severity }) => severity !== "info").length;
  return count ? h("span", { class: "badge" }, count, h("span", { class: "visually-hidden" }, t.header.problems)) : null;
}

/** @param {import("../state.js").Conversation | null} conversation */
function menuView(conversation) {
  const disabled = conversation?.access !== "write";
  return [
    h(
      "button",
      {
        type: "button",
        class: "button quiet",
        popovertarget: "menu",
        "aria-label": t.header.menu,
        title: t.header.menu,
      },
      icon("more"),
    ),
    h(
      "div",
      { id: "menu", class: "menu", popover: "auto", role: "group", "aria-label": t.header.menu },
      item("rename", t.header.rename, disabled),
      item("export-markdown", t.header.exportMarkdown, false),
      item("export-json", t.header.exportJson, false),
      item("clear", t.header.clear, disabled),
      item("delete", t.header.delete, disabled),
    ),
  ];
}

/** @param {string} action @param {string} label @param {boolean} disabled */
function item(action, label, disabled) {
  return h(
    "button",
    {
      type: "button",
      class: "menu-item",
      "data-action": action,
      disabled,
      popovertarget: "menu",
      popovertargetaction: "hide",
    },
    label,
  );
}
