"""Grouping people by generalised columns: groups of a finer node rolled up into those of a coarser one."""

from __future__ import annotations

import numpy as np

from entropie.kernels.caching import njit

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@njit(nogil=True, cache=True)
def roll_up(codes, steps, offsets, firsts, counts, slots):
    """Merge groups that are alike at the levels of `offsets`; return the first row and the size of each new group, and
    the new group of each group at hand.

    codes    values of each column of each row, as they stand
    steps    for every level of every column one after another: the group of each value
    offsets  where in `steps` the wanted level of each column begins; columns without one do not count
    firsts   a row of each group at hand; any row will do, as levels are nested
    slots    room for a hash table: a power of two, at least twice the groups, all -1; left as it was found
    """
    columns = len(offsets)
    into = np.empty(len(firsts), np.int64)
    mask = np.uint64(len(slots) - 1)
    new_firsts = np.empty(len(firsts), np.int64)
    new_counts = np.empty(len(firsts), np.int64)
    places = np.empty(len(firsts), np.int64)
    found = 0
    for group in range(len(firsts)):
        row = firsts[group]
        mixed = np.uint64(0)
        for column in range(columns):
            value = np.uint64(steps[offsets[column] + codes[row, column]])
            mixed = (mixed ^ value) * _MULTIPLIER
            mixed ^= mixed >> _SHIFT
        place = np.int64(mixed & mask)
        while True:
            other = slots[place]
            if other < 0:
                slots[place] = found
                places[found] = place
                new_firsts[found] = row
                new_counts[found] = counts[group]
                into[group] = found
                found += 1
                break
            same = True
            second = new_firsts[other]
            for column in range(columns):
                begin = offsets[column]
                if steps[begin + codes[row, column]] != steps[begin + codes[second, column]]:
                    same = False
                    break
            if same:
                new_counts[other] += counts[group]
                into[group] = other
                break
            place = np.int64(np.uint64(place + 1) & mask)
    for group in range(found):
        slots[places[group]] = -1
    return new_firsts[:found].copy(), new_counts[:found].copy(), into


@njit(nogil=True, cache=True)
def sum_steps(codes, values, offsets, firsts):
    """For each group the sum over columns of values[offset of the column + code]."""
    sums = np.zeros(len(firsts))
    for group in range(len(firsts)):
        row = firsts[group]
        for column in range(len(offsets)):
            sums[group] += values[offsets[column] + codes[row, column]]
    return sums
