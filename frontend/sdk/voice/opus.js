/**
 * Opus through WebCodecs: packets of 20 ms that are a tenth of PCM's bytes.
 *
 * @typedef {{encodes: boolean, decodes: boolean}} Codecs what this browser can do
 */

const DECODED_RATE = 48_000; // the one that every browser gives
const FRAME_US = 20_000;
const MAX_WAITING = 50; // packets in work: a second; a browser that is later than that has no use for more
const DECODER = { codec: "opus", sampleRate: DECODED_RATE, numberOfChannels: 1 };

/** @param {number} sampleRate */
function encoderOf(sampleRate) {
  return { ...DECODER, sampleRate, bitrate: 28_000, opus: { frameDuration: FRAME_US, application: "voip" } };
}

/** @returns {Promise<Codecs>} */
export async function opusCodecs() {
  const { AudioEncoder, AudioDecoder } = globalThis;
  const encoder = await AudioEncoder?.isConfigSupported(encoderOf(16_000)).catch(() => null);
  const decoder = await AudioDecoder?.isConfigSupported(DECODER).catch(() => null);
  return { encodes: !!encoder?.supported, decodes: !!decoder?.supported };
}

/** Encodes frames of the microphone, PCM16, as packets. */
export class OpusEncoding {
  /**
   * @param {(packet: ArrayBuffer) => void} onPacket
   * @param {() => void} onFailed the browser cannot, after all
   */
  constructor(onPacket, onFailed) {
    this.onPacket = onPacket;
    this.onFailed = onFailed;
    /** @type {AudioEncoder | null} */
    this.encoder = null;
    this.rate = 0;
    this.encodedUs = 0;
  }

  /** Encode a frame; a busy encoder drops it. @param {ArrayBuffer} data PCM16 @param {number} sampleRate */
  encode(data, sampleRate) {
    if (this.rate !== sampleRate) this.close();
    this.encoder ??= this.#open(sampleRate);
    const numberOfFrames = data.byteLength / 2;
    const timestamp = this.encodedUs;
    this.encodedUs += (numberOfFrames * 1_000_000) / sampleRate;
    if (this.encoder.encodeQueueSize > MAX_WAITING) return;
    const sound = new AudioData({ format: "s16", sampleRate, numberOfFrames, numberOfChannels: 1, timestamp, data });
    this.encoder.encode(sound);
    sound.close();
  }

  close() {
    this.encoder?.close();
    this.encoder = null;
  }

  /** @param {number} sampleRate */
  #open(sampleRate) {
    const encoder = new AudioEncoder({
      output: (chunk) => {
        const packet = new ArrayBuffer(chunk.byteLength);
        chunk.copyTo(packet);
        this.onPacket(packet);
      },
      error: () => {
        this.encoder = null; // it is closed
        this.onFailed();
      },
    });
    encoder.configure(encoderOf(sampleRate));
    this.rate = sampleRate;
    return encoder;
  }
}

/** Decodes packets of sentences to PCM16, and runs what is to be done in their order. */
export class OpusDecoding {
  /**
   * @param {(pcm: ArrayBuffer) => void} onSound at `rate`
   * @param {() => void} onFailed the browser cannot, after all
   */
  constructor(onSound, onFailed) {
    this.rate = DECODED_RATE;
    this.onSound = onSound;
    this.onFailed = onFailed;
    /** @type {AudioDecoder | null} */
    this.decoder = null;
    this.decodedUs = 0;
    /** @type {Promise<void> | null} of the sentences that have ended: they are decoded */
    this.ending = null;
    this.drops = 0;
  }

  /** @param {ArrayBuffer} data a packet of the open sentence */
  decode(data) {
    this.decoder ??= this.#open();
    this.decoder.decode(new EncodedAudioChunk({ type: "key", timestamp: this.decodedUs, data }));
    this.decodedUs += FRAME_US;
  }

  /** End the open sentence. */
  end() {
    if (this.decoder) this.ending = this.decoder.flush().catch(() => {});
  }

  /** Call `act` once the sentences that have ended are decoded, and not at all if they are dropped before. @param {() => void} act */
  after(act) {
    const { drops, ending } = this;
    if (ending) ending.then(() => drops === this.drops && act());
    else act();
  }

  /** Drop all packets that were given. */
  drop() {
    this.drops += 1;
    this.decoder?.close();
    this.decoder = this.ending = null;
  }

  #open() {
    const decoder = new AudioDecoder({
      output: (sound) => {
        const samples = new Float32Array(sound.numberOfFrames);
        sound.copyTo(samples, { planeIndex: 0, format: "f32-planar" });
        sound.close();
        this.onSound(
          Int16Array.from(samples, (sample) => Math.round(Math.max(-1, Math.min(1, sample)) * 32_767)).buffer,
        );
      },
      error: () => {
        this.decoder = null; // it is closed
        this.onFailed();
      },
    });
    decoder.configure(DECODER);
    return decoder;
  }
}
