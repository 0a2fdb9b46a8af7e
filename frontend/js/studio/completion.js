/**
 * What can be written at the cursor: keys and values of a hooks.json, from its JSON Schema; the next line of any file. Pure.
 *
 * @import { Step } from "./json_places.js"
 * @typedef {Record<string, any>} Schema
 * @typedef {{label: string, detail: string, insert: string}} Suggestion insert: in place of the text between the quotes and of the quotes
 * @typedef {{from: number, to: number, items: readonly Suggestion[]}} Completion
 */

import { placeAt } from "./json_places.js";

const MAX_ITEMS = 50;
export const INDENT = "  ";

/**
 * @param {Schema} schema @param {string} text @param {number} cursor @param {readonly string[]} files texts that a hook may name
 * @param {boolean} [isAsked] also where no string has been begun
 * @returns {Completion | null}
 */
export function complete(schema, text, cursor, files, isAsked = false) {
  const place = placeAt(text, cursor);
  if (!place) return isAsked ? completeNew(schema, text, cursor, files) : null;
  const found = place.path.reduce((kinds, step) => kinds.flatMap((kind) => inner(kind, step, schema)), variants(schema, schema));
  const all = place.kind === "key" ? keysOf(found, place.keys, schema) : valuesOf(found, place.path, files, schema);
  const typed = place.typed.toLowerCase();
  const isClosed = text[place.to] === '"';
  const hasColon = /^"\s*:/.test(text.slice(place.to));
  const whole = place.kind === "key" && !hasColon ? null : text.slice(place.from, place.to); // needs nothing more
  const items = all.filter(({ label }) => label.toLowerCase().startsWith(typed) && label !== whole);
  if (!items.length) return null;
  const shown = items.slice(0, MAX_ITEMS).map(({ label, detail, insert }) => ({ label, detail, insert: hasColon ? `"${label}"` : insert }));
  return { from: place.from - 1, to: place.to + (isClosed ? 1 : 0), items: shown };
}

/** As if a string had been begun at the cursor. @param {Schema} schema @param {string} text @param {number} cursor @param {readonly string[]} files */
function completeNew(schema, text, cursor, files) {
  const found = complete(schema, `${text.slice(0, cursor)}""${text.slice(cursor)}`, cursor + 1, files);
  return found && { ...found, to: found.to - 2 };
}

/** The schemas that a value may follow: references resolved, alternatives side by side. @param {Schema} schema @param {Schema} root @returns {Schema[]} */
function variants(schema, root) {
  const { $ref: reference, anyOf, oneOf } = schema;
  if (typeof reference === "string") {
    const target = reference.split("/").slice(1).reduce((/** @type {any} */ at, name) => at?.[name], root); // prettier-ignore
    return target ? variants(target, root).map((kind) => ({ ...kind, ...(schema.description && { description: schema.description }) })) : [];
  }
  const several = anyOf ?? oneOf;
  if (Array.isArray(several)) return several.flatMap((kind) => variants(kind, root));
  return [schema];
}

/** @param {Schema} schema @param {Step} step @param {Schema} root */
function inner(schema, step, root) {
  const { properties, items, additionalProperties } = schema;
  const next = typeof step === "number" ? items : (properties?.[step] ?? additionalProperties);
  return typeof next === "object" && next ? variants(next, root) : [];
}

/** @param {Schema[]} kinds @param {readonly string[]} taken @param {Schema} root @returns {Suggestion[]} */
function keysOf(kinds, taken, root) {
  const known = kinds.flatMap(({ properties }) => Object.entries(properties ?? {}));
  return known
    .filter(([key]) => !taken.includes(key))
    .map(([key, schema]) => ({ label: key, detail: detailOf(schema, root), insert: `"${key}": ${startOf(schema, root)}` }));
}

/** @param {Schema[]} kinds @param {readonly Step[]} path @param {readonly string[]} files @param {Schema} root @returns {Suggestion[]} */
function valuesOf(kinds, path, files, root) {
  const isFile = path.at(-1) === "file";
  const values = isFile ? files : kinds.flatMap(({ enum: options, const: only }) => options ?? (only === undefined ? [] : [only]));
  return values
    .filter((value) => typeof value === "string")
    .map((value) => ({ label: value, detail: isFile ? "" : detailOf({ anyOf: kinds }, root, value), insert: JSON.stringify(value) }));
}

/** @param {Schema} schema @param {Schema} root @param {string} [value] whose sentence is wanted: "value: what it means." */
function detailOf(schema, root, value) {
  const text = String(schema.description ?? variants(schema, root).find(({ description }) => description)?.description ?? "");
  if (value === undefined) return text;
  return text.split(". ").find((sentence) => sentence.startsWith(`${value}:`))?.slice(value.length + 2) ?? "";
}

/** What a value of this kind begins with: of yes and no, what is not so anyway. @param {Schema} schema @param {Schema} root @returns {string} */
function startOf(schema, root) {
  const kind = variants(schema, root).find(({ type }) => type !== "null") ?? {};
  switch (kind.type) {
    case "boolean":
      return String(schema.default === false);
    case "integer":
    case "number":
      return String(schema.default || 1);
    case "array":
      return `[${kind.items ? startOf(kind.items, root) : ""}]`;
    case "object":
      return "{}";
    default:
      return '""';
  }
}

/** What of an inserted key is to be filled in: between quotes or brackets, or its number. @param {string} insert @returns {[number, number] | null} */
export function blankIn(insert) {
  const found = /: (\[?["{]|\[|)(\d*)["}\]]*$/.exec(insert);
  if (!found) return null;
  const [, open = "", number = ""] = found;
  const from = found.index + 2 + open.length;
  return [from, from + number.length];
}

/** What Enter writes: a line as deep as the one before, or deeper in what was just opened; the cursor then goes back by `back`. @param {string} text @param {number} cursor @param {string} path of the file */
export function lineBreak(text, cursor, path) {
  const line = text.slice(text.lastIndexOf("\n", cursor - 1) + 1, cursor);
  const isYaml = path.endsWith(".yaml");
  const [before = ""] = (isYaml ? /^ *(?:- (?![[{]))?/ : /^\s*/).exec(line) ?? [];
  const indent = `\n${before.replace("-", " ")}`;
  const isOpen = (isYaml ? /[[{:]\s*$/ : /[[{]\s*$/).test(line);
  const rest = isOpen && "]}".includes(text[cursor] ?? " ") ? indent : "";
  return { text: `${indent}${isOpen ? INDENT : ""}${rest}`, back: rest.length };
}
