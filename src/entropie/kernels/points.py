"""Loops of the attacker who holds points: drawing them, and counting the people whose traces contain them all."""

from __future__ import annotations

import numpy as np

from entropie.kernels.arrays import Codes, Flags, Ints, Words
from entropie.kernels.caching import njit
from entropie.kernels.keyed import mixed

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_U32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@njit(nogil=True, cache=True)
def draw_places(lengths: Ints, people: Ints, points: int, key: np.uint64) -> Ints:
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
def pack_people(offsets: Ints, items: Codes, ticks: Ints, earliest: int, own: Words, first: int, last: int) -> None:
    """Write the events of people first..last-1 as item << 32 | ticks since the earliest, and sort each person's.

    `ticks` may be empty.
    """
    timed = ticks.shape[0] > 0
    for person in range(first, last):
        low, high = offsets[person], offsets[person + 1]
        for event in range(low, high):
            own[event] = np.uint64(items[event]) << _U32
            if timed:
                own[event] |= np.uint64(ticks[event] - earliest)
        if high - low > 1:
            own[low:high].sort()


@njit(nogil=True, cache=True)
def drop_repeats(offsets: Ints, own: Words) -> Ints:
    """Keep one of equal events of a person, moving the others up in place; returns the new offsets."""
    kept = np.zeros_like(offsets)
    place = 0
    for person in range(offsets.shape[0] - 1):
        for event in range(offsets[person], offsets[person + 1]):
            if event == offsets[person] or own[event] != own[place - 1]:
                own[place] = own[event]
                place += 1
        kept[person + 1] = place
    return kept


@njit(nogil=True, cache=True)
def post_events(offsets: Ints, own: Words, domain: int) -> tuple[Ints, Words]:
    """Deal events to their items as ticks << 32 | person: where each item's begin, and the events, not yet in order."""
    starts = np.zeros(domain + 1, np.int64)
    for event in range(own.shape[0]):
        starts[np.int64(own[event] >> _U32) + 1] += 1
    for item in range(domain):
        starts[item + 1] += starts[item]
    cursor = starts[:-1].copy()
    posted = np.empty(own.shape[0], np.uint64)
    for person in range(offsets.shape[0] - 1):
        for event in range(offsets[person], offsets[person + 1]):
            item = int(own[event] >> _U32)
            posted[cursor[item]] = (own[event] << _U32) | np.uint64(person)
            cursor[item] += 1
    return starts, posted


@njit(nogil=True, cache=True)
def sort_runs(starts: Ints, words: Words, first: int, last: int) -> None:
    """Sort the words of runs first..last-1, each by itself."""
    for run in range(first, last):
        if starts[run + 1] - starts[run] > 1:
            words[starts[run] : starts[run + 1]].sort()


@njit(nogil=True, cache=True)
def first_at_least(words: Words, low: int, high: int, wanted: int) -> int:
    """The first place from low to below high whose upper half reaches `wanted`."""
    while low < high:
        middle = (low + high) // 2
        if np.int64(words[middle] >> _U32) < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True, cache=True)
def _holds_all(own: Words, items: Codes, since: Ints, until: Ints, skipped: int) -> bool:
    """Whether a person's events have every point but the skipped one."""
    for point in range(items.shape[0]):
        if point == skipped:
            continue
        if since[point] > until[point]:
            return False
        least = (np.uint64(items[point]) << _U32) | np.uint64(since[point])
        low, high = 0, own.shape[0]
        while low < high:
            middle = (low + high) // 2
            if own[middle] < least:
                low = middle + 1
            else:
                high = middle
        if low == own.shape[0] or own[low] > (np.uint64(items[point]) << _U32) | np.uint64(until[point]):
            return False
    return True


@njit(nogil=True, cache=True)
def count_holders(
    offsets: Ints, own: Words, starts: Ints, posted: Words, query_offsets: Ints, items: Codes, since: Ints, until: Ints
) -> tuple[Ints, int]:
    """Count the people whose events include, for each point of a query, one at its item from `since` to `until`.

    Times are ticks; a point whose `since` is above its `until` is held by nobody. Returns the counts and how many
    events of items were looked at, which are those of the rarest point of each query.
    """
    queries = query_offsets.shape[0] - 1
    counts = np.zeros(queries, np.int64)
    seen = np.full(offsets.shape[0] - 1, -1, np.int32)
    looked = 0
    for query in range(queries):
        first, last = query_offsets[query], query_offsets[query + 1]
        shortest, begin, end = -1, 0, 0
        for point in range(first, last):
            item = items[point]
            low = first_at_least(posted, starts[item], starts[item + 1], since[point])
            high = first_at_least(posted, low, starts[item + 1], until[point] + 1)
            if shortest < 0 or high - low < end - begin:
                shortest, begin, end = point, low, high
        looked += end - begin
        for place in range(begin, end):
            person = np.int64(posted[place] & _LOW)
            if seen[person] == query:
                continue
            seen[person] = query
            counts[query] += _holds_all(
                own[offsets[person] : offsets[person + 1]],
                items[first:last],
                since[first:last],
                until[first:last],
                shortest - first,
            )
    return counts, looked


@njit(nogil=True, cache=True)
def held_by(
    offsets: Ints, own: Words, people: Ints, query_offsets: Ints, items: Codes, since: Ints, until: Ints
) -> Flags:
    """Whether the events of one person per query include all its points."""
    held = np.empty(people.shape[0], np.bool_)
    for query in range(people.shape[0]):
        first, last = query_offsets[query], query_offsets[query + 1]
        mine = own[offsets[people[query]] : offsets[people[query] + 1]]
        held[query] = _holds_all(mine, items[first:last], since[first:last], until[first:last], -1)
    return held


@njit(nogil=True, cache=True)
def query_hashes(query_offsets: Ints, items: Codes, since: Ints, until: Ints) -> Words:
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
