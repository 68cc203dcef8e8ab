"""What one event says about its person, item by item, on people spread over a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.attack.chance import dealt_people
from entropie.attack.features import item_rows
from entropie.attack.identifying import IdentifyingItems, ItemSummary, item_parts, summary_of
from entropie.data.traces import Traces
from entropie.engine.spark.blocks import split_block, traces_of
from entropie.request import SplitRule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["attacked_pairs", "dealt_pairs", "identifying"]

_PAIRS = "item long, person long, events long, length long"
Histogram = tuple[NDArray[np.int64], NDArray[np.int64]]


def attacked_pairs(people: DataFrame, rule: SplitRule) -> DataFrame:
    """Rows (item, person, their events at it, all their events) of everybody who is attacked."""
    return people.mapInArrow(partial(_people_pairs, rule=rule), _PAIRS)


def dealt_pairs(
    spark: SparkSession, lengths: Histogram, popularity: Histogram, seed: int, people: int, partitions: int
) -> DataFrame:
    """The same rows with all events shuffled among people, as many to each person as before."""
    return spark.range(0, partitions, 1, partitions).mapInArrow(
        partial(
            _dealt_batches, lengths=lengths, popularity=popularity, seed=seed, people=people, partitions=partitions
        ),
        _PAIRS,
    )


def identifying(pairs: DataFrame, people: int, events: int, partitions: int) -> tuple[IdentifyingItems, Histogram]:
    """Split I(U;X) over the items; a task sums an item's people in their order, as one machine does.

    Also tells how many items have how many events.
    """
    sums = (
        pairs.repartition(partitions, "item")
        .sortWithinPartitions("item", "person")
        .mapInArrow(partial(_item_sums, people=people, events=events), "found binary")
        .collect()
    )
    # Written by `_item_sums`, a task of this very job.
    parts: list[tuple[ItemSummary, Histogram]] = [pickle.loads(bytes(row["found"])) for row in sums]
    popular, items = (np.concatenate([part[1][place] for part in parts]) for place in (0, 1))
    values, where = np.unique(popular, return_inverse=True)
    histogram = (values, np.bincount(where, items).astype(np.int64))
    return reduce(ItemSummary.merge, (part[0] for part in parts)).result(), histogram


def _pairs_of(traces: Traces, people: NDArray[np.int64], codes: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    counts = item_rows(traces)
    rows = np.diff(counts.offsets)
    yield pa.RecordBatch.from_arrays(
        [
            pa.array(codes[counts.features]),
            pa.array(np.repeat(people, rows)),
            pa.array(counts.weights.astype(np.int64)),
            pa.array(np.repeat(np.diff(traces.offsets), rows)),
        ],
        names=["item", "person", "events", "length"],
    )


def _people_pairs(batches: Iterable[pa.RecordBatch], *, rule: SplitRule) -> Iterator[pa.RecordBatch]:
    for people, traces in traces_of(batches):
        kept, whole, _, _ = split_block(people, traces, rule)
        if kept.size:
            yield from _dense_pairs(whole, kept)


def _dense_pairs(traces: Traces, people: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    codes, local = np.unique(traces.items, return_inverse=True)
    dense = Traces(traces.offsets, local.astype(np.uint32), codes.size)
    yield from _pairs_of(dense, people, codes.astype(np.int64))


def _dealt_batches(
    batches: Iterable[pa.RecordBatch],
    *,
    lengths: Histogram,
    popularity: Histogram,
    seed: int,
    people: int,
    partitions: int,
) -> Iterator[pa.RecordBatch]:
    """The people of this task, a few thousand at a time, in the order of their lengths."""
    for batch in batches:
        for part in batch.column(0).to_numpy():
            begin, last = people * int(part) // partitions, people * (int(part) + 1) // partitions
            while begin < last:
                end = min(last, begin + 4096)
                traces = dealt_people(*lengths, *popularity, seed, begin, end)
                yield from _dense_pairs(traces, np.arange(begin, end, dtype=np.int64))
                begin = end


def _item_sums(batches: Iterable[pa.RecordBatch], *, people: int, events: int) -> Iterator[pa.RecordBatch]:
    tables = [batch for batch in batches if batch.num_rows]
    if not tables:
        return
    item, counts, lengths = (
        np.concatenate([batch.column(name).to_numpy() for batch in tables]) for name in ("item", "events", "length")
    )
    codes, place = np.unique(item, return_inverse=True)
    parts = item_parts(place, counts.astype(np.float64), lengths.astype(np.float64), people, codes.size)
    found = (summary_of(codes, *parts, events), np.unique(parts[1], return_counts=True))
    yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(found, protocol=5)], pa.binary())], names=["found"])
