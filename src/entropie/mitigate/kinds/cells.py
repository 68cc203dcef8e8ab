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
    rare = blocks.tallied(_Holders(len(blocks.names), lambda draft: draft.labels)).counts < people
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
    if blocks.example.times is None:
        return rare_items(blocks, people)
    bits = min(_MOST_SLOTS, max(10, blocks.events.bit_length()))
    often = blocks.tallied(_Holders(1 << bits, lambda draft: _slot(_cell(draft), bits))).counts >= people
    frequent = blocks.tallied(_Frequent(often, bits))
    stays = frequent.cells[frequent.holders >= people]

    def without(draft: Draft) -> Draft:
        cell = _cell(draft)
        kept = often[_slot(cell, bits)]
        place = np.searchsorted(stays, cell[kept])
        kept[kept] = np.append(stays, _NOBODY << 32)[place] == cell[kept]
        return draft.without(~kept)

    return without


class _Holders:
    """How many people have an event in each slot."""

    def __init__(self, size: int, slots: Callable[[Draft], NDArray[np.int64]]) -> None:
        self._size, self._slots = size, slots
        self._counts: NDArray[np.uint32] | None = None
        self._last = np.empty(0, np.uint32)
        self._people = 0

    @property
    def counts(self) -> NDArray[np.uint32]:
        """By slot."""
        if self._counts is None:
            self._counts = np.zeros(self._size, np.uint32)
        return self._counts

    def add(self, draft: Draft) -> None:
        """Count the people of a draft."""
        if not self._last.size:
            self._last = np.full(self._size, _NOBODY, np.uint32)
        people = draft.material.people
        count_people(people, self._slots(draft), draft.kept, self._people, self._last, self.counts)
        self._people += draft.material.traces.users

    @property
    def found(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """The slots that anybody is in, and how many."""
        slots = np.flatnonzero(self.counts)
        return slots, self.counts[slots]

    def merge(self, found: tuple[NDArray[np.int64], NDArray[np.uint32]]) -> None:
        """Add the counts of other people."""
        self.counts[found[0]] += found[1]


class _Frequent:
    """The cells in slots that may be frequent, rising, and how many people have each."""

    def __init__(self, often: NDArray[np.bool_], bits: int) -> None:
        self.cells, self.holders = np.empty(0, np.uint64), np.empty(0, np.int64)
        self._often, self._bits = often, bits

    def add(self, draft: Draft) -> None:
        """Count the people of a draft."""
        cell = _cell(draft)
        kept = draft.kept & self._often[_slot(cell, self._bits)]
        found, number = np.unique(cell[kept], return_inverse=True)
        seen, counts = np.full(found.size, _NOBODY, np.uint32), np.zeros(found.size, np.uint32)
        everything = np.ones(number.size, np.bool_)
        count_people(draft.material.people[kept], number.reshape(-1), everything, 0, seen, counts)
        self._more(found, counts)

    @property
    def found(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The cells, and how many people have each."""
        return self.cells, self.holders

    def merge(self, found: tuple[NDArray[np.uint64], NDArray[np.int64]]) -> None:
        """Add the counts of other people."""
        self._more(*found)

    def _more(self, cells: NDArray[np.uint64], holders: NDArray[np.integer]) -> None:
        self.cells, places = np.unique(np.concatenate((self.cells, cells)), return_inverse=True)
        weights = np.concatenate((self.holders, holders))
        self.holders = np.bincount(places.reshape(-1), weights, self.cells.size).astype(np.int64)


def _cell(draft: Draft) -> NDArray[np.uint64]:
    """The item and the hour of each event, or the wider unit that its time stands for already; hours repeat after
    490,000 years.
    """
    assert draft.times is not None
    hour = (draft.times // max(_HOUR, draft.unit)).astype(np.uint64) & np.uint64(_NOBODY)
    return draft.labels.astype(np.uint64) << np.uint64(32) | hour


def _slot(cells: NDArray[np.uint64], bits: int) -> NDArray[np.int64]:
    return np.asarray(mixed(cells) >> np.uint64(64 - bits), np.int64)
