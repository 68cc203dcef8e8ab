"""Bootstrap draws over users, as counts per cell of the score line."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from entropie.data.scoresets import ScoreMatrix


class CountsByUser(NamedTuple):
    """How often each user (row) met each cell (column)."""

    genuine: NDArray[np.int64]
    impostors: NDArray[np.int64]  # a comparison of two users counts for both


def resample_shares(rng: np.random.Generator, counts: NDArray[np.int64], replicates: int) -> NDArray[np.float64]:
    """Shares per cell of scores drawn with replacement: replicates x cells."""
    total = int(counts.sum())
    return np.asarray(rng.multinomial(total, counts / total, size=replicates) / total)


def resample_scores(
    rng: np.random.Generator, genuine: NDArray[np.int64], impostors: NDArray[np.int64], replicates: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Genuine shares per cell, and ln(resampled / given impostor share), when both lists are drawn with replacement."""
    drawn, given = resample_shares(rng, impostors, replicates), impostors / impostors.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.log(drawn / given)
    return resample_shares(rng, genuine, replicates), np.where(given > 0.0, change, 0.0)


def resample_users(
    rng: np.random.Generator, counts: CountsByUser, replicates: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Genuine shares per cell, and ln(resampled / given impostor share), when users are drawn with replacement.

    A pair of users drawn a and b times counts a*b times. To first order (Hoeffding's projection) the impostor counts
    change by the sum over users of (times drawn - 1) x (comparisons the user is part of), which needs no pairs.
    """
    users = counts.genuine.shape[0]
    drawn = rng.multinomial(users, np.full(users, 1.0 / users), size=replicates).astype(np.float64)
    genuine = drawn @ counts.genuine
    genuine /= np.maximum(genuine.sum(axis=1, keepdims=True), 1.0)
    given = counts.impostors.sum(axis=0) / 2.0
    impostors = np.maximum(given + (drawn - 1.0) @ counts.impostors, 0.0)
    growth = impostors.sum(axis=1, keepdims=True) / given.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.log(impostors / given) - np.log(growth)
    return genuine, np.where(given > 0.0, change, 0.0)


def counts_by_user(matrix: ScoreMatrix, lowest: NDArray[np.float64]) -> CountsByUser:
    """Sort every comparison into the cell [lowest[c], lowest[c+1]) it falls in, row by row.

    Scores below lowest[0] are not counted.
    """
    cells = lowest.size
    genuine = np.zeros((matrix.users, cells), dtype=np.int64)
    impostors = np.zeros((matrix.users, cells), dtype=np.int64)
    for probe_user, row in zip(matrix.probe_users.tolist(), matrix.scores, strict=True):
        cell = np.searchsorted(lowest, row, side="right") - 1
        made = ~np.isnan(row) & (cell >= 0)
        own = matrix.reference_users == probe_user
        others = made & ~own
        genuine[probe_user] += np.bincount(cell[made & own], minlength=cells)
        impostors[probe_user] += np.bincount(cell[others], minlength=cells)
        np.add.at(impostors, (matrix.reference_users[others], cell[others]), 1)
    return CountsByUser(genuine, impostors)
