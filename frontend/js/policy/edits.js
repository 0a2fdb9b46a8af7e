/**
 * One change of a draft by its user. Pure: what cannot be done leaves the draft as it is.
 *
 * @typedef {import("./document.js").Draft} Draft
 * @typedef {import("./document.js").DraftStage} DraftStage
 * @typedef {import("./document.js").DraftHandler} DraftHandler
 * @typedef {import("./document.js").Stage} Stage
 * @typedef {import("./document.js").Handler} Handler
 *
 * @typedef {object} Edit an event of the form; what else it holds stands at its step
 * @property {keyof typeof EDITS} type
 * @property {Stage} stage
 * @property {string} key of the handler
 */

import { handlerDraft } from "./document.js";

/** What a form's event makes of the draft; `inForce` are the handlers below, for a stage that is taken over. */
export const EDITS = {
  /** @param {Draft} draft @param {{stage: Stage, value: string}} edit who decides: "below", "own" or "off" @param {readonly Handler[]} inForce @returns {Draft} */
  mode(draft, { stage, value }, inForce) {
    const before = draft.stages[stage];
    const enabled = value === "own";
    if (value === "below") return withStage(draft, stage, null);
    if (before) return withStage(draft, stage, { ...before, enabled });
    // Who takes over a stage begins with what is in force, so that nothing is lost by the way.
    const begun = withStage(draft, stage, { enabled, handlers: [] });
    return (enabled ? inForce : []).reduce((grown, handler) => added(grown, stage, handler), begun);
  },
  /** @param {Draft} draft @param {{stage: Stage, name: string}} edit */
  add: (draft, { stage, name }) => added(draft, stage, { type: name }),
  /** @param {Draft} draft @param {Edit} edit */
  remove: (draft, { stage, key }) =>
    withHandlers(draft, stage, (handlers) => handlers.filter((handler) => handler.key !== key)),
  /** @param {Draft} draft @param {Edit & {by: string}} edit by: 1 or -1 */
  move: (draft, { stage, key, by }) =>
    withHandlers(draft, stage, (handlers) => {
      const from = handlers.findIndex((handler) => handler.key === key);
      const to = from + Number(by);
      if (from < 0 || to < 0 || to >= handlers.length) return handlers;
      return handlers.toSpliced(from, 1).toSpliced(to, 0, ...handlers.slice(from, from + 1));
    }),
  /** @param {Draft} draft @param {Edit & {name: string, value: unknown}} edit */
  set: (draft, edit) => withHandler(draft, edit, () => ({ [edit.name]: edit.value })),
  /** @param {Draft} draft @param {Edit & {name: string, value: boolean}} edit */
  permission: (draft, edit) =>
    withHandler(draft, edit, ({ permissions }) => {
      const others = permissions.filter((name) => name !== edit.name);
      return { permissions: edit.value ? [...others, edit.name] : others };
    }),
  /** @param {Draft} draft @param {Edit} edit */
  add_argument: (draft, edit) =>
    withHandler({ ...draft, next: draft.next + 1 }, edit, (handler) => ({
      arguments: [...handler.arguments, { key: `h${draft.next}`, name: "", glob: "*" }],
    })),
  /** @param {Draft} draft @param {Edit & {row: string}} edit */
  remove_argument: (draft, edit) =>
    withHandler(draft, edit, (handler) => ({ arguments: handler.arguments.filter(({ key }) => key !== edit.row) })),
  /** @param {Draft} draft @param {Edit & {row: string, name: string, value: string}} edit */
  set_argument: (draft, edit) =>
    withHandler(draft, edit, (handler) => ({
      arguments: handler.arguments.map((row) => (row.key === edit.row ? { ...row, [edit.name]: edit.value } : row)),
    })),
};

/** @param {Draft} draft @param {Stage} stage @param {Handler} handler @returns {Draft} */
function added(draft, stage, handler) {
  let { next } = draft;
  const one = handlerDraft({ ...handler, locked: false }, () => `h${next++}`);
  return { ...withHandlers(draft, stage, (handlers) => [...handlers, one]), next };
}

/** @param {Draft} draft @param {Stage} stage @param {DraftStage | null} value @returns {Draft} */
export function withStage(draft, stage, value) {
  return { ...draft, stages: { ...draft.stages, [stage]: value } };
}

/**
 * @param {Draft} draft
 * @param {Stage} stage
 * @param {(handlers: readonly DraftHandler[]) => readonly DraftHandler[]} change
 * @returns {Draft}
 */
function withHandlers(draft, stage, change) {
  const before = draft.stages[stage] ?? { enabled: true, handlers: [] };
  const handlers = change(before.handlers);
  return handlers === before.handlers ? draft : withStage(draft, stage, { ...before, handlers });
}

/** @param {Draft} draft @param {Edit} edit @param {(handler: DraftHandler) => Partial<DraftHandler>} change */
function withHandler(draft, { stage, key }, change) {
  return withHandlers(draft, stage, (handlers) =>
    handlers.map((handler) => (handler.key === key ? { ...handler, ...change(handler) } : handler)),
  );
}
