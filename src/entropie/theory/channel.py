"""Any mechanism given as a matrix Q[x, y] = Pr(y | x): its capacity with a certificate, and inherited bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.errors import InvalidParameter
from entropie.theory import checks


@dataclass(frozen=True, slots=True)
class Capacity:
    """`low` bits are attained by the input law `inputs`, `high` bits are exceeded by none."""

    low_bits: float
    high_bits: float
    inputs: NDArray[np.float64]


def capacity(matrix: ArrayLike, tolerance_bits: float = 1e-9, max_rounds: int = 100_000) -> Capacity:
    """Blahut-Arimoto: alpha* of a mechanism when users are at least as many as items.

    Every round certifies itself: I(p) <= C <= max_x D(Q_x || pQ). For fewer users than items `high_bits` still
    is a valid bound.
    """
    Q = checked_matrix(matrix)
    p = np.full(len(Q), 1.0 / len(Q))
    low, high = 0.0, np.inf
    for _ in range(max_rounds):
        divergence = _divergence_bits(Q, p @ Q)
        low, high = float(p @ divergence), float(divergence.max())
        if high - low <= tolerance_bits:
            break
        p = p * np.exp2(divergence - high)
        p /= p.sum()
    return Capacity(max(0.0, low), high, p)


def success(matrix: ArrayLike, users: int) -> float:
    """Worst-case probability of naming a uniform user among n >= k: sum_y max_x Q(y|x) / n."""
    Q = checked_matrix(matrix)
    return float(Q.max(axis=0).sum()) / checks.whole_number("users", users, at_least=len(Q))


def doeblin_theta(matrix: ArrayLike) -> float:
    """1 - sum_y min_x Q(y|x): the mechanism inherits the randomized-response theorem with this theta."""
    return max(0.0, 1.0 - float(checked_matrix(matrix).min(axis=0).sum()))


def epsilon(matrix: ArrayLike) -> float:
    """The local differential privacy of the matrix: largest ln Q(y|x)/Q(y|x')."""
    Q = checked_matrix(matrix)
    low, high = Q.min(axis=0), Q.max(axis=0)
    used = high > 0.0
    with np.errstate(divide="ignore"):
        return float(np.log(high[used] / low[used]).max())


def _divergence_bits(Q: NDArray[np.float64], output: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(Q > 0.0, Q * np.log2(Q / output), 0.0)
    return np.asarray(terms.sum(axis=1))


def checked_matrix(matrix: ArrayLike) -> NDArray[np.float64]:
    """A table whose rows are probabilities."""
    Q = np.asarray(matrix, dtype=np.float64)
    if Q.ndim != 2 or Q.size == 0:
        raise InvalidParameter("Parameter `matrix` must be a table of probabilities, one row per item.")
    if not np.isfinite(Q).all() or (Q < 0.0).any() or np.abs(Q.sum(axis=1) - 1.0).max() > 1e-9:
        raise InvalidParameter("Parameter `matrix` must have rows of probabilities that sum to 1.")
    return Q
