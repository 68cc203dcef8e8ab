"""How people are cut: blocks of candidates and of targets from a memory budget, cells from blocks and cores."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

TASK_MEMORY = 10**9
"""Bytes that a task of a cluster may fill unless told otherwise."""

BYTES_PER_USER_EVENT = 88
"""Of a training event in a cell: key and weight as they arrive, numbered anew, sorted into postings; and copies."""

BYTES_PER_TARGET_EVENT = 64
BYTES_PER_USER = 160
"""Of a person in a cell: score, base, class at up to nine depths, penalty."""

SMALLEST_BLOCK = 64
CELLS_PER_CORE = (3, 60)
"""Cells that each core is given, at least where they are large enough, and at most where memory allows."""
CELL_PAIRS = (1 << 34, 1 << 36)
"""Cells with fewer pairs would spend more time on their index than on scoring; with more they would take minutes, and
a lost worker would cost that much. Each core has one cell even so."""

_BINS, _MOST_BLOCKS = 1 << 16, 1 << 20  # no more blocks than bins are cut, however many are wanted


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """People along their codes, in runs that a cut never divides: bin b holds codes first[b] up to below first[b + 1].

    people, train and target are its people who are attacked and their events; `end` is above all codes.
    """

    first: NDArray[np.int64]
    people: NDArray[np.int64]
    train: NDArray[np.int64]
    target: NDArray[np.int64]
    end: int

    @staticmethod
    def width(users: int) -> int:
        """Codes in a bin where there are so many people."""
        return -(-users // _BINS)

    @classmethod
    def of_people(
        cls, codes: NDArray[np.int64], train: NDArray[np.int64], target: NDArray[np.int64], users: int
    ) -> Bins:
        """Bins of the people with these codes, rising, and these numbers of events; codes are below `users`."""
        width = cls.width(users)
        first, begins = np.unique(codes // width, return_index=True)
        people = np.diff(np.append(begins, codes.size))
        return cls(first * width, people, np.add.reduceat(train, begins), np.add.reduceat(target, begins), users)


@dataclass(frozen=True, slots=True)
class Workers:
    """What cells run on: how many at once, and what one of them may fill (None: no limit)."""

    cores: int = 1
    memory: int | None = None
    shared: bool = True  # on one machine: threads share a cell, which is cut no further than memory asks for
    block_users: int | None = None  # the size of all blocks, instead of what follows from memory


@dataclass(frozen=True, slots=True)
class Grid:
    """Blocks as ranges of user codes: block b holds codes bounds[b] up to below bounds[b + 1]."""

    users: tuple[int, ...]
    targets: tuple[int, ...]

    @classmethod
    def of(cls, users: Any, targets: Any) -> Grid:
        """A grid from bounds in any kind of sequence."""
        return cls(*(tuple(np.asarray(bounds, np.int64).tolist()) for bounds in (users, targets)))

    @property
    def user_blocks(self) -> int:
        """Blocks of people as candidates."""
        return len(self.users) - 1

    @property
    def target_blocks(self) -> int:
        """Blocks of people as targets."""
        return len(self.targets) - 1

    @property
    def cells(self) -> int:
        """Cells of one model."""
        return self.user_blocks * self.target_blocks

    @property
    def largest_block(self) -> int:
        """Codes in the longest run of a block of candidates."""
        return max(end - begin for begin, end in itertools.pairwise(self.users))

    def user_block(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The block of each person as candidate."""
        return np.searchsorted(self.users, codes, side="right") - 1

    def target_block(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The block of each person as target."""
        return np.searchsorted(self.targets, codes, side="right") - 1


def cut(first: NDArray[np.int64], weights: NDArray[np.float64], end: int, blocks: int) -> NDArray[np.int64]:
    """Cut consecutive bins, which begin at codes `first`, into so many blocks of about equal weight, as bins allow."""
    blocks = min(blocks, _MOST_BLOCKS)
    below = np.concatenate(([0.0], np.cumsum(weights)))
    wanted = below[-1] * np.arange(1, blocks) / blocks
    places = np.unique(np.searchsorted(below, wanted))
    inner = first[places[(places > 0) & (places < first.size)]]
    return np.unique(np.concatenate(([0], inner, [end]))).astype(np.int64)


def grid_of(bins: Bins, workers: Workers, models: int, attacked: int | None = None) -> Grid:
    """Choose blocks: half of a worker's memory is for the users of its cell, a quarter for the targets.

    On a cluster there are one to three cells per core and model, more where cells would take minutes, fewer where
    blocks would fall below 64 people. `attacked` is how many people are attacked, all unless given.
    """
    total, people = int(bins.people.sum()), bins.people.astype(np.float64)
    targets = total if attacked is None else attacked
    if workers.block_users is not None:
        bounds = cut(bins.first, people, bins.end, math.ceil(total / workers.block_users))
        return Grid.of(bounds, bounds)
    memory = math.inf if workers.memory is None else float(workers.memory)
    users = BYTES_PER_USER * people + BYTES_PER_USER_EVENT * bins.train
    blocks = max(1, math.ceil(float(users.sum()) / (memory / 2)))
    user_bounds = cut(bins.first, users, bins.end, blocks)
    splits = BYTES_PER_TARGET_EVENT * float(bins.target.sum()) / (memory / 4)
    if not workers.shared:
        splits = max(splits, _cells_wanted(total * targets, workers.cores, models) / (user_bounds.size - 1))
    splits = max(1.0, min(splits, targets / SMALLEST_BLOCK))
    weights = bins.target + 64.0 * people * (targets / total)
    return Grid.of(user_bounds, cut(bins.first, weights, bins.end, math.ceil(splits)))


def _cells_wanted(pairs: float, cores: int, models: int) -> float:
    """Cells of one model, so that all cores are busy, none long and none with next to nothing."""
    smallest, largest = CELL_PAIRS
    few, many = CELLS_PER_CORE
    least = min(few, max(1, int(pairs * models // (cores * smallest)))) * cores / models
    return max(least, min(pairs / largest, many * cores))
