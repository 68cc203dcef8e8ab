"""Loops that build the inverted index: number the features, gather postings, rewrite targets, find genuine scores."""

from __future__ import annotations

import numpy as np

from entropie.kernels.arrays import Codes, Flags, Floats, Ints
from entropie.kernels.attack_records import Rows
from entropie.kernels.caching import njit

_FINE = 2.0**16


@njit(nogil=True, cache=True)
def length_ranks(lengths: Ints, wanted: Flags, longest: int) -> tuple[Ints, Ints]:
    """Number the wanted features by falling posting length (equal lengths by code); -1 for the others."""
    starts = np.zeros(longest + 2, np.int64)
    for feature in range(lengths.shape[0]):
        if wanted[feature] and lengths[feature] > 0:
            starts[longest - lengths[feature] + 1] += 1
    for place in range(longest + 1):
        starts[place + 1] += starts[place]
    kept = starts[longest + 1]
    ranks = np.full(lengths.shape[0], -1, np.int64)
    offsets = np.zeros(kept + 1, np.int64)
    for feature in range(lengths.shape[0]):
        if wanted[feature] and lengths[feature] > 0:
            place = starts[longest - lengths[feature]]
            starts[longest - lengths[feature]] += 1
            ranks[feature] = place
            offsets[place + 1] = lengths[feature]
    for place in range(kept):
        offsets[place + 1] += offsets[place]
    return ranks, offsets


@njit(nogil=True, cache=True)
def index_postings(
    offsets: Ints, features: Codes, weights: Floats, ranks: Ints, starts: Ints, scale: float
) -> tuple[Codes, Ints]:
    """Turn user rows into postings, users ascending in each, weights as whole multiples of 1/scale."""
    users = np.empty(starts[-1], np.uint32)
    fixed = np.empty(starts[-1], np.int64)
    cursor = starts[:-1].copy()
    for row in range(offsets.shape[0] - 1):
        for place in range(offsets[row], offsets[row + 1]):
            rank = ranks[features[place]]
            if rank >= 0:
                users[cursor[rank]] = row
                fixed[cursor[rank]] = np.int64(np.rint(weights[place] * scale))
                cursor[rank] += 1
    return users, fixed


@njit(nogil=True, cache=True)
def index_rows(offsets: Ints, features: Codes, weights: Floats, ranks: Ints) -> tuple[Ints, Codes, Floats]:
    """Rewrite target rows in the index's numbers, longest posting first; features nobody has are dropped."""
    rows = offsets.shape[0] - 1
    out_offsets = np.zeros(rows + 1, np.int64)
    out_features = np.empty(features.shape[0], np.uint32)
    out_weights = np.empty(features.shape[0], np.float64)
    place = 0
    for row in range(rows):
        low = offsets[row]
        keys = np.empty(offsets[row + 1] - low, np.int64)
        kept = 0
        for step in range(keys.shape[0]):
            rank = ranks[features[low + step]]
            if rank >= 0:
                keys[kept] = (rank << 31) | step
                kept += 1
        keys[:kept].sort()
        for step in range(kept):
            out_features[place] = keys[step] >> 31
            out_weights[place] = weights[low + (keys[step] & 0x7FFFFFFF)]
            place += 1
        out_offsets[row + 1] = place
    return out_offsets, out_features[:place], out_weights[:place]


@njit(nogil=True, cache=True)
def largest_row(offsets: Ints, weights: Floats) -> float:
    """Bound the largest sum of magnitudes of a row; each is rounded up to 2^-16, so that no order changes the sum."""
    largest = 0.0
    for row in range(offsets.shape[0] - 1):
        total = 0.0
        for place in range(offsets[row], offsets[row + 1]):
            total += np.ceil(abs(weights[place]) * _FINE)
        largest = max(largest, total)
    return largest / _FINE


@njit(nogil=True, cache=True)
def _part(weight: float, fixed: np.int64) -> np.int64:
    """What a feature adds to a score: whole weights multiply exactly, others are rounded to the unit."""
    whole = np.int64(weight)
    if np.float64(whole) == weight:
        return whole * fixed
    return np.int64(np.rint(weight * np.float64(fixed)))


@njit(nogil=True, cache=True)
def _in_order(rows: Rows, row: int) -> tuple[Codes, Floats]:
    """Give a row with its features ascending: as it is, or sorted."""
    low, high = rows.offsets[row], rows.offsets[row + 1]
    features, weights = rows.features[low:high], rows.weights[low:high]
    for place in range(1, features.shape[0]):
        if features[place] < features[place - 1]:
            order = np.argsort(features, kind="mergesort")
            return features[order], weights[order]
    return features, weights


@njit(nogil=True, cache=True)
def row_scores(users: Rows, targets: Rows, owners: Ints, penalty: Floats, sizes: Floats, scale: float) -> Ints:
    """Score row owners[j] of the users for row j of the targets in units of 1/scale, rounded as the scorer rounds.

    The features of a row may stand in any order; rows that ascend need no sorting.
    """
    scores = np.zeros(targets.offsets.shape[0] - 1, np.int64)
    for row in range(scores.shape[0]):
        has, gains = _in_order(users, owners[row])
        asked, times = _in_order(targets, row)
        total = np.int64(0)
        place = 0
        for step in range(asked.shape[0]):
            while place < has.shape[0] and has[place] < asked[step]:
                place += 1
            if place == has.shape[0]:
                break
            if has[place] == asked[step]:
                total += _part(times[step], np.int64(np.rint(gains[place] * scale)))
        if sizes.shape[0] > 0:
            total -= np.int64(np.rint(sizes[row] * penalty[owners[row]] * scale))
        scores[row] = total
    return scores


@njit(nogil=True, cache=True)
def posted_scores(
    starts: Ints, users: Codes, fixed: Ints, offsets: Ints, features: Codes, weights: Floats, own: Ints
) -> Ints:
    """Score user own[j] for target j from the postings, where there are no user rows; a posting may be in any order."""
    scores = np.zeros(offsets.shape[0] - 1, np.int64)
    for target in range(scores.shape[0]):
        for place in range(offsets[target], offsets[target + 1]):
            for post in range(starts[features[place]], starts[features[place] + 1]):
                if users[post] == own[target]:
                    scores[target] += _part(weights[place], fixed[post])
    return scores
