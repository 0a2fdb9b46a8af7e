/** Blocks of the audio thread → frames of PCM16. Pure. */

export const FRAME_MS = 20;

export class CaptureCore {
  /** @param {number} rate in Hz */
  constructor(rate) {
    this.frame = new Int16Array(Math.round((rate * FRAME_MS) / 1000));
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
export function levelOf(frame) {
  let sum = 0;
  for (const sample of frame) sum += sample * sample;
  const decibels = 20 * Math.log10(Math.sqrt(sum / frame.length) / 32768 + 1e-9);
  return Math.max(0, Math.min(1, (decibels + 60) / 60));
}
