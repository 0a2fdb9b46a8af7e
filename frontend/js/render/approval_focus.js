/** Where the focus is when a request to run a tool comes, is edited, or is refused as it was edited. */

/** @type {string | null} the request drawn last */
let shownId = null;

/** @type {string | null} what was said of the edited arguments when they were drawn last; null: they could not be edited */
let shownProblem = null;

/** After each drawing. @param {HTMLTextAreaElement} message the field that the user may be writing in */
export function focusApproval(message) {
  const box = document.getElementById("approval");
  const editor = document.getElementById("approval-editor");
  const id = box?.dataset.approval ?? null;
  const problem = editor && (document.getElementById("approval-problem")?.textContent ?? "");
  const isNew = id !== shownId;
  const isOpened = problem !== null && shownProblem === null;
  const isRefused = Boolean(problem) && problem !== shownProblem;
  shownId = id;
  shownProblem = problem;
  // Unless the user is in the middle of a sentence: the screen reader says that it is there.
  if (isNew && !(document.activeElement === message && message.value !== "")) box?.focus();
  // The button that was pressed is gone, or at rest.
  if ((isOpened || isRefused) && isFocusFree()) editor?.focus();
}

/** Nothing has the focus, or the request, whose buttons come and go. */
export function isFocusFree() {
  const { activeElement, body } = document;
  return activeElement === body || document.getElementById("approval")?.contains(activeElement) === true;
}
