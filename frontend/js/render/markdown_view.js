/**
 * Markdown → elements. A part of the source can be marked: the sentence that is being said,
 * or what a cut left unheard.
 *
 * @import { Block, Line, Placed } from "../markdown.js"
 * @typedef {import("../markdown_inline.js").Inline} Inline
 * @typedef {import("./dom.js").Child} Child
 *
 * @typedef {{from: number, to: number, kind: "saying" | "unheard"}} Mark characters of the source, and the class that they get
 */

import { growingMarkdown } from "../markdown.js";
import { h, memo } from "./dom.js";
import { t } from "../strings.js";

const TAGS = { strong: "strong", emphasis: "em", strike: "s" };
const ABOVE = 1; // the heading of the page that a text stands under

/** @param {string} source */
export const markdownView = (source) => growingView()(source);

/** Return a view for one text that grows: what stands in it already is not drawn again. @returns {(source: string, mark?: Mark | null) => import("./dom.js").Described} */
export function growingView() {
  const read = growingMarkdown();
  return (source, mark = null) => {
    const isMarked = (/** @type {Placed} */ { at, end }) => mark !== null && mark.from < end && at < mark.to;
    const views = read(source).map((one) => (isMarked(one) ? blockView(one.block, mark) : plainView(one.block)));
    return h("div", { class: "markdown" }, views);
  };
}

const plainView = memo((/** @type {Block} */ block) => blockView(block, null));

/** @param {Block[]} blocks @param {Mark | null} mark @param {"auto" | null} [dir] @returns {Child[]} */
const blocksView = (blocks, mark, dir) => blocks.map((block) => blockView(block, mark, dir));

/** @param {Block} block @param {Mark | null} mark @param {"auto" | null} dir null inside an element that takes its direction from its own text @returns {import("./dom.js").Described} */
function blockView(block, mark, dir = "auto") {
  switch (block.type) {
    case "paragraph":
      return h("p", { dir }, inlineView(block.inline, mark));
    case "heading":
      return h(`h${Math.min(6, ABOVE + block.level)}`, { dir }, inlineView(block.inline, mark));
    case "code":
      return fenceView(block, mark);
    case "list":
      return listView(block, mark, dir);
    case "quote":
      return h("blockquote", { dir }, blocksView(block.blocks, mark, null));
    case "table":
      return tableView(block, mark, dir);
    case "rule":
      return h("hr");
  }
}

/** @param {Extract<Block, {type: "code"}>} block @param {Mark | null} mark */
function fenceView({ language, lines }, mark) {
  const copy = { type: "button", class: "button small copy", "data-action": "copy", "aria-live": "polite" };
  const code = h("coloured-code", { language }, h("code", {}, codeView(lines, mark)));
  const block = h("pre", { tabindex: "0", "data-language": language || null }, code);
  return h("div", { class: "code-block" }, block, h("button", copy, t.turns.copy));
}

/** Show a table, which scrolls where it is wider than the page. @param {import("../markdown_table.js").Table} table @param {Mark | null} mark @param {"auto" | null} dir */
function tableView({ align, head, rows }, mark, dir) {
  const cell = (/** @type {string} */ tag) => (/** @type {Inline[]} */ inline, /** @type {number} */ column) => {
    const kind = { class: align[column] && `align-${align[column]}`, scope: tag === "th" ? "col" : null };
    return h(tag, kind, inlineView(inline, mark));
  };
  const row = (/** @type {string} */ tag, /** @type {Inline[][]} */ cells) => h("tr", {}, cells.map(cell(tag)));
  const body = h(
    "tbody",
    {},
    rows.map((cells) => row("td", cells)),
  );
  const region = { class: "table", role: "region", "aria-label": t.turns.table, tabindex: "0" };
  return h("div", region, h("table", { dir }, h("thead", {}, row("th", head)), body));
}

/** Show code. It is never spoken, so that only what a cut left unheard is marked in it. @param {Line[]} lines @param {Mark | null} mark @returns {Child[]} */
function codeView(lines, mark) {
  const from = mark?.kind === "unheard" ? mark.from : Infinity;
  const first = lines.findIndex(({ text, at }) => at + text.length > from);
  const joined = (/** @type {Line[]} */ part) => part.map(({ text }) => text).join("\n");
  if (first < 0) return [joined(lines)];
  const heard = lines
    .slice(0, first)
    .map(({ text }) => `${text}\n`)
    .join("");
  return [heard, h("span", { class: "unheard" }, joined(lines.slice(first)))];
}

/** @param {Extract<Block, {type: "list"}>} list @param {Mark | null} mark @param {"auto" | null} dir */
function listView({ start, items }, mark, dir) {
  const children = items.map(({ isDone, blocks }) => {
    const words = isDone ? t.turns.taskDone : t.turns.taskOpen;
    const box =
      isDone !== null && h("input", { type: "checkbox", disabled: true, checked: isDone, "aria-label": words });
    return h("li", { class: isDone === null ? null : "task" }, box, itemView(blocks, mark));
  });
  return start === null ? h("ul", { dir }, children) : h("ol", { dir, start: start === 1 ? null : start }, children);
}

/** Show the blocks of an item; a lone paragraph needs no element around it. @param {Block[]} blocks @param {Mark | null} mark @returns {Child[]} */
function itemView([first, ...rest], mark) {
  if (first?.type !== "paragraph") return blocksView(first ? [first, ...rest] : [], mark);
  return [...inlineView(first.inline, mark), ...blocksView(rest, mark)];
}

/** @param {Inline[]} inline @param {Mark | null} mark @returns {Child[]} */
const inlineView = (inline, mark) => inline.map((piece) => pieceView(piece, mark));

/** @param {Inline} piece @param {Mark | null} mark @returns {Child} */
function pieceView(piece, mark) {
  switch (piece.type) {
    case "text":
      return textView(piece.text, piece.at, mark);
    case "code":
      return h("code", {}, textView(piece.text, piece.at, mark));
    case "math":
      return h("tex-formula", { tex: piece.tex, "is-display": piece.isDisplay }, textView(piece.text, piece.at, mark));
    case "break":
      return h("br");
    case "strong":
    case "emphasis":
    case "strike":
      return h(TAGS[piece.type], {}, inlineView(piece.inline, mark));
    case "link":
      return h("a", { href: piece.href, target: "_blank", rel: "noopener noreferrer" }, inlineView(piece.inline, mark));
  }
}

/** @param {string} text @param {number} at @param {Mark | null} mark @returns {Child[]} */
function textView(text, at, mark) {
  const from = mark ? Math.max(0, mark.from - at) : text.length;
  const to = mark ? Math.max(from, mark.to - at) : text.length;
  const marked = text.slice(from, to);
  if (!mark || !marked) return [text];
  return [text.slice(0, from), h("span", { class: mark.kind }, marked), text.slice(to)];
}
