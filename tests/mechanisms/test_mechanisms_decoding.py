"""Counting reports: by the definition on small domains, and on domains where anything but a fast way would not end.

Fast is O(n + k) where a report names an item, O(n + k log k) for Hadamard response, O(n d + k) for sets of d items, and
one look at every bit for unary encoding. Local hashing has its own oracle (tests/estimation/test_estimation_supports.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from entropie.mechanisms.erasure import Erasure
from entropie.mechanisms.hadamard import HadamardResponse
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.noise_response import NoiseResponse
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mechanisms.subset_selection import SubsetSelection
from entropie.mechanisms.unary_encoding import UnaryEncoding


def names(row: list[int], item: int) -> bool:
    return row == [item]


def even(row: list[int], item: int) -> bool:
    return bin(row[0] & (item + 1)).count("1") % 2 == 0


def holds(row: list[int], item: int) -> bool:
    return item in row


def has_bit(row: list[int], item: int) -> bool:
    return bool(row[item // 48] >> (item % 48) & 1)


def geometric(k: int) -> np.ndarray:
    weights = 0.9 ** np.arange(k) + 1e-3
    return weights / weights.sum()


SMALL: list[tuple[Mechanism, Callable[[list[int], int], bool]]] = [
    *((RandomizedResponse(domain_size=k, epsilon=2.0), names) for k in (2, 13)),
    (NoiseResponse(noise=geometric(13), epsilon=2.0), names),
    (Erasure.from_theta(domain_size=13, theta=0.6), names),
    (Identity(13), names),
    *((HadamardResponse(domain_size=k, epsilon=2.0), even) for k in (2, 3, 4, 7, 8, 9, 31)),
    *((SubsetSelection(domain_size=13, subset_size=d, epsilon=2.0), holds) for d in (1, 4, 12)),
    *((UnaryEncoding(domain_size=k, epsilon=2.0), has_bit) for k in (2, 47, 48, 49, 100)),
]


@pytest.mark.parametrize(("mechanism", "supports"), SMALL, ids=lambda value: getattr(value, "kind", ""))
def test_counts_are_the_definition(mechanism: Mechanism, supports: Callable[[list[int], int], bool]) -> None:
    rng = np.random.default_rng(mechanism.domain_size)
    reports = mechanism.simulate(rng.integers(0, mechanism.domain_size, 300), rng)
    rows = mechanism.rows_of(reports).tolist()
    want = [sum(supports(row, item) for row in rows) for item in range(mechanism.domain_size)]
    assert mechanism.count(reports).counts.tolist() == want
    some = sorted({0, mechanism.domain_size // 2, mechanism.domain_size - 1})
    assert mechanism.count(reports, items=some).counts.tolist() == [want[item] for item in some]


@pytest.mark.parametrize(("mechanism", "supports"), SMALL, ids=lambda value: getattr(value, "kind", ""))
def test_no_reports_support_nothing(mechanism: Mechanism, supports: Callable[[list[int], int], bool]) -> None:
    empty = mechanism.simulate(np.empty(0, np.uint64), np.random.default_rng(0))
    counts = mechanism.count(empty)
    assert counts.reports == 0
    assert not counts.counts.any()


LARGE: list[tuple[Mechanism, Callable[[list[int], int], bool]]] = [
    (RandomizedResponse(domain_size=2_000_000, epsilon=12.0), names),
    (Erasure.from_theta(domain_size=2_000_000, theta=0.5), names),
    (NoiseResponse(noise=geometric(1 << 16), epsilon=9.0), names),
    (HadamardResponse(domain_size=1_000_000, epsilon=2.0), even),
    (SubsetSelection(domain_size=1_000_000, subset_size=5, epsilon=11.0), holds),
]


@pytest.mark.parametrize(("mechanism", "supports"), LARGE, ids=lambda value: getattr(value, "kind", ""))
def test_large_domains_are_counted(mechanism: Mechanism, supports: Callable[[list[int], int], bool]) -> None:
    """30,000 reports and all items: going through pairs would be 10^10 steps."""
    rng = np.random.default_rng(4)
    frequent = np.array([0, 17, mechanism.domain_size - 1])
    reports: Any = mechanism.simulate(rng.choice(frequent, 30_000), rng)
    found = mechanism.count(reports)
    rows = mechanism.rows_of(reports).tolist()
    for item in [*frequent.tolist(), 5]:
        assert found.counts[item] == sum(supports(row, item) for row in rows)
    shares = mechanism.estimates_of(found)
    assert np.all(np.abs(shares.probabilities[frequent] - 1 / 3) < 5 * shares.standard_errors[frequent] + 0.02)
