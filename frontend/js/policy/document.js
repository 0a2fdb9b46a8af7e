/**
 * A policy document: as the server has it, as a form holds it, and two beside each other.
 *
 * @typedef {"pre_tool_use" | "post_tool_use" | "tool_error" | "tool_skip"} Stage
 * @typedef {{tools?: string[] | null, permissions?: string[] | null, arguments?: Record<string, string> | null}} Filter
 * @typedef {{type: string, filter?: Filter | null, locked?: boolean, config?: Record<string, unknown>}} Handler
 * @typedef {{enabled?: boolean, handlers?: Handler[]}} PolicyStage
 * @typedef {Partial<Record<Stage, PolicyStage | null>>} PolicyDocument a stage that is left out is decided below
 *
 * @typedef {ReturnType<typeof handlerDraft>} DraftHandler
 * @typedef {Record<Stage, {enabled: boolean, handlers: DraftHandler[]} | null>} Draft
 * @typedef {{path: string, message: string}} Problem path: as the server's, such as `$.tool_skip.handlers[0].type`
 */

import { diffLines } from "../diff.js";
import { p } from "../strings/policy.js";

/** @type {readonly Stage[]} */
export const STAGES = ["pre_tool_use", "post_tool_use", "tool_error", "tool_skip"];
export const PERMISSIONS = ["READ", "WRITE", "EXTERNAL"];

let keys = 0; // tells handlers apart while they move; means nothing else

/** @param {PolicyDocument} document @returns {Draft} */
export function draftOf(document) {
  const drafts = STAGES.map((name) => {
    const stage = document[name];
    if (!stage) return [name, null];
    const { enabled = true, handlers = [] } = Array.isArray(stage) ? { handlers: stage } : stage;
    return [name, { enabled, handlers: handlers.map(handlerDraft) }];
  });
  return Object.fromEntries(drafts);
}

/** @param {Handler} handler */
export function handlerDraft({ type, filter, locked = false, config = {} }) {
  const { tools, permissions, arguments: wanted } = filter ?? {};
  const isSet = Object.keys(config).length > 0;
  return {
    key: `h${keys++}`,
    type,
    tools: (tools ?? []).join("\n"),
    permissions: permissions ?? [],
    arguments: Object.entries(wanted ?? {}).map(([name, glob]) => ({ name, glob })),
    config: isSet ? JSON.stringify(config, null, 2) : "",
    locked,
    isOpen: Boolean(wanted || tools || permissions || locked || isSet), // at first; then that is the user's
  };
}

/** What is to be sent, and what of the form cannot be. @param {Draft} draft */
export function documentOf(draft) {
  /** @type {Problem[]} */
  const problems = [];
  const stages = STAGES.flatMap((name) => {
    const handlers = draft[name]?.handlers.map((handler, index) =>
      handlerOf(handler, (field, message) => problems.push({ path: `$.${name}.handlers[${index}].${field}`, message })),
    );
    return handlers ? [[name, { enabled: draft[name]?.enabled, handlers }]] : [];
  });
  return { document: /** @type {PolicyDocument} */ (Object.fromEntries(stages)), problems };
}

/** @param {DraftHandler} draft @param {(field: string, message: string) => void} complain @returns {Handler} */
function handlerOf({ type, permissions, locked, ...draft }, complain) {
  const tools = draft.tools.split("\n").map((glob) => glob.trim()).filter(Boolean); // prettier-ignore
  const names = draft.arguments.map(({ name }) => name.trim());
  if (names.some((name, index) => !name || names.indexOf(name) < index))
    complain("filter.arguments", p.editor.uniqueArguments);
  const filter = {
    ...(tools.length && { tools }),
    ...(permissions.length && { permissions }),
    ...(names.length && { arguments: Object.fromEntries(draft.arguments.map(({ glob }, at) => [names[at], glob])) }),
  };
  const { document: config, problems } = readDocument(draft.config.trim() || "{}");
  for (const { message } of problems) complain("config", message);
  return {
    type,
    ...(Object.keys(filter).length && { filter }),
    ...(locked && { locked }),
    ...(Object.keys(config).length && { config }),
  };
}

/** A JSON object as somebody writes it; only the server says what else is wrong with it. @param {string} text */
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

/** The document as the form writes it: equal policies are then equal documents. @param {PolicyDocument} document of the server */
export const normal = (document) => documentOf(draftOf(document)).document;

/** @param {unknown} one @param {unknown} other */
export const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** Whether the form would write it just so, and thus loses nothing of it. @param {PolicyDocument} document that anybody wrote */
export function fitsForm(document) {
  try {
    return isSame(document, normal(document));
  } catch {
    return false; // not the shape of a policy
  }
}

/** The stages that differ. @param {PolicyDocument} one @param {PolicyDocument} other */
export const differing = (one, other) => STAGES.filter((name) => !isSame(one[name], other[name]));

/** What saving `mine` would remove of what is stored, and add. @param {PolicyDocument} stored @param {PolicyDocument} mine @param {Stage} name */
export function compare(stored, mine, name) {
  const text = (/** @type {PolicyDocument} */ { [name]: stage }) => (stage ? JSON.stringify(stage, null, 2) : "");
  return diffLines(text(stored), text(mine));
}

const PLACE = /^\$\.(\w+)(?:\.handlers)?\[(\d+)\](?:\.(type|locked|config|filter\.(?:tools|permissions|arguments)))?/;

/** The field of the form that a problem belongs to ("": its handler as such); null = none, it is about the whole. @param {Problem} problem */
export function placeOf({ path }) {
  const [, stage = "", index, field = ""] = PLACE.exec(path) ?? [];
  return index ? { stage: /** @type {Stage} */ (stage), index: Number(index), field: field.replace("filter.", "") } : null;
}
