"""What matchers must know of everybody, gathered from blocks of people: whole numbers that add up in any order."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.attack.features import item_counts
from entropie.attack.matchers import Pass, Population, Trained, matcher
from entropie.attack.matchers.contract import usual_length
from entropie.data.traces import Traces
from entropie.engine.spark.blocks import Block, opened_block, people_boxes, split_block, traces_of
from entropie.engine.spark.boxes import SCHEMA, Box, gathered, in_boxes, in_order, opened
from entropie.engine.spark.plans import Kept
from entropie.plan.attacks import Histogram, Training
from entropie.plan.grid import Bins
from entropie.plan.plan import Counts
from entropie.request import SplitRule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "Facts",
    "ItemTotals",
    "Model",
    "Populations",
    "begun",
    "block_boxes",
    "facts_of",
    "item_totals",
    "populations",
]

_BIN, _TRAIN, _TARGET, _WHOLE, _DROPPED = range(5)
_ATTACKED = -1
_PARTS_HELD = 16  # parts of blocks that a task holds before it merges them

Model = tuple[str, Training]
"""A matcher's name and what it learns from."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The people in numbers: what a plan is made from, who is excluded, and how long whole traces are."""

    counts: Counts
    dropped: int
    whole_lengths: Histogram

    @property
    def people(self) -> int:
        """People who are attacked."""
        return self.counts.people

    @property
    def target_lengths(self) -> Histogram:
        """Numbers of events to attack, and how many people have each."""
        return self.counts.target

    @property
    def events(self) -> int:
        """Events of the people who are attacked, training and target together."""
        lengths, people = self.whole_lengths
        return int((lengths * people).sum())


def facts_of(people: DataFrame, rule: SplitRule, users: int) -> Facts:
    """Count; the answer has a row per length and at most 65,536 bins of people."""
    width = Bins.width(users)
    rows = (
        people.mapInArrow(partial(_fact_rows, rule=rule, width=width), "kind int, key long, a long, b long, c long")
        .groupBy("kind", "key")
        .sum("a", "b", "c")
        .toArrow()
    )
    kind, key, a, b, c = (column.to_numpy().astype(np.int64) for column in rows.columns)

    def table(wanted: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        chosen = np.flatnonzero(kind == wanted)
        chosen = chosen[np.argsort(key[chosen])]
        return key[chosen], a[chosen], b[chosen], c[chosen]

    train, target, whole = ((lengths, people) for lengths, people, _, _ in map(table, (_TRAIN, _TARGET, _WHOLE)))
    first, some, learned, attacked = table(_BIN)
    counts = Counts(train, target, Bins(first * width, some, learned, attacked, users))
    return Facts(counts, int(table(_DROPPED)[1].sum()), whole)


def _fact_rows(batches: Iterable[pa.RecordBatch], *, rule: SplitRule, width: int) -> Iterator[pa.RecordBatch]:
    for people, traces in traces_of(batches):
        kept, whole, train, target = split_block(people, traces, rule)
        lengths = [np.diff(part.offsets) for part in (train, target, whole)]
        bins, place = np.unique(kept // width, return_inverse=True)
        sums = [np.bincount(place, part, bins.size).astype(np.int64) for part in lengths[:2]]
        yield _fact_batch(_BIN, bins, np.bincount(place, minlength=bins.size), *sums)
        for kind, part in zip((_TRAIN, _TARGET, _WHOLE), lengths, strict=True):
            yield _fact_batch(kind, *np.unique(part, return_counts=True))
        yield _fact_batch(_DROPPED, np.zeros(1, np.int64), np.array([people.size - kept.size]))


def _fact_batch(kind: int, *columns: NDArray[np.int64]) -> pa.RecordBatch:
    size = columns[0].size
    padded = (*columns, *(np.zeros(size, np.int64) for _ in range(4 - len(columns))))
    return pa.RecordBatch.from_arrays(
        [pa.array(np.full(size, kind, np.int32)), *(pa.array(np.asarray(column, np.int64)) for column in padded)],
        names=["kind", "key", "a", "b", "c"],
    )


@dataclass(frozen=True, slots=True)
class ItemTotals:
    """How often everybody has each item: rows (item, training, events, holders), and the sums over items.

    `training` is the place in `trainings`; -1 stands for the attacked events.
    """

    rows: DataFrame
    trainings: tuple[Training, ...]
    events: dict[Training, int]
    holders: dict[Training, int]


def item_totals(people: DataFrame, rule: SplitRule, trainings: Sequence[Training], kept: Kept) -> ItemTotals:
    """Count items over all people, once for every training."""
    counted = people.mapInArrow(
        partial(_item_rows, rule=rule, trainings=tuple(trainings)), "item int, training int, events long, holders long"
    )
    from pyspark.sql import functions as sql

    rows = counted.groupBy("item", "training").agg(
        sql.sum("events").alias("events"), sql.sum("holders").alias("holders")
    )
    rows = kept.keep(rows)
    sums = {
        row["training"]: (row["events"], row["holders"])
        for row in rows.groupBy("training")
        .agg(sql.sum("events").alias("events"), sql.sum("holders").alias("holders"))
        .collect()
    }
    return ItemTotals(
        rows,
        tuple(trainings),
        {training: sums[place][0] for place, training in enumerate(trainings)},
        {training: sums[place][1] for place, training in enumerate(trainings)},
    )


def _item_rows(
    batches: Iterable[pa.RecordBatch], *, rule: SplitRule, trainings: tuple[Training, ...]
) -> Iterator[pa.RecordBatch]:
    for people, traces in traces_of(batches):
        kept, _, train, target = split_block(people, traces, rule)
        if kept.size == 0:
            continue
        nobody = np.empty(0, np.int64)
        block = Block(kept, train, target, np.empty(0, np.uint32), {}, nobody, nobody, nobody)
        for place, training in ((_ATTACKED, "target"), *enumerate(trainings)):
            dense, codes = _dense(block.training(training))
            items, events, holders = item_counts(dense)
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array(codes[items].astype(np.int32)),
                    pa.array(np.full(items.size, place, np.int32)),
                    pa.array(events.astype(np.int64)),
                    pa.array(holders.astype(np.int64)),
                ],
                names=["item", "training", "events", "holders"],
            )


