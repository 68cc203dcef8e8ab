"""PSE in bits: the divergence of genuine from impostor scores, and what it comes to among finitely many users.

PSE is I(U;S), the information a score vector gives about the user. For many users it is the Kullback-Leibler
divergence D(f_G || f_I), which may exceed log2(users); among n users the information is at most log2 n. Both are
estimated on the cells of `entropie.measures.cells`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from entropie.data.scoresets import ScoreMatrix
from entropie.document.measured import ScoreBits
from entropie.errors import InvalidParameter
from entropie.measures.cells import CELL_IMPOSTORS, Cells, cells_of
from entropie.measures.intervals import REPLICATES, Interval, percentiles
from entropie.measures.law import ScoreLaw
from entropie.measures.resampling import counts_by_user, resample_scores, resample_users

NATS_PER_BIT = math.log(2.0)


def divergence(
    law: ScoreLaw,
    rng: np.random.Generator,
    *,
    comparisons: ScoreMatrix | None = None,
    replicates: int = REPLICATES,
) -> ScoreBits:
    """D(f_G || f_I), the default estimate: exact impostor law, cells with genuine and impostor scores.

    Nothing above `resolvable` = log2(impostors/10) can be told from infinity with so few impostor scores. Where
    genuine scores have no impostor beside them the divergence has no finite estimate: their share is
    `unmatched_genuine_share`, they enter with an impostor probability of 3/m (the largest that fits none in m), and the
    interval is one-sided (`at_least`): the bits are at least `low`, and `high` is only the end of what was resolved;
    all of them unmatched gives log2(m/3), 1.7 bits above `resolvable`. Where the ratio of the laws jumps up and down
    between scores too rare for a cell of their own, neighbours are lumped and the value is low too. A value slightly
    below 0 is chance; cutting it off would bias the baseline of permuted labels.

    >>> law = ScoreLaw.weighted([0.0, 1.0], [900_000, 100_000], [0.0] * 500 + [1.0] * 500)
    >>> found = divergence(law, np.random.default_rng(0))
    >>> round(found.value, 2), round(0.5 * math.log2(0.5 / 0.9) + 0.5 * math.log2(0.5 / 0.1), 2)
    (0.74, 0.74)
    """
    cells = cells_of(law)
    interval = _with_interval(cells, _mean_log_ratio, rng, comparisons, replicates)
    resolvable = max(0.0, math.log2(law.impostors / CELL_IMPOSTORS))
    unmatched = cells.unmatched_genuine_share
    at_least = unmatched > 0.0 or interval.value > resolvable
    return ScoreBits(interval.value, interval.low, interval.high, resolvable, unmatched, at_least)


def finite_divergence(
    law: ScoreLaw,
    users: int,
    rng: np.random.Generator,
    *,
    comparisons: ScoreMatrix | None = None,
    replicates: int = REPLICATES,
) -> Interval:
    """The lower bound E_G[-log2((n-1)/(n L) + 1/n)], L = f_G/f_I, on PSE among n users; never above log2 n.

    With U uniform and the other users' scores independent, I(U;S) = E[-log2((1 + sum over v of L_v/L_u)/n)]; Jensen's
    inequality over the others, whose L has mean at most 1, gives the bound.
    """
    if users < 1:
        raise InvalidParameter.of("users", "at least 1", users)

    def finite(genuine: NDArray[np.float64], log_ratio: NDArray[np.float64]) -> NDArray[np.float64]:
        others = math.log((users - 1) / users) if users > 1 else -math.inf
        seen = np.where(genuine > 0.0, -np.logaddexp(others - log_ratio, -math.log(users)), 0.0)
        return np.asarray((genuine * seen).sum(axis=-1) / NATS_PER_BIT)

    return _with_interval(cells_of(law), finite, rng, comparisons, replicates)


def _mean_log_ratio(genuine: NDArray[np.float64], log_ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of g_c ln(g_c/i_c), in bits."""
    finite = np.where(genuine > 0.0, log_ratio, 0.0)
    return np.asarray((genuine * finite).sum(axis=-1) / NATS_PER_BIT)


def _with_interval(
    cells: Cells,
    functional: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
    rng: np.random.Generator,
    comparisons: ScoreMatrix | None,
    replicates: int,
) -> Interval:
    """The functional of genuine shares and log ratios, with the bootstrap interval moved onto the estimate.

    Replicates take plain logarithms of their shares: resampling adds the finite-sample bias once more, and moving
    the replicates' mean onto the corrected estimate takes it out again.
    """
    log_impostor = cells.log_impostor_share()
    estimate = float(functional(cells.genuine_share, cells.log_genuine_share() - log_impostor))
    if comparisons is None:
        genuine, change = resample_scores(rng, cells.genuine, cells.impostors, replicates)
    else:
        genuine, change = resample_users(rng, counts_by_user(comparisons, cells.lowest), replicates)
    log_impostor = np.maximum(log_impostor + change, cells.log_unseen_share)
    with np.errstate(divide="ignore"):
        spread = functional(genuine, np.log(genuine) - log_impostor)
    low, high = percentiles(spread - spread.mean() + estimate)
    return Interval(estimate, min(low, estimate), max(high, estimate))
