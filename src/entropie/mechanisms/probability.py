"""Probabilities as integers T of T/2^64, the form in which devices and collectors share them.

T is rounded down, so that the guarantee of a mechanism is never weaker than stated, and everything downstream uses
T/2^64, so that estimates stay unbiased.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidParameter
from entropie.theory import checks
from entropie.theory.special import LARGE_EPSILON

ONE = 1 << 64
"""The numerator of probability 1."""

CONTEXT = decimal.Context(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def numerator_of_theta(theta: float | Fraction) -> int:
    """T = floor(theta 2^64), exactly."""
    if isinstance(theta, Fraction):
        if not 0 <= theta <= 1:
            raise InvalidParameter.of("theta", "a probability from 0 to 1", theta)
        return math.floor(theta * ONE)
    return math.floor(Fraction(checks.theta_value(theta)) * ONE)


def numerator_of_epsilon(epsilon: float, size: int | Fraction) -> int:
    """T = floor(2^64 (w-1)/(size+w-1)), computed with 60 digits."""
    epsilon = checks.epsilon_value(epsilon)
    if math.isinf(epsilon):
        return ONE
    with decimal.localcontext(CONTEXT):
        # beyond the large budget theta is above 1 - 2^-64 whatever the size, and floor gives 2^64 - 1
        lift = Decimal(min(epsilon, LARGE_EPSILON)).exp() - 1
        return min(ONE - 1, int(ONE * lift / (_decimal(size) + lift)))


def epsilon_of_numerator(numerator: int, size: int | Fraction) -> float:
    """ln(1 + size T/(2^64-T)), rounded down: the budget really kept; infinite when the truth is always told."""
    return math.inf if numerator == ONE else log_of(1 + Fraction(size * numerator) / (ONE - numerator))


def log_of(ratio: Fraction) -> float:
    """ln of a ratio of at least 1, rounded down."""
    with decimal.localcontext(CONTEXT):
        budget = _decimal(ratio).ln()
    nearest = float(budget)
    return math.nextafter(nearest, 0.0) if Decimal(nearest) > budget else nearest


def _decimal(value: int | Fraction) -> Decimal:
    return Decimal(value.numerator) / value.denominator


def happens(numerator: int, words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the uniform 64-bit words fall below T: each with probability exactly T/2^64."""
    if numerator == ONE:
        return np.ones(len(words), np.bool_)
    return words < np.uint64(numerator)
