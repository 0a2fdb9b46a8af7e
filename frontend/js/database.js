/**
 * The page's database in this browser, and a connection to it that comes back: the user may clear
 * the site's data under an open page, and Safari loses its own now and then.
 */

const DATABASE = "parley";
const VERSION = 4;

export const CONVERSATIONS = "conversations";
export const SUMMARIES = "summaries"; // an index whose keys are all the list needs, so that no history is read for it
export const RUNNING = "running"; // what a cut would keep of the turn under way: written with every sentence
export const IMAGES = "images";
const STORES = [CONVERSATIONS, RUNNING, IMAGES];

export class Database {
  /** @param {IDBFactory} indexedDB @param {() => void} onReopened nothing that was stored may be counted on any more */
  constructor(indexedDB, onReopened) {
    this.indexedDB = indexedDB;
    this.onReopened = onReopened;
    /** @type {IDBDatabase | null} */
    this.connection = null;
  }

  /** Open the connection; rejects where the browser keeps nothing. */
  async open() {
    this.connection = await connect(this.indexedDB);
  }

  /**
   * Begins at once where there is a connection; the caller makes its requests before it awaits anything else.
   *
   * @param {IDBTransactionMode} mode @returns {Promise<IDBTransaction>}
   */
  async transaction(mode) {
    try {
      return /** @type {IDBDatabase} */ (this.connection).transaction(STORES, mode);
    } catch (error) {
      if (!(error instanceof DOMException && error.name === "InvalidStateError")) throw error;
    }
    await this.open();
    this.onReopened();
    return /** @type {IDBDatabase} */ (this.connection).transaction(STORES, mode);
  }
}

/** @param {IDBFactory} indexedDB @returns {Promise<IDBDatabase>} */
function connect(indexedDB) {
  const request = indexedDB.open(DATABASE, VERSION);
  request.onupgradeneeded = ({ oldVersion }) =>
    upgrade(request.result, /** @type {IDBTransaction} */ (request.transaction), oldVersion);
  const opened = result(request).then(givingWay, (error) => {
    if (error?.name !== "VersionError") throw error;
    throw new Error("a newer version of this page has been here; reload this one");
  });
  const blocked = new Promise((_resolve, reject) => {
    request.onblocked = () => reject(new Error("an older version of this page is open in another tab"));
  });
  return Promise.race([opened, /** @type {Promise<never>} */ (blocked)]);
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

/** Close the connection for a newer version of this page, whose tab must not wait for ours. @param {IDBDatabase} database */
function givingWay(database) {
  database.onversionchange = () => database.close();
  return database;
}

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
export function result(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
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
