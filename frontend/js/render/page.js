/**
 * The whole page, from the state. The only module that touches the document,
 * with `dom.js`: `render` draws, the rest moves what drawing cannot express.
 *
 * @typedef {import("../state.js").State} State
 */

import { titleOf } from "../titles.js";
import { openConversation } from "../../sdk/state.js";
import { guardApproval } from "./approval_guard.js";
import { approvalView } from "./approval_view.js";
import { composerView } from "./composer_view.js";
import { conversationView } from "./conversation_view.js";
import { draw, h } from "./dom.js";
import "./coloured_code.js";
import "./formula.js";
import { focusApproval, focusEditor, focusHold, isFocusFree, keepFocus } from "./focus.js";
import { headerView, openerOf } from "./header_view.js";
import { hooksView } from "./hooks_view.js";
import { icon } from "./icons.js";
import { inspectorView } from "./inspector_view.js";
import { modelsView } from "./models_view.js";
import { drawPanelTabs, openPanelTab, showPanelTab, watchPanelTabs } from "./panel_tabs.js";
import { settingsView } from "./settings_view.js";
import { sidebarView } from "./sidebar_view.js";
import { skillsView } from "./skills_view.js";
import { sizeOf } from "./voice_view.js";
import { t } from "../strings.js";

export { openPanelTab, showPanelTab, watchPanelTabs };

const NEAR_BOTTOM_PX = 80;
const PANEL_VIEWS = { skills: skillsView, inspector: inspectorView, hooks: hooksView, settings: settingsView };
/** Panels that can also be opened in a tab. @type {readonly import("../state.js").Panel[]} */
const FOR_TABS = ["skills", "inspector"];

/** @type {string | null} the conversation drawn last */
let shownId = null;

/** @param {State} state */
export function render(state) {
  document.documentElement.dataset.theme = state.settings.theme;
  document.title = titleLine(state);
  if (state.openId !== shownId) isAtEnd = true;
  shownId = state.openId;
  keepFocus(layersOf(state), () => draw(/** @type {Element} */ (document.getElementById("page")), pageView(state)));
  drawPanelTabs(state, (panel) => PANEL_VIEWS[panel](state));
  followEnd();
  showPicker(state.models.isOpen);
  focusApproval(input());
  focusHold();
  if (focusEditor(messageEditor(), input())) fitEditor();
  guardApproval();
}

/** @param {State} state @returns {import("./focus.js").Layers} */
function layersOf({ panel, isSidebarOpen, actionsId, voice }) {
  return {
    "conversation-actions": actionsId && actionsOpener(actionsId),
    panel: panel && openerOf(panel),
    sidebar: isSidebarOpen ? "[data-action=open-sidebar]" : null,
    talk: voice.mic === "off" ? null : "[data-action=microphone]",
  };
}

/** @param {State} state */
function pageView(state) {
  return [
    h("a", { class: "skip", href: "#input" }, t.skipToMessage),
    sidebarView(state),
    h("button", {
      type: "button",
      class: "scrim",
      "data-action": "close-sidebar",
      "aria-label": t.closeList,
      tabindex: "-1",
      hidden: !state.isSidebarOpen,
    }),
    h(
      "main",
      { class: "main", "data-talk": sizeOf(state) },
      h("h1", { class: "visually-hidden" }, "Parley"),
      headerView(state),
      h(
        "section",
        { class: "scroll", id: "scroll", tabindex: "0", "aria-label": t.header.conversation },
        conversationView(state),
      ),
      approvalView(state),
      composerView(state),
    ),
    panelView(state),
    modelsView(state),
    h(
      "div",
      { class: "visually-hidden", role: "log", "aria-live": "polite", "aria-label": t.reply },
      freshLines(state).map(({ n, text }) => h("p", { key: n, dir: "auto" }, text)),
    ),
  ];
}

const SAID_LINES = 4; // stay a while: a screen reader may still be at them

/** Number of the announcement that was drawn last. */
let saidUpTo = 0;

/** Return the announcements that were not drawn before, and the last few that were. @param {State} state */
function freshLines({ announcements }) {
  const lines = announcements.filter(({ n }) => n > saidUpTo - SAID_LINES);
  saidUpTo = lines.at(-1)?.n ?? saidUpTo;
  return lines;
}

/** @param {State} state */
function titleLine(state) {
  const [asked] = state.approvals;
  if (asked) return t.approval.asked(asked.frame.tool); // seen from other tabs: silence means no
  const conversation = openConversation(state);
  return conversation?.conversationHistory.length ? `${titleOf(conversation)} – Parley` : "Parley";
}

