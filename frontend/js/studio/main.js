/**
 * The studio's composition: events into `reduce`, its state into `pageView`, its effects out to the server and to the
 * document. Nothing is decided here.
 *
 * @import { Effect, Event } from "./state.js"
 */

import { draw } from "../render/dom.js";
import { loadSettings } from "../storage.js";
import { INDENT, blankIn, lineBreak } from "./completion.js";
import { lastConversation } from "./conversation.js";
import { isThere } from "./json_places.js";
import { reduce } from "./reduce.js";
import { QUESTIONS } from "./rest.js";
import { HOOKS, hasEdits, initialState } from "./state.js";
import { s, useStudioLanguage } from "../strings/studio.js";
import { pageView } from "./views/page_view.js";

const PREVIEW_MS = 250; // after the last letter

const root = /** @type {Element} */ (document.getElementById("studio"));
let state = initialState();
let previewTimer = 0;
let isPreviewing = false;

/** Drawn at once: the focus can go where it was just sent to. @param {Event} event */
function dispatch(event) {
  const before = document.activeElement;
  const wasEditor = before?.id === "editor";
  state = reduce(state, event);
  const { effects } = state;
  document.title = `${state.skill ? `${state.skill} · ` : ""}${s.title} · Parley`;
  draw(root, pageView(state));
  if (state.completion) placeSuggestions();
  for (const effect of effects) void perform(effect);
  if (before && !before.isConnected && document.activeElement === document.body)
    document.getElementById(wasEditor ? "editor" : "title")?.focus({ preventScroll: true }); // what had it is gone
}

/** @param {Effect} effect */
async function perform(effect) {
  if (effect.type === "focus") return effect.ids.map((id) => document.getElementById(id)).find(Boolean)?.focus();
  if (effect.type === "begin") return begin();
  if (effect.type === "line") return goTo(effect.line);
  if (effect.type === "insert") return insert(effect);
  if (effect.type === "address") return location.hash === effect.fragment || history.replaceState(null, "", effect.fragment);
  if (effect.type === "confirm") return confirm(effect.words) ? dispatch(effect.event) : draw(root, pageView(state));
  if (effect.type === "preview") return preview(effect);
  return put(effect);
}

/** @param {Extract<Effect, {type: keyof typeof QUESTIONS}>} effect */
async function put(effect) {
  /** @type {import("./rest.js").Question} */
  const question = QUESTIONS[effect.type];
  const answer = await question(effect, dispatch).catch((error) => {
    if (!error.cause) throw error;
    return { ...effect, type: `${effect.type}_failed`, failure: error.cause };
  });
  if (answer) dispatch(answer);
}

/** The last one that was asked for, once nobody types and the one before is answered. @param {Extract<Effect, {type: keyof typeof QUESTIONS}>} effect */
function preview(effect) {
  clearTimeout(previewTimer);
  previewTimer = window.setTimeout(async () => {
    if (isPreviewing) return preview(effect);
    isPreviewing = true;
    await put(effect).finally(() => (isPreviewing = false));
  }, PREVIEW_MS);
}

const editor = () => /** @type {HTMLTextAreaElement | null} */ (document.getElementById("editor"));

/** At the beginning of the file that was opened. */
function begin() {
  editor()?.setSelectionRange(0, 0);
  editor()?.focus();
}

/** @param {number} line counted from 1 */
function goTo(line) {
  const field = editor();
  if (!field) return;
  const lines = field.value.split("\n").slice(0, line);
  const end = lines.join("\n").length;
  field.focus();
  field.setSelectionRange(end - (lines.at(-1)?.length ?? 0), end);
  document.getElementById("code-lines")?.children[line - 1]?.scrollIntoView({ block: "center" });
}

/** As typed: the browser's own undo takes it back. @param {{from: number, to: number, text: string}} effect */
function insert({ from, to, text }) {
  const field = editor();
  if (!field) return;
  field.focus();
  field.setSelectionRange(from, to);
  document.execCommand("insertText", false, text);
  const blank = blankIn(text);
  if (!blank) return;
  field.setSelectionRange(from + blank[0], from + blank[1]);
  dispatch({ type: "typed", value: field.value, cursor: from + blank[1] });
}

