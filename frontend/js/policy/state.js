/**
 * State of the policy page. Only `reduce` makes the next one.
 *
 * @import { Schema } from "../editor/completion.js"
 * @import { PolicyDocument, Problem } from "./document.js"
 * @import { REQUESTS } from "./rest.js"
 *
 * @typedef {"policy" | "audit" | "approvals"} View
 * @typedef {"user" | "operator"} Scope
 * @typedef {{type: string, [name: string]: any}} Event `type` names a reducer, which says what else it needs
 * @typedef {(state: State, event: any) => State} Reducer
 *
 * @typedef {{kind: "offline" | "login" | "refused", code: string, message: string, path: string | null}} Failure
 *   of a request to the server; path: the place in what was sent
 * @typedef {{document: PolicyDocument, etag: string}} Stored
 * @typedef {Readonly<typeof NO_FILTER>} Filter
 * @typedef {{id: number, ts: string, replica: string, day: string, number: number, hash: string,
 *   entry: Readonly<Record<string, unknown>>}} AuditRow
 * @typedef {{replica: string, day: string, entries: number, last_hash: string, is_closed?: boolean}} Day of one replica
 * @typedef {{is_whole: boolean, problems: readonly string[], days: readonly Day[], pruned: readonly Day[]}} Verification
 * @typedef {{id: string, tool: string, shown: string, origin: string, created: string,
 *   remember_for: "arguments" | "command" | "tool", command_name: string | null}} Approval
 *
 * @typedef {ReturnType<typeof emptyEditor>} Editor
 * @typedef {ReturnType<typeof initialState>} State
 * @typedef {{type: "focus", ids: readonly string[]} | {type: "address", fragment: string}
 *   | {type: "line", line: number} | {type: "confirm", words: string, event: Event} | {type: keyof typeof REQUESTS, [name: string]: any}} Effect
 *   focus: the first of them that is there and can be used; confirm: the event follows if the user agrees
 */

export const NO_FILTER = { user: "", tool: "", phase: "", outcome: "", text: "", since: "", until: "" };

const MAX_ANNOUNCEMENTS = 3;

/** Fields of each part that is read from the server. */
const waiting = () => ({
  phase: /** @type {"loading" | "ready" | "saving"} */ ("loading"),
  failure: /** @type {Failure | null} */ (null),
});

/** @param {Scope} scope whose document is edited */
export const emptyEditor = (scope) => ({
  ...waiting(),
  scope,
  retry: "load_policy", // the event that repeats what has failed
  schema: /** @type {Schema} */ ({}), // of documents
  effective: /** @type {PolicyDocument} */ ({}), // what is in force for this user
  base: /** @type {Stored | null} */ (null), // what the text began with; null until it is read
  text: "", // the document under the user's hands as JSON, or YAML to be read
  refused: /** @type {readonly Problem[]} */ ([]), // what the server has found in the text
  conflict: /** @type {Stored | null} */ (null), // what another user has stored meanwhile
  saved: /** @type {string | null} */ (null), // what became of the last saving, until the next change
});

export const initialState = () => ({
  view: /** @type {View} */ ("policy"),
  principal: /** @type {{user: string, isOperator: boolean} | null} */ (null),
  editor: emptyEditor("user"),
  audit: {
    ...waiting(),
    filter: /** @type {Filter} */ (NO_FILTER), // as it was asked for last
    fields: /** @type {Filter} */ (NO_FILTER), // as it stands in the form
    requestId: 0, // of the newest request; answers to earlier ones are dropped
    rows: /** @type {readonly AuditRow[]} */ ([]), // newest first
    next: /** @type {string | null} */ (null), // where the older ones begin
    openIds: /** @type {readonly number[]} */ ([]), // whose details are shown
    isExporting: false,
  },
  verification: { ...waiting(), phase: "ready", found: /** @type {Verification | null} */ (null) },
  remembered: {
    ...waiting(),
    approvals: /** @type {readonly Approval[]} */ ([]),
    revoking: /** @type {string | null} */ (null), // the one that is on its way out
  },
  announcements: /** @type {readonly {n: number, text: string}[]} */ ([]), // for screen readers, the last few
  effects: /** @type {readonly Effect[]} */ ([]), // of the last event, to be carried out once
});

/** @typedef {"editor" | "audit" | "verification" | "remembered"} Part */
/** @template {Part} P @param {State} state @param {P} part @param {Partial<State[P]>} change @returns {State} */
export const patched = (state, part, change) => ({ ...state, [part]: { ...state[part], ...change } });

/** Let a part wait for the answer to a request. @template {Part} P @param {State} state @param {P} part @param {Effect} effect @param {Partial<State[P]>} [change] */
export const asking = (state, part, effect, change) =>
  withEffects(patched(state, part, /** @type {any} */ ({ ...waiting(), ...change })), effect);

/** Show a failure above a part, whose content stays. @param {State} state @param {Part} part @param {Failure} failure */
export const failed = (state, part, failure) =>
  announced(patched(state, part, { phase: "ready", failure }), failure.message);

/** @param {State} state @param {...Effect} effects @returns {State} */
export const withEffects = (state, ...effects) => ({ ...state, effects: [...state.effects, ...effects] });

/** Move the focus to the first of the elements that is there. @param {State} state @param {...string} ids */
export const focused = (state, ...ids) => withEffects(state, { type: "focus", ids });

/** Ask the user for consent; then the event comes again with `isConfirmed`. @param {State} state @param {string} words @param {Event} event */
export const confirming = (state, words, event) =>
  withEffects(state, { type: "confirm", words, event: { ...event, isConfirmed: true } });

/** Announce a text to screen readers. @param {State} state @param {string} text @returns {State} */
export function announced(state, text) {
  const n = (state.announcements.at(-1)?.n ?? 0) + 1;
  return { ...state, announcements: [...state.announcements, { n, text }].slice(-MAX_ANNOUNCEMENTS) };
}
