/**
 * The policy page's composition: events into `reduce`, its state into `pageView`,
 * its effects out to the server. Nothing is decided here.
 *
 * @import { Effect, Event } from "./state.js"
 */

import { defineCodeEditor } from "../editor/code_editor.js";
import { complete } from "../editor/completion.js";
import { draw } from "../render/dom.js";
import { loadSettings } from "../storage.js";
import { p, usePolicyLanguage } from "../strings/policy.js";
import { clicked, entered, routeOf, reduce } from "./reduce.js";
import { draftOf } from "./reduce_editor.js";
import { REQUESTS, request } from "./rest.js";
import { initialState } from "./state.js";
import { pageView } from "./views/page_view.js";

const CHECK_MS = 250; // after the last letter

const root = /** @type {Element} */ (document.getElementById("policy"));

let state = initialState();
let checkTimer = 0;

/** Drawn at once: the focus can go where it was just sent to. @param {Event} event */
function dispatch(event) {
  const before = document.activeElement;
  state = reduce(state, event);
  const { effects } = state;
  document.title = `${p.titles[state.view]} · Parley`;
  draw(root, pageView(state));
  for (const effect of effects) void perform(effect);
  if (before && !before.isConnected && document.activeElement === document.body)
    document.getElementById(`${state.view}-title`)?.focus({ preventScroll: true }); // what had it is gone
}

/** @param {Effect} effect */
async function perform(effect) {
  if (effect.type === "focus") return focus(effect.ids);
  if (effect.type === "line") return editor()?.goTo(effect.line);
  if (effect.type === "address")
    return location.hash === effect.fragment || history.pushState(null, "", effect.fragment);
  if (effect.type === "confirm") return confirm(effect.words) && dispatch(effect.event);
  if (effect.type !== "check") return put(effect);
  clearTimeout(checkTimer);
  checkTimer = window.setTimeout(put, CHECK_MS, effect);
}

/** @param {Extract<Effect, {type: keyof typeof REQUESTS}>} effect */
async function put(effect) {
  /** @type {import("./rest.js").ServerRequest} */
  const send = REQUESTS[effect.type];
  const answer = await send(effect).catch((error) => {
    if (!error.cause) throw error;
    return { ...effect, type: `${effect.type}_failed`, failure: error.cause };
  });
  if (answer) dispatch(answer);
}

async function loadPrincipal() {
  const answer = await request("/api/session").catch(() => null);
  if (answer)
    dispatch({ type: "principal", principal: { user: answer.body.user, isOperator: answer.body.is_operator } });
}

/** @param {readonly string[]} ids */
function focus(ids) {
  ids
    .map((id) => document.getElementById(id))
    .find((found) => found && !found.matches(":disabled"))
    ?.focus();
}

const editor = () =>
  /** @type {import("../editor/code_editor.js").CodeEditor | null} */ (document.getElementById("editor"));
defineCodeEditor({
  complete: (text, cursor, isAsked) => complete(state.editor.schema, text, cursor, [], isAsked),
  leave: () => focus(["save"]),
});

const showFromAddress = () => dispatch({ type: "show", ...routeOf(location.hash) });

document.addEventListener("click", ({ target }) => {
  const element = target instanceof Element ? target.closest("[data-action]") : null;
  if (element instanceof HTMLElement) dispatch(clicked(element.dataset));
});
document.addEventListener("input", ({ target }) => {
  const field = /** @type {HTMLInputElement} */ (target);
  if (field.dataset.field) dispatch(entered(field.dataset, field));
});
document.addEventListener("change", async ({ target }) => {
  const file = target instanceof HTMLInputElement && target.files?.[0];
  if (!file) return;
  dispatch({ type: "edit_text", value: await file.text() });
  dispatch({ type: "read_yaml" });
});
document.addEventListener("submit", (event) => {
  event.preventDefault();
  dispatch({ type: /** @type {HTMLFormElement} */ (event.target).id === "filter" ? "search_audit" : "save" });
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "s" || !(event.ctrlKey || event.metaKey) || state.view !== "policy") return;
  event.preventDefault();
  dispatch({ type: "save" });
});
document.addEventListener("visibilitychange", async () => {
  if (document.hidden) return;
  await loadPrincipal();
  dispatch({ type: "refresh" });
});
window.addEventListener("online", () => dispatch({ type: "refresh" }));
window.addEventListener("hashchange", showFromAddress);
window.addEventListener("beforeunload", (event) => draftOf(state).isDirty && event.preventDefault());

const { theme = "auto", pageLanguage = "" } = loadSettings(() => localStorage);
document.documentElement.dataset.theme = theme;
await usePolicyLanguage(pageLanguage);
showFromAddress();
await loadPrincipal();
