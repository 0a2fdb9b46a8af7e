/**
 * The page of sessions: where one is logged in. Each can be revoked but the one that asks, which logs out.
 *
 * @typedef {{id: string, user: string, address: string, browser: string, created: string, ends: string,
 *   is_current: boolean}} Session
 */

import { draw, h } from "./render/dom.js";
import { loadSettings, sessionHeaders } from "./storage.js";
import { locale, t, useLanguage } from "./strings.js";

const LIMIT_MS = 30_000; // a connection that hangs says nothing by itself for minutes
const BROWSERS = [["Edg", "Edge"], ["OPR", "Opera"], ["Firefox"], ["Chrome"], ["Safari"]];
const SYSTEMS = [["Android"], ["iPhone"], ["iPad"], ["Windows"], ["Mac OS", "macOS"], ["Linux"]];

const root = /** @type {Element} */ (document.getElementById("sessions"));

/** @type {{sessions: readonly Session[] | null, revoking: string | null, news: string, failure: string}} */
let state = { sessions: null, revoking: null, news: "", failure: "" };

/** @param {Partial<typeof state>} change */
function show(change) {
  state = { ...state, ...change };
  draw(root, view());
}

/** @param {string} path @param {string} [method] @returns {Promise<any>} the answer, or a failure in words */
async function ask(path, method = "GET") {
  const limit = { cache: /** @type {const} */ ("no-store"), signal: AbortSignal.timeout(LIMIT_MS) };
  const answer = await fetch(path, { method, headers: sessionHeaders(), ...limit }).catch(() => null);
  const read = await answer?.json().catch(() => null);
  if (answer?.ok && read) return read;
  if (answer?.status === 401) location.replace("/login");
  const code = read?.error?.code;
  return { code, failure: answer ? (read?.error?.message ?? t.login.answered(answer.status)) : t.login.unreachable };
}

async function load() {
  const { sessions, failure = "" } = await ask("/api/sessions");
  show(failure ? { failure } : { sessions, failure });
}

/** @param {string} id */
async function revoke(id) {
  show({ revoking: id, news: "", failure: "" });
  const { code, failure = "" } = await ask(`/api/sessions/${encodeURIComponent(id)}`, "DELETE");
  const isGone = !failure || code === "session_unknown"; // it has ended by itself: that is what was wanted
  show({ revoking: null, ...(isGone ? { news: t.sessions.revoked } : { failure }) });
  if (!isGone) return;
  document.getElementById("title")?.focus();
  await load();
}

function view() {
  const { sessions, news, failure } = state;
  return [
    h("header", { class: "standing-head" }, h("h1", {}, h("a", { href: "/" }, "Parley"))),
    h("main", { class: "standing-main" }, [
      h("h2", { id: "title", tabindex: "-1" }, t.sessions.title),
      h("p", { class: "fine" }, t.sessions.about),
      h("p", { class: "fine", role: "status", key: "news" }, news),
      failure && h("p", { class: "line line-error", role: "alert", key: "failure" }, failure),
      sessions?.length === 0 && h("p", { class: "line", key: "none" }, t.sessions.none),
      h("ul", { class: "approvals", "aria-label": t.sessions.title }, sessions?.map(sessionView)),
    ]),
  ];
}

/** @param {Session} session */
function sessionView({ id, user, address, browser, created, ends, is_current: isCurrent }) {
  const program = t.sessions.program(nameOf(browser, BROWSERS), nameOf(browser, SYSTEMS));
  const revoked = {
    "data-id": id,
    "aria-label": t.sessions.revokeOne(user, program),
    disabled: state.revoking !== null,
  };
  return h("li", { class: "remembered", key: id, "aria-busy": String(state.revoking === id) }, [
    h("div", { title: browser }, [
      h("strong", {}, user),
      ` · ${program} · ${address} `,
      isCurrent && h("span", { class: "tag" }, t.sessions.current),
      h("p", { class: "fine" }, t.sessions.time(timeOf(created), timeOf(ends))),
    ]),
    !isCurrent && h("button", { type: "button", class: "button small", ...revoked }, t.sessions.revoke),
  ]);
}

/** @param {string} browser what it says of itself @param {readonly string[][]} known marks, with a name where it is another */
function nameOf(browser, known) {
  const [mark = "?", name = mark] = known.find(([mark = "?"]) => browser.includes(mark)) ?? [];
  return name;
}

/** @param {string} time RFC 3339 */
function timeOf(time) {
  return new Date(time).toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });
}

const settings = loadSettings(() => localStorage);
document.documentElement.dataset.theme = settings.theme ?? "auto";
await useLanguage(settings.pageLanguage ?? "");
document.title = `${t.sessions.title} · Parley`;
document.addEventListener("click", ({ target }) => {
  const button = target instanceof Element ? target.closest("[data-id]") : null;
  if (button instanceof HTMLElement && button.dataset.id && !state.revoking) void revoke(button.dataset.id);
});
document.addEventListener("visibilitychange", () => document.hidden || void load());
show({});
await load();
