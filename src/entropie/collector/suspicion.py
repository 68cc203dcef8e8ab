"""What honest devices would hardly do: chances, each an upper bound, that chance alone explains what is stored.

Honest devices draw hash functions uniformly, and every report supports every item with probability nu at least. Where
the chance returned here is below some rate, an alarm at that rate is false no more often than that.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from entropie.collector.facts import Facts, shifted_rates
from entropie.theory.special import binomial_upper_tail

_LEAST_EXPECTED = 50
"""Reports that a group of hash functions is expected to have, so that the chi-square distribution fits its tail."""


def uneven(functions: NDArray[np.int64]) -> float:
    """Chance that uniform draws are as uneven over the pool: groups by chi-square, or the fullest function alone.

    Twice the smaller of both, so that either may speak.
    """
    total, pool = int(functions.sum()), len(functions)
    if total == 0 or pool < 2:
        return 1.0
    fullest = pool * binomial_upper_tail(int(functions.max()), total, 1.0 / pool)
    groups = min(pool, total // _LEAST_EXPECTED)
    grouped = 1.0
    if groups >= 2:
        edges = np.arange(groups) * pool // groups
        seen = np.add.reduceat(functions, edges)
        expected = total * np.diff(np.append(edges, pool)) / pool
        grouped = chi_square_tail(float(((seen - expected) ** 2 / expected).sum()), groups - 1)
    return min(1.0, 2.0 * min(fullest, grouped))


def negative(facts: Facts, level: float) -> tuple[float, int]:
    """Chance that the least supported item has so little support, over all items, and its code.

    Where items are hashed, half of `level` allows for the pool, which moves every item by a fixed amount.
    """
    least = int(facts.supports.argmin())
    size, total = len(facts.supports), facts.total
    rates = shifted_rates(facts.collection, level / 2.0 / size, -1)
    missing = total - int(facts.supports[least])
    if missing <= total * (1.0 - rates.nu):
        return 1.0, least
    return min(1.0, size * binomial_upper_tail(missing, total, 1.0 - rates.nu)), least


def chi_square_tail(statistic: float, freedom: int) -> float:
    """Pr(X >= statistic) for X of the chi-square distribution: the incomplete gamma function Q(freedom/2, x/2)."""
    a, x = freedom / 2.0, statistic / 2.0
    if x <= 0.0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1.0:  # the series of 1 - Q
        term = total = 1.0 / a
        step = a
        while term > total * 1e-17:
            step += 1.0
            term *= x / step
            total += term
        return max(0.0, 1.0 - scale * total)
    b, c = x + 1.0 - a, 1e300
    d = 1.0 / b
    value = d
    for i in range(1, 1_000_000):  # Lentz's method
        factor = -i * (i - a)
        b += 2.0
        d = 1.0 / (factor * d + b)
        c = b + factor / c
        value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return min(1.0, scale * value)
