"""Divergence by nearest neighbours: the published estimator on weighted values, and the paper's way of using it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from entropie.document.measured import PaperBits
from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.cells import digamma
from entropie.measures.law import ScoreLaw

JITTER = 1e-4
"""Standard deviation of the noise that breaks ties in the paper's runs."""

MOST_TARGETS = 2**21
"""Beyond so many targets the paper's estimate draws so many genuine scores: its memory and time stay bounded."""


def nearest_neighbour_bits(law: ScoreLaw) -> float:
    """Generalised k-nearest-neighbour divergence (Wang, Kulkarni and Verdu 2009, eq. 29) of weighted scores.

    With eps_i the larger of the distances from genuine score i to the nearest other genuine and the nearest impostor
    score, l_i and k_i the other genuine and the impostor scores within eps_i, rho and nu the farthest of each,

        D = 1/n sum_i [ ln(nu/rho) + psi0(l_i) - psi0(k_i) ] + ln(m/(n-1))   (nats).

    The logarithm is 0 where both distances are 0. Where only one of them is 0 (an atom of one law beside a continuous
    stretch of the other) the formula is infinite; there the common radius eps_i serves for both, and the law whose
    score does not lie on its rim has psi0 of its count plus one. O(d log d) for d distinct values.

    On atoms it is biased downwards by 1/l_i - 1/k_i nats per genuine score: two equal Zipf laws on 300 values, n = 500,
    give -0.28 bits. `entropie.measures.divergence` has no such bias; this one needs no cells and serves as its check.
    """
    if law.targets < 2 or not law.impostors:
        raise InvalidInput(
            f"Nearest neighbours need two genuine and one impostor score, got {law.targets} and {law.impostors}."
        )
    scores, repeats = np.unique(law.genuine, return_counts=True)
    to_genuine = np.where(repeats > 1, 0.0, _gap_to_neighbours(scores))
    radius = np.maximum(to_genuine, _gap_to_points(scores, law.values))
    others, rho = _within(scores, repeats, scores, radius)
    others -= 1
    impostors, nu = _within(law.values, law.counts, scores, radius)
    ordinary = (rho > 0.0) & (nu > 0.0)
    logarithm = np.zeros(scores.size)
    np.log(nu, out=logarithm, where=ordinary)
    logarithm -= np.log(rho, out=np.zeros(scores.size), where=ordinary)
    inner_genuine = (rho < nu) & (rho == 0.0)
    inner_impostor = (nu < rho) & (nu == 0.0)
    counts = digamma(others + inner_genuine) - digamma(impostors + inner_impostor)
    total = float(np.sum(repeats * (logarithm + counts)) / law.targets)
    return (total + math.log(law.impostors / (law.targets - 1))) / math.log(2.0)


def paper_estimate(law: ScoreLaw, seed: int, *, jitter: float = JITTER) -> PaperBits:
    """The paper-compatible estimate: one impostor per target drawn from the law, N(0, jitter^2) added to every score.

    The paper draws one impostor for each user; from the pooled law that is a draw of as many scores as targets. Beyond
    `MOST_TARGETS` targets that many genuine scores are drawn from theirs, with replacement, and as many impostors: both
    by how often each distinct value occurs.

    It saturates near log2(targets), and where genuine scores are tied without an impostor its value is set by the
    noise. It is here to be compared with the paper, not to be relied on.
    """
    if not jitter > 0.0 or not math.isfinite(jitter):
        raise InvalidParameter.of("jitter", "above 0", jitter)
    if law.targets < 2 or not law.impostors:
        raise InvalidInput(
            f"The paper's estimate needs two genuine and one impostor score, got {law.targets} and {law.impostors}."
        )
    rng = np.random.default_rng(seed)
    some = min(law.targets, MOST_TARGETS)
    drawn = np.repeat(law.values, rng.multinomial(some, law.counts / law.impostors))
    own = np.sort(law.genuine)
    if some < law.targets:
        values, repeats = np.unique(own, return_counts=True)
        own = np.repeat(values, rng.multinomial(some, repeats / law.targets))
    genuine, impostor = (scores + rng.normal(0.0, jitter, scores.size) for scores in (own, drawn))
    return PaperBits(nearest_neighbour_bits(ScoreLaw.from_scores(genuine, impostor)), jitter, seed)


def _gap_to_neighbours(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance of each point to the nearest other point of the same sorted array."""
    gaps = np.concatenate(([np.inf], np.diff(points), [np.inf]))
    return np.minimum(gaps[:-1], gaps[1:])


def _gap_to_points(scores: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance of each score to the nearest point of a sorted array."""
    after = np.searchsorted(points, scores)
    above = points[np.minimum(after, points.size - 1)]
    below = points[np.maximum(after - 1, 0)]
    return np.minimum(np.abs(above - scores), np.abs(scores - below))


def _within(
    points: NDArray[np.float64],
    weights: NDArray[np.int64],
    centres: NDArray[np.float64],
    radius: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Weight of the points within the radius of each centre, rim included, and the distance of the farthest."""
    first = np.searchsorted(points, centres - radius)
    after = np.searchsorted(points, centres + radius, side="right")
    # rounding of centre +- radius can lose a point on the rim: compare distances as they were computed
    while np.any(lost := (first > 0) & (centres - points[first - 1] <= radius)):
        first = first - lost
    while np.any(lost := (after < points.size) & (points[np.minimum(after, points.size - 1)] - centres <= radius)):
        after = after + lost
    while np.any(extra := centres - points[np.minimum(first, points.size - 1)] > radius):
        first = first + extra
    while np.any(extra := points[after - 1] - centres > radius):
        after = after - extra
    sums = np.concatenate(([0], np.cumsum(weights)))
    farthest = np.maximum(centres - points[first], points[after - 1] - centres)
    return sums[after] - sums[first], np.maximum(farthest, 0.0)
