/**
 * Sound of sentences, in order: a jitter buffer, a resampler and the clock from
 * which "heard" is read. Pure; runs inside the audio thread.
 *
 * @typedef {{id: number, rate: number, data: Float32Array, length: number, position: number, isEnded: boolean}} Piece
 *   one sentence; `position` in its own samples, fractional
 * @typedef {{id: number, ms: number, isOver: boolean}} Heard
 */

/**
 * Define it, and register it where this runs in the audio thread. The function names nothing outside itself: worklet.js says why.
 *
 * @param {any} scope the global object, of which TypeScript's library of documents does not know all
 */
export function playerWorklet({ AudioWorkletProcessor, registerProcessor, sampleRate }) {
  /** Sound that is buffered before a sentence begins, and again after it ran dry. */
  const BUFFER_MS = 100;
  const FIRST_SAMPLES = 1 << 14;

  class PlayerCore {
    /** @param {number} rate of what is rendered, in Hz */
    constructor(rate) {
      this.rate = rate;
      /** @type {Piece[]} */
      this.pieces = [];
      this.isPaused = false;
      this.isWaiting = true; // for BUFFER_MS, or the end of the sentence
      this.underruns = 0;
      /** @type {Heard[]} sentences that have ended and are not reported yet */
      this.ended = [];
    }

    /** @param {number} id @param {number} rate */
    begin(id, rate) {
      this.pieces.push({
        id,
        rate,
        data: new Float32Array(FIRST_SAMPLES),
        length: 0,
        position: 0,
        isEnded: false,
      });
    }

    /** Append samples to the sentence that was begun last. @param {Int16Array} samples */
    push(samples) {
      const piece = this.pieces.at(-1);
      if (!piece || piece.isEnded) return;
      while (piece.length + samples.length > piece.data.length) {
        const larger = new Float32Array(piece.data.length * 2);
        larger.set(piece.data.subarray(0, piece.length));
        piece.data = larger;
      }
      for (let i = 0; i < samples.length; i += 1) piece.data[piece.length + i] = (samples[i] ?? 0) / 32768;
      piece.length += samples.length;
    }

    end() {
      const piece = this.pieces.at(-1);
      if (piece) piece.isEnded = true;
    }

    /** Drop one sentence; those behind it are rendered. @param {number} id */
    skip(id) {
      if (this.pieces[0]?.id === id) this.isWaiting = true;
      this.pieces = this.pieces.filter((piece) => piece.id !== id);
    }

    /** Drop all sentences. */
    flush() {
      this.pieces = [];
      this.ended = [];
      this.isWaiting = true;
      this.isPaused = false;
    }

    /** Fill `out` with the next samples; silence where there are none. @param {Float32Array} out */
    render(out) {
      out.fill(0);
      let at = 0;
      while (at < out.length && !this.isPaused) {
        const piece = this.pieces[0];
        if (!piece || !this.#mayPlay(piece)) return;
        at = this.#renderPiece(piece, out, at);
      }
    }

    /** Return what was heard since the last call: ends first, then the sentence being played. @returns {Heard[]} */
    report() {
      const heard = this.ended;
      this.ended = [];
      const piece = this.pieces[0];
      if (piece && piece.position > 0) heard.push({ id: piece.id, ms: msOf(piece), isOver: false });
      return heard;
    }

    /** @param {Piece} piece */
    #mayPlay(piece) {
      if (!this.isWaiting) return true;
      const buffered = ((piece.length - piece.position) * 1000) / piece.rate;
      if (!piece.isEnded && buffered < BUFFER_MS) return false;
      this.isWaiting = false;
      return true;
    }

    /** @param {Piece} piece @param {Float32Array} out @param {number} from @returns {number} where the next piece begins */
    #renderPiece(piece, out, from) {
      const step = piece.rate / this.rate;
      const playable = piece.isEnded ? piece.length : piece.length - 1; // between two samples both are needed
      let at = from;
      while (at < out.length) {
        const index = Math.floor(piece.position);
        if (index >= playable) {
          this.#ranDry(piece);
          return piece.isEnded ? at : out.length;
        }
        const here = piece.data[index] ?? 0;
        const next = index + 1 < piece.length ? (piece.data[index + 1] ?? 0) : here;
        out[at] = here + (next - here) * (piece.position - index);
        piece.position += step;
        at += 1;
      }
      return at;
    }

    /** @param {Piece} piece */
    #ranDry(piece) {
      if (piece.isEnded) {
        this.pieces.shift();
        this.ended.push({ id: piece.id, ms: (piece.length * 1000) / piece.rate, isOver: true });
      } else {
        this.isWaiting = true;
        this.underruns += 1;
      }
    }
  }

  /** @param {Piece} piece */
  function msOf({ position, rate }) {
    return (position * 1000) / rate;
  }

  const REPORT_EVERY = 12; // blocks of 128 samples: about 32 ms

  if (registerProcessor) {
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
  }
  return { BUFFER_MS, PlayerCore };
}

export const { BUFFER_MS, PlayerCore } = playerWorklet(globalThis);
