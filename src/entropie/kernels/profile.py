"""Loops of the profile attacker: the people who come into question for a target, and the evidence for each of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from entropie.kernels.attack_records import inner

__all__ = ["FEATURES", "Company", "KnownPeople", "Targets", "best_people", "evidence", "likely_people", "return_bins"]

FEATURES = (
    "item", "presence", "item_hour", "hour", "gap", "return", "neighbours", "rarity", "category", "category_hour",
    "reverse", "again",
)  # fmt: skip
"""Kinds of evidence, in the order of the columns that `evidence` returns."""

_ITEM, _PRESENCE, _ITEM_HOUR, _HOUR, _NEIGHBOURS, _RARITY, _CATEGORY, _CATEGORY_HOUR, _REVERSE, _AGAIN = (
    0, 1, 2, 3, 6, 7, 8, 9, 10, 11,
)  # fmt: skip
_NOBODY = -1


class KnownPeople(NamedTuple):
    """Profiles: person i has the entries offsets[i]..offsets[i + 1] - 1, one per item, by item.

    Entry e has slots[slot_starts[e]:slot_starts[e + 1]]; without times there are none. Categories are rows likewise.
    """

    offsets: NDArray[np.int64]
    items: NDArray[np.uint32]
    evidence: NDArray[np.float64]  # ln(1 + (c - d)/(Lambda p))
    shares: NDArray[np.float64]  # of the discounts
    weights: NDArray[np.float64]  # damped
    slot_starts: NDArray[np.int64]
    slots: NDArray[np.uint8]
    slot_evidence: NDArray[np.float64]  # ln(1 + c(x, slot)/(prior P(slot)))
    slot_penalty: NDArray[np.float64]  # per entry: ln(1 + c(x)/prior)
    sizes: NDArray[np.float64]  # per person: sum of the damped weights
    penalty: NDArray[np.float64]  # per person: ln((N + lambda)/Lambda)
    habits: NDArray[np.float64]  # person x bin: ln P_i/p of hours, gaps and returns
    rarity: NDArray[np.float64]  # person x bin: ln P_i/p of how many hold an item
    category_offsets: NDArray[np.int64]
    categories: NDArray[np.uint32]
    category_evidence: NDArray[np.float64]  # ln P_i/p beyond that of a category the person lacks
    category_lack: NDArray[np.float64]  # per person: ln P_i/p of a category the person lacks
    category_slot_starts: NDArray[np.int64]
    category_slots: NDArray[np.uint8]
    category_slot_evidence: NDArray[np.float64]
    category_slot_penalty: NDArray[np.float64]


class Targets(NamedTuple):
    """Targets: target t has the entries offsets[t]..offsets[t + 1] - 1, one per item, by item."""

    offsets: NDArray[np.int64]
    items: NDArray[np.uint32]
    weights: NDArray[np.float64]  # damped
    presence: NDArray[np.float64]  # damped more
    evidence: NDArray[np.float64]  # as of a known person whose training this were
    slot_starts: NDArray[np.int64]
    slots: NDArray[np.uint8]
    slot_weights: NDArray[np.float64]
    sizes: NDArray[np.float64]  # per target: sum of the weights
    presence_sizes: NDArray[np.float64]
    habits: NDArray[np.float64]  # target x bin: weights of hours, gaps and returns
    own: NDArray[np.int64]  # number of the target's own trace in the company


class Company(NamedTuple):
    """Traces, of whomever, as sets of items; per item what is known of everybody."""

    offsets: NDArray[np.int64]
    items: NDArray[np.uint32]
    weights: NDArray[np.float64]  # per trace: 1/sqrt(items)
    starts: NDArray[np.int64]  # per item: where the traces that hold it begin
    holders: NDArray[np.int64]
    reach: NDArray[np.float64]  # per item: sum over its traces of weight times other items
    popularity: NDArray[np.float64]
    rarity: NDArray[np.int64]  # per item: bin of how many hold it
    categories: NDArray[np.int64]  # per item; empty without categories
    category_count: int
    bounds: NDArray[np.int64]  # where the habits of hours, gaps and returns begin and end
    visits: int  # at most so many traces of an item are looked at
    shrink: float
    mix: float


@njit(nogil=True, cache=True)
def return_bins(offsets: NDArray[np.int64], items: NDArray[np.uint32], window: int) -> NDArray[np.int64]:
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
def best_people(
    people: KnownPeople,
    targets: Targets,
    starts: NDArray[np.int64],
    entries: NDArray[np.int64],
    owners: NDArray[np.int64],
    hours: float,
    habits: float,
    kept: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k best people of each target by items, `hours` x hours given items and `habits` x habits.

    starts, entries   per item the entries of people who have it
    owners            person of each entry
    habits            0: only people who share an item come into question
    """
    rows = targets.offsets.shape[0] - 1
    count = people.penalty.shape[0]
    best = np.full((rows, kept), _NOBODY, np.int64)
    scores = np.full((rows, kept), -np.inf)
    sums = np.zeros(count)
    met = np.zeros(count, np.bool_)
    reached = np.empty(count, np.int64)
    for row in range(rows):
        found = 0
        for place in range(targets.offsets[row], targets.offsets[row + 1]):
            item = targets.items[place]
            for post in range(starts[item], starts[item + 1]):
                entry = entries[post]
                person = owners[entry]
                if not met[person]:
                    met[person] = True
                    reached[found] = person
                    found += 1
                sums[person] += targets.weights[place] * people.evidence[entry]
                if hours > 0.0:
                    sums[person] += hours * _item_hour(people, targets, entry, place)
        if habits > 0.0:
            found = count
            for person in range(count):
                reached[person] = person
                sums[person] += habits * _habit(people, targets, person, row, 0, targets.habits.shape[1])
        standing = np.empty(found)
        for place in range(found):
            person = reached[place]
            standing[place] = sums[person] - targets.sizes[row] * people.penalty[person]
            sums[person] = 0.0
            met[person] = False
        _keep_best(reached, standing, best[row], scores[row])
    return best, scores


