/** Values as JSON that a reader can trust, for decisions about them. */

/** Pictures of several characters, some of which are not seen. */
const PICTURE =
  /\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?(?:\u200d\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?)*|[\d#*]\ufe0f\u20e3/u;

/** Letters or marks from Arabic to Sinhala with a joiner between them, which shapes both. */
const JOINED = /(?=[\p{L}\p{M}])[\u0600-\u0dff][\u200c\u200d](?=[\p{L}\p{M}])(?=[\u0600-\u0dff])/u;

/** Characters that turn the text around them or are not seen, so that it would read as something else. */
const MISLEADING = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

const SHAPED_OR_MISLEADING = new RegExp(`(${PICTURE.source}|${JOINED.source})|${MISLEADING.source}`, "gu");

/** @param {unknown} value */
export function pretty(value) {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

/** Return the value as JSON in which misleading characters are escaped. @param {unknown} value */
export function escapedJson(value) {
  return visibleText(pretty(value));
}

/** Return the text with its misleading characters escaped. @param {string} text */
export function visibleText(text) {
  return text.replace(SHAPED_OR_MISLEADING, (found, shaped) => shaped ?? found.split("").map(escaped).join(""));
}

/** Return the escape that JSON has for half a pair or a whole character. @param {string} unit */
function escaped(unit) {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
