"""What speaks for each candidate: one number per kind of evidence, none of them a length or a date."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.attack.profile.candidates import Scene, pieces
from entropie.kernels.profile_evidence import evidence
from entropie.kernels.profile_records import Targets

_GRID = 2.0**20  # evidence is rounded to 1/_GRID: names of items, which decide the order of sums, do not matter


def evidence_for(scene: Scene, candidates: NDArray[np.int64], threads: int = 1) -> NDArray[np.float64]:
    """Evidence for every candidate of every target, by `FEATURES`."""

    def look(targets: Targets, some: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.rint(evidence(scene.people, targets, scene.company, some) * _GRID) / _GRID

    return np.concatenate(pieces(look, scene.targets, candidates, threads))


def weighed(
    scene: Scene, candidates: NDArray[np.int64], weights: NDArray[np.float64], threads: int = 1
) -> NDArray[np.float64]:
    """The weighted sum of the evidence, without keeping it; -inf where there is no candidate."""

    def look(targets: Targets, some: NDArray[np.int64]) -> NDArray[np.float64]:
        found = np.rint(evidence(scene.people, targets, scene.company, some) * _GRID) / _GRID
        return np.where(some >= 0, (found * weights).sum(axis=2), -np.inf)

    return np.concatenate(pieces(look, scene.targets, candidates, threads))
