"""Random subsets: the kernel against the definition, every set equally likely, and the best size of a set."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from entropie.errors import InvalidInput, InvalidParameter
from entropie.kernels.subsets import subsets
from entropie.mechanisms.subset_selection import SubsetSelection


def naive(draws: np.ndarray, k: int) -> list[list[int]]:
    found = []
    for row in draws.tolist():
        taken: set[int] = set()
        for place, drawn in enumerate(row):
            taken.add(k - len(row) + place if drawn in taken else drawn)
        found.append(sorted(taken))
    return found


def test_kernel_is_the_definition_and_uniform() -> None:
    """All 60 rows of draws for 2 of 5 and 3 of 5: every set comes from as many of them."""
    for k, d in ((5, 2), (5, 3)):
        draws = np.array(list(itertools.product(*(range(k - d + place + 1) for place in range(d)))), np.uint64)
        made = subsets(draws, k).tolist()
        assert made == naive(draws, k)
        counted = Counter(map(tuple, made))
        assert set(counted) == set(itertools.combinations(range(k), d))
        assert len(set(counted.values())) == 1


@pytest.mark.parametrize(("k", "epsilon"), [(10, 1.0), (40, 0.5), (100, 3.0), (9, 6.0)])
def test_best_size_has_the_least_noise(k: int, epsilon: float) -> None:
    noises = {
        size: SubsetSelection(domain_size=k, subset_size=size, epsilon=epsilon).rates.l2(0.0, 1) for size in range(1, k)
    }
    chosen = SubsetSelection(domain_size=k, epsilon=epsilon)
    assert noises[chosen.subset_size] == min(noises.values())
    assert chosen.epsilon <= epsilon


def test_bad_reports_and_settings_are_refused() -> None:
    made = SubsetSelection(domain_size=6, subset_size=2, epsilon=1.0)
    for wrong in ([[1], [1]], [[2], [1]], [[1]], [[1, 2], [3]], [[1], [6]]):
        with pytest.raises(InvalidInput):
            made.count(tuple(np.array(column, np.uint64) for column in wrong))
    for settings in ({"subset_size": 6}, {"subset_size": 0}):
        with pytest.raises(InvalidParameter, match="subset_size"):
            SubsetSelection(domain_size=6, epsilon=1.0, **settings)
    with pytest.raises(InvalidParameter, match="local hashing"):
        SubsetSelection(domain_size=10**6, epsilon=1.0)
