"""The loop that learns how much each kind of evidence counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.kernels.arrays import Floats, Ints
from entropie.kernels.caching import njit


@njit(nogil=True, cache=True)
def logit_sums(
    evidence: Floats, there: NDArray[np.bool_], right: Ints, settled: Floats, weights: Floats
) -> tuple[float, Floats, Floats]:
    """Sums over lists of -ln of the chance of the right candidate, of its slope and of its curvature.

    Candidates of list l have the chances exp(evidence[l] @ weights + settled[l]), scaled to sum to 1.
    """
    lists, count, kinds = evidence.shape
    loss = 0.0
    slope, curvature = np.zeros(kinds), np.zeros((kinds, kinds))
    chances, expected, part = np.empty(count), np.empty(kinds), np.empty(kinds)
    for row in range(lists):
        top = -np.inf
        for rank in range(count):
            score = -np.inf
            if there[row, rank]:
                score = settled[row, rank]
                for kind in range(kinds):
                    score += evidence[row, rank, kind] * weights[kind]
            chances[rank] = score
            top = max(top, score)
        own = chances[right[row]] - top
        total = 0.0
        for rank in range(count):
            chances[rank] = np.exp(chances[rank] - top)
            total += chances[rank]
        loss += np.log(total) - own
        expected[:] = 0.0
        for rank in range(count):
            chance = chances[rank] / total
            if chance > 0.0:
                for kind in range(kinds):
                    part[kind] = chance * evidence[row, rank, kind]
                    expected[kind] += part[kind]
                for kind in range(kinds):
                    for other in range(kinds):
                        curvature[kind, other] += part[kind] * evidence[row, rank, other]
        for kind in range(kinds):
            slope[kind] += expected[kind] - evidence[row, right[row], kind]
            for other in range(kinds):
                curvature[kind, other] -= expected[kind] * expected[other]
    return loss, slope, curvature
