/**
 * Pictures and documents of the user: those that were sent, and those that wait to be.
 *
 * @typedef {import("../../sdk/frames.js").AttachedImage} AttachedImage
 */

import { holdsText } from "../../sdk/attachments.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "../strings.js";

/** Addresses of pictures that this page has encoded. */
const OURS = /^data:image\/(png|jpeg|webp);base64,[A-Za-z0-9+/=]+$/;

/** Show the pictures of a message. @param {readonly AttachedImage[]} images */
export function sentImages(images) {
  return h("div", { class: "sent-images" }, images.map(imageView));
}

/** Show the pictures beside the message field. @param {readonly AttachedImage[]} images @param {number} pending */
export function attachedImages(images, pending) {
  if (!images.length && !pending) return null;
  return h(
    "ul",
    { class: "attachments", key: "attachments", "aria-label": t.images.attached },
    images.map((image) => h("li", { key: image.id }, imageView(image), removeButton(image))),
    pending > 0 && h("li", { key: "pending", class: "fine", role: "status" }, t.images.reading),
  );
}

/** @param {AttachedImage} attached */
function imageView(attached) {
  const { url, name, width, height } = attached;
  if (holdsText(attached)) return h("span", { class: "document" }, icon("file"), name);
  if (!OURS.test(url)) return h("span", { class: "fine" }, t.images.lost(name));
  return h("img", { src: url, alt: name, width, height });
}

/** @param {AttachedImage} image */
function removeButton({ id, name }) {
  return h(
    "button",
    {
      type: "button",
      class: "button icon-only small",
      "data-action": "detach",
      "data-id": id,
      "aria-label": t.images.remove(name),
    },
    icon("close"),
  );
}
