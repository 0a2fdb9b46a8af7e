/**
 * What can be written at the cursor of a JSON text: keys and values, from its JSON Schema. Pure.
 *
 * @import { Step, Texts } from "./json_places.js"
 * @typedef {Record<string, any>} Schema
 * @typedef {{label: string, detail: string, insert: string, value: string}} Suggestion
 *   insert: in place of the string at the cursor, with its quotes; value: what the value of an inserted key begins with
 * @typedef {{from: number, to: number, quotes: readonly [number, number], items: readonly Suggestion[]}} Completion
 *   from, to: of the text inside the string's quotes; quotes: how many stand before it and after it
 */

import { placeAt } from "./json_places.js";

/**
 * @param {Schema} schema @param {string} text @param {number} cursor @param {readonly string[]} files texts that a hook may name
 * @param {boolean} [isAsked] also where no string has been begun
 * @returns {Completion | null} with all that may stand there, whatever has been typed of it
 */
export function complete(schema, text, cursor, files, isAsked = false) {
  const place = placeAt(text, cursor);
  if (!place) return isAsked ? completeNew(schema, text, cursor, files) : null;
  const around = place.path.reduce(
    (kinds, step, depth) => fitting(kinds, place.texts[depth]).flatMap((kind) => inner(kind, step, schema)),
    variants(schema, schema),
  );
  const found = fitting(around, place.texts[place.path.length]);
  const all = place.kind === "key" ? keysOf(found, place.keys, schema) : valuesOf(found, place.path, files, schema);
  if (!all.length) return null;
  const hasColon = /^"\s*:/.test(text.slice(place.to));
  const items = all.map((item) => (hasColon ? { ...item, insert: `"${item.label}"`, value: "" } : item));
  return { from: place.from, to: place.to, quotes: [1, text[place.to] === '"' ? 1 : 0], items };
}

/** Complete as if a string had been begun at the cursor. @param {Schema} schema @param {string} text @param {number} cursor @param {readonly string[]} files @returns {Completion | null} */
function completeNew(schema, text, cursor, files) {
  const found = complete(schema, `${text.slice(0, cursor)}""${text.slice(cursor)}`, cursor + 1, files);
  return found && { ...found, from: cursor, to: cursor, quotes: [0, 0] };
}

/** Return the schemas that a value may follow: references resolved, alternatives side by side. @param {Schema} schema @param {Schema} root @returns {Schema[]} */
function variants(schema, root) {
  const { $ref: reference, anyOf, oneOf } = schema;
  if (typeof reference === "string") {
    const target = reference
      .split("/")
      .slice(1)
      .reduce((/** @type {any} */ at, name) => at?.[name], root);
    return target
      ? variants(target, root).map((kind) => ({
          ...kind,
          ...(schema.description && { description: schema.description }),
        }))
      : [];
  }
  const several = anyOf ?? oneOf;
  const isWhole = !Array.isArray(several) || schema.properties; // beside properties, they only say what is required
  return isWhole ? [schema] : several.flatMap((kind) => variants(kind, root));
}

/** Return the alternatives that do not contradict their object: one with `"type": "a"` is none of type b. @param {Schema[]} kinds @param {Texts} [texts] */
function fitting(kinds, texts = {}) {
  return kinds.filter(({ properties = {} }) =>
    Object.entries(texts).every(([key, text]) => (properties[key]?.const ?? text) === text),
  );
}

/** @param {Schema} schema @param {Step} step @param {Schema} root */
function inner(schema, step, root) {
  const { properties, items, additionalProperties } = schema;
  const next = typeof step === "number" ? items : (properties?.[step] ?? additionalProperties);
  return typeof next === "object" && next ? variants(next, root) : [];
}

/** @param {Schema[]} kinds @param {readonly string[]} taken @param {Schema} root @returns {Suggestion[]} */
function keysOf(kinds, taken, root) {
  const known = new Map(kinds.flatMap(({ properties }) => Object.entries(properties ?? {})));
  return [...known]
    .filter(([key]) => !taken.includes(key))
    .map(([key, schema]) => ({
      label: key,
      detail: detailOf(schema, root),
      insert: `"${key}": `,
      value: startOf(schema, root),
    }));
}

/** @param {Schema[]} kinds @param {readonly Step[]} path @param {readonly string[]} files @param {Schema} root @returns {Suggestion[]} */
function valuesOf(kinds, path, files, root) {
  const isFile = path.at(-1) === "file";
  const values = isFile
    ? files.map((value) => ({ value, kind: {} }))
    : kinds.flatMap((kind) => (kind.enum ?? [kind.const]).map((/** @type {unknown} */ value) => ({ value, kind })));
  return values
    .filter(({ value }) => typeof value === "string")
    .map(({ value, kind }) => ({
      label: value,
      detail: detailOf(kind, root, value),
      insert: JSON.stringify(value),
      value: "",
    }));
}

/** @param {Schema} schema @param {Schema} root @param {string} [value] whose sentence is wanted: "value: what it means." */
function detailOf(schema, root, value) {
  const text = String(
    schema.description ?? variants(schema, root).find(({ description }) => description)?.description ?? "",
  );
  if (value === undefined || schema.const === value) return text;
  return (
    text
      .split(". ")
      .find((sentence) => sentence.startsWith(`${value}:`))
      ?.slice(value.length + 2) ?? ""
  );
}

/** Return how a value of this kind begins; a boolean begins as the opposite of its default. @param {Schema} schema @param {Schema} root @returns {string} */
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
