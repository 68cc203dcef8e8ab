"""How a run on Spark is cut: blocks of people from a memory budget, cells from blocks and cores."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidParameter

__all__ = ["TASK_MEMORY", "Grid", "cut", "grid_of", "parse_size"]

TASK_MEMORY = 1 << 30
"""Bytes that a task may fill unless told otherwise."""

BYTES_PER_USER_EVENT = 88
"""Of a training event in a cell: key and weight as they arrive, numbered anew, sorted into postings; and copies."""

BYTES_PER_TARGET_EVENT = 64
BYTES_PER_USER = 160
"""Of a person in a cell: score, base, class at up to nine depths, penalty."""

CELLS_PER_CORE = 3
SMALLEST_CELL_PAIRS = 1 << 34
"""Cells with fewer pairs would spend more time on their index than on scoring; each core has one cell even so."""
LARGEST_CELL_PAIRS = 1 << 36
"""Pairs in a cell at most: about a minute's work, so that progress shows and a lost worker costs little."""

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Grid:
    """Blocks as ranges of user codes: block b holds codes bounds[b] up to below bounds[b + 1]."""

    users: NDArray[np.int64]
    targets: NDArray[np.int64]

    @property
    def user_blocks(self) -> int:
        """Blocks of people as candidates."""
        return self.users.size - 1

    @property
    def target_blocks(self) -> int:
        """Blocks of people as targets."""
        return self.targets.size - 1

    @property
    def cells(self) -> int:
        """Cells of one model."""
        return self.user_blocks * self.target_blocks

    def user_block(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The block of each person as candidate."""
        return np.searchsorted(self.users, codes, side="right") - 1

    def target_block(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The block of each person as target."""
        return np.searchsorted(self.targets, codes, side="right") - 1


def parse_size(name: str, text: str | int) -> int:
    """Read a size such as 512MB or 4GB; a whole number is bytes."""
    if isinstance(text, int):
        if text < 1:
            raise InvalidParameter.of(name, "a size such as 512MB", text)
        return text
    found = _SIZE.fullmatch(text)
    if found is None or float(found[1]) == 0:
        raise InvalidParameter.of(name, "a size such as 512MB", text)
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


def cut(first: NDArray[np.int64], weights: NDArray[np.float64], end: int, blocks: int) -> NDArray[np.int64]:
    """Cut consecutive bins, which begin at codes `first`, into so many blocks of about equal weight, as bins allow."""
    below = np.concatenate(([0.0], np.cumsum(weights)))
    wanted = below[-1] * np.arange(1, blocks) / blocks
    places = np.unique(np.searchsorted(below, wanted))
    inner = first[places[(places > 0) & (places < first.size)]]
    return np.unique(np.concatenate(([0], inner, [end]))).astype(np.int64)


def grid_of(
    first: NDArray[np.int64],
    people: NDArray[np.int64],
    train_events: NDArray[np.int64],
    target_events: NDArray[np.int64],
    end: int,
    *,
    memory: int,
    cores: int,
    models: int,
    block_users: int | None = None,
) -> Grid:
    """Choose blocks for bins of people with so many events: half of a task's memory is for the users of its cell.

    A quarter is for the targets; there are one to three cells per core, unless blocks would fall below 64 people.
    `block_users` sets the size of all blocks instead.
    """
    total = int(people.sum())
    if block_users is not None:
        bounds = cut(first, people.astype(np.float64), end, math.ceil(total / block_users))
        return Grid(bounds, bounds)
    users = BYTES_PER_USER * people.astype(np.float64) + BYTES_PER_USER_EVENT * train_events
    user_bounds = cut(first, users, end, math.ceil(float(users.sum()) / (memory / 2)))
    blocks = user_bounds.size - 1
    per_core = min(CELLS_PER_CORE, max(1, total**2 * models // (cores * SMALLEST_CELL_PAIRS)))
    splits = max(
        per_core * cores / (blocks * models),
        BYTES_PER_TARGET_EVENT * float(target_events.sum()) / (memory / 4),
        float(total) ** 2 / blocks / LARGEST_CELL_PAIRS,
    )
    splits = max(1.0, min(splits, total / 64))
    return Grid(user_bounds, cut(first, target_events + 64.0 * people, end, math.ceil(splits)))
