/**
 * Tables of Markdown: a row, a line of dashes with as many columns, more rows.
 *
 * @typedef {import("./markdown.js").Line} Line
 * @typedef {import("./markdown_inline.js").Inline} Inline
 * @typedef {"left" | "center" | "right" | null} Align
 * @typedef {{type: "table", align: Align[], head: Inline[][], rows: Inline[][][]}} Table rows are as long as the head
 */

import { parseInline } from "./markdown_inline.js";

const DASHES = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/** @param {Line[]} lines @param {number} index */
export function isTableAt(lines, index) {
  const [head, dashes] = [lines[index], lines[index + 1]];
  if (!head?.text.includes("|") || !dashes?.text.includes("|") || !DASHES.test(dashes.text)) return false;
  return cellsOf(head).length === cellsOf(dashes).length;
}

/** @param {Line[]} lines of the table and nothing else @returns {Table} */
export function parseTable([head, dashes, ...rows]) {
  const align = cellsOf(/** @type {Line} */ (dashes)).map(alignOf);
  const inlines = (/** @type {Line} */ row) => {
    const cells = cellsOf(row);
    return align.map((_, column) => (cells[column] ? parseInline([cells[column]]) : []));
  };
  return { type: "table", align, head: inlines(/** @type {Line} */ (head)), rows: rows.map(inlines) };
}

/** Split a row at its bars; a bar behind a backslash is text. @param {Line} line @returns {Line[]} */
function cellsOf({ text, at }) {
  /** @type {Line[]} */
  const cells = [];
  let start = 0;
  for (let index = 0; index <= text.length; index += 1) {
    if (text[index] === "\\") index += 1;
    else if (index === text.length || text[index] === "|") {
      cells.push(trimmed(text.slice(start, index), at + start));
      start = index + 1;
    }
  }
  if (start <= text.length) cells.push(trimmed(text.slice(start), at + start)); // the line ends in a backslash
  if (cells[0]?.text === "") cells.shift();
  if (cells.at(-1)?.text === "") cells.pop();
  return cells;
}

/** @param {string} text @param {number} at @returns {Line} */
function trimmed(text, at) {
  const rest = text.trimStart();
  return { text: rest.trimEnd(), at: at + text.length - rest.length };
}

/** @param {Line} dashes @returns {Align} */
function alignOf({ text }) {
  const [isLeft, isRight] = [text.startsWith(":"), text.endsWith(":")];
  if (isLeft && isRight) return "center";
  return isRight ? "right" : isLeft ? "left" : null;
}
