"""Whom four known events give away most surely, of all people, block by block.

What is released of an event is a cell: its item, and its time where times are released. Four random events of everybody
are four cells, and the fewer people have them all, the more exposed is whose events they are. Lists of people are
compared; a cell that many people have has a bit for each of them, so that coarse data, where every list is long, take a
64th of the comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.attack.points import JUDGED_POINTS, draws_for
from entropie.attack.scoring import core_count
from entropie.kernels.holders import add_holders, fill_bits, post_people
from entropie.kernels.keyed import key_table, numbers_of
from entropie.kernels.points import draw_places
from entropie.mitigate.draft import Blocks, Draft

_SEED = 0
_PEOPLE = 1 << 16
"""People whose lists are made at a time."""
_DENSE = 64
"""A cell that one in so many people have gets bits, which take no more room than twice its list."""
_NONE = 0xFFFFFFFF
_QUERIES = 4_096


def most_exposed(blocks: Blocks, share: float) -> NDArray[np.bool_]:
    """By number of the person: whether they are of the share of people who are given away most surely.

    In doubt those are who did more, and then whose number is lower.
    """
    found = np.zeros(blocks.people, np.bool_)
    known = _Known.of(blocks)
    released = int(np.count_nonzero(known.events))
    if released:
        holders = known.holders(blocks)
        credit = np.bincount(known.owners, 1.0 / holders, blocks.people)
        order = np.lexsort((-known.events, -credit))
        found[order[: max(1, round(share * released))]] = True
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What is known of everybody: queries of four cells, and the number of the person each is of.

    events     that are released of each person, by number
    cells      the cells that are known of anybody: item << 32 | seconds since `earliest`, or the number of the time
    queries    four of them for each owner; who has fewer events has some of them again
    """

    events: NDArray[np.int64]
    owners: NDArray[np.int64]
    times: _Times
    cells: NDArray[np.uint64]
    queries: NDArray[np.uint32]

    @classmethod
    def of(cls, blocks: Blocks) -> _Known:
        """Draw four events of everybody, by their number and what they have, several times where people are few."""
        drawn = blocks.tallied(_Drawn(blocks.people))
        items = np.concatenate(drawn.labels)
        times = np.concatenate(drawn.times) if drawn.times else None
        when = _Times.of(times)
        cells, queries = np.unique(when.keys(items, times), return_inverse=True)
        events, owners = np.zeros(blocks.people, np.int64), np.concatenate(drawn.owners)
        events[np.concatenate(drawn.people)] = np.concatenate(drawn.lengths)
        return cls(events, owners, when, cells, queries.reshape(items.shape).astype(np.uint32))

    def holders(self, blocks: Blocks) -> NDArray[np.int64]:
        """How many people have all cells of each query."""
        asked, again = _distinct(np.sort(self.queries, axis=1))
        return blocks.tallied(_Holders(asked, self.cells, self.times)).counts[again]


class _Drawn:
    """Four events of everybody, block by block: whose they are, their labels and times; and how many each has."""

    def __init__(self, people: int) -> None:
        self._words = np.random.SeedSequence(_SEED).generate_state(draws_for(people), np.uint64)
        self.people, self.lengths = list[NDArray[np.int64]](), list[NDArray[np.int64]]()
        self.owners, self.labels = list[NDArray[np.int64]](), list[NDArray[np.uint32]]()
        self.times = list[NDArray[np.int64]]()

    def add(self, draft: Draft) -> None:
        """Draw those of some people."""
        material = draft.material
        released = np.flatnonzero(draft.kept)
        lengths = np.bincount(material.people[released], minlength=material.traces.users)
        self.people.append(material.keys)
        self.lengths.append(lengths)
        some = np.flatnonzero(lengths)
        begins = (np.cumsum(lengths) - lengths)[some]
        for word in self._words:
            places = draw_places(lengths[some], material.keys[some], JUDGED_POINTS, word)
            drawn = released[begins[:, None] + np.where(places < 0, places[:, :1], places)]
            self.owners.append(material.keys[some])
            self.labels.append(draft.labels[drawn].astype(np.uint32))
            if draft.times is not None:
                self.times.append(draft.times[drawn])

    @property
    def found(self) -> tuple[list[Any], ...]:
        """All of it."""
        return self.people, self.lengths, self.owners, self.labels, self.times

    def merge(self, found: tuple[list[Any], ...]) -> None:
        """Add those of other people."""
        for mine, theirs in zip(self.found, found, strict=True):
            mine.extend(theirs)


