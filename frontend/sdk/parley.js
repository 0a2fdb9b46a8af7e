/**
 * A voice conversation with a Parley server, for any page: docs/clients.md.
 *
 * @typedef {import("./types/parley.js").Options} Options
 * @typedef {import("./types/parley.js").Events} Events
 * @typedef {import("./types/parley.js").TurnResult} TurnResult
 * @typedef {import("./types/client.js").ParleyState} State
 */

import { Channel } from "./channel.js";
import { initialState, phaseOf, reduce } from "./client.js";
import { isUserMessage, replyTo } from "./conversation.js";
import { saver } from "./saving.js";
import { NOT_LOGGED_IN } from "./socket.js";
import { canSend, openConversation } from "./state.js";
import { memoryStore } from "./stores.js";
import { answerCall, declared } from "./tools.js";

export { browserStore, memoryStore } from "./stores.js";

const IMAGE = /^data:image\/(png|jpeg|webp);base64,/;
const SUBPROTOCOL = /^[\w!#$%&'*+\-.^`|~]*$/; // RFC 6455
const ANSWERS = { stopped: "stopped", lost: "lost", restarted: "lost", failed: "failed", pending: "failed" };

export class Parley {
  /** @type {Options["token"]} */
  #token;
  /** @type {import("./stores.js").Store} */
  #store;
  /** @type {readonly import("./types/parley.js").Tool[]} */
  #tools;
  /** @type {ReturnType<typeof saver>} */
  #saves;
  /** @type {Map<string, Set<(detail: any) => void>>} */
  #listeners = new Map();
  /** @type {Map<string, (result: TurnResult) => void>} turn → settles its promise */
  #ends = new Map();
  /** @type {Set<{isSo: () => boolean, resolve: () => void, reject: (error: Error) => void}>} */
  #waiting = new Set();
  /** @type {Map<string, AbortController>} turn → the calls of our tools in it */
  #calls = new Map();
  #isStarted = false;
  /** @type {Promise<void> | null} */
  #loading = null;
  #shown = ""; // the state that was emitted last
  /** @type {Map<string, import("./frames.js").ApprovalRequest>} */
  approvals = new Map();

  /** @param {Options} [options] */
  constructor({
    url = new URL("..", import.meta.url).href,
    token,
    conversation = newId(),
    store = memoryStore(),
    speak = "spoken",
    turnDetection = "server_vad",
    tools = [],
    sound = "auto",
    configure = {},
  } = {}) {
    this.url = serverUrl(url);
    if (typeof token === "string") subprotocol(token); // throws
    this.#token = token;
    this.#store = store;
    this.#tools = tools;
    /** @type {State} */
    this.client = initialState(
      conversation,
      { speak, turnDetection },
      tools.length ? { ...configure, tools: declared(tools) } : configure,
    );
    this.#saves = saver({
      save: (record) => store.save(record),
      onSaved: ({ record: { id }, revision }) => this.#dispatch({ type: "saved", id, revision }),
      onFailed: ({ record: { id }, revision }, error) =>
        this.#dispatch({ type: "save_failed", id, revision, message: messageOf(error) }),
    });
    this.channel = new Channel({
      url: socketUrl(this.url),
      credential: () => this.#credential(),
      state: () => this.client,
      dispatch: (event) => this.#dispatch(event),
      onLevel: (level) => this.#emit("level", level),
      sound,
    });
  }

  /** The messages of the conversation. Keys that begin with `_` are the library's. */
  get history() {
    return openConversation(this.client)?.conversationHistory ?? [];
  }

  get state() {
    const { connection, voice, canPlay, isBlocked } = this.client;
    const { mic: microphone, problem, isSilenced, isMuted, isHeld, transcript } = voice;
    return {
      connection: connection.phase,
      phase: phaseOf(this.client),
      ...{ microphone, problem, isHeld, transcript, canPlay, isBlocked },
      isMuted: isMuted || isSilenced,
    };
  }

  /**
   * @template {keyof Events} K
   * @param {K} type @param {(detail: Events[K]) => void} listener
   * @returns {() => void} stops listening
   */
  on(type, listener) {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  /** Connect, and connect again whenever the connection is lost. Resolves when messages can be sent. */
  async connect() {
    this.#refuseClosed();
    if (!this.#isStarted) {
      this.#isStarted = true;
      this.channel.connect();
      window.addEventListener("pagehide", () => this.#saves.flush(), { signal: this.channel.leave.signal });
    } else if (this.client.connection.code === NOT_LOGGED_IN) this.channel.socket.wake();
    if (openConversation(this.client)?.access === "opening") await (this.#loading ??= this.#load());
    return this.#until(() => canSend(this.client));
  }

  /**
   * Switch the microphone on; call it when the user presses something. Resolves when it is on, rejects with the problem.
   *
   * @param {{deviceId?: string}} [options]
   */
  async talk({ deviceId = "" } = {}) {
    this.channel.unlock();
    await this.connect();
    if (this.client.voice.mic === "off") this.#dispatch({ type: "switch_on", deviceId });
    await this.#until(() => this.client.voice.mic !== "starting");
    const { problem } = this.client.voice;
    if (problem) throw new Error(problem);
  }

  /** Switch the microphone off: what is being said is discarded, what was said is answered. */
  stopTalking() {
    this.#dispatch({ type: "switch_off" });
  }

  /** Mute the microphone, or unmute it. */
  mute() {
    this.#dispatch({ type: "mute" });
  }

  /** With `turnDetection: "push_to_talk"`: the key goes down (true) or up. @param {boolean} isHeld */
  hold(isHeld) {
    this.#dispatch({ type: "talk", isHeld });
  }

  /**
   * Send a message; a reply under way is cut. Resolves at the end of its turn.
   *
   * @param {string} text
   * @param {{images?: readonly {id?: string, name?: string, url: string}[]}} [options] `url`: a data: URL of PNG, JPEG or WebP
   * @returns {Promise<TurnResult>}
   */
  async send(text, { images = [] } = {}) {
    if (typeof text !== "string") throw new TypeError("a message is a string");
    if (!images.every(({ url }) => IMAGE.test(url)))
      throw new TypeError("an image is a data: URL of image/png, image/jpeg or image/webp in base64");
    if (this.client.settings.readAloud === "always") this.channel.unlock(); // we are in the user's gesture, perhaps
    await this.connect();
    const turnId = newId();
    const attached = images.map(({ id = newId(), name = "", url }) => ({ id, name, url, width: 0, height: 0 }));
    const whole = text.replace(/\p{Surrogate}/gu, "\ufffd"); // half a pair is no JSON
    this.#dispatch({ type: "ask", text: whole, images: attached, turnId, at: Date.now() });
    return this.#endOf(turnId, "message_too_large");
  }

  /** Ask the last message again, if it has no answer. @returns {Promise<TurnResult>} */
  async retry() {
    await this.connect();
    const turnId = newId();
    this.#dispatch({ type: "retry", turnId, at: Date.now() });
    return this.#endOf(turnId, "nothing_to_retry");
  }

  /** Stop the reply. What was shown of it stays in the history. */
  interrupt() {
    this.#dispatch({ type: "stop" });
  }

  /**
   * Answer an `approval`.
   *
   * @param {string} id @param {boolean} [approved]
   * @param {{reason?: string, arguments?: Record<string, unknown>, remember?: "conversation" | "always"}} [more]
   */
  approve(id, approved = true, more = {}) {
    this.channel.socket.send({ type: "approval", id, approved, ...more });
  }

  /** Change fields of `configure` for the turns to come. @param {NonNullable<Options["configure"]>} configuration */
  configure(configuration) {
    this.#dispatch({ type: "configure", clientSettings: configuration });
  }

  /** Forget the messages of the conversation. */
  clear() {
    this.#dispatch({ type: "clear" });
  }

  /** End the connection and let the microphone go, for good. */
  close() {
    this.#giveUp("closed");
    this.#dispatch({ type: "close" });
    this.channel.close();
  }

  /** Load the conversation. One that cannot be read is not overwritten: nothing can be sent then. */
  async #load() {
    try {
      const record = await this.#store.load(this.client.openId ?? "");
      this.#dispatch({ type: "opened", record, at: Date.now() });
    } catch (error) {
      this.#loading = null;
      this.#emit("problem", { code: "storage_unreadable", detail: messageOf(error) });
      throw new Error("storage_unreadable", { cause: error });
    }
  }

  /** @returns {string | null | Promise<string | null>} */
  #credential() {
    const token = this.#token;
    if (typeof token !== "function") return subprotocol(token);
    const asked = Promise.resolve().then(token).then(subprotocol);
    asked.catch((error) => this.#emit("problem", { code: "token_failed", detail: messageOf(error) }));
    return asked;
  }

  /** @param {import("./types/client.js").ParleyEvent} event */
  #dispatch(event) {
    const before = this.client;
    if (before.connection.phase === "closed") return;
    const after = (this.client = reduce(before, event));
    for (const effect of after.effects) this.#perform(/** @type {import("./types/client.js").Effect} */ (effect));
    if (event.type === "frame") this.#received(event.frame);
    if (event.type === "disconnected") this.#lost(event.code);
    this.#report(before, after);
    for (const one of this.#waiting) if (one.isSo() && this.#waiting.delete(one)) one.resolve();
  }

  /** @param {import("./types/client.js").Effect} effect */
  #perform(effect) {
    switch (effect.type) {
      case "save":
        return this.#saves.put(effect);
      case "reached":
        return this.#reached(effect);
      case "problem": {
        const { code, detail = "" } = effect;
        return this.#emit("problem", { code, detail });
      }
      case "give_back":
        return this.#emit("give_back", { text: effect.text });
      default:
        return this.channel.perform(effect);
    }
  }

  /** @param {import("./frames.js").ServerFrame} frame */
  #received(frame) {
    this.#emit("frame", frame);
    switch (frame.type) {
      case "text":
        if (frame.turn_id !== this.client.turn?.id) return;
        return this.#emit("text", { turnId: frame.turn_id, delta: frame.delta, text: this.client.turn.streamed });
      case "transcript":
        return this.#emit("transcript", { text: frame.text, isFinal: frame.final });
      case "approval_request":
        this.approvals.set(frame.id, frame);
        return this.#emit("approval", frame);
      case "approval_resolved":
        return this.#resolved(frame.id, frame.approved, frame.by);
      case "notice":
      case "error": {
        const {
          code,
          level = "error",
          message,
        } = /** @type {{code: string, level?: "info" | "warning" | "error", message: string}} */ (frame);
        return this.#emit("notice", { code, level, message });
      }
      case "client_tool_call":
        return void this.#called(frame);
    }
  }

  /** @param {string} id @param {boolean} approved @param {string} by */
  #resolved(id, approved, by) {
    if (this.approvals.delete(id)) this.#emit("approval_resolved", { id, approved, by });
  }

  /** @param {import("./frames.js").ClientToolCall} call */
  async #called(call) {
    if (call.turn_id !== this.client.turn?.id) return; // it is cut
    const calls = this.#calls.get(call.turn_id) ?? new AbortController();
    this.#calls.set(call.turn_id, calls);
    const output = await answerCall(this.#tools, call, calls.signal);
    if (!calls.signal.aborted) this.channel.socket.send(output);
  }

  /** @param {number} code */
  #lost(code) {
    for (const id of [...this.approvals.keys()]) this.#resolved(id, false, "disconnect");
    if (code !== NOT_LOGGED_IN) return;
    this.#emit("problem", { code: "not_authenticated", detail: "" });
    this.#giveUp("not_authenticated");
  }

  /** @param {string} reason why the waiting calls are rejected */
  #giveUp(reason) {
    for (const { reject } of this.#waiting) reject(new Error(reason));
    this.#waiting.clear();
  }

  #refuseClosed() {
    if (this.client.connection.phase === "closed") throw new Error("closed");
  }

  /** @param {Extract<import("./types/client.js").Effect, {type: "reached"}>} effect */
  #reached({ turnId, before, after }) {
    after.historySegments.forEach((segment, index) => {
      if (segment === before.historySegments[index]) return;
      if (segment.kind === "sentence") this.#emit("sentence", { turnId, text: segment.text });
      if (segment.kind === "hook") this.#emit("hook", segment.frame);
      if (segment.kind === "tool") this.#emit("tool", { ...segment.call, result: segment.result });
      if (segment.kind === "media")
        this.#emit("media", { ...segment.frame, url: new URL(segment.frame.url, this.url).href });
    });
  }

  /** @param {State} before @param {State} after */
  #report(before, after) {
    const [was, is] = [openConversation(before), openConversation(after)];
    if (was?.conversationHistory !== is?.conversationHistory) this.#emit("history", this.history);
    const { turn } = before;
    if (turn?.id !== after.turn?.id) {
      if (turn) this.#ended(turn.id);
      if (after.turn) this.#emit("turn", { turnId: after.turn.id });
    }
    const spoken = after.turn?.playback.playing?.sentence;
    if (spoken && spoken !== turn?.playback.playing?.sentence)
      this.#emit("speaking", { turnId: spoken.turn_id, text: spoken.text });
    this.#emitState();
  }

  #emitState() {
    const { state } = this;
    const shown = JSON.stringify(state);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#emit("state", state);
  }

  /** @param {string} turnId */
  #ended(turnId) {
    this.#calls.get(turnId)?.abort();
    this.#calls.delete(turnId);
    const asked = this.history.findLast((message) => isUserMessage(message) && message._turn === turnId);
    const { error, end } = this.client.views[turnId] ?? {};
    const reason = asked && !asked._answer ? "completed" : ANSWERS[asked?._answer ?? "failed"];
    const problem = error
      ? { code: error.code, message: error.message }
      : end?.message
        ? { code: end.reason, message: end.message }
        : null;
    const result = /** @type {TurnResult} */ ({ turnId, reason, text: replyTo(this.history, turnId), error: problem });
    this.#emit("end", result);
    this.#ends.get(turnId)?.(result);
    this.#ends.delete(turnId);
  }

  /** @param {string} turnId @param {string} otherwise error if it has not begun @returns {Promise<TurnResult>} */
  #endOf(turnId, otherwise) {
    this.#refuseClosed();
    if (this.client.turn?.id !== turnId) throw new Error(otherwise);
    return new Promise((resolve) => this.#ends.set(turnId, resolve));
  }

  /** @param {() => boolean} isSo @returns {Promise<void>} */
  #until(isSo) {
    this.#refuseClosed();
    if (isSo()) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiting.add({ isSo, resolve, reject }));
  }

  /** @template {keyof Events} K @param {K} type @param {Events[K]} detail */
  #emit(type, detail) {
    for (const listener of this.#listeners.get(type) ?? []) {
      try {
        listener(detail);
      } catch (error) {
        reportError(error); // of the page that listens: the conversation goes on
      }
    }
  }
}

/** @param {string} url */
function serverUrl(url) {
  const whole = URL.canParse(url, location.href) && new URL(url, location.href);
  if (!whole || !/^(http|ws)/.test(whole.protocol)) throw new TypeError(`url: ${url} is not the address of a server`);
  return whole;
}

/** @param {URL} url */
function socketUrl(url) {
  const socket = new URL(url);
  socket.protocol = socket.protocol.replace("http", "ws");
  if (!socket.pathname.endsWith("/ws")) socket.pathname = socket.pathname.replace(/\/?$/, "/ws");
  return socket.href;
}

/** @param {string | null | undefined} token */
function subprotocol(token) {
  if (token && !SUBPROTOCOL.test(token))
    throw new TypeError("token: browsers send only letters, digits and !#$%&'*+-.^_`|~");
  return token ? `parley.bearer.${token}` : null;
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** 120 bits, in the letters that ids may have. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(15));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}
