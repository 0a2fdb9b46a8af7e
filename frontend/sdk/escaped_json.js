/** Values as JSON that a reader can trust, for decisions about them. */

/** Characters that turn the text around them or take no room, so that it would read as something else. */
const MISLEADING = /[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** @param {unknown} value */
export function pretty(value) {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

/** Return the value as JSON in which misleading characters are escaped. @param {unknown} value */
export function escapedJson(value) {
  return pretty(value).replace(MISLEADING, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
