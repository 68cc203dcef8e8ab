"""Random subsets of a fixed size, from uniform numbers that the caller has drawn."""

from __future__ import annotations

import numpy as np

from entropie.kernels.caching import njit


@njit(nogil=True, cache=True)
def subsets(draws, domain_size):
    """Row i: a subset of 0 .. domain_size-1, sorted, by Floyd's method.

    draws[i, j] is uniform on 0 .. domain_size-size+j: it is taken unless it was taken before, else that last number is.
    """
    rows, size = draws.shape
    chosen = np.empty((rows, size), np.uint64)
    taken = np.zeros(domain_size, np.int64)
    for row in range(rows):
        for place in range(size):
            last = np.uint64(domain_size - size + place)
            drawn = draws[row, place]
            if taken[drawn] == row + 1:
                drawn = last
            taken[drawn] = row + 1
            chosen[row, place] = drawn
        chosen[row].sort()
    return chosen
