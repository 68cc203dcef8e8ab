"""What the kernels of the attack are given, a block of users, a block of targets, and the unit of their sums; and how
their inner functions are compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["CountedLaw", "Rows", "Standings", "TargetBlock", "Unit", "UserBlock", "inner"]

Function = TypeVar("Function", bound=Callable[..., object])


def inner(function: Function) -> Function:
    """Compile a function that only other kernels call: without the way in from Python it takes less time."""
    compiled = njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)  # type: ignore[call-overload]
    return cast(Function, compiled(function))


class Rows(NamedTuple):
    """Feature rows: row r has the features offsets[r]..offsets[r + 1] - 1 with their weights."""

    offsets: NDArray[np.int64]
    features: NDArray[np.uint32]
    weights: NDArray[np.float64]


class UserBlock(NamedTuple):
    """Users as postings: users[starts[f]:starts[f + 1]] have feature f with the weights `fixed`, in units."""

    starts: NDArray[np.int64]
    users: NDArray[np.uint32]
    fixed: NDArray[np.int64]
    penalty: NDArray[np.float64]  # of the rank-one term, per user; empty without it
    user_count: int


class TargetBlock(NamedTuple):
    """Target rows; the first heads[r] features of row r are its head."""

    offsets: NDArray[np.int64]
    features: NDArray[np.uint32]
    weights: NDArray[np.float64]
    heads: NDArray[np.int64]
    sizes: NDArray[np.float64]  # of the rank-one term, per target; empty without it
    own: NDArray[np.int64]  # place of the genuine user in the block of users, -1 where it is in another
    genuine: NDArray[np.int64]  # score of the genuine user, in units


class Unit(NamedTuple):
    """The unit of the sums."""

    scale: float  # units in a score of 1
    tolerance: int  # scores that differ by no more are tied
    shift: int  # bits of a sum below its key


class Standings(NamedTuple):
    """What is known of each target; scores within the tolerance of the best are runs cut by near_offsets."""

    better: NDArray[np.int64]  # users better than the genuine score
    tied: NDArray[np.int64]  # users tied with it, the genuine one included if it is here
    near_offsets: NDArray[np.int64]
    near_scores: NDArray[np.int64]  # falling
    near_counts: NDArray[np.int64]  # users who have each
    best_users: NDArray[np.uint32]
    best_scores: NDArray[np.int64]


class CountedLaw(NamedTuple):
    """The distribution of impostor scores: counts of the atoms, then sorted keys at `level` with counts."""

    atom_counts: NDArray[np.int64]
    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    level: int
