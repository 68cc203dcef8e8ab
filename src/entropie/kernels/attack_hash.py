"""Postings of hashed reports: who could have sent (a, b, y), and how likely, from the items that hash to y."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from entropie.kernels.arrays import Codes, Floats, Ints, Words
from entropie.kernels.attack_records import inner
from entropie.kernels.caching import njit
from entropie.kernels.modular import hash_value, preimages


class HashReports(NamedTuple):
    """Reports (a, b, y), one a row."""

    a: Words
    b: Words
    y: Words


class HashFamily(NamedTuple):
    """The hash functions of the reports, and which items to try: the known ones, or without them all."""

    prime: np.uint64
    hash_size: np.uint64
    inverse: np.uint64  # of the hash size modulo the prime
    known: Words
    domain_size: int


class ItemPostings(NamedTuple):
    """Who has an item and how often: users[starts[x]:starts[x + 1]], times likewise."""

    starts: Ints
    users: Codes
    times: Codes


class Gain(NamedTuple):
    """How much a share of matching events says."""

    totals: Floats  # events of each user
    odds: float  # theta g/(1 - theta), infinite without lies
    floor: float


@inner
def _hits(reports: HashReports, report: int, family: HashFamily, room: Words) -> int:
    """Write the items with h(x) = y into `room`: by enumeration, or by hashing the known items if they are fewer."""
    a, b, y, known = reports.a[report], reports.b[report], reports.y[report], family.known
    if known.shape[0] == 0:
        hits: int = preimages(
            a, b, y, family.prime, family.hash_size, family.inverse, np.uint64(family.domain_size), room
        )
        return hits
    hits = 0
    for item in known:
        if hash_value(a, b, item, family.prime, family.hash_size) == y:
            room[hits] = item
            hits += 1
    return hits


@inner
def _room_for(family: HashFamily) -> Words:
    return np.empty(family.known.shape[0] if family.known.shape[0] > 0 else family.domain_size, np.uint64)


@inner
def _gain(share: float, odds: float, floor: float) -> float:
    """ln(1 + odds Pi), or without lies ln Pi - ln floor."""
    if math.isfinite(odds):
        return math.log1p(odds * share)
    return math.log(share) - math.log(floor)


@njit(nogil=True, cache=True)
def hash_postings(
    reports: HashReports, family: HashFamily, items: ItemPostings, gain: Gain, scale: float
) -> tuple[Ints, Codes, Ints]:
    """Gather, for every report, the users with items that hash to y, weighed in units of 1/scale.

    With Pi the share of such events in the user's training, the weight is ln(1 + odds Pi), odds = theta g/(1-theta), or
    where odds are infinite (no lies) ln Pi - ln floor. Counts add up as whole numbers, in any order.
    """
    item_starts, totals = items.starts, gain.totals
    count = reports.a.shape[0]
    room = _room_for(family)
    starts = np.zeros(count + 1, np.int64)
    for report in range(count):
        length = 0
        for place in range(_hits(reports, report, family, room)):
            item = np.int64(room[place])
            length += item_starts[item + 1] - item_starts[item]
        starts[report + 1] = starts[report] + min(length, totals.shape[0])
    users = np.empty(starts[-1], np.uint32)
    fixed = np.empty(starts[-1], np.int64)
    times = np.zeros(totals.shape[0], np.int64)
    begin = 0
    for report in range(count):
        end = begin
        for place in range(_hits(reports, report, family, room)):
            item = np.int64(room[place])
            for post in range(item_starts[item], item_starts[item + 1]):
                user = items.users[post]
                if times[user] == 0:
                    users[end] = user
                    end += 1
                times[user] += items.times[post]
        for place in range(begin, end):
            user = users[place]
            share = times[user] / totals[user]
            times[user] = 0
            fixed[place] = np.int64(np.rint(_gain(share, gain.odds, gain.floor) * scale))
        starts[report] = begin
        begin = end
    starts[count] = begin
    return starts, users[:begin], fixed[:begin]


@njit(nogil=True, cache=True)
def hits_of_reports(reports: HashReports, family: HashFamily, item_starts: Ints) -> tuple[Ints, Codes]:
    """List, report by report, the items that hash to y and that somebody has."""
    count = reports.a.shape[0]
    room = _room_for(family)
    starts = np.zeros(count + 1, np.int64)
    items = np.empty(2 * count + 1024, np.uint32)
    end = 0
    for report in range(count):
        hits = _hits(reports, report, family, room)
        if end + hits > items.shape[0]:
            more = np.empty(2 * items.shape[0] + hits, np.uint32)
            more[:end] = items[:end]
            items = more
        for place in range(hits):
            item = np.int64(room[place])
            if item_starts[item + 1] > item_starts[item]:
                items[end] = item
                end += 1
        starts[report + 1] = end
    return starts, items[:end]


@inner
def _longest_posting(hits: Codes, item_starts: Ints) -> np.int64:
    """The item among the hits that most users have, the first of equals; -1 without hits."""
    longest = np.int64(-1)
    for place in range(hits.shape[0]):
        item = hits[place]
        if longest < 0 or (item_starts[item + 1] - item_starts[item] > item_starts[longest + 1] - item_starts[longest]):
            longest = np.int64(item)
    return longest


@njit(nogil=True, cache=True)
def hash_pairs(starts: Ints, hits: Codes, items: ItemPostings, gain: Gain) -> tuple[Ints, Codes, Floats]:
    """Correct, report by report, the users with several of its items: gain of the sum minus sum of the gains.

    The items of report r are hits[starts[r]:starts[r + 1]]. All but the longest of their postings are read; in the
    longest these users are looked up.
    """
    reports = starts.shape[0] - 1
    totals, odds, floor = gain.totals, gain.odds, gain.floor
    out_starts = np.zeros(reports + 1, np.int64)
    users = np.empty(1024, np.uint32)
    corrections = np.empty(1024, np.float64)
    end = 0
    times = np.zeros(totals.shape[0], np.int64)
    items_of = np.zeros(totals.shape[0], np.int64)
    gains = np.zeros(totals.shape[0], np.float64)
    met = np.empty(totals.shape[0], np.uint32)
    for report in range(reports):
        own = hits[starts[report] : starts[report + 1]]
        longest = _longest_posting(own, items.starts)
        count = 0
        for item in own:
            if item == longest:
                continue
            for post in range(items.starts[item], items.starts[item + 1]):
                user = items.users[post]
                if items_of[user] == 0:
                    met[count] = user
                    count += 1
                items_of[user] += 1
                times[user] += items.times[post]
                gains[user] += _gain(items.times[post] / totals[user], odds, floor)
        if end + count > users.shape[0]:
            more_users = np.empty(2 * users.shape[0] + count, np.uint32)
            more_users[:end] = users[:end]
            users = more_users
            more = np.empty(2 * corrections.shape[0] + count, np.float64)
            more[:end] = corrections[:end]
            corrections = more
        for place in range(count):
            user = met[place]
            low = items.starts[longest]
            high = items.starts[longest + 1]
            post = low + np.searchsorted(items.users[low:high], user)
            if post < high and items.users[post] == user:
                items_of[user] += 1
                times[user] += items.times[post]
                gains[user] += _gain(items.times[post] / totals[user], odds, floor)
            if items_of[user] > 1:
                users[end] = user
                corrections[end] = _gain(times[user] / totals[user], odds, floor) - gains[user]
                end += 1
            items_of[user] = 0
            times[user] = 0
            gains[user] = 0.0
        out_starts[report + 1] = end
    return out_starts, users[:end], corrections[:end]
