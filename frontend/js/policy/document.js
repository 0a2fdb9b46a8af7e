/**
 * A policy document: in few words, compared, and changed by a preset. Pure.
 *
 * @typedef {"pre_tool_use" | "post_tool_use" | "tool_error" | "tool_skip"} Stage
 * @typedef {{type: string, filter?: object | null, locked?: boolean, config?: Record<string, unknown>}} Handler
 * @typedef {Handler[] | {enabled?: boolean, handlers?: Handler[]}} PolicyStage
 * @typedef {Partial<Record<Stage, PolicyStage | null>>} PolicyDocument a stage that is left out is inherited
 * @typedef {{path: string, message: string}} Problem path: as the server's, such as `$.tool_skip.handlers[0].type`
 * @typedef {keyof typeof PRESETS} Preset
 * @typedef {Record<Stage, {locked: readonly Handler[], open: readonly Handler[] | null}>} Inherited
 *   the handlers in force that a document can neither remove nor reorder; open: the others that decide until the
 *   document names the stage, null if this page cannot know them
 */

import { p } from "../strings/policy.js";

/** @type {readonly Stage[]} */
export const STAGES = ["pre_tool_use", "post_tool_use", "tool_error", "tool_skip"];

/** What each preset puts where: [stage, whether it stands first there]. */
export const PRESETS = {
  audit: {
    type: "audit_log",
    places: places(["pre_tool_use", true], ["post_tool_use", false], ["tool_error", false], ["tool_skip", false]),
  },
  ask: { type: "dangerous_confirmation", places: places(["pre_tool_use", false]) },
  redact: { type: "security_scan", places: places(["post_tool_use", true]) },
};

/** @param {...[Stage, boolean]} places */
function places(...places) {
  return places;
}

/** Defaults of a handler, as JSON. @type {Readonly<Record<string, string>>} */
const DEFAULTS = { filter: "null", locked: "false", config: "{}" };

/** Parse the JSON object that is being written; only the server says what else is wrong with it. @param {string} text */
export function readDocument(text) {
  const failed = (/** @type {string} */ message) => ({ document: {}, problems: [{ path: "$", message }] });
  try {
    const document = JSON.parse(text);
    const isObject = typeof document === "object" && document !== null && !Array.isArray(document);
    return isObject ? { document, problems: [] } : failed(p.editor.notObject);
  } catch (error) {
    return failed(p.editor.notJson(/** @type {Error} */ (error).message));
  }
}

/** Return the document as it is shown: a stage that is on is its list, what a handler may leave out is left out, a bare handler is one line. @param {PolicyDocument} document */
export const pretty = (document) =>
  JSON.stringify(inFewWords(document), null, 2).replace(/\{\s+("type": "[^"]*")\s+\}/g, "{ $1 }");

/** Return whether two documents mean the same. @param {PolicyDocument} one @param {PolicyDocument} other */
export const isSame = (one, other) => ordered(inFewWords(one)) === ordered(inFewWords(other));

/** Return the document without defaults. What is no document stays as it is: the server says what is wrong with it. @param {PolicyDocument} document @returns {Record<string, unknown>} */
function inFewWords(document) {
  const stages = Object.entries(document).filter(([, stage]) => stage !== null);
  return Object.fromEntries(stages.map(([name, stage]) => [name, stageInFewWords(stage)]));
}

/** @param {unknown} stage */
function stageInFewWords(stage) {
  const {
    enabled = true,
    handlers = [],
    ...more
  } = /** @type {any} */ (Array.isArray(stage) ? { handlers: stage } : stage);
  if (typeof stage !== "object" || !Array.isArray(handlers) || Object.keys(more).length > 0) return stage;
  const short = handlers.map((handler) => {
    const said = Object.entries(Object(handler)).filter(([key, value]) => JSON.stringify(value) !== DEFAULTS[key]);
    return typeof handler === "object" ? Object.fromEntries(said) : handler;
  });
  return enabled === true ? short : { enabled, handlers: short };
}

/** Return JSON that is equal for values whose keys only stand in another order. @param {unknown} value */
function ordered(value) {
  return JSON.stringify(value, (_, part) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort())
      : part,
  );
}

/** Return the handlers of a stage, unless it is disabled. @param {PolicyStage | null | undefined} stage @returns {readonly Handler[]} */
export function handlersOf(stage) {
  const { enabled = true, handlers = [] } = Array.isArray(stage) ? { handlers: stage } : (stage ?? {});
  return enabled && Array.isArray(handlers) ? handlers : [];
}

/** @param {readonly Handler[]} handlers @param {string} type */
const has = (handlers, type) => handlers.some((handler) => handler?.type === type);

/** Return whether the preset is in force with the document. @param {Preset} preset @param {PolicyDocument} document @param {Inherited} inherited */
export function isOn(preset, document, inherited) {
  const { type, places } = PRESETS[preset];
  return places.every(([stage]) => has(inherited[stage].locked, type) || has(own(document, inherited, stage), type));
}

/** Return whether no document can switch the preset off. @param {Preset} preset @param {Inherited} inherited */
export const isLocked = (preset, inherited) =>
  PRESETS[preset].places.every(([stage]) => has(inherited[stage].locked, PRESETS[preset].type));

/** @param {PolicyDocument} document @param {Inherited} inherited @param {Stage} stage */
const own = (document, inherited, stage) =>
  document[stage] ? handlersOf(document[stage]) : (inherited[stage].open ?? []);

/**
 * The document with the preset switched on or off. A stage that it takes over begins with what is in force, so that
 * nothing is lost by the way; one that is as in force again is left out again.
 *
 * @param {Preset} preset @param {boolean} isWanted @param {PolicyDocument} document @param {Inherited} inherited @returns {PolicyDocument}
 */
export function withPreset(preset, isWanted, document, inherited) {
  const { type, places } = PRESETS[preset];
  const changed = { ...document };
  for (const [stage, isFirst] of places) {
    const { locked, open } = inherited[stage];
    const before = own(document, inherited, stage);
    if (has(before, type) === isWanted || (isWanted && has(locked, type))) continue;
    const others = before.filter((handler) => handler?.type !== type);
    const after = isWanted ? (isFirst ? [{ type }, ...others] : [...others, { type }]) : others;
    if (open && isSame({ [stage]: after }, { [stage]: [...open] })) delete changed[stage];
    else changed[stage] = after;
  }
  return changed;
}
