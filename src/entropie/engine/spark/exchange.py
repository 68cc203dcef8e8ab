"""Where people stand in the order of what they did, and who gets whose target when people are exchanged."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.attack.chance import content_hashes, scattered
from entropie.engine.spark.blocks import grouped, opened_block
from entropie.engine.spark.boxes import Box, gathered, in_order, mapped, opened, received
from entropie.engine.spark.plans import Kept
from entropie.plan.plan import Plan
from entropie.request import SplitRule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_HASHED, _COUNT, _OWNER, _LABEL = range(4)


def exchange_boxes(blocks: DataFrame, rule: SplitRule, plan: Plan, seed: int, ranges: int, kept: Kept) -> DataFrame:
    """Tell every block (side 2) where its people stand by content and as whose their targets are attacked.

    The person at place p gets the target of the person at place scattered(p): the places meet themselves.
    """
    hashed = gathered(mapped(blocks, _hashed, rule=rule, ranges=ranges), ranges)
    ordered = kept.keep(mapped(hashed, _ordered))
    counts = dict.fromkeys(range(ranges), 0) | {
        box.key: box.arrays[0] for box in received(ordered.where(f"side = {_COUNT}"))
    }
    before = list(itertools.accumulate(counts.values(), initial=0))
    if before[-1] != plan.people:
        raise AssertionError(f"{before[-1]} people were numbered, there are {plan.people}")
    shared = {"people": plan.people, "ranges": ranges}
    placed = mapped(ordered.where(f"side = {_HASHED}"), _placed, before=before, seed=seed, **shared)
    return mapped(gathered(placed, ranges), _exchanged, bounds=plan.grid.users)


def _hashed(batches: Iterable[pa.RecordBatch], *, rule: SplitRule, ranges: int) -> Iterator[Box]:
    """The hashes of a block's people, to ranges of hashes."""
    block = opened_block(in_order(opened(batches)), rule)
    if block is not None:
        hashes = content_hashes(block.train, block.target, block.facts[None].events, block.target_events)
        for number, chosen in grouped((hashes >> np.uint64(32)) * np.uint64(ranges) >> np.uint64(32)):
            yield Box(number, _HASHED, int(block.people[0]), (hashes[chosen], block.people[chosen]))


def _ordered(batches: Iterable[pa.RecordBatch]) -> Iterator[Box]:
    """The people of a range by hash, and by code where that is equal; and how many they are."""
    boxes = list(opened(batches))
    if boxes:
        hashes, people = (np.concatenate([box.arrays[place] for box in boxes]) for place in (0, 1))
        yield Box(boxes[0].key, _COUNT, 0, (people.size,))
        yield Box(boxes[0].key, _HASHED, 0, (people[np.lexsort((people, hashes))],))


def _placed(
    batches: Iterable[pa.RecordBatch], *, before: Sequence[int], seed: int, people: int, ranges: int
) -> Iterator[Box]:
    """People to the range of their own place, and to that of the place whose target they get."""
    for box in opened(batches):
        (users,) = box.arrays
        own = np.arange(before[box.key], before[box.key] + users.size)
        for side, place in ((_OWNER, own), (_LABEL, scattered(own, people, seed))):
            for number, chosen in grouped(place * ranges // people):
                yield Box(number, side, box.key, (place[chosen], users[chosen]))


def _exchanged(batches: Iterable[pa.RecordBatch], *, bounds: Sequence[int]) -> Iterator[Box]:
    """Owner, label and place of a range of places, to the blocks of the owners."""
    boxes = list(opened(batches))
    if not boxes:
        return
    owner, label = (_by_place([box for box in boxes if box.side == side]) for side in (_OWNER, _LABEL))
    for number, chosen in grouped(np.searchsorted(bounds, owner[1], side="right") - 1):
        yield Box(number, 2, boxes[0].key, (owner[1][chosen], label[1][chosen], owner[0][chosen]))


def _by_place(boxes: Sequence[Box]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    places, users = (np.concatenate([box.arrays[column] for box in boxes]) for column in (0, 1))
    order = np.argsort(places)
    return places[order], users[order]
