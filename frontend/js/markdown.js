/**
 * Markdown as models write it → blocks. Text becomes text: no HTML, no scheme but
 * http and https. Every piece of text knows where it stands in the source (`at`),
 * so that what was said can be marked apart from what was only streamed.
 * Work grows with the length of the text, whatever it holds.
 *
 * @typedef {import("./markdown_inline.js").Inline} Inline
 * @typedef {{type: "paragraph", inline: Inline[]}
 *   | {type: "heading", level: number, marks: number, inline: Inline[]}
 *   | {type: "code", language: string, lines: Line[]}
 *   | {type: "list", start: number | null, items: Item[]}
 *   | {type: "quote", blocks: Block[]}
 *   | import("./markdown_table.js").Table
 *   | {type: "rule"}} Block
 *   level: of a heading in its text, from 1 without gaps, whatever its number of marks
 * @typedef {{isDone: boolean | null, blocks: Block[]}} Item isDone: whether the task is done; null if it is no task
 * @typedef {[Block, number]} Read a block, and the line after it
 * @typedef {{text: string, at: number}} Line
 * @typedef {{block: Block, at: number, end: number}} Placed where a block begins, and the next one or the text ends
 */

import { parseInline } from "./markdown_inline.js";
import { isTableAt, parseTable } from "./markdown_table.js";

const MAX_DEPTH = 8;
const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(?=\S)/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const MATH = /^ {0,3}(?:\$\$|\\\[)/;
const MAX_MATH_LINES = 60;
const TASK = /^\[([ xX])\][ \t]+(?=\S)/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?:( {1,4})(?=\S)|[ \t]*$)/;

/** @param {string} source @returns {Block[]} */
export const parseMarkdown = (source) => parseBlocks(linesOf(source, 0), 0);

/** Return a parser for a text that grows: only what may still become something else is parsed anew, and a block that has not changed is the same object. @returns {(source: string) => Placed[]} */
export function growingMarkdown() {
  let known = "";
  /** @type {Placed[]} */
  let blocks = [];
  return (source) => {
    if (source === known) return blocks;
    // The last block may go on, and take the one before it along: a line of text becomes the head of a table.
    const kept = source.startsWith(known) ? blocks.slice(0, -2) : [];
    blocks = [...kept, ...placedAfter(kept, source)];
    known = source;
    return blocks;
  };
}

/** @param {readonly Placed[]} kept @param {string} source @returns {Placed[]} */
function placedAfter(kept, source) {
  const from = kept.at(-1)?.end ?? 0;
  const before = kept.map(({ block }) => block);
  const starts = /** @type {number[]} */ ([]);
  const blocks = parseBlocks(linesOf(source.slice(from), from), 0, before, (line) => starts.push(line.at));
  return blocks.map((block, index) => ({ block, at: starts[index] ?? from, end: starts[index + 1] ?? source.length }));
}

/** Return the text that a screen reader is to say. @param {string} source */
export const plainText = (source) => parseMarkdown(source).map(blockText).join(" ").replace(/\s+/g, " ").trim();

/** @param {string} source @param {number} at where it begins in the whole @returns {Line[]} */
function linesOf(source, at) {
  return source.split("\n").map((text) => {
    const line = { text: text.endsWith("\r") ? text.slice(0, -1) : text, at };
    at += text.length + 1;
    return line;
  });
}

/** @param {Line[]} lines @param {number} depth @param {Block[]} [before] @param {(first: Line) => void} [onBlock] @returns {Block[]} */
function parseBlocks(lines, depth, before = [], onBlock = () => {}) {
  let above = before.reduce(headingsAbove, []);
  /** @type {Block[]} */
  const blocks = [];
  for (let next = 0; next < lines.length;) {
    const line = /** @type {Line} */ (lines[next]);
    const [block, end] = isBlank(line) ? [null, next + 1] : parseBlock(lines, next, depth);
    next = end;
    if (!block) continue;
    onBlock(line);
    above = headingsAbove(above, block);
    blocks.push(block.type === "heading" ? { ...block, level: above.length } : block);
  }
  return blocks;
}

