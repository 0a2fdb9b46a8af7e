/** Values as a reader sees them. */

/** @param {unknown} value */
export function pretty(value) {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
