/** The audio thread's side of the microphone. */

import { CaptureCore } from "./capture_core.js";

// names of the audio thread, which TypeScript's library of documents does not know
const { AudioWorkletProcessor, registerProcessor, sampleRate } = /** @type {any} */ (globalThis);

class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    this.core = new CaptureCore(sampleRate);
  }

  /** @param {Float32Array[][]} inputs */
  process(inputs) {
    const channel = inputs[0]?.[0];
    if (channel) {
      this.core.push(channel, (frame, level) => this.port.postMessage({ pcm: frame.buffer, level }, [frame.buffer]));
    }
    return true;
  }
}

registerProcessor("parley-capture", Capture);
