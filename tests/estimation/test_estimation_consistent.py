"""Distributions from estimates: nearest and most likely, against a search over the simplex."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.errors import InvalidInput
from entropie.estimation.consistent import most_likely, on_simplex
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse

GRID = [np.array([a, b, 40 - a - b]) / 40 for a, b in itertools.product(range(41), repeat=2) if a + b <= 40]


@settings(max_examples=50, derandomize=True, deadline=None, database=None)
@given(st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3))
def test_nearest_distribution(values: list[float]) -> None:
    given_, found = np.array(values), on_simplex(np.array(values))
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0)
    distance = ((found - given_) ** 2).sum()
    assert all(distance <= ((other - given_) ** 2).sum() + 1e-12 for other in GRID)


@settings(max_examples=50, derandomize=True, deadline=None, database=None)
@given(st.lists(st.integers(0, 50), min_size=3, max_size=3), st.floats(0.0, 3.0))
def test_most_likely_distribution(counts: list[int], noise: float) -> None:
    named = np.array(counts)
    if named.sum() == 0:
        return
    found = most_likely(named, noise)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0)

    def likelihood(p: np.ndarray) -> float:
        with np.errstate(divide="ignore"):
            return float((named[named > 0] * np.log(p[named > 0] + noise)).sum())

    assert all(likelihood(found) >= likelihood(other) - 1e-9 for other in GRID)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_distribution_is_closer_over_all_items(epsilon: float) -> None:
    """Few reports, many rare items: the squared error of a distribution is below that of unbiased estimates."""
    truth = np.r_[0.5, 0.3, np.full(98, 0.2 / 98)]
    values = np.random.default_rng(2).choice(100, 5000, p=truth)
    shares = np.bincount(values, minlength=100) / 5000
    for mechanism in (
        RandomizedResponse(domain_size=100, epsilon=epsilon),
        LocalHashing(domain_size=100, epsilon=epsilon),
    ):
        found = mechanism.estimate(mechanism.simulate(values, np.random.default_rng(4)))
        plain, whole = found.probabilities, found.consistent
        assert whole.sum() == pytest.approx(1.0)
        assert whole.min() >= 0.0
        assert ((whole - shares) ** 2).sum() < ((plain - shares) ** 2).sum()
        assert plain.min() < 0.0  # and the unbiased ones stay as they are


def test_some_items_make_no_distribution() -> None:
    mechanism = RandomizedResponse(domain_size=9, epsilon=1.0)
    found = mechanism.estimate(mechanism.simulate([1, 2], np.random.default_rng(0)), items=[1, 2])
    with pytest.raises(InvalidInput, match="all items"):
        _ = found.consistent
