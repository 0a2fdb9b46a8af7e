/**
 * The microphone while the page listens: switched on and off, the list of devices,
 * and a screen that stays awake.
 *
 * @typedef {{type: "microphone_on", rate: number}
 *   | {type: "microphone_muted", isMuted: boolean}
 *   | {type: "microphone_off", problem: import("./microphone.js").MicrophoneProblem | null, detail?: string}
 *   | {type: "devices", devices: {id: string, label: string}[]}
 *   | {type: "speech_lost"}} MicrophoneEvent
 */

import { Microphone, explain } from "./microphone.js";
import { PauseGate } from "./pause_gate.js";

export class MicrophoneControl {
  /**
   * @param {object} options
   * @param {(event: MicrophoneEvent) => void} options.dispatch
   * @param {() => boolean} options.isOn as the page knows it
   * @param {() => boolean} options.isOnline
   * @param {(pcm: ArrayBuffer) => void} options.onFrame
   * @param {(level: number) => void} options.onLevel 0 to 1
   */
  constructor({ dispatch, isOn, isOnline, onFrame, onLevel }) {
    this.dispatch = dispatch;
    this.isOn = isOn;
    this.gate = this.#newGate();
    this.microphone = new Microphone({
      onFrame: (pcm) => this.gate.isOpen && onFrame(pcm),
      onLevel: (level) => {
        onLevel(level);
        this.gate.hear(level, isOnline());
      },
      onLost: () =>
        dispatch({ type: "microphone_off", problem: this.#isForbidden() ? "no_longer_allowed" : "unplugged" }),
      onMuted: (isMuted) => dispatch({ type: "microphone_muted", isMuted }),
    });
    /** @type {PermissionStatus | null} as it was granted; the browser changes it when the user does */
    this.permission = null;
    /** @type {WakeLockSentinel | null} a phone that sleeps hears nothing */
    this.wakeLock = null;
    navigator.mediaDevices?.addEventListener("devicechange", () => void this.#listDevices());
  }

  /** @param {string} deviceId empty for the system's */
  async open(deviceId) {
    this.gate = this.#newGate();
    try {
      const rate = await this.microphone.start(deviceId);
      if (rate === null) return;
      this.dispatch({ type: "microphone_on", rate });
      if (this.microphone.isMuted()) this.dispatch({ type: "microphone_muted", isMuted: true });
      this.permission = await granted();
      await this.#listDevices();
      await this.stayAwake();
    } catch (error) {
      this.dispatch({ type: "microphone_off", ...explain(error) });
    }
  }

  /** @param {boolean} isSilenced by the user; lasts until `close` */
  silence(isSilenced) {
    this.microphone.silence(isSilenced);
  }

  close() {
    this.microphone.stop();
    this.microphone.silence(false);
    void this.wakeLock?.release();
    this.wakeLock = null;
  }

  /** Drop sound until there is another connection and the user pauses. */
  waitForPause() {
    this.gate.close();
  }

  #newGate() {
    return new PauseGate(() => this.dispatch({ type: "speech_lost" }));
  }

  /** Request the wake lock again: the browser releases it, and Safari the sound, when the page is hidden. */
  async stayAwake() {
    if (!this.isOn() || document.hidden) return;
    this.microphone.wake();
    this.wakeLock = (await navigator.wakeLock?.request("screen").catch(() => null)) ?? null;
    if (!this.isOn()) void this.wakeLock?.release(); // switched off meanwhile
  }

  /** Return whether the user has revoked the permission. */
  #isForbidden() {
    return this.permission !== null && this.permission.state !== "granted";
  }

  async #listDevices() {
    const devices = await navigator.mediaDevices.enumerateDevices().catch(() => []); // a list is not worth the microphone
    const inputs = devices.filter(({ kind, deviceId }) => kind === "audioinput" && deviceId);
    this.dispatch({ type: "devices", devices: inputs.map(({ deviceId, label }) => ({ id: deviceId, label })) });
  }
}

/** Return the permission if it is granted; null where the browser does not say, or grants it once only. @returns {Promise<PermissionStatus | null>} */
async function granted() {
  const name = /** @type {PermissionName} */ ("microphone");
  const permission = await navigator.permissions?.query({ name }).catch(() => null);
  return permission?.state === "granted" ? permission : null;
}