/** Under the cursor, whose place only the numbered copy of the text can tell. */
function placeSuggestions() {
  const list = document.getElementById("suggestions");
  const field = editor();
  const lines = document.getElementById("code-lines");
  if (!list || !field || !lines) return;
  const before = field.value.slice(0, field.selectionStart).split("\n");
  const line = lines.children[before.length - 1];
  const text = line?.firstChild;
  const range = document.createRange();
  if (text) range.setStart(text, Math.min(before.at(-1)?.length ?? 0, text.textContent?.length ?? 0));
  const { left, bottom } = text ? range.getBoundingClientRect() : (line ?? field).getBoundingClientRect();
  list.style.left = `${Math.max(8, Math.min(left, innerWidth - list.offsetWidth - 8))}px`;
  list.style.top = `${Math.min(bottom + 4, innerHeight - list.offsetHeight - 8)}px`;
  list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
}

/** Keys of the editor. @param {KeyboardEvent} event @param {HTMLTextAreaElement} field @returns {Event | null} null: it is the browser's */
function pressed({ key, ctrlKey, shiftKey }, field) {
  const { value, selectionStart: cursor, selectionEnd } = field;
  if (key === " " && ctrlKey) return { type: "suggest", value, cursor };
  if (state.completion && !ctrlKey) {
    if (key === "ArrowDown" || key === "ArrowUp") return { type: "choose", by: key === "ArrowDown" ? 1 : -1 };
    if (key === "Enter" || (key === "Tab" && !shiftKey)) return { type: "accept" };
    if (key === "Escape") return { type: "close_suggestions" };
    if (key.startsWith("Arrow") || key === "Home" || key === "End") dispatch({ type: "close_suggestions" });
  }
  if (cursor === selectionEnd && state.path === HOOKS && isThere(value, cursor, key))
    field.setSelectionRange(cursor + 1, cursor + 1); // a suggestion has set it, or an earlier keystroke
  else if (key === "Escape") document.getElementById("save")?.focus();
  else if (key === "Tab" && !shiftKey && !field.readOnly) document.execCommand("insertText", false, INDENT);
  else if (key === "Enter" && !shiftKey && !ctrlKey && !field.readOnly) {
    const { text, back } = lineBreak(value, cursor, state.path);
    document.execCommand("insertText", false, text);
    field.setSelectionRange(field.selectionStart - back, field.selectionStart - back);
  } else return null;
  return { type: "close_suggestions" };
}

document.addEventListener("click", ({ target }) => {
  const element = target instanceof Element ? target.closest("[data-action]") : null;
  if (!(element instanceof HTMLElement) || element.getAttribute("aria-disabled") === "true") return;
  const { action = "", ...data } = element.dataset;
  dispatch({ ...data, type: action });
});
document.addEventListener("mousedown", (event) => {
  if (event.target instanceof Element && event.target.closest("#suggestions")) event.preventDefault(); // the field keeps the focus
});
document.addEventListener("input", ({ target }) => {
  const element = /** @type {HTMLInputElement} */ (target);
  const { field = "", as = "value", ...data } = element.dataset;
  const value = element.type === "checkbox" ? element.checked : element.value;
  const cursor = element.id === "editor" ? element.selectionStart : 0;
  if (field) dispatch({ ...data, type: field, [as]: value, cursor });
});
document.addEventListener("submit", (event) => {
  event.preventDefault();
  dispatch({ type: "submit" });
});
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "s" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    return dispatch({ type: "save" });
  }
  if (event.target !== editor() || event.isComposing || event.altKey || event.metaKey) return;
  const next = pressed(event, /** @type {HTMLTextAreaElement} */ (event.target));
  if (!next) return;
  event.preventDefault();
  dispatch(next);
});
document.addEventListener("focusout", ({ target }) => target === editor() && state.completion && dispatch({ type: "close_suggestions" }));
window.addEventListener("focus", () => dispatch({ type: "looked" }));
window.addEventListener("hashchange", showFromAddress);
window.addEventListener("pagehide", () => state.isTrying && dispatch({ type: "try_it" })); // the browser may keep the page
window.addEventListener("beforeunload", (event) => hasEdits(state) && event.preventDefault());

/** Read as a query, so that no address of anybody's can be malformed. */
function showFromAddress() {
  dispatch({ type: "show", skill: new URLSearchParams(location.hash.replace("#/", "skill=")).get("skill") ?? "" });
}

const settings = loadSettings(() => localStorage);
document.documentElement.dataset.theme = settings.theme ?? "auto";
await useStudioLanguage(settings.pageLanguage ?? "");
dispatch({ type: "skills_off", names: settings.skillsOff ?? [] });
showFromAddress();
dispatch({ type: "load_skills" });
const last = await lastConversation();
if (last) dispatch({ type: "conversation", ...last });
