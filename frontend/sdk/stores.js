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
 * Keeps conversations in this browser. Two tabs with the same conversation overwrite each other's.
 *
 * @param {string} [prefix] of its keys
 * @param {Storage} [storage]
 * @returns {Store}
 */
export function browserStore(prefix = "parley.conversation.", storage = localStorage) {
  return {
    load: async (id) => JSON.parse(storage.getItem(prefix + id) ?? "null"),
    save: async (record) => storage.setItem(prefix + record.id, JSON.stringify(record)),
  };
}