@njit(nogil=True, cache=True)
def likely_people(
    people: KnownPeople,
    targets: Targets,
    company: Company,
    starts: NDArray[np.int64],
    entries: NDArray[np.int64],
    owners: NDArray[np.int64],
    kept: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k people of each target whose items go best with its items, where nobody meets an item twice.

    People who have an item of the target do not come into question.
    """
    rows = targets.offsets.shape[0] - 1
    count = people.penalty.shape[0]
    domain = company.popularity.shape[0]
    best = np.full((rows, kept), _NOBODY, np.int64)
    scores = np.full((rows, kept), -np.inf)
    expected = np.zeros(domain)
    sums = np.zeros(count)
    out = np.zeros(count, np.bool_)
    reached = np.empty(count, np.int64)
    for row in range(rows):
        own = targets.own[row]
        for place in range(targets.offsets[row], targets.offsets[row + 1]):
            item = targets.items[place]
            _add_company(company, item, own, targets.weights[place] / company.popularity[item], expected)
            for post in range(starts[item], starts[item + 1]):
                out[owners[entries[post]]] = True
        for item in range(domain):
            if expected[item] > 0.0:
                share = expected[item] / (company.reach[item] + company.shrink)
                for post in range(starts[item], starts[item + 1]):
                    sums[owners[entries[post]]] += people.shares[entries[post]] * share
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
def evidence(
    people: KnownPeople, targets: Targets, company: Company, candidates: NDArray[np.int64]
) -> NDArray[np.float64]:
    """What speaks for each candidate of each target, by `FEATURES`; zeros where there is no candidate."""
    rows, count = candidates.shape
    found = np.zeros((rows, count, len(FEATURES)))
    domain = company.popularity.shape[0]
    where = np.full(domain, -1, np.int64)
    together = np.zeros(domain)
    by_category = np.zeros((max(company.category_count, 1), 2))
    by_slot = np.zeros((max(company.category_count, 1), 256))
    for row in range(rows):
        low = targets.offsets[row]
        length = targets.offsets[row + 1] - low
        for place in range(length):
            where[targets.items[low + place]] = place
        held = np.zeros((count, length), np.bool_)
        begins = np.zeros(count + 1, np.int64)
        for rank in range(count):
            person = candidates[row, rank]
            size = people.offsets[person + 1] - people.offsets[person] if person != _NOBODY else 0
            begins[rank + 1] = begins[rank] + size
        gains = np.empty(begins[count])
        for rank in range(count):
            person = candidates[row, rank]
            if person != _NOBODY:
                _shared(people, targets, where, row, person, held[rank], found[row, rank])
                _habits(people, targets, company, row, person, found[row, rank])
                _new_items(people, targets, company, row, person, held[rank], found[row, rank])
                if company.category_count > 0:
                    _categories(
                        people, targets, company, row, person, held[rank], by_category, by_slot, found[row, rank]
                    )
                _gains(people, targets, company, where, row, person, gains[begins[rank] : begins[rank + 1]])
        _neighbours(people, targets, company, row, candidates[row], held, begins, gains, together, found[row])
        for place in range(length):
            where[targets.items[low + place]] = -1
    return found


@inner
def _keep_best(
    reached: NDArray[np.int64], standing: NDArray[np.float64], best: NDArray[np.int64], scores: NDArray[np.float64]
) -> None:
    """Write the best, best first; equal ones as they stand."""
    kept = min(best.shape[0], standing.shape[0])
    if kept == 0:
        return
    level = np.partition(standing, standing.shape[0] - kept)[standing.shape[0] - kept]
    chosen = np.flatnonzero(standing >= level)
    order = np.argsort(-standing[chosen], kind="mergesort")
    for rank in range(kept):
        best[rank] = reached[chosen[order[rank]]]
        scores[rank] = standing[chosen[order[rank]]]


@inner
def _item_hour(people: KnownPeople, targets: Targets, entry: int, place: int) -> float:
    """Sum over the target's events at an item of ln P_i(slot|x)/P_i(slot)."""
    total: float = -targets.weights[place] * people.slot_penalty[entry]
    for asked in range(targets.slot_starts[place], targets.slot_starts[place + 1]):
        for known in range(people.slot_starts[entry], people.slot_starts[entry + 1]):
            if people.slots[known] == targets.slots[asked]:
                total += targets.slot_weights[asked] * people.slot_evidence[known]
                break
    return total


@inner
def _habit(people: KnownPeople, targets: Targets, person: int, row: int, begin: int, end: int) -> float:
    """Sum over bins of the target's weight times ln P_i/p."""
    total = 0.0
    for column in range(begin, end):
        total += targets.habits[row, column] * people.habits[person, column]
    return total


@inner
def _shared(
    people: KnownPeople,
    targets: Targets,
    where: NDArray[np.int64],
    row: int,
    person: int,
    held: NDArray[np.bool_],
    found: NDArray[np.float64],
) -> None:
    """Evidence of items that target and candidate have in common."""
    timed = targets.slots.shape[0] > 0
    low = targets.offsets[row]
    item = presence = hour = reverse = again = 0.0
    for entry in range(people.offsets[person], people.offsets[person + 1]):
        at = where[people.items[entry]]
        if at >= 0:
            held[at] = True
            item += targets.weights[low + at] * people.evidence[entry]
            presence += targets.presence[low + at] * people.evidence[entry]
            reverse += people.weights[entry] * targets.evidence[low + at]
            again += 1.0
            if timed:
                hour += _item_hour(people, targets, entry, low + at)
    found[_ITEM] = item - targets.sizes[row] * people.penalty[person]
    found[_PRESENCE] = presence - targets.presence_sizes[row] * people.penalty[person]
    found[_ITEM_HOUR] = hour
    found[_REVERSE] = reverse / max(people.sizes[person], 1e-9)
    found[_AGAIN] = -again


@inner
def _habits(
    people: KnownPeople, targets: Targets, company: Company, row: int, person: int, found: NDArray[np.float64]
) -> None:
    for kind in range(company.bounds.shape[0] - 1):
        found[_HOUR + kind] = _habit(people, targets, person, row, company.bounds[kind], company.bounds[kind + 1])


@inner
def _new_items(
    people: KnownPeople,
    targets: Targets,
    company: Company,
    row: int,
    person: int,
    held: NDArray[np.bool_],
    found: NDArray[np.float64],
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
    held: NDArray[np.bool_],
    by_category: NDArray[np.float64],
    by_slot: NDArray[np.float64],
    found: NDArray[np.float64],
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
    where: NDArray[np.int64],
    row: int,
    person: int,
    gains: NDArray[np.float64],
) -> None:
    """Share of each item of the candidate over its reach, the target's own trace left out."""
    own = company.weights[targets.own[row]] * (targets.offsets[row + 1] - targets.offsets[row] - 1)
    first = people.offsets[person]
    for place in range(gains.shape[0]):
        item = people.items[first + place]
        reach = company.reach[item]
        if where[item] >= 0:
            reach = max(reach - own, 0.0)
        gains[place] = people.shares[first + place] / (reach + company.shrink)


@inner
def _add_company(company: Company, item: int, own: int, weight: float, together: NDArray[np.float64]) -> None:
    """Add `weight` x C(item, y) to every y: the traces that hold both, each by its weight, without the target's own."""
    low = company.starts[item]
    count = company.starts[item + 1] - low
    stride = max((count + company.visits - 1) // company.visits, 1)
    seen = 0
    for post in range(low, low + count, stride):
        if company.holders[post] != own:
            seen += 1
    for post in range(low, low + count, stride):
        trace = company.holders[post]
        if trace != own:
            part = weight * company.weights[trace] * (count - 1) / seen
            for place in range(company.offsets[trace], company.offsets[trace + 1]):
                together[company.items[place]] += part


@inner
def _clear_company(company: Company, item: int, together: NDArray[np.float64]) -> None:
    low = company.starts[item]
    count = company.starts[item + 1] - low
    stride = max((count + company.visits - 1) // company.visits, 1)
    for post in range(low, low + count, stride):
        trace = company.holders[post]
        for place in range(company.offsets[trace], company.offsets[trace + 1]):
            together[company.items[place]] = 0.0


@inner
def _neighbours(
    people: KnownPeople,
    targets: Targets,
    company: Company,
    row: int,
    candidates: NDArray[np.int64],
    held: NDArray[np.bool_],
    begins: NDArray[np.int64],
    gains: NDArray[np.float64],
    together: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:
    """How well items that a candidate does not have go with those that the candidate has."""
    count = candidates.shape[0]
    lack = np.zeros(count)
    for rank in range(count):
        for place in range(begins[rank], begins[rank + 1]):
            lack[rank] += gains[place]
        lack[rank] *= company.shrink
    low = targets.offsets[row]
    for place in range(held.shape[1]):
        item = targets.items[low + place]
        _add_company(company, item, targets.own[row], 1.0, together)
        for rank in range(count):
            if candidates[rank] != _NOBODY and not held[rank, place]:
                first = people.offsets[candidates[rank]] - begins[rank]
                near = 0.0
                for entry in range(begins[rank], begins[rank + 1]):
                    near += gains[entry] * together[people.items[first + entry]]
                odds = near / company.popularity[item] + lack[rank]
                found[rank, _NEIGHBOURS] += targets.weights[low + place] * np.log(
                    1.0 - company.mix + company.mix * odds
                )
        _clear_company(company, item, together)
