/** Values as somebody reads them who decides about them. */

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
