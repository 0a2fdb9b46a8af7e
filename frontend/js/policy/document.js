/**
 * A policy document: as the server has it, as a form holds it, and two beside each other. Pure.
 *
 * @typedef {"pre_tool_use" | "post_tool_use" | "tool_error" | "tool_skip"} Stage
 * @typedef {{tools?: string[] | null, permissions?: string[] | null, arguments?: Record<string, string> | null}} PolicyFilter
 * @typedef {{type: string, filter?: PolicyFilter | null, locked?: boolean, config?: Record<string, unknown>}} Handler
 * @typedef {{enabled?: boolean, handlers?: Handler[]}} PolicyStage
 * @typedef {Partial<Record<Stage, PolicyStage | null>>} PolicyDocument a stage that is left out is decided below
 *
 * @typedef {object} DraftHandler
 * @property {string} key tells it apart while it moves
 * @property {string} type
 * @property {string} tools globs, as they are typed: one a line
 * @property {readonly string[]} permissions
 * @property {readonly {key: string, name: string, glob: string}[]} arguments
 * @property {string} config JSON; empty = nothing is set
 * @property {boolean} locked
 * @property {boolean} isOpen whether its details are shown at first; then that is the user's
 *
 * @typedef {{enabled: boolean, handlers: readonly DraftHandler[]}} DraftStage
 * @typedef {{next: number, stages: Readonly<Record<Stage, DraftStage | null>>}} Draft next: the number of the next key
 *
 * @typedef {{path: string, message: string}} Problem path: as the server's, such as `$.tool_skip.handlers[0].type`
 */

import { diffLines } from "../diff.js";

/** @type {readonly Stage[]} */
export const STAGES = ["pre_tool_use", "post_tool_use", "tool_error", "tool_skip"];
export const PERMISSIONS = ["READ", "WRITE", "EXTERNAL"];

/** @param {PolicyDocument} document that fits the form @param {number} [next] @returns {Draft} */
export function draftOf(document, next = 0) {
  const key = () => `h${next++}`;
  const stages = STAGES.map((name) => {
    const stage = document[name];
    if (!stage) return [name, null];
    const { enabled = true, handlers = [] } = Array.isArray(stage) ? { handlers: stage } : stage;
    return [name, { enabled, handlers: handlers.map((/** @type {Handler} */ one) => handlerDraft(one, key)) }];
  });
  return { stages: Object.fromEntries(stages), next };
}

/** @param {Handler} handler @param {() => string} key @returns {DraftHandler} */
export function handlerDraft({ type, filter, locked = false, config = {} }, key) {
  const rows = Object.entries(filter?.arguments ?? {});
  return {
    key: key(),
    type,
    tools: (filter?.tools ?? []).join("\n"),
    permissions: filter?.permissions ?? [],
    arguments: rows.map(([name, glob]) => ({ key: key(), name, glob })),
    config: Object.keys(config).length ? JSON.stringify(config, null, 2) : "",
    locked,
    isOpen: Boolean(rows.length || filter?.tools || filter?.permissions || locked || Object.keys(config).length),
  };
}

/** What is to be sent, and what of the form cannot be. @param {Draft} draft */
export function documentOf({ stages }) {
  /** @type {PolicyDocument} */
  const document = {};
  /** @type {Problem[]} */
  const problems = [];
  for (const name of STAGES) {
    const stage = stages[name];
    if (!stage) continue;
    const handlers = stage.handlers.map((handler, index) =>
      handlerOf(handler, (place, message) => problems.push({ path: `$.${name}.handlers[${index}].${place}`, message })),
    );
    document[name] = { enabled: stage.enabled, handlers };
  }
  return { document, problems };
}

/** @param {DraftHandler} draft @param {(place: string, message: string) => void} complain @returns {Handler} */
function handlerOf(draft, complain) {
  /** @type {PolicyFilter} */
  const filter = {};
  const tools = draft.tools.split("\n").map((glob) => glob.trim()).filter(Boolean); // prettier-ignore
  if (tools.length) filter.tools = tools;
  if (draft.permissions.length) filter.permissions = PERMISSIONS.filter((name) => draft.permissions.includes(name));
  const names = draft.arguments.map(({ name }) => name.trim());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (names.includes("")) complain("filter.arguments", "give each argument a name, or remove it");
  else if (twice !== undefined) complain("filter.arguments", `\`${twice}\` is used twice`);
  if (names.length) filter.arguments = Object.fromEntries(draft.arguments.map(({ glob }, at) => [names[at], glob]));
  const { tree, problem } = parsed(draft.config.trim() || "{}");
  if (problem) complain("config", problem);
  return {
    type: draft.type,
    ...(Object.keys(filter).length && { filter }),
    ...(draft.locked && { locked: true }),
    ...(Object.keys(tree).length && { config: tree }),
  };
}

