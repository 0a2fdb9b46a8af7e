/**
 * The socket and its three timers: silence, an unanswered ping, the next try.
 * Frames in and out, nothing of what they mean.
 *
 * @typedef {import("./frames.js").ClientFrame} ClientFrame
 * @typedef {import("./frames.js").ServerFrame} ServerFrame
 * @typedef {{type: "connecting", attempt: number}
 *   | {type: "disconnected", attempt: number, code: number, silently: boolean}
 *   | {type: "frame", frame: ServerFrame}} SocketEvent
 *
 * @typedef {() => string | null | Promise<string | null>} Credential the subprotocol that says who connects, which a header could not
 *   say; asked for each connection
 *
 * @typedef {object} Clock
 * @property {() => number} now milliseconds
 * @property {(act: () => void, ms: number) => number} setTimeout
 * @property {(timer: number) => void} clearTimeout
 */

export const PROTOCOL = "parley.v1";
export const SILENCE_MS = 15_000;
export const PONG_MS = 10_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
const JITTER = 0.3;
export const GOING_AWAY = 1001;
export const NOT_LOGGED_IN = 4401;
const LOST = 4000; // ours: silence; no server said anything
const MIN_SILENT_GAP_MS = 2_000;
const MAX_UNSENT_BYTES = 256 << 10;

/** @type {Record<ServerFrame["type"], true>} what we understand; a newer server may send more */
const KNOWN = {
  ready: true,
  speech: true,
  model: true,
  skills: true,
  speech_detected: true,
  speech_rejected: true,
  speech_started: true,
  speech_stopped: true,
  transcript: true,
  client_tool_call: true,
  nudge: true,
  turn_start: true,
  text: true,
  reasoning: true,
  sentence: true,
  sentence_end: true,
  hook: true,
  tool_call: true,
  tool_result: true,
  media: true,
  approval_request: true,
  approval_resolved: true,
  notice: true,
  trace: true,
  turn_end: true,
  error: true,
  pong: true,
};

/** Return the delay before the `attempt`-th try, counted from 1. @param {number} attempt @param {number} random 0 to 1 */
export function retryDelayMs(attempt, random) {
  const delay = Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), MAX_RETRY_MS);
  return delay * (1 + JITTER * (2 * random - 1));
}

/** @param {unknown} data @returns {ServerFrame | null} null for sound, types of newer servers and invalid frames */
export function parseFrame(data) {
  if (typeof data !== "string") return null;
  try {
    const frame = JSON.parse(data);
    return Object.hasOwn(KNOWN, frame?.type) ? frame : null;
  } catch {
    return null;
  }
}

export class Socket {
  /**
   * @param {object} options
   * @param {string} options.url
   * @param {Credential} [options.credential]
   * @param {(event: SocketEvent) => void} options.onEvent
   * @param {(pcm: ArrayBuffer) => void} [options.onSound] a binary message
   * @param {new (url: string, protocols: string[]) => WebSocket} options.WebSocket
   * @param {Clock} options.clock
   * @param {() => number} options.random
   */
  constructor({ url, credential = () => null, onEvent, onSound = () => {}, WebSocket, clock, random }) {
    this.url = url;
    this.credential = credential;
    this.onEvent = onEvent;
    this.onSound = onSound;
    this.WebSocket = WebSocket;
    this.clock = clock;
    this.random = random;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.asked = 0; // for a credential, so far
    this.attempt = 0; // tries since the last `ready`
    this.heardAt = 0; // when anything last came in
    this.isPinged = false; // a ping is out and nothing came since
    this.silentlyAt = -Infinity; // when it last reconnected without a report
    this.isReady = false;
    this.droppedSound = 0; // messages of the microphone that found the network full
    /** @type {number | null} of the heartbeat while connected, of the next try while not */
    this.timer = null;
  }

