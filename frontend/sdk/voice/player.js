/**
 * Plays the sound of sentences and reports how much of each was heard.
 *
 * @typedef {{turnId: string, index: number, ms: number, isOver: boolean}} HeardSentence
 */

export class Player {
  /**
   * @param {object} options
   * @param {() => AudioContext} options.createContext
   * @param {(context: AudioContext) => AudioWorkletNode} options.createNode
   * @param {(context: AudioContext) => Promise<void>} options.addWorklet
   * @param {(heard: HeardSentence) => void} options.onHeard
   * @param {(reason: string, isNotLoaded: boolean) => void} options.onFailed there is no sound; `isNotLoaded`: the server did not send
   *   the module of the audio thread
   * @param {() => void} options.onRestored there is sound again
   * @param {(isBlocked: boolean) => void} options.onBlocked the browser plays nothing until the user touches the page
   * @param {(act: () => void) => unknown} [options.later] a context needs a moment to run
   * @param {string} [options.browser] its User-Agent
   */
  constructor({
    createContext,
    createNode,
    addWorklet,
    onHeard,
    onFailed,
    onRestored,
    onBlocked,
    later = soon,
    browser = navigator.userAgent,
  }) {
    this.createContext = createContext;
    this.createNode = createNode;
    this.addWorklet = addWorklet;
    this.onHeard = onHeard;
    this.onFailed = onFailed;
    this.onRestored = onRestored;
    this.onBlocked = onBlocked;
    this.later = later;
    this.browser = browser;
    this.isBlocked = false; // as it was last reported
    /** @type {import("./opus.js").OpusDecoding | null} */
    this.opus = null;
    /** @type {AudioContext | null} */
    this.context = null;
    /** @type {Promise<AudioWorkletNode | null> | null} */
    this.node = null;
    /** @type {{turnId: string, index: number} | null} whose sound the next binary message is */
    this.open = null;
    /** @type {import("./opus.js").OpusDecoding | null} of the open sentence; null if that is PCM */
    this.decoder = null;
    /** @type {Map<number, {turnId: string, index: number}>} */
    this.sentences = new Map();
    this.lastId = 0;
    this.isStarting = false;
    this.hasFailed = false; // no sound is taken until a start succeeds: it would never be reported as heard
  }

  /**
   * Decode sentences that come as Opus packets from now on.
   *
   * @param {typeof import("./opus.js").OpusDecoding} Decoding @param {() => void} onFailed it must come as PCM again
   */
  decodeWith(Decoding, onFailed) {
    this.opus = new Decoding((pcm) => this.#post({ type: "push", pcm }, [pcm]), onFailed);
  }

  /** Start the player, in a user's gesture at least once, as browsers keep a page silent until then; retry a failed start. */
  unlock() {
    if (this.hasFailed && !this.isStarting) this.node = null;
    this.node ??= this.#start();
    void this.context?.resume().catch(() => {});
  }

  /** Try again to play, when the user touched the page or the server is back. */
  resumeIfSilent() {
    if (this.isBlocked || this.hasFailed) this.unlock();
  }

  /**
   * Follow the frames: binary messages after a `sentence` are its sound; those of a turn that was cut are dropped.
   *
   * @param {import("../frames.js").ServerFrame} frame @param {string | null} turnId the turn that may be heard
   */
  follow(frame, turnId) {
    if (frame.type === "sentence" && frame.audio && frame.turn_id === turnId) {
      this.begin(frame.turn_id, frame.index, frame.audio.sample_rate, frame.audio.format);
    } else if (frame.type === "sentence" || frame.type === "sentence_end") {
      this.end();
    }
  }

  /** @param {string} turnId @param {number} index @param {number} rate @param {"pcm16" | "opus"} [format] */
  begin(turnId, index, rate, format = "pcm16") {
    if (this.hasFailed) return;
    this.unlock();
    this.decoder = format === "opus" ? this.opus : null;
    this.open = { turnId, index };
    this.lastId += 1;
    this.sentences.set(this.lastId, this.open);
    this.#postInOrder({ type: "begin", id: this.lastId, rate: this.decoder?.rate ?? rate });
    this.later(() => this.#reportBlocked());
  }

  /** @param {ArrayBuffer} sound */
  push(sound) {
    if (!this.open) return;
    if (this.decoder) this.decoder.decode(sound);
    else this.#postInOrder({ type: "push", pcm: sound }, [sound]);
  }

  end() {
    if (!this.open) return;
    this.decoder?.end();
    this.#postInOrder({ type: "end" });
    this.open = null;
  }

  /** Drop the sentence: it is neither played nor reported any more. @param {string} turnId @param {number} index */
  skip(turnId, index) {
    for (const [id, sentence] of this.sentences) {
      if (sentence.turnId !== turnId || sentence.index !== index) continue;
      this.sentences.delete(id);
      if (this.open === sentence) this.open = null;
      this.#postInOrder({ type: "skip", id });
    }
  }

  /** Be silent at once, and drop what still comes of the open sentence. */
  flush() {
    this.open = null;
    this.sentences.clear();
    this.opus?.drop();
    this.#post({ type: "flush" });
  }

  /** Close the player for good. */
  close() {
    this.flush();
    this.hasFailed = true;
    void this.context?.close().catch(() => {});
  }

  pause() {
    this.#post({ type: "pause" });
  }

  resume() {
    this.#post({ type: "resume" });
  }

  /** Post it behind the sound of sentences that are still being decoded. @param {object} message @param {Transferable[]} [transfer] */
  #postInOrder(message, transfer = []) {
    const post = () => this.#post(message, transfer);
    if (this.opus) this.opus.after(post);
    else post();
  }

  /** @param {object} message @param {Transferable[]} [transfer] */
  #post(message, transfer = []) {
    void this.node?.then((node) => node?.port.postMessage(message, transfer));
  }

