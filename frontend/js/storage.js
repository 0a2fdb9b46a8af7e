/**
 * Conversations in this browser: one IndexedDB record each, written only by the
 * tab that holds the conversation's lock (`locks.js`). Settings beside them.
 *
 * @typedef {import("./state.js").ConversationRecord} ConversationRecord
 * @typedef {import("./state.js").Summary} Summary
 * @typedef {import("./state.js").Settings} Settings
 *
 * @typedef {object} Store
 * @property {() => Promise<Summary[]>} list newest first
 * @property {(id: string) => Promise<ConversationRecord | null>} load
 * @property {(record: ConversationRecord) => Promise<void>} save settles once the record is safe; saves keep their order
 * @property {(id: string) => Promise<void>} remove
 */

import { titleOf } from "./conversation.js";

const DATABASE = "parley";
const CONVERSATIONS = "conversations";
const SUMMARIES = "summaries"; // an index whose keys are all the list needs, so that no history is read for it
const SETTINGS_KEY = "parley.settings";

/** @param {IDBFactory} indexedDB @returns {Promise<Store>} rejects where the browser keeps nothing */
export async function openStore(indexedDB) {
  const database = await openDatabase(indexedDB);

  return {
    async list() {
      const cursors = read().index(SUMMARIES).openKeyCursor(null, "prev");
      /** @type {Summary[]} */
      const summaries = [];
      await each(cursors, (key) => {
        const [updatedAt, title, id] = /** @type {[number, string, string]} */ (key);
        summaries.push({ id, title, updatedAt });
      });
      return summaries;
    },
    async load(id) {
      const stored = await result(read().get(id));
      if (!stored) return null;
      const { shownTitle: _title, ...record } = stored;
      return record;
    },
    save(record) {
      return write((store) => store.put({ ...record, shownTitle: titleOf(record) }));
    },
    remove(id) {
      return write((store) => store.delete(id));
    },
  };

  function read() {
    return database.transaction(CONVERSATIONS).objectStore(CONVERSATIONS);
  }

  /**
   * Commits at once: a page that goes away right after this call has stored it.
   *
   * @param {(store: IDBObjectStore) => unknown} act
   */
  function write(act) {
    return /** @type {Promise<void>} */ (
      new Promise((resolve, reject) => {
        const transaction = database.transaction(CONVERSATIONS, "readwrite");
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error ?? new Error("the browser gave up"));
        act(transaction.objectStore(CONVERSATIONS));
        transaction.commit();
      })
    );
  }
}

/** For browsers that keep nothing: good until the page goes. @returns {Store} */
export function memoryStore() {
  /** @type {Map<string, ConversationRecord>} */
  const records = new Map();
  return {
    list: async () =>
      [...records.values()]
        .map((record) => ({ id: record.id, title: titleOf(record), updatedAt: record.updatedAt }))
        .sort((a, b) => b.updatedAt - a.updatedAt),
    load: async (id) => records.get(id) ?? null,
    save: async (record) => void records.set(record.id, record),
    remove: async (id) => void records.delete(id),
  };
}

/**
 * Small things beside the conversations: settings for this browser, the unsent text for this tab.
 * Where the browser forbids even to ask, nothing is kept and nothing breaks.
 *
 * @param {() => Storage} storage
 * @param {string} key
 * @returns {string | null}
 */
export function readItem(storage, key) {
  try {
    return storage().getItem(key);
  } catch {
    return null;
  }
}

/** @param {() => Storage} storage @param {string} key @param {string} value */
export function writeItem(storage, key, value) {
  try {
    storage().setItem(key, value);
  } catch {
    // Then it holds until the page goes.
  }
}

/** @param {() => Storage} storage @returns {Partial<Settings>} */
export function loadSettings(storage) {
  try {
    const settings = JSON.parse(readItem(storage, SETTINGS_KEY) ?? "{}");
    return typeof settings === "object" && settings ? settings : {};
  } catch {
    return {}; // written by something else: the defaults do
  }
}

/** @param {() => Storage} storage @param {Settings} settings */
export function saveSettings(storage, settings) {
  writeItem(storage, SETTINGS_KEY, JSON.stringify(settings));
}

/** @param {IDBFactory} indexedDB @returns {Promise<IDBDatabase>} */
function openDatabase(indexedDB) {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => {
    const store = request.result.createObjectStore(CONVERSATIONS, { keyPath: "id" });
    store.createIndex(SUMMARIES, ["updatedAt", "shownTitle", "id"]);
  };
  return result(request);
}

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function result(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** @param {IDBRequest<IDBCursor | null>} request @param {(key: IDBValidKey) => void} act @returns {Promise<void>} */
function each(request, act) {
  return new Promise((resolve, reject) => {
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const cursor = request.result;
      if (!cursor) return resolve();
      act(cursor.key);
      cursor.continue();
    };
  });
}
