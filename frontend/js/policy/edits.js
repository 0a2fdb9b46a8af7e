/**
 * What an event of the form changes in a draft: each edit writes into a copy that is its own, and
 * returns where the focus goes and what is said when what had the focus has moved or gone.
 *
 * @import { Draft, DraftHandler, Handler, Stage } from "./document.js"
 * @typedef {{focus?: string[], words?: string} | void} Followed
 * @typedef {{type: keyof typeof EDITS, stage: Stage, key: string, row?: number, name: string, value: any, by: string}}
 *   Edit an event of the form: what of it an edit does not read may be missing
 * @typedef {{draft: Draft, handlers: DraftHandler[], at: number, handler: DraftHandler, inForce: readonly Handler[]}}
 *   Place where it happens: a stage's handlers and which of them; inForce: those that decide until there are own ones
 */

import { p } from "../strings/policy.js";
import { handlerDraft } from "./document.js";

/** @type {Record<"mode" | "add" | "remove" | "move" | "set" | "permission" | "add_argument" | "remove_argument", (event: Edit & Place) => Followed>} */
export const EDITS = {
  /** value: who decides, "below", "own" or "off"; who takes over begins with what is in force, so that nothing is lost by the way. */
  mode({ draft, stage, value, inForce }) {
    const enabled = value === "own";
    const begun = enabled ? inForce.map((handler) => handlerDraft({ ...handler, locked: false })) : [];
    draft[stage] = value === "below" ? null : { handlers: begun, ...draft[stage], enabled };
  },
  add({ handlers, name }) {
    const added = handlerDraft({ type: name });
    handlers.push(added);
    return { focus: [`type-${added.key}`] };
  },
  remove({ handlers, at, handler, stage }) {
    handlers.splice(at, 1);
    const next = handlers[at] ?? handlers.at(-1);
    const focus = [...(next ? [`remove-${next.key}`] : []), `add-${stage}`];
    return { focus, words: p.editor.removed(handler.type) };
  },
  move({ handlers, at, handler, key, by }) {
    const to = at + Number(by); // by 1 or -1
    if (!handlers[to]) return;
    handlers.splice(at, 1);
    handlers.splice(to, 0, handler);
    const ways = to < at ? ["up", "down"] : ["down", "up"];
    return { focus: ways.map((way) => `${way}-${key}`), words: p.editor.moved(handler.type, to + 1, handlers.length) };
  },
  set({ handler, row, name, value }) {
    Object.assign(handler.arguments[Number(row)] ?? handler, { [name]: value });
  },
  permission({ handler, name, value }) {
    const others = handler.permissions.filter((other) => other !== name);
    handler.permissions = value ? [...others, name] : others;
  },
  add_argument({ handler, key }) {
    const count = handler.arguments.push({ name: "", glob: "*" });
    return { focus: [`argument-${key}-${count - 1}`] };
  },
  remove_argument: ({ handler, row }) => void handler.arguments.splice(Number(row), 1),
};
