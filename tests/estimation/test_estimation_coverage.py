"""Intervals of every registered mechanism: coverage by its own law of reports, exact, where few people have an item.

What supports an item is counted over every report that the mechanism can make (`possible_reports`) and weighed by
`matrix`; the rates that estimates divide by are not used.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from entropie.estimation.counts import Counts
from entropie.estimation.estimates import level_among_largest
from entropie.mechanisms.choice import RandomChoice
from entropie.mechanisms.erasure import Erasure
from entropie.mechanisms.hadamard import HadamardResponse
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.noise_response import NoiseResponse
from entropie.mechanisms.parameters import counts_for
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mechanisms.registry import MECHANISMS
from entropie.mechanisms.subset_selection import SubsetSelection
from entropie.mechanisms.unary_encoding import UnaryEncoding

Floats = NDArray[np.float64]
ITEMS, LEAST = 5, 0.93
SHARES = [0.0, 0.003, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 0.8, 0.97, 1.0]
MADE: list[Any] = [
    RandomizedResponse(domain_size=ITEMS, epsilon=2.0),
    LocalHashing(domain_size=ITEMS, hash_size=3, epsilon=2.0),
    HadamardResponse(domain_size=ITEMS, epsilon=2.0),
    SubsetSelection(domain_size=ITEMS, epsilon=1.0),
    UnaryEncoding(domain_size=ITEMS, epsilon=2.0),
    UnaryEncoding(domain_size=ITEMS, epsilon=4.0, symmetric=1),
    NoiseResponse(noise=[0.5, 0.3, 0.15, 0.04, 0.01], epsilon=4.0),
    Erasure.from_theta(domain_size=ITEMS, theta=0.4),
    Identity(ITEMS),
    RandomChoice([RandomizedResponse(domain_size=ITEMS, epsilon=1.0), Identity(ITEMS)], [0.7, 0.3]),
]


def support(mechanism: Any) -> Floats:
    """Pr(a report supports item x | the true item is z), as [z, x]."""
    if isinstance(mechanism, RandomChoice):
        return np.asarray(sum(w * support(part) for w, part in zip(mechanism.weights, mechanism.parts, strict=True)))
    law, columns = mechanism.matrix(), mechanism.columns_of(mechanism.possible_reports())
    each = [mechanism.reports_of(tuple(column[at : at + 1] for column in columns)) for at in range(law.shape[1])]
    return np.asarray(law @ np.array([mechanism.supports(one, None)[0] for one in each], np.float64))


def binomial(trials: int, chance: float) -> Floats:
    """All probabilities of Bin(trials, chance), by the ratio of each to the one before."""
    if chance in (0.0, 1.0):
        return np.where(np.arange(trials + 1) == round(trials * chance), 1.0, 0.0)
    k = np.arange(1.0, trials + 1.0)
    steps = np.log((trials - k + 1.0) / k) + math.log(chance / (1.0 - chance))
    return np.exp(trials * math.log1p(-chance) + np.concatenate(([0.0], np.cumsum(steps))))


def counted(mechanism: Any, count: int, reports: int) -> Counts:
    """Counts with the same number for every item."""
    counts = counts_for(mechanism, None, None)
    counts.add_supports(np.full(ITEMS, count, np.uint32), reports)
    return counts


def least_coverage(mechanism: Any, reports: int, off: float = 1.0) -> float:
    """Over items and their shares; `off` makes the mechanism support a true item so much more often than it says."""
    ends = [mechanism.estimates_of(counted(mechanism, count, reports)).intervals() for count in range(reports + 1)]
    low, high = (np.array(end) for end in zip(*ends, strict=True))
    rate, covered = support(mechanism), []
    for item in range(ITEMS):
        other = float(np.delete(rate[:, item], item).mean())  # whatever the others have, it is the same
        assert np.delete(rate[:, item], item) == pytest.approx(other, abs=1e-12)
        for share in SHARES:
            chance = other + share * off * (rate[item, item] - other)
            inside = (low[:, item] <= share + 1e-12) & (share - 1e-12 <= high[:, item])
            covered.append(float(binomial(reports, min(1.0, chance))[inside].sum()))
    return min(covered)


def test_every_mechanism_that_comes_with_the_package_is_tried() -> None:
    assert {one.kind for one in MADE} == set(MECHANISMS)


@pytest.mark.parametrize("mechanism", MADE, ids=lambda one: one.kind)
def test_small_counts_are_covered(mechanism: Any) -> None:
    for reports in (5, 150):
        assert least_coverage(mechanism, reports) >= LEAST


@pytest.mark.parametrize("mechanism", MADE, ids=lambda one: one.kind)
def test_a_mechanism_that_is_off_is_noticed(mechanism: Any) -> None:
    """Power: a quarter less support than it says, which the half width of 300 reports is far below for some share."""
    assert least_coverage(mechanism, 300, off=0.75) < LEAST


@pytest.mark.parametrize("even", [True, False])
def test_intervals_of_the_largest_items_hold_the_truth_on_average(even: bool) -> None:
    """The 20 largest of 1,000 items in 30 samples; at the usual level hardly any of them does.

    5 % may miss on average: five standard errors of 600 intervals are allowed.
    """
    items, shown, samples = 1000, 20, 30
    mechanism = RandomizedResponse(domain_size=items, epsilon=2.0)
    shares = np.full(items, 1.0) if even else 1.0 / np.arange(1.0, items + 1.0)
    shares /= shares.sum()
    chances = mechanism.rates.nu + shares * mechanism.rates.gain
    rng, held = np.random.default_rng(21), np.zeros(2)
    for _ in range(samples):
        counts = counts_for(mechanism, None, None)
        counts.add_supports(rng.multinomial(20_000, chances / chances.sum()).astype(np.uint32), 20_000)
        found = mechanism.estimates_of(counts)
        largest = found.top(shown)
        for place, level in enumerate((0.95, level_among_largest(shown, items))):
            low, high = (end[largest] for end in found.intervals(level))
            held[place] += np.mean((low <= shares[largest]) & (shares[largest] <= high)) / samples
    assert held[1] >= 0.95 - 5.0 * math.sqrt(0.05 * 0.95 / samples / shown)
    assert held[0] < 0.3  # power
