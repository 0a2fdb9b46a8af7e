/**
 * Where conversations are kept: anything with `load` and `save`.
 *
 * @typedef {import("./types/client.js").ConversationRecord} ConversationRecord
 * @typedef {object} Store
 * @property {(id: string) => Promise<ConversationRecord | null>} load
 * @property {(record: ConversationRecord) => Promise<void>} save settles once the record is safe: only then its message is sent
 */

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
  if (storage) return webStore(prefix, storage);
  const before = webStore(prefix, localStorage); // where the first version of this library kept them
  const loading = import("./database_store.js").then(({ databaseStore }) => databaseStore(prefix, before));
  return {
    load: async (id) => (await loading).load(id),
    save: async (record) => (await loading).save(record),
  };
}

/** @param {string} prefix @param {Storage} storage @returns {Store} */
function webStore(prefix, storage) {
  return {
    load: async (id) => JSON.parse(storage.getItem(prefix + id) ?? "null"),
    save: async (record) => storage.setItem(prefix + record.id, JSON.stringify(record)),
  };
}
