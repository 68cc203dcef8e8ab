"""A block of people inside a task: their traces, renumbered densely, and what everybody's data say of their items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.split import first_events, halves_of
from entropie.data.traces import Traces
from entropie.engine.spark.boxes import LARGEST_BOX, Box
from entropie.plan.attacks import Training
from entropie.request import SplitRule

__all__ = ["Block", "ItemFacts", "opened_block", "people_boxes", "pieces", "split_block", "traces_of"]


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """What everybody's data say of a block's items, beside the codes of the items."""

    events: NDArray[np.int64]
    holders: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Block:
    """People with something to learn from and something to attack, in order of their codes.

    Items are numbered by their place in `codes`. `facts` are those of each training, `target_events` how often
    everybody's targets have each item. Where people are exchanged, `labels` says as whose a person's target is
    attacked, and `places` where they stand in the order of contents.
    """

    people: NDArray[np.int64]
    train: Traces
    target: Traces
    codes: NDArray[np.uint32]
    facts: dict[Training, ItemFacts]
    target_events: NDArray[np.int64]
    labels: NDArray[np.int64]
    places: NDArray[np.int64]

    def training(self, training: Training) -> Traces:
        """The traces that an attacker learns from."""
        if training is None:
            return self.train
        return self.target if training == "target" else first_events(self.train, training)


def traces_of(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[NDArray[np.int64], Traces]]:
    """Read rows (user, items, seconds) as codes of people and traces over global item codes, a batch at a time."""
    for batch in batches:
        if batch.num_rows == 0:
            continue
        people = batch.column("user").to_numpy(zero_copy_only=False).astype(np.int64)
        items = batch.column("items")
        offsets = items.offsets.to_numpy().astype(np.int64)
        codes = items.values.to_numpy(zero_copy_only=False)[offsets[0] : offsets[-1]].astype(np.uint32)
        seconds = batch.column("seconds")
        times = None
        if seconds.null_count == 0:
            bounds = seconds.offsets.to_numpy()
            times = seconds.values.to_numpy(zero_copy_only=False)[bounds[0] : bounds[-1]].astype(np.int64)
        yield people, Traces(offsets - offsets[0], codes, 2**32, times)


def split_block(
    people: NDArray[np.int64], traces: Traces, rule: SplitRule
) -> tuple[NDArray[np.int64], Traces, Traces, Traces]:
    """Split some people's traces; those with nothing to learn from or to attack are left out.

    Returns who stays, their whole traces, training and target.
    """
    train, target = halves_of(traces, rule)
    kept = np.flatnonzero((np.diff(train.offsets) > 0) & (np.diff(target.offsets) > 0))
    if kept.size == people.size:
        return people, traces, train, target
    return people[kept], traces.take(kept), train.take(kept), target.take(kept)


def pieces(key: int, side: int, part: int, offsets: NDArray[np.int64], width: int) -> Iterator[tuple[int, int, int]]:
    """Cut rows into runs (part, begin, end) that fit a box, given the bytes of an element; empty rows count too."""
    rows = offsets.size - 1
    weight = (offsets - offsets[0]) * width + 32 * np.arange(rows + 1)
    begin = number = 0
    while begin < rows:
        end = max(begin + 1, int(np.searchsorted(weight, weight[begin] + LARGEST_BOX, side="right")) - 1)
        yield part + number, begin, end
        begin, number = end, number + 1


def people_boxes(batches: Iterable[pa.RecordBatch], bounds: Sequence[int], rule: SplitRule, side: int) -> Iterator[Box]:
    """Put people into the boxes of their blocks; a part is numbered by its first person."""
    for people, traces in traces_of(batches):
        kept, whole, _, _ = split_block(people, traces, rule)
        block = np.searchsorted(bounds, kept, side="right") - 1
        for number in np.unique(block):
            chosen = np.flatnonzero(block == number)
            mine = whole.take(chosen)
            for _, begin, end in pieces(0, 0, 0, mine.offsets, 12):
                run = slice(mine.offsets[begin], mine.offsets[end])
                yield Box(
                    int(number),
                    side,
                    int(kept[chosen[begin]]),
                    (
                        kept[chosen[begin:end]],
                        mine.offsets[begin : end + 1] - mine.offsets[begin],
                        mine.items[run],
                        None if mine.times is None else mine.times[run],
                    ),
                )


def opened_block(boxes: Iterable[Box], rule: SplitRule) -> Block | None:
    """Put a block together from its boxes: item facts (side 0), people (side 1), exchanges (side 2)."""
    facts: list[Any] = []
    people: list[Any] = []
    exchanged: list[Any] = []
    for box in boxes:
        (facts, people, exchanged)[box.side].append(box.arrays)
    if not people:
        return None
    numbers = np.concatenate([arrays[0] for arrays in people])
    lengths = np.concatenate([np.diff(arrays[1]) for arrays in people])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    items = np.concatenate([arrays[2] for arrays in people])
    times = None if people[0][3] is None else np.concatenate([arrays[3] for arrays in people])
    codes, local = np.unique(items, return_inverse=True)
    order = np.argsort(numbers, kind="stable")
    traces = Traces(offsets, local.astype(np.uint32), codes.size, times)
    if np.any(order != np.arange(order.size)):
        numbers, traces = numbers[order], traces.take(order)
    kept, _, train, target = split_block(numbers, traces, rule)
    tables = _tables(facts, codes)
    labels, places = kept, np.zeros(kept.size, np.int64)
    if exchanged:
        owner, label, place = (np.concatenate(column) for column in zip(*exchanged, strict=True))
        found = np.searchsorted(kept, owner)
        labels, places = np.empty_like(kept), np.empty_like(kept)
        labels[found], places[found] = label, place
    target_events = tables.pop("attacked").events if "attacked" in tables else np.zeros(codes.size, np.int64)
    return Block(kept, train, target, codes, tables, target_events, labels, places)


def _tables(facts: list[Any], codes: NDArray[np.uint32]) -> dict[Any, ItemFacts]:
    """Item facts by training, cut to the items of the block."""
    tables: dict[Any, ItemFacts] = {}
    for training, items, events, holders in facts:
        table = tables.setdefault(training, ItemFacts(np.zeros(codes.size, np.int64), np.zeros(codes.size, np.int64)))
        place = np.searchsorted(codes, items)
        table.events[place] = events
        table.holders[place] = holders
    return tables
