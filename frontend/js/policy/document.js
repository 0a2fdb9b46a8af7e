/**
 * A policy document: as the server has it, and as a form holds it. Pure.
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
 * @typedef {{next: number, stages: Readonly<Record<Stage, DraftStage | null>>}} Draft
 *
 * @typedef {{path: string, message: string}} Problem path: as the server's, such as `$.tool_skip.handlers[0].type`
 */

/** @type {readonly Stage[]} */
export const STAGES = ["pre_tool_use", "post_tool_use", "tool_error", "tool_skip"];
export const PERMISSIONS = ["READ", "WRITE", "EXTERNAL"];

/** @param {PolicyDocument} document with the shape of one @returns {Draft} */
export function draftOf(document) {
  let next = 0;
  const key = () => `h${next++}`;
  const stages = STAGES.map((name) => [name, stageDraft(document[name], key)]);
  return { stages: Object.fromEntries(stages), next };
}

/** @param {PolicyStage | null | undefined} stage @param {() => string} key @returns {DraftStage | null} */
function stageDraft(stage, key) {
  if (!stage) return null;
  const { enabled = true, handlers = [] } = Array.isArray(stage) ? { handlers: stage } : stage;
  return { enabled, handlers: handlers.map((handler) => handlerDraft(handler, key)) };
}

/** @param {Handler} handler @param {() => string} key @returns {DraftHandler} */
export function handlerDraft({ type, filter, locked = false, config = {} }, key) {
  const fits = Object.entries(filter?.arguments ?? {});
  return {
    key: key(),
    type,
    tools: (filter?.tools ?? []).join("\n"),
    permissions: filter?.permissions ?? [],
    arguments: fits.map(([name, glob]) => ({ key: key(), name, glob })),
    config: Object.keys(config).length ? JSON.stringify(config, null, 2) : "",
    locked,
    isOpen: Boolean(fits.length || filter?.tools || filter?.permissions || locked || Object.keys(config).length),
  };
}

/**
 * What is to be sent, and what of the form cannot be.
 *
 * @param {Draft} draft
 * @returns {{document: PolicyDocument, problems: Problem[]}}
 */
export function documentOf({ stages }) {
  /** @type {PolicyDocument} */
  const document = {};
  /** @type {Problem[]} */
  const problems = [];
  for (const name of STAGES) {
    const stage = stages[name];
    if (!stage) continue;
    const handlers = stage.handlers.map((handler, index) =>
      handlerOf(handler, `$.${name}.handlers[${index}]`, problems),
    );
    document[name] = { enabled: stage.enabled, handlers };
  }
  return { document, problems };
}

/** @param {DraftHandler} draft @param {string} path @param {Problem[]} problems @returns {Handler} */
function handlerOf(draft, path, problems) {
  /** @type {PolicyFilter} */
  const filter = {};
  const tools = draft.tools.split("\n").map((glob) => glob.trim()).filter(Boolean); // prettier-ignore
  if (tools.length) filter.tools = tools;
  if (draft.permissions.length) filter.permissions = PERMISSIONS.filter((name) => draft.permissions.includes(name));
  if (draft.arguments.length) filter.arguments = argumentsOf(draft.arguments, path, problems);
  const config = configOf(draft.config, path, problems);
  return {
    type: draft.type,
    ...(Object.keys(filter).length && { filter }),
    ...(draft.locked && { locked: true }),
    ...(config && { config }),
  };
}

/** @param {DraftHandler["arguments"]} rows @param {string} path @param {Problem[]} problems */
function argumentsOf(rows, path, problems) {
  const names = rows.map(({ name }) => name.trim());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  const place = `${path}.filter.arguments`;
  if (names.includes("")) problems.push({ path: place, message: "give each argument a name, or remove it" });
  else if (twice !== undefined) problems.push({ path: place, message: `\`${twice}\` stands there twice` });
  return Object.fromEntries(rows.map(({ glob }, index) => [names[index], glob]));
}

/** @param {string} text @param {string} path @param {Problem[]} problems @returns {Record<string, unknown> | null} */
function configOf(text, path, problems) {
  if (!text.trim()) return null;
  const { tree, problem } = parsed(text);
  if (problem === null && isObject(tree)) return Object.keys(tree).length ? tree : null;
  problems.push({ path: `${path}.config`, message: problem ?? "has to be a JSON object: { … }" });
  return null;
}

/** @param {string} text @returns {{tree: unknown, problem: string | null}} */
export function parsed(text) {
  try {
    return { tree: JSON.parse(text), problem: null };
  } catch (error) {
    return { tree: null, problem: `not JSON yet: ${/** @type {Error} */ (error).message}` };
  }
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Equal documents give equal texts. @param {PolicyDocument} document */
export function canonical(document) {
  return JSON.stringify(documentOf(draftOf(document)).document);
}