/** @param {State} state */
function panelView(state) {
  const { panel, isPanelWide } = state;
  if (!panel) return null;
  return h(
    "aside",
    {
      class: "panel",
      id: "panel",
      key: panel,
      tabindex: "-1",
      "aria-label": t.panels[panel],
      "data-wide": isPanelWide,
    },
    h(
      "div",
      { class: "panel-head" },
      h("h2", {}, t.panels[panel]),
      FOR_TABS.includes(panel) &&
        h(
          "button",
          {
            type: "button",
            class: "button icon-only",
            key: "tab",
            "data-action": "panel-tab",
            "data-panel": panel,
            "aria-label": t.panels.inTab,
            title: t.panels.inTab,
          },
          icon("tab"),
        ),
      h(
        "button",
        {
          type: "button",
          class: "button icon-only widen",
          "data-action": "widen-panel",
          "aria-pressed": String(isPanelWide),
          "aria-label": t.panels.widen,
          title: t.panels.widen,
        },
        icon("enlarge"),
      ),
      h(
        "button",
        {
          type: "button",
          class: "button icon-only",
          "data-action": "panel",
          "data-panel": panel,
          "aria-label": t.close,
        },
        icon("close"),
      ),
    ),
    h("div", { class: "panel-body" }, PANEL_VIEWS[panel](state)),
  );
}

/** Whether the user reads the end, which the page then follows. */
let isAtEnd = true;

/** Note whether the user reads the end, after scrolling or opening something. */
export function scrolled() {
  const scroll = document.getElementById("scroll");
  isAtEnd = !scroll || scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR_BOTTOM_PX;
}

export function followEnd() {
  const scroll = document.getElementById("scroll");
  const hasTurns = document.querySelector(".turns") !== null; // what stands in an empty conversation is read from its start
  if (scroll && isAtEnd) scroll.scrollTop = hasTurns ? scroll.scrollHeight : 0;
}

/** @returns {HTMLTextAreaElement} */
export function input() {
  return /** @type {HTMLTextAreaElement} */ (document.getElementById("input"));
}

/** Fit the message field to its text. */
export function fitInput() {
  fit(input());
  followEnd();
}

/** Return the field of the message that is being edited. */
export function messageEditor() {
  return /** @type {HTMLTextAreaElement | null} */ (document.getElementById("edit-message"));
}

export function fitEditor() {
  const editor = messageEditor();
  if (editor) fit(editor);
}

/** @param {HTMLTextAreaElement} field */
function fit(field) {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

/** @param {string} text */
export function setInput(text) {
  isAtEnd = true; // what is asked is answered at the end
  input().value = text;
  fitInput();
}

export function focusInput() {
  input().focus();
}

/** Focus the message field if only the request to run a tool, which is about to be removed, has the focus. */
export function leaveApproval() {
  if (isFocusFree()) focusInput();
}

/** Show that a picture, sound or film did not load: the link to it is too old, or the file is gone. @param {EventTarget | null} target */
export function mediaFailed(target) {
  if (target instanceof Element) target.closest(".media")?.setAttribute("data-gone", "");
}

export function openPicker() {
  /** @type {HTMLInputElement} */ (document.getElementById("picker")).click();
}

const COPIED_MS = 2_000;

/**
 * Copy the code beside this button to the clipboard; where the browser gives none (a page on plain
 * http), it is selected for the user's own hand.
 *
 * @param {HTMLElement} button
 */
export async function copyCode(button) {
  const code = button.parentElement?.querySelector("code");
  if (!code) return;
  button.textContent = await copied(code.textContent ?? "", code);
  setTimeout(() => (button.textContent = t.turns.copy), COPIED_MS);
}

/** Copy a message, or a reply as the model wrote it. @param {HTMLElement} button below it @param {string} text */
export async function copyMessage(button, text) {
  const label = button.title;
  const shown = button
    .closest(".turn")
    ?.querySelector(button.dataset.action === "copy-reply" ? ".reply" : ".said-by-user");
  button.dataset.copied = await copied(text, shown);
  button.setAttribute("aria-label", button.dataset.copied);
  setTimeout(() => {
    delete button.dataset.copied;
    button.setAttribute("aria-label", label);
  }, COPIED_MS);
}

/** @param {string} text @param {Element | null | undefined} shown where it stands @returns {Promise<string>} what became of it */
async function copied(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return t.turns.copied;
  } catch {
    if (shown) getSelection()?.selectAllChildren(shown);
    return t.turns.selected;
  }
}

/** Return the files that the user has picked; the same file can be picked again. @returns {File[]} */
export function picked() {
  const picker = /** @type {HTMLInputElement} */ (document.getElementById("picker"));
  const files = Array.from(picker.files ?? []);
  picker.value = "";
  return files;
}

