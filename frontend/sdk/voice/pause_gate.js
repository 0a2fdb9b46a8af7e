/**
 * Keeps the second half of a sentence from passing for a whole one: after a connection was lost, the microphone's
 * sound is dropped until its user pauses. Pure.
 */

import { FRAME_MS } from "./microphone.js";

export const PAUSE_MS = 500;
export const MAX_DROP_MS = 15_000; // beside a noise that never pauses, the sound passes again
const SPOKEN_MS = 200; // of loud sound: less was a click
const MIN_LOUD = 0.3; // -42 dB
const ABOVE_FLOOR = 0.15; // 9 dB louder than the room
const FLOOR_RISE = 0.002; // a frame: the room may have become louder, 6 dB a second

export class PauseGate {
  /** @param {() => void} onDropped something that was said is dropped: called once for each `close` */
  constructor(onDropped) {
    this.onDropped = onDropped;
    this.isOpen = true;
    this.floor = 0;
    this.quietMs = PAUSE_MS;
    this.spokenMs = this.closedMs = 0;
  }

  /** Close the gate for a lost connection; it opens with the next one, at the first pause. */
  close() {
    this.isOpen = false;
    this.spokenMs = this.closedMs = 0;
  }

  /** Take the loudness of the next frame. @param {number} level 0 to 1, of 60 dB @param {boolean} isOnline */
  hear(level, isOnline) {
    this.floor = Math.min(level, this.floor + FLOOR_RISE);
    const isLoud = level > Math.max(MIN_LOUD, this.floor + ABOVE_FLOOR);
    this.quietMs = isLoud ? 0 : this.quietMs + FRAME_MS;
    if (this.isOpen) return;
    if (isLoud) this.spokenMs += FRAME_MS;
    if (isLoud && this.spokenMs === SPOKEN_MS) this.onDropped();
    if (!isOnline) return;
    this.closedMs += FRAME_MS;
    this.isOpen = this.quietMs >= PAUSE_MS || this.closedMs >= MAX_DROP_MS;
  }
}
