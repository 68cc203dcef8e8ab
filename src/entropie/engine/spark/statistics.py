"""What is known of everybody, gathered from people and from blocks of them: whole numbers that add up in any order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.attack.features import item_counts
from entropie.attack.matchers import Pass, Population, Trained, matcher
from entropie.data.traces import dense
from entropie.engine.spark.blocks import (
    Block,
    People,
    added,
    grouped,
    opened_block,
    people_boxes,
    split_people,
)
from entropie.engine.spark.boxes import Box, gathered, in_order, mapped, opened, received
from entropie.engine.spark.plans import Kept
from entropie.plan.attacks import Histogram, Training, trained_on
from entropie.plan.grid import Bins
from entropie.plan.plan import Counts, Plan
from entropie.request import SplitRule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from entropie.engine.spark.encoding import Ingested

_FACTS, _PEOPLE, _SUMS = 0, 1, 3
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
        """People assessed."""
        return self.counts.people

    @property
    def events(self) -> int:
        """Events of the people assessed, training and target together."""
        lengths, people = self.whole_lengths
        return int((lengths * people).sum())

    @staticmethod
    def part(people: People, rule: SplitRule, users: int) -> tuple[Any, ...]:
        """What some people add: how many are excluded and attacked, histograms of lengths, bins along the codes."""
        kept, *parts = people.split(rule)
        whole, train, target = (np.diff(part.offsets) for part in (kept.traces, *parts))
        bins = added([(kept.codes // Bins.width(users), np.ones_like(kept.codes), train, target * kept.attacked)])
        lengths = (np.unique(part, return_counts=True) for part in (train, target, whole))
        return (people.codes.size - kept.codes.size, np.count_nonzero(kept.attacked), *lengths, bins)

    @classmethod
    def of(cls, parts: Sequence[tuple[Any, ...]], users: int) -> Facts:
        """The facts of all `users` people from those of parts."""
        dropped, attacked, *tables = zip(*parts, strict=True)
        train, target, whole, (first, people, learned, asked) = map(added, tables)
        bins = Bins(first * Bins.width(users), people, learned, asked, users)
        return cls(Counts(train, target, bins, sum(attacked)), sum(dropped), whole)


@dataclass(frozen=True, slots=True)
class Items:
    """How often everybody has each item: facts for each block of a plan of the items its people have (side 0), and the
    sums over items.
    """

    boxes: DataFrame
    events: dict[Training, int]
    holders: dict[Training, int]

    @classmethod
    def of(cls, people: DataFrame, rule: SplitRule, plan: Plan, ranges: int, kept: Kept) -> Items:
        """Count items over all people, once for every training, in ranges of items."""
        names: tuple[Any, ...] = ("attacked", *plan.trainings)
        sent = mapped(people, _item_boxes, rule=rule, names=names, bounds=plan.grid.users, ranges=ranges)
        boxes = kept.keep(mapped(gathered(sent, ranges), _item_facts, names=names))
        sums = [box.arrays for box in received(boxes.where(f"side = {_SUMS}"))]
        events, holders = (
            {name: sum(part[place][column] for part in sums) for place, name in enumerate(names)} for column in (0, 1)
        )
        return cls(boxes.where(f"side = {_FACTS}"), events, holders)


def _item_boxes(
    batches: Iterable[pa.RecordBatch], *, rule: SplitRule, names: Sequence[Any], bounds: Sequence[int], ranges: int
) -> Iterator[Box]:
    """Counts of items (side: the place of the training), and which block needs which (side -1), to ranges of items."""
    for people, train, target in split_people(batches, rule):
        kept, whole = people.codes, people.traces
        part = int(kept[0])
        for place, name in enumerate(names):
            mine, codes = dense(trained_on(train, target, "target" if name == "attacked" else name))
            items, events, holders = item_counts(mine)
            items = codes[items].astype(np.int64)
            for number, chosen in grouped(items % ranges):
                yield Box(number, place, part, (items[chosen], events[chosen], holders[chosen]))
        block = np.repeat(np.searchsorted(bounds, kept, side="right") - 1, np.diff(whole.offsets))
        pairs = np.unique((block.astype(np.int64) << 32) | whole.items)
        for number, chosen in grouped((pairs & 0xFFFFFFFF) % ranges):
            yield Box(number, -1, part, (pairs[chosen],))


def _item_facts(batches: Iterable[pa.RecordBatch], *, names: Sequence[Any]) -> Iterator[Box]:
    """Add up the counts of a range of items; every block is told those of its items, the driver the sums."""
    wanted: list[NDArray[np.int64]] = []
    counted: list[list[Any]] = [[(np.empty(0, np.int64),) * 3] for _ in names]
    key = -1
    for box in opened(batches):
        key = box.key
        if box.side < 0:
            wanted.append(box.arrays[0])
        else:
            counted[box.side].append(box.arrays)
    if key < 0:
        return
    tables = [added(parts) for parts in counted]
    yield Box(0, _SUMS, key, tuple((int(events.sum()), int(holders.sum())) for _, events, holders in tables))
    pairs = np.unique(np.concatenate(wanted))
    for block, chosen in grouped(pairs >> 32):
        needed = pairs[chosen] & 0xFFFFFFFF
        for place, (name, table) in enumerate(zip(names, tables, strict=True)):
            rows = np.flatnonzero(np.isin(table[0], needed, assume_unique=True))
            if rows.size:
                yield Box(block, _FACTS, key * len(names) + place, (name, *(column[rows] for column in table)))


def block_boxes(people: DataFrame, items: Items, rule: SplitRule, plan: Plan) -> DataFrame:
    """Boxes of each block: the facts of its items (side 0) and its people (side 1)."""
    return items.boxes.unionByName(mapped(people, _people_of_blocks, rule=rule, bounds=plan.grid.users))


def _people_of_blocks(batches: Iterable[pa.RecordBatch], *, rule: SplitRule, bounds: Sequence[int]) -> Iterator[Box]:
    for people, _, _ in split_people(batches, rule):
        for number, chosen in grouped(np.searchsorted(bounds, people.codes, side="right") - 1):
            yield from people_boxes(number, _PEOPLE, people.take(chosen))


@dataclass(frozen=True, slots=True)
class Populations:
    """What every model knows of everybody, but the arrays: those are the facts of a block's own items."""

    known: Mapping[Model, Population]

    def of(self, model: Model, block: Block) -> Population:
        """What the matcher must know of everybody to build this block's rows."""
        facts = block.facts[model[1]]
        return replace(self.known[model], holders=facts.holders, events=facts.events)

    def asking(self) -> tuple[Model, ...]:
        """The models that need a further pass over the blocks."""
        return tuple(model for model, known in self.known.items() if matcher(model[0]).next_pass(known) is not None)

    def next_pass(self, model: Model) -> Pass:
        """What a model that asks does next."""
        step = matcher(model[0]).next_pass(self.known[model])
        assert step is not None
        return step

    def settled(self, settings: Mapping[Model, Any]) -> Populations:
        """The same with what a pass has settled."""
        known = {model: replace(self.known[model], settings=settled) for model, settled in settings.items()}
        return Populations({**self.known, **known})


