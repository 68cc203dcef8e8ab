"""Detection error trade-off: false rejections against false acceptances over all thresholds.

A comparison is accepted when its score is at least the threshold. Only thresholds at genuine scores matter: between
two of them FRR stands still while FAR falls as the threshold rises to the upper one. The curve holds these corners
and, of corners with equal FAR, the one with the smallest FRR; every other threshold is worse than one of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.data.scoresets import ScoreMatrix
from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.intervals import REPLICATES, percentiles, wilson
from entropie.measures.law import ScoreLaw
from entropie.measures.resampling import counts_by_user, resample_genuine, resample_users

FALSE_ACCEPT_RATES = (1e-2, 1e-3, 1e-4)
"""Where FRR is reported."""

CURVE_POINTS = 200
"""Points of a curve made for output."""


@dataclass(frozen=True, slots=True)
class DetCurve:
    """Operating points in order of rising threshold: FAR falls, FRR rises; the last one rejects everything."""

    threshold: NDArray[np.float64]
    far: NDArray[np.float64]
    frr: NDArray[np.float64]
    frr_low: NDArray[np.float64]  # Wilson's interval at each threshold, the impostor law held fixed
    frr_high: NDArray[np.float64]

    def thinned(self, points: int = CURVE_POINTS) -> DetCurve:
        """At most `points` of the operating points, those that matter on logarithmic axes.

        The curve is walked in steps of equal length in (log FAR, log FRR); both ends of every step are kept, and so
        are the corners of long jumps, which atoms of the law make.
        """
        if points < 4:
            raise InvalidParameter.of("points", "at least 4", points)
        if self.far.size <= points:
            return self
        walked = np.concatenate(
            ([0.0], np.cumsum(np.hypot(np.diff(_logarithm(self.far)), np.diff(_logarithm(self.frr)))))
        )
        step = np.floor(walked / walked[-1] * (points // 2 - 1)).astype(np.int64)
        after = np.flatnonzero(np.diff(step)) + 1
        kept = np.unique(np.concatenate(([0, self.far.size - 1], after - 1, after)))
        return DetCurve(*(column[kept] for column in (self.threshold, self.far, self.frr, self.frr_low, self.frr_high)))

    def to_json(self, points: int = CURVE_POINTS) -> list[list[float]]:
        """[FAR, FRR] pairs of the thinned curve."""
        curve = self.thinned(points)
        return [[float(far), float(frr)] for far, frr in zip(curve.far, curve.frr, strict=True)]

    def band_to_json(self, points: int = CURVE_POINTS) -> list[list[float]]:
        """The interval's ends of FRR at the same points."""
        curve = self.thinned(points)
        return [[float(low), float(high)] for low, high in zip(curve.frr_low, curve.frr_high, strict=True)]


@dataclass(frozen=True, slots=True)
class EqualErrorRate:
    """Where FAR and FRR are closest: their mean, with its interval and the two rates themselves.

    Where an atom of the law keeps them apart, no threshold makes the two rates equal and the mean hides it; `far` and
    `frr` tell, and `interpolated` is the common rate of a verifier who draws lots between the two thresholds on
    either side (the straight line between their operating points).
    """

    value: float
    low: float
    high: float
    far: float
    frr: float
    interpolated: float


@dataclass(frozen=True, slots=True)
class RejectRate:
    """FRR at the lowest threshold whose FAR does not exceed `far`; None where 1/far exceeds the impostor scores."""

    far: float
    frr: float | None
    low: float | None
    high: float | None


def det_curve(law: ScoreLaw, *, independent: int | None = None) -> DetCurve:
    """The exact curve from the impostor law and the genuine scores.

    `independent` is the number of users behind the genuine scores, where it is not one score each.
    """
    if not law.targets or not law.impostors:
        raise InvalidInput(f"A DET curve needs genuine and impostor scores, got {law.targets} and {law.impostors}.")
    genuine, repeats = np.unique(law.genuine, return_counts=True)
    below = np.concatenate(([0], np.cumsum(law.counts)))[np.searchsorted(law.values, genuine)]
    accepted = np.append(law.impostors - below, 0)
    rejected = np.concatenate(([0], np.cumsum(repeats)))
    best = np.concatenate(([True], accepted[1:] < accepted[:-1]))
    best[-1] = True
    frr = rejected[best] / law.targets
    trials = law.targets if independent is None else independent
    low, high = wilson(frr * trials, trials)
    return DetCurve(np.append(genuine, np.inf)[best], accepted[best] / law.impostors, frr, low, high)


