/**
 * Pictures that wait beside the message field, to go with the next message.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("../sdk/frames.js").AttachedImage} AttachedImage
 */

import { MAX_ATTACHED } from "./images.js";
import { warning, withAnnouncements, withEffects, withNotice } from "./state.js";
import { t } from "./strings.js";

/** Count files that are being read. @param {State} state @param {number} count @returns {State} */
export function reading(state, count) {
  return { ...state, pendingImages: state.pendingImages + count };
}

/** Attach a file that has been read, or drop one that could not be. @param {State} state @param {AttachedImage | null} image @returns {State} */
export function attached(state, image) {
  const next = { ...state, pendingImages: Math.max(0, state.pendingImages - 1) };
  if (!image) return next;
  if (next.attachments.length >= MAX_ATTACHED)
    return withNotice(next, warning("too_many_images", t.images.tooMany(MAX_ATTACHED)));
  return withAnnouncements({ ...next, attachments: [...next.attachments, image] }, [t.images.added(image.name)]);
}

/** @param {State} state @param {string} id @returns {State} */
export function detached(state, id) {
  const image = state.attachments.find((other) => other.id === id);
  if (!image) return state;
  const attachments = state.attachments.filter((other) => other !== image);
  return withEffects(withAnnouncements({ ...state, attachments }, [t.images.removed(image.name)]), { type: "focus" });
}

/** Put pictures of a message that came back before those that wait. @param {State} state @param {readonly AttachedImage[]} images @returns {State} */
export function givenBack(state, images) {
  return images.length ? { ...state, attachments: [...images, ...state.attachments].slice(0, MAX_ATTACHED) } : state;
}
