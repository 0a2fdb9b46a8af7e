/**
 * Two texts, line by line: what is gone, what is new, and what stayed. Pure.
 *
 * @typedef {{kind: "same" | "removed" | "added", text: string}} DiffLine
 */

const MAX_CELLS = 250_000; // of the table below; beyond it the middle counts as rewritten whole
const CONTEXT_LINES = 2;

/** @param {string} before @param {string} after @returns {DiffLine[]} */
export function diffLines(before, after) {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const shortest = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < shortest && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (tail < shortest - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  return [
    ...as("same", old.slice(0, head)),
    ...middle(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...as("same", old.slice(old.length - tail)),
  ];
}

/**
 * Return the lines that changed and a little around them, with null for a gap.
 *
 * @param {DiffLine[]} lines
 * @returns {(DiffLine | null)[]}
 */
export function withContext(lines) {
  const isNear = lines.map(() => false);
  lines.forEach(({ kind }, at) => {
    if (kind !== "same") isNear.fill(true, Math.max(0, at - CONTEXT_LINES), at + CONTEXT_LINES + 1);
  });
  return lines.flatMap((line, at) => {
    if (isNear[at]) return [line];
    return at === 0 || isNear[at - 1] ? [null] : [];
  });
}

/** Split a text into lines; an empty one has none. @param {string} text */
function linesOf(text) {
  return text === "" ? [] : text.split("\n");
}

/** @param {DiffLine["kind"]} kind @param {string[]} texts @returns {DiffLine[]} */
function as(kind, texts) {
  return texts.map((text) => ({ kind, text }));
}

/** Compare by the longest common subsequence. @param {string[]} old @param {string[]} fresh @returns {DiffLine[]} */
function middle(old, fresh) {
  if (old.length * fresh.length > MAX_CELLS) return [...as("removed", old), ...as("added", fresh)];
  const common = commonLengths(old, fresh);
  /** @type {DiffLine[]} */
  const lines = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && old[i] === fresh[j]) {
      lines.push({ kind: "same", text: old[i] ?? "" });
      i += 1;
      j += 1;
    } else if (i < old.length && (j === fresh.length || at(common, i + 1, j) >= at(common, i, j + 1))) {
      lines.push({ kind: "removed", text: old[i] ?? "" });
      i += 1;
    } else {
      lines.push({ kind: "added", text: fresh[j] ?? "" });
      j += 1;
    }
  }
  return lines;
}

/** Return, for each pair of places, how many lines the rests have in common. @param {string[]} old @param {string[]} fresh */
function commonLengths(old, fresh) {
  const table = Array.from({ length: old.length + 1 }, () => new Uint16Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    const row = /** @type {Uint16Array} */ (table[i]);
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      row[j] = old[i] === fresh[j] ? at(table, i + 1, j + 1) + 1 : Math.max(at(table, i + 1, j), row[j + 1] ?? 0);
    }
  }
  return table;
}

/** @param {Uint16Array[]} table @param {number} i @param {number} j */
function at(table, i, j) {
  return table[i]?.[j] ?? 0;
}
