/**
 * Conversations in this browser's database; loaded by pages that keep them there.
 *
 * @typedef {import("./stores.js").Store} Store
 */

import { BrowserDatabase, result, written } from "./database.js";

const RECORDS = "records";

/**
 * @param {string} prefix of its keys
 * @param {Store} before read for what the database does not hold
 * @returns {Store}
 */
export function databaseStore(prefix, before) {
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
