/** The page's database in this browser. */

import { BrowserDatabase } from "../sdk/database.js";

export const CONVERSATIONS = "conversations";
export const SUMMARIES = "summaries"; // an index whose keys are all the list needs, so that no history is read for it
export const RUNNING = "running"; // what a cut would keep of the turn under way: written with every sentence
export const IMAGES = "images";

const SCHEMA = { name: "parley", version: 4, stores: [CONVERSATIONS, RUNNING, IMAGES], upgrade };

export class Database extends BrowserDatabase {
  /** @param {IDBFactory} indexedDB @param {() => void} onReopened nothing that was stored may be counted on any more */
  constructor(indexedDB, onReopened) {
    super(() => indexedDB, SCHEMA, onReopened);
  }
}

/** @param {IDBDatabase} database @param {IDBTransaction} transaction @param {number} oldVersion */
function upgrade(database, transaction, oldVersion) {
  if (oldVersion < 1) database.createObjectStore(CONVERSATIONS, { keyPath: "id" });
  if (oldVersion < 2) database.createObjectStore(IMAGES, { keyPath: ["conversation", "id"] });
  if (oldVersion < 3) database.createObjectStore(RUNNING, { keyPath: "id" });
  const conversations = transaction.objectStore(CONVERSATIONS);
  if (oldVersion > 0) withPins(conversations);
  conversations.createIndex(SUMMARIES, ["updatedAt", "shownTitle", "id", "pinnedAt"]);
}

/** Create the index of summaries, which holds only records that have all its keys. @param {IDBObjectStore} conversations */
function withPins(conversations) {
  conversations.deleteIndex(SUMMARIES);
  void each(conversations.openCursor(), (cursor) => cursor.update({ ...cursor.value, pinnedAt: 0 }));
}

/**
 * @template {IDBCursor} T
 * @param {IDBRequest<T | null>} request @param {(cursor: T) => void} act
 * @returns {Promise<void>}
 */
export function each(request, act) {
  return new Promise((resolve, reject) => {
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const cursor = request.result;
      if (!cursor) return resolve();
      act(cursor);
      cursor.continue();
    };
  });
}
