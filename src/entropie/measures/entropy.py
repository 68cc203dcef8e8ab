"""Entropy of classes in bits, and a 95 % interval for the population that the people are a sample of.

With M_r for the share of the population whose class is not among r people drawn from it, the entropy in nats is

    sum over r >= 1 of M_r/r

The terms below n people follow from the sample without bias: sum_c (n_c/n)(psi0(n) - psi0(n_c)), over the n_c people
of class c. Those from n on are at least 0, which gives the lower end. What they come to cannot be told from any sample
without an assumption. The upper end takes it that M falls from n on at least as steeply, as a power of the people, as
it does at n: M_r <= (f1/n)(n/r)^x with x = 2 f2/f1, from the classes of one and of two people (Good, Turing). The
terms then come to at most f1/(n x), as if each class that Chao's estimate says is unseen held 1/n. Geometric tails
fall faster; power laws, the heaviest of all that have been tried, just so.

Nothing above log2 n is told from n people: there is no upper end. Where the population has N people, the terms end at
N, the spread and the bias shrink by 1 - n/N, and there is always one, log2 N at most. `scripts/bench entropy` has how
often the interval holds the truth.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from entropie.measures.cells import digamma
from entropie.measures.intervals import normal_quantile


def entropy(sizes: NDArray[np.int64], people: int, population: int | None = None) -> tuple[float, float, float | None]:
    """Entropy of classes of these sizes in bits, exact for the people, and the ends for their population."""
    distinct, times = np.unique(sizes, return_counts=True)  # there are few different ones
    shares, weights = distinct / people, distinct * times / people
    surprise = -np.log(shares)
    exact = max(0.0, float(weights @ surprise))
    missing = 1.0 if population is None else 1.0 - people / population
    seen = exact + missing * (float(weights @ (digamma(people) - digamma(distinct))) - exact)
    variance = max(0.0, float(weights @ surprise**2) - exact**2) / people + (sizes.size - 1) / (2.0 * people**2)
    unseen, spread = _unseen(distinct, times, people, population)
    reach = normal_quantile(0.975)
    low = seen - reach * math.sqrt(missing * variance)
    high = seen + unseen + reach * math.sqrt(missing * variance + spread**2)
    top = math.log(people if population is None else population)
    ends = max(0.0, min(low, top)), min(high, top)
    upper = None if high > top and population is None else ends[1] / math.log(2.0)
    return exact / math.log(2.0), ends[0] / math.log(2.0), upper


def _unseen(
    distinct: NDArray[np.int64], times: NDArray[np.int64], people: int, population: int | None
) -> tuple[float, float]:
    """The most nats that classes not seen yet add, and how far off by chance that is."""
    once, twice = (float(times[distinct == size].sum()) for size in (1, 2))
    if not once:
        return 0.0, 0.0
    steepness = 2.0 * max(twice, 0.5) / once
    until = 1.0 if population is None else 1.0 - (people / population) ** steepness
    most = once / people / steepness * until
    return most, most * math.sqrt(4.0 / once + 1.0 / max(twice, 0.5))
