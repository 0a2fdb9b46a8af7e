// What the JavaScript clients share: where the server is, what is said to it, and how they report what worked.

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

export const URL = process.env.PARLEY_URL;
export const WS_URL = URL.replace("http", "ws");
export const KEY = process.env.PARLEY_KEY;
export const IMAGE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const LIMIT_MS = 30_000;
const CHUNK_MS = 40;

/** A spoken question with silence around it: PCM16 at 24 kHz in pieces of 40 ms. */
export function question() {
  const pcm = readFileSync(process.env.PARLEY_SPEECH);
  const size = 48 * CHUNK_MS;
  return Array.from({ length: Math.ceil(pcm.length / size) }, (_, i) => pcm.subarray(i * size, (i + 1) * size));
}

/**
 * Send the question at the pace of a microphone. With silence first: the server distrusts the first second of a
 * microphone while a reply is played.
 */
export async function speak(send, silenceMs = 0) {
  const silence = new Array(silenceMs / CHUNK_MS).fill(Buffer.alloc(48 * CHUNK_MS));
  for (const piece of [...silence, ...question()]) {
    send(piece);
    await sleep(CHUNK_MS);
  }
}

export function check(isSo, detail) {
  if (!isSo) throw new Error(`unexpected: ${detail}`);
}

/** The server says clearly that it does not do this. */
export class Refused extends Error {}

/** Try the features, all at once, and print a line of JSON about each; what an attempt returns is the detail. */
export async function report(attempts) {
  await Promise.all(Object.entries(attempts).map(([feature, attempt]) => tried(feature, attempt)));
  process.exit(0);
}

async function tried(feature, attempt) {
  let line;
  try {
    const limit = sleep(LIMIT_MS, undefined, { ref: false }).then(() => Promise.reject(new Error("took too long")));
    line = { feature, result: "works", detail: await Promise.race([attempt(), limit]) };
  } catch (error) {
    if (!(error instanceof Refused)) console.error(error);
    line = { feature, result: error instanceof Refused ? "refused" : "fails", detail: String(error?.message ?? error) };
  }
  console.log(JSON.stringify(line));
}
