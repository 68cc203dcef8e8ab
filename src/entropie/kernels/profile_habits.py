"""Loops that find people by habits alone: among everybody, or among those who have the same habits of their own.

Habits of known people are whole steps of ln P_i/p, those of targets whole weights: every sum is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.kernels.arrays import Floats, Ints
from entropie.kernels.attack_records import inner
from entropie.kernels.caching import njit
from entropie.kernels.profile_records import NOBODY

Steps = NDArray[np.int8]
Bins = NDArray[np.int16]

TOGETHER = 4
"""Habits of which every combination is looked up, at most."""

_BITS = 12  # of the number of a bin in the key of a combination


@njit(nogil=True, cache=True)
def telling_bins(habits: Steps, worth: Floats, steps: float, most: int) -> tuple[Bins, Floats]:
    """The bins by which each person is best told, by worth x e^h h with h = ln P_i/p, and the sum of these.

    In rising order; -1 where there are fewer.
    """
    spoken = np.zeros(256)
    for step in range(1, 128):
        spoken[step] = np.exp(step / steps) * step / steps
    told = np.full((habits.shape[0], most), -1, np.int16)
    sums = np.zeros(habits.shape[0])
    values = np.empty(most)
    for person in range(habits.shape[0]):
        values[:] = 0.0
        for column in range(habits.shape[1]):
            if habits[person, column] > 0:
                _put(told[person], values, column, worth[column] * spoken[habits[person, column]])
        sums[person] = values.sum()
        told[person].sort()
    return told, sums


@njit(nogil=True, cache=True)
def asked_bins(habits: Floats, shares: Floats, bounds: Ints, most: int) -> Bins:
    """The bins by which each target is best told, by its weight x ln of its share over everybody's; rising."""
    told = np.full((habits.shape[0], most), -1, np.int16)
    values = np.empty(most)
    for row in range(habits.shape[0]):
        values[:] = 0.0
        for kind in range(bounds.shape[0] - 1):
            total = habits[row, bounds[kind] : bounds[kind + 1]].sum()
            for column in range(bounds[kind], bounds[kind + 1]):
                weight = habits[row, column]
                if weight > 0.0:
                    _put(told[row], values, column, weight * np.log(weight / (total * shares[column])))
        told[row].sort()
    return told


@inner
def _put(told: Bins, values: Floats, column: int, value: float) -> None:
    """Put a bin among the best, best first; of equal ones the first stay."""
    place = values.shape[0] - 1
    if value <= values[place]:
        return
    while place > 0 and value > values[place - 1]:
        values[place], told[place] = values[place - 1], told[place - 1]
        place -= 1
    values[place], told[place] = value, column


@inner
def _bucket(told: Bins, chosen: int, buckets: int) -> int:
    """Where a combination of bins is kept; -1 of none, of too many, and where a bin is missing."""
    key, count = np.uint64(0), 0
    for place in range(told.shape[0]):
        if chosen >> place & 1:
            if told[place] < 0:
                return -1
            key = key << np.uint64(_BITS) | np.uint64(told[place])
            count += 1
    if count == 0 or count > TOGETHER:
        return -1
    key = (key + np.uint64(count)) * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return int(np.int64((key ^ (key >> np.uint64(32))) & np.uint64(buckets - 1)))


@njit(nogil=True, cache=True)
def combinations(told: Bins, order: Ints, buckets: int) -> tuple[Ints, NDArray[np.uint32]]:
    """The people of every combination of bins, in an order; two combinations may have one place."""
    starts = np.zeros(buckets + 1, np.int64)
    for person in order:
        for chosen in range(1, 1 << told.shape[1]):
            bucket = _bucket(told[person], chosen, buckets)
            if bucket >= 0:
                starts[bucket + 1] += 1
    starts = np.cumsum(starts)
    cursor = starts[:-1].copy()
    owners = np.empty(starts[buckets], np.uint32)
    for person in order:
        for chosen in range(1, 1 << told.shape[1]):
            bucket = _bucket(told[person], chosen, buckets)
            if bucket >= 0:
                owners[cursor[bucket]] = person
                cursor[bucket] += 1
    return starts, owners


@njit(nogil=True, cache=True)
def alike_people(
    known: Steps, asked: Ints, told: Bins, starts: Ints, owners: NDArray[np.uint32], most: int, kept: int
) -> tuple[Ints, Ints]:
    """The k whose habits speak best for each target, of the first `most` people of each combination of its bins."""
    rows = asked.shape[0]
    best = np.full((rows, kept), NOBODY, np.int64)
    scores = np.full((rows, kept), np.iinfo(np.int64).min, np.int64)
    seen = np.full(known.shape[0], -1, np.int32)
    columns = np.empty(asked.shape[1], np.int64)
    for row in range(rows):
        count = 0
        for column in range(asked.shape[1]):
            if asked[row, column] != 0:
                columns[count] = column
                count += 1
        for chosen in range(1, 1 << told.shape[1]):
            bucket = _bucket(told[row], chosen, starts.shape[0] - 1)
            if bucket >= 0:
                for post in range(starts[bucket], min(starts[bucket + 1], starts[bucket] + most)):
                    person = np.int64(owners[post])
                    if seen[person] != row:
                        seen[person] = row
                        total = np.int64(0)
                        for place in range(count):
                            total += asked[row, columns[place]] * known[person, columns[place]]
                        _rank(best[row], scores[row], int(person), int(total))
    return best, scores


@inner
def _rank(best: Ints, scores: Ints, person: int, total: int) -> None:
    """Put a person among the best, best first; equal ones by their numbers."""
    place = best.shape[0] - 1
    if (
        place < 0
        or total < scores[place]
        or (total == scores[place] and best[place] != NOBODY and person > best[place])
    ):
        return
    while place > 0 and (total > scores[place - 1] or (total == scores[place - 1] and person < best[place - 1])):
        scores[place], best[place] = scores[place - 1], best[place - 1]
        place -= 1
    scores[place], best[place] = total, person


@njit(nogil=True, cache=True)
def keep_highest(scores: NDArray[np.float32], begin: int, best: Ints, highest: NDArray[np.float32]) -> None:
    """Put people begin, begin + 1, ... among the k best of each row, of whom people with lower numbers are known.

    Of equal ones the first stay. The lists are heaps: the one to go stands first.
    """
    kept = best.shape[1]
    if kept == 0:
        return
    for row in range(scores.shape[0]):
        for place in range(scores.shape[1]):
            if scores[row, place] > highest[row, 0]:
                _sink(best[row], highest[row], begin + place, scores[row, place])


@inner
def _sink(best: Ints, highest: NDArray[np.float32], person: int, score: float) -> None:
    """Take the first of a heap out and put a person in: below stand the better, and of equal ones the first."""
    kept, place = best.shape[0], 0
    while 2 * place + 1 < kept:
        below = 2 * place + 1
        if below + 1 < kept and _goes_first(best, highest, below + 1, best[below], highest[below]):
            below += 1
        if not _goes_first(best, highest, below, person, score):
            break
        best[place], highest[place] = best[below], highest[below]
        place = below
    best[place], highest[place] = person, score


@inner
def _goes_first(best: Ints, highest: NDArray[np.float32], place: int, person: int, score: float) -> bool:
    return bool(highest[place] < score or (highest[place] == score and best[place] > person))
