"""From judged rows to people with the codes that one machine would give them: what each task does, on arrays.

    rows --dealt--> homes --settled--> people --asked--> ranges of ids --ranked--> homes --coded--> blocks of people

A home is a partition chosen by the hash of the person, so that all events of a person meet there. Codes are ranks: ids
go to ranges of their order, every range numbers its own, and how many there are in the ranges before is added later.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import from_numpy, values_of
from entropie.data.encode import as_numbers
from entropie.data.filter import user_hashes
from entropie.data.times import TickFacts
from entropie.data.traces import Traces
from entropie.engine.spark.blocks import People, grouped, joined, people_boxes, pieces
from entropie.engine.spark.boxes import Box, opened
from entropie.engine.spark.statistics import Facts
from entropie.kernels.traces import count_duplicates, group_rows, sort_users
from entropie.request import SplitRule

ACCOUNT, DIGEST, FACTS, EVENTS, IDS, USERS, ITEMS, TRACES, NAMES, PEOPLE = range(10)
"""What a box holds: the sides of all boxes here."""

FILE_BITS = 40
"""Of a row's number, below the number of its file."""

HASH_BITS = 16
"""How much of a hash the counts go by that tell whom to attack."""


def dealt(
    users: pa.Array,
    items: pa.Array,
    ticks: NDArray[np.int64],
    rows: NDArray[np.int64],
    homes: int,
    files: Sequence[str],
) -> Iterator[Box]:
    """Send events to the homes of their people, every id once; rows are numbered, within `files` if there are any."""
    user_ids, user = distinct(users)
    item_ids, item = distinct(items)
    home = _homes(user_ids, homes)
    people = dict(grouped(home))
    place = np.empty(home.size, np.uint32)
    for mine in people.values():
        place[mine] = np.arange(mine.size, dtype=np.uint32)
    for number, mine in grouped(home[user]):
        used, item_place = np.unique(item[mine], return_inverse=True)
        own, things = user_ids.take(from_numpy(people[number])), item_ids.take(from_numpy(used))
        when = ticks[mine] if ticks.size else ticks
        columns = (own, place[user[mine]], things, item_place.astype(np.uint32), when, rows[mine], tuple(files))
        yield Box(number, EVENTS, int(rows[mine[0]]), columns)


