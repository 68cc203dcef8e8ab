"""Postings of hashed reports: who could have sent (a, b, y), and how likely, from the items that hash to y."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from entropie.kernels.modular import hash_value, preimages

__all__ = ["hash_postings", "item_postings"]


@njit(nogil=True, cache=True)
def item_postings(
    offsets: NDArray[np.int64], features: NDArray[np.uint32], counts: NDArray[np.float64], domain_size: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]:
    """Turn user rows into one posting per item: who has it and how often."""
    starts = np.zeros(domain_size + 1, np.int64)
    for feature in features:
        starts[np.int64(feature) + 1] += 1
    for item in range(domain_size):
        starts[item + 1] += starts[item]
    cursor = starts[:-1].copy()
    users = np.empty(features.shape[0], np.uint32)
    times = np.empty(features.shape[0], np.uint32)
    for row in range(offsets.shape[0] - 1):
        for place in range(offsets[row], offsets[row + 1]):
            item = features[place]
            users[cursor[item]] = row
            times[cursor[item]] = np.uint32(counts[place])
            cursor[item] += 1
    return starts, users, times


@njit(nogil=True, cache=True)
def _hits(
    a: np.uint64,
    b: np.uint64,
    y: np.uint64,
    prime: np.uint64,
    hash_size: np.uint64,
    inverse: np.uint64,
    known: NDArray[np.uint64],
    domain_size: int,
    room: NDArray[np.uint64],
) -> int:
    """Write the items with h(x) = y into `room`: by enumeration, or by hashing the known items if they are fewer."""
    if known.shape[0] == 0:
        hits: int = preimages(a, b, y, prime, hash_size, inverse, np.uint64(domain_size), room)
        return hits
    found = 0
    for item in known:
        if hash_value(a, b, item, prime, hash_size) == y:
            room[found] = item
            found += 1
    return found


@njit(nogil=True, cache=True)
def hash_postings(
    a: NDArray[np.uint64],
    b: NDArray[np.uint64],
    y: NDArray[np.uint64],
    prime: np.uint64,
    hash_size: np.uint64,
    inverse: np.uint64,
    known: NDArray[np.uint64],
    room: NDArray[np.uint64],
    item_starts: NDArray[np.int64],
    item_users: NDArray[np.uint32],
    item_times: NDArray[np.uint32],
    totals: NDArray[np.float64],
    odds: float,
    floor: float,
    scale: float,
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]:
    """Gather, for every report, the users with items that hash to y, weighed in units of 1/scale.

    With Pi the share of such events in the user's training, the weight is ln(1 + odds Pi), odds = theta g/(1-theta), or
    where odds are infinite (no lies) ln Pi - ln floor. Counts add up as whole numbers, in any order.
    """
    reports = a.shape[0]
    domain_size = item_starts.shape[0] - 1
    starts = np.zeros(reports + 1, np.int64)
    for report in range(reports):
        found = _hits(a[report], b[report], y[report], prime, hash_size, inverse, known, domain_size, room)
        length = 0
        for place in range(found):
            item = np.int64(room[place])
            length += item_starts[item + 1] - item_starts[item]
        starts[report + 1] = starts[report] + min(length, totals.shape[0])
    users = np.empty(starts[-1], np.uint32)
    fixed = np.empty(starts[-1], np.int64)
    times = np.zeros(totals.shape[0], np.int64)
    begin = 0
    for report in range(reports):
        found = _hits(a[report], b[report], y[report], prime, hash_size, inverse, known, domain_size, room)
        end = begin
        for place in range(found):
            item = np.int64(room[place])
            for post in range(item_starts[item], item_starts[item + 1]):
                user = item_users[post]
                if times[user] == 0:
                    users[end] = user
                    end += 1
                times[user] += item_times[post]
        for place in range(begin, end):
            user = users[place]
            share = times[user] / totals[user]
            times[user] = 0
            weight = math.log1p(odds * share) if math.isfinite(odds) else math.log(share) - math.log(floor)
            fixed[place] = np.int64(np.rint(weight * scale))
        starts[report] = begin
        begin = end
    starts[reports] = begin
    return starts, users[:begin], fixed[:begin]