  async #start() {
    this.isStarting = true;
    let isNotLoaded = false;
    try {
      const context = this.createContext();
      this.context = context;
      context.onstatechange = () => this.#reportBlocked(); // Safari interrupts, too: for a call, say
      isNotLoaded = Boolean(context.audioWorklet);
      await this.addWorklet(context);
      isNotLoaded = false;
      const node = this.createNode(context);
      node.port.onmessage = ({ data }) => this.#heard(data);
      node.connect(context.destination);
      this.#started(true);
      return node;
    } catch (error) {
      void this.context?.close().catch(() => {}); // it remembers what it could not load
      this.context = null;
      this.flush();
      this.#started(false, error instanceof Error ? error.message : String(error), isNotLoaded);
      return null;
    }
  }

  /** Report a change between sound and no sound. @param {boolean} isPlaying @param {string} [reason] @param {boolean} [isNotLoaded] */
  #started(isPlaying, reason = "", isNotLoaded = false) {
    const hadFailed = this.hasFailed;
    this.isStarting = false;
    this.hasFailed = !isPlaying;
    if (isPlaying && hadFailed) this.onRestored();
    if (!isPlaying && !hadFailed) this.onFailed(reason, isNotLoaded);
  }

  #reportBlocked() {
    if (!this.context) return;
    const isBlocked = this.context.state !== "running" && this.sentences.size > 0;
    if (isBlocked !== this.isBlocked) this.onBlocked(isBlocked);
    this.isBlocked = isBlocked;
  }

  /** @param {import("./player_worklet.js").Heard[]} reports */
  #heard(reports) {
    const latencyMs = this.context ? 1000 * latencyS(this.context, this.browser) : 0; // on its way to the ear
    for (const { id, ms, isOver } of reports) {
      const sentence = this.sentences.get(id);
      if (!sentence) continue; // of a turn that was cut
      if (isOver) this.sentences.delete(id);
      const heardMs = isOver ? ms : ms - latencyMs;
      if (heardMs > 0 || isOver) this.onHeard({ ...sentence, ms: heardMs, isOver });
    }
  }
}

/**
 * Return how long sound takes from the audio thread to the ear. Firefox on Linux must not be asked: meanwhile it holds a lock that its audio thread
 * wants, and waits for the sound server, which waits for the audio thread. Now and then that tab hangs for good.
 *
 * @param {AudioContext} context @param {string} browser
 */
function latencyS(context, browser) {
  return /\bLinux\b.*\bFirefox\//.test(browser) ? 0 : context.outputLatency || context.baseLatency || 0;
}

const BLOCKED_AFTER_MS = 1_000;

/** @param {() => void} act */
function soon(act) {
  return setTimeout(act, BLOCKED_AFTER_MS);
}
