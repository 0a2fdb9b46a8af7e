/**
 * The form of a new hook: what is chosen in it becomes an entry of hooks.json. Pure.
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

/** @param {import("./state.js").State["hook"]} form @returns {Record<string, unknown>} the entry, with its text in it */
export function hookOf({ name, text, timing, role, once, rows }) {
  const leaves = rows.map(({ key, value, isNot }) => {
    const leaf = { [key]: READERS[CONDITIONS[/** @type {keyof typeof CONDITIONS} */ (key)]]?.(value) };
    return isNot ? { not: leaf } : leaf;
  });
  const keys = leaves.flatMap(Object.keys);
  const when = new Set(keys).size === keys.length ? Object.assign({}, ...leaves) : { all: leaves };
  const entry = { name: name.trim(), text, timing, role, persistent: false };
  return { ...entry, ...(rows.length > 0 && { when }), ...(once && { once: "conversation" }) };
}
