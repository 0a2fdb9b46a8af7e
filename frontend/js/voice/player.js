/**
 * Plays the sound of sentences and tells what was heard of each.
 *
 * @typedef {{turnId: string, index: number, ms: number, isOver: boolean}} HeardSentence
 */

export class Player {
  /**
   * @param {object} options
   * @param {() => AudioContext} options.createContext
   * @param {(context: AudioContext) => AudioWorkletNode} options.createNode
   * @param {URL | string} options.worklet
   * @param {(heard: HeardSentence) => void} options.onHeard
   * @param {(reason: string) => void} options.onFailed there will be no sound
   */
  constructor({ createContext, createNode, worklet, onHeard, onFailed }) {
    this.createContext = createContext;
    this.createNode = createNode;
    this.worklet = worklet;
    this.onHeard = onHeard;
    this.onFailed = onFailed;
    /** @type {AudioContext | null} */
    this.context = null;
    /** @type {Promise<AudioWorkletNode | null> | null} */
    this.node = null;
    /** @type {{turnId: string, index: number} | null} whose sound the next binary message is */
    this.open = null;
    /** @type {Map<number, {turnId: string, index: number}>} */
    this.sentences = new Map();
    this.lastId = 0;
  }

  /** To be called in a user's gesture at least once: browsers keep a page silent until then. */
  unlock() {
    this.node ??= this.#start();
    void this.context?.resume().catch(() => {});
  }

  /** @param {string} turnId @param {number} index @param {number} rate */
  begin(turnId, index, rate) {
    this.unlock();
    this.open = { turnId, index };
    this.lastId += 1;
    this.sentences.set(this.lastId, this.open);
    this.#post({ type: "begin", id: this.lastId, rate });
  }

  /** @param {ArrayBuffer} pcm */
  push(pcm) {
    if (this.open) this.#post({ type: "push", pcm }, [pcm]);
  }

  end() {
    if (this.open) this.#post({ type: "end" });
    this.open = null;
  }

  /** Silence at once; what comes of the open sentence is dropped, too. */
  flush() {
    this.open = null;
    this.sentences.clear();
    this.#post({ type: "flush" });
  }

  pause() {
    this.#post({ type: "pause" });
  }

  resume() {
    this.#post({ type: "resume" });
  }

  /** @param {object} message @param {Transferable[]} [transfer] */
  #post(message, transfer = []) {
    void this.node?.then((node) => node?.port.postMessage(message, transfer));
  }

  async #start() {
    try {
      const context = this.createContext();
      this.context = context;
      await context.audioWorklet.addModule(this.worklet);
      const node = this.createNode(context);
      node.port.onmessage = ({ data }) => this.#heard(data);
      node.connect(context.destination);
      return node;
    } catch (error) {
      this.onFailed(error instanceof Error ? error.message : String(error));
      return null;
    }
  }

  /** @param {import("./player_core.js").Heard[]} reports */
  #heard(reports) {
    for (const { id, ms, isOver } of reports) {
      const sentence = this.sentences.get(id);
      if (!sentence) continue; // of a turn that was cut
      if (isOver) this.sentences.delete(id);
      this.onHeard({ ...sentence, ms, isOver });
    }
  }
}
