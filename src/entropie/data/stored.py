"""Events of any number, a block of people at a time: read once, dealt to parts by person, sorted where they are asked
for. Only ids, and a few numbers for each person and item, are held in memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.budget import Budget
from entropie.data.dates import marks, order_told, unmark
from entropie.data.encode import CodedRows, Coding
from entropie.data.event_columns import extra_roles, read_event_columns
from entropie.data.events import Found, IngestReport, Opened, ingest_report, open_events, recognise_times
from entropie.data.rejects import Rejects
from entropie.data.spill import PARTS, Rows, Spill
from entropie.data.tables import Chosen, normal_schema
from entropie.data.times import Assumed, TickFacts, TimeFormat, assumed, ticks_per_second
from entropie.data.traces import Traces
from entropie.kernels.traces import group_rows, sort_users
from entropie.request import Run, Source

EVENT_BYTES = 160
"""What an event of the block that is worked on takes, with all that is made of it on the way."""
_ROOM = 8  # the share of memory that rows may fill before they go to a file
_BLOCK = 4  # the share that a block may fill
_MOST_EVENTS = 1 << 22  # more in a block would not be faster
_DEALT = 1 << 20  # rows at a time
_COPIES = 4  # of ids, while they are looked up and sorted


@dataclass(frozen=True, slots=True, eq=False)
class EventBlock:
    """The events of some people: their codes, rising, their traces, and further columns event by event."""

    users: NDArray[np.int64]
    traces: Traces
    columns: dict[str, pa.Array]


@dataclass(frozen=True, slots=True, eq=False)
class StoredEvents:
    """Events that can be walked through as often as needed; codes are ranks of ids, as everywhere.

    popularity  how many events each item has
    blocks      gives them block by block
    limit       how much memory may be used
    """

    report: IngestReport
    user_ids: pa.Array
    item_ids: pa.Array
    popularity: NDArray[np.int64]
    blocks: Callable[[], Iterator[EventBlock]]
    limit: int

    @property
    def room(self) -> int:
        """Bytes of rows that may be held in memory."""
        return self.limit // _ROOM

    @property
    def most(self) -> int:
        """Events that a block should have at most."""
        return _most(self.limit)


@contextlib.contextmanager
def stored_events(source: Source, columns: Sequence[str], run: Run, folder: Path) -> Iterator[StoredEvents]:
    """Read what `read_event_columns` reads; what does not fit into memory goes to a file without a name in the folder.

    Stays are made from everybody's rows: these are held in memory.
    """
    if source.stays is not None:
        yield _held(source, columns, run)
        return
    opened = open_events(source)
    rejects = Rejects(opened.table.name, run.memory)
    run.progress("read", 0.0)
    extra = extra_roles(opened.table, columns, opened.chosen)
    chosen = cast(Chosen, {**opened.chosen, **extra})
    with contextlib.closing(opened.table.batches(chosen, rejects, run.progress)) as batches:
        time, stream = recognise_times(opened, batches, rejects)
        names = ["user", "item", *extra]
        kinds = [(name, "<i4") for name in names] + ([] if time is None else [("tick", "<i8")])
        with Spill(np.dtype(kinds), folder, rejects.budget.limit // _ROOM) as spill, ThreadPoolExecutor(2) as pool:
            coding = Coding(normal_schema(opened.table, chosen), names, opened.rules(time), rejects, pool)
            seen = _Seen(time)
            for part in coding.parts(stream):
                seen.add(part, names, spill)
                rejects.budget.keep("ids", _COPIES * coding.nbytes)
            ranked = coding.ranked()
            run.progress("encode", 1.0)
            clock = _Clock.of(seen, opened)
            walk = _Walk(spill, rejects.budget, clock, opened.newest_first, ranked, list(extra.values()))
            popularity = np.zeros(len(ranked[1][1]), np.int64)
            popularity[ranked[1][0]] = seen.popularity
            ids = ranked[0][1], ranked[1][1]
            found = Found(
                rows=coding.rows, events=spill.rows, users=len(ids[0]), items=len(ids[1]), duplicates=None,
                order_only=clock.per_second is None, sha256=opened.table.sha256(), time_assumed=clock.assumed,
            )  # fmt: skip
            report = ingest_report(opened, found, rejects, clock.time)
            yield StoredEvents(report, *ids, popularity, walk, rejects.budget.limit)


def _most(limit: int) -> int:
    return min(_MOST_EVENTS, limit // _BLOCK // EVENT_BYTES)


def _held(source: Source, columns: Sequence[str], run: Run) -> StoredEvents:
    """Events that are held in memory, some people at a time; further columns of stays are refused."""
    events = read_event_columns(source, columns, run).events
    traces, budget = events.traces, Budget(events.report.source, run.memory)
    popularity = np.bincount(traces.items, minlength=traces.domain_size)

    def blocks() -> Iterator[EventBlock]:
        most, begin = _most(budget.limit), 0
        while begin < traces.users:
            reached = np.searchsorted(traces.offsets, traces.offsets[begin] + most, side="right")
            users = np.arange(begin, max(begin + 1, int(reached) - 1))
            block = traces.take(users)
            budget.keep("events of some people", EVENT_BYTES * block.events)
            yield EventBlock(users, block, {})
            begin += users.size

    return StoredEvents(events.report, events.user_ids, events.item_ids, popularity, blocks, budget.limit)


class _Seen:
    """What is counted of rows on their way to their parts."""

    def __init__(self, time: TimeFormat | None) -> None:
        self.popularity = np.zeros(0, np.int64)
        self.facts: list[TickFacts] = []
        self.marks = np.zeros(2, np.int64)
        self.time = time

    def add(self, part: CodedRows, names: Sequence[str], spill: Spill) -> None:
        """Deal rows to the parts of their people; those that were dropped go nowhere."""
        items = part.codes[1][part.codes[0] >= 0]
        counts = np.bincount(items, minlength=self.popularity.size)
        counts[: self.popularity.size] += self.popularity
        self.popularity = counts
        for begin in range(0, part.codes.shape[1], _DEALT):
            some = slice(begin, begin + _DEALT)
            self._deal(CodedRows(part.codes[:, some], part.ticks[some]), names, spill)

    def _deal(self, part: CodedRows, names: Sequence[str], spill: Spill) -> None:
        kept = np.flatnonzero(part.codes[0] >= 0)
        rows = np.empty(kept.size, spill.columns)
        for name, codes in zip(names, part.codes, strict=True):
            rows[name] = codes[kept]
        if self.time is not None and kept.size:
            rows["tick"] = ticks = part.ticks[kept]
            if self.time.name == "either":
                self.marks += marks(ticks)
            else:
                self.facts.append(TickFacts.of(ticks))
        spill.add((rows["user"] % PARTS).astype(np.uint8), rows)


@dataclass(frozen=True, slots=True)
class _Clock:
    """How ticks become times: `per_second` of them, None where they say the order alone, and what was assumed."""

    time: TimeFormat | None
    marked: bool = False
    per_second: int | None = None
    assumed: Assumed | None = None

    @classmethod
    def of(cls, seen: _Seen, opened: Opened) -> _Clock:
        """Decide by all rows."""
        time = seen.time
        if time is None:
            return cls(None)
        if time.name == "either":
            days, months = map(int, seen.marks)
            order = order_told(days, months, opened.chosen["time"], opened.table.name)
            return cls(order, True, order.ticks_per_second)
        facts = TickFacts.merged(seen.facts)
        return cls(time, False, ticks_per_second(facts, time), assumed(facts, time))


@dataclass(frozen=True, slots=True)
class _Walk:
    """Gives the blocks of what was put aside."""

    spill: Spill
    budget: Budget
    clock: _Clock
    newest_first: bool
    ranked: list[tuple[NDArray[np.uint32], pa.Array]]
    further: list[str]

    def __call__(self) -> Iterator[EventBlock]:
        for first, last in self.spill.ranges(_most(self.budget.limit)):
            self.budget.keep("events of some people", EVENT_BYTES * int(self.spill.sizes[first:last].sum()))
            yield self._block(self.spill.read(first, last))

    def _block(self, rows: Rows) -> EventBlock:
        """The rows of some people, sorted by person, time and row."""
        (user_rank, _), (item_rank, _), *further = self.ranked
        users = user_rank[rows["user"]]
        here = np.zeros(user_rank.size, np.bool_)
        here[users] = True
        people = np.flatnonzero(here)
        local = np.cumsum(here, dtype=np.uint32)[users] - np.uint32(1)
        items = item_rank[rows["item"]]
        numbers = np.arange(rows.size, dtype=np.uint32) if further else items
        offsets, numbers, ticks = group_rows(local, numbers, self._ticks(rows), people.size, self.newest_first)
        times = None
        if self.clock.time is not None:
            sort_users(offsets, numbers, ticks, 0, people.size)
            if self.clock.per_second is not None:
                times = np.floor_divide(ticks, self.clock.per_second, out=ticks)
        columns = {}
        for place, (name, (rank, values)) in enumerate(zip(self.further, further, strict=True)):
            codes = rows[f"further {place}"][numbers]
            columns[name] = values.take(pa.array(np.append(rank, 0)[codes], mask=codes < 0))
        traces = Traces(offsets, items[numbers] if further else numbers, len(self.ranked[1][1]), times)
        return EventBlock(people, traces, columns)

    def _ticks(self, rows: Rows) -> NDArray[np.int64]:
        if self.clock.time is None:
            return np.empty(0, np.int64)
        ticks = np.ascontiguousarray(rows["tick"])
        if self.clock.marked:
            unmark(ticks, self.clock.time)
        return ticks
