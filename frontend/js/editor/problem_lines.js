/** The line of a file that a problem means. Pure. */

import { lineAt, lineOfPath } from "./json_places.js";

/** @param {{file: string, path: string, message: string}} problem @param {string} text of its file @returns {number} counted from 1 */
export function lineOf({ file, path, message }, text) {
  const said = /\bline (\d+)/.exec(message)?.[1];
  if (said) return Math.min(Number(said), text.split("\n").length);
  if (!path) return 1;
  return file.endsWith(".json") ? lineOfPath(text, path) : lineOfKey(text, path);
}

/** Return the line of a path in YAML, of a page's head or of tests: of its last key, behind the item that it counts. @param {string} text @param {string} path */
function lineOfKey(text, path) {
  const [, index] = /\[(\d+)\]/.exec(path) ?? [];
  const items = [...text.matchAll(/^(?: {0,2})- /gm)].map(({ index: at }) => at);
  const from = index === undefined ? 0 : (items[Number(index)] ?? 0);
  const to = index === undefined ? text.length : (items[Number(index) + 1] ?? text.length);
  const keys = [...path.matchAll(/\.([\w-]+)/g)].map(([, key]) => key).reverse();
  for (const key of keys) {
    const found = new RegExp(`^[ -]*${key}[ \\t]*:`, "m").exec(text.slice(from, to));
    if (found) return lineAt(text, from + found.index);
  }
  return lineAt(text, from);
}
