"""What matchers must know of everybody, gathered from blocks of people: whole numbers that add up in any order."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.attack.measured import Training
from entropie.attack.pitman_yor import (
    SLOTS,
    TUNING_USERS,
    PitmanYor,
    first_settings,
    hour_shares,
    hour_sums,
    tune,
    tuning_hashes,
    usual_length,
)
from entropie.attack.population import Population, item_counts, smoothing_from, smoothing_terms
from entropie.data.traces import Traces
from entropie.engine.spark.blocks import Block, opened_block, people_boxes, split_block, traces_of
from entropie.engine.spark.boxes import SCHEMA, Box, gathered, in_boxes, in_order, opened
from entropie.engine.spark.plans import Kept
from entropie.request import SplitRule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Facts", "ItemTotals", "Populations", "block_boxes", "facts_of", "item_totals", "populations"]

_BINS = 1 << 16
_BIN, _TRAIN, _TARGET, _WHOLE, _DROPPED = range(5)
_ATTACKED = -1


@dataclass(frozen=True, slots=True)
class Facts:
    """The people in numbers: how many, how long their traces are, and how they lie along the codes.

    Histograms are pairs of (length, people). Bins are runs of user codes beginning at `first`.
    """

    people: int
    dropped: int
    train_lengths: tuple[NDArray[np.int64], NDArray[np.int64]]
    target_lengths: tuple[NDArray[np.int64], NDArray[np.int64]]
    whole_lengths: tuple[NDArray[np.int64], NDArray[np.int64]]
    first: NDArray[np.int64]
    bin_people: NDArray[np.int64]
    bin_train: NDArray[np.int64]
    bin_target: NDArray[np.int64]

    @property
    def events(self) -> int:
        """Events of the people who are attacked, training and target together."""
        lengths, people = self.whole_lengths
        return int((lengths * people).sum())

    @property
    def train_events(self) -> int:
        """Events to learn from."""
        return int(self.bin_train.sum())


def facts_of(people: DataFrame, rule: SplitRule, users: int) -> Facts:
    """Count; the answer has a row per length and at most 65,536 bins of people."""
    width = -(-users // _BINS)
    rows = (
        people.mapInArrow(partial(_fact_rows, rule=rule, width=width), "kind int, key long, a long, b long, c long")
        .groupBy("kind", "key")
        .sum("a", "b", "c")
        .toArrow()
    )
    kind, key, a, b, c = (column.to_numpy().astype(np.int64) for column in rows.columns)

    def table(wanted: int) -> tuple[NDArray[np.int64], ...]:
        chosen = np.flatnonzero(kind == wanted)
        chosen = chosen[np.argsort(key[chosen])]
        return key[chosen], a[chosen], b[chosen], c[chosen]

    bins = table(_BIN)
    lengths = [table(number)[:2] for number in (_TRAIN, _TARGET, _WHOLE)]
    return Facts(
        people=int(bins[1].sum()),
        dropped=int(table(_DROPPED)[1].sum()),
        train_lengths=lengths[0],  # type: ignore[arg-type]
        target_lengths=lengths[1],  # type: ignore[arg-type]
        whole_lengths=lengths[2],  # type: ignore[arg-type]
        first=bins[0] * width,
        bin_people=bins[1],
        bin_train=bins[2],
        bin_target=bins[3],
    )


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


def block_boxes(people: DataFrame, totals: ItemTotals, rule: SplitRule, bounds: NDArray[np.int64]) -> DataFrame:
    """Boxes of each block: the facts of its items (side 0) and its people (side 1)."""
    needed = people.mapInArrow(partial(_needed_items, rule=rule, bounds=bounds), "block int, item int")
    facts = needed.join(totals.rows, "item").mapInArrow(
        in_boxes(partial(_packed_facts, trainings=totals.trainings)), SCHEMA
    )
    persons = people.mapInArrow(in_boxes(partial(people_boxes, bounds=bounds, rule=rule, side=1)), SCHEMA)
    return facts.unionByName(persons)


def _needed_items(
    batches: Iterable[pa.RecordBatch], *, rule: SplitRule, bounds: NDArray[np.int64]
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
    """For every matcher and training what a block needs beside the facts of its own items."""

    users: int
    events: dict[Training, int]
    holders: dict[Training, int]
    smoothing: dict[Training, float]
    settings: dict[Training, PitmanYor]
    hours: dict[Training, NDArray[np.float64] | None]

    def of(self, name: str, block: Block, training: Training) -> Population:
        """What the matcher must know of everybody to build this block's rows."""
        facts = block.facts[training]
        return Population(
            users=self.users,
            holders=facts.holders,
            events=facts.events,
            all_holders=self.holders[training],
            all_events=self.events[training],
            smoothing=self.smoothing.get(training) if name == "bayes" else None,
            settings=self.settings.get(training) if name == "pitman_yor" else None,
            hours=self.hours.get(training) if name == "pitman_yor" else None,
        )


def populations(
    blocks: DataFrame,
    rule: SplitRule,
    facts: Facts,
    totals: ItemTotals,
    wanted: Sequence[tuple[str, Training]],
    *,
    timed: bool,
) -> Populations:
    """Settle smoothing and settings for the matchers and trainings that are wanted."""
    bayes = tuple(dict.fromkeys(training for name, training in wanted if name == "bayes"))
    pitman_yor = tuple(dict.fromkeys(training for name, training in wanted if name == "pitman_yor"))
    smoothing = _smoothings(blocks, rule, totals, bayes) if bayes else {}
    settings: dict[Training, PitmanYor] = {}
    hours: dict[Training, NDArray[np.float64] | None] = {}
    if pitman_yor:
        settings = _settings(blocks, rule, facts, pitman_yor, timed)
        speaking = {training: found for training, found in settings.items() if timed and found.uses_hours}
        hours = _hours(blocks, rule, speaking) if speaking else {}
    return Populations(facts.people, totals.events, totals.holders, smoothing, settings, hours)


