"""Detection error trade-off: false rejections against false acceptances over all thresholds.

A comparison is accepted when its score is at least the threshold. Only thresholds at genuine scores matter: between
two of them FRR stands still while FAR falls as the threshold rises to the upper one. The curve holds these corners
and, of corners with equal FAR, the one with the smallest FRR; every other threshold is worse than one of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from entropie.data.scoresets import ScoreMatrix
from entropie.document.measured import EqualErrorRate as EqualErrorRate
from entropie.document.measured import RejectRate
from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.intervals import REPLICATES, percentiles, wilson
from entropie.measures.law import ScoreLaw
from entropie.measures.resampling import counts_by_user, resample_scores, resample_users

FALSE_ACCEPT_RATES = (1e-2, 1e-3, 1e-4)
"""Where FRR is reported."""

CURVE_POINTS = 200
"""Points of a curve made for output."""

_JUMPS = 3


@dataclass(frozen=True, slots=True)
class DetCurve:
    """Operating points in order of rising threshold: FAR falls, FRR rises; the last one rejects everything."""

    threshold: NDArray[np.float64]
    far: NDArray[np.float64]
    frr: NDArray[np.float64]
    frr_low: NDArray[np.float64]  # interval of FRR at the FAR of the point, both rates being estimates
    frr_high: NDArray[np.float64]
    impostors: int
    trials: int  # users behind the genuine scores

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
        names = ("threshold", "far", "frr", "frr_low", "frr_high")
        return replace(self, **{name: getattr(self, name)[kept] for name in names})

    def to_json(self, points: int = CURVE_POINTS) -> list[list[float]]:
        """[FAR, FRR] pairs of the thinned curve."""
        curve = self.thinned(points)
        return [[float(far), float(frr)] for far, frr in zip(curve.far, curve.frr, strict=True)]

    def band_to_json(self, points: int = CURVE_POINTS) -> list[list[float]]:
        """The interval's ends of FRR at the same points."""
        curve = self.thinned(points)
        return [[float(low), float(high)] for low, high in zip(curve.frr_low, curve.frr_high, strict=True)]


def det_curve(law: ScoreLaw, *, independent: int | None = None) -> DetCurve:
    """The exact curve from the impostor law and the genuine scores.

    `independent` is the number of users behind the genuine scores, where it is not one score each. The band allows for
    both errors: the threshold that lets a given share of impostors pass is itself an estimate. Its interval reaches
    from the threshold whose FAR may be as low as the given one to that whose FAR may be as high; the interval of FRR
    at these two is added, in squares where FRR moves smoothly between them (Zou & Donner's method of variance
    estimates recovery), plainly where atoms make it jump.
    """
    if not law.targets or not law.impostors:
        raise InvalidInput(f"A DET curve needs genuine and impostor scores, got {law.targets} and {law.impostors}.")
    genuine, repeats = np.unique(law.genuine, return_counts=True)
    below = np.concatenate(([0], np.cumsum(law.counts)))[np.searchsorted(law.values, genuine)]
    accepted = np.append(law.impostors - below, 0)
    rejected = np.concatenate(([0], np.cumsum(repeats)))
    best = np.concatenate(([True], accepted[1:] < accepted[:-1]))
    best[-1] = True
    frr, far = rejected[best] / law.targets, accepted[best] / law.impostors
    trials = law.targets if independent is None else independent
    curve = DetCurve(np.append(genuine, np.inf)[best], far, frr, frr, frr, law.impostors, trials)
    low, high = _ends(curve, far, np.arange(far.size))
    return replace(curve, frr_low=low, frr_high=high)


