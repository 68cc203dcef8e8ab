"""The measures of a score set that another matcher made, a biometric one for instance."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.data.scoresets import FAILED_SCORE, FailedRule, ScoreKind, ScoreLists, ScoreMatrix, read_scores
from entropie.document.base import plain
from entropie.document.measured import Scores
from entropie.errors import InvalidInput, interruptible
from entropie.measures.intervals import REPLICATES
from entropie.measures.law import ScoreLaw
from entropie.measures.summary import Identified, Measures, measure
from entropie.theory import checks


@dataclass(frozen=True, slots=True)
class ScoreSetMeasures(Measures):
    """The measures, and what was excluded from them."""

    failed_comparisons: int  # whatever was done with them
    probes_without_genuine: int  # compared with others only: impostors, but nobody to identify

    def to_json(self) -> dict[str, Any]:
        """The measures' document with the two counts."""
        return plain(self, Scores)


@interruptible
def score_measures(
    *paths: str | os.PathLike[str],
    kind: ScoreKind = "similarity",
    failed: FailedRule = "refuse",
    failed_score: float = FAILED_SCORE,
    matcher: str | None = None,
    seed: int = 0,
    replicates: int = REPLICATES,
    memory: int | None = None,
) -> ScoreSetMeasures:
    """Read a score set (see `entropie.data.scoresets.read_scores`) and measure it."""
    seed = checks.whole_number("seed", seed, at_least=0)
    scores = read_scores(*paths, kind=kind, failed=failed, failed_score=failed_score, matcher=matcher, memory=memory)
    if isinstance(scores, ScoreLists):
        return measure_lists(scores, seed=seed, replicates=replicates)
    return measure_matrix(scores, seed=seed, replicates=replicates)


def measure_lists(lists: ScoreLists, *, seed: int = 0, replicates: int = REPLICATES) -> ScoreSetMeasures:
    """Measure pooled scores: bits and error trade-off, no identification.

    Each genuine score is taken for another user's, and their number for the number of users.
    """
    law = ScoreLaw.from_scores(lists.genuine, lists.impostor)
    measured = measure(law, users=max(law.targets, 1), seed=seed, replicates=replicates)
    return _with_counts(measured, lists.failed, 0)


def measure_matrix(matrix: ScoreMatrix, *, seed: int = 0, replicates: int = REPLICATES) -> ScoreSetMeasures:
    """Measure probes against references: each probe is a target, each user with references a candidate.

    A candidate scores as the closest of their references. The bootstrap draws users with all their comparisons.
    """
    candidates = _one_column_per_user(matrix)
    impostors = candidates.scores.copy()
    column_of = np.full(matrix.users, -1)
    column_of[candidates.reference_users] = np.arange(candidates.reference_users.size)
    enrolled = np.flatnonzero(column_of[candidates.probe_users] >= 0)
    own = column_of[candidates.probe_users[enrolled]]
    impostors[enrolled, own] = np.nan
    compared = ~np.isnan(candidates.scores[enrolled, own])
    targets, genuine = enrolled[compared], candidates.scores[enrolled, own][compared]
    law = ScoreLaw.from_scores(genuine, impostors[~np.isnan(impostors)])
    if not law.targets or not law.impostors:
        raise InvalidInput(
            "The matrix needs a probe and a reference of one subject and comparisons between subjects; "
            "check that rows and columns are named by the same subject ids."
        )
    low, high = _ranks(candidates.scores[targets], genuine)
    credit = np.where(low == 1, 1.0 / (high - low + 1), 0.0)
    people = np.unique(candidates.probe_users[targets]).size
    measured = measure(
        law,
        users=candidates.reference_users.size,
        seed=seed,
        identified=Identified(credit, low, high, independent=people),
        comparisons=candidates,
        replicates=replicates,
    )
    return _with_counts(measured, matrix.failed, candidates.probe_users.size - targets.size)


def _with_counts(measured: Measures, failed: int, without_genuine: int) -> ScoreSetMeasures:
    return ScoreSetMeasures(
        **{field.name: getattr(measured, field.name) for field in fields(measured)},
        failed_comparisons=failed,
        probes_without_genuine=without_genuine,
    )


def _one_column_per_user(matrix: ScoreMatrix) -> ScoreMatrix:
    """The closest reference of each user; users without references drop out as candidates."""
    users, starts = np.unique(np.sort(matrix.reference_users), return_index=True)
    if users.size == matrix.reference_users.size:
        return matrix
    order = np.argsort(matrix.reference_users, kind="stable")
    closest = np.fmax.reduceat(matrix.scores[:, order], starts, axis=1)
    return ScoreMatrix(closest, matrix.probe_users, users, matrix.users, matrix.failed)


def _ranks(scores: NDArray[np.float64], genuine: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the genuine user among the candidates they were compared with: strictly better + 1, and with ties."""
    better = (scores > genuine[:, None]).sum(axis=1)  # a comparison with NaN is false: not compared, not better
    return better + 1, better + (scores == genuine[:, None]).sum(axis=1)
