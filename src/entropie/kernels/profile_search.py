"""Loops that find the people who come into question for a target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from entropie.kernels.arrays import Codes, Floats, Ints
from entropie.kernels.attack_records import inner
from entropie.kernels.profile_records import NOBODY, Company, KnownPeople, Targets, add_company, habit, item_hour

_SLACK = 1e-6  # sums of ceilings are rounded, by far less than this
_LONG = 4096  # a list that is worth the question whether it is needed at all


class Ceilings(NamedTuple):
    """What an event at an item adds to a score at most, per unit of its weight."""

    each: NDArray[np.float32]  # by place of the lists: to that person; above 0
    gross: Floats  # by item: to anybody
    net: Floats  # by item: to anybody, less their own penalty
    penalty: float  # the smallest of all people


@njit(nogil=True, cache=True)
def ceilings_of(people: KnownPeople, starts: Ints, owners: Codes, entries: Codes, hours: float) -> Ceilings:
    """Ceilings of all lists: the evidence, and as much as the hour can add where it is the best of the entry."""
    each = np.empty(entries.shape[0], np.float32)
    gross, net = np.zeros(starts.shape[0] - 1), np.zeros(starts.shape[0] - 1)
    for item in range(gross.shape[0]):
        for post in range(starts[item], starts[item + 1]):
            entry = entries[post]
            high = people.evidence[entry]
            if hours > 0.0:
                best = 0.0
                for slot in range(people.slot_starts[entry], people.slot_starts[entry + 1]):
                    best = max(best, people.slot_evidence[slot])
                high += hours * (best - people.slot_penalty[entry])
            each[post] = max(high, 0.0) * (1.0 + 2.0**-22) + 1e-30  # rounded up, never 0
            gross[item] = max(gross[item], high)
            net[item] = max(net[item], high - people.penalty[owners[post]])
    return Ceilings(each, gross, net, people.penalty.min() if people.penalty.shape[0] else 0.0)


@njit(nogil=True, cache=True)
def nearest_people(
    people: KnownPeople, targets: Targets, starts: Ints, owners: Codes, ceilings: Ceilings, hours: float, kept: int
) -> tuple[Ints, Floats, int]:
    """The k best of the people who share an item with each target, without scoring everybody who does.

    starts, owners   per item the people who have it
    Lists are visited from the shortest on, and ceilings added up. Scores are taken of those who may be among the best:
    first the k highest, then all whose ceiling reaches the k-th of these scores. Long lists are left out where nobody
    met there alone could reach it. So people and scores are those of scoring everybody. Returns how many places of
    lists were visited, too.
    """
    rows = targets.offsets.shape[0] - 1
    count = people.penalty.shape[0]
    best = np.full((rows, kept), NOBODY, np.int64)
    scores = np.full((rows, kept), -np.inf)
    sums = np.zeros(count)
    reached = np.empty(count, np.int64)
    visited = 0
    for row in range(rows):
        low, high = targets.offsets[row], targets.offsets[row + 1]
        lengths = starts[targets.items[low:high] + 1] - starts[targets.items[low:high]]
        order = np.argsort(lengths, kind="mergesort")
        gross, net = _left(targets, ceilings, order, row)
        found = 0
        step = 0
        level = -np.inf
        while step < order.shape[0]:
            place = low + order[step]
            item = targets.items[place]
            if lengths[order[step]] >= _LONG and found >= kept:
                level = max(level, _reached_level(people, targets, row, sums, reached[:found], hours, kept))
                if net[step] < level:
                    break
            visited += lengths[order[step]]
            weight = targets.weights[place]
            for post in range(starts[item], starts[item + 1]):
                person = owners[post]
                if sums[person] == 0.0:
                    reached[found] = person
                    found += 1
                sums[person] += weight * ceilings.each[post]
            step += 1
        if found > kept:
            level = max(level, _reached_level(people, targets, row, sums, reached[:found], hours, kept))
        chosen = np.empty(found, np.int64)
        some = 0
        for place in range(found):
            person = reached[place]
            if sums[person] - targets.sizes[row] * people.penalty[person] + gross[step] >= level:
                chosen[some] = person
                some += 1
            sums[person] = 0.0
        chosen = chosen[:some].copy()
        chosen.sort()
        standing = np.empty(some)
        for place in range(some):
            standing[place] = _whole(people, targets, row, chosen[place], hours)
        _keep_best(chosen, standing, best[row], scores[row])
    return best, scores, visited


@inner
def _left(targets: Targets, ceilings: Ceilings, order: Ints, row: int) -> tuple[Floats, Floats]:
    """What the lists from each step on can add to the sums of those met, and the score of whoever is met there alone.

    Whoever has no more than the items of these lists pays the penalty, which is never below 0, for all others too.
    """
    low, count = targets.offsets[row], order.shape[0]
    gross, net = np.zeros(count + 1), np.zeros(count + 1)
    other = targets.sizes[row]
    net[count] = -other * ceilings.penalty
    for step in range(count - 1, -1, -1):
        place = low + order[step]
        item, weight = targets.items[place], targets.weights[place]
        gross[step] = gross[step + 1] + weight * ceilings.gross[item]
        net[step] = net[step + 1] + weight * (ceilings.net[item] + ceilings.penalty)
    return gross, net


@inner
def _reached_level(
    people: KnownPeople, targets: Targets, row: int, sums: Floats, reached: Ints, hours: float, kept: int
) -> float:
    """What the k-th best score is at least: the least score of the k people with the highest ceilings so far."""
    ceilings = np.empty(reached.shape[0])
    for place in range(reached.shape[0]):
        ceilings[place] = sums[reached[place]] - targets.sizes[row] * people.penalty[reached[place]]
    highest = np.partition(ceilings, ceilings.shape[0] - kept)[ceilings.shape[0] - kept]
    least = np.inf
    taken = 0
    for place in range(reached.shape[0]):
        if ceilings[place] >= highest and taken < kept:
            least = min(least, _whole(people, targets, row, reached[place], hours))
            taken += 1
    return float(least - _SLACK)


@inner
def _whole(people: KnownPeople, targets: Targets, row: int, person: int, hours: float) -> float:
    """The score of one person, summed in the order of items: both sides stand in it."""
    total = 0.0
    entry, end = people.offsets[person], people.offsets[person + 1]
    for place in range(targets.offsets[row], targets.offsets[row + 1]):
        while entry < end and people.items[entry] < targets.items[place]:
            entry += 1
        if entry == end:
            break
        if people.items[entry] == targets.items[place]:
            total += targets.weights[place] * people.evidence[entry]
            if hours > 0.0:
                total += hours * item_hour(people, targets, entry, place)
    return float(total - targets.sizes[row] * people.penalty[person])


@njit(nogil=True, cache=True)
def best_people(
    people: KnownPeople, targets: Targets, starts: Ints, owners: Codes, entries: Codes, hours: float, kept: int
) -> tuple[Ints, Floats]:
    """The k best people of each target by items, `hours` x hours given items, and habits, among everybody.

    starts, owners, entries   per item the people who have it, and their entries
    """
    rows = targets.offsets.shape[0] - 1
    count = people.penalty.shape[0]
    best = np.full((rows, kept), NOBODY, np.int64)
    scores = np.full((rows, kept), -np.inf)
    everybody = np.arange(count)
    for row in range(rows):
        sums = np.zeros(count)
        for place in range(targets.offsets[row], targets.offsets[row + 1]):
            item = targets.items[place]
            for post in range(starts[item], starts[item + 1]):
                person = owners[post]
                sums[person] += targets.weights[place] * people.evidence[entries[post]]
                if hours > 0.0:
                    sums[person] += hours * item_hour(people, targets, entries[post], place)
        for person in range(count):
            sums[person] += habit(people, targets, person, row, 0, targets.habits.shape[1])
            sums[person] -= targets.sizes[row] * people.penalty[person]
        _keep_best(everybody, sums, best[row], scores[row])
    return best, scores


@njit(nogil=True, cache=True)
def likely_people(
    people: KnownPeople, targets: Targets, company: Company, starts: Ints, owners: Codes, entries: Codes, kept: int
) -> tuple[Ints, Floats]:
    """The k people of each target whose items go best with its items, where nobody meets an item twice.

    People who have an item of the target do not come into question.
    """
    rows = targets.offsets.shape[0] - 1
    count = people.penalty.shape[0]
    domain = company.popularity.shape[0]
    best = np.full((rows, kept), NOBODY, np.int64)
    scores = np.full((rows, kept), -np.inf)
    expected = np.zeros(domain)
    sums = np.zeros(count)
    out = np.zeros(count, np.bool_)
    reached = np.empty(count, np.int64)
    for row in range(rows):
        own = targets.own[row]
        for place in range(targets.offsets[row], targets.offsets[row + 1]):
            item = targets.items[place]
            add_company(company, item, own, targets.weights[place] / company.popularity[item], expected)
            for post in range(starts[item], starts[item + 1]):
                out[owners[post]] = True
        for item in range(domain):
            if expected[item] > 0.0:
                share = expected[item] / (company.reach[item] + company.shrink)
                for post in range(starts[item], starts[item + 1]):
                    sums[owners[post]] += people.shares[entries[post]] * share
                expected[item] = 0.0
        found = 0
        standing = np.empty(count)
        for person in range(count):
            if not out[person]:
                reached[found] = person
                standing[found] = sums[person]
                found += 1
            sums[person] = 0.0
            out[person] = False
        _keep_best(reached, standing[:found], best[row], scores[row])
    return best, scores


@njit(nogil=True, cache=True)
def keep_highest(scores: NDArray[np.float32], begin: int, best: Ints, highest: NDArray[np.float32]) -> None:
    """Put people begin, begin + 1, ... among the k best of each row, of whom people with lower numbers are known.

    Of equal ones the first stay. The lists are in no order.
    """
    kept = best.shape[1]
    if kept == 0:
        return
    for row in range(scores.shape[0]):
        last = int(np.argmin(highest[row]))
        level = highest[row, last]
        for place in range(scores.shape[1]):
            if scores[row, place] > level:
                best[row, last] = begin + place
                highest[row, last] = scores[row, place]
                last = 0
                for rank in range(1, kept):
                    lower = highest[row, rank] < highest[row, last]
                    equal = highest[row, rank] == highest[row, last]
                    if lower or (equal and best[row, rank] > best[row, last]):
                        last = rank
                level = highest[row, last]


@njit(nogil=True, cache=True)
def drop_twins(people: Ints, scores: Floats) -> None:
    """Leave nobody in the place of whoever stands in the row before."""
    for row in range(people.shape[0]):
        seen = set()
        for place in range(people.shape[1]):
            person = people[row, place]
            if person in seen:
                people[row, place] = NOBODY
                scores[row, place] = -np.inf
            elif person != NOBODY:
                seen.add(person)


@inner
def _keep_best(reached: Ints, standing: Floats, best: Ints, scores: Floats) -> None:
    """Write the best, best first; equal ones in the order of their numbers, in which they stand."""
    kept = min(best.shape[0], standing.shape[0])
    if kept == 0:
        return
    level = np.partition(standing, standing.shape[0] - kept)[standing.shape[0] - kept]
    chosen = np.flatnonzero(standing >= level)
    order = np.argsort(-standing[chosen], kind="mergesort")
    for rank in range(kept):
        best[rank] = reached[chosen[order[rank]]]
        scores[rank] = standing[chosen[order[rank]]]