/** Mark the place where a dragged file would be attached. @param {boolean} isOver */
export function showDrop(isOver) {
  document.querySelector(".composer")?.toggleAttribute("data-drop", isOver);
}

/** Return the id of the request on screen. */
export function approvalId() {
  return document.getElementById("approval")?.dataset.approval ?? "";
}

/** Return what the user has filled in. @returns {import("../reduce_approvals.js").Fields} */
export function approvalFields() {
  const valueOf = (/** @type {string} */ id) =>
    /** @type {HTMLInputElement | null} */ (document.getElementById(id))?.value ?? "";
  const [remember, rememberFor] = valueOf("approval-remember").split(":");
  return {
    arguments: valueOf("approval-editor"),
    reason: valueOf("approval-reason"),
    remember: /** @type {"no" | "conversation" | "always"} */ (remember || "no"),
    rememberFor: /** @type {import("../../sdk/frames.js").RememberFor} */ (rememberFor ?? "arguments"),
  };
}

/** Return whether only a finger points here: such a device has no keyboard of its own. */
export const isTouch = () => matchMedia("(hover: none) and (pointer: coarse)").matches;

/** Report whether the screen is narrow, at once and whenever it changes. @param {(isNarrow: boolean) => void} onChange */
export function watchWidth(onChange) {
  const query = matchMedia("(max-width: 46rem)"); // as in layout.css
  query.addEventListener("change", () => onChange(query.matches));
  onChange(query.matches);
}

/** Show how loud the microphone is, 0 to 1; fifty times a second, so not through the state. @param {number} level */
export function showLevel(level) {
  const foot = /** @type {HTMLElement | null} */ (document.querySelector(".foot"));
  foot?.style.setProperty("--level", level.toFixed(2));
}

/** Return whether a menu or dialog is open, which closes with Esc by itself. */
export function isMenuOpen() {
  return document.querySelector(".menu:popover-open, dialog[open]") !== null;
}

/** @param {EventTarget | null} target */
export function isPicker(target) {
  return target instanceof HTMLDialogElement && target.id === "models";
}

/** Return the address in the form for another model, to list its models; null if it is none, which the browser says. */
export function endpointAddress() {
  const form = /** @type {HTMLFormElement} */ (document.getElementById("other-model"));
  const address = /** @type {HTMLInputElement} */ (form.elements.namedItem("base_url"));
  if (!address.reportValidity()) return null;
  const { base_url, api_key } = /** @type {any} */ (otherEndpoint(form));
  return { base_url, ...(api_key && { api_key }) };
}

/** Clear a model's name that is none of these: browsers list only the names that hold what the field does. @param {readonly string[]} names */
export function clearOtherName(names) {
  const form = /** @type {HTMLFormElement | null} */ (document.getElementById("other-model"));
  const field = /** @type {HTMLInputElement | undefined} */ (form?.elements.namedItem("model"));
  if (field && names.length && !names.includes(field.value)) field.value = "";
}

/** Return what the form for another model holds. @param {EventTarget | null} form @returns {import("../models.js").ModelChoice | null} null for another form */
export function otherEndpoint(form) {
  if (!(form instanceof HTMLFormElement) || form.id !== "other-model") return null;
  const filled = new FormData(form);
  const valueOf = (/** @type {string} */ name) => String(filled.get(name) ?? "").trim();
  const key = valueOf("api_key");
  return { kind: "endpoint", base_url: valueOf("base_url"), model: valueOf("model"), ...(key && { api_key: key }) };
}

/** The picker is modal: the browser keeps the focus inside, and gives it back. @param {boolean} isOpen */
function showPicker(isOpen) {
  const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("models"));
  if (isOpen && !dialog.open) dialog.showModal();
  if (!isOpen && dialog.open) dialog.close();
}

/** @param {string} id of a conversation in the list */
function actionsOpener(id) {
  return `.conversation-more[data-id="${CSS.escape(id)}"]`;
}

/** Leave the title in the list, which makes the change. @param {string} id @param {string | null} title in the place of what was written */
export function leaveListTitle(id, title) {
  const field = /** @type {HTMLInputElement | null} */ (document.querySelector(".conversation-actions .title"));
  if (field && title !== null) field.value = title;
  /** @type {HTMLElement | null} */ (document.querySelector(actionsOpener(id)))?.focus();
}

/** Show the user where to write the new title. */
export function focusTitle() {
  const title = /** @type {HTMLInputElement | null} */ (document.querySelector(".title"));
  title?.focus();
  title?.select();
}