def _dense(traces: Traces) -> tuple[Traces, NDArray[np.int64]]:
    """Number the items that occur, in their order; returns the codes behind the numbers."""
    codes, local = np.unique(traces.items, return_inverse=True)
    dense = Traces(traces.offsets, local.astype(np.uint32), codes.size, traces.times)
    return dense, codes.astype(np.int64)


def block_boxes(people: DataFrame, totals: ItemTotals, rule: SplitRule, bounds: Sequence[int]) -> DataFrame:
    """Boxes of each block: the facts of its items (side 0) and its people (side 1)."""
    needed = people.mapInArrow(partial(_needed_items, rule=rule, bounds=bounds), "block int, item int")
    facts = needed.join(totals.rows, "item").mapInArrow(
        in_boxes(partial(_packed_facts, trainings=totals.trainings)), SCHEMA
    )
    persons = people.mapInArrow(in_boxes(partial(people_boxes, bounds=bounds, rule=rule, side=1)), SCHEMA)
    return facts.unionByName(persons)


def _needed_items(
    batches: Iterable[pa.RecordBatch], *, rule: SplitRule, bounds: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    for people, traces in traces_of(batches):
        kept, whole, _, _ = split_block(people, traces, rule)
        block = np.repeat(np.searchsorted(bounds, kept, side="right") - 1, np.diff(whole.offsets))
        pairs = np.unique((block.astype(np.int64) << 32) | whole.items.astype(np.int64))
        yield pa.RecordBatch.from_arrays(
            [pa.array((pairs >> 32).astype(np.int32)), pa.array((pairs & 0xFFFFFFFF).astype(np.int32))],
            names=["block", "item"],
        )


def _packed_facts(batches: Iterable[pa.RecordBatch], *, trainings: tuple[Training, ...]) -> Iterator[Box]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    for number, batch in enumerate(batches):
        columns = {name: batch.column(name).to_numpy() for name in ("block", "item", "training", "events", "holders")}
        owners = (columns["block"].astype(np.int64) << 32) | (columns["training"].astype(np.int64) + 1)
        order = np.argsort(owners, kind="stable")
        bounds = np.flatnonzero(np.concatenate(([True], np.diff(owners[order]) > 0, [True])))
        for begin, end in itertools.pairwise(bounds):
            rows = order[begin:end]
            place = int(columns["training"][rows[0]])
            training = "attacked" if place == _ATTACKED else trainings[place]
            yield Box(
                int(columns["block"][rows[0]]),
                0,
                (context.partitionId() << 32) + number,
                (training, *(columns[name][rows].astype(np.int64) for name in ("item", "events", "holders"))),
            )


@dataclass(frozen=True, slots=True)
class Populations:
    """What every model knows of everybody, but the arrays: those are the facts of a block's own items."""

    users: int
    known: Mapping[Model, Population]

    def of(self, name: str, block: Block, training: Training) -> Population:
        """What the matcher must know of everybody to build this block's rows."""
        facts = block.facts[training]
        return replace(self.known[name, training], holders=facts.holders, events=facts.events)

    def asking(self) -> tuple[Model, ...]:
        """The models that need a further pass over the blocks."""
        return tuple(model for model, known in self.known.items() if matcher(model[0]).next_pass(known) is not None)

    def settled(self, settings: Mapping[Model, Any]) -> Populations:
        """The same with what a pass has settled."""
        return replace(
            self,
            known={
                model: replace(known, settings=settings[model]) if model in settings else known
                for model, known in self.known.items()
            },
        )


def populations(
    blocks: DataFrame, rule: SplitRule, facts: Facts, totals: ItemTotals, wanted: Sequence[Model], *, timed: bool
) -> Populations:
    """Gather what the wanted models must know, in as many passes over the blocks as they ask for."""
    found = begun(facts.people, usual_length(*facts.target_lengths), totals.holders, totals.events, wanted, timed)
    while asking := found.asking():
        sent = blocks.mapInArrow(
            in_boxes(partial(_in_block, rule=rule, use=partial(_part_boxes, populations=found, asking=asking))), SCHEMA
        )
        rows = gathered(sent, len(asking)).mapInArrow(
            partial(_settled_rows, populations=found, asking=asking), "model int, settings binary"
        )
        # Written by `_settled_rows`, a task of this very job.
        settings = {asking[row["model"]]: pickle.loads(bytes(row["settings"])) for row in rows.collect()}
        found = found.settled(settings)
    return found


def begun(
    people: int,
    usual: int,
    holders: Mapping[Training, int],
    events: Mapping[Training, int],
    wanted: Sequence[Model],
    timed: bool,
) -> Populations:
    """What is known before any pass."""
    none = np.empty(0, np.int64)
    return Populations(
        people,
        {
            model: Population(people, timed, usual, none, none, holders[model[1]], events[model[1]])
            for model in dict.fromkeys(wanted)
        },
    )


def _in_block(
    batches: Iterable[pa.RecordBatch], *, rule: SplitRule, use: Callable[[Block], Iterable[Any]]
) -> Iterator[Any]:
    """Open the block of this partition and hand it on; empty partitions give nothing."""
    block = opened_block(in_order(opened(batches)), rule)
    if block is not None:
        yield from use(block)


def _pass(model: Model, populations: Populations) -> Pass:
    step = matcher(model[0]).next_pass(populations.known[model])
    assert step is not None
    return step


def _part_boxes(block: Block, *, populations: Populations, asking: tuple[Model, ...]) -> Iterator[Box]:
    """What a block sends to each model that asks."""
    for place, model in enumerate(asking):
        trained = Trained(block.training(model[1]), block.codes, block.people)
        part = _pass(model, populations).part(trained, populations.of(model[0], block, model[1]))
        yield Box(place, 0, int(block.people[0]), (part,))


def _settled_rows(
    batches: Iterable[pa.RecordBatch], *, populations: Populations, asking: tuple[Model, ...]
) -> Iterator[pa.RecordBatch]:
    """Merge the parts of one model and settle what follows from them."""
    parts: list[Any] = []
    place = -1
    for box in in_order(opened(batches)):
        place = box.key
        parts.append(box.arrays[0])
        if len(parts) == _PARTS_HELD:
            parts = [_pass(asking[place], populations).merge(parts)]
    if parts:
        step = _pass(asking[place], populations)
        settings = step.settle(step.merge(parts), populations.known[asking[place]])
        yield pa.RecordBatch.from_arrays(
            [pa.array([place], pa.int32()), pa.array([pickle.dumps(settings, protocol=5)], pa.binary())],
            names=["model", "settings"],
        )
