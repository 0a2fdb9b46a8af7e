/**
 * Opening, making, finding, renaming and removing conversations.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Conversation} Conversation
 * @typedef {import("./state.js").ConversationRecord} ConversationRecord
 *
 * @typedef {{type: "rename", id?: string, title: string}
 *   | {type: "pin", id?: string, at: number}
 *   | {type: "delete", id?: string, nextId: string, at: number}} Change of one conversation; without `id`, of the open one
 */

import { stored } from "./derived_effects.js";
import { recordOf } from "../sdk/derived_effects.js";
import { fromRecord, newConversation, withHistory } from "../sdk/conversation.js";
import { summaryOf, titleOf } from "./titles.js";
import { asJson, asMarkdown, fileName, turnAsJson } from "./export.js";
import { fromJson } from "./import.js";
import { stopped } from "../sdk/turn.js";
import { withEffects, withNotice, warning } from "./state.js";
import { openConversation, withConversation, without } from "../sdk/state.js";
import { t } from "./strings.js";

/** @param {State} state @param {{id: string, at: number}} event @returns {State} */
export function created(state, { id, at }) {
  const current = openConversation(state);
  const isFresh = current?.access === "write" && !current.conversationHistory.length && !current.title;
  return isFresh ? focused({ ...state, isSidebarOpen: false }) : focused(opening(state, { id, at }));
}

/** @param {State} state @returns {State} */
function focused(state) {
  return withEffects(state, { type: "focus" });
}

/**
 * Show another conversation; a turn that runs in this one is stopped.
 *
 * @param {State} state
 * @param {{id: string, at: number}} event
 * @returns {State}
 */
export function opening(state, { id, at }) {
  if (id === state.openId) return { ...state, isSidebarOpen: false };
  const next = { ...stopped(state), openId: id, isSidebarOpen: false, editedTurn: null };
  if (next.loaded[id]) return next;
  return withEffects(withConversation(next, newConversation(id, at)), { type: "open", id });
}

/**
 * Take the record of a conversation when the store has answered, or the tab that held the lock has gone.
 *
 * @param {State} state
 * @param {{id: string, record: ConversationRecord | null, access: "write" | "read", at: number}} event
 * @returns {State}
 */
export function opened(state, { id, record, access, at }) {
  const current = state.loaded[id];
  if (!current || current.access === "write") return state;
  const awaited = state.awaited.filter((change) => change.id === id);
  const ready = awaited.length ? { ...state, awaited: state.awaited.filter((change) => change.id !== id) } : state;
  if (!record) return withConversation(ready, { ...newConversation(id, at), access });
  const conversation = fromRecord(record, access);
  const wasCut =
    record.historySegments.length > 0 || record.conversationHistory.some(({ _answer }) => _answer === "pending");
  const next = access === "write" && wasCut ? stored(ready, conversation) : withConversation(ready, conversation);
  const done = awaited.reduce(changed, next);
  const now = done.loaded[id];
  return awaited.length && now?.access === "write" ? stored(done, now) : done;
}

/**
 * Rename, pin or delete a conversation. One that is only in the list is loaded for it, and then let go.
 *
 * @param {State} before @param {Change} change
 * @returns {State}
 */
export function changed(before, change) {
  const id = change.id || before.openId || "";
  const conversation = before.loaded[id];
  const state = change.type === "rename" ? before : { ...before, actionsId: null }; // its item moves, or goes
  if (conversation?.access === "read") return withNotice(state, warning("held_elsewhere", t.list.heldElsewhere));
  if (conversation?.access !== "write") {
    const next = { ...state, awaited: [...state.awaited, { ...change, id }] };
    return conversation ? next : withEffects(withConversation(next, newConversation(id, 0)), { type: "open", id });
  }
  switch (change.type) {
    case "rename":
      return renamed(state, conversation, change.title.trim());
    case "pin":
      return withConversation(state, { ...conversation, pinnedAt: conversation.pinnedAt ? 0 : change.at });
    case "delete":
      return deleted(state, conversation, change);
  }
}

/** @param {State} state @param {Conversation} conversation @param {string} title @returns {State} */
function renamed(state, conversation, title) {
  if (title === titleOf(conversation)) return state;
  return withConversation(state, { ...conversation, title: title.slice(0, 120) });
}

