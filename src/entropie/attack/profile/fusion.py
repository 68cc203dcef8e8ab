"""How much each kind of evidence counts: a conditional logit over lists that hold the right person.

The log-likelihood of naming the right person of list l is s_l(right) - ln sum over candidates of exp s_l, with
s = weights x evidence. Its mean, less a ridge on standardised evidence, is concave; weights stay at 0 or above, because
every kind of evidence is a log-likelihood ratio that speaks for a person when it is high.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RIDGE = 1e-4
STEPS = 60

LEAST_SPREAD = 0.01
"""Evidence that differs less between candidates is none: what is left of it would tell lengths, under a huge weight."""

_GRID = 2.0**20  # weights are rounded to 1/_GRID: the same on every machine
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Fusion:
    """Weight of each kind of evidence, and how many lists they were learned on."""

    weights: NDArray[np.float64]
    lists: int


@dataclass(frozen=True, slots=True, eq=False)
class _Lists:
    """Standardised evidence (list x candidate x kind), who is a candidate, and the place of the right person."""

    evidence: NDArray[np.float64]
    there: NDArray[np.bool_]
    right: NDArray[np.int64]
    settled: NDArray[np.float64]  # scores by what needs no weight (list x candidate)


def learn_fusion(
    evidence: NDArray[np.float64],
    candidates: NDArray[np.int64],
    right: NDArray[np.int64],
    settled: NDArray[np.float64] | None = None,
) -> Fusion:
    """Learn from lists whose right person is known; lists without that person teach nothing.

    `settled` are scores of the candidates that need no weight: the others are learned beside them. Without any list
    every weight is 1: each kind is a log-likelihood ratio.
    """
    hits = candidates == right[:, None]
    use = hits.any(axis=1)
    if not use.any():
        return Fusion(np.ones(evidence.shape[2]), 0)
    known = np.zeros(candidates.shape) if settled is None else settled
    lists, spread = _standardised(evidence[use], candidates[use] >= 0, hits[use].argmax(axis=1), known[use])
    weights = _projected_newton(lists) / spread
    return Fusion(np.rint(weights * _GRID) / _GRID, int(use.sum()))


def _standardised(
    evidence: NDArray[np.float64],
    there: NDArray[np.bool_],
    right: NDArray[np.int64],
    settled: NDArray[np.float64],
) -> tuple[_Lists, NDArray[np.float64]]:
    """Centre the evidence in each list and divide it by its spread; a kind that hardly differs becomes 0."""
    mask = there[:, :, None]
    centred = (evidence - (evidence * mask).sum(axis=1, keepdims=True) / mask.sum(axis=1, keepdims=True)) * mask
    spread = np.sqrt((centred**2).sum(axis=(0, 1)) / there.sum())
    spread = np.where(spread >= LEAST_SPREAD, spread, np.inf)
    return _Lists(centred / spread, there, right, settled), spread


def _projected_newton(lists: _Lists) -> NDArray[np.float64]:
    """Minimise the loss over weights >= 0: Newton steps on the free weights, cut back until the loss falls."""
    weights = np.full(lists.evidence.shape[2], 0.1)
    loss, chances = _loss(lists, weights)
    for _ in range(STEPS):
        slope, curvature = _derivatives(lists, weights, chances)
        free = (weights > 0.0) | (slope < 0.0)
        if np.abs(slope[free]).max(initial=0.0) < _CLOSE:
            break
        step = np.zeros(weights.size)
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], slope[free])
        length = 1.0
        while True:
            trial = np.maximum(weights - length * step, 0.0)
            trial_loss, trial_chances = _loss(lists, trial)
            if trial_loss <= loss + 1e-4 * float(slope @ (trial - weights)) or length < 1e-6:
                break
            length /= 2.0
        moved = float(np.abs(trial - weights).max())
        weights, loss, chances = trial, trial_loss, trial_chances
        if moved < _CLOSE:
            break
    return weights


def _loss(lists: _Lists, weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Mean negative log-likelihood with the ridge, and the chance of every candidate."""
    scores = np.where(lists.there, lists.evidence @ weights + lists.settled, -np.inf)
    scores -= scores.max(axis=1, keepdims=True)
    chances = np.exp(scores)
    totals = chances.sum(axis=1)
    right = scores[np.arange(totals.size), lists.right]
    loss = -float(np.mean(right - np.log(totals))) + RIDGE / 2.0 * float(weights @ weights)
    return loss, chances / totals[:, None]


def _derivatives(
    lists: _Lists, weights: NDArray[np.float64], chances: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    count, _, kinds = lists.evidence.shape
    expected = (chances[:, None, :] @ lists.evidence)[:, 0]
    slope = (expected - lists.evidence[np.arange(count), lists.right]).mean(axis=0) + RIDGE * weights
    flat = lists.evidence.reshape(-1, kinds)
    second = (flat * chances.reshape(-1, 1)).T @ flat - expected.T @ expected
    return slope, second / count + RIDGE * np.eye(kinds)
