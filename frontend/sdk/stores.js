/**
 * Where conversations are kept: anything with `load` and `save`.
 *
 * @typedef {import("./types/client.js").ConversationRecord} ConversationRecord
 * @typedef {object} Store
 * @property {(id: string) => Promise<ConversationRecord | null>} load
 * @property {(record: ConversationRecord) => Promise<void>} save settles once the record is safe: only then its message is sent
 */

import { BrowserDatabase, result, written } from "./database.js";

/** Keeps conversations until the page goes. @returns {Store} */
export function memoryStore() {
  /** @type {Map<string, ConversationRecord>} */
  const records = new Map();
  return {
    load: async (id) => records.get(id) ?? null,
    save: async (record) => void records.set(record.id, record),
  };
}

/**
 * Keeps conversations in this browser: in its database, or in `storage`, which holds a few megabytes. Two tabs with the
 * same conversation overwrite each other's.
 *
 * @param {string} [prefix] of its keys
 * @param {Storage} [storage]
 * @returns {Store}
 */
export function browserStore(prefix = "parley.conversation.", storage) {
  return storage ? webStore(prefix, storage) : databaseStore(prefix);
}

/** @param {string} prefix @param {Storage} storage @returns {Store} */
function webStore(prefix, storage) {
  return {
    load: async (id) => JSON.parse(storage.getItem(prefix + id) ?? "null"),
    save: async (record) => storage.setItem(prefix + record.id, JSON.stringify(record)),
  };
}

const RECORDS = "records";

/** @param {string} prefix @returns {Store} */
function databaseStore(prefix) {
  const schema = {
    name: "parley-conversations",
    version: 1,
    stores: [RECORDS],
    upgrade: (/** @type {IDBDatabase} */ database) => void database.createObjectStore(RECORDS),
  };
  const database = new BrowserDatabase(
    () => indexedDB,
    schema,
    () => {},
  );
  const before = webStore(prefix, localStorage); // where the first version of this library kept them
  return {
    async load(id) {
      const transaction = await database.transaction("readonly");
      return (await result(transaction.objectStore(RECORDS).get(prefix + id))) ?? before.load(id);
    },
    async save(record) {
      await written(await database.transaction("readwrite"), (transaction) => {
        transaction.objectStore(RECORDS).put(record, prefix + record.id);
      });
      localStorage.removeItem(prefix + record.id);
    },
  };
}
