/**
 * The page's composition: events into `reduce`, its state into `render`, its
 * effects out to the socket, the store and the locks. Nothing is decided here.
 *
 * @typedef {import("./reduce.js").Event} Event
 * @typedef {import("./state.js").Effect} Effect
 */

import { Channel } from "../sdk/channel.js";
import { saver } from "../sdk/saving.js";
import { coalesce } from "./coalesce.js";
import { askDownloads } from "./downloads.js";
import { keepImages, keepText, keptImages, keptText } from "./draft.js";
import { listenToUser } from "./gestures.js";
import { imageBudgetBytes } from "./images.js";
import { lockConversation } from "./locks.js";
import { askModels, askNames } from "./models.js";
import { askHooks, polls } from "./polls.js";
import { reduce } from "./reduce.js";
import { download } from "./render/dom.js";
import * as page from "./render/page.js";
import { initialState } from "./state.js";
import { keepSessionKey, loadSettings, saveSettings, sessionHeaders, sessionKey, watchSettings } from "./storage.js";
import { memoryStore, openStore } from "./store.js";
import { t, useLanguage } from "./strings.js";

const MAX_SAVE_WAIT_MS = 2_000; // a store that hangs must not freeze the page

const store = await openStore(indexedDB).catch(() => null);
const kept = store ?? memoryStore();
const tabs = new BroadcastChannel("parley");
/** @type {Map<string, () => void>} conversation → releases its lock */
const locks = new Map();
const saves = saver({
  save: (record) => kept.save(record),
  onSaved: ({ record: { id }, revision }) => {
    dispatch({ type: "saved", id, revision });
    tabs.postMessage({ saved: id });
  },
  onFailed: ({ record: { id }, revision }, error) => {
    const message = error instanceof Error ? error.message : String(error);
    dispatch({ type: "save_failed", id, revision, message });
  },
});
const now = { id: newId, time: Date.now };

let state = initialState(
  loadSettings(() => localStorage),
  Intl.DateTimeFormat().resolvedOptions().timeZone,
);
const { pageLanguage } = state.settings;
await useLanguage(pageLanguage);
let isDrawing = false;
const ask = polls(dispatch, () => state);

/** @param {Event} event */
function dispatch(event) {
  state = reduce(state, event);
  for (const effect of state.effects) perform(effect);
  if (isDrawing) return;
  isDrawing = true;
  schedule(draw);
}

/** Call `act` before the next frame, or soon if the page is hidden. @param {() => void} act */
function schedule(act) {
  if (document.hidden) setTimeout(act);
  else requestAnimationFrame(act);
}

/** Draw the state once it is stored, so that a reload shows all that was seen. */
async function draw() {
  const drawn = state;
  try {
    if (!saves.isAtRest()) await stored();
    page.render(drawn);
  } finally {
    isDrawing = state !== drawn; // also where drawing failed: the next state may be one that can be drawn
    if (isDrawing) schedule(draw);
  }
}

/** Resolve when all changes are stored, or the store hangs. */
function stored() {
  return Promise.race([saves.settled(), new Promise((resolve) => setTimeout(resolve, MAX_SAVE_WAIT_MS))]);
}

/** Where the user's files are attached: the message field of this page. */
const attachTarget = {
  dispatch,
  id: newId,
  budgetBytes: () => imageBudgetBytes(state.server?.limits ?? null),
  isOpen: () => !page.input().readOnly,
  showDrop: page.showDrop,
};

const channel = new Channel({
  url: `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`,
  credential: () => (sessionKey() ? `parley.key.${sessionKey()}` : null),
  state: () => state,
  dispatch: (event) => {
    if (event.type === "frame" && event.frame.type === "nudge") nudged(event.frame);
    else dispatch(event);
  },
  onLevel: page.showLevel,
  audible: () => state.speakTurn?.id ?? (state.turn?.playback.hasSound ? state.turn.id : null),
});

/** @param {import("../sdk/frames.js").Nudge} frame */
function nudged(frame) {
  const isAway = document.hidden || page.input().value.trim() !== "";
  dispatch({ type: "nudge", frame, turnId: newId(), isAway, at: Date.now() });
}

/** @param {Effect} effect */
function perform(effect) {
  switch (effect.type) {
    case "save":
      return saves.put(effect);
    case "remove":
      return void kept.remove(effect.id).then(() => tabs.postMessage({ removed: effect.id }));
    case "open":
      return open(effect.id);
    case "search":
      return void searches.add(state.search.text);
    case "release":
      locks.get(effect.id)?.();
      return void locks.delete(effect.id);
    case "compose":
      return compose(effect.text);
    case "give_back":
      return compose([effect.text, page.input().value].filter(Boolean).join("\n\n"));
    case "keep_images":
      return keepImages(() => sessionStorage, effect.images);
    case "focus":
      return page.focusInput();
    case "leave_approval":
      return page.leaveApproval();
    case "download":
      return download(effect.name, effect.mediaType, effect.text);
    case "settings":
      saveSettings(() => localStorage, effect.change);
      return (effect.change.pageLanguage ?? pageLanguage) === pageLanguage ? undefined : location.reload(); // what is drawn is kept
    case "readiness":
      return void ask.readiness();
    case "load_models":
      return void askModels().then((answer) => dispatch({ type: "models_loaded", ...answer }));
    case "pick_model":
      return void askModels(effect.choice).then((answer) => dispatch({ type: "model_picked", ...answer }));
    case "list_models":
      return void askNames(effect.address).then((answer) => {
        dispatch({ type: "endpoint_listed", ...answer });
        page.clearOtherName(state.models.listed ?? []);
      });
    case "ask_downloads":
      return void setTimeout(async () => {
        dispatch({ type: "downloads_loaded", ...(await askDownloads(effect.method, effect.name)) });
      }, effect.afterMs);
    case "watch_hooks":
      return void ask.hooks();
    case "load_hooks":
      return void askHooks(effect.skill).then((hooks) =>
        dispatch(
          hooks
            ? { type: "hooks_loaded", skill: effect.skill, hooks }
            : { type: "warn", code: "hooks_not_loaded", message: t.skills.noHooks(effect.skill) },
        ),
      );
    case "log_in":
      return void leaveFor("/login");
    default:
      return channel.perform(effect);
  }
}

