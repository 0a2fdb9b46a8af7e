/**
 * `<coloured-code language="…">`: colours the code inside by highlight.js, which the first block loads. Where it was not
 * installed, or the browser knows no CSS highlights, code stays as it is. The document itself does not change: what is
 * marked, selected or copied in it is what was written.
 */

const VENDOR = new URL("../../vendor/", import.meta.url).href;
const MAX_CHARS = 20_000;
const PAUSE_MS = 200; // code that streams in is coloured again no more often

/** `::highlight(code-…)` in css/conversation.css → what highlight.js finds. */
const COLOURS = {
  keyword: ["keyword", "built_in", "type", "literal", "selector-tag", "name"],
  string: ["string", "regexp", "char", "addition"],
  number: ["number", "symbol"],
  name: ["title", "attr", "attribute", "property", "section", "selector-class", "variable"],
  comment: ["comment", "quote", "meta", "deletion"],
};
const KINDS = new Map(Object.entries(COLOURS).flatMap(([kind, found]) => found.map((name) => [name, kind])));

/** @type {Promise<any> | null} highlight.js, loaded at the first code block; null where it cannot be had */
let library = null;

function loadLibrary() {
  library ??= import(`${VENDOR}highlight.js`).then(
    (module) => module.default,
    () => null,
  );
  return library;
}

class ColouredCode extends HTMLElement {
  static observedAttributes = ["language"];
  /** @type {{highlight: Highlight, range: AbstractRange}[]} */
  #coloured = [];
  #timer = 0;
  #observer = new MutationObserver(() => this.#colourSoon());

  connectedCallback() {
    this.#observer.observe(this, { childList: true, characterData: true, subtree: true });
    this.#colourSoon();
  }

  disconnectedCallback() {
    this.#observer.disconnect();
    this.#clear();
  }

  attributeChangedCallback() {
    if (this.isConnected) this.#colourSoon();
  }

  #colourSoon() {
    this.#timer ||= window.setTimeout(() => void this.#colour(), PAUSE_MS);
  }

  async #colour() {
    this.#timer = 0;
    const language = this.getAttribute("language") ?? "";
    const code = this.textContent ?? "";
    const isFit = language && code.length <= MAX_CHARS && "highlights" in CSS;
    const highlighter = isFit ? await loadLibrary() : null;
    if (!this.isConnected || code !== this.textContent) return; // it has gone on, and is coloured then
    this.#clear();
    if (!highlighter?.getLanguage(language)) return;
    const texts = textsOf(this);
    for (const { kind, from, to } of tokensOf(highlighter.highlight(code, { language, ignoreIllegals: true }).value)) {
      const [startContainer, startOffset] = placeIn(texts, from);
      const [endContainer, endOffset] = placeIn(texts, to);
      const range = new StaticRange({ startContainer, startOffset, endContainer, endOffset });
      const highlight = highlightOf(kind);
      highlight.add(range);
      this.#coloured.push({ highlight, range });
    }
  }

  #clear() {
    for (const { highlight, range } of this.#coloured) highlight.delete(range);
    this.#coloured = [];
  }
}

/** @param {string} kind */
function highlightOf(kind) {
  const name = `code-${kind}`;
  const highlight = CSS.highlights.get(name) ?? new Highlight();
  CSS.highlights.set(name, highlight);
  return highlight;
}

/** Return the pieces that have a colour. The HTML is only read, in a document of its own that runs and loads nothing. @param {string} html of highlight.js */
function tokensOf(html) {
  const { body } = new DOMParser().parseFromString(`<body><span></span>${html}`, "text/html");
  let at = 0;
  return textsOf(body).flatMap((text) => {
    const from = at;
    at += text.data.length;
    const [, found = ""] = /hljs-([\w-]+)/.exec(text.parentElement?.className ?? "") ?? [];
    const kind = KINDS.get(found);
    return kind ? [{ kind, from, to: at }] : [];
  });
}

/** @param {Node} root */
function textsOf(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
  return texts;
}

/** @param {readonly Text[]} texts @param {number} offset in all of them @returns {[Node, number]} */
function placeIn(texts, offset) {
  let rest = offset;
  const text = texts.find(({ data }) => {
    if (rest <= data.length) return true;
    rest -= data.length;
    return false;
  });
  return [/** @type {Text} */ (text), rest];
}

if (globalThis.customElements) customElements.define("coloured-code", ColouredCode); // Node, in tests, has none
