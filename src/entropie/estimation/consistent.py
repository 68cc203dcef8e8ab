"""Estimates that are a distribution: no share below 0, all together 1. They are not unbiased: rare items come out as 0.

The nearest distribution to unbiased estimates is theirs less one number, with what falls below 0 set to 0. Where a
report names one item, as in randomized response, the most likely distribution has the same shape: the likelihood
prod (gain p_y + nu)^(c_y) is largest where c_y gain/(gain p_y + nu) is one number for all items with a share, so that
p_y = max(0, c_y/level - nu/gain). Both are solved exactly, by going through the items from the largest down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def on_simplex(values: Floats) -> Floats:
    """The distribution nearest to these numbers, by the sum of squared differences."""
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1.0, len(values) + 1.0)
    used = int(np.flatnonzero(falling > excess)[-1])
    return np.asarray(np.maximum(values - excess[used], 0.0))


def most_likely(counts: NDArray[np.integer], noise: float) -> Floats:
    """The most likely distribution behind these counts of items named; `noise` is nu/gain, above 0 or not."""
    named = counts.astype(np.float64)
    falling = np.sort(named)[::-1]
    items = np.arange(1.0, len(named) + 1.0)
    level = np.cumsum(falling) / (1.0 + items * noise)  # if so many items have a share
    used = int(np.flatnonzero(falling > level * noise)[-1])
    return np.asarray(np.maximum(named / level[used] - noise, 0.0))
