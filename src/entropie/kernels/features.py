"""Loops that turn traces into feature rows: distinct items per user, transitions, sums over rows."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "feature_postings",
    "feature_totals",
    "markov_targets",
    "markov_users",
    "row_counts",
    "row_sums",
    "row_totals",
    "transition_table",
]

_LOW32 = np.uint64((1 << 32) - 1)
_U32 = np.uint64(32)


@njit(nogil=True, cache=True)
def row_counts(
    offsets: NDArray[np.int64], codes: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]:
    """Count the distinct codes of every row; they come out sorted within the row.

    The outputs are cut from arrays as long as the input: pages beyond the end are never touched.
    """
    rows = offsets.shape[0] - 1
    out_offsets = np.zeros(rows + 1, np.int64)
    features = np.empty(codes.shape[0], np.uint32)
    counts = np.empty(codes.shape[0], np.float64)
    place = 0
    for row in range(rows):
        run = codes[offsets[row] : offsets[row + 1]].copy()
        run.sort()
        begin = 0
        while begin < run.shape[0]:
            end = begin + 1
            while end < run.shape[0] and run[end] == run[begin]:
                end += 1
            features[place] = run[begin]
            counts[place] = end - begin
            place += 1
            begin = end
        out_offsets[row + 1] = place
    return out_offsets, features[:place], counts[:place]


@njit(nogil=True, cache=True)
def row_sums(
    offsets: NDArray[np.int64], codes: NDArray[np.uint32], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]:
    """Sum the weights of every distinct code of every row, in the order in which they stand."""
    rows = offsets.shape[0] - 1
    out_offsets = np.zeros(rows + 1, np.int64)
    features = np.empty(codes.shape[0], np.uint32)
    sums = np.empty(codes.shape[0], np.float64)
    place = 0
    for row in range(rows):
        low = offsets[row]
        length = offsets[row + 1] - low
        keys = np.empty(length, np.uint64)
        for step in range(length):
            keys[step] = (np.uint64(codes[low + step]) << _U32) | np.uint64(step)
        keys.sort()
        for step in range(length):
            code = np.uint32(keys[step] >> _U32)
            weight = weights[low + np.int64(keys[step] & _LOW32)]
            if step == 0 or features[place - 1] != code:
                features[place] = code
                sums[place] = weight
                place += 1
            else:
                sums[place - 1] += weight
        out_offsets[row + 1] = place
    return out_offsets, features[:place], sums[:place]


@njit(nogil=True, cache=True)
def row_totals(offsets: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the values of every row."""
    totals = np.zeros(offsets.shape[0] - 1, np.float64)
    for row in range(totals.shape[0]):
        total = 0.0
        for place in range(offsets[row], offsets[row + 1]):
            total += values[place]
        totals[row] = total
    return totals


@njit(nogil=True, cache=True)
def feature_totals(features: NDArray[np.uint32], feature_count: int) -> NDArray[np.int64]:
    """Count how often every feature stands in the rows."""
    totals = np.zeros(feature_count, np.int64)
    for feature in features:
        totals[feature] += 1
    return totals


