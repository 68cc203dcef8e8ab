/** What a user allows: limits on what the noise must guarantee, and on what leaves the device in all. */

import { EntropieError } from "./errors.js";
import { digits, percent } from "./words.js";

const DEFAULTS = { minError: 0.9, maxCertainty: 0.5, maxEpsilon: 8 };

/** A policy with what was left out filled in, and unknown names refused. */
export function policyOf(given) {
  if (given === null || typeof given !== "object") throw new EntropieError("Option `policy` must be an object; give {} for the defaults.");
  for (const [name, value] of Object.entries(given)) {
    const most = name === "maxEpsilon" ? Infinity : 1;
    if (!(name in DEFAULTS)) throw new EntropieError(`Option \`policy.${name}\` is unknown; known: ${Object.keys(DEFAULTS).join(", ")}.`);
    if (typeof value !== "number" || !(value >= 0 && value <= most))
      throw new EntropieError(`Option \`policy.${name}\` must be a number from 0 to ${most}, got ${value}.`);
  }
  return Object.freeze({ ...DEFAULTS, ...given });
}

/** Sentences on what the policy forbids about a collection; none where it allows it. */
export function objections(policy, { guarantee }) {
  const found = [];
  if (!(guarantee.all.error >= policy.minError))
    found.push(`The error rate of an attacker is at least ${percent(guarantee.all.error)}, your policy asks for ${percent(policy.minError)}.`);
  if (!(guarantee.all.certainty <= policy.maxCertainty))
    found.push(`Certainty about one person is up to ${percent(guarantee.all.certainty)}, your policy allows ${percent(policy.maxCertainty)}.`);
  return found;
}

/** Why another answer does not fit into the budget, or undefined. */
export function overspent(policy, spent, epsilon) {
  if (spent + epsilon <= policy.maxEpsilon) return undefined;
  return `The answer costs epsilon ${digits(epsilon)}; ${digits(Math.max(0, policy.maxEpsilon - spent))} of ${digits(policy.maxEpsilon)} is left.`;
}
