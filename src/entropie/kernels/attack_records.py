"""What the kernels of the attack are given, a block of users, a block of targets, and the unit of their sums; and how
their inner functions are compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar, cast

from entropie.kernels.arrays import Codes, Floats, Ints
from entropie.kernels.caching import njit

Function = TypeVar("Function", bound=Callable[..., object])


def inner(function: Function) -> Function:
    """Compile a function that only other kernels call: without the way in from Python it takes less time."""
    compiled = njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    return cast(Function, compiled(function))


class Rows(NamedTuple):
    """Feature rows: row r has the features offsets[r]..offsets[r + 1] - 1 with their weights."""

    offsets: Ints
    features: Codes
    weights: Floats


class UserBlock(NamedTuple):
    """Users as postings: users[starts[f]:starts[f + 1]] have feature f with the weights `fixed`, in units."""

    starts: Ints
    users: Codes
    fixed: Ints
    penalty: Floats  # of the rank-one term, per user; empty without it
    user_count: int


class TargetBlock(NamedTuple):
    """Target rows; the first heads[r] features of row r are its head."""

    offsets: Ints
    features: Codes
    weights: Floats
    heads: Ints
    sizes: Floats  # of the rank-one term, per target; empty without it
    own: Ints  # place of the genuine user in the block of users, -1 where it is in another
    genuine: Ints  # score of the genuine user, in units


class Unit(NamedTuple):
    """The unit of the sums."""

    scale: float  # units in a score of 1
    tolerance: int  # scores that differ by no more are tied
    shift: int  # bits of a sum below its key


class Standings(NamedTuple):
    """What is known of each target; scores within the tolerance of the best are runs cut by near_offsets."""

    better: Ints  # users better than the genuine score
    tied: Ints  # users tied with it, the genuine one included if it is here
    near_offsets: Ints
    near_scores: Ints  # falling
    near_counts: Ints  # users who have each
    best_users: Codes
    best_scores: Ints


class CountedLaw(NamedTuple):
    """The distribution of impostor scores: counts of the atoms, then sorted keys at `level` with counts."""

    atom_counts: Ints
    keys: Ints
    counts: Ints
    level: int
