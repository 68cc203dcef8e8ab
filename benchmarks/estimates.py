"""How often the 95 % intervals of `estimate` hold the true share of a rare item: exact, from the binomial distribution.

For every mechanism, budget and number of reports: the least coverage over domains of 10, 1,000 and 100,000 items and
true shares from 0 to 10/n. Noise of a shape of its own falls on items as 1, 1/2, 1/3 and so on: tried are the item it
falls on most and the one it falls on least. Erasure has no budget: the item is sent with probability 1 - exp(-epsilon).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from entropie.estimation.estimates import Estimates
from entropie.estimation.unequal import UnequalEstimates
from entropie.mechanisms.choice import RandomChoice
from entropie.mechanisms.erasure import Erasure
from entropie.mechanisms.hadamard import HadamardResponse
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.noise_response import NoiseResponse
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mechanisms.subset_selection import SubsetSelection
from entropie.mechanisms.unary_encoding import UnaryEncoding
from entropie.theory.special import binomial_pmf

DOMAINS = (10, 1_000, 100_000)
BUDGETS = (0.5, 2.0, 6.0, 12.0)
REPORTS = (100, 10_000, 1_000_000)
SHARES = np.concatenate(([0.0], np.geomspace(0.01, 10.0, 40)))
"""True shares, times the number of reports."""

_REACH = 9.0


def mechanisms(domain: int, epsilon: float) -> dict[str, Mechanism]:
    """Every kind; local hashing with two, the best number of and many hash values."""
    small = min(domain, 1 << 16)  # some kinds take no more items
    falling = 1.0 / np.arange(1.0, small + 1.0)
    rr = RandomizedResponse(domain_size=domain, epsilon=epsilon)
    sent = max(1, min(1000, round(small / (1.0 + math.exp(epsilon)))))
    return {
        "rr": rr,
        "glh, 2": LocalHashing.binary(domain_size=domain, epsilon=epsilon),
        "glh, best": LocalHashing.optimal(domain_size=domain, epsilon=epsilon),
        "glh, 100,000": LocalHashing(domain_size=domain, hash_size=100_000, epsilon=epsilon),
        "hadamard": HadamardResponse(domain_size=small, epsilon=epsilon),
        "subset": SubsetSelection(domain_size=small, subset_size=sent, epsilon=epsilon),
        "unary": UnaryEncoding(domain_size=small, epsilon=epsilon),
        "noise": NoiseResponse(noise=falling / falling.sum(), epsilon=epsilon),
        "erasure": Erasure.from_theta(domain_size=domain, theta=1.0 - math.exp(-epsilon)),
        "identity": Identity(domain),
        "choice": RandomChoice([rr, Identity(domain)], [0.75, 0.25]),
    }


def estimates_of(mechanism: Mechanism, counts: NDArray[np.int64], reports: int, item: int) -> tuple[Estimates, float]:
    """An estimate of one item for each of these counts; and how often a report supports it for nothing."""
    rates = mechanism.rates
    if isinstance(mechanism, NoiseResponse):
        own = (1.0 - mechanism.theta) * float(mechanism.noise[item])
        noise = np.full(len(counts), own)
        return UnequalEstimates(counts, reports, rates, mechanism.domain_size, noise=noise), own
    return Estimates(counts, reports, rates, mechanism.domain_size), rates.nu


def coverage(mechanism: Mechanism, reports: int, item: int = 0) -> NDArray[np.float64]:
    """Probability that the interval holds the true share, for every share of an item tried."""
    none = np.arange(1, dtype=np.int64)
    gain, noise = mechanism.rates.gain, estimates_of(mechanism, none, reports, item)[1]
    shares = SHARES / reports
    means = reports * (noise + shares * gain)
    reach = _REACH * np.sqrt(means + 1.0)
    first, last = max(0, int(min(means - reach))), min(reports, int(max(means + reach)) + 30)
    step = max(1, int(math.sqrt(min(means) + 1.0) / 50))  # where counts are common a part of them stands for all
    counts = np.arange(first, last + 1, step)
    low, high = estimates_of(mechanism, counts, reports, item)[0].intervals()
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
            items = (0, mechanism.domain_size - 1) if name == "noise" else (0,)
            worst = min(float(coverage(mechanism, reports, item).min()) for item in items)
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
