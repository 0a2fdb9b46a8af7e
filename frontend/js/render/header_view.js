/**
 * The bar above the conversation: its title, who answers, and the panels.
 *
 * @typedef {import("../state.js").State} State
 */

import { titleOf } from "../conversation.js";
import { openConversation } from "../state.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";

/** @type {{panel: import("../state.js").Panel, label: string, name: keyof typeof import("./icons.js").PATHS}[]} */
const PANELS = [
  { panel: "skills", label: "Skills", name: "skills" },
  { panel: "inspector", label: "Inspector", name: "inspect" },
  { panel: "hooks", label: "Process hooks", name: "hook" },
  { panel: "settings", label: "Settings", name: "settings" },
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
        "aria-label": "Conversations",
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
      "aria-label": "Title of this conversation",
      value: conversation ? titleOf(conversation) : "",
      readonly: conversation?.access !== "write",
      maxlength: "120",
      autocomplete: "off",
      spellcheck: "false",
    }),
    modelView(state),
    h(
      "div",
      { class: "header-buttons", role: "group", "aria-label": "Panels" },
      panelsOf(state).map(({ panel, label, name }) =>
        h(
          "button",
          {
            type: "button",
            class: "button quiet",
            "data-action": "panel",
            "data-panel": panel,
            "aria-expanded": String(state.panel === panel),
            "aria-controls": "panel",
            title: label,
            "aria-label": label,
          },
          icon(name),
          h("span", { class: "button-label" }, label),
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
    { class: `model model-${where}`, title: `${name} at ${host}` },
    icon(where),
    h("span", { class: "model-name" }, name),
    h("span", { class: "model-where" }, location === "local" ? "local" : `cloud: ${host}`),
  );
}

/** Who is logged in. Without login there is nobody to name. @param {State} state */
function userView({ server }) {
  if (!server?.user?.is_logged_in) return null;
  const { name } = server.user;
  const label = `Log out ${name}`;
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
  return count ? h("span", { class: "badge" }, count, h("span", { class: "visually-hidden" }, " problems")) : null;
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
        "aria-label": "This conversation",
        title: "This conversation",
      },
      icon("more"),
    ),
    h(
      "div",
      { id: "menu", class: "menu", popover: "auto", role: "group", "aria-label": "This conversation" },
      item("rename", "Rename", disabled),
      item("export-markdown", "Export as Markdown", false),
      item("export-json", "Export as JSON", false),
      item("clear", "Clear", disabled),
      item("delete", "Delete", disabled),
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
