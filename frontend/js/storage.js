/**
 * Conversations in this browser: one IndexedDB record each, and one for each of
 * their pictures, written only by the tab that holds the conversation's lock
 * (`locks.js`). Settings beside them.
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
const IMAGES = "images"; // apart from the histories, which are written with every sentence
const SETTINGS_KEY = "parley.settings";

/** @param {IDBFactory} indexedDB @returns {Promise<Store>} rejects where the browser keeps nothing */
export async function openStore(indexedDB) {
  const database = await openDatabase(indexedDB);
  /** @type {Map<string, Set<string>>} conversation → its pictures that are stored */
  const storedImages = new Map();

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
      const transaction = database.transaction([CONVERSATIONS, IMAGES]);
      const reading = result(transaction.objectStore(IMAGES).getAll(ofConversation(id)));
      const stored = await result(transaction.objectStore(CONVERSATIONS).get(id));
      const images = new Map((await reading).map(({ id: imageId, url }) => [imageId, url]));
      storedImages.set(id, new Set(images.keys()));
      if (!stored) return null;
      const { shownTitle: _title, ...record } = stored;
      return withUrls(record, (image) => images.get(image.id) ?? "");
    },
    async save(record) {
      const images = imagesOf(record);
      const known = storedImages.get(record.id) ?? new Set();
      const wanted = new Set(images.map(({ id }) => id));
      await write((conversations, pictures) => {
        conversations.put({ ...withUrls(record, () => ""), shownTitle: titleOf(record) });
        for (const { id, url } of images) if (!known.has(id)) pictures.put({ conversation: record.id, id, url });
        for (const id of known) if (!wanted.has(id)) pictures.delete([record.id, id]);
      });
      storedImages.set(record.id, wanted);
    },
    async remove(id) {
      storedImages.delete(id);
      await write((conversations, pictures) => {
        conversations.delete(id);
        pictures.delete(ofConversation(id));
      });
    },
  };

  function read() {
    return database.transaction(CONVERSATIONS).objectStore(CONVERSATIONS);
  }

  /**
   * Commits at once: a page that goes away right after this call has stored it.
   *
   * @param {(conversations: IDBObjectStore, pictures: IDBObjectStore) => unknown} act
   */
  function write(act) {
    return /** @type {Promise<void>} */ (
      new Promise((resolve, reject) => {
        const transaction = database.transaction([CONVERSATIONS, IMAGES], "readwrite");
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error ?? new Error("the browser gave up"));
        act(transaction.objectStore(CONVERSATIONS), transaction.objectStore(IMAGES));
        transaction.commit();
      })
    );
  }
}

/** Keys of pictures: [conversation, id]. @param {string} id */
function ofConversation(id) {
  return IDBKeyRange.bound([id], [id, []]);
}

/** @param {ConversationRecord} record */
function imagesOf({ conversationHistory }) {
  return conversationHistory.flatMap(({ _images = [] }) => _images);
}

/**
 * @param {ConversationRecord} record @param {(image: import("./frames.js").AttachedImage) => string} urlOf
 * @returns {ConversationRecord}
 */
function withUrls(record, urlOf) {
  const conversationHistory = record.conversationHistory.map((message) =>
    message._images
      ? { ...message, _images: message._images.map((image) => ({ ...image, url: urlOf(image) })) }
      : message,
  );
  return { ...record, conversationHistory };
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
 * Small things beside the conversations: settings for this browser, the draft for this tab.
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

/**
 * @param {() => Storage} storage @param {string} key @param {string} value
 * @returns {boolean} false = it holds until the page goes; what was there before stays
 */
export function writeItem(storage, key, value) {
  try {
    storage().setItem(key, value);
    return true;
  } catch {
    return false;
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
  const request = indexedDB.open(DATABASE, 2);
  request.onupgradeneeded = ({ oldVersion }) => {
    if (oldVersion < 1) {
      const store = request.result.createObjectStore(CONVERSATIONS, { keyPath: "id" });
      store.createIndex(SUMMARIES, ["updatedAt", "shownTitle", "id"]);
    }
    request.result.createObjectStore(IMAGES, { keyPath: ["conversation", "id"] });
  };
  const blocked = new Promise((_resolve, reject) => {
    request.onblocked = () => reject(new Error("an older version of this page is open in another tab"));
  });
  return Promise.race([result(request).then(givingWay), /** @type {Promise<never>} */ (blocked)]);
}

/** To a newer version of this page: its tab must not wait for ours. @param {IDBDatabase} database */
function givingWay(database) {
  database.onversionchange = () => database.close();
  return database;
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
