"""Sinkhorn's iteration over sparse lists of candidates."""

from __future__ import annotations

import numpy as np

from entropie.kernels.arrays import Floats, Ints
from entropie.kernels.caching import njit

_LOWEST = -300.0  # a candidate further behind the best has the chance exp(-300)
_STILL = 1e-6


@njit(nogil=True, cache=True)
def scaled(people: Ints, scores: Floats, users: int, rounds: int, least: float) -> Floats:
    """Alternate sums over people and sums over targets to 1; returns ln of the chances in each list, -inf for nobody.

    A person whose chances sum to less than `least` is left as they are. Ends early when no person's factor changes by
    more than a millionth.
    """
    rows, count = people.shape
    mass = np.zeros((rows, count))
    for row in range(rows):
        top = -np.inf
        for rank in range(count):
            if people[row, rank] >= 0:
                top = max(top, scores[row, rank])
        for rank in range(count):
            if people[row, rank] >= 0:
                mass[row, rank] = np.exp(max(scores[row, rank] - top, _LOWEST))
    factor = np.ones(users)
    sums = np.zeros(users)
    for _ in range(rounds):
        sums[:] = 0.0
        for row in range(rows):
            total = 0.0
            for rank in range(count):
                if people[row, rank] >= 0:
                    total += mass[row, rank] * factor[people[row, rank]]
            for rank in range(count):
                if people[row, rank] >= 0:
                    sums[people[row, rank]] += mass[row, rank] / total
        moved = 0.0
        for person in range(users):
            if sums[person] > 0.0:
                mine = max(sums[person], least)
                moved = max(moved, abs(factor[person] * mine - 1.0))
                factor[person] = 1.0 / mine
        if moved < _STILL:
            break
    chances = np.full((rows, count), -np.inf)
    for row in range(rows):
        total = 0.0
        for rank in range(count):
            if people[row, rank] >= 0:
                total += mass[row, rank] * factor[people[row, rank]]
        for rank in range(count):
            if people[row, rank] >= 0:
                chances[row, rank] = np.log(mass[row, rank]) + np.log(factor[people[row, rank]]) - np.log(total)
    return chances
