/**
 * What an event of the form changes in a draft: each edit writes into a copy that is its own, and
 * returns where the focus goes and what is said when what had the focus has moved or gone.
 *
 * @import { Draft, Handler, Stage } from "./document.js"
 * @typedef {{focus?: string[], words?: string} | void} Followed
 * @typedef {{type: keyof typeof EDITS, stage: Stage, key: string, row?: number, name: string, value: any, by: string}}
 *   Edit an event of the form: what of it an edit does not read may be missing
 */

import { handlerDraft } from "./document.js";

/** @type {Record<"mode" | "add" | "remove" | "move" | "set" | "permission" | "add_argument" | "remove_argument", (draft: Draft, edit: Edit, inForce: readonly Handler[]) => Followed>} */
export const EDITS = {
  /** value: who decides, "below", "own" or "off"; who takes over begins with what is in force, so that nothing is lost by the way. */
  mode(draft, { stage, value }, inForce) {
    const enabled = value === "own";
    const begun = enabled ? inForce.map((handler) => handlerDraft({ ...handler, locked: false })) : [];
    draft[stage] = value === "below" ? null : { handlers: begun, ...draft[stage], enabled };
  },
  add(draft, { stage, name }) {
    const added = handlerDraft({ type: name });
    draft[stage]?.handlers.push(added);
    return { focus: [`type-${added.key}`] };
  },
  remove(draft, edit) {
    const { handlers, at, handler } = found(draft, edit);
    handlers.splice(at, 1);
    const next = handlers[at] ?? handlers.at(-1);
    const focus = [...(next ? [`remove-${next.key}`] : []), `add-${edit.stage}`];
    return { focus, words: `${handler.type} removed. Undo restores it.` };
  },
  move(draft, edit) {
    const { handlers, at, handler } = found(draft, edit);
    const to = at + Number(edit.by); // by 1 or -1
    if (!handlers[to]) return;
    handlers.splice(at, 1);
    handlers.splice(to, 0, handler);
    const ways = to < at ? ["up", "down"] : ["down", "up"];
    const words = `${handler.type} is number ${to + 1} of ${handlers.length}`;
    return { focus: ways.map((way) => `${way}-${edit.key}`), words };
  },
  set(draft, edit) {
    const { handler } = found(draft, edit);
    Object.assign(handler.arguments[Number(edit.row)] ?? handler, { [edit.name]: edit.value });
  },
  permission(draft, edit) {
    const { handler } = found(draft, edit);
    const others = handler.permissions.filter((name) => name !== edit.name);
    handler.permissions = edit.value ? [...others, edit.name] : others;
  },
  add_argument(draft, edit) {
    const count = found(draft, edit).handler.arguments.push({ name: "", glob: "*" });
    return { focus: [`argument-${edit.key}-${count - 1}`] };
  },
  remove_argument: (draft, edit) => void found(draft, edit).handler.arguments.splice(Number(edit.row), 1),
};

/** @param {Draft} draft @param {Edit} edit */
function found(draft, { stage, key }) {
  const handlers = draft[stage]?.handlers ?? [];
  const at = handlers.findIndex((handler) => handler.key === key);
  return { handlers, at, handler: /** @type {import("./document.js").DraftHandler} */ (handlers[at]) };
}
