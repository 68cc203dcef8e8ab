"""What speaks for each candidate: one number per kind of evidence, none of them a length or a date."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.attack.profile.candidates import Scene, pieces
from entropie.kernels.profile_evidence import FEATURES, evidence
from entropie.kernels.profile_records import Targets

_GRID = 2.0**20  # evidence is rounded to 1/_GRID: names of items, which decide the order of sums, do not matter


def evidence_for(scene: Scene, candidates: NDArray[np.int64], threads: int = 1) -> NDArray[np.float64]:
    """Evidence for every candidate of every target, by `FEATURES`."""

    def look(targets: Targets, some: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.rint(evidence(scene.people, targets, scene.company, some) * _GRID) / _GRID

    return np.concatenate(pieces(look, scene.targets, candidates, threads))


def weighed(
    scene: Scene, candidates: NDArray[np.int64], weights: NDArray[np.float64], threads: int = 1, missing: float = 0.0
) -> NDArray[np.float64]:
    """The weighted sum of the evidence, without keeping it; -inf where there is no candidate.

    `missing` is what every known item of a candidate counts that the target lacks.
    """

    def look(targets: Targets, some: NDArray[np.int64]) -> NDArray[np.float64]:
        found = np.rint(evidence(scene.people, targets, scene.company, some) * _GRID) / _GRID
        return fused(found, weights, some, lacking(scene, some, found) * missing if missing else 0.0)

    return np.concatenate(pieces(look, scene.targets, candidates, threads))


def fused(
    found: NDArray[np.float64],
    weights: NDArray[np.float64],
    candidates: NDArray[np.int64],
    settled: NDArray[np.float64] | float = 0.0,
) -> NDArray[np.float64]:
    """Scores from evidence: its weighted sum, and what needs no weight."""
    return np.where(candidates >= 0, (found * weights).sum(axis=2) + settled, -np.inf)


def lacking(scene: Scene, candidates: NDArray[np.int64], found: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many of each candidate's items the target lacks: all but those met again."""
    held = np.diff(scene.people.offsets)[candidates]
    return np.where(candidates >= 0, held + found[:, :, FEATURES.index("again")], 0.0)
