"""The likelihood of a distribution behind reports of local hashing: one pass over reports for one step of EM."""

from __future__ import annotations

import numpy as np

from entropie.kernels.caching import njit
from entropie.kernels.modular import preimages


@njit(nogil=True, cache=True)
def weigh_supports(a, b, y, prime, hash_size, inverse, shares, truth, noise, totals):
    """totals[x] += 1/m for every report and every item x that supports it, m = noise + truth (shares of its items).

    Returns the sums of 1/m and of ln m.
    """
    held = np.empty(prime // hash_size + np.uint64(1), np.uint64)
    inverse_sum, log_sum = 0.0, 0.0
    for i in range(len(a)):
        count = preimages(a[i], b[i], y[i], prime, hash_size, inverse, np.uint64(len(shares)), held)
        together = 0.0
        for j in range(count):
            together += shares[held[j]]
        weight = 1.0 / (noise + truth * together)
        for j in range(count):
            totals[held[j]] += weight
        inverse_sum += weight
        log_sum -= np.log(weight)
    return inverse_sum, log_sum


@njit(nogil=True, cache=True)
def pair_supports(a, b, y, prime, hash_size, inverse, shares, truth, noise, places, singles, pairs):
    """singles[p] += 1/m^2 and pairs[p, q] += 1/m^2 for every report and items at places p, q that support it.

    places[x] is the place of item x, or below 0. Returns the sum of 1/m^2.
    """
    held = np.empty(prime // hash_size + np.uint64(1), np.uint64)
    placed = np.empty(len(singles), np.int64)
    total = 0.0
    for i in range(len(a)):
        count = preimages(a[i], b[i], y[i], prime, hash_size, inverse, np.uint64(len(shares)), held)
        together, found = 0.0, 0
        for j in range(count):
            together += shares[held[j]]
            if places[held[j]] >= 0:
                placed[found] = places[held[j]]
                found += 1
        weight = 1.0 / (noise + truth * together) ** 2
        for j in range(found):
            singles[placed[j]] += weight
            for other in range(found):
                pairs[placed[j], placed[other]] += weight
        total += weight
    return total
