/**
 * Files that the user gives → pictures as they are sent: scaled, and encoded
 * anew, so that nothing of the camera or the place it was taken at goes along.
 *
 * @typedef {import("../sdk/frames.js").AttachedImage} AttachedImage
 */

import { fittedSize } from "./images.js";
import { shortened } from "./text.js";
import { t } from "./strings.js";

const MAX_FILE_BYTES = 64 << 20;
const MAX_NAME_CHARS = 80;
const JPEG_QUALITIES = [0.85, 0.7, 0.5];
const SMALLER = 0.7;
const MAX_TRIES = 4;

/** Return the sentence on a file that is no picture. @param {string} mediaType */
function sayWhyNot(mediaType) {
  if (mediaType.startsWith("image/")) return t.images.unreadable;
  return /^(audio|video)\//.test(mediaType) ? t.images.noMedia : t.images.otherKind;
}

/**
 * Rejects with a sentence for the user.
 *
 * @param {File} file @param {{id: string, budgetBytes: number}} as
 * @returns {Promise<AttachedImage>}
 */
export async function readPicture(file, { id, budgetBytes }) {
  const name = shortened(file.name, MAX_NAME_CHARS) || "picture";
  if (file.size > MAX_FILE_BYTES) throw new Error(t.images.tooLarge(name, MAX_FILE_BYTES >> 20));
  const bitmap = await createImageBitmap(file).catch(() => null);
  if (!bitmap) throw new Error(sayWhyNot(file.type)(name));
  try {
    const { blob, width, height } = await encoded(bitmap, file.type === "image/jpeg", budgetBytes);
    return { id, name, url: await dataUrl(blob), width, height };
  } finally {
    bitmap.close();
  }
}

/**
 * PNG where the letters of a screenshot may stand in it and there is room, else
 * JPEG, as coarse and then as small as it has to be.
 *
 * @param {ImageBitmap} bitmap @param {boolean} isPhoto @param {number} budgetBytes
 */
async function encoded(bitmap, isPhoto, budgetBytes) {
  let size = fittedSize(bitmap);
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    for (const [type, quality] of encodings(isPhoto)) {
      const blob = await draw(bitmap, size, type, quality);
      if (blob && blob.size <= budgetBytes) return { blob, ...size };
    }
    size = { width: Math.ceil(size.width * SMALLER), height: Math.ceil(size.height * SMALLER) };
  }
  throw new Error(t.images.tooLargeForServer);
}

/** @param {boolean} isPhoto @returns {[type: string, quality: number][]} */
function encodings(isPhoto) {
  /** @type {[string, number][]} */
  const jpegs = JPEG_QUALITIES.map((quality) => ["image/jpeg", quality]);
  return isPhoto ? jpegs : [["image/png", 1], ...jpegs];
}

/** @param {ImageBitmap} bitmap @param {{width: number, height: number}} size @param {string} type @param {number} quality */
function draw(bitmap, { width, height }, type, quality) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  if (type === "image/jpeg") {
    context.fillStyle = "white"; // JPEG knows no transparency
    context.fillRect(0, 0, width, height);
  }
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, width, height);
  return /** @type {Promise<Blob | null>} */ (new Promise((resolve) => canvas.toBlob(resolve, type, quality)));
}

/** @param {Blob} blob @returns {Promise<string>} */
function dataUrl(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