def populations(
    blocks: DataFrame, rule: SplitRule, items: Items, people: Ingested, wanted: Sequence[Model]
) -> Populations:
    """Gather what the wanted models must know, in as many passes over the blocks as they ask for."""
    found = begun(people.counted.counts, items.holders, items.events, wanted, people.timed)
    while asking := found.asking():
        sent = mapped(blocks, _part_boxes, rule=rule, populations=found, asking=asking)
        settled = mapped(gathered(sent, len(asking)), _settled, populations=found, asking=asking)
        found = found.settled({asking[box.key]: box.arrays[0] for box in received(settled)})
    return found


def begun(
    counts: Counts,
    holders: Mapping[Training, int],
    events: Mapping[Training, int],
    wanted: Sequence[Model],
    timed: bool,
) -> Populations:
    """What is known before any pass."""
    none = np.empty(0, np.int64)
    people = counts.people
    known = {
        model: Population(people, timed, none, none, holders[model[1]], events[model[1]])
        for model in dict.fromkeys(wanted)
    }
    return Populations(known)


def _part_boxes(
    batches: Iterable[pa.RecordBatch], *, rule: SplitRule, populations: Populations, asking: tuple[Model, ...]
) -> Iterator[Box]:
    """What a block sends to each model that asks."""
    block = opened_block(in_order(opened(batches)), rule)
    if block is None:
        return
    for place, model in enumerate(asking):
        trained = Trained(block.training(model[1]), block.codes)
        part = populations.next_pass(model).part(trained, populations.of(model, block))
        yield Box(place, 0, int(block.people[0]), (part,))


def _settled(
    batches: Iterable[pa.RecordBatch], *, populations: Populations, asking: tuple[Model, ...]
) -> Iterator[Box]:
    """Merge the parts of one model and settle what follows from them."""
    parts: list[Any] = []
    place = -1
    for box in in_order(opened(batches)):
        place = box.key
        parts.append(box.arrays[0])
        if len(parts) == _PARTS_HELD:
            parts = [populations.next_pass(asking[place]).merge(parts)]
    if parts:
        step = populations.next_pass(asking[place])
        yield Box(place, 0, 0, (step.settle(step.merge(parts), populations.known[asking[place]]),))
