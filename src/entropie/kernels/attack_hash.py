"""Postings of hashed reports: who could have sent (a, b, y), and how likely, from the items that hash to y."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from entropie.kernels.modular import hash_value, preimages

__all__ = ["hash_pairs", "hash_postings", "hits_of_reports", "item_postings"]


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
def _gain(share: float, odds: float, floor: float) -> float:
    """ln(1 + odds Pi), or without lies ln Pi - ln floor."""
    if math.isfinite(odds):
        return math.log1p(odds * share)
    return math.log(share) - math.log(floor)


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
            fixed[place] = np.int64(np.rint(_gain(share, odds, floor) * scale))
        starts[report] = begin
        begin = end
    starts[reports] = begin
    return starts, users[:begin], fixed[:begin]


@njit(nogil=True, cache=True)
def hits_of_reports(
    a: NDArray[np.uint64],
    b: NDArray[np.uint64],
    y: NDArray[np.uint64],
    prime: np.uint64,
    hash_size: np.uint64,
    inverse: np.uint64,
    known: NDArray[np.uint64],
    room: NDArray[np.uint64],
    item_starts: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """List, report by report, the items that hash to y and that somebody has."""
    reports = a.shape[0]
    domain_size = item_starts.shape[0] - 1
    starts = np.zeros(reports + 1, np.int64)
    items = np.empty(2 * reports + 1024, np.uint32)
    end = 0
    for report in range(reports):
        found = _hits(a[report], b[report], y[report], prime, hash_size, inverse, known, domain_size, room)
        if end + found > items.shape[0]:
            more = np.empty(2 * items.shape[0] + found, np.uint32)
            more[:end] = items[:end]
            items = more
        for place in range(found):
            item = np.int64(room[place])
            if item_starts[item + 1] > item_starts[item]:
                items[end] = item
                end += 1
        starts[report + 1] = end
    return starts, items[:end]


@njit(nogil=True, cache=True)
def hash_pairs(
    starts: NDArray[np.int64],
    items: NDArray[np.uint32],
    item_starts: NDArray[np.int64],
    item_users: NDArray[np.uint32],
    item_times: NDArray[np.uint32],
    totals: NDArray[np.float64],
    odds: float,
    floor: float,
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]:
    """Correct, report by report, the users with several of its items: gain of the sum minus sum of the gains.

    All but the longest of the postings are read; in the longest these users are looked up.
    """
    reports = starts.shape[0] - 1
    out_starts = np.zeros(reports + 1, np.int64)
    users = np.empty(1024, np.uint32)
    corrections = np.empty(1024, np.float64)
    end = 0
    times = np.zeros(totals.shape[0], np.int64)
    hits = np.zeros(totals.shape[0], np.int64)
    gains = np.zeros(totals.shape[0], np.float64)
    met = np.empty(totals.shape[0], np.uint32)
    for report in range(reports):
        longest = np.int64(-1)
        for place in range(starts[report], starts[report + 1]):
            item = items[place]
            if longest < 0 or (
                item_starts[item + 1] - item_starts[item] > item_starts[longest + 1] - item_starts[longest]
            ):
                longest = np.int64(item)
        found = 0
        for place in range(starts[report], starts[report + 1]):
            item = items[place]
            if item == longest:
                continue
            for post in range(item_starts[item], item_starts[item + 1]):
                user = item_users[post]
                if hits[user] == 0:
                    met[found] = user
                    found += 1
                hits[user] += 1
                times[user] += item_times[post]
                gains[user] += _gain(item_times[post] / totals[user], odds, floor)
        if end + found > users.shape[0]:
            more_users = np.empty(2 * users.shape[0] + found, np.uint32)
            more_users[:end] = users[:end]
            users = more_users
            more = np.empty(2 * corrections.shape[0] + found, np.float64)
            more[:end] = corrections[:end]
            corrections = more
        for place in range(found):
            user = met[place]
            low = item_starts[longest]
            high = item_starts[longest + 1]
            post = low + np.searchsorted(item_users[low:high], user)
            if post < high and item_users[post] == user:
                hits[user] += 1
                times[user] += item_times[post]
                gains[user] += _gain(item_times[post] / totals[user], odds, floor)
            if hits[user] > 1:
                users[end] = user
                corrections[end] = _gain(times[user] / totals[user], odds, floor) - gains[user]
                end += 1
            hits[user] = 0
            times[user] = 0
            gains[user] = 0.0
        out_starts[report + 1] = end
    return out_starts, users[:end], corrections[:end]
