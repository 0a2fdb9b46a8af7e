/**
 * State of the studio. Only `reduce` makes the next one.
 *
 * @import { Schema } from "../editor/completion.js"
 * @import { REQUESTS } from "./rest.js"
 *
 * @typedef {{type: string, [name: string]: any}} Event `type` names a reducer
 * @typedef {{kind: "offline" | "login" | "refused", code: string, message: string, current: string | null, etag: string, of?: string}} Failure
 *   of: type of the event that reported it
 * @typedef {{severity: "error" | "warning" | "info", file: string, path: string, message: string}} Diagnostic
 * @typedef {{path: string, bytes: number, etag: string | null}} FileItem etag null if it cannot be edited
 * @typedef {{at: string, action: string, path: string}} Edit
 * @typedef {{name: string, etag: string, is_writable: boolean, files: readonly FileItem[],
 *   diagnostics: readonly Diagnostic[], undo: readonly Edit[], redo: readonly Edit[]}} Listing
 * @typedef {{etag: string | null, saved: string, text: string}} Buffer an opened file; etag null until it is on disk
 * @typedef {{skill: string, hook: string, timing: string, persistent: boolean, tokens: number}} HookMark
 * @typedef {{role: string, text: string, hook: HookMark | null}} Line
 * @typedef {{skill: string, hook: string, timing: string, reason: string, code: string, detail: string, path: string}} NotFiredHook
 * @typedef {{file: string, line: number, name: string, details: string}} FailedTest
 * @typedef {{count: number, failed: number, not_run: number, failures: readonly FailedTest[]}} Tests
 * @typedef {string | number | boolean} Value of a variable
 * @typedef {{calls: readonly {title: string, lines: readonly Line[]}[], not_fired: readonly NotFiredHook[],
 *   changes: readonly {skill: string, hook: string, name: string, value: Value}[]}} TurnPreview
 * @typedef {TurnPreview & {before: readonly TurnPreview[], history: readonly ChatMessage[], state: string | null,
 *   variables: Readonly<Record<string, Value>>, diagnostics: readonly Diagnostic[], tests: Tests,
 *   is_last_working: boolean}} Preview
 * @typedef {{draft: number, problems: readonly string[], broken: readonly string[], tests: number, passed: number,
 *   hooks: readonly object[], variables: Readonly<Record<string, Value>>, files: Readonly<Record<string, string>>}} DraftStep a draft of the model, with what is wrong with it
 * @typedef {{text: string, tools: readonly string[], end: {code: string, message?: string} | null}} Answer
 * @typedef {{role: string, content: string, _hook?: string, _skill?: string, _sig?: string}} ChatMessage
 * @typedef {typeof FIRST_TURN} Turn
 * @typedef {"skill" | "file" | "rename" | "rename_skill" | "hook" | "add"} Form
 *
 * @typedef {ReturnType<typeof initialState>} State
 * @typedef {{type: "focus", ids: readonly string[]} | {type: "begin"} | {type: "line", line: number}
 *   | {type: "address", fragment: string} | {type: "confirm", words: string, event: Event} | {type: keyof typeof REQUESTS, [name: string]: any}} Effect
 */

export const PAGE = "SKILL.md";
export const HOOKS = "hooks/hooks.json";
const MAX_ANNOUNCEMENTS = 3;

export const NEW_HOOK = {
  name: "",
  text: "",
  timing: "after_user_input",
  role: "system",
  once: false,
  rows: /** @type {readonly import("./hook_form.js").Row[]} */ ([]),
};
export const FIRST_TURN = { text: "", tools: "", reply: "", interrupted: false, image: false, document: false };

export const initialState = () => ({
  isOn: true,
  skills: /** @type {readonly {name: string, is_writable: boolean}[] | null} */ (null),
  schema: /** @type {Schema | null} */ (null),
  skill: "",
  listing: /** @type {Listing | null} */ (null),
  path: PAGE,
  buffers: /** @type {Readonly<Record<string, Buffer>>} */ ({}),
  form: /** @type {Form | null} */ (null),
  name: "", // as it stands in that form
  isSaving: false,
  queue: /** @type {readonly string[]} */ ([]), // files that are saved after this one
  conflict: /** @type {{path: string, current: string | null, etag: string} | null} */ (null),
  question: {
    ...FIRST_TURN,
    before: /** @type {readonly Turn[]} */ ([]), // turns that are played before this one
    variables: /** @type {Readonly<Record<string, Value>>} */ ({}), // those that begin with other values
    context: "", // plan=pro; timezone=Asia/Tokyo
    seed: "",
    spoken: false,
    isAlone: false, // without the other skills
    channel: "text",
    language: "",
    model: "",
    user: "",
    time: "",
    hasTools: true,
    hasHistory: true,
    tryTools: false,
  },
  history: /** @type {readonly ChatMessage[]} */ ([]), // of the last conversation, before its last question
  hookState: /** @type {string | null} */ (null), // what its hooks remembered then
  skillsOff: /** @type {readonly string[]} */ ([]), // in the conversations of this browser
  skillsOn: /** @type {readonly string[]} */ ([]), // of those that are off by default
  preview: /** @type {Preview | null} */ (null),
  asked: 0, // number of the newest preview; answers to earlier ones are dropped
  trial: /** @type {Record<"saved" | "edited", Answer> | null} */ (null),
  isTrying: false,
  hook: NEW_HOOK, // as it stands in its form
  wish: "",
  source: { source: "", data: "" }, // of a skill to add: an address, or a file's name with its bytes in base64
  arrivals: /** @type {{names: readonly string[], text: string, digest: string} | null} */ (null), // what it would bring
  isReceiving: false,
  bin: /** @type {readonly {entry: string, name: string, at: string}[]} */ ([]),
  draft: /** @type {{steps: readonly DraftStep[], isRunning: boolean} | null} */ (null),
  failure: /** @type {Failure | null} */ (null),
  announcements: /** @type {readonly {n: number, text: string}[]} */ ([]), // for screen readers, the last few
  effects: /** @type {readonly Effect[]} */ ([]), // of the last event, to be carried out once
});

/** @param {State} state @param {...Effect} effects @returns {State} */
export const withEffects = (state, ...effects) => ({ ...state, effects: [...state.effects, ...effects] });

/** Announce a text to screen readers. @param {State} state @param {string} text @returns {State} */
export function announced(state, text) {
  const n = (state.announcements.at(-1)?.n ?? 0) + 1;
  return { ...state, announcements: [...state.announcements, { n, text }].slice(-MAX_ANNOUNCEMENTS) };
}

/** @param {Buffer | undefined} buffer */
export const isDirty = (buffer) => buffer !== undefined && (buffer.etag === null || buffer.text !== buffer.saved);

/** Edits that are not saved, by path. @param {State} state @returns {Record<string, string>} */
export function editsOf({ buffers }) {
  const dirty = Object.entries(buffers).filter(([, buffer]) => isDirty(buffer));
  return Object.fromEntries(dirty.map(([path, { text }]) => [path, text]));
}

/** @param {State} state */
export const hasEdits = (state) => Object.keys(editsOf(state)).length > 0;

/** Return the problems of the skill with its unsaved edits. @param {State} state */
export const diagnosticsOf = ({ preview, listing }) => preview?.diagnostics ?? listing?.diagnostics ?? [];
