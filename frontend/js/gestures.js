/**
 * Gestures of hand and keyboard: turns events of the document into actions of the page.
 *
 * @typedef {import("./reduce.js").Event} Event
 *
 * @typedef {object} PageActions What a gesture can make the page do.
 * @property {(event: Event) => void} dispatch
 * @property {() => import("./state.js").State} state
 * @property {import("./actions.js").Now} now
 * @property {import("./attach_files.js").AttachTarget} attachTarget
 * @property {() => void} send send what is in the message field
 * @property {() => void} written called when the message field has changed
 * @property {() => void} touched called when the user touches the page, from when on browsers allow sound
 * @property {() => void} reconnect
 * @property {() => void} redraw draw the page again, with a panel that was opened since
 * @property {() => void} logOut
 */

import { changed, clicked } from "./actions.js";
import { attach, listenForFiles } from "./attach_files.js";
import { askedIn } from "./branches.js";
import { replyTo } from "../sdk/conversation.js";
import { pointed, takesAnswers } from "./render/approval_guard.js";
import * as page from "./render/page.js";
import { openConversation } from "../sdk/state.js";

/** @param {PageActions} actions */
export function listenToUser(actions) {
  listenForTalk(actions);
  listenForFiles(actions.attachTarget);
  document.addEventListener("click", ({ target }) => tapped(actions, target));
  document.addEventListener("change", ({ target }) => {
    const field = /** @type {HTMLInputElement} */ (target);
    if (field.id === "picker") return void attach(page.picked(), actions.attachTarget);
    if (field.id === "import-picker") return void importFrom(actions, field);
    altered(actions, field);
  });
  page.watchPanelTabs((document) => listenToPanel(actions, document));
  for (const move of ["pointermove", "pointerdown"])
    document.addEventListener(move, (event) => pointed(/** @type {PointerEvent} */ (event)), { passive: true });
  document.addEventListener("submit", (event) => {
    event.preventDefault();
    const endpoint = page.otherEndpoint(event.target);
    if (endpoint) actions.dispatch({ type: "pick_endpoint", choice: endpoint });
    else actions.send();
  });
  document.addEventListener(
    "close",
    ({ target }) => page.isPicker(target) && actions.dispatch({ type: "models", isOpen: false }),
    { capture: true },
  );
  document.addEventListener("keydown", (event) => pressed(actions, event));
  document.addEventListener("input", ({ target }) => {
    if (target === page.input()) actions.written();
    if (target === page.messageEditor()) page.fitEditor();
    if (isIn(target, "#search"))
      actions.dispatch({ type: "search", text: /** @type {HTMLInputElement} */ (target).value });
  });
  for (const end of ["pagehide", "visibilitychange"])
    window.addEventListener(end, () => {
      const field = document.activeElement;
      if (isIn(field, "textarea[data-change=setting]")) altered(actions, field); // written in, and not left yet
    });
  document.addEventListener("scroll", page.scrolled, { capture: true, passive: true });
  document.addEventListener("toggle", page.scrolled, { capture: true }); // what was opened may push the end out of sight
}

/** @param {PageActions} actions @param {EventTarget | null} target */
function tapped(actions, target) {
  const element =
    target instanceof Element ? /** @type {HTMLElement | null} */ (target.closest("[data-action]")) : null;
  if (!element) return;
  switch (element.dataset.action) {
    case "rename":
      return page.focusTitle();
    case "reconnect":
      return actions.reconnect();
    case "log-out":
      return actions.logOut();
    case "panel-tab": {
      const panel = /** @type {import("./state.js").Panel} */ (element.dataset.panel);
      page.openPanelTab(panel);
      return actions.dispatch({ type: "panel", panel: null });
    }
    case "attach":
      return page.openPicker();
    case "list-models": {
      const address = page.endpointAddress();
      return address ? actions.dispatch({ type: "list_endpoint", address }) : undefined;
    }
    case "import":
      return document.getElementById("import-picker")?.click();
    case "copy":
      return void page.copyCode(element);
    case "copy-message":
    case "copy-reply":
      return void page.copyMessage(element, textToCopy(actions.state(), element.dataset));
    case "send-edited":
      return sendEdited(actions);
    case "allow":
    case "allow-tool":
    case "deny":
      return takesAnswers() ? answer(actions, element.dataset) : undefined;
  }
  const event = clicked(element.dataset, actions.now);
  if (event?.type === "inspect") actions.dispatch({ ...event, isInTab: page.showPanelTab("inspector") });
  else if (event) actions.dispatch(event);
}

/** Listen to clicks and changes in a panel's tab. @param {PageActions} actions @param {Document} document of a panel's tab */
function listenToPanel(actions, document) {
  document.addEventListener("click", ({ target }) => tapped(actions, target));
  document.addEventListener("change", ({ target }) => altered(actions, target));
  actions.redraw();
}

/** @param {PageActions} actions @param {EventTarget | null} target */
function altered(actions, target) {
  const field = /** @type {HTMLInputElement} */ (target);
  const event = changed(field.dataset, field);
  if (event) actions.dispatch(event);
}

const MAX_IMPORT_BYTES = 64 << 20; // with its pictures

/** @param {PageActions} actions @param {HTMLInputElement} picker */
async function importFrom({ dispatch, now }, picker) {
  const [file] = picker.files ?? [];
  if (!file) return;
  const isFitting = file.size <= MAX_IMPORT_BYTES;
  const text = isFitting ? await file.text().catch(() => "") : ""; // "" is no conversation, and that is said
  picker.value = ""; // the same file can be picked again
  dispatch({ type: "import", text, name: file.name, id: now.id(), at: now.time() });
}

