"""Where people stand in the order of what they did, and who gets whose target when people are exchanged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.attack.chance import content_hashes, scattered
from entropie.engine.spark.blocks import Block, opened_block
from entropie.engine.spark.boxes import SCHEMA, Box, in_boxes, in_order, opened
from entropie.engine.spark.plans import Kept
from entropie.request import SplitRule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["exchange_boxes"]

_SIGN = np.uint64(1 << 63)  # turns the order of unsigned words into that of signed ones


def exchange_boxes(
    blocks: DataFrame, rule: SplitRule, people: int, bounds: Sequence[int], seed: int, partitions: int, kept: Kept
) -> DataFrame:
    """Tell every block (side 2) where its people stand by content and as whose their targets are attacked.

    The person at place p gets the target of the person at place scattered(p): a join of the places with themselves.
    """
    hashed = blocks.mapInArrow(partial(_hashes, rule=rule), "hash long, user long")
    ordered = kept.keep(  # a second cut into ranges might fall elsewhere
        hashed.repartitionByRange(partitions, "hash", "user")
        .sortWithinPartitions("hash", "user")
        .mapInArrow(_numbered, "chunk int, position long, user long")
    )
    before = 0
    first = {}
    for row in ordered.groupBy("chunk").count().orderBy("chunk").collect():
        first[row["chunk"]] = before
        before += row["count"]
    if before != people:
        raise AssertionError(f"{before} people were numbered, there are {people}")
    placed = ordered.mapInArrow(partial(_placed, first=first), "place long, user long")
    asking = placed.mapInArrow(partial(_asking, people=people, seed=seed), "place long, label long")
    rows = placed.join(asking, "place").select("user", "label", "place")
    return rows.mapInArrow(in_boxes(partial(_packed, bounds=bounds)), SCHEMA)


def _hashes(batches: Iterable[pa.RecordBatch], *, rule: SplitRule) -> Iterator[pa.RecordBatch]:
    block = opened_block(in_order(opened(batches)), rule)
    if block is None:
        return
    hashes = content_hashes(block.train, block.target, _own(block), block.target_events)
    signed = (hashes ^ _SIGN).view(np.int64)
    yield pa.RecordBatch.from_arrays([pa.array(signed), pa.array(block.people)], names=["hash", "user"])


def _own(block: Block) -> NDArray[np.int64]:
    return block.facts[None].events


def _numbered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    done = 0
    for batch in batches:
        size = batch.num_rows
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(np.full(size, context.partitionId(), np.int32)),
                pa.array(np.arange(done, done + size)),
                batch.column("user"),
            ],
            names=["chunk", "position", "user"],
        )
        done += size


def _placed(batches: Iterable[pa.RecordBatch], *, first: dict[int, int]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows:
            chunk, position = batch.column("chunk").to_numpy(), batch.column("position").to_numpy()
            begins = np.array([first[int(number)] for number in np.unique(chunk)])
            place = begins[np.unique(chunk, return_inverse=True)[1]] + position
            yield pa.RecordBatch.from_arrays([pa.array(place), batch.column("user")], names=["place", "user"])


def _asking(batches: Iterable[pa.RecordBatch], *, people: int, seed: int) -> Iterator[pa.RecordBatch]:
    """Whose target each person gets: the place of its owner, and the person as its label."""
    for batch in batches:
        if batch.num_rows:
            place = scattered(batch.column("place").to_numpy(), people, seed)
            yield pa.RecordBatch.from_arrays([pa.array(place), batch.column("user")], names=["place", "label"])


def _packed(batches: Iterable[pa.RecordBatch], *, bounds: Sequence[int]) -> Iterator[Box]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    for number, batch in enumerate(batches):
        owner, label, place = (batch.column(name).to_numpy() for name in ("user", "label", "place"))
        block = np.searchsorted(bounds, owner, side="right") - 1
        for key in np.unique(block):
            rows = np.flatnonzero(block == key)
            yield Box(int(key), 2, (context.partitionId() << 32) + number, (owner[rows], label[rows], place[rows]))
