"""The digamma function and the normal quantile: all the special functions the measures need.

By hand for the reason that `entropie.theory.special` gives; these take arrays, those are of plain numbers.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["digamma", "normal_quantile"]

_SHIFT = 8  # beyond 8 the series below is exact to 1e-14


def digamma(x: ArrayLike) -> NDArray[np.float64]:
    """psi0(x) for x > 0; at a whole number, the harmonic number of x - 1 minus Euler's constant.

    Recurrence up to x >= 9, then the asymptotic series; absolute error below 1e-13 for x >= 1.
    """
    low = np.asarray(x, dtype=np.float64)
    high = low + _SHIFT
    inverse = 1.0 / (high * high)
    terms = 1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))
    value = np.log(high) - 0.5 / high - inverse * (1 / 12 - inverse * terms)
    for step in range(_SHIFT):
        value = value - 1.0 / (low + step)
    return np.where(low > 1e6, np.log(low) - 0.5 / low, value)  # no cancellation among large terms


def normal_quantile(probability: float) -> float:
    """The z with Pr(Z <= z) = probability for a standard normal Z."""
    return NormalDist().inv_cdf(probability)