/** @param {import("./state.js").State} state @param {DOMStringMap} data */
function textToCopy(state, { action, turn = "" }) {
  const history = openConversation(state)?.conversationHistory ?? [];
  return action === "copy-reply" ? replyTo(history, turn) : (askedIn(history, turn)?.content ?? "");
}

/** @param {PageActions} actions */
function sendEdited({ dispatch, now, touched }) {
  const editor = page.messageEditor();
  if (!editor) return;
  touched(); // by hand: sound may be played
  dispatch({
    type: "ask_again",
    asked: editor.dataset.turn ?? "",
    text: editor.value,
    turnId: now.id(),
    at: now.time(),
  });
}

/** @param {PageActions} actions @param {DOMStringMap} data */
function answer({ dispatch }, { action, id = "" }) {
  const fields = page.approvalFields();
  /** @type {Partial<import("./reduce_approvals.js").Fields>} */
  const always = action === "allow-tool" ? { remember: "always", rememberFor: "tool" } : {};
  dispatch({ type: "answer_approval", id, approved: action !== "deny", fields: { ...fields, ...always } });
}

/** @param {PageActions} actions @param {KeyboardEvent} event */
function pressed(actions, event) {
  const { dispatch, now } = actions;
  const isInput = event.target === page.input();
  if (event.isComposing) return; // the key is the input method's: its Esc is no answer
  if (event.key === "Enter" && isInput && !event.shiftKey) {
    event.preventDefault();
    actions.send();
  } else if (event.key === "Enter" && event.target === page.messageEditor() && !event.shiftKey) {
    event.preventDefault();
    sendEdited(actions);
  } else if (isTalkKey(event, actions.state())) {
    event.preventDefault();
    if (!event.repeat) dispatch({ type: "talk", isHeld: true });
  } else if (event.key === "Escape" && isIn(event.target, "#search") && actions.state().search.text) {
    event.preventDefault();
    /** @type {HTMLInputElement} */ (event.target).value = "";
    dispatch({ type: "search", text: "" });
  } else if (event.key === "Escape" && isIn(event.target, "#approval-editor")) {
    dispatch({ type: "leave_approval_editor", id: page.approvalId() });
  } else if (event.key === "Escape" && isIn(event.target, "[data-approval]")) {
    if (takesAnswers()) dispatch({ type: "dismiss_approval", id: page.approvalId() });
  } else if (event.key === "Escape" && isIn(event.target, ".conversation-actions")) {
    leaveActions(actions, false);
  } else if (event.key === "Escape" && !page.isMenuOpen()) {
    dispatch({ type: "escape" });
  } else if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
    event.preventDefault();
    dispatch({ type: "new_conversation", id: now.id(), at: now.time() });
  } else if (
    event.key === "Enter" &&
    event.target instanceof HTMLInputElement &&
    event.target.dataset.change === "rename"
  ) {
    event.preventDefault(); // or the field that gets the focus gets the key, too
    if (event.target.dataset.id) leaveActions(actions, true);
    else page.focusInput(); // leaving the title makes the change
  }
}

/** @param {PageActions} actions @param {boolean} isRenamed the title that was written counts */
function leaveActions({ dispatch, state }, isRenamed) {
  const { actionsId, conversations } = state();
  page.leaveListTitle(
    actionsId ?? "",
    isRenamed ? null : (conversations.find(({ id }) => id === actionsId)?.title ?? ""),
  );
  dispatch({ type: "list_actions", id: null });
}

/** Selector of the button that records while it is held. */
const HOLD = "[data-action=hold]";
/** Selector of elements that use the space bar themselves. */
const CONTROLS = "input, textarea, select, button, summary, a, audio, video, dialog";

/**
 * Return whether the key talks: the space bar wherever it means nothing else, and on the button itself what presses buttons.
 *
 * @param {KeyboardEvent} event @param {import("./state.js").State} state
 */
function isTalkKey({ key, target, shiftKey, ctrlKey, altKey, metaKey }, { settings, voice }) {
  if (settings.turnDetection !== "push_to_talk" || voice.mic !== "on") return false;
  if (shiftKey || ctrlKey || altKey || metaKey) return false;
  return isIn(target, HOLD) ? key === " " || key === "Enter" : key === " " && !isIn(target, CONTROLS);
}

/** @param {EventTarget | null} target @param {string} selector */
function isIn(target, selector) {
  return target instanceof Element && target.closest(selector) !== null;
}

/** @param {PageActions} actions */
function listenForTalk({ dispatch, state, touched }) {
  document.addEventListener("keyup", (event) => {
    if ((event.key !== " " && event.key !== "Enter") || !state().voice.isHeld) return;
    event.preventDefault(); // a button would take it for a click
    dispatch({ type: "talk", isHeld: false });
  });
  document.addEventListener("pointerdown", (event) => {
    touched();
    if (event.button === 0 && isIn(event.target, HOLD)) dispatch({ type: "talk", isHeld: true });
  });
  document.addEventListener("click", ({ target, detail }) => {
    // without a pointer or a key: a screen reader's, which can press the button but not hold it
    if (detail === 0 && isIn(target, HOLD)) dispatch({ type: "talk", isHeld: !state().voice.isHeld });
  });
  document.addEventListener("contextmenu", (event) => {
    if (state().voice.isHeld && isIn(event.target, HOLD)) event.preventDefault(); // a finger that stays is no question
  });
  for (const end of ["pointerup", "pointercancel", "blur"])
    window.addEventListener(end, () => state().voice.isHeld && dispatch({ type: "talk", isHeld: false }));
}
