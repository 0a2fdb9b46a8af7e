/**
 * The bar above the conversation: its title, who answers, and the panels.
 *
 * @typedef {import("../state.js").State} State
 */

import { titleOf } from "../titles.js";
import { openConversation } from "../../sdk/state.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { talkState } from "./voice_view.js";
import { t } from "../strings.js";

/**
 * The panels with a button of their own; the others are opened from the menu.
 *
 * @type {{panel: import("../state.js").Panel, name: keyof typeof import("./icons.js").PATHS}[]}
 */
const PANELS = [
  { panel: "skills", name: "skills" },
  { panel: "inspector", name: "inspect" },
];

/** Return the selector of the button that opens a panel. @param {import("../state.js").Panel} panel */
export function openerOf(panel) {
  const hasButton = PANELS.some((listed) => listed.panel === panel);
  return hasButton ? `.header-buttons > [data-panel=${panel}]` : ".header [popovertarget=menu]";
}

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
    talkState(state),
    h(
      "div",
      { class: "header-buttons", role: "group", "aria-label": t.panels.all },
      PANELS.map(({ panel, name }) =>
        h(
          "button",
          {
            ...panelButton(state, panel),
            class: "button quiet",
            title: t.panels[panel],
            "aria-label": t.panels[panel],
          },
          icon(name),
          h("span", { class: "button-label" }, t.panels[panel]),
          panel === "skills" && diagnosticsMark(state),
        ),
      ),
      menuView(state, conversation),
    ),
  );
}

/** @param {State} state @param {import("../state.js").Panel} panel */
function panelButton(state, panel) {
  return {
    type: "button",
    "data-action": "panel",
    "data-panel": panel,
    "aria-expanded": String(state.panel === panel),
    "aria-controls": "panel",
  };
}

/** @param {State} state */
function modelView({ server, models }) {
  if (!server) return null;
  const { name, host, location } = server.model;
  const where = location === "local" ? "local" : "cloud";
  const isPicker = server.user?.is_operator;
  const opener = { type: "button", "data-action": "models", "aria-haspopup": "dialog" };
  return h(
    isPicker ? "button" : "p",
    {
      class: `model model-${where}`,
      title: t.header.modelAt(name, t.header.hosts[host] ?? host),
      ...(isPicker && { ...opener, "aria-expanded": String(models.isOpen) }),
    },
    icon(where),
    h("span", { class: "model-name" }, name),
    h("span", { class: "model-where" }, location === "local" ? t.header.local : t.header.cloud(host)),
    isPicker && h("span", { class: "visually-hidden" }, t.header.pickModel),
  );
}

/** @param {State} state */
function diagnosticsMark({ diagnostics, skills }) {
  const failed = skills.reduce((sum, { tests }) => sum + (tests?.failed ?? 0), 0);
  const count = failed + diagnostics.filter(({ severity }) => severity !== "info").length;
  return count
    ? h("span", { class: "badge" }, count, h("span", { class: "visually-hidden" }, t.header.problems))
    : null;
}

/** @param {State} state @param {import("../state.js").Conversation | null} conversation */
function menuView(state, conversation) {
  const { server, panel } = state;
  const disabled = conversation?.access !== "write";
  // The state of hook processes is for operators; without a login there is no user to log out.
  const hasHooks = server?.user?.is_operator || panel === "hooks";
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
      item(t.panels.settings, panelButton(state, "settings")),
      hasHooks && item(t.panels.hooks, panelButton(state, "hooks")),
      h("hr"),
      item(t.header.rename, { "data-action": "rename", disabled }),
      item(conversation?.pinnedAt ? t.header.unpin : t.header.pin, { "data-action": "pin", disabled }),
      item(t.header.exportMarkdown, { "data-action": "export-markdown" }),
      item(t.header.exportJson, { "data-action": "export-json" }),
      item(t.header.clear, { "data-action": "clear", disabled }),
      item(t.header.delete, { "data-action": "delete", disabled }),
      server?.user?.is_logged_in && [h("hr"), item(t.header.logOut(server.user.name), { "data-action": "log-out" })],
    ),
  ];
}

/** @param {string} label @param {Record<string, import("./dom.js").AttributeValue>} attributes */
function item(label, attributes) {
  return h(
    "button",
    { type: "button", class: "menu-item", popovertarget: "menu", popovertargetaction: "hide", ...attributes },
    label,
  );
}