/** Return the levels of the headings above what follows a block. @param {number[]} above of the block @param {Block} block @returns {number[]} */
const headingsAbove = (above, block) =>
  block.type === "heading" ? [...above.filter((marks) => marks < block.marks), block.marks] : above;

/** @param {Line[]} lines @param {number} start @param {number} depth @returns {Read} */
function parseBlock(lines, start, depth) {
  const line = /** @type {Line} */ (lines[start]);
  const fence = FENCE.exec(line.text);
  if (fence) return parseFence(lines, start, fence[1] ?? "", (fence[2] ?? "").trim());
  const mathEnd = MATH.test(line.text) ? endOfMath(lines, start) : 0;
  if (mathEnd) return [{ type: "paragraph", inline: parseInline(lines.slice(start, mathEnd)) }, mathEnd];
  if (RULE.test(line.text)) return [{ type: "rule" }, start + 1];
  const [opening, hashes = ""] = HEADING.exec(line.text) ?? [];
  if (opening) {
    const inline = parseInline([cutLine(line, opening.length)]);
    return [{ type: "heading", level: 1, marks: hashes.length, inline }, start + 1];
  }
  if (depth < MAX_DEPTH && QUOTE.test(line.text)) return parseQuote(lines, start, depth);
  if (depth < MAX_DEPTH && ITEM.test(line.text)) return parseList(lines, start, depth);
  if (isTableAt(lines, start)) return parseRows(lines, start);
  return parseParagraph(lines, start);
}

/** Return the line after a formula of its own, whose lines are no list or table even before it is closed; 0 if there is none. @param {Line[]} lines @param {number} start */
function endOfMath(lines, start) {
  const first = lines[start]?.text.trim() ?? "";
  const close = first.startsWith("$$") ? "$$" : "\\]";
  if (first.indexOf(close, 2) > 0) return first.endsWith(close) ? start + 1 : 0; // text follows: a paragraph
  const last = Math.min(lines.length, start + MAX_MATH_LINES);
  let end = start + 1;
  while (end < last && !isBlank(lines[end])) {
    end += 1;
    if (lines[end - 1]?.text.trimEnd().endsWith(close)) break;
  }
  return end;
}

/** Parse a fence; one that was not closed yet holds all that follows. @param {Line[]} lines @param {number} start @param {string} mark @param {string} language @returns {Read} */
function parseFence(lines, start, mark, language) {
  let end = start + 1;
  while (end < lines.length && !isFenceEnd(lines[end], mark)) end += 1;
  return [{ type: "code", language, lines: lines.slice(start + 1, end) }, end + 1];
}

/** @param {Line | undefined} line @param {string} mark */
function isFenceEnd(line, mark) {
  const text = line?.text.trim() ?? "";
  return text.length >= mark.length && text === (mark[0] ?? "").repeat(text.length);
}

/** @param {Line[]} lines @param {number} start @param {number} depth @returns {Read} */
function parseQuote(lines, start, depth) {
  let end = start;
  while (end < lines.length && QUOTE.test(lines[end]?.text ?? "")) end += 1;
  const inner = lines.slice(start, end).map((line) => cutLine(line, QUOTE.exec(line.text)?.[0].length ?? 0));
  return [{ type: "quote", blocks: parseBlocks(inner, depth + 1) }, end];
}

