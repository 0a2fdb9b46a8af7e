/**
 * Places in a JSON text that is being written: what stands at the cursor, and in which line a path is. It need not be
 * valid: what comes before a mistake is understood. Pure.
 *
 * @typedef {string | number} Step a key, or an index of a list
 * @typedef {Readonly<Record<string, string>>} Texts the values of an object that are texts, by key
 * @typedef {{isList: boolean, step: Step, keys: string[], texts: Record<string, string>}} Level
 * @typedef {object} Place
 * @property {readonly Step[]} path of the key's object, or of the value
 * @property {readonly Texts[]} texts before the cursor: of each object or list that the path leads through
 * @property {"key" | "value"} kind
 * @property {readonly string[]} keys that the object has, but for the one at the cursor
 * @property {number} from @property {number} to of the text inside the quotes
 */

const STRING = /"(?:[^"\\\n]|\\.)*"?/y;

/**
 * Walk through the text; `visit` gets each key, each item of a list and each string, with the levels around it.
 *
 * @param {string} text
 * @param {(found: {type: "key" | "item" | "string", from: number, to: number, levels: Level[]}) => boolean | void} visit
 *   true ends the walk
 */
function walk(text, visit) {
  /** @type {Level[]} */
  const levels = [];
  let isKey = false; // the next string is a key
  let isItem = false; // the next thing is an item of a list
  for (let at = 0; at < text.length;) {
    const sign = text[at] ?? "";
    const level = levels.at(-1);
    if (isItem && /[^\s\],]/.test(sign)) {
      isItem = false;
      if (visit({ type: "item", from: at, to: at + 1, levels })) return;
    }
    if (sign === '"') {
      STRING.lastIndex = at;
      const to = at + (STRING.exec(text)?.[0].length ?? 1);
      const isAtKey = isKey && level && !level.isList;
      if (isAtKey) level.step = unquoted(text.slice(at, to));
      if (visit({ type: isAtKey ? "key" : "string", from: at, to, levels })) return;
      if (isAtKey) level.keys.push(String(level.step));
      else if (level) level.texts[level.step] = unquoted(text.slice(at, to));
      isKey = false;
      at = to;
      continue;
    }
    if (sign === "{" || sign === "[") {
      levels.push({ isList: sign === "[", step: sign === "[" ? 0 : "", keys: [], texts: {} });
      isKey = sign === "{";
      isItem = sign === "[";
    } else if (sign === "}" || sign === "]") {
      levels.pop();
    } else if (sign === "," && level) {
      if (typeof level.step === "number") level.step += 1;
      isKey = !level.isList;
      isItem = level.isList;
    }
    at += 1;
  }
}

/** @param {string} quoted perhaps without its end */
function unquoted(quoted) {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.replace(/^"|"$/g, "");
  }
}

/** Return the string around the cursor, as a key or a value; null if the cursor is in no string. @param {string} text @param {number} cursor @returns {Place | null} */
export function placeAt(text, cursor) {
  /** @type {Place | null} */
  let place = null;
  walk(text, ({ type, from, to, levels }) => {
    if (from >= cursor) return true;
    const isClosed = to - from > 1 && text[to - 1] === '"';
    const end = isClosed ? to - 1 : to;
    if (type === "item" || cursor > end) return false;
    const steps = levels.map(({ step }) => step);
    const path = type === "key" ? steps.slice(0, -1) : steps;
    const { keys = [] } = levels.at(-1) ?? {};
    // A string that is just being typed has no end yet: what follows is not its own.
    const isOpen = !isClosed || /[\s,:{}[\]]/.test(text.slice(cursor, end));
    const texts = levels.map((level) => ({ ...level.texts }));
    const kind = type === "key" ? "key" : "value";
    place = { path, texts, kind, keys: [...keys], from: from + 1, to: isOpen ? cursor : end };
    return true;
  });
  return place;
}

/** Return the line of a JSON path such as `$.hooks[1].when`, or of its longest part that exists; counted from 1. @param {string} text @param {string} path */
export function lineOfPath(text, path) {
  const wanted = stepsOf(path);
  let best = { length: 0, offset: text.length - text.trimStart().length };
  walk(text, ({ type, from, levels }) => {
    if (type === "string") return false;
    const steps = levels.map(({ step }) => step);
    const isOnTheWay = steps.length <= wanted.length && steps.every((step, index) => step === wanted[index]);
    if (isOnTheWay && steps.length > best.length) best = { length: steps.length, offset: from };
    return best.length === wanted.length && wanted.length > 0;
  });
  return lineAt(text, best.offset);
}

/** @param {string} text @param {number} offset counted from 0; the line is counted from 1 */
export const lineAt = (text, offset) => text.slice(0, offset).split("\n").length;

/** @param {string} path @returns {Step[]} */
export function stepsOf(path) {
  return [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]/g)].map(([, key, index]) => key ?? Number(index));
}
