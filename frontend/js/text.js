/** Values and texts as a reader sees them. */

const CHARACTERS = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** They turn the text around them, or take no room: what stands there would read as something else. */
const DECEIVING = /[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** @param {unknown} value */
export function pretty(value) {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

/** As JSON that means the same and cannot be misread. @param {unknown} value */
export function unmistakable(value) {
  return pretty(value).replace(DECEIVING, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * The text if it has at most `max` UTF-16 units, else its beginning and an ellipsis, together as long;
 * what a reader sees as one character, an emoji say, is not torn.
 *
 * @param {string} text @param {number} max
 */
export function shortened(text, max) {
  if (text.length <= max) return text;
  let end = 0;
  for (const { index, segment } of CHARACTERS.segment(text.slice(0, max + 1))) {
    if (index + segment.length >= max) break;
    end = index + segment.length;
  }
  return `${text.slice(0, end).trimEnd()}…`;
}
