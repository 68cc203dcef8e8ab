"""Scores of people for points that may be wrong: the rarer a matched point, the more it counts."""

from __future__ import annotations

import numpy as np

from entropie.kernels.arrays import Codes, Floats, Ints, Words
from entropie.kernels.caching import njit
from entropie.kernels.points import first_at_least

_TIE = 1e-9
_LOW = np.uint64(0xFFFFFFFF)


@njit(nogil=True, cache=True)
def score_points(
    starts: Ints, posted: Words, people: int, owners: Ints, query_offsets: Ints, items: Codes, since: Ints, until: Ints
) -> Floats:
    """Score the people who share a point of a query; per query: own score, best, second, tied for best, better than
    the owner, level with the owner (who is counted), deviation.

    Events are posted by item from `starts` on, as ticks << 32 | person, ascending. A person who has one at the item of
    a point, from `since` to `until`, gains ln(1 + people/events there). Whoever shares no point scores 0 and is never
    visited. The second is the best score below the best; the deviation is that of all people's scores.
    """
    queries = query_offsets.shape[0] - 1
    found = np.empty((queries, 7))
    scores = np.zeros(people)
    last = np.full(people, -1, np.int64)  # the point that a person matched last; points are numbered over all queries
    touched = np.empty(people, np.int64)
    for query in range(queries):
        first, count = query_offsets[query], 0
        for point in range(first, query_offsets[query + 1]):
            end = starts[items[point] + 1]
            low = first_at_least(posted, starts[items[point]], end, since[point])
            high = first_at_least(posted, low, end, until[point] + 1)
            weight = np.log1p(people / max(high - low, 1))
            for place in range(low, high):
                person = np.int64(posted[place] & _LOW)
                if last[person] == point:
                    continue
                if last[person] < first:
                    touched[count] = person
                    count += 1
                    scores[person] = 0.0
                last[person] = point
                scores[person] += weight
        owner = owners[query]
        own = scores[owner] if last[owner] >= first else 0.0
        best, total, squares = 0.0, 0.0, 0.0
        for place in range(count):
            score = scores[touched[place]]
            best = max(best, score)
            total += score
            squares += score * score
        second, tied, better, level = 0.0, 0, 0, 0
        for place in range(count):
            score = scores[touched[place]]
            if score >= best - _TIE:
                tied += 1
            elif score > second:
                second = score
            if score > own + _TIE:
                better += 1
            elif score >= own - _TIE:
                level += 1
        nothing = people - count  # who share no point
        tied += nothing if best <= _TIE else 0
        level += nothing if own <= _TIE else 0
        mean = total / people
        found[query, 0], found[query, 1], found[query, 2], found[query, 3] = own, best, second, tied
        found[query, 4], found[query, 5] = better, level
        found[query, 6] = np.sqrt(max(squares / people - mean * mean, 0.0))
    return found
