/**
 * What is wrong with a policy document, and where: what the server would say as well,
 * as far as it can be known here. Pure.
 *
 * @typedef {import("./document.js").PolicyDocument} PolicyDocument
 * @typedef {import("./document.js").Problem} Problem
 * @typedef {import("./document.js").Stage} Stage
 */

import { PERMISSIONS, STAGES, isObject, parsed } from "./document.js";

const MAX_HANDLERS = 64;
const MAX_TOOLS = 256;
const MAX_ARGUMENTS = 64;
const MAX_GLOB = 256;

/**
 * A document as somebody writes it, bare or inside `{"hooks": …}`. Where its shape is wrong there is none.
 *
 * @param {string} text
 * @returns {{document: PolicyDocument | null, problems: Problem[]}}
 */
export function readDocument(text) {
  const { tree, problem } = parsed(text);
  if (problem !== null) return { document: null, problems: [{ path: "$", message: problem }] };
  const isWrapped = isObject(tree) && "hooks" in tree && Object.keys(tree).length === 1;
  const document = isWrapped ? tree.hooks : tree;
  const problems = [...shapeProblems(document, isWrapped ? "$.hooks" : "$")];
  return { document: problems.length ? null : /** @type {PolicyDocument} */ (document), problems };
}

/** @param {unknown} tree @param {string} [at] where it stands @returns {Generator<Problem>} */
function* shapeProblems(tree, at = "$") {
  if (!isObject(tree)) return yield { path: at, message: "has to be a JSON object: { … }" };
  for (const [name, stage] of Object.entries(tree)) {
    const path = `${at}.${name}`;
    if (!STAGES.includes(/** @type {Stage} */ (name)))
      yield { path, message: `unknown key; a document holds ${STAGES.join(", ")}` };
    else if (Array.isArray(stage)) yield* listProblems(stage, path);
    else if (isObject(stage)) yield* stageProblems(stage, path);
    else if (stage !== null) yield { path, message: "has to be an object or a list of handlers" };
  }
}

/** @param {Record<string, unknown>} stage @param {string} path @returns {Generator<Problem>} */
function* stageProblems(stage, path) {
  yield* unknownKeys(stage, ["enabled", "handlers"], path);
  if ("enabled" in stage && typeof stage.enabled !== "boolean")
    yield { path: `${path}.enabled`, message: "has to be true or false" };
  if (!("handlers" in stage)) return;
  if (Array.isArray(stage.handlers)) yield* listProblems(stage.handlers, `${path}.handlers`);
  else yield { path: `${path}.handlers`, message: "has to be a list" };
}

/** @param {unknown[]} handlers @param {string} path @returns {Generator<Problem>} */
function* listProblems(handlers, path) {
  if (handlers.length > MAX_HANDLERS) yield { path, message: `at most ${MAX_HANDLERS} handlers` };
  for (const [index, handler] of handlers.entries()) {
    const place = `${path}[${index}]`;
    if (isObject(handler)) yield* handlerProblems(handler, place);
    else yield { path: place, message: 'has to be an object, such as {"type": "audit_log"}' };
  }
}

/** @param {Record<string, unknown>} handler @param {string} path @returns {Generator<Problem>} */
function* handlerProblems(handler, path) {
  yield* unknownKeys(handler, ["type", "filter", "locked", "config"], path);
  if (typeof handler.type !== "string") yield { path: `${path}.type`, message: "has to name a handler" };
  if ("locked" in handler && typeof handler.locked !== "boolean")
    yield { path: `${path}.locked`, message: "has to be true or false" };
  if ("config" in handler && !isObject(handler.config))
    yield { path: `${path}.config`, message: "has to be a JSON object: { … }" };
  if (isObject(handler.filter)) yield* filterProblems(handler.filter, `${path}.filter`);
  else if (handler.filter !== undefined && handler.filter !== null)
    yield { path: `${path}.filter`, message: "has to be an object, or null for every call" };
}

