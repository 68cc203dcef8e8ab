"""Partial results of an attack: of some targets against some users, in whole numbers, so that they merge exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import ragged, summed
from entropie.attack.index import NOBODY
from entropie.errors import InvalidInput
from entropie.kernels.attack_law import EMPTY, levels_up, sum_sorted


@dataclass(frozen=True, slots=True, eq=False)
class LawPart:
    """The impostor law of some pairs: counts of the atoms, and keys at `level` with counts.

    It lives at the lowest level that leaves at most `max_values` keys, or a higher one that it was told it will need.
    """

    atom_counts: NDArray[np.int64]
    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    level: int
    max_values: int

    @classmethod
    def empty(cls, atoms: int, max_values: int) -> LawPart:
        """The law of no pairs, which changes nothing where it is merged."""
        return cls(np.zeros(atoms, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), 0, max_values)


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """The result of some targets against a block of users, in units; blocks of targets merge, and blocks of users.

    Targets are sorted by number. Target r has the scores near_scores[near_offsets[r]:near_offsets[r + 1]] within the
    tolerance of the best of the block, falling, each shared by `near_counts` users. Where a block has fewer users than
    candidates are kept, the places left over hold `NOBODY` with the lowest of all numbers for a score.
    """

    ids: NDArray[np.int64]
    genuine: NDArray[np.int64]
    better: NDArray[np.int64]  # users of the block strictly better than the genuine score
    tied: NDArray[np.int64]  # users of the block tied with it, the genuine one included if among them
    near_offsets: NDArray[np.int64]
    near_scores: NDArray[np.int64]
    near_counts: NDArray[np.int64]
    candidates: NDArray[np.uint32]
    candidate_scores: NDArray[np.int64]
    law: LawPart

    @classmethod
    def unscored(cls, ids: NDArray[np.int64], genuine: NDArray[np.int64], candidates: int, law: LawPart) -> Partial:
        """The result of targets against no users, which changes nothing where it is merged."""
        nothing = np.zeros(ids.size, np.int64)
        near = np.zeros(ids.size + 1, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
        people = np.full((ids.size, candidates), NOBODY, np.uint32)
        return cls(ids, genuine, nothing, nothing, *near, people, np.full(people.shape, EMPTY, np.int64), law)

    @property
    def ties(self) -> NDArray[np.int64]:
        """Users within the tolerance of the best of the block, per target."""
        running = np.concatenate((np.zeros(1, np.int64), np.cumsum(self.near_counts)))
        ties: NDArray[np.int64] = running[self.near_offsets[1:]] - running[self.near_offsets[:-1]]
        return ties


def merge_partials(partials: Sequence[Partial]) -> Partial:
    """Join results of disjoint targets against the same users, in any order to the same: laws add up."""
    ids = np.concatenate([partial.ids for partial in partials])
    order = np.argsort(ids, kind="stable")
    columns = ("genuine", "better", "tied", "candidates", "candidate_scores")
    joined = {name: np.concatenate([getattr(p, name) for p in partials])[order] for name in columns}
    lengths = np.concatenate([np.diff(partial.near_offsets) for partial in partials])
    near_offsets, places = ragged(np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))), order)
    return Partial(
        ids=ids[order],
        **joined,
        near_offsets=near_offsets,
        near_scores=np.concatenate([partial.near_scores for partial in partials])[places],
        near_counts=np.concatenate([partial.near_counts for partial in partials])[places],
        law=merge_laws([partial.law for partial in partials]),
    )


def merge_users(partials: Sequence[Partial], tolerance: int) -> Partial:
    """Join results of the same targets against disjoint users: counts and laws add up, the best stay.

    All scores within the tolerance of the best of all are near the best of their own block, so none is missing.
    """
    first = partials[0]
    for other in partials[1:]:
        if not (np.array_equal(first.ids, other.ids) and np.array_equal(first.genuine, other.genuine)):
            raise InvalidInput("Results of blocks of users must be of the same targets with the same genuine scores.")
    kept = first.candidates.shape[1]
    people = np.concatenate([partial.candidates for partial in partials], axis=1)
    scores = np.concatenate([partial.candidate_scores for partial in partials], axis=1)
    order = np.lexsort((people, ~scores), axis=1)[:, :kept]  # ~x falls as x grows, and never overflows
    scores = np.take_along_axis(scores, order, axis=1)
    return Partial(
        first.ids,
        first.genuine,
        np.sum([partial.better for partial in partials], axis=0),
        np.sum([partial.tied for partial in partials], axis=0),
        *_near_best(partials, scores[:, 0] - tolerance),
        np.take_along_axis(people, order, axis=1),
        scores,
        merge_laws([partial.law for partial in partials]),
    )


def _near_best(
    partials: Sequence[Partial], least: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Join the scores near the best of each block and keep those that reach `least`: offsets, scores, counts."""
    targets = np.arange(least.size)
    rows = np.concatenate([np.repeat(targets, np.diff(partial.near_offsets)) for partial in partials])
    scores = np.concatenate([partial.near_scores for partial in partials])
    counts = np.concatenate([partial.near_counts for partial in partials])
    near = np.flatnonzero(scores >= least[rows])
    near = near[np.lexsort((~scores[near], rows[near]))]
    rows, scores, counts = rows[near], scores[near], counts[near]
    fresh = np.ones(rows.size, np.bool_)
    fresh[1:] = (rows[1:] != rows[:-1]) | (scores[1:] != scores[:-1])
    begins = np.flatnonzero(fresh)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(rows[begins], minlength=least.size))))
    return offsets, scores[begins], np.add.reduceat(counts, begins) if begins.size else counts


def merge_laws(laws: Sequence[LawPart]) -> LawPart:
    """Add up the laws of disjoint pairs, at the coarsest level needed; any order and grouping gives the same."""
    max_values = laws[0].max_values
    if any(law.max_values != max_values for law in laws):
        raise InvalidInput("Laws that merge must have the same `max_values`.")
    level = max(law.level for law in laws)
    keys = np.concatenate([law.keys >> (level - law.level) for law in laws])
    counts = np.concatenate([law.counts for law in laws])
    keys, counts = summed(keys, counts)
    up = int(levels_up(keys, max_values))
    if up:
        keys, counts = sum_sorted(keys, counts, up)
    return LawPart(np.sum([law.atom_counts for law in laws], axis=0), keys, counts, level + up, max_values)