/** @param {string} text @returns {{tree: Record<string, unknown>, problem: string | null}} of a JSON object */
function parsed(text) {
  try {
    const tree = JSON.parse(text);
    return isObject(tree) ? { tree, problem: null } : { tree: {}, problem: "must be a JSON object: { … }" };
  } catch (error) {
    return { tree: {}, problem: `not valid JSON: ${/** @type {Error} */ (error).message}` };
  }
}

/**
 * A document as somebody writes it, bare or inside `{"hooks": …}`. What is wrong with it otherwise, the server says.
 *
 * @param {string} text @returns {{document: PolicyDocument, problems: Problem[]}}
 */
export function readDocument(text) {
  const { tree, problem } = parsed(text);
  if (problem) return { document: {}, problems: [{ path: "$", message: problem }] };
  const document = isObject(tree.hooks) && Object.keys(tree).length === 1 ? tree.hooks : tree;
  return { document: normal(document), problems: [] };
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @typedef {(value: any) => boolean} Test */
/** @param {any} tree @param {Record<string, Test>} shape */
const fits = (tree, shape) =>
  isObject(tree) && Object.entries(tree).every(([name, value]) => Object.hasOwn(shape, name) && shape[name]?.(value));
/** @param {any} list @param {Test} isItem */
const isList = (list, isItem) => Array.isArray(list) && list.length > 0 && list.every(isItem);
/** @type {Test} */
const isText = (value) => typeof value === "string" && value !== "";
/** @type {Test} */
const isSwitch = (value) => typeof value === "boolean";
/** @param {Test} test @returns {Test} */
const orNull = (test) => (value) => value === null || test(value);

const FILTER = {
  tools: orNull((tools) => isList(tools, isText)),
  permissions: orNull((names) => isList(names, (name) => PERMISSIONS.includes(name))),
  arguments: orNull((wanted) => isObject(wanted) && isList(Object.values(wanted), isText)),
};
const HANDLER = { type: isText, locked: isSwitch, config: isObject, filter: orNull((filter) => fits(filter, FILTER)) };
/** @type {Test} */
const isHandlers = (list) =>
  Array.isArray(list) && list.every((handler) => fits(handler, HANDLER) && isText(handler.type));
const STAGE = { enabled: isSwitch, handlers: isHandlers };
const isStage = orNull((stage) => isHandlers(stage) || fits(stage, STAGE));

/** Whether the form can show all that it says. @param {unknown} tree @returns {tree is PolicyDocument} */
export function fitsForm(tree) {
  return fits(tree, Object.fromEntries(STAGES.map((name) => [name, isStage])));
}

/** As the form gives it: equal documents are then equal texts. @param {Record<string, unknown>} document */
function normal(document) {
  return fitsForm(document) ? documentOf(draftOf(document)).document : /** @type {PolicyDocument} */ (document);
}

/** The stages that differ. @param {PolicyDocument} one @param {PolicyDocument} other @returns {Stage[]} */
export function differing(one, other) {
  return STAGES.filter((name) => textOf(one, name) !== textOf(other, name));
}

/** Whether they say the same. @param {PolicyDocument} one @param {PolicyDocument} other */
export function isSame(one, other) {
  return JSON.stringify(normal(one)) === JSON.stringify(normal(other));
}

/** What saving `mine` would remove of what is stored, and add. @param {PolicyDocument} stored @param {PolicyDocument} mine @param {Stage} stage */
export function compare(stored, mine, stage) {
  return diffLines(textOf(stored, stage), textOf(mine, stage));
}

/** @param {PolicyDocument} document @param {Stage} name */
function textOf(document, name) {
  const stage = normal(document)[name];
  return stage ? JSON.stringify(stage, null, 2) : "";
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
