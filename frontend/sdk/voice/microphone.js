/**
 * The microphone as frames of PCM16, FRAME_MS each.
 *
 * 16 kHz where the browser gives it; else the rate it has, which the server takes as well.
 */

import { addWorklet } from "./worklet.js";

export const WANTED_RATE = 16_000;
export const FRAME_MS = 20;
const PATIENCE_MS = 10_000;

export class Microphone {
  /**
   * @param {object} options
   * @param {(pcm: ArrayBuffer) => void} options.onFrame
   * @param {(level: number) => void} options.onLevel 0 to 1
   * @param {() => void} options.onLost the device went away, or the browser took it
   * @param {(isMuted: boolean) => void} options.onMuted by the system, or for another program: only silence comes
   * @param {() => Promise<void>} [options.patience] resolves when sound should long have begun to flow
   */
  constructor({ onFrame, onLevel, onLost, onMuted, patience = someSeconds }) {
    this.onFrame = onFrame;
    this.onLevel = onLevel;
    this.onLost = onLost;
    this.onMuted = onMuted;
    this.patience = patience;
    /** @type {MediaStream | null} */
    this.stream = null;
    /** @type {AudioContext | null} */
    this.context = null;
    this.isSilenced = false;
    this.starts = 0; // a start that was overtaken by a stop ends itself
  }

  /** @param {string} deviceId empty for the system's @returns {Promise<number | null>} the sample rate; null if it was stopped meanwhile */
  async start(deviceId) {
    this.stop();
    const start = this.starts;
    try {
      const rate = await this.#open(deviceId, () => start !== this.starts);
      return start === this.starts ? rate : null;
    } catch (error) {
      if (start !== this.starts) return null; // it was stopped, or started again, meanwhile
      throw error;
    }
  }

  /** @param {string} deviceId @param {() => boolean} isOvertaken @returns {Promise<number | null>} */
  async #open(deviceId, isOvertaken) {
    if (!navigator.mediaDevices?.getUserMedia) throw new DOMException("insecure origin", "SecurityError");
    const stream = await navigator.mediaDevices.getUserMedia({
      audio: {
        echoCancellation: true,
        noiseSuppression: true,
        autoGainControl: true,
        channelCount: 1,
        ...(deviceId ? { deviceId: { ideal: deviceId } } : {}), // one that is gone is no reason to hear nothing
      },
    });
    const context = await this.#capture(stream);
    if (isOvertaken()) {
      release(stream, context);
      return null;
    }
    for (const track of stream.getTracks()) {
      track.onended = () => this.onLost();
      track.onmute = track.onunmute = () => this.onMuted(track.muted);
    }
    this.stream = stream;
    this.context = context;
    this.silence(this.isSilenced);
    await this.#flowing(stream, context);
    return context.sampleRate;
  }

  /** @param {MediaStream} stream @returns {Promise<AudioContext>} the stream is let go if it fails */
  async #capture(stream) {
    /** @type {AudioContext | null} */
    let context = null;
    try {
      const connected = connect(stream);
      context = connected.context;
      await addWorklet(context, new URL("./capture_worklet.js", import.meta.url), async () => {
        return (await import("./capture_worklet.js")).captureWorklet;
      });
      const node = new AudioWorkletNode(context, "parley-capture", {
        numberOfOutputs: 0,
        processorOptions: { frameMs: FRAME_MS },
      });
      node.port.onmessage = ({ data }) => {
        this.onLevel(data.level);
        this.onFrame(data.pcm);
      };
      connected.source.connect(node);
      return context;
    } catch (error) {
      release(stream, context);
      throw error;
    }
  }

  /** Wait until the context runs, which in Firefox needs a loudspeaker even to listen. @param {MediaStream} stream @param {AudioContext} context */
  async #flowing(stream, context) {
    const resumed = context.resume().then(() => true);
    if (await Promise.race([resumed, this.patience().then(() => false)])) return;
    if (this.context === context) {
      this.stream = this.context = null;
      release(stream, context);
    }
    throw new DOMException("the context stays suspended", "InvalidStateError");
  }

  /** Resume a context that Safari interrupted, for a call or a hidden page. */
  wake() {
    void this.context?.resume().catch(() => {});
  }

  /** Pass on only silence, also from the next device, or sound again. @param {boolean} isSilenced */
  silence(isSilenced) {
    this.isSilenced = isSilenced;
    for (const track of this.stream?.getTracks() ?? []) track.enabled = !isSilenced;
  }

  isMuted() {
    return this.stream?.getTracks().some(({ muted }) => muted) ?? false;
  }

  stop() {
    this.starts += 1;
    if (this.stream && this.context) release(this.stream, this.context);
    this.stream = this.context = null;
    this.onLevel(0);
  }
}

function someSeconds() {
  return /** @type {Promise<void>} */ (new Promise((resolve) => setTimeout(resolve, PATIENCE_MS)));
}

/** Return a context for the stream; Firefox connects a microphone only to one of its own rate. @param {MediaStream} stream */
function connect(stream) {
  const wanted = new AudioContext({ sampleRate: WANTED_RATE });
  try {
    return { context: wanted, source: wanted.createMediaStreamSource(stream) };
  } catch {
    void wanted.close();
    const context = new AudioContext();
    return { context, source: context.createMediaStreamSource(stream) };
  }
}

/** @param {MediaStream} stream @param {AudioContext | null} context */
function release(stream, context) {
  for (const track of stream.getTracks()) {
    track.onended = track.onmute = track.onunmute = null;
    track.stop();
  }
  void context?.close();
}

/**
 * @typedef {"not_allowed" | "no_longer_allowed" | "not_found" | "in_use" | "no_output" | "insecure" | "not_started" | "unplugged"} MicrophoneProblem
 * @type {Record<string, MicrophoneProblem>}
 */
const PROBLEMS = {
  NotAllowedError: "not_allowed",
  NotFoundError: "not_found",
  OverconstrainedError: "not_found", // WebKit's, of a machine without microphone; it is no DOMException
  NotReadableError: "in_use",
  InvalidStateError: "no_output",
  SecurityError: "insecure",
};

/** Return why there is no microphone. @param {unknown} error @returns {{problem: MicrophoneProblem, detail: string}} */
export function explain(error) {
  const name = error instanceof Object && "name" in error ? String(error.name) : "";
  return { problem: PROBLEMS[name] ?? "not_started", detail: error instanceof Error ? error.message : String(error) };
}
