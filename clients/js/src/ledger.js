/** What this device has drawn: one value that every change makes anew, and that a store keeps.
 *
 * The true answer is never in it: only the record that was drawn, what it cost, and whether the collector has it.
 */

import { NotPersistent } from "./errors.js";

const VERSION = 1;
const EMPTY = { version: VERSION, optedOut: false, collections: {} };

/** The ledger of a state that a store gives; an unknown form is refused, as a new one would forget what was sent. */
export function ledgerOf(state) {
  if (state === undefined || state === null) return structuredClone(EMPTY);
  if (state.version !== VERSION || typeof state.collections !== "object")
    throw new NotPersistent("The ledger on this device has a form that this program does not read; take the newer program.");
  return structuredClone(state);
}

/** The budget spent so far, all collections together. */
export function spent(ledger) {
  const each = Object.values(ledger.collections).map(({ epsilon, answers }) => epsilon * Object.keys(answers).length);
  return each.reduce((sum, one) => sum + one, 0);
}

const own = (object, key) => (Object.hasOwn(object, key) ? object[key] : undefined);

/** The answer to a question that was drawn before, if it was. */
export const answerTo = (ledger, id, question) => own(own(ledger.collections, id)?.answers ?? {}, question);

/** How many answers of a collection were drawn. */
export const drawn = (ledger, id) => Object.keys(own(ledger.collections, id)?.answers ?? {}).length;

/** Put down a new answer and its price. */
export function debit(ledger, id, epsilon, question, record) {
  const entry = (ledger.collections[id] ??= { epsilon, answers: Object.create(null) });
  Object.defineProperty(entry.answers, question, { value: { record, confirmed: false }, enumerable: true, configurable: true, writable: true });
  return ledger;
}

/** Questions of a collection whose answers the collector has not confirmed. */
export function unconfirmed(ledger, id) {
  const answers = own(ledger.collections, id)?.answers ?? {};
  return Object.keys(answers).filter((question) => !answers[question].confirmed);
}
