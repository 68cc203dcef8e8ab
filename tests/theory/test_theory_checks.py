"""Rules at the public edge: one sentence with name, rule and value."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from entropie.errors import InvalidParameter
from entropie.theory import checks


@pytest.mark.parametrize("value", [1, 7.0, np.int32(5), np.uint64(10**18), 10**18, Fraction(4, 2)])
def test_whole_numbers_of_any_make(value: object) -> None:
    number = checks.whole_number("users", value)
    assert type(number) is int
    assert number == value


@pytest.mark.parametrize("value", [0, -1, 1.5, 10**18 + 1, math.nan, math.inf, "five", None, True, [3], 1 + 0j])
def test_other_things_are_no_whole_numbers(value: object) -> None:
    with pytest.raises(InvalidParameter, match="Parameter `users` must be a whole number from 1 to"):
        checks.whole_number("users", value)


def test_bounds_of_whole_numbers() -> None:
    assert checks.whole_number("n", 0, at_least=0) == 0
    with pytest.raises(InvalidParameter, match="from 2 to 3, got 4 instead"):
        checks.whole_number("n", 4, at_least=2, at_most=3)


@pytest.mark.parametrize("value", [0, 0.5, 1, np.float32(0.25), Fraction(1, 3)])
def test_probabilities(value: object) -> None:
    assert checks.theta_value(value) == float(value)
    assert checks.bayes_error_value(value) == float(value)


@pytest.mark.parametrize("value", [-1e-9, 1.0000001, math.nan, math.inf, "half", None])
def test_no_probabilities(value: object) -> None:
    with pytest.raises(InvalidParameter, match="Parameter `theta` must be a probability from 0 to 1"):
        checks.theta_value(value)
    with pytest.raises(InvalidParameter, match="Parameter `bayes_error` must be a share from 0 to 1"):
        checks.bayes_error_value(value)


def test_budgets() -> None:
    assert checks.epsilon_value(0) == 0.0
    assert checks.epsilon_value(math.inf) == math.inf
    for value in (-1e-12, math.nan, -math.inf, "big", None):
        with pytest.raises(InvalidParameter, match="Parameter `epsilon` must be a number of at least 0"):
            checks.epsilon_value(value)


def test_largest_probability() -> None:
    assert checks.prior_max_value(1 / 3, 3) == 1 / 3
    assert checks.prior_max_value(1, 3) == 1.0
    for value in (0.3, 0.0, 1.1, math.nan):
        with pytest.raises(InvalidParameter, match=r"from 1/users = 0\.333333 to 1"):
            checks.prior_max_value(value, 3)


def test_distributions() -> None:
    assert checks.distribution("prior", (0.25, 0.75)) == [0.25, 0.75]
    assert checks.distribution("prior", [0.1] * 10) == [0.1] * 10
    with pytest.raises(InvalidParameter, match=r"must sum to 1, got a sum of 0\.9"):
        checks.distribution("prior", [0.5, 0.4])
    for wrong in ([], [1.5, -0.5], [math.nan, 1.0]):
        with pytest.raises(InvalidParameter, match="non-empty list of probabilities"):
            checks.distribution("prior", wrong)
