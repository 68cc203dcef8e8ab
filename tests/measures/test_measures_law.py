from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropie.errors import InvalidInput
from entropie.measures.law import ScoreLaw

scores = st.lists(st.integers(-4, 4).map(lambda x: x / 2), max_size=30)


@given(genuine=scores, impostor=scores)
def test_from_scores_counts_what_a_counter_counts(genuine: list[float], impostor: list[float]) -> None:
    law = ScoreLaw.from_scores(genuine, impostor)
    assert dict(zip(law.values.tolist(), law.counts.tolist(), strict=True)) == Counter(impostor)
    assert law.values.tolist() == sorted(set(impostor))
    assert law.genuine.tolist() == genuine
    assert (law.impostors, law.targets) == (len(impostor), len(genuine))


def test_counts_beyond_a_million_million_stay_exact() -> None:
    law = ScoreLaw.weighted([1.0, 0.0] * 3, [10**15 + 1, 3] * 3, [0.5])
    assert law.counts.tolist() == [9, 3 * (10**15 + 1)]
    assert law.impostors == 3 * 10**15 + 12


def test_negative_zero_is_zero_and_zero_counts_vanish() -> None:
    law = ScoreLaw.weighted([-0.0, 0.0, 1.0], [2, 3, 0], [-0.0])
    assert law == ScoreLaw(np.array([0.0]), np.array([5]), np.array([0.0]))
    assert not np.signbit(law.values).any()
    assert not np.signbit(law.genuine).any()


def test_laws_compare_and_do_not_hash() -> None:
    law = ScoreLaw.from_scores([1.0], [0.0])
    assert law != ScoreLaw.from_scores([1.0], [0.5])
    assert law != "law"
    with pytest.raises(TypeError):
        hash(law)


@pytest.mark.parametrize(
    ("values", "counts", "genuine", "said"),
    [
        ([1.0, 0.0], [1, 1], [], "sorted and distinct"),
        ([0.0, 0.0], [1, 1], [], "sorted and distinct"),
        ([0.0], [0], [], "at least 1"),
        ([0.0], [1, 2], [], "must fit"),
        ([0.0], [1.0], [], "whole numbers"),
        ([np.nan], [1], [], "finite"),
        ([0.0], [1], [np.inf], "finite"),
        ([[0.0]], [[1]], [], "flat"),
        ([0.0, 1.0], [2**62, 2**62], [], "at most"),
    ],
)
def test_a_broken_law_is_refused(values: object, counts: object, genuine: object, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        ScoreLaw(np.asarray(values), np.asarray(counts), np.asarray(genuine, dtype=np.float64))


def test_negative_counts_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 0"):
        ScoreLaw.weighted([0.0], [-1], [])
