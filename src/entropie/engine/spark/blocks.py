"""People inside a task: their traces, split, and blocks of them with what everybody's data say of their items.

People travel as boxes of (codes, whether each is attacked, offsets, items, seconds or None), in order of their codes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.split import halves_of
from entropie.data.traces import Traces, dense
from entropie.engine.spark.boxes import LARGEST_BOX, Box, opened
from entropie.plan.attacks import Training, trained_on
from entropie.request import SplitRule


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """What everybody's data say of a block's items, beside the codes of the items."""

    events: NDArray[np.int64]
    holders: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Block:
    """People with something to learn from and something to attack, in order of their codes.

    `attacked` are the rows of those who are attacked. Items are numbered by their place in `codes`. `facts` are
    those of each training, `target_events` how often everybody's targets have each item. Where people are
    exchanged, `labels` says as whose a person's target is attacked, and `places` where they stand in the order of
    contents.
    """

    people: NDArray[np.int64]
    attacked: NDArray[np.int64]
    train: Traces
    target: Traces
    codes: NDArray[np.uint32]
    facts: dict[Training, ItemFacts]
    target_events: NDArray[np.int64]
    labels: NDArray[np.int64]
    places: NDArray[np.int64]

    def training(self, training: Training) -> Traces:
        """The traces that an attacker learns from."""
        return trained_on(self.train, self.target, training)


class People(NamedTuple):
    """Some people, in order of their codes: who is attacked, and all their events."""

    codes: NDArray[np.int64]
    attacked: NDArray[np.bool_]
    traces: Traces

    def take(self, rows: NDArray[np.int64]) -> People:
        """The named ones, in the order named."""
        return People(self.codes[rows], self.attacked[rows], self.traces.take(rows))

    def split(self, rule: SplitRule) -> tuple[People, Traces, Traces]:
        """Split the traces; those with nothing to learn from or to attack are left out.

        Returns who stays, training and target.
        """
        train, target = halves_of(self.traces, rule)
        kept = np.flatnonzero((np.diff(train.offsets) > 0) & (np.diff(target.offsets) > 0))
        if kept.size == self.codes.size:
            return self, train, target
        return self.take(kept), train.take(kept), target.take(kept)


def grouped(keys: NDArray[Any]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Every key that occurs, rising, with the places where it does."""
    order = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.diff(keys[order])) + 1
    for begin, end in itertools.pairwise((0, *edges.tolist(), keys.size) if keys.size else ()):
        yield int(keys[order[begin]]), order[begin:end]


def added(tables: Iterable[tuple[NDArray[np.int64], ...]]) -> tuple[Any, ...]:
    """Tables as one: the keys, which are the first column, rising, and the sums of the others."""
    keys, *columns = (np.concatenate(column) for column in zip(*tables, strict=True))
    distinct, place = np.unique(keys, return_inverse=True)
    return distinct, *(np.bincount(place, column, distinct.size).astype(np.int64) for column in columns)


def split_people(batches: Iterable[pa.RecordBatch], rule: SplitRule) -> Iterator[tuple[People, Traces, Traces]]:
    """Open boxes of people and split them, those with anybody to attack."""
    for box in opened(batches):
        codes, attacked, offsets, items, seconds = box.arrays
        split = People(codes, attacked, Traces(offsets, items, 2**32, seconds)).split(rule)
        if split[0].codes.size:
            yield split


def pieces(part: int, offsets: NDArray[np.int64], width: int) -> Iterator[tuple[int, int, int]]:
    """Cut rows into runs (part, begin, end) that fit a box, given the bytes of an element; empty rows count too."""
    rows = offsets.size - 1
    weight = (offsets - offsets[0]) * width + 32 * np.arange(rows + 1)
    begin = number = 0
    while begin < rows:
        end = max(begin + 1, int(np.searchsorted(weight, weight[begin] + LARGEST_BOX, side="right")) - 1)
        yield part + number, begin, end
        begin, number = end, number + 1


def people_boxes(block: int, side: int, people: People) -> Iterator[Box]:
    """Put people of a block into boxes that are not too large; a part is numbered by its first person."""
    codes, attacked, traces = people
    for _, begin, end in pieces(0, traces.offsets, 12):
        run = slice(traces.offsets[begin], traces.offsets[end])
        times = None if traces.times is None else traces.times[run]
        offsets = traces.offsets[begin : end + 1] - traces.offsets[begin]
        columns = codes[begin:end], attacked[begin:end], offsets, traces.items[run], times
        yield Box(block, side, int(codes[begin]), columns)


def opened_block(boxes: Iterable[Box], rule: SplitRule) -> Block | None:
    """Put a block together from its boxes: item facts (side 0), people (side 1), exchanges (side 2)."""
    facts: list[Any] = []
    people: list[Any] = []
    exchanged: list[Any] = []
    for box in boxes:
        (facts, people, exchanged)[box.side].append(box.arrays)
    if not people:
        return None
    everybody = joined(people)
    traces, codes = dense(everybody.traces)
    those, train, target = everybody._replace(traces=traces).split(rule)
    kept = those.codes
    tables = _tables(facts, codes)
    labels, places = kept, np.zeros(kept.size, np.int64)
    if exchanged:
        owner, label, place = (np.concatenate(column) for column in zip(*exchanged, strict=True))
        found = np.searchsorted(kept, owner)
        labels, places = np.empty_like(kept), np.empty_like(kept)
        labels[found], places[found] = label, place
    target_events = tables.pop("attacked").events if "attacked" in tables else np.zeros(codes.size, np.int64)
    attacked = np.flatnonzero(those.attacked)
    return Block(kept, attacked, train, target, codes, tables, target_events, labels, places)


def joined(parts: Sequence[Any]) -> People:
    """People from several boxes, in order of their codes."""
    codes, attacked, items = (np.concatenate([part[place] for part in parts]) for place in (0, 1, 3))
    lengths = np.concatenate([np.diff(part[2]) for part in parts])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    times = None if parts[0][4] is None else np.concatenate([part[4] for part in parts])
    return People(codes, attacked, Traces(offsets, items, 2**32, times)).take(np.argsort(codes, kind="stable"))


def _tables(facts: list[Any], codes: NDArray[np.uint32]) -> dict[Any, ItemFacts]:
    """Item facts by training, cut to the items of the block."""
    tables: dict[Any, ItemFacts] = {}
    for training, items, events, holders in facts:
        table = tables.setdefault(training, ItemFacts(np.zeros(codes.size, np.int64), np.zeros(codes.size, np.int64)))
        place = np.searchsorted(codes, items)
        table.events[place] = events
        table.holders[place] = holders
    return tables
