from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.identification import guessing_error, identification_error, lift, top_k_errors
from entropie.measures.intervals import percentiles, wilson


def chance_within(scores: list[int], genuine: int, k: int) -> Fraction:
    """Average over every order of the users that respects the scores."""
    orders = [
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    return Fraction(sum(genuine in order[:k] for order in orders), len(orders))


@settings(deadline=None, max_examples=60)
@given(scores=st.lists(st.integers(0, 2), min_size=1, max_size=5), data=st.data())
def test_ties_share_credit_as_random_orders_do(scores: list[int], data: st.DataObject) -> None:
    genuine = data.draw(st.integers(0, len(scores) - 1))
    better = sum(s > scores[genuine] for s in scores)
    tied = scores.count(scores[genuine])
    users = len(scores)
    found = top_k_errors([better + 1], [better + tied], users, guesses=range(1, users + 1))
    for error in found:
        assert error.error == pytest.approx(1 - float(chance_within(scores, genuine, error.k)), abs=1e-12)
    credit = 1 / tied if better == 0 else 0.0
    assert found[0].error == pytest.approx(identification_error([credit]).value, abs=1e-12)
    assert found[-1].error == 0.0


def test_guessing_and_lift() -> None:
    assert guessing_error(1) == 0.0
    assert guessing_error(1511) == pytest.approx(1 - 1 / 1511)
    assert guessing_error(10, 3) == pytest.approx(0.7)
    assert guessing_error(10, 30) == 0.0
    assert lift(0.5, 1000) == 500.0
    assert lift(guessing_error(40, 5), 40, 5) == pytest.approx(1.0)
    with pytest.raises(InvalidParameter, match="users"):
        guessing_error(0)


def test_lists_longer_than_the_users_are_left_out() -> None:
    assert [error.k for error in top_k_errors([1], [1], 7)] == [1, 2, 5]


def test_wilson_matches_its_equation() -> None:
    """The ends solve (share - p)^2 = z^2 p(1-p)/n."""
    low, high = wilson(37.5, 100, 0.95)
    for end in (float(low), float(high)):
        assert (0.375 - end) ** 2 == pytest.approx(1.959963984540054**2 * end * (1 - end) / 100)
    assert wilson(0, 10)[0] == 0.0
    assert wilson(10, 10)[1] == 1.0
    assert 0.0 < wilson(0, 10)[1] < 0.3


@pytest.mark.parametrize("success", [0.003, 0.1, 0.37])
@pytest.mark.parametrize("ties", [1, 3])
def test_interval_of_the_error_covers(success: float, ties: int) -> None:
    """Credit is 1/ties: coverage 95 %, exact by enumeration of the binomial number of winners.

    Discreteness lets Wilson's interval fall a little short; 4 % is its known worst dip beyond n p = 1.
    """
    n, coverage, shrunk = 400, 0.0, 0.0
    truth = 1 - success / ties
    for winners in range(n + 1):
        log_chance = (
            math.lgamma(n + 1) - math.lgamma(winners + 1) - math.lgamma(n - winners + 1)
            + winners * math.log(success) + (n - winners) * math.log1p(-success)
        )  # fmt: skip
        if log_chance < -40:
            continue
        found = identification_error(np.repeat([1 / ties, 0.0], [winners, n - winners]))
        coverage += math.exp(log_chance) * (found.low <= truth <= found.high)
        middle = (found.low + found.high) / 2
        shrunk += math.exp(log_chance) * (abs(truth - middle) <= 0.4 * (found.high - found.low) / 2)
    assert coverage >= 0.91
    assert shrunk < 0.91


def test_several_targets_of_one_user_widen_the_interval() -> None:
    credit = np.repeat([1.0, 0.0], [60, 40])
    each, shared = identification_error(credit), identification_error(credit, independent=25)
    assert each.value == shared.value == pytest.approx(0.4)
    assert shared.high - shared.low > 1.8 * (each.high - each.low)
    with pytest.raises(InvalidParameter, match="independent"):
        identification_error(credit, independent=101)


@pytest.mark.parametrize("credit", [[], [[1.0]], [1.5], [-0.1], [float("nan")]])
def test_broken_credit_is_refused(credit: list[float]) -> None:
    with pytest.raises(InvalidInput):
        identification_error(credit)


@pytest.mark.parametrize(("low", "high"), [([], []), ([0], [1]), ([2], [1]), ([1], [9]), ([1], [1, 1])])
def test_broken_ranks_are_refused(low: list[int], high: list[int]) -> None:
    with pytest.raises(InvalidInput, match="anks"):
        top_k_errors(low, high, 8)


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, float("nan")])
def test_levels_lie_between_nothing_and_everything(level: float) -> None:
    with pytest.raises(InvalidParameter, match="level"):
        wilson(1, 2, level)
    with pytest.raises(InvalidParameter, match="level"):
        percentiles(np.arange(3.0), level)