@njit(nogil=True, cache=True)
def transition_table(
    offsets: NDArray[np.int64], items: NDArray[np.uint32], domain_size: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Gather the distinct transitions a -> b: successors[starts[a]:starts[a + 1]] are the sorted b.

    The place of b is the transition's code: four bytes per distinct transition, the same codes however the
    users are ordered.
    """
    starts = np.zeros(domain_size + 1, np.int64)
    for row in range(offsets.shape[0] - 1):
        for place in range(offsets[row], offsets[row + 1] - 1):
            starts[items[place] + 1] += 1
    for item in range(domain_size):
        starts[item + 1] += starts[item]
    successors = np.empty(starts[-1], np.uint32)
    cursor = starts[:-1].copy()
    for row in range(offsets.shape[0] - 1):
        for place in range(offsets[row], offsets[row + 1] - 1):
            item = items[place]
            successors[cursor[item]] = items[place + 1]
            cursor[item] += 1
    kept = 0
    low = 0
    for item in range(domain_size):
        high = starts[item + 1]
        successors[low:high].sort()
        starts[item] = kept
        for place in range(low, high):
            if place == low or successors[place] != successors[place - 1]:
                successors[kept] = successors[place]
                kept += 1
        low = high
    starts[domain_size] = kept
    return starts, successors[:kept].copy()


@njit(nogil=True, cache=True)
def _transition_code(
    starts: NDArray[np.int64], successors: NDArray[np.uint32], origin: np.int64, successor: np.int64
) -> int:
    """Find the code of origin -> successor by halving; -1 where the table lacks it."""
    low: int = starts[origin]
    high: int = starts[origin + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if successors[middle] < successor:
            low = middle + 1
        else:
            high = middle
    if low < end and successors[low] == successor:
        return low
    return -1


@njit(nogil=True, cache=True)
def markov_users(
    offsets: NDArray[np.int64],
    items: NDArray[np.uint32],
    starts: NDArray[np.int64],
    successors: NDArray[np.uint32],
    is_first: NDArray[np.bool_],
    floor: float,
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]:
    """Weigh every user's items (as first items) by ln pi - ln d and transitions by ln Lambda - ln d.

    Items that begin no target and transitions that no target makes are left out; they still count in the
    totals that normalise pi and the rows of Lambda.
    """
    domain_size = starts.shape[0] - 1
    rows = offsets.shape[0] - 1
    out_offsets = np.zeros(rows + 1, np.int64)
    features = np.empty(2 * items.shape[0], np.uint32)
    weights = np.empty(2 * items.shape[0], np.float64)
    log_floor = math.log(floor)
    place = 0
    for row in range(rows):
        low = offsets[row]
        length = offsets[row + 1] - low
        run = items[low : low + length].copy()
        run.sort()
        begin = 0
        while begin < length:
            end = begin + 1
            while end < length and run[end] == run[begin]:
                end += 1
            if is_first[run[begin]]:
                features[place] = run[begin]
                weights[place] = math.log((end - begin) / length) - log_floor
                place += 1
            begin = end
        pairs = np.empty(max(length - 1, 0), np.uint64)
        for step in range(length - 1):
            pairs[step] = (np.uint64(items[low + step]) << _U32) | np.uint64(items[low + step + 1])
        pairs.sort()
        begin = 0
        while begin < pairs.shape[0]:
            origin = pairs[begin] >> _U32
            last = begin + 1
            while last < pairs.shape[0] and pairs[last] >> _U32 == origin:
                last += 1
            leaving = last - begin
            while begin < last:
                end = begin + 1
                while end < last and pairs[end] == pairs[begin]:
                    end += 1
                code = _transition_code(starts, successors, np.int64(origin), np.int64(pairs[begin] & _LOW32))
                if code >= 0:
                    features[place] = domain_size + code
                    weights[place] = math.log((end - begin) / leaving) - log_floor
                    place += 1
                begin = end
        out_offsets[row + 1] = place
    return out_offsets, features[:place], weights[:place]


@njit(nogil=True, cache=True)
def markov_targets(
    offsets: NDArray[np.int64],
    items: NDArray[np.uint32],
    starts: NDArray[np.int64],
    successors: NDArray[np.uint32],
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]:
    """Count every target's first item (feature x) and transitions (feature domain_size + code)."""
    domain_size = starts.shape[0] - 1
    rows = offsets.shape[0] - 1
    out_offsets = np.zeros(rows + 1, np.int64)
    features = np.empty(items.shape[0], np.uint32)
    counts = np.empty(items.shape[0], np.float64)
    place = 0
    for row in range(rows):
        low = offsets[row]
        length = offsets[row + 1] - low
        if length > 0:
            features[place] = items[low]
            counts[place] = 1.0
            place += 1
            codes = np.empty(length - 1, np.uint32)
            for step in range(length - 1):
                codes[step] = _transition_code(
                    starts, successors, np.int64(items[low + step]), np.int64(items[low + step + 1])
                )
            codes.sort()
            for step in range(length - 1):
                if step > 0 and codes[step] == codes[step - 1]:
                    counts[place - 1] += 1.0
                else:
                    features[place] = domain_size + codes[step]
                    counts[place] = 1.0
                    place += 1
        out_offsets[row + 1] = place
    return out_offsets, features[:place], counts[:place]


@njit(nogil=True, cache=True)
def feature_postings(
    offsets: NDArray[np.int64], features: NDArray[np.uint32], feature_count: int, order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]:
    """Turn rows over: per feature the rows that have it, in the order given, and the places of the feature there."""
    starts = np.zeros(feature_count + 1, np.int64)
    for place in range(features.shape[0]):
        starts[features[place] + 1] += 1
    for feature in range(feature_count):
        starts[feature + 1] += starts[feature]
    cursor = starts[:-1].copy()
    rows = np.empty(features.shape[0], np.uint32)
    places = np.empty(features.shape[0], np.uint32)
    for row in order:
        for place in range(offsets[row], offsets[row + 1]):
            feature = features[place]
            rows[cursor[feature]] = row
            places[cursor[feature]] = place
            cursor[feature] += 1
    return starts, rows, places
