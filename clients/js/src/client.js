/** Answers for one collection: noise first, the ledger second, the network last. */

import { fromHex, hex } from "./canonical.js";
import { BrowserStore } from "./browser_store.js";
import { Collection } from "./document.js";
import { record } from "./draw.js";
import { EntropieError, Refused } from "./errors.js";
import { answerTo, debit, drawn, ledgerOf, spent, unconfirmed } from "./ledger.js";
import { objections, overspent, policyOf } from "./policy.js";
import { preview } from "./preview.js";
import { deliver, fetched } from "./transport.js";

const ADDRESS = /^(.*)\/v1\/collections\/([0-9a-f]{64})\/?$/;
const LONGEST_QUESTION = 200;
const SAFE_HOSTS = ["localhost", "127.0.0.1", "[::1]"];

function addressOf(url) {
  const given = new URL(url, globalThis.location?.href);
  const [, base, id] = ADDRESS.exec(given.origin + given.pathname) ?? [];
  if (!id || given.search || given.hash || given.username)
    throw new EntropieError("The address must end in /v1/collections/ and the 64 digits of the id, and hold nothing else.");
  if (given.protocol !== "https:" && !SAFE_HOSTS.includes(given.hostname))
    throw new EntropieError("The address must begin with https://, so that nobody on the way reads the answer.");
  return { document: `${base}/v1/collections/${id}`, reports: `${base}/v1/collections/${id}/reports`, id };
}

/** A client for one collection on this device; made by `Client.open`. */
export class Client {
  #address;
  #options;

  /** Fetch the document, check its id and recompute what it guarantees; nothing is drawn or sent. */
  static async open(url, { policy, store, attempts = 5, fetch = globalThis.fetch.bind(globalThis), sleep, random = Math.random, today } = {}) {
    const address = addressOf(url);
    const allowed = policyOf(policy);
    const collection = await Collection.read(await fetched(address.document, fetch), address.id);
    return new Client(address, collection, allowed, {
      store: store ?? new BrowserStore(),
      attempts,
      fetch,
      random,
      sleep: sleep ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms))),
      today: today ?? (() => new Date().toISOString().slice(0, 10)),
    });
  }

  constructor(address, collection, policy, options) {
    this.#address = address;
    this.#options = options;
    this.collection = collection;
    this.policy = policy;
    this.guarantee = collection.guarantee;
  }

  /** In words: what leaves this device, what it is worth to an attacker, what it costs. */
  preview() {
    return this.#options.store.update((state) => [undefined, preview(this.collection, this.policy, ledgerOf(state), this.#address.document)]);
  }

  /**
   * Answer a question of this collection. The answer is drawn once, kept, and only then sent; the same question is
   * never drawn again, whatever is answered later.
   */
  async report(value, { question = "" } = {}) {
    if (typeof question !== "string" || question.length > LONGEST_QUESTION)
      throw new EntropieError(`Option \`question\` must be text of at most ${LONGEST_QUESTION} characters.`);
    const code = await this.collection.codeOf(value);
    const kept = await this.#options.store.update((state) => this.#drawn(ledgerOf(state), code, question));
    if (!kept.confirmed) await this.#deliver(question, kept.record);
    return { confirmed: true, repeated: kept.repeated };
  }

  /** Send again what the collector has not confirmed; how many answers that were. */
  async send() {
    const pending = await this.#options.store.update((state) => {
      const ledger = ledgerOf(state);
      if (ledger.optedOut) return [undefined, []];
      const questions = unconfirmed(ledger, this.collection.id);
      return [undefined, questions.map((question) => [question, answerTo(ledger, this.collection.id, question).record])];
    });
    for (const [question, bytes] of pending) await this.#deliver(question, bytes);
    return pending.length;
  }

  /** Draw and send nothing from now on, for every collection of this ledger. */
  async optOut() {
    await this.#options.store.update((state) => [{ ...ledgerOf(state), optedOut: true }]);
  }

  /** Take part again; what was spent stays spent. */
  async optIn() {
    await this.#options.store.update((state) => [{ ...ledgerOf(state), optedOut: false }]);
  }

  async #drawn(ledger, code, question) {
    if (ledger.optedOut) throw new Refused("You have opted out on this device; nothing was drawn or sent.");
    const before = answerTo(ledger, this.collection.id, question);
    if (before) return [undefined, { ...before, repeated: true }];
    this.#check(ledger);
    const bytes = hex(await record(this.collection, code));
    const next = debit(ledger, this.collection.id, this.guarantee.epsilon, question, bytes);
    return [next, { record: bytes, confirmed: false, repeated: false }];
  }

  #check(ledger) {
    const { collection, policy } = this;
    const found = objections(policy, collection);
    if (!collection.isOpen(this.#options.today())) found.push(`Answers are taken from ${collection.opens} to ${collection.closes}.`);
    if (drawn(ledger, collection.id) >= collection.reports) found.push(`All ${collection.reports} answers per person of this collection are given.`);
    const price = overspent(policy, spent(ledger), this.guarantee.epsilon);
    if (price) found.push(price);
    if (found.length) throw new Refused(`${found.join(" ")} Nothing was drawn or sent.`);
  }

  async #deliver(question, bytes) {
    await deliver(this.#address.reports, fromHex(bytes), this.#options);
    await this.#options.store.update((state) => {
      const ledger = ledgerOf(state);
      const answer = answerTo(ledger, this.collection.id, question);
      if (!answer || answer.confirmed) return [undefined];
      answer.confirmed = true;
      return [ledger];
    });
  }
}
