/**
 * Keeps a click or a key that was meant for something else from answering a new request to run a tool: for a
 * moment it takes no input, and its buttons do not stand where the pointer is.
 */

const REST_MS = 600; // longer than the second click of a double click takes
const MARGIN_PX = 8;
const PLACES = ["", "start", "top", "top start"]; // of the buttons, as approval.css knows them

/** @type {string | null} the request drawn last */
let shownId = null;
let opensAt = Infinity;
let pointer = { x: -1, y: -1 };

/** Note where the pointer or finger is. @param {{clientX: number, clientY: number}} event */
export function pointed({ clientX, clientY }) {
  pointer = { x: clientX, y: clientY };
}

/** Guard a new request; called after each drawing. */
export function guardApproval() {
  const box = document.getElementById("approval");
  const id = box?.dataset.approval ?? null;
  if (id === shownId) return;
  shownId = id;
  opensAt = Infinity;
  if (!box) return;
  const controls = /** @type {HTMLElement[]} */ (Array.from(box.querySelectorAll(".approval-more, .approval-actions")));
  for (const part of controls) part.inert = true;
  moveFromPointer(box);
  requestAnimationFrame(() => {
    // Now it is about to be seen: in a hidden tab, this waits.
    if (id !== shownId) return;
    opensAt = performance.now() + REST_MS;
    setTimeout(() => controls.forEach((part) => (part.inert = false)), REST_MS);
  });
}

/** Return whether the request has been seen for long enough to be answered. */
export function takesAnswers() {
  return performance.now() >= opensAt;
}

/** @param {HTMLElement} box */
function moveFromPointer(box) {
  for (const place of PLACES) {
    box.dataset.place = place;
    if (!Array.from(box.querySelectorAll("button")).some(isUnderPointer)) return;
  }
}

/** @param {Element} button */
function isUnderPointer(button) {
  const { left, right, top, bottom } = button.getBoundingClientRect();
  const isBeside = pointer.x < left - MARGIN_PX || pointer.x > right + MARGIN_PX;
  return !isBeside && pointer.y >= top - MARGIN_PX && pointer.y <= bottom + MARGIN_PX;
}
