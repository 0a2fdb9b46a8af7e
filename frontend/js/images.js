/**
 * Pictures and documents of the user's messages: how large they may be. Pure.
 *
 * @typedef {import("../sdk/frames.js").AttachedImage} AttachedImage
 */

import { DOCUMENT } from "../sdk/attachments.js";

/** Pictures and documents of one message: the server shows a model the newest four of a call. */
export const MAX_ATTACHED = 4;
/** Length of one document, about 25,000 tokens of English. */
export const MAX_DOCUMENT_CHARS = 100_000;
const MAX_SIDE_PX = 1568;
const MAX_IMAGE_BYTES = 5 << 20;
const BASE64_SHARE = 3 / 4;
const PICTURES_SHARE = 0.9; // of a frame; the rest is for words

/** Return what one picture may take so that a message full of them still fits into a frame. @param {import("../sdk/frames.js").Limits | null} limits */
export function imageBudgetBytes(limits) {
  const bytes = (limits?.max_message_bytes ?? 4 << 20) * PICTURES_SHARE * BASE64_SHARE;
  return Math.min(MAX_IMAGE_BYTES, Math.floor(bytes / MAX_ATTACHED));
}

/** @param {{id: string, name: string, text: string}} document @returns {AttachedImage} */
export function asDocument({ id, name, text }) {
  return { id, name, url: DOCUMENT + encodeURIComponent(text), width: 0, height: 0 };
}

/** Return whether this is the address of a document, as `asDocument` makes it. @param {unknown} url */
export function isDocumentUrl(url) {
  if (typeof url !== "string" || !url.startsWith(DOCUMENT)) return false;
  try {
    return DOCUMENT + encodeURIComponent(decodeURIComponent(url.slice(DOCUMENT.length))) === url;
  } catch {
    return false; // not what encodeURIComponent writes
  }
}

/** @param {{width: number, height: number}} size @returns {{width: number, height: number}} */
export function fittedSize({ width, height }) {
  const scale = Math.min(1, MAX_SIDE_PX / Math.max(width, height));
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}
