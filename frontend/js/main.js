/**
 * The page's composition: events into `reduce`, its state into `render`, its
 * effects out to the socket, the store and the locks. Nothing is decided here.
 *
 * @typedef {import("./reduce.js").Event} Event
 * @typedef {import("./state.js").Effect} Effect
 */

import { changed, clicked } from "./actions.js";
import { attach, listenForPictures } from "./attaching.js";
import { keepImages, keepText, keptImages, keptText } from "./draft.js";
import { imageBudgetBytes } from "./images.js";
import { loadingStages } from "./loading.js";
import { claim } from "./locks.js";
import { reduce } from "./reduce.js";
import * as page from "./render/page.js";
import { Socket } from "./socket.js";
import { initialState } from "./state.js";
import { loadSettings, memoryStore, openStore, saveSettings } from "./storage.js";
import { Microphone, explain } from "./voice/microphone.js";
import { Player } from "./voice/player.js";

const READY_POLL_MS = 700;
const HEALTH_POLL_MS = 2_000;
const MAX_SAVE_WAIT_MS = 2_000; // a store that hangs must not freeze the page

const store = await openStore(indexedDB).catch(() => null);
const kept = store ?? memoryStore();
const tabs = new BroadcastChannel("parley");
/** @type {Map<string, () => void>} conversation → how to give it back */
const claims = new Map();
/** @type {Set<Promise<void>>} under way */
const saves = new Set();
const now = { id: newId, time: Date.now };

let state = initialState(loadSettings(() => localStorage));
let isDrawing = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let readinessTimer;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let healthTimer;

/** @param {Event} event */
function dispatch(event) {
  state = reduce(state, event);
  for (const effect of state.effects) perform(effect);
  if (isDrawing) return;
  isDrawing = true;
  schedule(draw);
}

/** Before the next frame, or soon where nobody looks. @param {() => void} act */
function schedule(act) {
  if (document.hidden) setTimeout(act);
  else requestAnimationFrame(act);
}

/** What is shown was stored before: a page that goes away has shown nothing that its reload will not show. */
async function draw() {
  const drawn = state;
  if (saves.size)
    await Promise.race([Promise.all(saves), new Promise((resolve) => setTimeout(resolve, MAX_SAVE_WAIT_MS))]);
  try {
    page.render(drawn);
  } finally {
    isDrawing = state !== drawn; // also where drawing failed: the next state may be one that can be drawn
    if (isDrawing) schedule(draw);
  }
}

const player = new Player({
  createContext: () => new AudioContext({ latencyHint: "interactive" }),
  createNode: (context) => new AudioWorkletNode(context, "parley-player", { numberOfInputs: 0 }),
  worklet: new URL("./voice/player_worklet.js", import.meta.url),
  onHeard: (heard) => dispatch({ type: "heard", ...heard }),
  onFailed: (reason) => dispatch({ type: "no_sound", reason }),
  onBlocked: (isBlocked) => dispatch({ type: "sound_blocked", isBlocked }),
});

const microphone = new Microphone({
  // before that the server does not know the rate
  onFrame: (pcm) => state.voice.mic === "on" && socket.sendSound(pcm),
  onLevel: page.showLevel,
  onLost: () => dispatch({ type: "microphone_off", problem: "The microphone was unplugged." }),
});

/** Where pictures of the user come in. */
const intake = {
  dispatch,
  id: newId,
  budgetBytes: () => imageBudgetBytes(state.server?.limits ?? null),
  isOpen: () => !page.input().readOnly,
  showDrop: page.showDrop,
};

/** @type {WakeLockSentinel | null} a phone that sleeps hears nothing */
let wakeLock = null;

const socket = new Socket({
  url: `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`,
  onEvent: (event) => {
    if (event.type !== "frame") return dispatch(event);
    dispatch({ ...event, at: Date.now() });
    player.follow(event.frame, state.turn?.id ?? null);
  },
  onSound: (pcm) => player.push(pcm),
  WebSocket,
  clock: {
    now: () => performance.now(),
    setTimeout: (act, ms) => window.setTimeout(act, ms),
    clearTimeout: (timer) => window.clearTimeout(timer),
  },
  random: Math.random,
});

/** @param {Effect} effect */
function perform(effect) {
  switch (effect.type) {
    case "send":
      return socket.send(effect.frame);
    case "save":
      return save(effect);
    case "remove":
      return void kept.remove(effect.id).then(() => tabs.postMessage({ removed: effect.id }));
    case "open":
      return open(effect.id);
    case "release":
      claims.get(effect.id)?.();
      return void claims.delete(effect.id);
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
      return page.download(effect.name, effect.mediaType, effect.text);
    case "settings":
      return saveSettings(() => localStorage, effect.settings);
    case "readiness":
      return void pollReadiness();
    case "watch_hooks":
      return void watchHooks();
    case "log_in":
      return void leaveFor("/login");
    case "microphone":
      return void (effect.isOn ? startMicrophone(effect.deviceId) : stopMicrophone());
    case "skip":
      return player.skip(effect.turnId, effect.index);
    case "sound":
      return player[effect.act]();
  }
}

