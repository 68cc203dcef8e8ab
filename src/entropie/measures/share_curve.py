"""The share re-identified as a curve over the number of people, followed beyond the people at hand.

Among fewer people than are at hand the mean share is known exactly: whoever is first stays first, and r strangers ahead
must all be left out. Followed further is the curve of the process of Pitman and Yor with discount d and strength alpha
(L. Rocher, J. Hendrickx, Y.-A. de Montjoye, Nature Communications 16, 2025),

    kappa(n) = alpha (exp(g(n + alpha) - g(alpha)) - 1)/(n d),   g(t) = ln Gamma(t + d) - ln Gamma(t)

by least squares at sizes of equal steps on a logarithmic axis, each weighing the logarithm of its size.

In the end that curve is a power of n: its slope stays, because people whom hardly anybody beats are as common at every
scale. Where people are told apart by few numbers there are fewer of them the harder they are to beat, and the slope
never stops growing. `STEEP` is such a curve: a stranger beats a person with probability q, logit q normal over people,

    kappa(n) = E (1 - q)^(n-1),   logit q = -(mu + s Z)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from entropie.measures.cells import log_gamma

Floats = NDArray[np.float64]

SIZES = 12
"""At how many sizes the curve is fitted."""
_STEPS, _WIDTH, _SHIFT = 40, 1e-4, 16
_NODES = np.linspace(-5.0, 5.0, 201)
_NORMAL = np.exp(-(_NODES**2) / 2.0) / np.exp(-(_NODES**2) / 2.0).sum()


class Family(NamedTuple):
    """Curves of two settings: rows of settings and sizes to shares, where the search begins, and how far it may go."""

    curve: Callable[[Floats, Floats], Floats]
    grid: Floats
    ends: Floats


def exact_shares(before: Floats, weights: Floats, strangers: int) -> tuple[Floats, Floats]:
    """Sizes, and the exact mean share re-identified among so many: a row per row of weights, which are of ranks."""
    sizes = np.unique(np.geomspace(2, strangers + 1, SIZES).round())
    left = strangers - before[:, None] - (sizes - 1.0)
    ways = log_gamma(strangers - before + 1.0)[:, None] - log_gamma(np.maximum(left, 0.0) + 1.0)
    ways += log_gamma(strangers - sizes + 2.0) - log_gamma(strangers + 1.0)
    first = np.where(left >= 0.0, np.exp(ways), 0.0)
    return sizes, weights @ first / weights.sum(axis=1, keepdims=True)


def followed(sizes: Floats, shares: Floats, population: float, family: Family | None = None) -> Floats:
    """The share that the curve of each row has among the population; of Pitman and Yor's unless told otherwise."""
    curve, grid, ends = PITMAN_YOR if family is None else family
    weight = np.sqrt(np.log(sizes))
    drawn = curve(grid, sizes) * weight
    off = (drawn**2).sum(axis=1) - 2.0 * (shares * weight) @ drawn.T
    at = grid[off.argmin(axis=1)]
    damping = np.full((at.shape[0], 1), 1e-3)
    missed = (curve(at, sizes) - shares) * weight
    for _ in range(_STEPS):  # of Levenberg and Marquardt
        moves = np.eye(2) * _WIDTH
        slopes = np.stack([curve(at + move, sizes) - curve(at - move, sizes) for move in moves], axis=2)
        slopes *= weight[:, None] / (2.0 * _WIDTH)
        bend = np.einsum("rsi,rsj->rij", slopes, slopes)
        bend += np.eye(2) * (damping[:, :, None] * bend + 1e-15)
        step = np.linalg.solve(bend, np.einsum("rsi,rs->ri", slopes, missed)[:, :, None])[:, :, 0]
        moved = np.clip(at - step, *ends)
        off_now = (curve(moved, sizes) - shares) * weight
        better = (off_now**2).sum(axis=1, keepdims=True) <= (missed**2).sum(axis=1, keepdims=True)
        at, missed = np.where(better, moved, at), np.where(better, off_now, missed)
        damping = np.clip(np.where(better, damping / 8.0, damping * 4.0), 1e-12, 1e6)
    return np.asarray(curve(at, np.array([population], np.float64))[:, 0])


def _pitman_yor(settings: Floats, sizes: Floats) -> Floats:
    d, alpha = 1.0 / (1.0 + np.exp(-settings[:, :1])), np.exp(settings[:, 1:])
    rise = _log_ratio(sizes + alpha, d) - _log_ratio(alpha, d)
    return np.asarray(np.clip(alpha * np.expm1(rise) / (sizes * d), 0.0, 1.0))


def _log_ratio(t: Floats, d: Floats) -> Floats:
    """ln Gamma(t + d) - ln Gamma(t): the expansion at the middle, after moving t up; its error is below 1e-8."""
    lower = np.log(math.prod(1.0 + d / (t + step) for step in range(_SHIFT)))
    middle = t + _SHIFT + (d - 1.0) / 2.0
    return np.asarray(d * np.log(middle) + d * (1.0 - d * d) / (24.0 * middle**2) - lower)


def _steep(settings: Floats, sizes: Floats) -> Floats:
    """By sums over the normal law in even steps, whose error is below 1e-4."""
    logit = settings[:, :1] + np.exp(settings[:, 1:]) * _NODES
    unbeaten = -np.logaddexp(0.0, -logit)  # ln(1 - q)
    return np.asarray(np.exp((sizes[:, None] - 1.0) * unbeaten[:, None, :]) @ _NORMAL)


def _grid(first: Floats, second: Floats) -> Floats:
    return np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2)


PITMAN_YOR = Family(
    _pitman_yor,
    _grid(np.linspace(-6.0, 5.0, 23), np.linspace(-6.0, 16.0, 45)),
    np.array([[-9.0, -7.0], [6.0, 20.0]]),
)
"""Settings: logit d and ln alpha."""

STEEP = Family(
    _steep,
    _grid(np.linspace(-4.0, 16.0, 21), np.linspace(-2.0, 2.95, 12)),
    np.array([[-6.0, -3.0], [30.0, 3.5]]),
)
"""Settings: mu and ln s."""
