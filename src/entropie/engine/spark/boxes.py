"""Blocks on their way between tasks: arrays in boxes, addressed by a key, gathered so that a task opens one key's.

A box is a row (key, side, part, payload). The payload is a tuple of arrays, written by one task of a job and read by
another task of the same job. `gathered` brings all boxes of a key into the partition of that number, in the order of
(side, part): an order that does not depend on which task wrote what, or when.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from entropie.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCHEMA = "key long, side int, part long, payload binary"
LARGEST_BOX = 1 << 23
"""About so many bytes go into one box; larger blocks take several, told apart by `part`."""

_ARROW = pa.schema([("key", pa.int64()), ("side", pa.int32()), ("part", pa.int64()), ("payload", pa.binary())])


class Box(NamedTuple):
    """Some arrays and where they belong."""

    key: int
    side: int
    part: int
    arrays: tuple[Any, ...]


def mapped(frame: DataFrame, task: Callable[..., Iterable[Box]], **shared: Any) -> DataFrame:
    """Run a task on the batches of every partition, with what all tasks share; it makes boxes."""
    return frame.mapInArrow(Boxing(partial(task, **shared)), SCHEMA)


def received(boxes: DataFrame) -> list[Box]:
    """Take boxes to the driver, in their order."""
    return sorted(arriving(boxes.collect()), key=lambda box: box[:3])


def arriving(rows: Iterable[Any]) -> Iterator[Box]:
    """Open rows that Spark hands to the driver."""
    for key, side, part, payload in rows:
        yield Box(key, side, part, pickle.loads(bytes(payload)))  # written by a task of this very job, by `Boxing`


class Boxing:
    """A task that makes boxes, as `mapInArrow` takes it. A class and not a closure: workers import it by name."""

    def __init__(self, make: Callable[[Iterator[pa.RecordBatch]], Iterable[Box]]) -> None:
        self._make = make

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make boxes, a batch each."""
        for box in self._make(batches):
            columns = [[int(box.key)], [int(box.side)], [int(box.part)], [pickle.dumps(box.arrays, protocol=5)]]
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, field.type) for column, field in zip(columns, _ARROW, strict=True)], schema=_ARROW
            )


def opened(batches: Iterable[pa.RecordBatch]) -> Iterator[Box]:
    """Open boxes as they come."""
    for batch in batches:
        key, side, part, payload = (batch.column(name) for name in _ARROW.names)
        for row in range(batch.num_rows):
            # Written by a task of this very job, by `Boxing`; nothing from outside comes this way.
            arrays = pickle.loads(payload[row].as_buffer())
            yield Box(key[row].as_py(), side[row].as_py(), part[row].as_py(), arrays)


def gathered(boxes: DataFrame, keys: int) -> DataFrame:
    """Bring the boxes of key k into partition k of `keys`, sorted by side and part."""
    from pyspark.sql import functions as sql

    placed = boxes.repartitionById(keys, sql.col("key").cast("int"))
    return placed.sortWithinPartitions("key", "side", "part")


def replicated(boxes: DataFrame, keys: str) -> DataFrame:
    """Give each box several keys: `keys` is SQL for the array of them, from the columns of the box."""
    from pyspark.sql import functions as sql

    return boxes.select(sql.explode(sql.expr(keys)).alias("key"), "side", "part", "payload")


def in_order(boxes: Iterable[Box]) -> Iterator[Box]:
    """Check that boxes come as `gathered` sorts them; a plan that lost the order must not go unnoticed."""
    last: tuple[int, int, int] | None = None
    for box in boxes:
        place = (box.key, box.side, box.part)
        if last is not None and place < last:
            raise InvalidInput("Spark delivered boxes out of order; run with spark.sql.adaptive.enabled=false.")
        last = place
        yield box
