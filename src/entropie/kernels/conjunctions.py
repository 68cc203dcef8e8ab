"""Loops that count what goes together in a trace, and name whom it is of.

A cell is an outcome in a context, such as an hour at an item; its key is context << 32 | outcome.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from entropie.kernels.arrays import Codes, Flags, Floats, Ints
from entropie.kernels.attack_records import inner
from entropie.kernels.caching import njit
from entropie.kernels.profile_records import NOBODY

Keys = NDArray[np.uint64]

_LEAST = 0.1  # nats that a cell must be able to tell
_GRID = 2.0**20  # sums are of whole numbers of 1/_GRID: the same in any order


class Cells(NamedTuple):
    """Cells of traces, row r having offsets[r]..offsets[r + 1] - 1, by key; how often each occurs, and its context; and
    how many outcomes, no two alike, every event has.
    """

    offsets: Ints
    keys: Keys
    counts: Ints
    totals: Ints
    width: int


class Own(NamedTuple):
    """Cells in which known people have a share of their own, person i having offsets[i]..offsets[i + 1] - 1, by key."""

    offsets: Ints
    keys: Keys
    facts: Floats  # of each ln p of the outcome in the context among the others, and ln(1 - p); the same for this
    # person, if the share is their own; ln of the chance that it is, and that it is not


class Posted(NamedTuple):
    """The cells of all people by key: people starts[k]..starts[k + 1] - 1 have keys[k], and these facts of `Own`."""

    keys: Keys
    starts: Ints
    people: Codes
    facts: Floats


@njit(nogil=True, cache=True)
def cells_of(offsets: Ints, contexts: Codes, outcomes: Codes, there: Flags, width: int) -> Cells:
    """Distinct cells of each trace; events that have none count nowhere. So many entries in a row are of one event."""
    rows = offsets.shape[0] - 1
    keys = np.empty(contexts.shape[0], np.uint64)
    counts, totals = np.empty(keys.shape[0], np.int64), np.empty(keys.shape[0], np.int64)
    found = np.zeros(rows + 1, np.int64)
    held = np.empty(0 if rows == 0 else np.diff(offsets).max(), np.uint64)
    at = 0
    for row in range(rows):
        size = 0
        for event in range(offsets[row], offsets[row + 1]):
            if there[event]:
                held[size] = np.uint64(contexts[event]) << np.uint64(32) | np.uint64(outcomes[event])
                size += 1
        held[:size].sort()
        context = at
        for place in range(size):
            if place > 0 and held[place] == held[place - 1]:
                counts[at - 1] += 1
            else:
                if place > 0 and held[place] >> np.uint64(32) != held[place - 1] >> np.uint64(32):
                    _close(counts, totals, context, at, width)
                    context = at
                keys[at], counts[at] = held[place], 1
                at += 1
        _close(counts, totals, context, at, width)
        found[row + 1] = at
    return Cells(found, keys[:at].copy(), counts[:at].copy(), totals[:at].copy(), width)


@inner
def _close(counts: Ints, totals: Ints, begin: int, end: int, width: int) -> None:
    """A context is complete: its cells get how often it occurs."""
    total = counts[begin:end].sum() // width
    for place in range(begin, end):
        totals[place] = total


@inner
def _log_beta(one: float, other: float) -> float:
    return math.lgamma(one) + math.lgamma(other) - math.lgamma(one + other)


@inner
def _log_sum(one: float, other: float) -> float:
    high, low = (one, other) if one > other else (other, one)
    return high + math.log1p(math.exp(low - high))


@njit(nogil=True, cache=True)
def own_odds(cells: Cells, shares: Floats) -> tuple[Floats, Floats, Ints]:
    """ln of how much likelier the counts of each cell are if that outcome is the person's own, times its share: an own
    outcome is drawn as outcomes are, any one of those of an event, and its share is anything from 0 to 1 alike. And the
    same of each context that a person has more than once, whichever outcome is their own there, not a logarithm; and
    whose context it is.
    """
    size = cells.keys.shape[0]
    odds, whole, whose = np.empty(size), np.empty(size), np.empty(size, np.int64)
    found = 0
    for row in range(cells.offsets.shape[0] - 1):
        for place in range(cells.offsets[row], cells.offsets[row + 1]):
            count, rest, share = cells.counts[place], cells.totals[place] - cells.counts[place], shares[place]
            odds[place] = (
                _log_beta(count + 1.0, rest + 1.0) - (count - 1.0) * math.log(share) - rest * math.log1p(-share)
            ) - math.log(cells.width)
            if cells.totals[place] > 1:
                first = place == cells.offsets[row] or cells.keys[place] >> np.uint64(32) != cells.keys[
                    place - 1
                ] >> np.uint64(32)
                if first:
                    whole[found] = 1.0 / (cells.totals[place] + 1.0)  # an outcome that has not been seen
                    whose[found] = row
                    found += 1
                whole[found - 1] += math.exp(min(odds[place], 100.0))
    return odds, whole[:found].copy(), whose[:found].copy()


@njit(nogil=True, cache=True)
def own_cells(cells: Cells, shares: Floats, odds: Floats, chances: Floats, most: int) -> tuple[Own, Floats]:
    """Of each person the cells that are most surely their own, `most` at most, and what each could tell.

    `chances` are how often each person has an outcome of their own in a context, `odds` those of `own_odds`.
    """
    size = cells.keys.shape[0]
    sure, worth = np.empty(size), np.zeros(size)
    for row in range(chances.shape[0]):
        for place in range(cells.offsets[row], cells.offsets[row + 1]):
            count, share = cells.counts[place], shares[place]
            mine = math.log(chances[row]) + odds[place]
            sure[place] = mine - _log_sum(mine, math.log1p(-chances[row] * share))
            own = (count + 1.0) / (cells.totals[place] + 2.0)
            if own > share:
                told = math.log1p(math.exp(sure[place]) * (own / share - 1.0)) * count
                worth[place] = math.floor(told * _GRID) / _GRID
    kept = np.zeros(size, np.bool_)
    offsets = np.zeros(cells.offsets.shape[0], np.int64)
    for row in range(offsets.shape[0] - 1):
        low, high = cells.offsets[row], cells.offsets[row + 1]
        order = np.argsort(-worth[low:high], kind="mergesort")
        for place in order[:most]:
            if worth[low + place] >= _LEAST:
                kept[low + place] = True
                offsets[row + 1] += 1
    places = np.flatnonzero(kept)
    own = (cells.counts[places] + 1.0) / (cells.totals[places] + 2.0)
    facts = np.empty((places.shape[0], 6))
    facts[:, 0], facts[:, 1] = np.log(shares[places]), np.log1p(-shares[places])
    facts[:, 2], facts[:, 3] = np.log(own), np.log1p(-own)
    facts[:, 4], facts[:, 5] = sure[places], np.log(np.maximum(-np.expm1(sure[places]), 1e-12))
    return Own(np.cumsum(offsets), cells.keys[places], facts), worth[places]


@inner
def _gain(facts: Floats, place: int, count: float, rest: float, absent: float, present: float, unknown: float) -> float:
    """ln of how much likelier a target has an outcome so often if it is this person's than if nothing is known of them.

    `absent` and `present` are ln of the chance that it is nobody's own, and somebody's; `unknown` of its likelihood
    under any share alike.
    """
    usual = count * facts[place, 0] + rest * facts[place, 1]
    mine = count * facts[place, 2] + rest * facts[place, 3]
    known = _log_sum(facts[place, 5] + usual, facts[place, 4] + mine)
    nothing = _log_sum(absent + usual, present + facts[place, 0] + unknown)
    return float(np.rint((known - nothing) * _GRID) / _GRID)


@njit(nogil=True, cache=True)
def told_people(
    own: Own, posted: Posted, targets: Cells, but: Ints, chance: float, kept: int
) -> tuple[Ints, Floats, Floats]:
    """The k people whose own cells speak best for each target, and the sums of what speaks for them, `NOBODY` with 0
    where there are fewer; and ln of the sum of the likelihood ratios of the others. One person
    per target, but[t], is passed over.
    """
    rows, users = targets.offsets.shape[0] - 1, own.offsets.shape[0] - 1
    absent, present = math.log1p(-chance), math.log(chance)
    best = np.full((rows, kept), NOBODY, np.int64)
    scores = np.zeros((rows, kept))
    others = np.full(rows, -np.inf)
    sums = np.zeros(users)
    met = np.zeros(users, np.bool_)
    reached = np.empty(users, np.int64)
    for row in range(rows):
        low, high = targets.offsets[row], targets.offsets[row + 1]
        found = 0
        for place in range(low, high):
            at = np.searchsorted(posted.keys, targets.keys[place])
            if at == posted.keys.shape[0] or posted.keys[at] != targets.keys[place]:
                continue
            count = float(targets.counts[place])
            rest = float(targets.totals[place]) - count
            unknown = _log_beta(count + 1.0, rest + 1.0)
            for post in range(posted.starts[at], posted.starts[at + 1]):
                person = np.int64(posted.people[post])
                if person == but[row]:
                    continue
                if not met[person]:
                    met[person] = True
                    sums[person] = 0.0
                    reached[found] = person
                    found += 1
                sums[person] += _gain(posted.facts, post, count, rest, absent, present, unknown)
        reached[:found].sort()
        for place in range(found):
            person = reached[place]
            met[person] = False
            if sums[person] > scores[row, kept - 1]:
                total = sums[person] + _missed(own, person, targets, row, absent, present)
                _place(best[row], scores[row], person, total)
        if found > kept:
            others[row] = _log_of_others(sums, reached[:found], best[row])
    return best, scores, others


@inner
def _log_of_others(sums: Floats, people: Ints, best: Ints) -> float:
    top, total = 0.0, 0.0
    for person in people:
        top = max(top, sums[person])
    for person in people:
        if not np.any(best == person):
            total += math.exp(sums[person] - top)
    return top + math.log(total) if total > 0.0 else -np.inf


@inner
def _missed(own: Own, person: int, targets: Cells, row: int, absent: float, present: float) -> float:
    """What speaks against a person: cells of their own that a target lacks, where it has the context."""
    total = 0.0
    at, high = targets.offsets[row], targets.offsets[row + 1]
    for place in range(own.offsets[person], own.offsets[person + 1]):
        key = own.keys[place]
        at += np.searchsorted(targets.keys[at:high], key)
        if at < high and targets.keys[at] == key:
            continue
        beside = at if at < high and targets.keys[at] >> np.uint64(32) == key >> np.uint64(32) else at - 1
        if beside < targets.offsets[row] or beside >= high:
            continue
        if targets.keys[beside] >> np.uint64(32) == key >> np.uint64(32):
            rest = float(targets.totals[beside])
            total += _gain(own.facts, place, 0.0, rest, absent, present, _log_beta(1.0, rest + 1.0))
    return total


@inner
def _place(best: Ints, scores: Floats, person: int, total: float) -> None:
    """Put a person among the best, best first; of equal ones those with lower numbers stand first."""
    place = best.shape[0] - 1
    if total <= 0.0 or total < scores[place] or (total == scores[place] and person > best[place]):
        return
    while place > 0 and (total > scores[place - 1] or (total == scores[place - 1] and person < best[place - 1])):
        scores[place], best[place] = scores[place - 1], best[place - 1]
        place -= 1
    scores[place], best[place] = total, person
