/**
 * A database of this browser, and a connection to it that comes back: the user may clear the site's data under an open
 * page, and Safari loses its own now and then.
 *
 * @typedef {object} Schema
 * @property {string} name
 * @property {number} version
 * @property {readonly string[]} stores
 * @property {(database: IDBDatabase, transaction: IDBTransaction, oldVersion: number) => void} upgrade
 */

export class BrowserDatabase {
  /** @param {() => IDBFactory} indexedDB @param {Schema} schema @param {() => void} onReopened nothing that was stored may be counted on any more */
  constructor(indexedDB, schema, onReopened) {
    this.indexedDB = indexedDB;
    this.schema = schema;
    this.onReopened = onReopened;
    /** @type {IDBDatabase | null} */
    this.connection = null;
  }

  /** Open the connection; rejects where the browser keeps nothing. */
  async open() {
    this.connection = await connect(this.indexedDB(), this.schema);
  }

  /**
   * Begins at once where there is a connection; the caller makes its requests before it awaits anything else.
   *
   * @param {IDBTransactionMode} mode @returns {Promise<IDBTransaction>}
   */
  async transaction(mode) {
    if (!this.connection) await this.open();
    else {
      try {
        return this.connection.transaction(this.schema.stores, mode);
      } catch (error) {
        if (!(error instanceof DOMException && error.name === "InvalidStateError")) throw error;
      }
      await this.open();
      this.onReopened();
    }
    return /** @type {IDBDatabase} */ (this.connection).transaction(this.schema.stores, mode);
  }
}

/** @param {IDBFactory} indexedDB @param {Schema} schema @returns {Promise<IDBDatabase>} */
function connect(indexedDB, { name, version, upgrade }) {
  const request = indexedDB.open(name, version);
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
 * Run a transaction and commit it at once: a page that goes away right after this call has stored it.
 *
 * @param {IDBTransaction} transaction @param {(transaction: IDBTransaction) => void} act
 */
export function written(transaction, act) {
  return /** @type {Promise<void>} */ (
    new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error("the browser gave up"));
      act(transaction);
      transaction.commit();
    })
  );
}
