"""The interval of a width that holds most of sorted values, group by group."""

from __future__ import annotations

import numpy as np

from entropie.kernels.caching import njit


@njit(nogil=True, cache=True)
def densest(begins, values, width):
    """How many values of each group one interval of this width can hold, and the middle of the first such interval.

    begins   where each group begins among the values, and where the last one ends
    values   rising within each group
    """
    groups = len(begins) - 1
    most = np.zeros(groups, np.int64)
    middle = np.zeros(groups)
    for group in range(groups):
        low = begins[group]
        for high in range(begins[group], begins[group + 1]):
            while values[high] - values[low] > width:
                low += 1
            if high - low + 1 > most[group]:
                most[group] = high - low + 1
                middle[group] = (values[low] + values[high]) / 2.0
    return most, middle