  connect() {
    this.#stopTimer();
    this.onEvent({ type: "connecting", attempt: this.attempt });
    const credential = this.credential();
    if (!(credential instanceof Promise)) return this.#open(credential);
    const asked = (this.asked += 1);
    const open = (/** @type {string | null} */ given) => asked === this.asked && !this.socket && this.#open(given);
    credential.then(open, () => asked === this.asked && !this.socket && this.#lost(LOST));
    this.#startTimer(SILENCE_MS); // asked again then
  }

  /** Close the socket for good. */
  close() {
    this.asked += 1;
    this.#drop();
    this.#stopTimer();
  }

  /** @param {string | null} credential */
  #open(credential) {
    const socket = new this.WebSocket(this.url, credential ? [PROTOCOL, credential] : [PROTOCOL]);
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    this.isReady = false;
    this.isPinged = false;
    this.heardAt = this.clock.now();
    socket.onmessage = ({ data }) => this.#received(data);
    socket.onclose = ({ code }) => this.#closed(code);
    this.#startTimer(SILENCE_MS);
  }

  /** Send a frame, or drop it if the socket is not open: the caller sends again what must not be lost. @param {ClientFrame} frame */
  send(frame) {
    if (this.socket?.readyState === 1) this.socket.send(JSON.stringify(frame));
  }

  /** Send sound of the microphone. Late sound is of no use, so what the network does not take is dropped. @param {ArrayBuffer} pcm */
  sendSound(pcm) {
    if (this.socket?.readyState !== 1 || !this.isReady) return;
    if (this.socket.bufferedAmount > MAX_UNSENT_BYTES) this.droppedSound += 1;
    else this.socket.send(pcm);
  }

  /**
   * The network is back, the machine has slept, or the user looks at the page: do now what a timer would do
   * later. Our clock may have stood still in the sleep, so what it says of the silence counts for nothing.
   */
  wake() {
    if (!this.socket) this.connect();
    else if (!this.isPinged) this.#ping();
  }

  /** @param {unknown} data */
  #received(data) {
    this.heardAt = this.clock.now();
    this.isPinged = false;
    if (data instanceof ArrayBuffer) return this.onSound(data);
    const frame = parseFrame(data);
    if (frame?.type === "ready") {
      this.attempt = 0;
      this.isReady = true;
    }
    if (frame) this.onEvent({ type: "frame", frame });
  }

  #beat() {
    const silentMs = this.clock.now() - this.heardAt;
    if (this.isPinged) this.#closed(LOST);
    else if (silentMs < SILENCE_MS) this.#startTimer(SILENCE_MS - silentMs);
    else this.#ping();
  }

  #ping() {
    this.isPinged = true;
    this.send({ type: "ping", t: Math.round(this.clock.now()) });
    this.#startTimer(PONG_MS);
  }

  /** @param {number} code */
  #closed(code) {
    if (!this.#drop()) return;
    this.#lost(code);
  }

  /** @returns {boolean} whether there was a socket */
  #drop() {
    const { socket } = this;
    if (!socket) return false;
    this.socket = null;
    socket.onmessage = socket.onclose = null;
    socket.close();
    return true;
  }

  /** @param {number} code */
  #lost(code) {
    const now = this.clock.now();
    // A server that goes away is replaced by another, at once; but not in a loop.
    const silently = code === GOING_AWAY && this.isReady && now - this.silentlyAt >= MIN_SILENT_GAP_MS;
    if (silently) this.silentlyAt = now;
    else this.attempt += 1;
    this.onEvent({ type: "disconnected", attempt: this.attempt, code, silently });
    if (silently) this.connect();
    else if (code === NOT_LOGGED_IN)
      this.#stopTimer(); // the same would be said to the next try
    else this.#startTimer(retryDelayMs(this.attempt, this.random()));
  }

  /** @param {number} ms */
  #startTimer(ms) {
    this.#stopTimer();
    this.timer = this.clock.setTimeout(() => (this.socket ? this.#beat() : this.connect()), ms);
  }

  #stopTimer() {
    if (this.timer !== null) this.clock.clearTimeout(this.timer);
    this.timer = null;
  }
}
