"""Capacity of a mechanism given as a matrix, with a certificate: what is attained, and what no input law exceeds.

Every input law p certifies itself: I(p) <= C <= max_x D(Q_x || pQ). A few rounds of Blahut-Arimoto with growing steps
settle most channels; where inputs nearly tie, which makes them crawl, an interior-point method goes on: Newton steps on
min -I(p), p >= 0, sum p = 1, whose Hessian is Q diag(1/pQ) Q^T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_LN2 = float(np.log(2.0))
_LARGEST_STEP = 1e6
_MOST_INPUTS = 4000  # the interior point solves systems of this size
_ROUNDS = 300
_NEWTON_STEPS = 120


@dataclass(frozen=True, slots=True)
class Capacity:
    """`low` bits are attained by the input law `inputs`, `high` bits are exceeded by none."""

    low_bits: float
    high_bits: float
    inputs: Floats

    @property
    def gap_bits(self) -> float:
        """How far the two ends are apart."""
        return self.high_bits - self.low_bits


class Problem:
    """A channel and what its rounds need: the divergence of every row from an output law."""

    def __init__(self, Q: Floats) -> None:
        self.Q = Q
        with np.errstate(divide="ignore", invalid="ignore"):
            self.row_entropy = -np.where(Q > 0.0, Q * np.log(np.where(Q > 0.0, Q, 1.0)), 0.0).sum(axis=1)

    def divergence(self, output: Floats) -> Floats:
        """D(Q_x || output) in nats; answers that never come have no part in it."""
        logs = np.log(np.where(output > 0.0, output, 1.0))
        return np.asarray(np.maximum(-self.row_entropy - self.Q @ logs, 0.0))

    def certificate(self, p: Floats) -> Capacity:
        """Both ends for an input law."""
        divergence = self.divergence(p @ self.Q)
        if (self.Q[:, (p @ self.Q) <= 0.0] > 0.0).any():  # an answer that only unused inputs give
            return Capacity(max(0.0, float(p @ divergence) / _LN2), np.inf, p)
        low = max(0.0, float(p @ divergence) / _LN2)
        return Capacity(low, max(low, float(divergence.max()) / _LN2), p)


def capacity_of(Q: Floats, tolerance_bits: float) -> Capacity:
    """The best certificate found; its gap is at most the tolerance unless the channel is huge and stubborn."""
    problem = Problem(np.ascontiguousarray(Q[:, Q.max(axis=0) > 0.0]))  # answers that never come tell nothing
    found = _arimoto(problem, np.full(len(Q), 1.0 / len(Q)), tolerance_bits, _ROUNDS)
    if found.gap_bits > tolerance_bits and len(Q) <= _MOST_INPUTS:
        found = _interior_point(problem, found, tolerance_bits)
    if found.gap_bits > tolerance_bits:
        found = _arimoto(problem, found.inputs, tolerance_bits, 50 * _ROUNDS)
    return found


def _arimoto(problem: Problem, p: Floats, tolerance_bits: float, rounds: int) -> Capacity:
    """p <- p exp(step D), the step longer after every gain and shorter after a loss."""
    best, ceiling, step = problem.certificate(p), np.inf, 1.0
    for _ in range(rounds):
        divergence = problem.divergence(best.inputs @ problem.Q)
        trial = best.inputs * np.exp(step * (divergence - divergence.max()))
        tried = problem.certificate(trial / trial.sum())
        ceiling = min(ceiling, best.high_bits, tried.high_bits)
        if tried.low_bits >= best.low_bits:
            best, step = tried, min(_LARGEST_STEP, 1.5 * step)
        elif step <= 1.0:
            break  # rounding: a plain round never loses
        else:
            step = max(1.0, step / 3.0)
        if ceiling - best.low_bits <= tolerance_bits:
            break
    return Capacity(best.low_bits, max(best.low_bits, ceiling), best.inputs)


def _interior_point(problem: Problem, start: Capacity, tolerance_bits: float) -> Capacity:
    """Newton's method on the conditions p s = mu, gradient = s + level, with mu falling towards 0."""
    Q, k = problem.Q, len(problem.Q)
    p = 0.9 * start.inputs + 0.1 / k
    divergence = problem.divergence(p @ Q)
    level = -float(divergence.max()) - 1e-3
    slack = -divergence - level  # of the gradient of -I, which is 1 - D; the 1 goes into the level
    best, ceiling = start, start.high_bits
    for _ in range(_NEWTON_STEPS):
        target = 0.1 * float(p @ slack) / k
        output = p @ Q
        roots = Q / np.sqrt(output)
        system = roots @ roots.T
        system[np.diag_indices(k)] += slack / p
        off = -problem.divergence(output) - slack - level
        solved = np.linalg.solve(system, np.column_stack([-off - slack + target / p, np.ones(k)]))
        rise = -solved[:, 0].sum() / solved[:, 1].sum()
        change = solved[:, 0] + rise * solved[:, 1]
        slack_change = target / p - slack - slack / p * change
        length = 0.99 * min(1.0 / 0.99, _room(p, change), _room(slack, slack_change))
        p, slack, level = p + length * change, slack + length * slack_change, level + length * rise
        p = p / p.sum()
        tried = problem.certificate(p)
        ceiling = min(ceiling, tried.high_bits)
        best = tried if tried.low_bits > best.low_bits else best
        if ceiling - best.low_bits <= tolerance_bits or length < 1e-8:
            break
    return Capacity(best.low_bits, max(best.low_bits, ceiling), best.inputs)


def _room(value: Floats, change: Floats) -> float:
    """How far one may go before an entry reaches 0."""
    falling = change < 0.0
    return float((-value[falling] / change[falling]).min()) if falling.any() else np.inf
