/**
 * The policy page's composition: events into `reduce`, its state into `pageView`,
 * its effects out to the server. Nothing is decided here.
 *
 * @typedef {import("./reduce.js").Event} Event
 * @typedef {import("./state.js").Effect} Effect
 */

import { draw } from "../render/dom.js";
import { loadSettings } from "../storage.js";
import { clicked, entered } from "./actions.js";
import { parametersOf, placeOf } from "./address.js";
import { reduce } from "./reduce.js";
import { isDirty } from "./reduce_editor.js";
import { ask } from "./rest.js";
import { initialState } from "./state.js";
import { TITLES, pageView } from "./views/page_view.js";

const PAGE_ROWS = "50";
const root = /** @type {Element} */ (document.getElementById("policy"));

let state = initialState();

/** Drawn at once: the focus can go where it was just sent to. @param {Event} event */
function dispatch(event) {
  const before = document.activeElement;
  state = reduce(state, event);
  const { effects } = state;
  render();
  for (const effect of effects) void perform(effect);
  if (before && !before.isConnected && document.activeElement === document.body)
    document.getElementById(`${state.view}-title`)?.focus({ preventScroll: true }); // what had it is gone
}

function render() {
  document.title = `${TITLES[state.view]} · Parley`;
  draw(root, pageView(state));
}

/** @param {Effect} effect */
async function perform(effect) {
  switch (effect.type) {
    case "load_policy":
      return dispatch(await loadPolicy(effect.scope));
    case "save_policy":
      return dispatch(await savePolicy(effect));
    case "load_audit":
      return dispatch(await loadAudit(effect));
    case "check_audit":
      return dispatchOf(await checkAudit(effect));
    case "verify":
      return dispatch(await verify());
    case "load_approvals":
      return dispatch(await loadApprovals());
    case "revoke":
      return dispatch(await revoke(effect.id));
    case "address":
      return setAddress(effect.fragment);
    case "focus":
      return focus(effect.ids);
  }
}

/** @param {import("./state.js").Scope} scope @returns {Promise<Event>} */
async function loadPolicy(scope) {
  const questions = ["available", "config", `config?scope=${scope}`].map((path) => ask(`/api/hooks/${path}`));
  const [available, effective, own] = await Promise.all(questions);
  for (const answer of [available, effective, own])
    if (answer?.failure) return { type: "policy_failed", failure: answer.failure };
  const { builtin, custom } = available?.body;
  return {
    type: "policy_loaded",
    scope,
    kinds: [...builtin, ...custom],
    effective: effective?.body,
    document: own?.body,
    etag: own?.etag ?? "",
  };
}

/** @param {Extract<Effect, {type: "save_policy"}>} effect @returns {Promise<Event>} */
async function savePolicy({ scope, etag, document: body }) {
  const answer = await ask(`/api/hooks/config?scope=${scope}`, { method: "POST", etag, body });
  if (answer.failure) return { type: "policy_failed", failure: answer.failure };
  return { type: "policy_saved", version: answer.body.version, etag: answer.etag, document: body };
}

/** @param {Extract<Effect, {type: "load_audit"}>} effect @returns {Promise<Event>} */
async function loadAudit({ filter, cursor, question }) {
  const parameters = parametersOf(filter);
  parameters.set("limit", PAGE_ROWS);
  if (cursor !== null) parameters.set("cursor", cursor);
  const answer = await ask(`/api/audit?${parameters}`);
  if (answer.failure) return { type: "audit_failed", question, failure: answer.failure };
  return { type: "audit_loaded", question, rows: answer.body.entries, next: answer.body.next };
}

/** @param {Extract<Effect, {type: "check_audit"}>} effect @returns {Promise<Event | null>} */
async function checkAudit({ filter, question }) {
  const parameters = parametersOf(filter);
  parameters.set("limit", "1");
  const { failure } = await ask(`/api/audit?${parameters}`);
  return failure && { type: "audit_failed", question, failure };
}

/** @returns {Promise<Event>} */
async function verify() {
  const answer = await ask("/api/audit/verification", { limitMs: 0 });
  if (answer.failure) return { type: "verify_failed", failure: answer.failure };
  return { type: "verified", found: answer.body };
}

/** @returns {Promise<Event>} */
async function loadApprovals() {
  const answer = await ask("/api/approvals");
  if (answer.failure) return { type: "approvals_failed", failure: answer.failure };
  return { type: "approvals_loaded", approvals: answer.body.approvals };
}

/** @param {string} id @returns {Promise<Event>} */
async function revoke(id) {
  const answer = await ask(`/api/approvals/${encodeURIComponent(id)}`, { method: "DELETE" });
  return answer.failure ? { type: "approvals_failed", failure: answer.failure } : { type: "revoked", id };
}

async function askWho() {
  const { body } = await ask("/api/session");
  if (body) dispatch({ type: "who", who: { user: String(body.user), isOperator: body.is_operator === true } });
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
    dispatchOf(clicked({ action: event.key === "ArrowUp" ? "up" : "down", stage, key }));
  } else if (event.key === "s" && (event.ctrlKey || event.metaKey) && state.view === "policy") {
    event.preventDefault();
    dispatch({ type: "save" });
  } else if (event.key === "Escape") {
    if (state.view === "policy" && state.editor.wish) dispatch({ type: "stay" });
    if (state.view === "approvals" && state.remembered.asking) dispatch({ type: "keep_approval" });
  }
}

/** @param {Event | null} event */
function dispatchOf(event) {
  if (event) dispatch(event);
}

function listen() {
  document.addEventListener("click", ({ target }) => {
    const element = target instanceof Element ? target.closest("[data-action]") : null;
    if (element instanceof HTMLElement) dispatchOf(clicked(element.dataset));
  });
  document.addEventListener("input", ({ target }) => {
    const field = /** @type {HTMLInputElement} */ (target);
    dispatchOf(entered(field.dataset, field));
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