def equal_error_rate(
    law: ScoreLaw,
    rng: np.random.Generator,
    *,
    comparisons: ScoreMatrix | None = None,
    replicates: int = REPLICATES,
) -> EqualErrorRate:
    """The mean of FAR and FRR at the operating point where they differ least, with a bootstrap interval over users."""
    curve = det_curve(law)
    at = int(np.argmin(np.abs(curve.far - curve.frr)))
    value = float(curve.far[at] + curve.frr[at]) / 2.0
    thresholds, far = _near_the_crossing(curve, law.targets)
    lowest = np.concatenate(([-np.inf], thresholds))
    if comparisons is None:
        cells = np.bincount(np.searchsorted(thresholds, law.genuine, side="right"), minlength=lowest.size)
        genuine = resample_genuine(rng, cells, replicates)
        spread = _closest_mean(far, np.cumsum(genuine, axis=1)[:, :-1])
    else:
        counts = counts_by_user(comparisons, lowest)
        genuine, change = resample_users(rng, counts, replicates)
        impostors = counts.impostors.sum(axis=0) * np.exp(change)
        above = np.cumsum(impostors[:, ::-1], axis=1)[:, ::-1] / impostors.sum(axis=1, keepdims=True)
        spread = _closest_mean(above[:, 1:], np.cumsum(genuine, axis=1)[:, :-1])
    low, high = percentiles(spread)
    if high - low < 1.0 / law.targets:  # too good or too coarse to vary: the share's own interval says more
        ends = wilson(value * law.targets, law.targets)
        low, high = min(low, float(ends[0])), max(high, float(ends[1]))
    return EqualErrorRate(
        value, min(low, value), max(high, value), float(curve.far[at]), float(curve.frr[at]), _interpolated(curve)
    )


def frr_at_far(curve: DetCurve, impostors: int, rates: Sequence[float] = FALSE_ACCEPT_RATES) -> tuple[RejectRate, ...]:
    """FRR at given FARs, at thresholds that exist: nothing is interpolated."""
    rejected = []
    for rate in rates:
        if not 0.0 < rate < 1.0:
            raise InvalidParameter.of("rates", "between 0 and 1", rate)
        if impostors * rate < 1.0:
            rejected.append(RejectRate(rate, None, None, None))
            continue
        at = int(np.argmax(curve.far <= rate))  # FAR falls along the curve
        rejected.append(RejectRate(rate, float(curve.frr[at]), float(curve.frr_low[at]), float(curve.frr_high[at])))
    return tuple(rejected)


def _interpolated(curve: DetCurve) -> float:
    """FAR = FRR on the straight line between the operating points on either side of equality."""
    after = int(np.argmax(curve.frr >= curve.far))  # the last point has FRR 1, FAR 0
    if after == 0:
        return float(curve.far[0] + curve.frr[0]) / 2.0
    before = after - 1
    gap_before = curve.far[before] - curve.frr[before]
    gap_after = curve.frr[after] - curve.far[after]
    weight = gap_before / (gap_before + gap_after)
    return float(curve.frr[before] + weight * (curve.frr[after] - curve.frr[before]))


def _near_the_crossing(curve: DetCurve, targets: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Thresholds that a replicate may choose, and their FAR.

    Those within eight standard deviations of FRR, 4/sqrt(n), on either side of the crossing, so that the cost does
    not grow with n.
    """
    after = int(np.argmax(curve.frr >= curve.far))
    reach = 4.0 / math.sqrt(targets)
    near = (curve.frr >= curve.frr[max(after - 1, 0)] - reach) & (curve.frr <= curve.frr[after] + reach)
    near &= np.isfinite(curve.threshold)
    return curve.threshold[near], curve.far[near]


def _closest_mean(far: NDArray[np.float64], frr: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per replicate, the mean of FAR and FRR where they differ least."""
    far = np.broadcast_to(far, frr.shape)
    at = np.argmin(np.abs(far - frr), axis=1)[:, None]
    mean = (np.take_along_axis(far, at, axis=1) + np.take_along_axis(frr, at, axis=1)) / 2.0
    return np.asarray(mean[:, 0])


def _logarithm(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """log10, with zero one decade below the smallest rate that is not zero."""
    smallest = rates[rates > 0.0].min(initial=1.0)
    return np.asarray(np.log10(np.maximum(rates, smallest / 10.0)))
