"""Both laws on one set of bins, and the lengths of the rank curve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.errors import InvalidInput
from entropie.measures.histogram import law_histogram
from entropie.measures.identification import rank_steps
from entropie.measures.law import ScoreLaw

scores = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=50)


@settings(max_examples=200, deadline=None)
@given(scores, scores, st.integers(1, 12))
def test_bins_hold_what_a_plain_count_holds(genuine: list[float], impostor: list[float], bins: int) -> None:
    found = law_histogram(ScoreLaw.from_scores(genuine, impostor), bins=bins)
    edges = found.edges
    for shares, values in ((found.genuine, genuine), (found.impostor, impostor)):
        for place in range(len(shares)):
            low = -np.inf if place == 0 else edges[place]
            high = np.inf if place == len(shares) - 1 else edges[place + 1]
            assert shares[place] == pytest.approx(sum(low <= v < high for v in values) / len(values), abs=1e-12)
    assert sum(found.genuine) == pytest.approx(1.0)
    assert sum(found.impostor) == pytest.approx(1.0)


def test_far_outliers_do_not_squeeze_the_picture() -> None:
    rng = np.random.default_rng(0)
    impostor = np.concatenate((rng.normal(size=100_000), [1e9]))
    found = law_histogram(ScoreLaw.from_scores(rng.normal(3.0, 1.0, 10_000), impostor))
    assert found.edges[-1] < 10.0


def test_empty_and_constant_laws() -> None:
    with pytest.raises(InvalidInput, match="needs a score"):
        law_histogram(ScoreLaw.from_scores([], []))
    same = law_histogram(ScoreLaw.from_scores([2.0], [2.0, 2.0]))
    assert (same.edges, same.genuine, same.impostor) == ([1.5, 2.5], [1.0], [1.0])


@pytest.mark.parametrize("users", [1, 2, 7, 1000, 1_370_637])
def test_rank_steps_run_from_one_to_all(users: int) -> None:
    steps = rank_steps(users)
    assert steps[0] == 1
    assert steps[-1] == users
    assert list(steps) == sorted(set(steps))
    assert len(steps) <= 60