class _Holders:
    """How many people have all cells of each query."""

    def __init__(self, asked: NDArray[np.uint32], cells: NDArray[np.uint64], times: _Times) -> None:
        self.counts = np.zeros(asked.shape[0], np.int64)
        self._asked, self._cells, self._times = asked, cells, times
        self._table: tuple[NDArray[np.uint64], NDArray[np.uint32]] | None = None

    def add(self, draft: Draft) -> None:
        """Count some people."""
        if self._table is None:
            self._table = key_table(self._cells)
        with ThreadPoolExecutor(core_count(None)) as pool:
            for offsets, keys in self._lists(draft):
                cells = numbers_of(keys, *self._table)
                _add(self._asked, offsets, cells, self._cells.size, self.counts, pool)

    @property
    def found(self) -> NDArray[np.int64]:
        """The counts."""
        return self.counts

    def merge(self, found: NDArray[np.int64]) -> None:
        """Add the counts of other people."""
        self.counts += found

    def _lists(self, draft: Draft) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint64]]]:
        """The keys of what is released of so many people at a time."""
        traces = draft.material.traces
        for first in range(0, traces.users, _PEOPLE):
            ends = traces.offsets[first : first + _PEOPLE + 1]
            part = slice(int(ends[0]), int(ends[-1]))
            kept = draft.kept[part]
            before = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)))
            times = None if draft.times is None else draft.times[part][kept]
            yield before[ends - ends[0]], self._times.keys(draft.labels[part][kept], times)


@dataclass(frozen=True, slots=True)
class _Times:
    """Times as numbers below 2^32: seconds since the earliest; where they span more, their places among all."""

    earliest: int
    latest: int
    every: NDArray[np.int64] | None

    @classmethod
    def of(cls, times: NDArray[np.int64] | None) -> _Times:
        if times is None or not times.size:
            return cls(0, 0, None)
        earliest, latest = int(times.min()), int(times.max())
        return cls(earliest, latest, np.unique(times) if latest - earliest >= 2**32 - 1 else None)

    def keys(self, items: NDArray[np.integer], times: NDArray[np.int64] | None) -> NDArray[np.uint64]:
        """One key for each cell; of a time that nobody is known to have it is that of no cell."""
        keys = items.astype(np.uint64) << np.uint64(32)
        if times is None:
            return keys
        if self.every is None:
            known = (times >= self.earliest) & (times <= self.latest)
            number = times - self.earliest
        else:
            number = np.minimum(np.searchsorted(self.every, times), self.every.size - 1)
            known = self.every[number] == times
        return keys | np.where(known, number, _NONE).astype(np.uint64)


def _distinct(rows: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The rows that are different, and for each row which of these it is."""
    halves = np.ascontiguousarray(rows).view(np.uint64)
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    new = np.ones(order.size, np.bool_)
    new[1:] = (halves[order[1:]] != halves[order[:-1]]).any(axis=1)
    again = np.empty(order.size, np.int64)
    again[order] = np.cumsum(new) - 1
    return rows[order[new]], again


def _add(
    asked: NDArray[np.uint32], offsets: NDArray[np.int64], cells: NDArray[np.uint32], domain: int,
    counts: NDArray[np.int64], pool: ThreadPoolExecutor,
) -> None:  # fmt: skip
    """Count some people."""
    people = offsets.size - 1
    starts, posted = post_people(offsets, cells, domain)
    dense = np.flatnonzero(np.diff(starts) * _DENSE >= people)
    rows = np.full(domain, _NONE, np.uint32)
    rows[dense] = np.arange(dense.size)
    bits = np.zeros((dense.size, people // 64 + 1), np.uint64)
    fill_bits(starts, posted, dense, bits)
    begins = range(0, asked.shape[0], _QUERIES)

    def add(begin: int) -> None:
        add_holders(asked, starts, posted, rows, bits, begin, min(begin + _QUERIES, asked.shape[0]), counts)

    list(pool.map(add, begins))
