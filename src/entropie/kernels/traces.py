"""Loops over flat traces: group rows by user, put each user in time order, copy runs of events."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.kernels.arrays import Codes, Ints
from entropie.kernels.caching import njit

# A user has some tens of events: up to this length a plain insertion sort beats merging.
_INSERTION_LIMIT = 32


@njit(nogil=True, cache=True)
def group_rows(users: Codes, items: Codes, ticks: Ints, user_count: int, backwards: bool) -> tuple[Ints, Codes, Ints]:
    """Gather rows user by user in one counting pass, keeping their order (or reversing it).

    Rows whose user is `user_count` or more were dropped and are skipped. `ticks` may be empty.
    """
    rows = users.shape[0]
    offsets = np.zeros(user_count + 1, np.int64)
    for row in range(rows):
        if users[row] < user_count:
            offsets[users[row] + 1] += 1
    for user in range(user_count):
        offsets[user + 1] += offsets[user]
    cursor = offsets[:-1].copy()
    has_ticks = ticks.shape[0] > 0
    out_items = np.empty(offsets[-1], np.uint32)
    out_ticks = np.empty(offsets[-1] if has_ticks else 0, np.int64)
    for step in range(rows):
        row = rows - 1 - step if backwards else step
        user = users[row]
        if user < user_count:
            place = cursor[user]
            cursor[user] = place + 1
            out_items[place] = items[row]
            if has_ticks:
                out_ticks[place] = ticks[row]
    return offsets, out_items, out_ticks


@njit(nogil=True, cache=True)
def sort_users(offsets: Ints, items: Codes, ticks: Ints, first: int, last: int) -> None:
    """Put the events of users first..last-1 in order of ticks, in place; equal ticks keep their order."""
    for user in range(first, last):
        low = offsets[user]
        high = offsets[user + 1]
        _stable_sort(ticks[low:high], items[low:high])


@njit(nogil=True, cache=True)
def count_duplicates(offsets: Ints, items: Codes, ticks: Ints, first: int, last: int) -> int:
    """Count events of users first..last-1 that repeat an earlier (user, tick, item); ticks are sorted."""
    repeated = 0
    for user in range(first, last):
        low = offsets[user]
        end = offsets[user + 1]
        while low < end:
            high = low + 1
            while high < end and ticks[high] == ticks[low]:
                high += 1
            if high - low == 2:
                repeated += items[low] == items[low + 1]
            elif high - low > 2:
                run = items[low:high].astype(np.int64)
                _stable_sort(run, items[low:high].copy())
                for place in range(1, run.shape[0]):
                    repeated += run[place] == run[place - 1]
            low = high
    return repeated


@njit(nogil=True, cache=True)
def _stable_sort(keys: Ints, values: Codes) -> None:
    """Sort keys, and values with them, in place: insertion within short stretches, then merges of them.

    By hand, because compiling numba's general argsort takes ten times as long as this does.
    """
    size = keys.shape[0]
    for start in range(0, size, _INSERTION_LIMIT):
        stop = min(start + _INSERTION_LIMIT, size)
        for place in range(start + 1, stop):
            key = keys[place]
            value = values[place]
            hole = place
            while hole > start and keys[hole - 1] > key:
                keys[hole] = keys[hole - 1]
                values[hole] = values[hole - 1]
                hole -= 1
            keys[hole] = key
            values[hole] = value
    if size <= _INSERTION_LIMIT:
        return
    left_keys = np.empty(size, np.int64)
    left_values = np.empty(size, np.uint32)
    width = _INSERTION_LIMIT
    while width < size:
        for start in range(0, size - width, 2 * width):
            middle = start + width
            stop = min(middle + width, size)
            if keys[middle - 1] <= keys[middle]:
                continue
            for place in range(width):
                left_keys[place] = keys[start + place]
                left_values[place] = values[start + place]
            left = 0
            right = middle
            out = start
            while left < width and right < stop:
                if left_keys[left] <= keys[right]:
                    keys[out] = left_keys[left]
                    values[out] = left_values[left]
                    left += 1
                else:
                    keys[out] = keys[right]
                    values[out] = values[right]
                    right += 1
                out += 1
            while left < width:
                keys[out] = left_keys[left]
                values[out] = left_values[left]
                left += 1
                out += 1
        width *= 2


@njit(nogil=True, cache=True)
def copy_runs(values: NDArray[np.generic], starts: Ints, offsets: Ints, out: NDArray[np.generic]) -> None:
    """Fill run r of `out` (cut by offsets) with the values from starts[r] on."""
    for run in range(starts.shape[0]):
        shift = starts[run] - offsets[run]
        for place in range(offsets[run], offsets[run + 1]):
            out[place] = values[place + shift]
