/** Where the focus goes when a request to run a tool, the panel, or the list of conversations comes or goes. */

/** @type {string | null} the request drawn last */
let shownId = null;

/** @type {string | null} problem of the edited arguments when they were drawn last; null if they were not being edited */
let shownProblem = null;

/** Move the focus with a request to run a tool, after each drawing. @param {HTMLTextAreaElement} message the field that the user may be writing in */
export function focusApproval(message) {
  const box = document.getElementById("approval");
  const editor = document.getElementById("approval-editor");
  const id = box?.dataset.approval ?? null;
  const problem = editor && (document.getElementById("approval-problem")?.textContent ?? "");
  const isNew = id !== shownId;
  const isOpened = problem !== null && shownProblem === null;
  const isRefused = Boolean(problem) && problem !== shownProblem;
  const isLeft = problem === null && shownProblem !== null;
  shownId = id;
  shownProblem = problem;
  // Unless the user is in the middle of a sentence: the screen reader says that it is there.
  if (isNew && !(document.activeElement === message && message.value !== "")) box?.focus();
  // The button that was pressed is gone, or at rest.
  if ((isOpened || isRefused) && isFocusFree()) editor?.focus();
  if (isLeft && isFocusFree()) box?.focus();
}

/** @type {string} the turn whose message was edited when it was drawn last; empty if there was none */
let editedTurn = "";

/**
 * Focus an editor that has come, and give the focus back when it goes; called after each drawing.
 *
 * @param {HTMLTextAreaElement | null} editor @param {HTMLTextAreaElement} message where the focus goes after sending
 * @returns {boolean} it has come
 */
export function focusEditor(editor, message) {
  const before = editedTurn;
  editedTurn = editor?.dataset.turn ?? "";
  if (editedTurn === before) return false;
  if (editor) {
    editor.focus();
    editor.setSelectionRange(editor.value.length, editor.value.length);
  } else if (document.activeElement === document.body) {
    const button = document.querySelector(`[data-action=edit-message][data-turn="${CSS.escape(before)}"]`);
    /** @type {HTMLElement} */ (button ?? message).focus();
  }
  return editor !== null;
}

/** Whether the button to hold was drawn last time. */
let hadHold = false;

/** Focus the button to hold when it has come, so that the space bar holds it; called after each drawing. */
export function focusHold() {
  const hold = /** @type {HTMLElement | null} */ (document.querySelector("[data-action=hold]"));
  if (!hadHold && document.activeElement?.matches("[data-action=talk-mode]")) hold?.focus();
  hadHold = hold !== null;
}

/** Return whether nothing has the focus, or only the request, whose buttons come and go. */
export function isFocusFree() {
  const { activeElement, body } = document;
  return activeElement === body || document.getElementById("approval")?.contains(activeElement) === true;
}

/** @typedef {Readonly<Record<string, string | null>>} Layers id → selector of the button that opened it; null if it is closed */

/** @type {Layers} those drawn last */
let shownLayers = {};

/**
 * Draw. The focus does not go with a layer that had it: the button that opened it takes it. A layer
 * that covers the page from its top, and so its button, takes the focus itself: it would be out of sight.
 * So does one that stands in the place of its button.
 *
 * @param {Layers} layers those that there are from now on
 * @param {() => void} draw
 */
export function keepFocus(layers, draw) {
  const before = shownLayers;
  shownLayers = layers;
  const left = Object.keys(layers).filter((id) => document.getElementById(id)?.contains(document.activeElement));
  const { activeElement: focused } = document;
  const list = document.getElementById("sidebar");
  const wasInList = list?.contains(focused);
  draw();
  const isLost = focused !== document.activeElement && document.activeElement === document.body;
  for (const [id, button] of Object.entries(layers)) {
    const opener = before[id] ?? null;
    if (button === opener) continue;
    if (button && isLost) document.getElementById(id)?.focus();
    else if (button) focusCovering(id);
    else if (opener && left.includes(id)) /** @type {HTMLElement | null} */ (document.querySelector(opener))?.focus();
  }
  if (wasInList && document.activeElement === document.body) focusInList(/** @type {HTMLElement} */ (list), focused);
}

/** Keep the focus on an item of the list that has moved to another group, or is gone. @param {HTMLElement} list @param {Element | null} before */
function focusInList(list, before) {
  const { action = "", id = "" } = before instanceof HTMLElement ? before.dataset : {};
  const same = list.querySelector(`[data-action="${CSS.escape(action)}"][data-id="${CSS.escape(id)}"]`);
  /** @type {HTMLElement} */ (same ?? list).focus();
}

/** @param {string} id */
function focusCovering(id) {
  const layer = document.getElementById(id);
  if (!layer) return;
  const { position, top } = getComputedStyle(layer);
  if (position === "fixed" && top === "0px") layer.focus();
}
