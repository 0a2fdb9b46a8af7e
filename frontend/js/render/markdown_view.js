/**
 * Markdown → elements. Characters from `said` on are still only streamed: they
 * stand there, paler, until the sentence they belong to is reached.
 *
 * @typedef {import("../markdown.js").Block} Block
 * @typedef {import("../markdown_inline.js").Inline} Inline
 * @typedef {import("./dom.js").Child} Child
 */

import { growingMarkdown, parseMarkdown } from "../markdown.js";
import { h, memo } from "./dom.js";
import { t } from "../strings.js";

/** @param {string} source */
export function markdownView(source) {
  return h("div", { class: "markdown" }, blocksView(parseMarkdown(source), source.length));
}

/**
 * For one text that grows, and is drawn again and again: what stands in it already costs nothing.
 *
 * @returns {(source: string, said?: number) => import("./dom.js").Described}
 */
export function growingView() {
  const read = growingMarkdown();
  return (source, said = source.length) =>
    h(
      "div",
      { class: "markdown" },
      read(source).map(({ block, at, end }) => {
        if (said >= end) return saidView(block);
        return said <= at ? aheadView(block) : blockView(block, said);
      }),
    );
}

const saidView = memo((/** @type {Block} */ block) => blockView(block, Infinity));
const aheadView = memo((/** @type {Block} */ block) => blockView(block, 0));

/** @param {Block[]} blocks @param {number} said @param {"auto" | null} [dir] @returns {Child[]} */
function blocksView(blocks, said, dir) {
  return blocks.map((block) => blockView(block, said, dir));
}

/**
 * @param {Block} block @param {number} said
 * @param {"auto" | null} dir null: as what it stands in, which finds its direction in text that has none of its own
 * @returns {import("./dom.js").Described}
 */
function blockView(block, said, dir = "auto") {
  switch (block.type) {
    case "paragraph":
      return h("p", { dir }, inlineView(block.inline, said));
    case "heading":
      // Under the page's own headings, whatever the model counts from.
      return h(block.level <= 2 ? "h3" : "h4", { dir }, inlineView(block.inline, said));
    case "code":
      return h(
        "div",
        { class: "code-block" },
        h(
          "pre",
          { tabindex: "0", "data-language": block.language || null },
          h("code", {}, codeView(block.lines, said)),
        ),
        h("button", { type: "button", class: "button small copy", "data-action": "copy", "aria-live": "polite" }, t.turns.copy),
      );
    case "list":
      return listView(block, said, dir);
    case "quote":
      return h("blockquote", { dir }, blocksView(block.blocks, said, null));
    case "table":
      return tableView(block, said, dir);
    case "rule":
      return h("hr");
  }
}

/** Scrolls by itself where it is wider than the page. @param {import("../markdown_table.js").Table} table @param {number} said @param {"auto" | null} dir */
function tableView({ align, head, rows }, said, dir) {
  const cells = (/** @type {string} */ tag, /** @type {Inline[][]} */ row) =>
    row.map((inline, column) =>
      h(
        tag,
        { class: align[column] && `align-${align[column]}`, scope: tag === "th" ? "col" : null },
        inlineView(inline, said),
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

/** @param {import("../markdown.js").Line[]} lines @param {number} said @returns {Child[]} */
function codeView(lines, said) {
  const isSaid = (/** @type {import("../markdown.js").Line} */ { text, at }) => at + text.length <= said;
  const heard = lines
    .filter(isSaid)
    .map(({ text }) => `${text}\n`)
    .join("");
  const ahead = lines
    .filter((line) => !isSaid(line))
    .map(({ text }) => text)
    .join("\n");
  return [ahead ? heard : heard.slice(0, -1), ahead && h("span", { class: "ahead" }, ahead)];
}

/** @param {Extract<Block, {type: "list"}>} list @param {number} said @param {"auto" | null} dir */
function listView({ start, items }, said, dir) {
  const children = items.map((blocks) => h("li", {}, itemView(blocks, said)));
  if (start === null) return h("ul", { dir }, children);
  return h("ol", { dir, start: start === 1 ? null : start }, children);
}

/**
 * A lone paragraph in an item needs no paragraph around it.
 *
 * @param {Block[]} blocks
 * @param {number} said
 * @returns {Child[]}
 */
function itemView([first, ...rest], said) {
  if (first?.type !== "paragraph") return blocksView(first ? [first, ...rest] : [], said);
  return [...inlineView(first.inline, said), ...blocksView(rest, said)];
}

/** @param {Inline[]} inline @param {number} said @returns {Child[]} */
function inlineView(inline, said) {
  return inline.flatMap((piece) => pieceView(piece, said));
}

/** @param {Inline} piece @param {number} said @returns {Child[]} */
function pieceView(piece, said) {
  switch (piece.type) {
    case "text":
      return textView(piece.text, piece.at, said);
    case "code":
      return [h("code", {}, textView(piece.text, piece.at, said))];
    case "break":
      return [h("br")];
    case "strong":
      return [h("strong", {}, inlineView(piece.inline, said))];
    case "emphasis":
      return [h("em", {}, inlineView(piece.inline, said))];
    case "strike":
      return [h("s", {}, inlineView(piece.inline, said))];
    case "link":
      return [
        h("a", { href: piece.href, target: "_blank", rel: "noopener noreferrer" }, inlineView(piece.inline, said)),
      ];
  }
}

/** @param {string} text @param {number} at @param {number} said @returns {Child[]} */
function textView(text, at, said) {
  const heard = text.slice(0, Math.max(0, said - at));
  const ahead = text.slice(heard.length);
  return [heard, ahead && h("span", { class: "ahead" }, ahead)];
}