def distinct(ids: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """The distinct ids as they come, and for each id its place among them."""
    encoded = ids.dictionary_encode()
    return encoded.dictionary, values_of(encoded.indices).astype(np.int64)


def _homes(ids: pa.Array, homes: int) -> NDArray[np.uint16 | np.uint32]:
    kind = np.uint16 if homes <= 1 << 16 else np.uint32  # NumPy sorts the shorter by radix
    if pa.types.is_string(ids.type):
        hashes = np.fromiter(map(zlib.crc32, ids.cast(pa.binary()).to_pylist()), np.uint64, len(ids))
    else:
        hashes = (values_of(ids).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return (hashes % np.uint64(homes)).astype(kind)


def _joined(parts: Sequence[tuple[pa.Array, NDArray[np.uint32]]]) -> tuple[pa.Array, NDArray[np.uint32]]:
    """Ids and places from several boxes as one: the distinct ids, and a place for every event.

    The ids are sorted, so that a task that runs again finds every id at the same place.
    """
    ids, place = distinct(pa.concat_arrays([part[0] for part in parts]))
    order = values_of(pc.array_sort_indices(ids)).astype(np.int64)
    rank = np.empty(order.size, np.uint32)
    rank[order] = np.arange(order.size, dtype=np.uint32)
    sorted_place = rank[place]
    first = itertools.accumulate((len(part[0]) for part in parts[:-1]), initial=0)
    places = [sorted_place[begin:][part[1]] for begin, part in zip(first, parts, strict=True)]
    return ids.take(from_numpy(order)), np.concatenate(places)


@dataclass(frozen=True, slots=True)
class HomeFacts:
    """What the driver learns of the people of a home.

    whole      whether all ids of people, and of items, are digits
    hashes     how many active people have which first bits of their hash, to draw some of them
    """

    events: int
    users: int
    items: int
    most: int
    active_users: int
    active_events: int
    duplicates: int
    ticks: TickFacts | None
    whole: tuple[bool, bool]
    hashes: tuple[NDArray[np.int64], NDArray[np.int64]] | None


@dataclass(frozen=True)
class Settling:
    """A task: the events of a home become traces in order of time and row, and facts of them."""

    min_events: int
    timed: bool
    newest_first: bool
    hashed: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Box]:
        """Settle one home."""
        held: list[Box] = []
        for box in opened(batches):
            if box.side == EVENTS:
                held.append(box)
            else:  # accounts and digests pass
                yield box
        if held:
            yield from self._settled(held[0].key, [box.arrays for box in held])

    def _settled(self, home: int, parts: list[Any]) -> Iterator[Box]:
        user_ids, users = _joined([part[:2] for part in parts])
        item_ids, items = _joined([part[2:4] for part in parts])
        ticks = np.concatenate([part[4] for part in parts])
        rows = _row_numbers(parts)
        if np.any(rows[1:] < rows[:-1]):
            order = np.argsort(rows, kind="stable")
            users, items, rows = users[order], items[order], rows[order]
            ticks = ticks[order] if self.timed else ticks
        runs = None
        if np.any(rows[1:] == rows[:-1]):
            offsets, items, ticks, runs = self._with_ties(users, items, ticks, rows, len(user_ids))
        else:
            offsets, items, ticks = group_rows(users, items, ticks, len(user_ids), self.newest_first)
            if self.timed:
                sort_users(offsets, items, ticks, 0, len(user_ids))
        hashes = user_hashes(user_ids) if self.hashed else None
        lengths = np.diff(offsets)
        active = lengths >= self.min_events
        counted = None
        if hashes is not None:
            first = (hashes[active] >> np.uint64(64 - HASH_BITS)).astype(np.int64)
            counted = np.unique(first, return_counts=True)
        facts = HomeFacts(
            events=items.size,
            users=lengths.size,
            items=len(item_ids),
            most=int(lengths.max()),
            active_users=int(np.count_nonzero(active)),
            active_events=int(lengths[active].sum()),
            duplicates=int(count_duplicates(offsets, items, ticks, 0, lengths.size)) if self.timed else 0,
            ticks=TickFacts.of(ticks) if self.timed else None,
            whole=(_whole(user_ids), _whole(item_ids)),
            hashes=counted,
        )
        yield Box(home, FACTS, 0, (facts,))
        yield Box(home, IDS, 0, (user_ids, item_ids, hashes))
        for _, begin, end in pieces(0, offsets, 20 if self.timed else 4):
            run = slice(offsets[begin], offsets[end])
            columns = (items[run], ticks[run] if self.timed else None, None if runs is None else runs[run])
            yield Box(home, TRACES, begin, (offsets[begin : end + 1] - offsets[begin], *columns))

    def _with_ties(
        self,
        users: NDArray[np.uint32],
        items: NDArray[np.uint32],
        ticks: NDArray[np.int64],
        rows: NDArray[np.int64],
        count: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
        """Sort events of which some share a row number; those of one person, tick and row get the same run."""
        keys = (rows, ticks, users) if self.timed else (rows, users)
        order = np.lexsort(keys)
        offsets = np.concatenate(([0], np.cumsum(np.bincount(users, minlength=count)))).astype(np.int64)
        differs = np.zeros(order.size, np.bool_)
        for key in keys:
            differs[1:] |= np.diff(key[order]) != 0
        return offsets, items[order], ticks[order] if self.timed else ticks, np.cumsum(differs)


def _row_numbers(parts: list[Any]) -> NDArray[np.int64]:
    """Numbers of rows that go by the order of the files' names, where boxes name files."""
    names = sorted({name for part in parts for name in part[6]})
    if not names:
        return np.concatenate([part[5] for part in parts])
    numbers = {name: number for number, name in enumerate(names)}
    each = []
    for part in parts:
        number = np.array([numbers[name] for name in part[6]], np.int64)
        each.append((number[part[5] >> FILE_BITS] << FILE_BITS) | (part[5] & ((1 << FILE_BITS) - 1)))
    return np.concatenate(each)


def _whole(ids: pa.Array) -> bool:
    """Whether texts are all numbers, as one machine reads them."""
    return bool(as_numbers(ids).type != ids.type)


@dataclass(frozen=True)
class Coding:
    """A task: the people of a home with their codes, sent to their blocks.

    A list holds for every range how many codes, or events, come before; `events` are all.
    """

    users_before: Sequence[int]
    events_before: Sequence[int]
    items_before: Sequence[int]
    blocks: int
    events: int
    per_second: int | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Box]:
        """Code one home."""
        held: dict[int, list[Box]] = {USERS: [], ITEMS: [], TRACES: []}
        for box in opened(batches):
            held[box.side].append(box)
        if not held[USERS]:
            return
        size = max(box.part + box.arrays[0].size - 1 for box in held[TRACES])
        codes, block, attacked = np.full(size, -1, np.int64), np.zeros(size, np.int64), np.zeros(size, np.bool_)
        for box in held[USERS]:
            (places, drawn), rank, before = box.arrays[0].T, *box.arrays[1:]
            codes[places] = self.users_before[box.part] + rank
            attacked[places] = drawn != 0
            earlier = self.events_before[box.part] + before
            block[places] = np.minimum(earlier * self.blocks // self.events, self.blocks - 1)
        items = np.empty(1 + max(int(box.arrays[0].max()) for box in held[ITEMS]), np.uint32)
        for box in held[ITEMS]:
            items[box.arrays[0]] = self.items_before[box.part] + box.arrays[1]
        for box in held[TRACES]:
            own = slice(box.part, box.part + box.arrays[0].size - 1)
            for number, people in self._coded(box.arrays, codes[own], attacked[own], block[own], items):
                columns = *people[:2], people.traces.offsets, people.traces.items, people.traces.times
                yield Box(number, 0, int(people.codes.min()), columns)

    def _coded(
        self,
        arrays: tuple[Any, ...],
        codes: NDArray[np.int64],
        attacked: NDArray[np.bool_],
        block: NDArray[np.int64],
        items: NDArray[np.uint32],
    ) -> Iterator[tuple[int, People]]:
        """The people of a box by block."""
        offsets, places, ticks, runs = arrays
        coded = items[places]
        if runs is not None:  # equal in all else, events go by their item
            coded = coded[np.lexsort((coded, runs))]
        traces = Traces(offsets, coded, 2**32, None if self.per_second is None else ticks)
        stays = np.flatnonzero(codes >= 0)
        for number, chosen in grouped(block[stays]):
            yield number, People(codes, attacked, traces).take(stays[chosen])


@dataclass(frozen=True)
class Gathering:
    """A task: the people of a block in order of their codes, in boxes; and what they add to the facts of everybody."""

    per_second: int | None
    rule: SplitRule
    users: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Box]:
        """Gather one block."""
        boxes = list(opened(batches))
        if not boxes:
            return
        people = joined([box.arrays for box in boxes])
        times = people.traces.times
        if times is not None and self.per_second is not None:
            people = people._replace(traces=replace(people.traces, times=times // self.per_second))
        yield Box(boxes[0].key, FACTS, 0, Facts.part(people, self.rule, self.users))
        yield from people_boxes(boxes[0].key, PEOPLE, people)
