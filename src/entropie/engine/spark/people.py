"""Events sorted by person become one row per person: what a block of the attack is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.arrow import from_numpy, values_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["PEOPLE", "Gather", "gather_people"]

PEOPLE = "user int, items array<int>, seconds array<bigint>"
"""Columns of people: code, item codes in order of time, seconds since the epoch or null."""
_BATCH_EVENTS = 1 << 17


def gather_people(coded: DataFrame, blocks: int, per_second: int | None, newest_first: bool) -> DataFrame:
    """Make people of events (block, user, item, tick, row); people of a block share a partition, blocks are in order.

    Events of a person are in order of tick and row, as on one machine; `per_second` None leaves out the seconds.
    """
    from pyspark.sql import functions as sf

    row = sf.col("row").desc() if newest_first else sf.col("row")
    placed = coded.repartitionById(blocks, "block")
    events = placed.sortWithinPartitions("user", "tick", row, "item").select("user", "item", "tick")
    return events.mapInArrow(Gather(per_second), PEOPLE)


@dataclass(frozen=True)
class Gather:
    """A task: runs of rows of one user become a row, however the rows are cut into batches."""

    per_second: int | None
    batch_events: int = _BATCH_EVENTS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn batches of (user, item, tick), sorted by user, into batches of people."""
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            held.append(batch)
            size += batch.num_rows
            if size < self.batch_events:
                continue
            users, items, ticks = self._columns(held)
            last = int(np.searchsorted(users, users[-1]))  # the last user may go on
            if last:
                yield self._people(users[:last], items[:last], ticks[:last])
            held = [self._batch(users[last:], items[last:], ticks[last:])]
            size = held[0].num_rows if last else 0  # one user fills it all: go on for as long again
        users, items, ticks = self._columns(held)
        if users.size:
            yield self._people(users, items, ticks)

    def _columns(self, held: list[pa.RecordBatch]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        none = np.zeros(0, np.int32)
        users, items = (
            np.concatenate([none, *(values_of(batch.column(place)).astype(np.int32) for batch in held)])
            for place in (0, 1)
        )
        ticks = np.zeros(0, np.int64)
        if self.per_second is not None:
            ticks = np.concatenate([ticks, *(values_of(batch.column(2)).astype(np.int64) for batch in held)])
        return users, items, ticks

    def _batch(self, users: NDArray[np.int32], items: NDArray[np.int32], ticks: NDArray[np.int64]) -> pa.RecordBatch:
        times = pa.nulls(users.size, pa.int64()) if self.per_second is None else from_numpy(ticks)
        return pa.RecordBatch.from_arrays([from_numpy(users), from_numpy(items), times], names=["user", "item", "tick"])

    def _people(self, users: NDArray[np.int32], items: NDArray[np.int32], ticks: NDArray[np.int64]) -> pa.RecordBatch:
        starts = np.flatnonzero(np.diff(users, prepend=users[0] - 1))
        ends = from_numpy(np.append(starts, users.size).astype(np.int32))
        lists = pa.ListArray.from_arrays(ends, from_numpy(items))
        seconds = pa.nulls(starts.size, pa.list_(pa.int64()))
        if self.per_second is not None:
            seconds = pa.ListArray.from_arrays(ends, from_numpy(np.floor_divide(ticks, self.per_second)))
        return pa.RecordBatch.from_arrays(
            [from_numpy(users[starts]), lists, seconds], names=["user", "items", "seconds"]
        )
