/**
 * Conversations in this browser: one IndexedDB record each, one for the turn under way in it, and one
 * for each of its pictures, written only by the tab that holds the conversation's lock (`locks.js`).
 *
 * @typedef {import("./state.js").ConversationRecord} ConversationRecord
 * @typedef {import("./state.js").Summary} Summary
 * @typedef {import("../sdk/frames.js").Message} Message
 *
 * @typedef {object} Store
 * @property {() => Promise<Summary[]>} list newest first
 * @property {(text: string) => Promise<string[]>} find conversations with the text in a message; upper and lower case are the same
 * @property {(id: string) => Promise<ConversationRecord | null>} load
 * @property {(record: ConversationRecord) => Promise<void>} save settles once the record is safe; saves keep their order
 * @property {(id: string) => Promise<void>} remove
 *
 * @typedef {{record: ConversationRecord | null, images: Set<string>}} Stored what need not be written again
 */

import { summaryOf, titleOf } from "./titles.js";
import { result, written } from "../sdk/database.js";
import { CONVERSATIONS, Database, each, IMAGES, RUNNING, SUMMARIES } from "./database.js";

/** @param {IDBFactory} indexedDB @returns {Promise<Store>} rejects where the browser keeps nothing */
export async function openStore(indexedDB) {
  /** @type {Map<string, Stored>} by conversation */
  const known = new Map();
  const database = new Database(indexedDB, () => known.clear());
  await database.open();

  return {
    async list() {
      const transaction = await database.transaction("readonly");
      const cursors = transaction.objectStore(CONVERSATIONS).index(SUMMARIES).openKeyCursor(null, "prev");
      /** @type {Summary[]} */
      const summaries = [];
      await each(cursors, ({ key }) => {
        const [updatedAt, title, id, pinnedAt] = /** @type {[number, string, string, number]} */ (key);
        summaries.push({ id, title, updatedAt, pinnedAt });
      });
      return summaries;
    },
    async find(text) {
      const transaction = await database.transaction("readonly");
      /** @type {string[]} */
      const ids = [];
      await each(transaction.objectStore(CONVERSATIONS).openCursor(), ({ value }) => {
        if (holds(value, text)) ids.push(value.id);
      });
      return ids;
    },
    async load(id) {
      const transaction = await database.transaction("readonly");
      const [stored, running, pictures] = await Promise.all([
        result(transaction.objectStore(CONVERSATIONS).get(id)),
        result(transaction.objectStore(RUNNING).get(id)),
        result(transaction.objectStore(IMAGES).getAll(ofConversation(id))),
      ]);
      const urls = new Map(pictures.map(({ id: imageId, url }) => [imageId, url]));
      known.set(id, { record: null, images: new Set(urls.keys()) });
      if (!stored) return null;
      const { shownTitle: _title, ...record } = stored;
      const historySegments = running?.historySegments ?? record.historySegments ?? []; // in the record: version 2
      return withUrls({ ...record, historySegments }, (image) => urls.get(image.id) ?? "");
    },
    save: (record) => save(record),
    async remove(id) {
      known.delete(id);
      await written(await database.transaction("readwrite"), (transaction) => {
        transaction.objectStore(CONVERSATIONS).delete(id);
        transaction.objectStore(RUNNING).delete(id);
        transaction.objectStore(IMAGES).delete(ofConversation(id));
      });
    },
  };

  /** Save a record. A long history is not written again with every sentence of the running turn. @param {ConversationRecord} record */
  async function save(record) {
    const { historySegments, ...conversation } = record;
    const transaction = await database.transaction("readwrite");
    const before = known.get(record.id) ?? { record: null, images: new Set() };
    const images = imagesOf(record);
    await written(transaction, () => {
      if (!isSameConversation(before.record, record)) {
        transaction
          .objectStore(CONVERSATIONS)
          .put({ ...withUrls(conversation, () => ""), shownTitle: titleOf(record) });
        putImages(transaction.objectStore(IMAGES), record.id, images, before.images);
      }
      if (historySegments.length) transaction.objectStore(RUNNING).put({ id: record.id, historySegments });
      else transaction.objectStore(RUNNING).delete(record.id);
    });
    known.set(record.id, { record, images: new Set(images.map(({ id }) => id)) });
  }
}

/** Return whether all but the turn under way is the same. @param {ConversationRecord | null} before @param {ConversationRecord} record */
function isSameConversation(before, record) {
  return (
    before?.conversationHistory === record.conversationHistory &&
    before.branches === record.branches &&
    before.title === record.title &&
    before.pinnedAt === record.pinnedAt &&
    before.updatedAt === record.updatedAt
  );
}

/**
 * @param {IDBObjectStore} store @param {string} conversation
 * @param {import("../sdk/frames.js").AttachedImage[]} images @param {Set<string>} stored
 */
function putImages(store, conversation, images, stored) {
  const wanted = new Set(images.map(({ id }) => id));
  for (const { id, url } of images) if (!stored.has(id)) store.put({ conversation, id, url });
  for (const id of stored) if (!wanted.has(id)) store.delete([conversation, id]);
}

/** Return the range of the keys [conversation, id] of a conversation's pictures. @param {string} id */
function ofConversation(id) {
  return IDBKeyRange.bound([id], [id, []]);
}

/** @param {ConversationRecord} record */
function imagesOf({ conversationHistory, branches }) {
  const messages = new Set([conversationHistory, ...branches].flat());
  return [...messages].flatMap(({ _images = [] }) => _images);
}

/**
 * Replace the addresses of pictures. A message that branches share stays one object, so that it is stored once.
 *
 * @template {Omit<ConversationRecord, "historySegments">} T
 * @param {T} record @param {(image: import("../sdk/frames.js").AttachedImage) => string} urlOf
 * @returns {T}
 */
function withUrls(record, urlOf) {
  /** @type {Map<Message, Message>} */
  const known = new Map();
  const withUrl = (/** @type {Message} */ message) => {
    if (!message._images) return message;
    const found = known.get(message) ?? {
      ...message,
      _images: message._images.map((image) => ({ ...image, url: urlOf(image) })),
    };
    known.set(message, found);
    return found;
  };
  const { conversationHistory, branches = [] } = record; // old records have none
  return {
    ...record,
    conversationHistory: conversationHistory.map(withUrl),
    branches: branches.map((branch) => branch.map(withUrl)),
  };
}

/** Return whether a visible message holds the text. @param {ConversationRecord} record @param {string} text */
function holds({ conversationHistory }, text) {
  const wanted = text.trim().toLocaleLowerCase();
  return conversationHistory.some(({ content, _hook }) => !_hook && content.toLocaleLowerCase().includes(wanted));
}

/** Return a store for browsers that keep nothing; it lasts until the page goes. @returns {Store} */
export function memoryStore() {
  /** @type {Map<string, ConversationRecord>} */
  const records = new Map();
  return {
    list: async () => [...records.values()].map(summaryOf).sort((a, b) => b.updatedAt - a.updatedAt),
    find: async (text) => [...records.values()].filter((record) => holds(record, text)).map(({ id }) => id),
    load: async (id) => records.get(id) ?? null,
    save: async (record) => void records.set(record.id, record),
    remove: async (id) => void records.delete(id),
  };
}
