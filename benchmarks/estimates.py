"""How often the 95 % intervals of `estimate` hold the true share of a rare item: exact, from the binomial distribution.

For every mechanism, budget and number of reports: the least coverage over domains of 10, 1,000 and 100,000 items and
true shares from 0 to 10/n.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from entropie.estimation.estimates import Estimates
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.theory.special import binomial_pmf

DOMAINS = (10, 1_000, 100_000)
BUDGETS = (0.5, 2.0, 6.0, 12.0)
REPORTS = (100, 10_000, 1_000_000)
SHARES = np.concatenate(([0.0], np.geomspace(0.01, 10.0, 40)))
"""True shares, times the number of reports."""

_REACH = 9.0


def mechanisms(domain: int, epsilon: float) -> dict[str, Mechanism]:
    """Randomized response, and local hashing with two, the best number of and many hash values."""
    return {
        "rr": RandomizedResponse(domain_size=domain, epsilon=epsilon),
        "glh, 2": LocalHashing.binary(domain_size=domain, epsilon=epsilon),
        "glh, best": LocalHashing.optimal(domain_size=domain, epsilon=epsilon),
        "glh, 100,000": LocalHashing(domain_size=domain, hash_size=100_000, epsilon=epsilon),
    }


def coverage(mechanism: Mechanism, reports: int) -> NDArray[np.float64]:
    """Probability that the interval holds the true share, for every share of an item tried."""
    rates = mechanism.rates
    shares = SHARES / reports
    means = reports * (shares * rates.mu + (1.0 - shares) * rates.nu)
    reach = _REACH * np.sqrt(means + 1.0)
    first, last = max(0, int(min(means - reach))), min(reports, int(max(means + reach)) + 30)
    step = max(1, int(math.sqrt(min(means) + 1.0) / 50))  # where counts are common a part of them stands for all
    counts = np.arange(first, last + 1, step)
    low, high = Estimates(counts, reports, rates, mechanism.domain_size).intervals()
    covered = []
    for share, mean in zip(shares, means, strict=True):
        mass = np.array([binomial_pmf(int(count), reports, mean / reports) for count in counts])
        inside = (low <= share) & (share <= high)
        covered.append(mass[inside].sum() / mass.sum())
    return np.array(covered)


def table() -> list[tuple[str, float, int, float]]:
    """Mechanism, epsilon, reports and the least coverage."""
    rows: dict[tuple[str, float, int], float] = {}
    for epsilon, reports, domain in itertools.product(BUDGETS, REPORTS, DOMAINS):
        for name, mechanism in mechanisms(domain, epsilon).items():
            worst = float(coverage(mechanism, reports).min())
            key = (name, epsilon, reports)
            rows[key] = min(rows.get(key, 1.0), worst)
    return [(*key, worst) for key, worst in sorted(rows.items())]


def main() -> None:
    """Print the table and its least value."""
    rows = table()
    print(f"{'mechanism':<14}{'epsilon':>9}{'reports':>11}{'least coverage':>16}")
    for name, epsilon, reports, worst in rows:
        print(f"{name:<14}{epsilon:>9g}{reports:>11,}{100 * worst:>14.1f} %")
    print(f"\nleast of all: {100 * min(worst for *_, worst in rows):.1f} %")


if __name__ == "__main__":
    main()