def _ends(
    curve: DetCurve, wanted: NDArray[np.float64], chosen: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Interval of FRR where FAR is to be at most `wanted` and the points `chosen` were found; see `det_curve`."""
    least, most = wilson(curve.far * curve.impostors, curve.impostors)
    lowest = np.minimum(np.searchsorted(-least, -wanted), chosen)  # FAR may be as low as wanted
    highest = np.clip(np.searchsorted(-most, -wanted), chosen, curve.far.size - 1)
    low, high = wilson(curve.frr * curve.trials, curve.trials)
    frr = curve.frr[chosen]
    below = _added(frr - curve.frr[lowest], curve.frr[lowest] - low[lowest], chosen - lowest)
    above = _added(curve.frr[highest] - frr, high[highest] - curve.frr[highest], highest - chosen)
    return np.clip(frr - below, 0.0, 1.0), np.clip(frr + above, 0.0, 1.0)


def _added(moved: NDArray[np.float64], spread: NDArray[np.float64], steps: NDArray[np.int64]) -> NDArray[np.float64]:
    """The two errors together: in squares where many small steps lead from one threshold to the other."""
    return np.where(steps > _JUMPS, np.hypot(moved, spread), moved + spread)


def equal_error_rate(
    law: ScoreLaw,
    rng: np.random.Generator,
    *,
    comparisons: ScoreMatrix | None = None,
    replicates: int = REPLICATES,
) -> EqualErrorRate:
    """The mean of FAR and FRR at the operating point where they differ least, with a bootstrap interval over users.

    Where an atom of the law keeps them apart, no threshold makes the two rates equal and the mean hides it; `far` and
    `frr` tell, and `interpolated` is the common rate of a verifier who draws lots between the two thresholds on
    either side (the straight line between their operating points).
    """
    curve = det_curve(law)
    at = int(np.argmin(np.abs(curve.far - curve.frr)))
    value = float(curve.far[at] + curve.frr[at]) / 2.0
    thresholds = _near_the_crossing(curve, min(law.targets, law.impostors))
    lowest = np.concatenate(([-np.inf], thresholds))
    if comparisons is None:
        given, genuine, change = _drawn_lists(law, thresholds, rng, replicates)
    else:
        counts = counts_by_user(comparisons, lowest)
        given = counts.impostors.sum(axis=0)
        genuine, change = resample_users(rng, counts, replicates)
    impostors = given * np.exp(change)
    far = np.cumsum(impostors[:, ::-1], axis=1)[:, ::-1] / impostors.sum(axis=1, keepdims=True)
    spread = _closest_mean(far[:, 1:], np.cumsum(genuine, axis=1)[:, :-1])
    low, high = percentiles(spread)
    step = 1.0 / min(law.targets, law.impostors)  # rates move in such steps, and so do both ends
    low, high = max(0.0, low - step), min(1.0, high + step)
    if high - low < 3.0 / law.targets:  # too good or too coarse to vary: the share's own interval says more
        ends = wilson(value * law.targets, law.targets)
        low, high = min(low, float(ends[0])), max(high, float(ends[1]))
    return EqualErrorRate(
        value, min(low, value), max(high, value), float(curve.far[at]), float(curve.frr[at]), _interpolated(curve)
    )


def frr_at_far(curve: DetCurve, rates: Sequence[float] = FALSE_ACCEPT_RATES) -> tuple[RejectRate, ...]:
    """FRR at the lowest threshold whose FAR does not exceed the given one; None where there are fewer than 1/FAR
    impostor scores. Nothing is interpolated.
    """
    rejected = []
    for rate in rates:
        if not 0.0 < rate < 1.0:
            raise InvalidParameter.of("rates", "between 0 and 1", rate)
        if curve.impostors * rate < 1.0:
            rejected.append(RejectRate(rate, None, None, None))
            continue
        at = np.array([np.argmax(curve.far <= rate)])  # FAR falls along the curve
        low, high = _ends(curve, np.array([rate]), at)
        rejected.append(RejectRate(rate, float(curve.frr[at[0]]), float(low[0]), float(high[0])))
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


def _near_the_crossing(curve: DetCurve, scores: int) -> NDArray[np.float64]:
    """Thresholds that a replicate may choose.

    Those within eight standard deviations of the rates, 4/sqrt(scores), on either side of the crossing, so that the
    cost does not grow with their number.
    """
    after = int(np.argmax(curve.frr >= curve.far))
    reach = 4.0 / math.sqrt(scores)
    near = (curve.frr >= curve.frr[max(after - 1, 0)] - reach) & (curve.frr <= curve.frr[after] + reach)
    near &= np.isfinite(curve.threshold)
    return np.asarray(curve.threshold[near])


def _drawn_lists(
    law: ScoreLaw, thresholds: NDArray[np.float64], rng: np.random.Generator, replicates: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Impostors between the thresholds; genuine shares and changes of the impostors' with both lists resampled."""
    bins = thresholds.size + 1
    genuine = np.bincount(np.searchsorted(thresholds, law.genuine, side="right"), minlength=bins)
    place = np.searchsorted(thresholds, law.values, side="right")
    impostors = np.zeros(bins, dtype=np.int64)
    np.add.at(impostors, place, law.counts)
    return impostors, *resample_scores(rng, genuine, impostors, replicates)


def _closest_mean(far: NDArray[np.float64], frr: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per replicate, the mean of FAR and FRR where they differ least."""
    at = np.argmin(np.abs(far - frr), axis=1)[:, None]
    mean = (np.take_along_axis(far, at, axis=1) + np.take_along_axis(frr, at, axis=1)) / 2.0
    return np.asarray(mean[:, 0])


def _logarithm(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """log10, with zero one decade below the smallest rate that is not zero."""
    smallest = rates[rates > 0.0].min(initial=1.0)
    return np.asarray(np.log10(np.maximum(rates, smallest / 10.0)))
