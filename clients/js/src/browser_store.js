/** What a browser keeps: one record in IndexedDB, changed under a Web Lock, on the disk before anything is sent. */

import { NotPersistent } from "./errors.js";

const STORE = "ledger";
const KEY = "state";
const REMEDY = "allow site data, leave private browsing, or take a browser of this decade";

const settled = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** The ledger of this site in this browser, shared by all its tabs. */
export class BrowserStore {
  constructor(name = "entropie") {
    this.name = name;
  }

  /** Read the state, let `change` make the next one, and keep it durably; one tab at a time. */
  async update(change) {
    const locks = globalThis.navigator?.locks;
    if (!locks || !globalThis.indexedDB)
      throw new NotPersistent(`This browser keeps nothing for this page; ${REMEDY}.`);
    return locks.request(`entropie:${this.name}`, async () => {
      const database = await this.#open();
      try {
        const [next, result] = await change(await this.#read(database));
        if (next !== undefined) await this.#write(database, next);
        return result;
      } finally {
        database.close();
      }
    });
  }

  async #open() {
    try {
      const request = globalThis.indexedDB.open(`entropie:${this.name}`, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(STORE);
      return await settled(request);
    } catch {
      throw new NotPersistent(`This browser keeps nothing for this page; ${REMEDY}.`);
    }
  }

  #read(database) {
    return settled(database.transaction(STORE).objectStore(STORE).get(KEY));
  }

  /** Resolves when the browser says that the record is on the disk. */
  async #write(database, state) {
    try {
      const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
      transaction.objectStore(STORE).put(state, KEY);
      await new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onabort = () => reject(transaction.error);
      });
    } catch {
      throw new NotPersistent("This browser could not keep the answer, so that nothing was sent; free some space.");
    }
  }
}
