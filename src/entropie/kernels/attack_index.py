"""Loops that build the inverted index: number the features, gather postings, rewrite targets."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["index_postings", "index_rows", "length_ranks", "score_bound"]


@njit(nogil=True, cache=True)
def length_ranks(
    lengths: NDArray[np.int64], wanted: NDArray[np.bool_], longest: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
    offsets: NDArray[np.int64],
    features: NDArray[np.uint32],
    weights: NDArray[np.float64],
    ranks: NDArray[np.int64],
    starts: NDArray[np.int64],
    scale: float,
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
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
def index_rows(
    offsets: NDArray[np.int64],
    features: NDArray[np.uint32],
    weights: NDArray[np.float64],
    ranks: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]:
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
def score_bound(
    user_features: NDArray[np.uint32],
    user_weights: NDArray[np.float64],
    feature_count: int,
    offsets: NDArray[np.int64],
    features: NDArray[np.uint32],
    weights: NDArray[np.float64],
) -> float:
    """Bound the magnitude of any sum: every target with the largest weight that any user gives its features."""
    largest = np.zeros(feature_count, np.float64)
    for place in range(user_features.shape[0]):
        feature = user_features[place]
        largest[feature] = max(largest[feature], abs(user_weights[place]))
    bound = 0.0
    for row in range(offsets.shape[0] - 1):
        total = 0.0
        for place in range(offsets[row], offsets[row + 1]):
            total += abs(weights[place]) * largest[features[place]]
        bound = max(bound, total)
    return bound
