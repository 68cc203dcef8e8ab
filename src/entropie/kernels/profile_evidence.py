"""Loops that weigh what speaks for each candidate of a target."""

from __future__ import annotations

import numpy as np

from entropie.kernels.arrays import Codes, Flags, Floats, Ints
from entropie.kernels.attack_records import inner
from entropie.kernels.caching import njit
from entropie.kernels.profile_records import (
    MARKS,
    NOBODY,
    Company,
    KnownPeople,
    Numbers,
    Targets,
    company_among,
    item_hour,
    mark,
)

FEATURES = (
    "item", "presence", "item_hour", "neighbours", "rarity", "category", "category_hour", "reverse", "again", "hour",
    "gap", "return", "day", "pace", "period", "second", "minute", "month", "weekday", "run", "pair", "triple",
    "cycle", "absent",
)  # fmt: skip
"""Kinds of evidence, in the order of the columns that `evidence` returns; habits last."""

_ITEM, _PRESENCE, _ITEM_HOUR, _NEIGHBOURS, _RARITY, _CATEGORY, _CATEGORY_HOUR, _REVERSE, _AGAIN, _HOUR = range(10)


@njit(nogil=True, cache=True)
def return_bins(offsets: Ints, items: Codes, window: int) -> Ints:
    """How many events ago the item was last met, minus 1; `window` if not within the window; -1 without a whole one."""
    bins = np.full(items.shape[0], -1, np.int64)
    for row in range(offsets.shape[0] - 1):
        for place in range(offsets[row] + window, offsets[row + 1]):
            bins[place] = window
            for ago in range(1, window + 1):
                if items[place - ago] == items[place]:
                    bins[place] = ago - 1
                    break
    return bins


@njit(nogil=True, cache=True)
def evidence(people: KnownPeople, targets: Targets, company: Company, candidates: Ints) -> Floats:
    """What speaks for each candidate of each target, by `FEATURES`; zeros where there is no candidate."""
    rows, count = candidates.shape
    found = np.zeros((rows, count, len(FEATURES)))
    domain = company.popularity.shape[0]
    where = np.full(domain, -1, np.int32)
    numbers = np.full(domain, -1, np.int32)  # of the items that any candidate has
    asked, had = np.zeros(MARKS, np.bool_), np.zeros(MARKS, np.bool_)  # marks of both
    by_category = np.zeros((max(company.category_count, 1), 2))
    by_slot = np.zeros((max(company.category_count, 1), 256))
    bins = np.empty(targets.habits.shape[1], np.int64)  # of habits that the target has
    ends = np.empty(company.bounds.shape[0] - 1, np.int64)  # of each kind among them
    for row in range(rows):
        _bins(targets, company, row, bins, ends)
        low = targets.offsets[row]
        length = targets.offsets[row + 1] - low
        for place in range(length):
            where[targets.items[low + place]] = place
            asked[mark(targets.items[low + place])] = True
        held = np.zeros((count, length), np.bool_)
        begins = np.zeros(count + 1, np.int64)
        for rank in range(count):
            person = candidates[row, rank]
            size = people.offsets[person + 1] - people.offsets[person] if person != NOBODY else 0
            begins[rank + 1] = begins[rank] + size
        gains = np.empty(begins[count])
        for rank in range(count):
            person = candidates[row, rank]
            if person != NOBODY:
                _shared(people, targets, where, asked, row, person, held[rank], found[row, rank])
                _habits(people, targets, row, person, bins, ends, found[row, rank])
                _new_items(people, targets, company, row, person, held[rank], found[row, rank])
                if company.category_count > 0:
                    _categories(
                        people, targets, company, row, person, held[rank], by_category, by_slot, found[row, rank]
                    )
                _gains(people, targets, company, where, asked, row, person, gains[begins[rank] : begins[rank + 1]])
        _neighbours(people, targets, company, row, candidates[row], held, begins, gains, numbers, had, found[row])
        for place in range(length):
            where[targets.items[low + place]] = -1
            asked[mark(targets.items[low + place])] = False
    return found


@inner
def _shared(
    people: KnownPeople,
    targets: Targets,
    where: Numbers,
    asked: Flags,
    row: int,
    person: int,
    held: Flags,
    found: Floats,
) -> None:
    """Evidence of items that target and candidate have in common."""
    timed = targets.slots.shape[0] > 0
    low = targets.offsets[row]
    item = presence = hour = reverse = again = 0.0
    for entry in range(people.offsets[person], people.offsets[person + 1]):
        at = where[people.items[entry]] if asked[mark(people.items[entry])] else -1
        if at >= 0:
            held[at] = True
            item += targets.weights[low + at] * people.evidence[entry]
            presence += targets.presence[low + at] * people.evidence[entry]
            reverse += people.weights[entry] * targets.evidence[low + at]
            again += 1.0
            if timed:
                hour += item_hour(people, targets, entry, low + at)
    found[_ITEM] = item - targets.sizes[row] * people.penalty[person]
    found[_PRESENCE] = presence - targets.presence_sizes[row] * people.penalty[person]
    found[_ITEM_HOUR] = hour
    found[_REVERSE] = reverse / max(people.sizes[person], 1e-9)
    found[_AGAIN] = -again


@inner
def _bins(targets: Targets, company: Company, row: int, bins: Ints, ends: Ints) -> None:
    """The bins in which a target has anything, kind by kind: few of all that there are."""
    count = 0
    for kind in range(ends.shape[0]):
        for column in range(company.bounds[kind], company.bounds[kind + 1]):
            if targets.habits[row, column] != 0.0:
                bins[count] = column
                count += 1
        ends[kind] = count


