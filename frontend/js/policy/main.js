/**
 * The policy page's composition: events into `reduce`, its state into `pageView`,
 * its effects out to the server. Nothing is decided here.
 *
 * @typedef {import("./state.js").Event} Event
 * @typedef {import("./state.js").Effect} Effect
 */

import { draw } from "../render/dom.js";
import { loadSettings } from "../storage.js";
import { clicked, entered, placeOf, reduce } from "./reduce.js";
import { isDirty } from "./reduce_editor.js";
import { QUESTIONS, Refusal, ask } from "./rest.js";
import { initialState } from "./state.js";
import { TITLES, pageView } from "./views/page_view.js";

const root = /** @type {Element} */ (document.getElementById("policy"));

let state = initialState();

/** Drawn at once: the focus can go where it was just sent to. @param {Event} event */
function dispatch(event) {
  const before = document.activeElement;
  state = reduce(state, event);
  const { effects } = state;
  document.title = `${TITLES[state.view]} · Parley`;
  draw(root, pageView(state));
  for (const effect of effects) void perform(effect);
  if (before && !before.isConnected && document.activeElement === document.body)
    document.getElementById(`${state.view}-title`)?.focus({ preventScroll: true }); // what had it is gone
}

/** @param {Effect} effect */
async function perform(effect) {
  if (effect.type === "focus") return focus(effect.ids);
  if (effect.type === "address") return setAddress(effect.fragment);
  /** @type {import("./rest.js").Question} */
  const question = QUESTIONS[effect.type];
  const answer = await question(effect).catch((error) => {
    if (!(error instanceof Refusal)) throw error;
    return { ...effect, type: `${effect.type}_failed`, failure: error.failure };
  });
  if (answer) dispatch(answer);
}

async function askWho() {
  const answer = await ask("/api/session").catch(() => null);
  if (!answer) return;
  const { user, is_operator: isOperator } = answer.body;
  dispatch({ type: "who", who: { user: String(user), isOperator: isOperator === true } });
}

/** What is folded is opened first. @param {readonly string[]} ids */
function focus(ids) {
  const element = ids.map((id) => document.getElementById(id)).find((found) => found && !found.matches(":disabled"));
  const folded = element?.closest("details");
  if (folded) folded.open = true;
  element?.focus();
}

function showFromAddress() {
  dispatch({ type: "show", ...placeOf(location.hash) });
}

/** One more step to go back to; nothing is shown anew. @param {string} fragment */
function setAddress(fragment) {
  if (location.hash !== fragment) history.pushState(null, "", fragment);
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  const target = event.target instanceof Element ? event.target : null;
  const handler = /** @type {HTMLElement | null} */ (target?.closest("[data-handler]") ?? null);
  const isArrow = event.key === "ArrowUp" || event.key === "ArrowDown";
  const isOfField = target?.matches("select, textarea, [type=text]"); // which moves through its text with them
  if (event.altKey && isArrow && handler && !isOfField) {
    event.preventDefault();
    const { stage, handler: key } = handler.dataset;
    dispatch({ type: "move", stage, key, by: event.key === "ArrowUp" ? -1 : 1 });
  } else if (event.key === "s" && (event.ctrlKey || event.metaKey) && state.view === "policy") {
    event.preventDefault();
    dispatch({ type: "save" });
  } else if (event.key === "Escape") {
    if (state.view === "policy" && state.editor.wish) dispatch({ type: "stay" });
    if (state.view === "approvals" && state.remembered.asking) dispatch({ type: "keep_approval" });
  }
}

function listen() {
  document.addEventListener("click", ({ target }) => {
    const element = target instanceof Element ? target.closest("[data-action]") : null;
    if (element instanceof HTMLElement) dispatch(clicked(element.dataset));
  });
  document.addEventListener("input", ({ target }) => {
    const field = /** @type {HTMLInputElement} */ (target);
    if (field.dataset.field) dispatch(entered(field.dataset, field));
  });
  document.addEventListener("submit", (event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    dispatch({ type: form.id === "filter" ? "ask_audit" : "save" });
  });
  document.addEventListener("keydown", pressed);
  document.addEventListener("visibilitychange", async () => {
    if (document.hidden) return;
    await askWho();
    dispatch({ type: "looked" });
  });
  window.addEventListener("online", () => dispatch({ type: "looked" }));
  window.addEventListener("hashchange", showFromAddress);
  window.addEventListener("beforeunload", (event) => isDirty(state) && event.preventDefault());
}

document.documentElement.dataset.theme = loadSettings(() => localStorage).theme ?? "auto";
listen();
showFromAddress();
await askWho();
