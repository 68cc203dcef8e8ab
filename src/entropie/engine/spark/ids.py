"""Ids become codes: ranks in the order of ids, which is cut into ranges that are numbered side by side."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import from_numpy, values_of
from entropie.data.split import Days
from entropie.data.traces import Traces
from entropie.engine.spark.blocks import grouped
from entropie.engine.spark.boxes import Box, opened
from entropie.engine.spark.people import FACTS, HASH_BITS, IDS, ITEMS, NAMES, TRACES, USERS, distinct

_SAMPLED_IDS = 256  # of a home, to cut ids into ranges by


@dataclass(frozen=True, slots=True)
class Order:
    """The order of ids, cut into ranges at `bounds`; texts that are all digits are numbers.

    `first` is the partition of the first range.
    """

    numeric: bool
    bounds: tuple[Any, ...] = ()
    first: int = 0

    @classmethod
    def of(cls, numeric: bool, some: Sequence[pa.Array], ranges: int, first: int = 0) -> Order:
        """Cut ids into about so many ranges of about the same size, by some of them."""
        keys = sorted({key for ids in some for key in cls(numeric).keys(ids).to_pylist()})
        places = sorted({len(keys) * number // ranges for number in range(1, ranges)} - {0})
        return cls(numeric, tuple(keys[place] for place in places), first)

    @property
    def ranges(self) -> int:
        """How many ranges there are."""
        return len(self.bounds) + 1

    def keys(self, ids: pa.Array) -> pa.Array:
        """What ids are ordered by."""
        return ids.cast(pa.int64()) if self.numeric and pa.types.is_string(ids.type) else ids

    def asked(
        self, side: int, home: int, ids: pa.Array, places: NDArray[np.int64], numbers: NDArray[Any]
    ) -> Iterator[Box]:
        """Send ids of a home to their ranges, with their places there and a number each."""
        keys = self.keys(ids)
        if not self.bounds:
            part = np.zeros(len(ids), np.int64)
        elif pa.types.is_string(keys.type):
            part = np.array([bisect.bisect_right(self.bounds, key) for key in keys.to_pylist()], np.int64)
        else:
            values = values_of(keys)
            part = np.searchsorted(np.array(self.bounds, values.dtype), values, side="right")
        for number, mine in grouped(part):
            yield Box(self.first + number, side, home, (ids.take(from_numpy(mine)), places[mine], numbers[mine]))


@dataclass(frozen=True, slots=True)
class Chosen:
    """Who stays: people with enough events; and who is attacked: those up to the `last` by hash and then by id."""

    min_events: int
    last: tuple[int, Any] | None = None

    def active(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of those who stay."""
        return np.flatnonzero(lengths >= self.min_events)

    def attacked(self, ids: pa.Array, hashes: NDArray[np.uint64] | None, order: Order) -> NDArray[np.bool_]:
        """Who of a home is attacked; everybody where there is no last."""
        if self.last is None:
            return np.ones(len(ids), np.bool_)
        assert hashes is not None
        limit, last = np.uint64(self.last[0]), self.last[1]
        equal = np.flatnonzero(hashes == limit)
        later = [key > last for key in order.keys(ids.take(from_numpy(equal))).to_pylist()]
        chosen: NDArray[np.bool_] = hashes <= limit
        chosen[equal[np.array(later, np.bool_)]] = False
        return chosen


@dataclass(frozen=True)
class DayCounting:
    """A task: the days of the people who stay of a home, by which a date to split at is chosen."""

    chosen: Chosen
    per_second: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Box]:
        """Count one home."""
        home, _, traces = _home(batches)
        for box in traces:
            offsets, items, ticks, _ = box.arrays
            people = Traces(offsets, items, 2**32, ticks // self.per_second)
            yield Box(home, FACTS, box.part, (Days.of(people.take(self.chosen.active(np.diff(offsets)))),))


@dataclass(frozen=True)
class Asking:
    """A task: the people who stay of a home, and its items, ask for their codes."""

    chosen: Chosen
    users: Order
    items: Order

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Box]:
        """Ask for one home."""
        home, ids, traces = _home(batches)
        if ids is None:
            return
        user_ids, item_ids, hashes = ids
        lengths = np.concatenate([np.diff(box.arrays[0]) for box in traces])
        chosen = self.chosen.active(lengths)
        drawn = self.chosen.attacked(user_ids, hashes, self.users)[chosen]
        places = np.stack((chosen, drawn.astype(np.int64)), axis=1)  # with a place goes whether that person is attacked
        yield from self.users.asked(USERS, home, user_ids.take(from_numpy(chosen)), places, lengths[chosen])
        stays = np.zeros(lengths.size, np.bool_)
        stays[chosen] = True
        used = np.zeros(len(item_ids), np.bool_)
        for box in traces:
            own = np.diff(box.arrays[0])
            used[box.arrays[1][np.repeat(stays[box.part : box.part + own.size], own)]] = True
        yield from self.items.asked(ITEMS, home, item_ids, np.arange(used.size), used)


