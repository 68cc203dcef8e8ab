"""What one event says about its person, item by item, on people spread over a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from entropie.attack.chance import dealt_people
from entropie.attack.features import item_rows
from entropie.attack.identifying import IdentifyingItems, ItemSummary, item_parts, summary_of
from entropie.data.traces import Traces, dense
from entropie.engine.spark.blocks import added, grouped, split_people
from entropie.engine.spark.boxes import Box, gathered, in_order, mapped, opened, received
from entropie.engine.spark.statistics import Facts
from entropie.plan.attacks import Histogram
from entropie.request import SplitRule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def attacked_pairs(people: DataFrame, rule: SplitRule, ranges: int) -> DataFrame:
    """The items of everybody who is attacked, to ranges of items: item, their events at it, all their events."""
    return mapped(people, _people_pairs, rule=rule, ranges=ranges)


def dealt_pairs(spark: SparkSession, facts: Facts, popularity: Histogram, seed: int, ranges: int) -> DataFrame:
    """The same with all events shuffled among people, as many to each person as before."""
    shared = {"lengths": facts.whole_lengths, "popularity": popularity, "people": facts.people}
    return mapped(spark.range(0, ranges, 1, ranges), _dealt_pairs, seed=seed, ranges=ranges, **shared)


def identifying(pairs: DataFrame, facts: Facts, ranges: int) -> tuple[IdentifyingItems, Histogram]:
    """Split I(U;X) over the items; a task sums an item's people in their order, as one machine does.

    Also tells how many items have how many events.
    """
    summed = mapped(gathered(pairs, ranges), _item_sums, people=facts.people, events=facts.events)
    sums = [box.arrays for box in received(summed)]
    return reduce(ItemSummary.merge, (part[0] for part in sums)).result(), added(part[1] for part in sums)


def _pairs_of(traces: Traces, first: int, ranges: int) -> Iterator[Box]:
    mine, codes = dense(traces)
    counts = item_rows(mine)
    length = np.repeat(np.diff(traces.offsets), np.diff(counts.offsets))
    items = codes[counts.features].astype(np.int64)
    for number, chosen in grouped(items % ranges):
        yield Box(number, 0, first, (items[chosen], counts.weights[chosen], length[chosen]))


def _people_pairs(batches: Iterable[pa.RecordBatch], *, rule: SplitRule, ranges: int) -> Iterator[Box]:
    for people, _, _ in split_people(batches, rule):
        yield from _pairs_of(people.traces, int(people.codes[0]), ranges)


def _dealt_pairs(
    batches: Iterable[pa.RecordBatch],
    *,
    lengths: Histogram,
    popularity: Histogram,
    people: int,
    seed: int,
    ranges: int,
) -> Iterator[Box]:
    """The people of this task, a few thousand at a time, in the order of their lengths."""
    for batch in batches:
        for part in batch.column(0).to_pylist():
            last = people * (part + 1) // ranges
            for begin in range(people * part // ranges, last, 4096):
                traces = dealt_people(*lengths, *popularity, seed, begin, min(last, begin + 4096))
                yield from _pairs_of(traces, begin, ranges)


def _item_sums(batches: Iterable[pa.RecordBatch], *, people: int, events: int) -> Iterator[Box]:
    boxes = list(in_order(opened(batches)))
    if boxes:
        item, counts, lengths = (np.concatenate([box.arrays[place] for box in boxes]) for place in range(3))
        codes, place = np.unique(item, return_inverse=True)
        parts = item_parts(place, counts.astype(np.float64), lengths.astype(np.float64), people, codes.size)
        histogram = np.unique(parts[1], return_counts=True)
        yield Box(0, 0, boxes[0].key, (summary_of(codes, *parts, events), histogram))
