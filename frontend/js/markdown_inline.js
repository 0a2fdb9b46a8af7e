/**
 * Emphasis, links and code inside a line of Markdown.
 *
 * @typedef {{type: "text" | "code", text: string, at: number}
 *   | {type: "math", tex: string, text: string, isDisplay: boolean, at: number}
 *   | {type: "break"}
 *   | {type: "strong" | "emphasis" | "strike", inline: Inline[]}
 *   | {type: "link", href: string, inline: Inline[]}} Inline
 *   (of a formula, `text` is its source with the marks)
 * @typedef {import("./markdown.js").Line} Line
 */

const MAX_DEPTH = 8;
const BARE_URL = /https?:\/\/[^\s<>"'`*[\]{}|\\^]+/y;
const TRAILING = /(?<![.,;:!?)])[.,;:!?)]+$/; // an address does not end with the punctuation around it; looked for once
const ESCAPABLE = /[!-/:-@[-`{-~]/;
const WORD = /[\p{L}\p{N}_]/u;
const MATH_ENDS = /** @type {Record<string, string>} */ ({ "\\(": "\\)", "\\[": "\\]", $$: "$$", $: "$" });
const MAX_SHORT_MATH = 500; // characters between two single dollars
const NUMBERS = /^[\d\s,]+$/; // "\[1\]" is an escaped bracket
const PROSE = /^[^\\]*\p{L}{2,},? \p{L}{2,}[^\\]*$/u; // two words and no command: "$5, and he paid (US$)"

/** @param {Line[]} lines of one paragraph @returns {Inline[]} */
export function parseInline(lines) {
  const source = lines.map(({ text }) => text).join("\n");
  return new Scanner(source, lines).scan(0, source.length, 0);
}

/** The address if it may be followed, else null. @param {string} address */
export function safeHref(address) {
  try {
    const url = new URL(address);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null; // not an absolute address
  }
}

/** Reads one paragraph once; remembers which closing marks do not exist, so that it never looks for them again. */
class Scanner {
  /** @param {string} source @param {Line[]} lines */
  constructor(source, lines) {
    this.source = source;
    this.starts = lineStarts(lines);
    this.middle = -1; // the `](` last found, and its `)`; Infinity = there is none
    this.close = -1;
  }

  /** @param {number} start @param {number} end @param {number} depth @returns {Inline[]} */
  scan(start, end, depth) {
    /** @type {Inline[]} */
    const pieces = [];
    /** @type {Set<string>} marks that have no partner between here and `end` */
    const unpaired = new Set();
    let plain = start;
    for (let next = start; next < end;) {
      const found = this.#special(next, end, depth, unpaired);
      if (!found) {
        next += 1;
        continue;
      }
      this.#pushText(pieces, plain, next);
      if (found.piece) pieces.push(found.piece);
      plain = found.textFrom ?? found.end;
      next = found.end;
    }
    this.#pushText(pieces, plain, end);
    return pieces;
  }

  /** @param {number} at @param {number} end @param {number} depth @param {Set<string>} unpaired @returns {{piece: Inline | null, end: number, textFrom?: number} | null} */
  #special(at, end, depth, unpaired) {
    switch (this.source[at]) {
      case "$":
        return this.#math(at, end, unpaired, this.source[at + 1] === "$" ? "$$" : "$");
      case "\\": {
        const math = this.#math(at, end, unpaired, this.source.slice(at, at + 2));
        if (math) return math;
        const isEscape = at + 1 < end && ESCAPABLE.test(this.source[at + 1] ?? "");
        return isEscape ? { piece: null, textFrom: at + 1, end: at + 2 } : null; // the backslash goes
      }
      case "\n":
        return { piece: { type: "break" }, end: at + 1 };
      case "`":
        return this.#code(at, end, unpaired);
      case "*":
      case "_":
      case "~":
        return depth < MAX_DEPTH ? this.#emphasis(at, end, depth, unpaired) : null;
      case "[":
        return depth < MAX_DEPTH ? this.#link(at, end, unpaired) : null;
      case "h":
        return this.#bareUrl(at, end);
      default:
        return null;
    }
  }

  /** @param {number} at @param {number} end @param {Set<string>} unpaired @param {string} mark */
  #math(at, end, unpaired, mark) {
    const closing = MATH_ENDS[mark];
    if (!closing || unpaired.has(mark)) return null;
    const from = at + mark.length;
    const close = mark === "$" ? this.#closingDollar(from, end) : this.source.indexOf(closing, from);
    if (close < 0 || close + closing.length > end) {
      if (mark !== "$") unpaired.add(mark);
      return null;
    }
    const tex = this.source.slice(from, close).trim();
    const isProse = mark === "$" ? PROSE.test(tex) : mark !== "$$" && NUMBERS.test(tex);
    if (!tex || isProse) return null;
    const stop = close + closing.length;
    const isDisplay = mark === "$$" || mark === "\\[";
    const type = /** @type {const} */ ("math");
    return { piece: { type, tex, text: this.source.slice(at, stop), isDisplay, at: this.#at(at) }, end: stop };
  }

  /** The dollar that ends a formula stands after no blank and before no digit: "$5 to $10" holds none. @param {number} from @param {number} end */
  #closingDollar(from, end) {
    if (/\s/.test(this.source[from] ?? " ")) return -1;
    const last = Math.min(end, from + MAX_SHORT_MATH);
    for (let at = from + 1; at < last; at += 1) {
      if (this.source[at] !== "$" || this.source[at - 1] === "\\") continue;
      return /\s/.test(this.source[at - 1] ?? "") || /\d/.test(this.source[at + 1] ?? "") ? -1 : at;
    }
    return -1;
  }

  /** @param {number} at @param {number} end @param {Set<string>} unpaired */
  #code(at, end, unpaired) {
    const mark = "`".repeat(this.#run(at, end));
    const from = at + mark.length;
    if (unpaired.has(mark)) return { piece: null, textFrom: at, end: from };
    for (let close = this.source.indexOf("`", from); close >= 0 && close < end;) {
      const length = this.#run(close, end);
      if (length === mark.length) {
        const text = this.source.slice(from, close).replaceAll("\n", " ");
        return { piece: { type: /** @type {const} */ ("code"), text, at: this.#at(from) }, end: close + length };
      }
      close = this.source.indexOf("`", close + length);
    }
    unpaired.add(mark);
    return { piece: null, textFrom: at, end: from };
  }

  /** @param {number} at @param {number} end @param {number} depth @param {Set<string>} unpaired */
  #emphasis(at, end, depth, unpaired) {
    const char = this.source[at] ?? "";
    const run = this.#run(at, end);
    const length = char === "~" ? 2 : run >= 2 ? 2 : 1;
    const mark = char.repeat(length);
    const skip = { piece: null, textFrom: at, end: at + run };
    if (run < length || unpaired.has(mark) || !this.#opens(at, run, end)) return skip;
    const close = this.#closing(mark, at + length, end);
    if (close < 0) {
      unpaired.add(mark);
      return skip;
    }
    const type = char === "~" ? "strike" : length === 2 ? "strong" : "emphasis";
    const inline = this.scan(at + length, close, depth + 1);
    return { piece: /** @type {Inline} */ ({ type, inline }), end: close + length };
  }

  /** @param {number} at @param {number} run @param {number} end */
  #opens(at, run, end) {
    const before = this.source[at - 1] ?? " ";
    const after = at + run < end ? (this.source[at + run] ?? " ") : " ";
    return !/\s/.test(after) && (this.source[at] !== "_" || !WORD.test(before));
  }

  /** @param {string} mark @param {number} from @param {number} end */
  #closing(mark, from, end) {
    const char = mark[0] ?? "";
    for (let at = this.source.indexOf(char, from + 1); at >= 0 && at < end;) {
      const run = this.#run(at, end);
      const after = at + run < end ? (this.source[at + run] ?? " ") : " ";
      const isClosing = !/\s/.test(this.source[at - 1] ?? " ") && (char !== "_" || !WORD.test(after));
      const isFitting = mark.length === 2 ? run >= 2 : run !== 2;
      if (isClosing && isFitting) return at + run - mark.length;
      at = this.source.indexOf(char, at + run);
    }
    return -1;
  }

  /** @param {number} at @param {number} end @param {Set<string>} unpaired */
  #link(at, end, unpaired) {
    if (unpaired.has("[")) return null;
    if (this.middle <= at) this.#findLink(at);
    const { middle, close } = this;
    if (close >= end) {
      unpaired.add("[");
      return null;
    }
    if (this.source.lastIndexOf("[", middle) !== at) return null; // a later bracket is the nearer partner
    const [address = ""] = this.source
      .slice(middle + 2, close)
      .trim()
      .split(/\s/, 1);
    const href = safeHref(address);
    if (!href) return { piece: null, textFrom: at, end: close + 1 };
    const inline = this.scan(at + 1, middle, MAX_DEPTH);
    return { piece: { type: /** @type {const} */ ("link"), href, inline }, end: close + 1 };
  }

  /** The next `](` and the `)` after it: found once for all brackets before them. @param {number} at */
  #findLink(at) {
    const middle = this.source.indexOf("](", at + 1);
    const close = middle < 0 ? -1 : this.source.indexOf(")", middle + 2);
    this.middle = middle < 0 ? Infinity : middle;
    this.close = close < 0 ? Infinity : close;
  }

  /** @param {number} at @param {number} end */
  #bareUrl(at, end) {
    if (WORD.test(this.source[at - 1] ?? " ")) return null;
    BARE_URL.lastIndex = at;
    const found = BARE_URL.exec(this.source)?.[0]
      .slice(0, end - at)
      .replace(TRAILING, "");
    const href = found && safeHref(found); // most words that begin with an h are none
    if (!href) return null;
    const inline = [{ type: /** @type {const} */ ("text"), text: found, at: this.#at(at) }];
    return { piece: { type: /** @type {const} */ ("link"), href, inline }, end: at + found.length };
  }

  /** How often the character at `at` stands there in a row. @param {number} at @param {number} end */
  #run(at, end) {
    let next = at + 1;
    while (next < end && this.source[next] === this.source[at]) next += 1;
    return next - at;
  }

  /** @param {Inline[]} pieces @param {number} from @param {number} to */
  #pushText(pieces, from, to) {
    if (to > from) pieces.push({ type: "text", text: this.source.slice(from, to), at: this.#at(from) });
  }

  /** Where a place of this paragraph stands in the whole source. @param {number} place */
  #at(place) {
    let line = 0;
    for (let step = 1 << 30; step >= 1; step >>= 1) {
      if ((this.starts[line + step]?.[0] ?? Infinity) <= place) line += step;
    }
    const [start, at] = this.starts[line] ?? [0, 0];
    return at + place - start;
  }
}

/** @param {Line[]} lines @returns {[start: number, at: number][]} */
function lineStarts(lines) {
  let start = 0;
  return lines.map(({ text, at }) => {
    const entry = /** @type {[number, number]} */ ([start, at]);
    start += text.length + 1;
    return entry;
  });
}
