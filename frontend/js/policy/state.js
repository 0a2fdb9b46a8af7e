/**
 * What the policy page knows. Only `reduce` makes another one of it.
 *
 * @typedef {"policy" | "audit" | "approvals"} View
 * @typedef {"user" | "operator"} Scope
 * @typedef {import("./document.js").PolicyDocument} PolicyDocument
 * @typedef {import("./document.js").Problem} Problem
 * @typedef {{type: string, [name: string]: any}} Event `type` names a step of `reduce`, which says what else it needs
 * @typedef {(state: State, event: any) => State} Step
 *
 * @typedef {{kind: "offline" | "login" | "refused", code: string, message: string, path: string | null}} Failure
 *   of a request to the server; path: the place in what was sent
 *
 * @typedef {{name: string, description: string, stages: readonly import("./document.js").Stage[],
 *   settings: readonly string[] | null}} Kind a handler that a document may name, where it can stand,
 *   and the keys of its config; null: it reads them itself
 *
 * @typedef {{document: PolicyDocument, etag: string}} Stored
 *
 * @typedef {object} Editor
 * @property {Scope} scope whose document is edited
 * @property {"loading" | "ready" | "saving"} phase
 * @property {Failure | null} failure
 * @property {boolean} isUnsaved whether `failure` is of a saving: trying again saves
 * @property {readonly Kind[]} kinds
 * @property {PolicyDocument} effective what is in force for this user
 * @property {Stored | null} base what the draft began with; null = not read yet
 * @property {import("./document.js").Draft} draft
 * @property {readonly import("./document.js").Draft[]} past for undoing, the newest last
 * @property {string | null} typing the field whose letters make one step of `past` so far
 * @property {string | null} text the document as JSON under the user's hands; null = the form is shown
 * @property {readonly Problem[]} refused what is wrong with what was last sent, until the next change
 * @property {Stored | null} conflict what somebody else has stored meanwhile
 * @property {string | null} saved what became of the last saving, until the next change
 * @property {Scope | "reload" | null} wish waits for a word whether the changes may go
 *
 * @typedef {"user" | "tool" | "phase" | "outcome" | "text" | "since" | "until"} FilterName
 * @typedef {Readonly<Record<FilterName, string>>} Filter
 * @typedef {{id: number, ts: string, replica: string, day: string, number: number, hash: string,
 *   entry: Readonly<Record<string, unknown>>}} AuditRow
 *
 * @typedef {object} Audit
 * @property {"loading" | "ready"} phase
 * @property {Failure | null} failure
 * @property {Filter} filter as it was asked for last
 * @property {Filter} fields as it stands in the form
 * @property {number} question which one is being answered: answers to others come too late
 * @property {readonly AuditRow[]} rows newest first
 * @property {string | null} next where the older ones begin
 * @property {readonly number[]} openIds whose details are shown
 *
 * @typedef {{replica: string, day: string, entries: number, last_hash: string, is_closed: boolean}} Day of one replica
 * @typedef {{replica: string, day: string, entries: number, last_hash: string}} PrunedDay
 * @typedef {{is_whole: boolean, problems: readonly string[], days: readonly Day[],
 *   pruned: readonly PrunedDay[]}} Found
 * @typedef {{isRunning: boolean, failure: Failure | null, found: Found | null}} Verification of the whole log
 *
 * @typedef {{id: string, tool: string, shown: string, origin: string, created: string,
 *   remember_for: "arguments" | "command" | "tool", command_name: string | null}} Approval
 *
 * @typedef {object} Remembered
 * @property {"loading" | "ready"} phase
 * @property {Failure | null} failure
 * @property {readonly Approval[]} approvals
 * @property {string} search only those that hold this are shown
 * @property {string | null} asking the one that the user is asked about
 * @property {string | null} revoking the one that is on its way out
 *
 * @typedef {object} State
 * @property {View} view
 * @property {{user: string, isOperator: boolean} | null} who
 * @property {Editor} editor
 * @property {Audit} audit
 * @property {Verification} verification
 * @property {Remembered} remembered
 * @property {readonly {n: number, text: string}[]} announcements for screen readers, the last few
 * @property {readonly Effect[]} effects of the last event, to be carried out once
 *
 * @typedef {{type: "focus", ids: readonly string[]} | {type: "address", fragment: string}
 *   | {type: keyof typeof import("./rest.js").QUESTIONS, [name: string]: any}} Effect
 *   focus: the first of them that is there and can be used
 */

import { draftOf } from "./document.js";

/** @type {Filter} */
export const NO_FILTER = { user: "", tool: "", phase: "", outcome: "", text: "", since: "", until: "" };

const MAX_ANNOUNCEMENTS = 3;
const READY = { phase: /** @type {const} */ ("ready"), failure: null };

/** @param {Scope} scope @returns {Editor} */
export function emptyEditor(scope) {
  const asked = { base: null, conflict: null, saved: null, wish: null, refused: [], isUnsaved: false };
  const written = { draft: draftOf({}), past: [], typing: null, text: null };
  return { scope, phase: "loading", failure: null, kinds: [], effective: {}, ...asked, ...written };
}

/** @returns {State} */
export function initialState() {
  return {
    view: "policy",
    who: null,
    editor: emptyEditor("user"),
    audit: { ...READY, filter: NO_FILTER, fields: NO_FILTER, question: 0, rows: [], next: null, openIds: [] },
    verification: { isRunning: false, failure: null, found: null },
    remembered: { ...READY, approvals: [], search: "", asking: null, revoking: null },
    announcements: [],
    effects: [],
  };
}

/** @param {State} state @param {...Effect} effects @returns {State} */
export function withEffects(state, ...effects) {
  return { ...state, effects: [...state.effects, ...effects] };
}

/** The focus goes to the first of the elements that is there. @param {State} state @param {...string} ids */
export function focused(state, ...ids) {
  return withEffects(state, { type: "focus", ids });
}

/** Said to screen readers. @param {State} state @param {string} text @returns {State} */
export function announced(state, text) {
  const n = (state.announcements.at(-1)?.n ?? 0) + 1;
  return { ...state, announcements: [...state.announcements, { n, text }].slice(-MAX_ANNOUNCEMENTS) };
}
