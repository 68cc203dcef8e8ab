"""What the kernels of the profile attacker are given, and the evidence that search and weighing have in common."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from entropie.kernels.arrays import Codes, Floats, Ints
from entropie.kernels.attack_records import inner

Numbers = NDArray[np.int32]
"""Small numbers of items, -1 where an item has none."""

MARKS = 1 << 15

NOBODY = -1
"""Stands where fewer people than wanted come into question."""


class KnownPeople(NamedTuple):
    """Profiles: person i has the entries offsets[i]..offsets[i + 1] - 1, one per item, by item.

    Entry e has slots[slot_starts[e]:slot_starts[e + 1]]; without times there are none. Categories are rows likewise.
    """

    offsets: Ints
    items: Codes
    evidence: Floats  # ln(1 + (c - d)/(Lambda p))
    near: Floats  # share of the discounts over the reach of the item, shrunk
    weights: Floats  # damped
    slot_starts: Ints
    slots: NDArray[np.uint8]
    slot_evidence: Floats  # ln(1 + c(x, slot)/(prior P(slot)))
    slot_penalty: Floats  # per entry: ln(1 + c(x)/prior)
    sizes: Floats  # per person: sum of the damped weights
    penalty: Floats  # per person: ln((N + lambda)/Lambda)
    habits: NDArray[np.float32]  # person x bin: ln P_i/p of hours, gaps, returns and days; most of the room
    rarity: Floats  # person x bin: ln P_i/p of how many hold an item
    category_offsets: Ints
    categories: Codes
    category_evidence: Floats  # ln P_i/p beyond that of a category the person lacks
    category_lack: Floats  # per person: ln P_i/p of a category the person lacks
    category_slot_starts: Ints
    category_slots: NDArray[np.uint8]
    category_slot_evidence: Floats
    category_slot_penalty: Floats


class Targets(NamedTuple):
    """Targets: target t has the entries offsets[t]..offsets[t + 1] - 1, one per item, by item."""

    offsets: Ints
    items: Codes
    weights: Floats  # damped
    presence: Floats  # damped more
    evidence: Floats  # as of a known person whose training this were
    slot_starts: Ints
    slots: NDArray[np.uint8]
    slot_weights: Floats
    sizes: Floats  # per target: sum of the weights
    presence_sizes: Floats
    habits: Floats  # target x bin: weights of hours, gaps, returns and days
    own: Ints  # number of the target's own trace in the company


class Company(NamedTuple):
    """Traces, of whomever, as sets of items; per item what is known of everybody."""

    offsets: Ints
    items: Codes
    weights: Floats  # per trace: 1/sqrt(items), 0 of too many
    starts: Ints  # per item: where the traces that hold it begin
    holders: Codes
    reach: Floats  # per item: sum over its traces of weight times other items
    popularity: Floats
    rarity: Ints  # per item: bin of how many hold it
    categories: Ints  # per item; empty without categories
    category_count: int
    bounds: Ints  # where the habits of hours, gaps, returns and days begin and end
    shares: Floats  # of their bins over everybody
    visits: int  # at most so many traces of an item are looked at
    shrink: float
    mix: float


@inner
def item_hour(people: KnownPeople, targets: Targets, entry: int, place: int) -> float:
    """Sum over the target's events at an item of ln P_i(slot|x)/P_i(slot)."""
    total: float = -targets.weights[place] * people.slot_penalty[entry]
    for asked in range(targets.slot_starts[place], targets.slot_starts[place + 1]):
        for known in range(people.slot_starts[entry], people.slot_starts[entry + 1]):
            if people.slots[known] == targets.slots[asked]:
                total += targets.slot_weights[asked] * people.slot_evidence[known]
                break
    return total


@inner
def mark(item: int) -> int:
    """Where it is noted that an item may be meant: other items have the same place."""
    return int(item) & (MARKS - 1)


@inner
def looked_at(company: Company, item: int, own: int) -> tuple[int, float]:
    """The stride through the traces that hold an item, and how many others each trace met on it stands for."""
    low, high = company.starts[item], company.starts[item + 1]
    stride = max((high - low + company.visits - 1) // company.visits, 1)
    seen = 0
    for post in range(low, high, stride):
        if company.holders[post] != own:
            seen += 1
    return stride, (high - low - 1) / max(seen, 1)


@inner
def add_company(company: Company, item: int, own: int, weight: float, together: Floats) -> None:
    """Add `weight` x C(item, y) to every y: the traces that hold both, each by its weight, without the target's own."""
    stride, each = looked_at(company, item, own)
    for post in range(company.starts[item], company.starts[item + 1], stride):
        trace = company.holders[post]
        part = weight * company.weights[trace] * each
        if trace != own and part > 0.0:
            for place in range(company.offsets[trace], company.offsets[trace + 1]):
                together[company.items[place]] += part


@inner
def company_among(
    company: Company, item: int, own: int, numbers: Numbers, marks: NDArray[np.bool_], together: Floats
) -> None:
    """C(item, y) of the items y that have a number, by number; the others have -1.

    `marks` are set by `mark` for all that have one: they are few enough to stay at hand, and most items have none.
    """
    together[:] = 0.0
    stride, each = looked_at(company, item, own)
    for post in range(company.starts[item], company.starts[item + 1], stride):
        trace = company.holders[post]
        part = company.weights[trace] * each
        if trace != own and part > 0.0:
            for place in range(company.offsets[trace], company.offsets[trace + 1]):
                item_there = company.items[place]
                if marks[mark(item_there)]:
                    number = numbers[item_there]
                    if number >= 0:
                        together[number] += part
