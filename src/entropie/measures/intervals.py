"""Values with an interval: the score interval for shares and the bootstrap over users for everything else.

What the bootstrap over users covers. A user is one draw from the population, a pair is not: pairs that share a user
are dependent, so pairs are never resampled. Where it is known who took part in each comparison (a score matrix),
users are drawn with replacement and take all their comparisons along, genuine and impostor. Where they are two lists,
both are drawn with replacement. So they are where the impostor scores are those of all pairs of people: that leaves out
that other people would also have made another law of all pairs, and is too narrow where a few people make many high
impostor scores (`scripts/bench coverage` prints how much).
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.document.measured import Interval as Interval
from entropie.document.measured import ShareInterval
from entropie.errors import InvalidParameter

LEVEL = 0.95
"""Confidence level of every interval unless told otherwise."""

REPLICATES = 1000
"""Bootstrap replicates unless told otherwise."""


def normal_quantile(probability: float) -> float:
    """The z with Pr(Z <= z) = probability for a standard normal Z."""
    return NormalDist().inv_cdf(probability)


def wilson(successes: ArrayLike, trials: float, level: float = LEVEL) -> tuple[NDArray[np.float64], ...]:
    """Wilson's score interval for a share, low and high; it stays honest at shares of 0 and 1.

    `successes` may be fractional: the variance of credit between 0 and 1 is at most that of a coin with the same
    mean, so that shared ties only make the interval a little too wide.
    """
    z = normal_quantile(0.5 + _checked_level(level) / 2.0)
    share = np.asarray(successes, dtype=np.float64) / trials
    centre = share + z * z / (2.0 * trials)
    half = z * np.sqrt(np.clip(share * (1.0 - share), 0.0, None) / trials + (z / (2.0 * trials)) ** 2)
    scale = 1.0 + z * z / trials
    low, high = np.clip((centre - half) / scale, 0.0, 1.0), np.clip((centre + half) / scale, 0.0, 1.0)
    return np.where(share <= 0.0, 0.0, low), np.where(share >= 1.0, 1.0, high)


def share_interval(share: float, trials: float, level: float = LEVEL) -> ShareInterval:
    """A share of the trials with Wilson's interval."""
    low, high = wilson(share * trials, trials, level)
    return ShareInterval(float(share), float(low), float(high))


def percentiles(replicates: NDArray[np.float64], level: float = LEVEL) -> tuple[float, float]:
    """The middle `level` of the bootstrap replicates."""
    tail = (1.0 - _checked_level(level)) / 2.0
    low, high = np.quantile(replicates, [tail, 1.0 - tail])
    return float(low), float(high)


def student(freedom: int, level: float = LEVEL) -> float:
    """The t within which Student's law with so many degrees of freedom lies with probability `level`."""

    def inside(t: float) -> float:
        angle = math.atan2(t, math.sqrt(freedom))
        cosine, term, total = math.cos(angle), 1.0, 0.0
        for k in range(freedom % 2 + 2, freedom + 1, 2):
            total += term
            term *= (k - 1) / k * cosine * cosine
        if freedom % 2 == 0:
            return math.sin(angle) * total
        return 2.0 / math.pi * (angle + (math.sin(angle) * cosine * total))

    low, high = 0.0, 1.0
    while inside(high) < _checked_level(level):
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if inside(middle) < level else (low, middle)
    return high


def _checked_level(level: float) -> float:
    if not 0.0 < level < 1.0 or not math.isfinite(level):
        raise InvalidParameter.of("level", "above 0 and below 1", level)
    return level
