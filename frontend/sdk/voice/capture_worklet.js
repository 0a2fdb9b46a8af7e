/** The microphone's side in the audio thread: blocks of samples → frames of PCM16. */

/**
 * Define it, and register it where this runs in the audio thread. The function names nothing outside itself: worklet.js says why.
 *
 * @param {any} scope the global object, of which TypeScript's library of documents does not know all
 */
export function captureWorklet({ AudioWorkletProcessor, registerProcessor, sampleRate }) {
  class CaptureCore {
    /** @param {number} rate in Hz @param {number} frameMs */
    constructor(rate, frameMs) {
      this.frame = new Int16Array(Math.round((rate * frameMs) / 1000));
      this.length = 0;
    }

    /**
     * @param {Float32Array} block
     * @param {(frame: Int16Array, level: number) => void} onFrame a copy, and its loudness from 0 to 1
     */
    push(block, onFrame) {
      for (let i = 0; i < block.length; i += 1) {
        const sample = Math.max(-1, Math.min(1, block[i] ?? 0));
        this.frame[this.length] = Math.round(sample * (sample < 0 ? 32768 : 32767));
        this.length += 1;
        if (this.length === this.frame.length) {
          this.length = 0;
          onFrame(this.frame.slice(), levelOf(this.frame));
        }
      }
    }
  }

  /** 0 = silence (-60 dB), 1 = full. @param {Int16Array} frame */
  function levelOf(frame) {
    let sum = 0;
    for (const sample of frame) sum += sample * sample;
    const decibels = 20 * Math.log10(Math.sqrt(sum / frame.length) / 32768 + 1e-9);
    return Math.max(0, Math.min(1, (decibels + 60) / 60));
  }

  if (registerProcessor) {
    class Capture extends AudioWorkletProcessor {
      /** @param {AudioWorkletNodeOptions} options */
      constructor({ processorOptions }) {
        super();
        this.core = new CaptureCore(sampleRate, processorOptions.frameMs);
      }

      /** @param {Float32Array[][]} inputs */
      process(inputs) {
        const channel = inputs[0]?.[0];
        if (channel) {
          this.core.push(channel, (frame, level) =>
            this.port.postMessage({ pcm: frame.buffer, level }, [frame.buffer]),
          );
        }
        return true;
      }
    }
    registerProcessor("parley-capture", Capture);
  }
  return { CaptureCore, levelOf };
}

export const { CaptureCore, levelOf } = captureWorklet(globalThis);
