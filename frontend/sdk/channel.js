/**
 * The socket, player and microphone of one client: their events go into its reducer, its effects come out here. Nothing
 * of what they mean is decided here.
 *
 * @typedef {import("./types/client.js").ClientState} ClientState
 * @typedef {import("./types/client.js").ChannelEvent} ChannelEvent
 */

import { Socket } from "./socket.js";
import { formatsOf } from "./speech.js";
import { MicrophoneControl } from "./voice/microphone_control.js";
import { Player } from "./voice/player.js";
import { addWorklet } from "./voice/worklet.js";

const TICK_MS = 1_000;
const LOOPBACK = /^(localhost|.*\.localhost|127\.[0-9.]+|\[::1\])$/;
const SLEPT_MS = 5_000; // without a tick of every second: the machine slept, and its connections may be dead

export class Channel {
  /**
   * @param {object} options
   * @param {string} options.url of the server's WebSocket
   * @param {import("./socket.js").Credential} options.credential
   * @param {() => ClientState} options.state
   * @param {(event: ChannelEvent) => void} options.dispatch
   * @param {(level: number) => void} [options.onLevel] of the microphone, 0 to 1
   * @param {() => string | null} [options.audible] the turn that may be heard
   * @param {"auto" | "opus" | "pcm16"} [options.sound] auto: Opus, but for a server on this machine
   */
  constructor({ url, credential, state, dispatch, onLevel = () => {}, audible, sound = "auto" }) {
    this.wantsOpus = sound === "opus" || (sound === "auto" && !LOOPBACK.test(new URL(url).hostname));
    this.state = state;
    this.dispatch = dispatch;
    this.audible = audible ?? (() => (state().turn?.playback.hasSound ? (state().turn?.id ?? null) : null));
    this.leave = new AbortController();
    this.player = new Player({
      createContext: () => new AudioContext({ latencyHint: "interactive" }),
      createNode: (context) => new AudioWorkletNode(context, "parley-player", { numberOfInputs: 0 }),
      addWorklet: (context) =>
        addWorklet(context, new URL("./voice/player_worklet.js", import.meta.url), async () => {
          return (await import("./voice/player_worklet.js")).playerWorklet;
        }),
      onHeard: (heard) => dispatch({ type: "heard", ...heard }),
      onFailed: (reason, isNotLoaded) => dispatch({ type: "no_sound", reason, isNotLoaded }),
      onRestored: () => dispatch({ type: "sound_back" }),
      onBlocked: (isBlocked) => dispatch({ type: "sound_blocked", isBlocked }),
    });
    /** @type {import("./voice/opus.js").OpusEncoding | null} */
    this.encoding = null;
    this.microphone = new MicrophoneControl({
      dispatch,
      isOn: () => state().voice.mic === "on",
      isOnline: () => state().connection.phase === "online",
      // before that the server does not know the rate
      onFrame: (pcm) => {
        if (state().voice.mic !== "on") return;
        if (this.#encodes()) this.encoding?.encode(pcm, state().voice.rate);
        else this.socket.sendSound(pcm);
      },
      onLevel,
    });
    this.socket = new Socket({
      url,
      credential,
      onEvent: (event) => this.#happened(event),
      onSound: (pcm) => this.player.push(pcm),
      WebSocket,
      clock: {
        now: () => performance.now(),
        setTimeout: (act, ms) => window.setTimeout(act, ms),
        clearTimeout: (timer) => window.clearTimeout(timer),
      },
      random: Math.random,
    });
  }

  connect() {
    const { signal } = this.leave;
    document.addEventListener("visibilitychange", () => this.#seen(), { signal });
    window.addEventListener("online", () => this.socket.wake(), { signal });
    let tickedAt = Date.now();
    const ticks = setInterval(() => {
      if (Date.now() - tickedAt > SLEPT_MS) this.socket.wake();
      tickedAt = Date.now();
    }, TICK_MS);
    signal.addEventListener("abort", () => clearInterval(ticks));
    this.socket.connect();
    if (this.wantsOpus) void this.#offerOpus().catch(() => {}); // PCM will do
  }

  /** Close the connection and the devices for good. */
  close() {
    this.leave.abort();
    this.socket.close();
    this.microphone.close();
    this.encoding?.close();
    this.player.close();
  }

  /** Unlock sound: call it in a user's gesture before a reply is to be heard. */
  unlock() {
    if (!this.leave.signal.aborted) this.player.unlock();
  }

  /** Carry out the effect, if it is one of the socket, player or microphone. @param {{type: string}} effect */
  perform(effect) {
    const known = /** @type {import("./types/client.js").Effect} */ (effect);
    switch (known.type) {
      case "send":
        if (known.frame.type === "speak") this.player.unlock(); // we are in the user's gesture
        return this.socket.send(known.frame);
      case "microphone":
        if (!known.isOn) return this.microphone.close();
        this.player.unlock(); // we are in the user's gesture
        return void this.microphone.open(known.deviceId);
      case "silence":
        return this.microphone.silence(known.isSilenced);
      case "skip":
        return this.player.skip(known.turnId, known.index);
      case "sound":
        return this.player[known.act]();
    }
  }

  /** Load the codec and report what this browser can do. Until then, and on this machine, sound is PCM. */
  async #offerOpus() {
    const { OpusDecoding, OpusEncoding, opusCodecs } = await import("./voice/opus.js");
    this.encoding = new OpusEncoding(
      (packet) => this.#encodes() && this.socket.sendSound(packet),
      () => this.#without({ encodes: false }),
    );
    this.player.decodeWith(OpusDecoding, () => this.#without({ decodes: false }));
    this.dispatch({ type: "codecs", codecs: await opusCodecs() });
  }

  /** Return whether the server expects packets of Opus. */
  #encodes() {
    return formatsOf(this.state()).input.format === "opus";
  }

  /** @param {Partial<import("./voice/opus.js").Codecs>} change */
  #without(change) {
    this.dispatch({ type: "codecs", codecs: { encodes: true, decodes: true, ...this.state().codecs, ...change } });
  }

  /** @param {import("./socket.js").SocketEvent} event */
  #happened(event) {
    const { settings } = this.state();
    if (event.type === "disconnected" && settings.turnDetection === "server_vad") this.microphone.waitForPause();
    if (event.type !== "frame") return this.dispatch(event);
    this.dispatch({ ...event, at: Date.now() });
    this.player.follow(event.frame, this.audible());
    if (event.frame.type === "ready") this.player.resumeIfSilent();
  }

  #seen() {
    if (document.hidden) return;
    this.socket.wake();
    void this.microphone.stayAwake();
  }
}