/** @param {Line[]} lines @param {number} start @param {number} depth @returns {Read} */
function parseList(lines, start, depth) {
  const first = itemOf(lines[start]);
  /** @type {Item[]} */
  const items = [];
  let next = start;
  for (;;) {
    const item = itemOf(lines[next]);
    if (!item || !first || item.isOrdered !== first.isOrdered || item.indent >= first.content) break;
    const end = itemEnd(lines, next, item.content);
    const [head, ...rest] = lines
      .slice(next, end)
      .map((line, index) => cutLine(line, index ? indentUpTo(line, item.content) : item.content));
    const [box, sign] = TASK.exec(head?.text ?? "") ?? [];
    const inner = [cutLine(/** @type {Line} */ (head), box?.length ?? 0), ...rest];
    items.push({ isDone: box ? sign !== " " : null, blocks: parseBlocks(inner, depth + 1) });
    next = end;
  }
  return [{ type: "list", start: first?.isOrdered ? first.number : null, items }, next];
}

/** @param {Line | undefined} line */
function itemOf(line) {
  const match = line && !RULE.test(line.text) ? ITEM.exec(line.text) : null;
  if (!match) return null;
  const [whole, indent = "", mark = ""] = match;
  const isOrdered = /\d/.test(mark);
  return { indent: indent.length, content: whole.length, isOrdered, number: isOrdered ? parseInt(mark, 10) : 0 };
}

/** Return the line after an item: it holds what is indented under it, and lazy lines of its last paragraph. @param {Line[]} lines @param {number} start @param {number} content */
function itemEnd(lines, start, content) {
  let end = start + 1;
  let lastText = start;
  for (; end < lines.length; end += 1) {
    const line = /** @type {Line} */ (lines[end]);
    if (isBlank(line)) continue;
    const isUnder = indentUpTo(line, content) === content;
    const isLazy = end === lastText + 1 && !startsBlock(line);
    if (!isUnder && !isLazy) break;
    lastText = end;
  }
  return ITEM.test(lines[end]?.text ?? "") ? end : lastText + 1; // blank lines between items are part of neither
}

/** @param {Line[]} lines @param {number} start @returns {Read} */
function parseRows(lines, start) {
  let end = start + 2;
  while (end < lines.length && !endsText(lines, end)) end += 1;
  return [parseTable(lines.slice(start, end)), end];
}

/** @param {Line[]} lines @param {number} start @returns {Read} */
function parseParagraph(lines, start) {
  let end = start + 1;
  while (end < lines.length && !endsText(lines, end) && !isTableAt(lines, end)) end += 1;
  const inner = lines.slice(start, end).map((line) => cutLine(line, indentUpTo(line, 1000)));
  return [{ type: "paragraph", inline: parseInline(inner) }, end];
}

/** @param {Line[]} lines @param {number} index */
const endsText = (lines, index) => isBlank(lines[index]) || startsBlock(/** @type {Line} */ (lines[index]));

/** @param {Line} line */
const startsBlock = ({ text }) => [FENCE, MATH, HEADING, RULE, QUOTE, ITEM].some((begun) => begun.test(text));

/** @param {Line | undefined} line */
const isBlank = (line) => !line?.text.trim();

/** @param {Line} line @param {number} limit */
const indentUpTo = ({ text }, limit) => Math.min(limit, text.search(/[^ ]|$/));

/** @param {Line} line @param {number} count @returns {Line} */
const cutLine = ({ text, at }, count) => ({ text: text.slice(count), at: at + count });

/** @param {Block} block @returns {string} */
function blockText(block) {
  switch (block.type) {
    case "paragraph":
    case "heading":
      return inlineText(block.inline);
    case "code":
      return block.lines.map(({ text }) => text).join(" ");
    case "list":
      return block.items.map(({ blocks }) => blocks.map(blockText).join(" ")).join(" ");
    case "quote":
      return block.blocks.map(blockText).join(" ");
    case "table":
      return [block.head, ...block.rows].map((row) => row.map(inlineText).join(", ")).join("; ");
    case "rule":
      return "";
  }
}

/** @param {Inline[]} inline @returns {string} */
const inlineText = (inline) => inline.map(pieceText).join("");

/** @param {Inline} piece */
const pieceText = (piece) => ("text" in piece ? piece.text : piece.type === "break" ? " " : inlineText(piece.inline));
