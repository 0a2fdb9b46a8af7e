/**
 * New hooks: what is chosen in the form becomes an entry, and entries are written into the text of hooks.json. Pure.
 *
 * @typedef {{key: string, value: string, isNot: boolean}} Row one condition, its value as it is written
 */

/** How the value of a condition is written. */
export const CONDITIONS = /** @type {const} */ ({
  user_text: "list",
  last_reply: "list",
  language: "list",
  channel: "text",
  time: "clock",
  turn: "count",
  context: "pairs",
  variables: "pairs",
  tool: "list",
  tool_status: "list",
  tool_result: "list",
  user: "list",
  spoken: "true",
  interrupted: "true",
  attachments: "list",
  chance: "number",
});

/** @type {Readonly<Record<string, (text: string) => unknown>>} */
const READERS = {
  list: (text) => partsOf(text, ","),
  text: (text) => text.trim(),
  number: (text) => Number(text),
  true: () => true,
  count(text) {
    const [min, max] = text.split("-").map((part) => Number(part) || undefined);
    return text.includes("-") ? { min, max } : min;
  },
  clock(text) {
    const [span = "", ...days] = text.trim().split(/[\s,]+/);
    const [from, to] = span.includes(":") ? span.split("-") : [];
    const chosen = from ? days : [span, ...days];
    return { ...(from && { from }), ...(to && { to }), ...(chosen.length > 0 && { days: chosen }) };
  },
  pairs: (text) => Object.fromEntries(partsOf(text, ";").map(pairOf)),
};

/** @param {string} text @param {string} mark */
const partsOf = (text, mark) =>
  text
    .split(mark)
    .map((part) => part.trim())
    .filter(Boolean);

/** @param {string} text `plan=pro`, `score=3` @returns {[string, unknown]} */
function pairOf(text) {
  const [name = "", value = ""] = text.split("=").map((part) => part.trim());
  try {
    return [name, JSON.parse(value)];
  } catch {
    return [name, value];
  }
}

/** @param {import("./state.js").State["hook"]} form @returns {Record<string, unknown>} its entry of hooks.json */
export function hookOf({ name, timing, role, once, rows }) {
  const leaves = rows.map(({ key, value, isNot }) => {
    const leaf = { [key]: READERS[CONDITIONS[/** @type {keyof typeof CONDITIONS} */ (key)]]?.(value) };
    return isNot ? { not: leaf } : leaf;
  });
  const keys = leaves.flatMap(Object.keys);
  const when = new Set(keys).size === keys.length ? Object.assign({}, ...leaves) : { all: leaves };
  const entry = { name: name.trim(), file: `${name.trim()}.md`, timing, role, persistent: false };
  return { ...entry, ...(rows.length > 0 && { when }), ...(once && { once: "conversation" }) };
}

const TOKENS = /"(?:[^"\\]|\\.)*"|[[\]{}]/g;

/**
 * Write hooks and variables behind those that stand in a hooks.json; every other character stays.
 *
 * @param {string} text "" for a file that there is not yet @param {readonly object[]} hooks @param {Readonly<Record<string, unknown>>} [variables]
 * @returns {string | null} null if the text has no place for them
 */
export function withHooks(text, hooks, variables = {}) {
  const document = text.trim() ? text : "{}\n";
  const named = Object.entries(variables).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  try {
    const { hooks: there = [], variables: values = {} } = JSON.parse(document);
    if (!Array.isArray(there) || typeof values !== "object" || document.trim()[0] !== "{") return null;
  } catch {
    return null;
  }
  const declared = named.length > 0 ? withMembers(document, "variables", "{}", named) : document;
  return withMembers(declared, "hooks", "[]", hooks.map(spaced));
}

/** @param {object} entry on one line, as people write it */
const spaced = (entry) =>
  JSON.stringify(entry, null, 1)
    .replace(/([[{])\n */g, "$1")
    .replace(/\n *([\]}])/g, "$1")
    .replace(/\n */g, " "); // in strings there is no line break

/** @param {string} text @param {string} key @param {string} empty what the key begins with @param {readonly string[]} members @returns {string} */
function withMembers(text, key, empty, members) {
  const spans = spansOf(text);
  const span = spans[key];
  if (span) return appended(text, span, members);
  return withMembers(appended(text, spans[""] ?? [0, 0], [`"${key}": ${empty}`]), key, empty, members);
}

/** Return where the lists and objects of the whole begin and end, by key; the whole itself by "". @param {string} text */
function spansOf(text) {
  /** @type {Record<string, [number, number]>} */
  const spans = {};
  let [depth, key, from, first] = [0, "", 0, 0];
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if (token === "{" || token === "[") {
      if (depth === 0) first = index;
      if (depth === 1) from = index;
      depth += 1;
    } else if (token === "}" || token === "]") {
      depth -= 1;
      if (depth === 1) spans[key] = [from, index];
      if (depth === 0) spans[""] = [first, index];
    } else if (depth === 1) key = JSON.parse(token);
  }
  return spans;
}

/** Add members before the bracket that closes the span, set apart as those that it has. @param {string} text @param {[number, number]} span @param {readonly string[]} members */
function appended(text, [from, to], members) {
  const inner = text.slice(from + 1, to);
  if (inner.trim()) {
    const space = /^\s*\n\s*/.exec(inner)?.[0] ?? " ";
    const end = from + 1 + inner.trimEnd().length;
    return text.slice(0, end) + members.map((member) => `,${space}${member}`).join("") + text.slice(end);
  }
  const margin = `\n${/^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", from) + 1))?.[0] ?? ""}`;
  const lines = members.join(`,${margin}  `);
  return `${text.slice(0, from + 1)}${margin}  ${lines}${margin}${text.slice(to)}`;
}
