/** What leaves the device, in words. */

import { drawn, spent } from "./ledger.js";
import { count, digits, percent, plural, printable } from "./words.js";

const what = ({ mechanism }) =>
  mechanism.hashSize === null
    ? `the number of one of ${plural(Number(mechanism.domain), "item")}`
    : `the number of one of ${plural(Number(mechanism.pool), "public hash function")} and one of its ${plural(Number(mechanism.hashSize), "value")}`;

/** The lines that a person reads before anything is drawn. */
export function preview(collection, policy, ledger, address) {
  const { theta, epsilon, all, alone } = collection.guarantee;
  const { people, reports } = collection;
  const used = spent(ledger);
  return [
    `Question: ${printable(collection.title)}`,
    `Sent to: ${address}`,
    `What leaves this device: 24 bytes. They are ${what(collection)}, and 16 random bytes so that the answer is counted once.`,
    `With probability ${percent(theta)} the number is the true answer, else it is drawn at random. It is drawn once and kept: asked again, this device sends the same.`,
    `Not sent: names, account, cookies, times. The receiver sees the network address; an operator who keeps it can link answers to it.`,
    `Whoever holds the answers of ${plural(people, "person", "people")} (${plural(reports, "answer")} each) and knows their data, names the wrong sender in at least ${percent(all.error)} of cases; certainty about one person is at most ${percent(all.certainty)}.`,
    `Whoever sees yours alone: at least ${percent(alone.error)}; at most ${percent(alone.certainty)}. Both rest on the operator's word that ${plural(people, "person", "people")} take part.`,
    `Cost: epsilon ${digits(epsilon)} per answer. Spent on this device: ${digits(used)} of ${digits(policy.maxEpsilon)}; answers given here: ${count(drawn(ledger, collection.id))} of ${count(reports)}.`,
    ...(ledger.optedOut ? ["You have opted out on this device: nothing is drawn or sent."] : []),
  ].join("\n");
}