@inner
def _habits(
    people: KnownPeople, targets: Targets, row: int, person: int, bins: Ints, ends: Ints, found: Floats
) -> None:
    """Sum over bins of the target's weight times ln P_i/p, of each kind."""
    at = 0
    for kind in range(ends.shape[0]):
        total = 0.0
        while at < ends[kind]:
            total += targets.habits[row, bins[at]] * people.habits[person, bins[at]]
            at += 1
        found[_HOUR + kind] = total


@inner
def _new_items(
    people: KnownPeople, targets: Targets, company: Company, row: int, person: int, held: Flags, found: Floats
) -> None:
    """How rare the items are that the candidate does not have, against those that the candidate has."""
    low = targets.offsets[row]
    total = 0.0
    for place in range(held.shape[0]):
        if not held[place]:
            total += targets.weights[low + place] * people.rarity[person, company.rarity[targets.items[low + place]]]
    found[_RARITY] = total / np.sqrt(max(targets.sizes[row], 1e-9))


@inner
def _categories(
    people: KnownPeople,
    targets: Targets,
    company: Company,
    row: int,
    person: int,
    held: Flags,
    by_category: Floats,
    by_slot: Floats,
    found: Floats,
) -> None:
    """Evidence of the categories of items that the candidate does not have, and of their hours."""
    timed = targets.slots.shape[0] > 0
    for entry in range(people.category_offsets[person], people.category_offsets[person + 1]):
        category = people.categories[entry]
        by_category[category, 0] = people.category_evidence[entry]
        by_category[category, 1] = people.category_slot_penalty[entry]
        for known in range(people.category_slot_starts[entry], people.category_slot_starts[entry + 1]):
            by_slot[category, people.category_slots[known]] = people.category_slot_evidence[known]
    low = targets.offsets[row]
    plain = hour = 0.0
    for place in range(held.shape[0]):
        if not held[place]:
            category = company.categories[targets.items[low + place]]
            weight = targets.weights[low + place]
            plain += weight * (by_category[category, 0] + people.category_lack[person])
            if timed:
                hour -= weight * by_category[category, 1]
                for asked in range(targets.slot_starts[low + place], targets.slot_starts[low + place + 1]):
                    hour += targets.slot_weights[asked] * by_slot[category, targets.slots[asked]]
    root = np.sqrt(max(targets.sizes[row], 1e-9))
    found[_CATEGORY] = plain / root
    found[_CATEGORY_HOUR] = hour / root
    for entry in range(people.category_offsets[person], people.category_offsets[person + 1]):
        category = people.categories[entry]
        by_category[category, 0] = 0.0
        by_category[category, 1] = 0.0
        for known in range(people.category_slot_starts[entry], people.category_slot_starts[entry + 1]):
            by_slot[category, people.category_slots[known]] = 0.0


@inner
def _gains(
    people: KnownPeople,
    targets: Targets,
    company: Company,
    where: Numbers,
    asked: Flags,
    row: int,
    person: int,
    gains: Floats,
) -> None:
    """Share of each item of the candidate over its reach, the target's own trace left out."""
    own = company.weights[targets.own[row]] * (targets.offsets[row + 1] - targets.offsets[row] - 1)
    first = people.offsets[person]
    for place in range(gains.shape[0]):
        item = people.items[first + place]
        gains[place] = people.near[first + place]
        if asked[mark(item)] and where[item] >= 0:
            reach = company.reach[item]
            gains[place] *= (reach + company.shrink) / (max(reach - own, 0.0) + company.shrink)


@inner
def _neighbours(
    people: KnownPeople,
    targets: Targets,
    company: Company,
    row: int,
    candidates: Ints,
    held: Flags,
    begins: Ints,
    gains: Floats,
    numbers: Numbers,
    had: Flags,
    found: Floats,
) -> None:
    """How well items that a candidate does not have go with those that the candidate has."""
    count = candidates.shape[0]
    each = np.empty(gains.shape[0], np.int32)
    distinct = 0
    lack, alone = np.zeros(count), np.zeros(count)
    for rank in range(count):
        first = people.offsets[candidates[rank]] - begins[rank]
        for entry in range(begins[rank], begins[rank + 1]):
            lack[rank] += gains[entry]
            item = people.items[first + entry]
            if numbers[item] < 0:
                numbers[item] = distinct
                had[mark(item)] = True
                distinct += 1
            each[entry] = numbers[item]
        lack[rank] *= company.shrink
        alone[rank] = np.log(1.0 - company.mix + company.mix * lack[rank])
    together = np.empty(distinct)
    low = targets.offsets[row]
    for place in range(held.shape[1]):
        item = targets.items[low + place]
        company_among(company, item, targets.own[row], numbers, had, together)
        for rank in range(count):
            if candidates[rank] != NOBODY and not held[rank, place]:
                near = 0.0
                for entry in range(begins[rank], begins[rank + 1]):
                    near += gains[entry] * together[each[entry]]
                told = alone[rank]
                if near > 0.0:
                    odds = near / company.popularity[item] + lack[rank]
                    told = np.log(1.0 - company.mix + company.mix * odds)
                found[rank, _NEIGHBOURS] += targets.weights[low + place] * told
    for rank in range(count):
        first = people.offsets[candidates[rank]] - begins[rank]
        for entry in range(begins[rank], begins[rank + 1]):
            numbers[people.items[first + entry]] = -1
            had[mark(people.items[first + entry])] = False
