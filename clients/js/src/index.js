/** Answers the questions of an entropie collector: noise first, then the ledger, then the network. */

export { BrowserStore } from "./browser_store.js";
export { Client } from "./client.js";
export { Collection } from "./document.js";
export { EntropieError, InvalidDocument, NotPersistent, NotSent, Refused } from "./errors.js";