/** @param {Record<string, unknown>} filter @param {string} path @returns {Generator<Problem>} */
function* filterProblems(filter, path) {
  yield* unknownKeys(filter, ["tools", "permissions", "arguments"], path);
  const { tools = null, permissions = null, arguments: wanted = null } = filter;
  if (tools !== null && !isListOfTexts(tools, MAX_TOOLS))
    yield {
      path: `${path}.tools`,
      message: `has to be a list of 1 to ${MAX_TOOLS} names or globs, none empty or over ${MAX_GLOB} characters`,
    };
  if (permissions !== null && !(isListOfTexts(permissions, 3) && permissions.every((p) => PERMISSIONS.includes(p))))
    yield { path: `${path}.permissions`, message: `has to be a list of ${PERMISSIONS.join(", ")}` };
  const isTexts = isObject(wanted) && isListOfTexts(Object.values(wanted), MAX_ARGUMENTS);
  if (wanted !== null && !isTexts)
    yield { path: `${path}.arguments`, message: `has to be 1 to ${MAX_ARGUMENTS} times "name": "glob", none empty` };
}

/** @param {unknown} value @param {number} most @returns {value is string[]} */
function isListOfTexts(value, most) {
  const isText = (/** @type {unknown} */ item) =>
    typeof item === "string" && item.length > 0 && item.length <= MAX_GLOB;
  return Array.isArray(value) && value.length > 0 && value.length <= most && value.every(isText);
}

/** @param {Record<string, unknown>} tree @param {string[]} known @param {string} path @returns {Generator<Problem>} */
function* unknownKeys(tree, known, path) {
  for (const key of Object.keys(tree))
    if (!known.includes(key)) yield { path: `${path}.${key}`, message: `unknown key; known: ${known.join(", ")}` };
}

/**
 * What the server would refuse as well, as far as it can be known here.
 *
 * @param {PolicyDocument} document
 * @param {readonly import("./state.js").Kind[]} kinds
 * @param {{mayLock: boolean}} may
 * @returns {Problem[]}
 */
export function checkDocument(document, kinds, { mayLock }) {
  const found = [...shapeProblems(document)];
  for (const name of STAGES) {
    const stage = document[name];
    const handlers = Array.isArray(stage) ? stage : (stage?.handlers ?? []);
    for (const [index, { type, locked, config }] of handlers.entries()) {
      const path = `$.${name}.handlers[${index}]`;
      const message = typeof type === "string" ? misplaced(type, name, kinds) : null;
      if (message) found.push({ path: `${path}.type`, message });
      const settings = kinds.find((kind) => kind.name === type)?.settings;
      if (settings && isObject(config)) found.push(...unknownKeys(config, [...settings], `${path}.config`));
      if (locked && !mayLock) found.push({ path: `${path}.locked`, message: "only the operator can lock a handler" });
    }
  }
  return found;
}

/** What is wrong with a handler of that type at that stage. @param {string} type @param {Stage} stage @param {readonly import("./state.js").Kind[]} kinds */
function misplaced(type, stage, kinds) {
  const kind = kinds.find(({ name }) => name === type);
  if (!kind) return `there is no handler \`${type}\` here; known: ${kinds.map(({ name }) => name).join(", ")}`;
  return kind.stages.includes(stage) ? null : `does not work here; it does at ${kind.stages.join(", ")}`;
}

const AT = /^\$\.(\w+)(?:\.handlers)?\[(\d+)\](?:\.(type|locked|config|filter\.(?:tools|permissions|arguments)))?/;

/**
 * The field of the form that a problem belongs to; null = none, it is about the whole.
 *
 * @param {Problem} problem
 * @returns {{stage: string, index: number, field: string} | null} field "": the handler as such
 */
export function placeOf({ path }) {
  const found = AT.exec(path);
  return found && { stage: found[1] ?? "", index: Number(found[2]), field: (found[3] ?? "").replace("filter.", "") };
}
