"""The score law: impostor scores as (value, count), so that n x n pairs need no matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.errors import InvalidInput

LARGEST_TOTAL = 2**62  # a total above this could overflow


@dataclass(frozen=True, slots=True, eq=False)
class ScoreLaw:
    """Impostor scores as distinct sorted values with counts (a count may exceed 1e12); genuine scores.

    There is one genuine score per target. It is tied with impostors exactly where the numbers are equal:
    whoever makes the law puts both on one grid. Either part may be empty; the measures ask for more.

    >>> law = ScoreLaw.from_scores(genuine=[2.0, 3.0], impostor=[0.0, 0.0, 2.0])
    >>> law.values.tolist(), law.counts.tolist(), law.impostors, law.targets
    ([0.0, 2.0], [2, 1], 3, 2)
    """

    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    genuine: NDArray[np.float64]

    def __post_init__(self) -> None:
        values, genuine = _scores("values", self.values), _scores("genuine", self.genuine)
        counts = _whole_numbers(self.counts, values)
        if np.any(values[1:] <= values[:-1]):
            raise InvalidInput("Scores: `values` must be sorted and distinct; ScoreLaw.weighted sorts them.")
        if counts.size and int(counts.min()) < 1:
            raise InvalidInput(f"Scores: `counts` must be at least 1, got {int(counts.min())}.")
        if float(counts.sum(dtype=np.float64)) > LARGEST_TOTAL:
            raise InvalidInput(f"A distribution of scores holds at most {LARGEST_TOTAL} impostor scores, got more.")
        for name, array in (("values", values), ("counts", counts), ("genuine", genuine)):
            object.__setattr__(self, name, array)

    @classmethod
    def from_scores(cls, genuine: ArrayLike, impostor: ArrayLike) -> ScoreLaw:
        """Make the law of raw scores, one number per comparison."""
        scores = _scores("impostor", impostor)
        return cls.weighted(scores, np.ones(scores.size, dtype=np.int64), genuine)

    @classmethod
    def weighted(cls, values: ArrayLike, counts: ArrayLike, genuine: ArrayLike) -> ScoreLaw:
        """Make the law of impostor scores with counts, in any order; repeated values add up, zeros vanish."""
        scores = _scores("values", values)
        weights = _whole_numbers(counts, scores)
        if weights.size and int(weights.min()) < 0:
            raise InvalidInput(f"Scores: `counts` must be at least 0, got {int(weights.min())}.")
        if scores.size:
            order = np.argsort(scores, kind="stable")
            scores, weights = scores[order], weights[order]
            starts = np.flatnonzero(np.concatenate(([True], scores[1:] != scores[:-1])))
            scores, weights = scores[starts], np.add.reduceat(weights, starts)
        kept = weights > 0
        return cls(scores[kept], weights[kept], _scores("genuine", genuine))

    @property
    def impostors(self) -> int:
        """Number of impostor scores."""
        return int(self.counts.sum())

    @property
    def targets(self) -> int:
        """Number of genuine scores."""
        return int(self.genuine.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScoreLaw):
            return NotImplemented
        return (
            np.array_equal(self.values, other.values)
            and np.array_equal(self.counts, other.counts)
            and np.array_equal(self.genuine, other.genuine)
        )

    __hash__ = None  # type: ignore[assignment]  # it holds arrays


def _scores(name: str, scores: ArrayLike) -> NDArray[np.float64]:
    """Flat finite float64 scores; adding zero turns -0.0 into 0.0, so that the two never look distinct."""
    numbers = np.asarray(scores, dtype=np.float64)
    if numbers.ndim != 1:
        raise InvalidInput(f"Scores: `{name}` must be a flat array, got shape {numbers.shape}.")
    if not np.isfinite(numbers).all():
        raise InvalidInput(f"Scores: `{name}` must be finite; drop or replace NaN and infinite scores.")
    return numbers + 0.0


def _whole_numbers(counts: ArrayLike, scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Counts as int64, one per score."""
    numbers = np.asarray(counts)
    if numbers.shape != scores.shape:
        raise InvalidInput(f"Scores: `counts` must fit `values`, got shapes {numbers.shape}, {scores.shape}.")
    if numbers.size and numbers.dtype.kind not in "iu":
        raise InvalidInput(f"Scores: `counts` must be whole numbers, got {numbers.dtype}.")
    return numbers.astype(np.int64)
