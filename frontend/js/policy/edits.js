/**
 * One change of a draft by its user. Pure: what cannot be done leaves the draft as it is.
 *
 * @typedef {import("./document.js").Draft} Draft
 * @typedef {import("./document.js").DraftStage} DraftStage
 * @typedef {import("./document.js").DraftHandler} DraftHandler
 * @typedef {import("./document.js").Stage} Stage
 * @typedef {import("./document.js").Handler} Handler
 *
 * @typedef {"below" | "own" | "off"} Mode who decides about a stage: the document below, this one, or nobody
 *
 * @typedef {{edit: "mode", stage: Stage, mode: Mode}
 *   | {edit: "add", stage: Stage, handlerType: string}
 *   | {edit: "remove", stage: Stage, key: string}
 *   | {edit: "move", stage: Stage, key: string, by: 1 | -1}
 *   | {edit: "set", stage: Stage, key: string, change: Partial<DraftHandler>}
 *   | {edit: "permission", stage: Stage, key: string, name: string, isOn: boolean}
 *   | {edit: "add_argument", stage: Stage, key: string}
 *   | {edit: "remove_argument", stage: Stage, key: string, row: string}
 *   | {edit: "set_argument", stage: Stage, key: string, row: string, change: {name?: string, glob?: string}}} Edit
 */

import { handlerDraft } from "./document.js";

/** @param {Draft} draft @param {Edit} edit @param {readonly Handler[]} inForce below, for a stage that is taken over @returns {Draft} */
export function edited(draft, edit, inForce = []) {
  switch (edit.edit) {
    case "mode":
      return inMode(draft, edit, inForce);
    case "add":
      return added(draft, edit.stage, { type: edit.handlerType });
    case "remove":
      return withHandlers(draft, edit.stage, (handlers) => handlers.filter(({ key }) => key !== edit.key));
    case "move":
      return withHandlers(draft, edit.stage, (handlers) => moved(handlers, edit.key, edit.by));
    case "set":
      return withHandler(draft, edit, (handler) => ({ ...handler, ...edit.change }));
    case "permission":
      return withHandler(draft, edit, (handler) => {
        const others = handler.permissions.filter((name) => name !== edit.name);
        return { ...handler, permissions: edit.isOn ? [...others, edit.name] : others };
      });
    case "add_argument":
      return withHandler({ ...draft, next: draft.next + 1 }, edit, (handler) => ({
        ...handler,
        arguments: [...handler.arguments, { key: `h${draft.next}`, name: "", glob: "*" }],
      }));
    case "remove_argument":
      return withHandler(draft, edit, (handler) => ({
        ...handler,
        arguments: handler.arguments.filter(({ key }) => key !== edit.row),
      }));
    case "set_argument":
      return withHandler(draft, edit, (handler) => ({
        ...handler,
        arguments: handler.arguments.map((row) => (row.key === edit.row ? { ...row, ...edit.change } : row)),
      }));
  }
}

/** @param {Draft} draft @param {{stage: Stage, mode: Mode}} edit @param {readonly Handler[]} inForce @returns {Draft} */
function inMode(draft, { stage, mode }, inForce) {
  const before = draft.stages[stage];
  if (mode === "below") return withStage(draft, stage, null);
  if (before) return withStage(draft, stage, { ...before, enabled: mode === "own" });
  // Who takes over a stage begins with what is in force, so that nothing is lost by the way.
  const taken = mode === "own" ? inForce : [];
  const begun = withStage(draft, stage, { enabled: mode === "own", handlers: [] });
  return taken.reduce((grown, handler) => added(grown, stage, handler), begun);
}

/** @param {Draft} draft @param {Stage} stage @param {Handler} handler @returns {Draft} */
function added(draft, stage, handler) {
  let { next } = draft;
  const one = handlerDraft({ ...handler, locked: false }, () => `h${next++}`);
  return { ...withHandlers(draft, stage, (handlers) => [...handlers, one]), next };
}

/** @param {readonly DraftHandler[]} handlers @param {string} key @param {1 | -1} by */
function moved(handlers, key, by) {
  const from = handlers.findIndex((handler) => handler.key === key);
  const to = from + by;
  if (from < 0 || to < 0 || to >= handlers.length) return handlers;
  const others = handlers.filter((handler) => handler.key !== key);
  return [...others.slice(0, to), ...handlers.slice(from, from + 1), ...others.slice(to)];
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

/**
 * @param {Draft} draft
 * @param {{stage: Stage, key: string}} place
 * @param {(handler: DraftHandler) => DraftHandler} change
 * @returns {Draft}
 */
function withHandler(draft, { stage, key }, change) {
  return withHandlers(draft, stage, (handlers) =>
    handlers.map((handler) => (handler.key === key ? change(handler) : handler)),
  );
}
