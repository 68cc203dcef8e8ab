"""Loops that turn traces into feature rows: distinct items per user, sums over rows."""

from __future__ import annotations

import numpy as np

from entropie.kernels.arrays import Codes, Floats, Ints
from entropie.kernels.caching import njit

_LOW32 = np.uint64((1 << 32) - 1)
_U32 = np.uint64(32)


@njit(nogil=True, cache=True)
def row_counts(offsets: Ints, codes: Codes) -> tuple[Ints, Codes, Floats]:
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
def row_sums(offsets: Ints, codes: Codes, weights: Floats) -> tuple[Ints, Codes, Floats]:
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
def row_totals(offsets: Ints, values: Floats) -> Floats:
    """Sum the values of every row."""
    totals = np.zeros(offsets.shape[0] - 1, np.float64)
    for row in range(totals.shape[0]):
        total = 0.0
        for place in range(offsets[row], offsets[row + 1]):
            total += values[place]
        totals[row] = total
    return totals


@njit(nogil=True, cache=True)
def feature_totals(features: Codes, feature_count: int) -> Ints:
    """Count how often every feature stands in the rows."""
    totals = np.zeros(feature_count, np.int64)
    for feature in features:
        totals[feature] += 1
    return totals


@njit(nogil=True, cache=True)
def feature_postings(offsets: Ints, features: Codes, feature_count: int, order: Ints) -> tuple[Ints, Codes, Codes]:
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