/** @param {State} state @returns {State} */
export function cleared(state) {
  const conversation = writable(state);
  if (!conversation?.conversationHistory.length) return state;
  const next = stopped(state);
  const full = openConversation(next) ?? conversation;
  return withConversation(
    { ...next, undo: { label: t.composer.cleared, record: recordOf(next, full), wasOpen: true } },
    { ...full, conversationHistory: [], branches: [] },
  );
}

/** @param {State} state @param {Conversation} conversation @param {{nextId: string, at: number}} event @returns {State} */
function deleted(state, conversation, { nextId, at }) {
  const wasOpen = conversation.id === state.openId;
  const next = wasOpen ? stopped(state) : state;
  const record = recordOf(next, next.loaded[conversation.id] ?? conversation);
  const rest = next.conversations.filter(({ id }) => id !== record.id);
  const gone = withEffects(
    {
      ...next,
      loaded: without(next.loaded, record.id),
      conversations: rest,
      isSidebarOpen: false, // it would cover the way back
      undo: record.conversationHistory.length ? { label: t.composer.deleted, record, wasOpen } : null,
    },
    { type: "remove", id: record.id },
    { type: "release", id: record.id },
  );
  return wasOpen ? opening({ ...gone, openId: null }, { id: rest[0]?.id ?? nextId, at }) : gone;
}

/** Put back what was cleared or deleted last. @param {State} state @param {{at: number}} event @returns {State} */
export function undone(state, { at }) {
  if (!state.undo) return state;
  const { record, wasOpen } = state.undo;
  const next = { ...state, undo: null };
  const loaded = next.loaded[record.id];
  if (loaded?.access === "write") {
    const whole = (/** @type {import("./branches.js").Branch} */ since) => [...record.conversationHistory, ...since];
    const branches = [...record.branches, ...loaded.branches.map(whole)];
    return withConversation(next, { ...withHistory(loaded, whole), branches });
  }
  const back = added(next, record);
  return wasOpen ? opening(back, { id: record.id, at }) : back;
}

/** @param {State} state @param {ConversationRecord} record of a conversation that is not there @returns {State} */
function added(state, record) {
  const others = state.conversations.filter(({ id }) => id !== record.id);
  const next = { ...state, conversations: [summaryOf(record), ...others].sort((a, b) => b.updatedAt - a.updatedAt) };
  return withEffects(next, { type: "save", record, revision: 0 });
}

/** @param {State} state @param {{text: string, name: string, id: string, at: number}} event @returns {State} */
export function imported(state, { text, name, id, at }) {
  const record = fromJson(text, { id, at });
  if (!record) return withNotice(state, warning("import_failed", t.list.notImported(name)));
  return focused(opening(added(state, record), { id, at }));
}

/** @param {State} state @param {string} text @returns {State} */
export function searched(state, text) {
  const next = { ...state, search: { text, found: [] } };
  return text.trim() ? withEffects(next, { type: "search" }) : next;
}

/** Follow another tab that has deleted a conversation. @param {State} state @param {string} id @returns {State} */
export function deletedElsewhere(state, id) {
  const conversation = state.loaded[id];
  const conversations = state.conversations.filter((summary) => summary.id !== id);
  if (conversation?.access !== "read") return { ...state, conversations };
  const emptied = withConversation(
    { ...state, conversations },
    withHistory(conversation, () => []),
  );
  return withNotice(emptied, warning("deleted_elsewhere", t.storage.deletedElsewhere));
}

/** @param {State} state @param {"json" | "markdown"} format @returns {State} */
export function exported(state, format) {
  const conversation = openConversation(state);
  if (!conversation) return state;
  const record = recordOf(state, conversation);
  return withEffects(
    state,
    format === "json"
      ? { type: "download", name: fileName(record, "json"), mediaType: "application/json", text: asJson(record) }
      : { type: "download", name: fileName(record, "md"), mediaType: "text/markdown", text: asMarkdown(record) },
  );
}

/** @param {State} state @param {string} id @returns {State} */
export function turnExported(state, id) {
  const trace = state.traces[id];
  const file = { name: "turn.json", mediaType: "application/json" };
  return trace ? withEffects(state, { type: "download", ...file, text: turnAsJson(trace) }) : state;
}

/** @param {State} state */
function writable(state) {
  const conversation = openConversation(state);
  return conversation?.access === "write" ? conversation : null;
}
