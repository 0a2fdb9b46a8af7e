/**
 * Two documents beside each other, line by line. Pure.
 *
 * @typedef {import("./document.js").PolicyDocument} PolicyDocument
 * @typedef {import("./document.js").Stage} Stage
 * @typedef {{kind: "same" | "mine" | "theirs", text: string}} Line
 */

import { STAGES, canonical } from "./document.js";

const MAX_LINES = 500; // comparing costs their product; beyond it both stand whole, one after the other

/** The stages that differ. @param {PolicyDocument} mine @param {PolicyDocument} theirs @returns {Stage[]} */
export function differing(mine, theirs) {
  return STAGES.filter((name) => canonical(only(mine, name)) !== canonical(only(theirs, name)));
}

/** @param {PolicyDocument} document @param {Stage} name @returns {PolicyDocument} */
function only(document, name) {
  const stage = document[name];
  return stage ? { [name]: stage } : {};
}

/** @param {PolicyDocument} mine @param {PolicyDocument} theirs @param {Stage} stage @returns {Line[]} */
export function compare(mine, theirs, stage) {
  return compareLines(linesOf(mine, stage), linesOf(theirs, stage));
}

/** @param {PolicyDocument} document @param {Stage} name */
function linesOf(document, name) {
  const stage = JSON.parse(canonical(only(document, name)))[name];
  return stage ? JSON.stringify(stage, null, 2).split("\n") : [];
}

/** By the longest common subsequence. @param {string[]} mine @param {string[]} theirs @returns {Line[]} */
export function compareLines(mine, theirs) {
  if (mine.length > MAX_LINES || theirs.length > MAX_LINES)
    return [...theirs.map((text) => line("theirs", text)), ...mine.map((text) => line("mine", text))];
  const common = commonLengths(mine, theirs);
  /** @type {Line[]} */
  const lines = [];
  for (let i = 0, j = 0; i < mine.length || j < theirs.length;) {
    const [left, right] = [mine[i], theirs[j]];
    if (left !== undefined && left === right) (lines.push(line("same", left)), i++, j++);
    else if (right !== undefined && (left === undefined || at(common, i, j + 1) >= at(common, i + 1, j)))
      (lines.push(line("theirs", right)), j++);
    else (lines.push(line("mine", left ?? "")), i++);
  }
  return lines;
}

/** @param {Line["kind"]} kind @param {string} text @returns {Line} */
function line(kind, text) {
  return { kind, text };
}

/** [i][j]: how many lines `mine` from i and `theirs` from j have in common. @param {string[]} mine @param {string[]} theirs */
function commonLengths(mine, theirs) {
  const table = Array.from({ length: mine.length + 1 }, () => new Uint16Array(theirs.length + 1));
  for (let i = mine.length - 1; i >= 0; i--)
    for (let j = theirs.length - 1; j >= 0; j--)
      /** @type {Uint16Array} */ (table[i])[j] =
        mine[i] === theirs[j] ? at(table, i + 1, j + 1) + 1 : Math.max(at(table, i + 1, j), at(table, i, j + 1));
  return table;
}

/** @param {Uint16Array[]} table @param {number} i @param {number} j */
function at(table, i, j) {
  return table[i]?.[j] ?? 0;
}