def _home(batches: Iterable[pa.RecordBatch]) -> tuple[int, tuple[Any, ...] | None, list[Box]]:
    home, ids, traces = -1, None, []
    for box in opened(batches):
        if box.side == IDS:
            home, ids = box.key, box.arrays
        elif box.side == TRACES:
            traces.append(box)
    return home, ids, traces


def some_ids(batches: Iterable[pa.RecordBatch]) -> Iterator[Box]:
    """A task: a few ids of people and of items of a home, to cut ranges by."""
    home, ids, _ = _home(batches)
    if ids is not None:
        few = (part.take(from_numpy(np.arange(0, len(part), -(-len(part) // _SAMPLED_IDS)))) for part in ids[:2])
        yield Box(home, FACTS, 0, tuple(few))


def hashes_in(batches: Iterable[pa.RecordBatch], *, chosen: Chosen, first: int, order: Order) -> Iterator[Box]:
    """A task: hashes and keys of the active people of a home whose hashes begin with these bits."""
    home, ids, traces = _home(batches)
    if ids is None:
        return
    lengths = np.concatenate([np.diff(box.arrays[0]) for box in traces])
    active = chosen.active(lengths)
    hashes = ids[2][active]
    mine = np.flatnonzero((hashes >> np.uint64(64 - HASH_BITS)) == np.uint64(first))
    yield Box(home, FACTS, 0, (hashes[mine], order.keys(ids[0].take(from_numpy(active[mine])))))


@dataclass(frozen=True, slots=True)
class RangeFacts:
    """What the driver learns of a range of ids: how many have codes, the sum of their numbers, how many there are."""

    side: int
    number: int
    coded: int
    total: int
    distinct: int


@dataclass(frozen=True)
class Ranking:
    """A task: number the ids of a range in their order, and tell the homes that asked."""

    users: Order
    items: Order

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Box]:
        """Rank one range."""
        boxes = list(opened(batches))
        if not boxes:
            return
        side = boxes[0].side
        order = self.users if side == USERS else self.items
        number = boxes[0].key - order.first
        ids, place = distinct(pa.concat_arrays([box.arrays[0] for box in boxes]))
        numbers = np.concatenate([box.arrays[2] for box in boxes])
        used = np.ones(len(ids), np.bool_)  # people ask once each, and stay
        if side == ITEMS:
            used[:] = False
            used[place[numbers]] = True
        coded = np.flatnonzero(used)
        labels = order.keys(ids.take(from_numpy(coded)))
        sorted_places = values_of(pc.array_sort_indices(labels)).astype(np.int64)
        ranked = coded[sorted_places]
        rank = np.full(used.size, -1, np.int64)
        rank[ranked] = np.arange(ranked.size)
        before, total = np.zeros(used.size, np.int64), 0
        if side == USERS:
            before[ranked] = np.cumsum(numbers[ranked]) - numbers[ranked]
            total = int(numbers.sum())
        yield Box(0, FACTS, boxes[0].key, (RangeFacts(side, number, coded.size, total, used.size),))
        begin = 0
        for box in boxes:
            mine = place[begin : begin + len(box.arrays[0])]
            begin += mine.size
            yield Box(box.part, side, number, (box.arrays[1], rank[mine], before[mine]))
        if side == ITEMS:
            yield Box(0, NAMES, number, (labels.take(from_numpy(sorted_places)).cast(pa.string()),))


def named(batches: Iterable[pa.RecordBatch], *, before: Sequence[int], codes: NDArray[np.int64]) -> Iterator[Box]:
    """A task: the names of some items."""
    for box in opened(batches):
        (names,) = box.arrays
        mine = codes[(codes >= before[box.part]) & (codes < before[box.part] + len(names))]
        yield Box(0, NAMES, box.part, (mine, names.take(from_numpy(mine - before[box.part]))))
