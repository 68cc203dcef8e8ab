"""Without events at items, or at items and hours, that few people have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from entropie.kernels.holders import count_people
from entropie.kernels.keyed import mixed
from entropie.mitigate.draft import Blocks, Change, Draft
from entropie.mitigate.kind import WHOLE, Declarations

kind = Declarations("cells")
_HOUR = 3_600
_NOBODY = 0xFFFFFFFF
_MOST_SLOTS = 27
"""Bits of the slots that cells share before those that may be frequent are told apart."""


@kind(
    WHOLE,
    "N,...",
    "Drop items of fewer than N people.",
    title="items of {} people",
    action="drop the items of fewer than {} people",
    strength=float,
    tried=lambda material: (10,),
)
def rare_items(blocks: Blocks, people: int) -> Change:
    """Events at items that fewer people have are not released."""
    rare = _holders(blocks, len(blocks.names), lambda draft: draft.labels) < people
    return lambda draft: draft.without(rare[draft.labels])


@kind(
    WHOLE,
    "N,...",
    "Drop items in an hour of fewer than N people.",
    title="cells of {} people",
    action="drop every item in an hour (or wider unit) that fewer than {} people have",
    strength=float,
)
def rare_cells(blocks: Blocks, people: int) -> Change:
    """Events at an item and hour (or wider unit) that fewer people share are not released.

    Cells share slots: one in a slot of fewer people is rare. Of the others, at most one for every so many events and
    some that share a slot with them, all are counted.
    """
    if next(iter(blocks)).times is None:
        return rare_items(blocks, people)
    bits = min(_MOST_SLOTS, max(10, blocks.events.bit_length()))
    often = _holders(blocks, 1 << bits, lambda draft: _slot(_cell(draft), bits)) >= people
    stays = _frequent(blocks, people, often, bits)

    def without(draft: Draft) -> Draft:
        cell = _cell(draft)
        kept = often[_slot(cell, bits)]
        place = np.searchsorted(stays, cell[kept])
        kept[kept] = np.append(stays, _NOBODY << 32)[place] == cell[kept]
        return draft.without(~kept)

    return without


def _holders(blocks: Blocks, size: int, slots: Callable[[Draft], NDArray[np.int64]]) -> NDArray[np.uint32]:
    """How many people have an event in each slot."""
    seen, counts, first = np.full(size, _NOBODY, np.uint32), np.zeros(size, np.uint32), 0
    for draft in blocks:
        count_people(draft.material.people, slots(draft), draft.kept, first, seen, counts)
        first += draft.material.traces.users
    return counts


def _frequent(blocks: Blocks, people: int, often: NDArray[np.bool_], bits: int) -> NDArray[np.uint64]:
    """The cells in slots of many people that so many people have, rising."""
    cells, holders = np.empty(0, np.uint64), np.empty(0, np.int64)
    for draft in blocks:
        cell = _cell(draft)
        kept = draft.kept & often[_slot(cell, bits)]
        found, number = np.unique(cell[kept], return_inverse=True)
        seen, counts = np.full(found.size, _NOBODY, np.uint32), np.zeros(found.size, np.uint32)
        everything = np.ones(number.size, np.bool_)
        count_people(draft.material.people[kept], number.reshape(-1), everything, 0, seen, counts)
        cells, places = np.unique(np.concatenate((cells, found)), return_inverse=True)
        holders = np.bincount(places.reshape(-1), np.concatenate((holders, counts)), cells.size).astype(np.int64)
    return cells[holders >= people]


def _cell(draft: Draft) -> NDArray[np.uint64]:
    """The item and the hour of each event, or the wider unit that its time stands for already; hours repeat after
    490,000 years.
    """
    assert draft.times is not None
    hour = (draft.times // max(_HOUR, draft.unit)).astype(np.uint64) & np.uint64(_NOBODY)
    return draft.labels.astype(np.uint64) << np.uint64(32) | hour


def _slot(cells: NDArray[np.uint64], bits: int) -> NDArray[np.int64]:
    return np.asarray(mixed(cells) >> np.uint64(64 - bits), np.int64)
