"""Loops that find the people who come into question for a target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from entropie.kernels.arrays import Codes, Floats, Ints
from entropie.kernels.attack_records import inner
from entropie.kernels.caching import njit
from entropie.kernels.profile_records import NOBODY, Company, KnownPeople, Targets, add_company, item_hour

_SLACK = 1e-6  # sums are rounded, by far less than this
_LONG = 4096  # a list that is worth the question whether it is needed at all


class Ceilings(NamedTuple):
    """What an event at an item adds to a score at most, per unit of its weight; arrays by place of the lists.

    In the order of the lists, so that a sum over a list is read from one place to the next. Numbers are rounded up.
    """

    each: NDArray[np.float32]  # to that person, but for the hour
    counts: NDArray[np.uint8]  # so many hours of that person can add something
    hour_starts: Ints  # by item: where the hours of its list begin
    hours: NDArray[np.uint8]
    gains: NDArray[np.float32]  # what such an hour adds
    gross: Floats  # by item: to anybody
    net: Floats  # by item: to anybody, less their own penalty
    penalty: float  # the smallest of all people


@njit(nogil=True, cache=True)
def ceilings_of(people: KnownPeople, starts: Ints, owners: Codes, entries: Codes, hours: float) -> Ceilings:
    """Ceilings of all lists: the evidence with that of each hour, and in `gross` and `net` with the best hour."""
    size = people.slots.shape[0] if hours > 0.0 else 0
    each, counts = np.empty(entries.shape[0], np.float32), np.zeros(entries.shape[0], np.uint8)
    slots, gains = np.empty(size, np.uint8), np.empty(size, np.float32)
    begins = np.zeros(starts.shape[0], np.int64)
    gross, net = np.zeros(starts.shape[0] - 1), np.zeros(starts.shape[0] - 1)
    at = 0
    for item in range(gross.shape[0]):
        for post in range(starts[item], starts[item + 1]):
            entry = entries[post]
            high = people.evidence[entry]
            best = 0.0
            if hours > 0.0:
                high -= hours * people.slot_penalty[entry]
                counts[post] = people.slot_starts[entry + 1] - people.slot_starts[entry]
                for slot in range(people.slot_starts[entry], people.slot_starts[entry + 1]):
                    gain = hours * people.slot_evidence[slot]
                    best = max(best, gain)
                    slots[at], gains[at] = people.slots[slot], _rounded_up(gain)
                    at += 1
            each[post] = _rounded_up(high)
            gross[item] = max(gross[item], high + best)
            net[item] = max(net[item], high + best - people.penalty[owners[post]])
        begins[item + 1] = at
    least = people.penalty.min() if people.penalty.shape[0] else 0.0
    return Ceilings(each, counts, begins, slots, gains, gross, net, least)


@inner
def _rounded_up(value: float) -> float:
    """Not below the value also in half the digits."""
    return value + abs(value) * 2.0**-22 + 1e-30


@njit(nogil=True, cache=True)
def meeting_places(offsets: Ints, items: Codes, holders: Ints, rows: Ints, most: int) -> Ints:
    """The item of each trace in `rows` that most people hold, of those that `most` do at most; -1 without any."""
    places = np.full(rows.shape[0], -1, np.int64)
    for number in range(rows.shape[0]):
        for place in range(offsets[rows[number]], offsets[rows[number] + 1]):
            item, place_so_far = np.int64(items[place]), places[number]
            if holders[item] <= most and (place_so_far < 0 or holders[item] > holders[place_so_far]):
                places[number] = item
    return places


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
    sums = np.full(count, -np.inf)  # of everybody met so far
    reached = np.empty(count, np.int64)
    weights = np.zeros(256)  # of the target's events at an item, by hour
    visited = 0
    for row in range(rows):
        low, high = targets.offsets[row], targets.offsets[row + 1]
        lengths = starts[targets.items[low:high] + 1] - starts[targets.items[low:high]]
        order = np.argsort(lengths, kind="mergesort")
        gross, net = _left(targets, ceilings, order, row)
        found = 0
        step = 0
        level = -np.inf
        looked = asked = 0
        while step < order.shape[0]:
            if lengths[order[step]] >= _LONG and found >= kept and looked >= 2 * asked:
                asked = looked
                some = _highest(sums, reached[:found], kept)
                level = max(level, _scores(people, targets, row, some, hours).min() - _SLACK)
                if net[step] < level:
                    break
            looked += lengths[order[step]]
            found = _add_list(
                people, targets, starts, owners, ceilings, row, low + order[step], weights, sums, reached, found
            )
            step += 1
        some = _highest(sums, reached[:found], kept)
        standing = _scores(people, targets, row, some, hours)
        if found > kept:
            level = max(level, standing.min() - _SLACK)
        sums[some] = -np.inf
        more = 0
        for place in range(found):
            person = reached[place]
            if sums[person] + gross[step] >= level and sums[person] > -np.inf:
                reached[more] = person
                more += 1
            sums[person] = -np.inf
        others = reached[:more]
        chosen = np.concatenate((some, others))
        standing = np.concatenate((standing, _scores(people, targets, row, others, hours)))
        visited += looked
        by_number = np.argsort(chosen, kind="mergesort")
        _keep_best(chosen[by_number], standing[by_number], best[row], scores[row])
    return best, scores, visited


@inner
def _add_list(
    people: KnownPeople,
    targets: Targets,
    starts: Ints,
    owners: Codes,
    ceilings: Ceilings,
    row: int,
    place: int,
    weights: Floats,
    sums: Floats,
    reached: Ints,
    found: int,
) -> int:
    """Add the ceilings of everybody who has an item of the target; whoever is met first begins with their penalty."""
    item = targets.items[place]
    for asked in range(targets.slot_starts[place], targets.slot_starts[place + 1]):
        weights[targets.slots[asked]] = targets.slot_weights[asked]
    at = ceilings.hour_starts[item]
    for post in range(starts[item], starts[item + 1]):
        gain = targets.weights[place] * ceilings.each[post]
        for _ in range(ceilings.counts[post]):
            gain += weights[ceilings.hours[at]] * ceilings.gains[at]
            at += 1
        person = owners[post]
        if sums[person] == -np.inf:
            reached[found] = person
            found += 1
            sums[person] = -targets.sizes[row] * people.penalty[person]
        sums[person] += gain
    for asked in range(targets.slot_starts[place], targets.slot_starts[place + 1]):
        weights[targets.slots[asked]] = 0.0
    return found


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
def _highest(sums: Floats, reached: Ints, kept: int) -> Ints:
    """The k people with the highest sums, or all: only who is above those that are put aside is looked at twice."""
    aside, values = np.empty(4 * kept, np.int64), np.empty(4 * kept)
    level = -np.inf
    count = 0
    for person in reached:
        if sums[person] > level:
            aside[count], values[count] = person, sums[person]
            count += 1
            if count == aside.shape[0]:
                order = np.argsort(-values, kind="mergesort")[:kept]
                aside[:kept], values[:kept] = aside[order], values[order]
                level = values[kept - 1]
                count = kept
    return aside[np.argsort(-values[:count], kind="mergesort")[:kept]]


@inner
def _scores(people: KnownPeople, targets: Targets, row: int, chosen: Ints, hours: float) -> Floats:
    standing = np.empty(chosen.shape[0])
    for place in range(chosen.shape[0]):
        standing[place] = _whole(people, targets, row, chosen[place], hours)
    return standing


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
    people: KnownPeople,
    targets: Targets,
    starts: Ints,
    owners: Codes,
    entries: Codes,
    habits: NDArray[np.float32],
    hours: float,
    kept: int,
) -> tuple[Ints, Floats]:
    """The k best people of each target by items, `hours` x hours given items, and habits, among everybody.

    starts, owners, entries   per item the people who have it, and their entries
    habits                    those of the people, bin x person: a bin that a target has is added to all of them at once
    """
    rows = targets.offsets.shape[0] - 1
    count = people.penalty.shape[0]
    best = np.full((rows, kept), NOBODY, np.int64)
    scores = np.full((rows, kept), -np.inf)
    everybody = np.arange(count)
    sums, habitual = np.empty(count), np.empty(count)
    for row in range(rows):
        sums[:] = 0.0
        habitual[:] = 0.0
        for place in range(targets.offsets[row], targets.offsets[row + 1]):
            item = targets.items[place]
            for post in range(starts[item], starts[item + 1]):
                person = owners[post]
                sums[person] += targets.weights[place] * people.evidence[entries[post]]
                if hours > 0.0:
                    sums[person] += hours * item_hour(people, targets, entries[post], place)
        for column in range(habits.shape[0]):
            weight = targets.habits[row, column]
            if weight != 0.0:
                for person in range(count):
                    habitual[person] += weight * habits[column, person]
        for person in range(count):
            sums[person] += habitual[person]
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
                for post in range(starts[item], starts[item + 1]):
                    sums[owners[post]] += people.near[entries[post]] * expected[item]
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
