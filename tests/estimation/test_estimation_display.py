"""What is shown of estimates: the largest items, and the distance from a known truth."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.errors import InvalidParameter
from entropie.estimation.estimates import Accuracy, Estimates, accuracy
from entropie.theory.loss import CountingRates

RATES = CountingRates(mu=0.5, nu=0.1, gain=0.4, mu_off=0.5)
EXACT = settings(derandomize=True, deadline=None, max_examples=200)


@EXACT
@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.integers(1, 80))
def test_top_items_largest_first_ties_by_position(counts: list[int], size: int) -> None:
    for kind in (np.int64, np.uint32):
        made = Estimates(np.array(counts, kind), 100, RATES, len(counts))
        want = sorted(range(len(counts)), key=lambda i: (-counts[i], i))[:size]
        assert made.top(size).tolist() == want


def test_top_with_counters_at_their_end() -> None:
    made = Estimates(np.array([0, 2**32 - 1, 5, 2**32 - 1], np.uint32), 2**32 - 1, RATES, 4)
    assert made.top(3).tolist() == [1, 3, 2]


def test_top_of_none_is_empty_or_refused() -> None:
    made = Estimates(np.array([3, 1, 2]), 100, RATES, 3)
    with contextlib.suppress(InvalidParameter):
        assert made.top(0).tolist() == []


@pytest.mark.parametrize("size", [-1, -3, 2.5, math.nan, None, "two"], ids=repr)
def test_top_of_what_is_no_number_of_items(size: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"\.$"):
        Estimates(np.array([3, 1, 2]), 100, RATES, 3).top(size)


ESTIMATED, TRUTH = [0.5, 0.2, 0.3, -0.1], [0.4, 0.4, 0.2, 0.0]


@pytest.mark.parametrize(
    ("top", "want"),
    [
        (None, Accuracy(4, 0.01 + 0.04 + 0.01 + 0.01, (0.25 + 0.5 + 0.5) / 3)),
        (1, Accuracy(1, 0.01, 0.25)),
        (2, Accuracy(2, 0.05, (0.25 + 0.5) / 2)),
        (3, Accuracy(3, 0.06, (0.25 + 0.5 + 0.5) / 3)),
        (4, Accuracy(4, 0.07, (0.25 + 0.5 + 0.5) / 3)),
        (9, Accuracy(4, 0.07, (0.25 + 0.5 + 0.5) / 3)),
    ],
)
def test_accuracy_by_hand(top: int | None, want: Accuracy) -> None:
    got = accuracy(ESTIMATED, TRUTH, top)
    assert (got.items, got.l2, got.relative_error) == pytest.approx((want.items, want.l2, want.relative_error))


def test_accuracy_takes_the_top_of_the_truth_not_of_the_estimates() -> None:
    got = accuracy([0.0, 1.0, 0.0], [0.5, 0.2, 0.3], 1)
    assert (got.l2, got.relative_error) == pytest.approx((0.25, 1.0))


def test_accuracy_of_the_truth_itself_and_without_occurring_items() -> None:
    assert accuracy(TRUTH, TRUTH) == Accuracy(4, 0.0, 0.0)
    assert accuracy([0.25, 0.25], [0.0, 0.0]) == Accuracy(2, 0.125, 0.0)


@pytest.mark.parametrize(
    ("estimated", "truth", "top"),
    [
        ([0.5], [0.5, 0.5], None),
        ([], [], None),
        ([[0.5]], [[0.5]], None),
        (0.5, 0.5, None),
        (["a"], [0.5], None),
        ([[0.5], [0.5, 0.5]], [0.5, 0.5], None),
        ([0.5], [0.5], -1),
        ([0.5, 0.5], [0.5, 0.5], 1.5),
        ([0.5, 0.5], [0.5, 0.5], "one"),
    ],
)
def test_accuracy_of_what_cannot_be_compared(estimated: Any, truth: Any, top: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"\.$"):
        accuracy(estimated, truth, top)
