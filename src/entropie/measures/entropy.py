"""Entropy of classes in bits, and an interval for the population that the people are a sample of."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from entropie.measures.intervals import normal_quantile

_LONE_SHARE = 0.05


def entropy(sizes: NDArray[np.int64], people: int) -> tuple[float, float, float | None]:
    """Entropy of the groups in bits, and an interval for the population they are drawn from.

    The entropy of a sample is too small by (K-1)/(2n) nats (Miller and Madow); its variance is that of -log p, plus
    the (K-1)/(2n^2) that is left where all p are equal. Where more than a twentieth of the people are alone, values
    not seen yet may add any number of bits: no upper end. Nothing above log n can be told from n people.
    """
    distinct, times = np.unique(sizes, return_counts=True)  # there are few different ones
    shares, weights = distinct / people, distinct * times / people
    surprise = -np.log2(shares)
    bits = max(0.0, float(weights @ surprise))
    lacking = (sizes.size - 1) / (2.0 * people * math.log(2.0))
    variance = max(0.0, float(weights @ surprise**2) - bits**2) / people
    variance += (sizes.size - 1) / (2.0 * (people * math.log(2.0)) ** 2)
    reach = normal_quantile(0.975) * math.sqrt(variance)
    ceiling = math.log2(people)
    low, high = max(0.0, min(ceiling, bits + lacking - reach)), bits + lacking + reach
    alone = float(np.count_nonzero(sizes == 1)) / people
    return bits, low, None if alone > _LONE_SHARE or high > ceiling else high