/** @param {string} deviceId */
async function startMicrophone(deviceId) {
  player.unlock(); // we are in the user's gesture
  try {
    const rate = await microphone.start(deviceId);
    if (rate === null) return;
    dispatch({ type: "microphone_on", rate });
    await listDevices();
    await stayAwake();
  } catch (error) {
    dispatch({ type: "microphone_off", problem: explain(error) });
  }
}

function stopMicrophone() {
  microphone.stop();
  void wakeLock?.release();
  wakeLock = null;
}

async function listDevices() {
  const devices = await navigator.mediaDevices.enumerateDevices().catch(() => []); // a list is not worth the microphone
  const inputs = devices.filter(({ kind, deviceId }) => kind === "audioinput" && deviceId);
  dispatch({ type: "devices", devices: inputs.map(({ deviceId, label }) => ({ id: deviceId, label })) });
}

/** The lock is lost with every look away, and asked for again. */
async function stayAwake() {
  if (state.voice.mic !== "on" || document.hidden) return;
  wakeLock = (await navigator.wakeLock?.request("screen").catch(() => null)) ?? null;
  if (state.voice.mic !== "on") void wakeLock?.release(); // switched off meanwhile
}

/** @param {Extract<Effect, {type: "save"}>} effect */
function save({ record, revision }) {
  const { id } = record;
  const saving = kept.save(record).then(
    () => {
      saves.delete(saving);
      dispatch({ type: "saved", id, revision });
      tabs.postMessage({ saved: id });
    },
    (error) => {
      saves.delete(saving);
      dispatch({ type: "save_failed", id, revision, message: String(error?.message ?? error) });
    },
  );
  saves.add(saving);
}

/** @param {string} id */
function open(id) {
  history.replaceState(null, "", `#${id}`);
  claims.get(id)?.();
  claims.set(
    id,
    claim(navigator.locks, id, (access) => void load(id, access)),
  );
}

/** @param {string} id @param {"write" | "read"} access */
async function load(id, access) {
  const record = await kept.load(id);
  dispatch({ type: "opened", id, record, access, at: Date.now() });
}

async function list() {
  dispatch({ type: "listed", conversations: await kept.list() });
}

tabs.onmessage = ({ data }) => {
  void list();
  if (data.isLoggedOut) return void leaveFor("/");
  if (data.removed) dispatch({ type: "deleted_elsewhere", id: data.removed });
  if (data.saved && state.loaded[data.saved]?.access === "read") void load(data.saved, "read");
};

/** Until the server has loaded its model, or is gone. */
async function pollReadiness() {
  clearTimeout(readinessTimer);
  const answer = await fetch("/readyz", { cache: "no-store" }).catch(() => null);
  if (!answer) return;
  const stages = loadingStages(answer.status, await answer.json().catch(() => null));
  if (stages || state.loading) dispatch({ type: "loading", stages });
  if (stages) readinessTimer = setTimeout(pollReadiness, READY_POLL_MS);
}

/** As long as their panel is open, and somebody can see it. */
async function watchHooks() {
  clearTimeout(healthTimer);
  if (state.panel !== "hooks") return;
  if (!document.hidden) {
    const answer = await fetch("/api/hooks/processes", { cache: "no-store" }).catch(() => null);
    dispatch({ type: "hook_health", status: answer?.status ?? 0, body: await answer?.json().catch(() => null) });
  }
  clearTimeout(healthTimer); // two that asked at once go on as one
  healthTimer = setTimeout(watchHooks, HEALTH_POLL_MS);
}

async function logOut() {
  const asked = fetch("/api/logout", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
  const answer = await asked.catch(() => null);
  if (answer?.ok) {
    tabs.postMessage({ isLoggedOut: true }); // their sockets are still whose they were
    return leaveFor("/");
  }
  dispatch({ type: "warn", code: "logout_failed", message: "The server did not hear that you log out. Try again." });
}

/** The conversation that is open will be open there, too. @param {string} path */
async function leaveFor(path) {
  await null; // what this event has to store is on its way now
  await Promise.race([Promise.allSettled(saves), new Promise((resolve) => setTimeout(resolve, MAX_SAVE_WAIT_MS))]);
  location.assign(path + location.hash);
  if (location.pathname === path) location.reload(); // only the fragment differs: the address alone loads nothing
}

/** 120 bits, in the letters that ids may have. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(15));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}

/** What is in the field survives a reload of this tab. @param {string} text */
function compose(text) {
  page.setInput(text);
  keepText(() => sessionStorage, text);
}

function written() {
  page.fitInput();
  keepText(() => sessionStorage, page.input().value);
}

function send() {
  player.unlock();
  dispatch({ type: "submit", text: page.input().value, turnId: newId(), at: Date.now() });
}

/** @param {DOMStringMap} data */
function answer({ action, id = "" }) {
  dispatch({ type: "answer_approval", id, approved: action === "allow", fields: page.approvalFields() });
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  const isInput = event.target === page.input();
  if (event.key === "Enter" && isInput && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    send();
  } else if (event.key === " " && mayTalk(event.target)) {
    event.preventDefault();
    if (!event.repeat) dispatch({ type: "talk", isHeld: true });
  } else if (event.key === "Escape" && isIn(event.target, "[data-approval]")) {
    dispatch({ type: "dismiss_approval", id: page.approvalId() });
  } else if (event.key === "Escape" && !page.isMenuOpen()) {
    dispatch({ type: "escape" });
  } else if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
    event.preventDefault();
    dispatch({ type: "new_conversation", id: newId(), at: Date.now() });
  } else if (
    event.key === "Enter" &&
    event.target instanceof HTMLInputElement &&
    event.target.dataset.change === "rename"
  ) {
    page.focusInput(); // leaving the title makes the change
  }
}

