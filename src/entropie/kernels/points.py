"""Loops of the attacker who holds points: drawing them, and counting the people whose traces contain them all."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from entropie.kernels.keyed import mixed

__all__ = ["count_holders", "draw_places", "held_by", "query_hashes"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_U32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@njit(nogil=True, cache=True)
def draw_places(
    lengths: NDArray[np.int64], people: NDArray[np.int64], points: int, key: np.uint64
) -> NDArray[np.int64]:
    """Choose distinct places below each length, in random order: columns 0..p-1 are a random sample of p; -1 beyond.

    A person's places depend on the length, their number and the key.
    """
    places = np.full((lengths.shape[0], points), -1, np.int64)
    ascending = np.empty(points, np.int64)
    for row in range(lengths.shape[0]):
        state = mixed(key ^ mixed(np.uint64(people[row]) + _GOLDEN))
        for drawn in range(min(points, lengths[row])):
            state += _GOLDEN
            left = np.uint64(lengths[row] - drawn)
            word = mixed(state)
            # the upper half of word x left, which is below `left`
            place = np.int64((word >> _U32) * left + (((word & _LOW) * left) >> _U32) >> _U32)
            rank = 0
            while rank < drawn and ascending[rank] <= place:  # skip the places that are taken
                place += 1
                rank += 1
            for above in range(drawn, rank, -1):
                ascending[above] = ascending[above - 1]
            ascending[rank] = place
            places[row, drawn] = place
    return places


@njit(nogil=True, cache=True)
def _first_at_least(times: NDArray[np.int64], low: int, high: int, wanted: int) -> int:
    while low < high:
        middle = (low + high) // 2
        if times[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True, cache=True)
def _holds_all(
    begin: int,
    end: int,
    own_items: NDArray[np.uint32],
    own_times: NDArray[np.int64],
    items: NDArray[np.uint32],
    since: NDArray[np.int64],
    until: NDArray[np.int64],
    skipped: int,
) -> bool:
    """Whether a trace (events begin..end-1 by item, then time) has every point but the skipped one."""
    for point in range(items.shape[0]):
        if point == skipped:
            continue
        low, high = begin, end
        while low < high:
            middle = (low + high) // 2
            if own_items[middle] < items[point] or (
                own_items[middle] == items[point] and own_times[middle] < since[point]
            ):
                low = middle + 1
            else:
                high = middle
        if low == end or own_items[low] != items[point] or own_times[low] > until[point]:
            return False
    return True


@njit(nogil=True, cache=True)
def count_holders(
    offsets: NDArray[np.int64],
    own_items: NDArray[np.uint32],
    own_times: NDArray[np.int64],
    item_offsets: NDArray[np.int64],
    posted_times: NDArray[np.int64],
    posted_people: NDArray[np.uint32],
    query_offsets: NDArray[np.int64],
    items: NDArray[np.uint32],
    since: NDArray[np.int64],
    until: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Count the people whose events include, for each point of a query, one at its item from `since` to `until`.

    Events of a person and of an item stand by time; people of events at the same time and item may repeat.
    """
    queries = query_offsets.shape[0] - 1
    counts = np.zeros(queries, np.int64)
    seen = np.full(offsets.shape[0] - 1, -1, np.int64)
    for query in range(queries):
        first, last = query_offsets[query], query_offsets[query + 1]
        shortest, begin, end = -1, 0, 0
        for point in range(first, last):
            item = items[point]
            low = _first_at_least(posted_times, item_offsets[item], item_offsets[item + 1], since[point])
            high = _first_at_least(posted_times, low, item_offsets[item + 1], until[point] + 1)
            if shortest < 0 or high - low < end - begin:
                shortest, begin, end = point, low, high
        for place in range(begin, end):
            person = posted_people[place]
            if seen[person] == query:
                continue
            seen[person] = query
            if _holds_all(
                offsets[person],
                offsets[person + 1],
                own_items,
                own_times,
                items[first:last],
                since[first:last],
                until[first:last],
                shortest - first,
            ):
                counts[query] += 1
    return counts


@njit(nogil=True, cache=True)
def held_by(
    offsets: NDArray[np.int64],
    own_items: NDArray[np.uint32],
    own_times: NDArray[np.int64],
    people: NDArray[np.int64],
    query_offsets: NDArray[np.int64],
    items: NDArray[np.uint32],
    since: NDArray[np.int64],
    until: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Whether the events of one person per query include all its points."""
    held = np.empty(people.shape[0], np.bool_)
    for query in range(people.shape[0]):
        first, last = query_offsets[query], query_offsets[query + 1]
        begin, end = offsets[people[query]], offsets[people[query] + 1]
        held[query] = _holds_all(
            begin, end, own_items, own_times, items[first:last], since[first:last], until[first:last], -1
        )
    return held


@njit(nogil=True, cache=True)
def query_hashes(
    query_offsets: NDArray[np.int64], items: NDArray[np.uint32], since: NDArray[np.int64], until: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Hash the points of each query, in their order."""
    words = np.empty(query_offsets.shape[0] - 1, np.uint64)
    for query in range(words.shape[0]):
        word = np.uint64(query_offsets[query + 1] - query_offsets[query])
        for point in range(query_offsets[query], query_offsets[query + 1]):
            word = mixed(word + _GOLDEN ^ np.uint64(items[point]))
            word = mixed(word + np.uint64(since[point]))
            word = mixed(word ^ np.uint64(until[point]))
        words[query] = word
    return words
