/**
 * The studio's composition: events into `reduce`, its state into `pageView`, its effects out to the server and to the
 * document. Nothing is decided here.
 *
 * @import { Effect, Event } from "./state.js"
 */

import { defineCodeEditor } from "../editor/code_editor.js";
import { complete } from "../editor/completion.js";
import { draw } from "../render/dom.js";
import { loadSettings } from "../storage.js";
import { lastConversation } from "./conversation.js";
import { reduce } from "./reduce.js";
import { REQUESTS } from "./rest.js";
import { HOOKS, hasEdits, initialState } from "./state.js";
import { s, useStudioLanguage } from "../strings/studio.js";
import { pageView } from "./views/page_view.js";

const PREVIEW_MS = 250; // after the last letter
const LOOK_MS = 2000; // between two looks at the disk

const root = /** @type {Element} */ (document.getElementById("studio"));
let state = initialState();
let previewTimer = 0;
let isPreviewing = false;

/** Drawn at once: the focus can go where it was just sent to. @param {Event} event */
function dispatch(event) {
  const before = document.activeElement;
  state = reduce(state, event);
  const { effects } = state;
  document.title = `${state.skill ? `${state.skill} · ` : ""}${s.title} · Parley`;
  draw(root, pageView(state));
  for (const effect of effects) void perform(effect);
  if (before && !before.isConnected && document.activeElement === document.body)
    document.getElementById(before.id === "editor" ? "editor" : "title")?.focus({ preventScroll: true }); // what had it is gone
}

/** @param {Effect} effect */
async function perform(effect) {
  if (effect.type === "focus")
    return effect.ids
      .map((id) => document.getElementById(id))
      .find(Boolean)
      ?.focus();
  if (effect.type === "begin") return editor()?.focus();
  if (effect.type === "line") return editor()?.goTo(effect.line);
  if (effect.type === "address")
    return location.hash === effect.fragment || history.replaceState(null, "", effect.fragment);
  if (effect.type === "confirm") return confirm(effect.words) ? dispatch(effect.event) : draw(root, pageView(state));
  if (effect.type === "preview") return preview(effect);
  return put(effect);
}

/** @param {Extract<Effect, {type: keyof typeof REQUESTS}>} effect */
async function put(effect) {
  /** @type {import("./rest.js").ServerRequest} */
  const send = REQUESTS[effect.type];
  const answer = await send(effect, dispatch).catch((error) => {
    if (!error.cause) throw error;
    return { ...effect, type: `${effect.type}_failed`, failure: error.cause };
  });
  if (answer) dispatch(answer);
}

/** Request the newest preview, once typing pauses and the one before is answered. @param {Extract<Effect, {type: keyof typeof REQUESTS}>} effect */
function preview(effect) {
  clearTimeout(previewTimer);
  previewTimer = window.setTimeout(async () => {
    if (isPreviewing) return preview(effect);
    isPreviewing = true;
    await put(effect).finally(() => (isPreviewing = false));
  }, PREVIEW_MS);
}

const editor = () =>
  /** @type {import("../editor/code_editor.js").CodeEditor | null} */ (document.getElementById("editor"));

/** @type {import("../editor/code_editor.js").Page["complete"]} */
function completed(text, cursor, isAsked) {
  const { schema, path, listing } = state;
  if (!schema || path !== HOOKS) return null;
  const texts = (listing?.files ?? []).flatMap((file) => /^hooks\/(.+\.md)$/.exec(file.path)?.[1] ?? []);
  return complete(schema, text, cursor, texts, isAsked);
}

defineCodeEditor({ complete: completed, leave: () => document.getElementById("save")?.focus() });
document.addEventListener("click", ({ target }) => {
  const element = target instanceof Element ? target.closest("[data-action]") : null;
  if (!(element instanceof HTMLElement) || element.getAttribute("aria-disabled") === "true") return;
  const { action = "", ...data } = element.dataset;
  dispatch({ ...data, type: action });
});
document.addEventListener("input", ({ target }) => {
  const element = /** @type {HTMLInputElement} */ (target);
  const { field = "", as = "value", ...data } = element.dataset;
  if (element.type === "file") return element.files?.[0] && dispatch({ type: field, file: element.files[0] });
  const value = element.type === "checkbox" ? element.checked : element.value;
  if (field) dispatch({ ...data, type: field, [as]: value });
});
document.addEventListener("submit", (event) => {
  event.preventDefault();
  dispatch({ type: "submit" });
});
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  dispatch({ type: "save" });
});
window.addEventListener("focus", () => dispatch({ type: "refresh" }));
window.setInterval(() => !document.hidden && dispatch({ type: "look" }), LOOK_MS);
window.addEventListener("hashchange", showFromAddress);
window.addEventListener("pagehide", () => state.isTrying && dispatch({ type: "try_it" })); // the browser may keep the page
window.addEventListener("beforeunload", (event) => hasEdits(state) && event.preventDefault());

/** Open the skill that the address names; read as a query, which is never malformed. */
function showFromAddress() {
  dispatch({ type: "show", skill: new URLSearchParams(location.hash.replace("#/", "skill=")).get("skill") ?? "" });
}

const settings = loadSettings(() => localStorage);
document.documentElement.dataset.theme = settings.theme ?? "auto";
await useStudioLanguage(settings.pageLanguage ?? "");
dispatch({ type: "skills_chosen", off: settings.skillsOff ?? [], on: settings.skillsOn ?? [] });
showFromAddress();
dispatch({ type: "load_skills" });
const last = await lastConversation();
if (last) dispatch({ type: "conversation", ...last });