def _in_block(
    batches: Iterable[pa.RecordBatch], *, rule: SplitRule, use: Callable[[Block], Iterable[Any]]
) -> Iterator[Any]:
    """Open the block of this partition and hand it on; empty partitions give nothing."""
    block = opened_block(in_order(opened(batches)), rule)
    if block is not None:
        yield from use(block)


def _smoothings(
    blocks: DataFrame, rule: SplitRule, totals: ItemTotals, trainings: tuple[Training, ...]
) -> dict[Training, float]:
    rows = (
        blocks.mapInArrow(
            partial(_in_block, rule=rule, use=partial(_smoothing_rows, trainings=trainings)),
            "training int, kind int, key long, times long",
        )
        .groupBy("training", "kind", "key")
        .sum("times")
        .orderBy("training", "kind", "key")
        .toArrow()
    )
    place, kind, key, times = (column.to_numpy() for column in rows.columns)
    chosen = {}
    for number, training in enumerate(trainings):
        pairs, sizes = ((place == number) & (kind == which) for which in (0, 1))
        chosen[training] = smoothing_from(key[pairs], times[pairs], key[sizes], times[sizes], totals.events[training])
    return chosen


def _smoothing_rows(block: Block, *, trainings: tuple[Training, ...]) -> Iterator[pa.RecordBatch]:
    for place, training in enumerate(trainings):
        pairs, times, sizes, users = smoothing_terms(block.training(training), block.facts[training].events)
        for kind, (keys, counts) in enumerate(((pairs, times), (sizes, users))):
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array(np.full(keys.size, place, np.int32)),
                    pa.array(np.full(keys.size, kind, np.int32)),
                    pa.array(keys.astype(np.int64)),
                    pa.array(counts.astype(np.int64)),
                ],
                names=["training", "kind", "key", "times"],
            )


def _settings(
    blocks: DataFrame, rule: SplitRule, facts: Facts, trainings: tuple[Training, ...], timed: bool
) -> dict[Training, PitmanYor]:
    """Tune on the people whose traces hash lowest: each block sends its lowest, one task per training chooses."""
    sent = blocks.mapInArrow(
        in_boxes(partial(_in_block, rule=rule, use=partial(_tuning_boxes, trainings=trainings))), SCHEMA
    )
    first = first_settings(timed, facts.people)
    usual = usual_length(*facts.target_lengths)
    found = gathered(sent, len(trainings)).mapInArrow(
        partial(_tuned, first=first, usual=usual), "training int, settings string"
    )
    chosen = {row["training"]: PitmanYor(**json.loads(row["settings"])) for row in found.collect()}
    return {training: chosen.get(place, first) for place, training in enumerate(trainings)}


def _tuning_boxes(block: Block, *, trainings: tuple[Training, ...]) -> Iterator[Box]:
    for place, training in enumerate(trainings):
        train = block.training(training)
        able, hashes = tuning_hashes(train, block.codes)
        lowest = np.argsort(hashes, kind="stable")[: TUNING_USERS[1]]
        chosen = able[lowest]
        mine = train.take(chosen)
        arrays = (hashes[lowest], block.people[chosen], mine.offsets, block.codes[mine.items], mine.times)
        yield Box(place, 0, int(block.people[0]), arrays)


def _tuned(batches: Iterable[pa.RecordBatch], *, first: PitmanYor, usual: int) -> Iterator[pa.RecordBatch]:
    boxes = list(opened(batches))
    if not boxes:
        return
    hashes, people = (np.concatenate([box.arrays[place] for box in boxes]) for place in (0, 1))
    lengths = np.concatenate([np.diff(box.arrays[2]) for box in boxes])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    codes, local = np.unique(np.concatenate([box.arrays[3] for box in boxes]), return_inverse=True)
    times = None if boxes[0].arrays[4] is None else np.concatenate([box.arrays[4] for box in boxes])
    order = np.lexsort((people, hashes))[: TUNING_USERS[1]]
    sample = Traces(offsets, local.astype(np.uint32), codes.size, times).take(order)
    settings = dataclasses.asdict(tune(sample, usual, first))
    yield pa.RecordBatch.from_arrays(
        [pa.array([boxes[0].key], pa.int32()), pa.array([json.dumps(settings)])], names=["training", "settings"]
    )


def _hours(
    blocks: DataFrame, rule: SplitRule, settings: dict[Training, PitmanYor]
) -> dict[Training, NDArray[np.float64] | None]:
    recency = tuple((training, chosen.recency) for training, chosen in settings.items())
    rows = (
        blocks.mapInArrow(
            partial(_in_block, rule=rule, use=partial(_hour_rows, recency=recency)), "training int, slot int, sum long"
        )
        .groupBy("training", "slot")
        .sum("sum")
        .collect()
    )
    sums = np.zeros((len(recency), SLOTS), np.int64)
    for place, slot, total in rows:
        sums[place, slot] = total
    return {training: hour_shares(sums[place]) for place, (training, _) in enumerate(recency)}


def _hour_rows(block: Block, *, recency: tuple[tuple[Training, float], ...]) -> Iterator[pa.RecordBatch]:
    for place, (training, faded) in enumerate(recency):
        sums = hour_sums(block.training(training), faded)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(np.full(sums.size, place, np.int32)),
                pa.array(np.arange(sums.size, dtype=np.int32)),
                pa.array(sums.astype(np.int64)),
            ],
            names=["training", "slot", "sum"],
        )