/**
 * Space is the key of push-to-talk wherever it means nothing else; on the microphone's
 * button, too: whoever has just clicked it still has it in focus.
 *
 * @param {EventTarget | null} target
 */
function mayTalk(target) {
  const isField = isIn(target, "input, textarea, select, button, summary, a");
  const isOurs = isIn(target, "[data-talk], [data-action=microphone]");
  return state.settings.turnDetection === "push_to_talk" && state.voice.mic === "on" && (!isField || isOurs);
}

/** @param {EventTarget | null} target @param {string} selector */
function isIn(target, selector) {
  return target instanceof Element && target.closest(selector) !== null;
}

function listenForTalk() {
  document.addEventListener("keyup", (event) => {
    if (event.key !== " " || !state.voice.isHeld) return;
    event.preventDefault(); // a button would take it for a click
    dispatch({ type: "talk", isHeld: false });
  });
  document.addEventListener("pointerdown", (event) => {
    player.resumeIfBlocked();
    if (event.button === 0 && isIn(event.target, "[data-talk]")) dispatch({ type: "talk", isHeld: true });
  });
  document.addEventListener("contextmenu", (event) => {
    if (isIn(event.target, "[data-talk]")) event.preventDefault(); // a finger that stays is no question
  });
  for (const end of ["pointerup", "pointercancel", "blur"])
    window.addEventListener(end, () => state.voice.isHeld && dispatch({ type: "talk", isHeld: false }));
  navigator.mediaDevices?.addEventListener("devicechange", () => void listDevices());
}

function listen() {
  listenForTalk();
  listenForPictures(intake);
  document.addEventListener("click", ({ target }) => {
    const element =
      target instanceof Element ? /** @type {HTMLElement | null} */ (target.closest("[data-action]")) : null;
    if (element?.dataset.action === "rename") page.focusTitle();
    if (element?.dataset.action === "reconnect") socket.wake();
    if (element?.dataset.action === "log-out") void logOut();
    if (element?.dataset.action === "attach") page.openPicker();
    if (element?.dataset.action === "allow" || element?.dataset.action === "deny") return answer(element.dataset);
    const event = element && clicked(element.dataset, now);
    if (event) dispatch(event);
  });
  document.addEventListener("change", ({ target }) => {
    const field = /** @type {HTMLInputElement} */ (target);
    if (field.id === "picker") return void attach(page.picked(), intake);
    const event = changed(field.dataset, field);
    if (event) dispatch(event);
  });
  document.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  document.addEventListener("keydown", pressed);
  document.addEventListener("input", ({ target }) => target === page.input() && written());
  document.addEventListener("scroll", page.scrolled, { capture: true, passive: true });
  document.addEventListener("error", ({ target }) => page.mediaFailed(target), { capture: true });
  document.addEventListener("load", page.followEnd, { capture: true }); // a picture that has come takes its room
  window.addEventListener("resize", page.followEnd);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    socket.wake();
    void stayAwake();
  });
  window.addEventListener("online", () => socket.wake());
  window.addEventListener("hashchange", () => openFromAddress());
}

function openFromAddress() {
  const id = location.hash.slice(1);
  const isId = /^[A-Za-z0-9_-]{1,64}$/.test(id);
  dispatch({ type: "open_conversation", id: isId ? id : (state.conversations[0]?.id ?? newId()), at: Date.now() });
}

setInterval(() => state.approvals.length && dispatch({ type: "tick", at: Date.now() }), 1000);
page.render(state);
compose(keptText(() => sessionStorage));
dispatch({ type: "restore_images", images: keptImages(() => sessionStorage) });
listen();
await list();
openFromAddress();
if (!store)
  dispatch({
    type: "warn",
    code: "storage_missing",
    message:
      "This browser keeps nothing for this page: conversations are gone when the tab is closed. Export what you want to keep. If an older version of this page is open in another tab, close that one and reload.",
  });
socket.connect();
