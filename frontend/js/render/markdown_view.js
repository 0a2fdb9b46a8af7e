/**
 * Markdown → elements. A part of the source can be marked: the sentence that is being said,
 * or what a cut left unheard.
 *
 * @typedef {import("../markdown.js").Block} Block
 * @typedef {import("../markdown_inline.js").Inline} Inline
 * @typedef {import("./dom.js").Child} Child
 *
 * @typedef {{from: number, to: number, kind: "saying" | "unheard"}} Mark characters of the source, and the class that they get
 */

import { growingMarkdown, parseMarkdown } from "../markdown.js";
import { h, memo } from "./dom.js";
import { t } from "../strings.js";

/** @param {string} source */
export function markdownView(source) {
  return h("div", { class: "markdown" }, blocksView(parseMarkdown(source), null));
}

/**
 * For one text that grows, and is drawn again and again: what stands in it already costs nothing.
 *
 * @returns {(source: string, mark?: Mark | null) => import("./dom.js").Described}
 */
export function growingView() {
  const read = growingMarkdown();
  return (source, mark = null) =>
    h(
      "div",
      { class: "markdown" },
      read(source).map(({ block, at, end }) =>
        mark && mark.from < end && at < mark.to ? blockView(block, mark) : plainView(block),
      ),
    );
}

const plainView = memo((/** @type {Block} */ block) => blockView(block, null));

/** @param {Block[]} blocks @param {Mark | null} mark @param {"auto" | null} [dir] @returns {Child[]} */
function blocksView(blocks, mark, dir) {
  return blocks.map((block) => blockView(block, mark, dir));
}

/**
 * @param {Block} block @param {Mark | null} mark
 * @param {"auto" | null} dir null: as what it stands in, which finds its direction in text that has none of its own
 * @returns {import("./dom.js").Described}
 */
function blockView(block, mark, dir = "auto") {
  switch (block.type) {
    case "paragraph":
      return h("p", { dir }, inlineView(block.inline, mark));
    case "heading":
      // Under the page's own headings, whatever the model counts from.
      return h(block.level <= 2 ? "h3" : "h4", { dir }, inlineView(block.inline, mark));
    case "code":
      return h(
        "div",
        { class: "code-block" },
        h(
          "pre",
          { tabindex: "0", "data-language": block.language || null },
          h("code", {}, codeView(block.lines, mark)),
        ),
        h("button", { type: "button", class: "button small copy", "data-action": "copy", "aria-live": "polite" }, t.turns.copy),
      );
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

/** Scrolls by itself where it is wider than the page. @param {import("../markdown_table.js").Table} table @param {Mark | null} mark @param {"auto" | null} dir */
function tableView({ align, head, rows }, mark, dir) {
  const cells = (/** @type {string} */ tag, /** @type {Inline[][]} */ row) =>
    row.map((inline, column) =>
      h(
        tag,
        { class: align[column] && `align-${align[column]}`, scope: tag === "th" ? "col" : null },
        inlineView(inline, mark),
      ),
    );
  return h(
    "div",
    { class: "table", role: "region", "aria-label": t.turns.table, tabindex: "0" },
    h(
      "table",
      { dir },
      h("thead", {}, h("tr", {}, cells("th", head))),
      h(
        "tbody",
        {},
        rows.map((row) => h("tr", {}, cells("td", row))),
      ),
    ),
  );
}

/**
 * Code is never said, so that only what a cut left unheard is marked in it.
 *
 * @param {import("../markdown.js").Line[]} lines @param {Mark | null} mark @returns {Child[]}
 */
function codeView(lines, mark) {
  const from = mark?.kind === "unheard" ? mark.from : Infinity;
  const first = lines.findIndex(({ text, at }) => at + text.length > from);
  const joined = (/** @type {import("../markdown.js").Line[]} */ part) => part.map(({ text }) => text).join("\n");
  if (first < 0) return [joined(lines)];
  const heard = lines.slice(0, first).map(({ text }) => `${text}\n`).join(""); // prettier-ignore
  return [heard, h("span", { class: "unheard" }, joined(lines.slice(first)))];
}

/** @param {Extract<Block, {type: "list"}>} list @param {Mark | null} mark @param {"auto" | null} dir */
function listView({ start, items }, mark, dir) {
  const children = items.map((blocks) => h("li", {}, itemView(blocks, mark)));
  if (start === null) return h("ul", { dir }, children);
  return h("ol", { dir, start: start === 1 ? null : start }, children);
}

/**
 * A lone paragraph in an item needs no paragraph around it.
 *
 * @param {Block[]} blocks
 * @param {Mark | null} mark
 * @returns {Child[]}
 */
function itemView([first, ...rest], mark) {
  if (first?.type !== "paragraph") return blocksView(first ? [first, ...rest] : [], mark);
  return [...inlineView(first.inline, mark), ...blocksView(rest, mark)];
}

/** @param {Inline[]} inline @param {Mark | null} mark @returns {Child[]} */
function inlineView(inline, mark) {
  return inline.flatMap((piece) => pieceView(piece, mark));
}

/** @param {Inline} piece @param {Mark | null} mark @returns {Child[]} */
function pieceView(piece, mark) {
  switch (piece.type) {
    case "text":
      return textView(piece.text, piece.at, mark);
    case "code":
      return [h("code", {}, textView(piece.text, piece.at, mark))];
    case "math":
      return [h("tex-formula", { tex: piece.tex, "is-display": piece.isDisplay }, textView(piece.text, piece.at, mark))];
    case "break":
      return [h("br")];
    case "strong":
      return [h("strong", {}, inlineView(piece.inline, mark))];
    case "emphasis":
      return [h("em", {}, inlineView(piece.inline, mark))];
    case "strike":
      return [h("s", {}, inlineView(piece.inline, mark))];
    case "link":
      return [
        h("a", { href: piece.href, target: "_blank", rel: "noopener noreferrer" }, inlineView(piece.inline, mark)),
      ];
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
