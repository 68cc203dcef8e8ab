/** What the noise guarantees, recomputed on the device from the document alone.
 *
 * Closed forms that hold for every population and every attacker; where the collector's package knows a sharper bound,
 * the ones here are the more careful: an error is never stated too high, a certainty never too low.
 */

import { ONE } from "./draw.js";

/** ln(1 + size T/(2^64-T)): the privacy budget of one answer. */
export function epsilonOf(numerator, size) {
  return numerator >= ONE ? Infinity : Math.log1p(Number(size * numerator) / Number(ONE - numerator));
}

/** E min(1, b^S/n), S ~ Bin(t, theta): the best chance to name whose t reports these are. */
function namedAlone(theta, answers, people, reports) {
  if (theta >= 1) return Math.min(1, answers ** reports / people);
  let mass = (1 - theta) ** reports;
  let [seen, named, told] = [0, 0, 0];
  for (; told <= reports && answers ** told < people; told++) {
    named += (mass * answers ** told) / people;
    seen += mass;
    mass *= (((reports - told) / (told + 1)) * theta) / (1 - theta);
  }
  return told > reports ? named : Math.min(1, named + Math.max(0, 1 - seen));
}

/** f min(1, D/n) + min(1-f, (1-f^n)/n), f = 1-(1-theta)^t: the same for whoever holds everybody's reports. */
function namedAmongAll(theta, domain, people, reports) {
  const told = theta >= 1 ? 1 : -Math.expm1(reports * Math.log1p(-theta));
  const kinds = Math.min(people, domain ** Math.min(reports, 64));
  return Math.min(1, told * (kinds / people) + Math.min(1 - told, (1 - told ** people) / people));
}

const certainty = (people, budget) => 1 / (1 + (people - 1) * Math.exp(-budget));

/**
 * The guarantee of a mechanism for `people` who send `reports` answers each.
 *
 * alone   the attacker sees one person's answers
 * all     the attacker sees everybody's answers and knows everybody's data
 */
export function guarantee({ numerator, domain, answers }, people, reports) {
  const theta = Number(numerator) / 2 ** 64;
  const epsilon = epsilonOf(numerator, answers);
  const [k, b] = [Number(domain), Number(answers < domain ? answers : domain)];
  const alone = 1 - namedAlone(theta, b, people, reports);
  return {
    theta,
    epsilon,
    alone: { error: alone, certainty: certainty(people, reports * epsilon) },
    all: {
      error: Math.min(alone, 1 - namedAmongAll(theta, k, people, reports)),
      certainty: certainty(people, 2 * reports * epsilon),
    },
  };
}
