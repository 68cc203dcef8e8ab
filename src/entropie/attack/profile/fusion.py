"""How much each kind of evidence counts: a conditional logit over lists that hold the right person.

The log-likelihood of naming the right person of list l is s_l(right) - ln sum over candidates of exp s_l, with
s = weights x evidence. Its mean, less a ridge on standardised evidence, is concave; weights stay at 0 or above, because
every kind of evidence is a log-likelihood ratio that speaks for a person when it is high.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.kernels.logit import logit_sums

RIDGE = 1e-4
STEPS = 60

LEAST_SPREAD = 0.01
"""Evidence that differs less between candidates is none: what is left of it would tell lengths, under a huge weight."""

_AT_ONCE = 256  # lists that are summed up together

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
    threads: int = 1,
) -> Fusion:
    """Learn from lists whose right person is known; lists without that person teach nothing.

    `settled` are scores of the candidates that need no weight: the others are learned beside them. Without any list
    every weight is 1: each kind is a log-likelihood ratio.
    """
    hits = candidates == right[:, None]
    use = np.flatnonzero(hits.any(axis=1))
    if not use.size:
        return Fusion(np.ones(evidence.shape[2]), 0)
    there = candidates[use] >= 0
    known = np.zeros(there.shape) if settled is None else settled[use]
    parts = [slice(begin, begin + _AT_ONCE) for begin in range(0, use.size, _AT_ONCE)]
    centred = (_centred(evidence[use[part]], there[part]) for part in parts)  # all at once are hundreds of MB
    spread = np.sqrt(sum((some**2).sum(axis=(0, 1)) for some in centred) / there.sum())
    told = spread >= LEAST_SPREAD  # what hardly differs is left out, and its weight is 0
    standard = np.empty((*there.shape, np.count_nonzero(told)))
    for part in parts:
        standard[part] = _centred(evidence[use[part]], there[part])[:, :, told] / spread[told]
    weights = np.zeros(evidence.shape[2])
    lists = _Lists(standard, there, hits[use].argmax(axis=1), known)
    weights[told] = _projected_newton(lists, threads) / spread[told]
    return Fusion(np.rint(weights * _GRID) / _GRID, use.size)


def _centred(evidence: NDArray[np.float64], there: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Evidence less its mean in each list."""
    mask = there[:, :, None]
    mean: NDArray[np.float64] = (evidence * mask).sum(axis=1, keepdims=True) / mask.sum(axis=1, keepdims=True)
    return (evidence - mean) * mask


def _projected_newton(lists: _Lists, threads: int) -> NDArray[np.float64]:
    """Minimise the loss over weights >= 0: Newton steps on the free weights, cut back until the loss falls."""
    weights = np.full(lists.evidence.shape[2], 0.1)
    with ThreadPoolExecutor(threads) as pool:
        loss, slope, curvature = _derivatives(lists, weights, pool)
        for _ in range(STEPS):
            free = (weights > 0.0) | (slope < 0.0)
            if np.abs(slope[free]).max(initial=0.0) < _CLOSE:
                break
            step = np.zeros(weights.size)
            step[free] = np.linalg.solve(curvature[np.ix_(free, free)], slope[free])
            length = 1.0
            while True:
                trial = np.maximum(weights - length * step, 0.0)
                found = _derivatives(lists, trial, pool)
                if found[0] <= loss + 1e-4 * float(slope @ (trial - weights)) or length < 1e-6:
                    break
                length /= 2.0
            moved = float(np.abs(trial - weights).max())
            weights, (loss, slope, curvature) = trial, found
            if moved < _CLOSE:
                break
    return weights


def _derivatives(
    lists: _Lists, weights: NDArray[np.float64], pool: ThreadPoolExecutor
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Mean negative log-likelihood with the ridge, its slope and its curvature; summed in the order of the lists."""

    def summed(begin: int) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        part = slice(begin, begin + _AT_ONCE)
        each = lists.evidence[part], lists.there[part], lists.right[part], lists.settled[part]
        return logit_sums(*each, weights)

    count = lists.right.size
    losses, slopes, curvatures = zip(*pool.map(summed, range(0, count, _AT_ONCE)), strict=True)
    loss = sum(losses) / count + RIDGE / 2.0 * float(weights @ weights)
    return loss, sum(slopes) / count + RIDGE * weights, sum(curvatures) / count + RIDGE * np.eye(weights.size)
