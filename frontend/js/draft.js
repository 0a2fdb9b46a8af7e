/**
 * The unsent message, text and pictures; it survives a reload of this tab.
 *
 * @typedef {import("../sdk/frames.js").AttachedImage} AttachedImage
 */

import { MAX_ATTACHED } from "./images.js";
import { readItem, writeItem } from "./storage.js";

const TEXT_KEY = "parley.draft";
const IMAGES_KEY = "parley.draft.images";

/** @param {() => Storage} storage @returns {string} */
export function keptText(storage) {
  return readItem(storage, TEXT_KEY) ?? "";
}

/** @param {() => Storage} storage @param {string} text */
export function keepText(storage, text) {
  writeItem(storage, TEXT_KEY, text);
}

/** @param {() => Storage} storage @returns {AttachedImage[]} */
export function keptImages(storage) {
  try {
    const images = JSON.parse(readItem(storage, IMAGES_KEY) ?? "[]");
    return Array.isArray(images) ? images.filter(isImage).slice(0, MAX_ATTACHED) : [];
  } catch {
    return []; // written by something else
  }
}

/** Keep the first pictures, as many as the browser has room for. @param {() => Storage} storage @param {readonly AttachedImage[]} images */
export function keepImages(storage, images) {
  let count = images.length;
  while (!writeItem(storage, IMAGES_KEY, JSON.stringify(images.slice(0, count))) && count > 0) count -= 1;
}

/** @param {any} image @returns {image is AttachedImage} */
function isImage(image) {
  const isText = [image?.id, image?.name, image?.url].every((value) => typeof value === "string");
  return isText && Number.isFinite(image.width) && Number.isFinite(image.height);
}
