/**
 * A file that a tool or hook gave, in its place: pictures, sound and films are shown, all others downloaded.
 *
 * @typedef {import("../../sdk/frames.js").MediaItem} MediaItem
 */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "../strings.js";

/** Addresses below `/media/` of this server; a path that leads out of the folder does not match. */
const OURS = /^\/media\/[\w-]+(\?[\w=&.~-]*)?$/;
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"]);

/** @param {MediaItem} media */
export function mediaView(media) {
  if (!OURS.test(media.url)) return h("p", { class: "media-file" }, icon("file"), labelOf(media), t.media.notFromHere);
  const shown = shownView(media);
  if (!shown) return fileView(media, {});
  return h(
    "figure",
    { class: "media" },
    shown,
    h("figcaption", {}, h("span", { class: "media-name" }, labelOf(media)), fileView(media, { download: media.name })),
    // In sight once the file did not come (page.js).
    h("p", { class: "media-gone", role: "status" }, t.media.gone(media.name)),
  );
}

/** @param {MediaItem} media */
function shownView({ url, content_type, name }) {
  if (PICTURES.has(content_type)) {
    const picture = h("img", { src: url, alt: t.media.picture(name), loading: "lazy", decoding: "async" });
    return h("a", { href: url, target: "_blank", rel: "noopener", class: "media-open" }, picture);
  }
  const controls = { src: url, controls: true, preload: "metadata", "aria-label": name };
  if (content_type.startsWith("audio/")) return h("audio", controls);
  return content_type.startsWith("video/") ? h("video", controls) : null;
}

/** @param {MediaItem} media @param {{download?: string}} as */
function fileView(media, as) {
  const label = as.download ? t.media.download : labelOf(media);
  const named = as.download
    ? { "aria-label": t.media.downloadFile(media.name) }
    : { target: "_blank", rel: "noopener" };
  return h("a", { class: "media-file", href: media.url, ...as, ...named }, icon("file"), label);
}

/** @param {MediaItem} media */
function labelOf({ name, size }) {
  return `${name} (${sizeText(size)})`;
}

/** @param {number} bytes */
function sizeText(bytes) {
  if (bytes < 1024) return t.media.bytes(bytes);
  return bytes < 1 << 20 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / (1 << 20)).toFixed(1)} MB`;
}
