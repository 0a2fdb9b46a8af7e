/** The audio thread's side of the player: messages in, sound out, what was heard back. */

import { PlayerCore } from "./player_core.js";

const REPORT_EVERY = 12; // blocks of 128 samples: about 32 ms

// names of the audio thread, which TypeScript's library of documents does not know
const { AudioWorkletProcessor, registerProcessor, sampleRate } = /** @type {any} */ (globalThis);

class Player extends AudioWorkletProcessor {
  constructor() {
    super();
    this.core = new PlayerCore(sampleRate);
    this.blocks = 0;
    this.port.onmessage = (/** @type {MessageEvent} */ { data }) => {
      switch (data.type) {
        case "begin":
          return this.core.begin(data.id, data.rate);
        case "push":
          return this.core.push(new Int16Array(data.pcm));
        case "end":
          return this.core.end();
        case "skip":
          return this.core.skip(data.id);
        case "flush":
          return this.core.flush();
        case "pause":
          return void (this.core.isPaused = true);
        case "resume":
          return void (this.core.isPaused = false);
      }
    };
  }

  /** @param {Float32Array[][]} _inputs @param {Float32Array[][]} outputs */
  process(_inputs, outputs) {
    const [first, ...others] = outputs[0] ?? [];
    if (first) {
      this.core.render(first);
      for (const channel of others) channel.set(first);
    }
    this.blocks += 1;
    if (this.core.ended.length || this.blocks % REPORT_EVERY === 0) {
      const heard = this.core.report();
      if (heard.length) this.port.postMessage(heard);
    }
    return true;
  }
}

registerProcessor("parley-player", Player);