/** @param {string} id */
function open(id) {
  if (id === state.openId) history.replaceState(null, "", `#${id}`);
  locks.get(id)?.();
  locks.set(
    id,
    lockConversation(navigator.locks, id, (access) => void load(id, access)),
  );
}

/** @param {string} id @param {"write" | "read"} access */
async function load(id, access) {
  const record = await kept.load(id).catch(unreadable);
  if (record !== undefined) dispatch({ type: "opened", id, record, access, at: Date.now() });
}

async function list() {
  const conversations = await kept.list().catch(unreadable);
  if (conversations) dispatch({ type: "listed", conversations });
}

/** Searches one at a time: of what is typed while one runs, only the last is searched for. */
const searches = coalesce(
  async () => {
    const { text } = state.search;
    const ids = text.trim() ? await kept.find(text).catch(unreadable) : [];
    if (ids) dispatch({ type: "found", text, ids });
  },
  () => false,
);

/** @param {unknown} error */
function unreadable(error) {
  const reason = error instanceof Error ? error.message : String(error);
  dispatch({ type: "warn", code: "storage_unreadable", message: t.storage.unreadable(reason) });
}

const otherTabs = coalesce(
  async (ids) => {
    await list();
    for (const id of ids) if (state.loaded[id]?.access === "read") await load(id, "read");
  },
  () => document.hidden,
);

tabs.onmessage = ({ data }) => {
  if (data.isLoggedOut) return void leaveFor("/");
  if (data.removed) dispatch({ type: "deleted_elsewhere", id: data.removed });
  void otherTabs.add(data.saved ?? data.removed);
};

watchSettings((settings) => dispatch({ type: "settings_elsewhere", settings }));

async function logOut() {
  const headers = { "Content-Type": "application/json", ...sessionHeaders() };
  const answer = await fetch("/api/logout", { method: "POST", headers, body: "{}" }).catch(() => null);
  if (answer?.ok) {
    keepSessionKey("");
    tabs.postMessage({ isLoggedOut: true }); // their sockets are still whose they were
    return leaveFor("/");
  }
  dispatch({ type: "warn", code: "logout_failed", message: t.storage.logoutFailed });
}

/** Leave for another address, where the same conversation is open. @param {string} path */
async function leaveFor(path) {
  await null; // what this event has to store is on its way now
  await stored();
  location.assign(path + location.hash);
  if (location.pathname === path) location.reload(); // only the fragment differs: the address alone loads nothing
}

/** Return a new id: 120 random bits in the characters that ids may have. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(15));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}

/** Put a text into the message field, and keep it over a reload of this tab. @param {string} text */
function compose(text) {
  page.setInput(text);
  keepText(() => sessionStorage, text);
}

function written() {
  page.fitInput();
  keepText(() => sessionStorage, page.input().value);
}

function send() {
  channel.unlock();
  dispatch({ type: "submit", text: page.input().value, turnId: newId(), at: Date.now() });
}

function listen() {
  listenToUser({
    dispatch,
    state: () => state,
    now,
    attachTarget,
    send,
    written,
    touched: () => channel.player.resumeIfSilent(),
    reconnect: () => channel.socket.wake(),
    redraw: () => page.render(state),
    logOut: () => void logOut(),
  });
  document.addEventListener("error", ({ target }) => page.mediaFailed(target), { capture: true });
  document.addEventListener("load", page.followEnd, { capture: true }); // a picture that has come takes its room
  window.addEventListener("resize", page.followEnd);
  page.watchWidth((isNarrow) => dispatch({ type: "narrow", isNarrow, isTouch: page.isTouch() }));
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) void otherTabs.flush();
  });
  window.addEventListener("pagehide", () => saves.flush());
  window.addEventListener("hashchange", () => openFromAddress());
}

function openFromAddress() {
  const id = location.hash.slice(1);
  const isId = /^[A-Za-z0-9_-]{1,64}$/.test(id);
  dispatch({ type: "open_conversation", id: isId ? id : (state.conversations[0]?.id ?? newId()), at: Date.now() });
}

setInterval(() => {
  const at = Date.now();
  const isNewDay = new Date(at).getDate() !== new Date(state.now).getDate();
  if (state.approvals.length || isNewDay) dispatch({ type: "tick", at });
}, 1000);
dispatch({ type: "tick", at: Date.now() });
page.render(state);
compose(keptText(() => sessionStorage));
dispatch({ type: "restore_images", images: keptImages(() => sessionStorage) });
listen();
await list();
openFromAddress();
if (!store) dispatch({ type: "warn", code: "storage_missing", message: t.storage.missing });
channel.connect();
void navigator.serviceWorker?.register("/service_worker.js").catch(() => {}); // without it, only the words "offline" are missing
