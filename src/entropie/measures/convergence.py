"""Do the bits settle as users are added? PSE against the number of users, and the slope that answers.

The paper holds that PSE converges, so that a sample of users tells the bits of a whole population. A slope per
doubling of users that is clearly not zero refutes it for the data at hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from entropie.document.measured import ScoreBits
from entropie.errors import InvalidParameter
from entropie.measures.divergence import divergence
from entropie.measures.intervals import LEVEL, REPLICATES, Interval, normal_quantile
from entropie.measures.law import ScoreLaw


@dataclass(frozen=True, slots=True)
class SizePoint:
    """PSE of one subsample."""

    users: int
    pse_bits: ScoreBits


@dataclass(frozen=True, slots=True)
class Convergence:
    """Bits against users, with the slope in bits per doubling of the users.

    Sizes whose bits are cut short by their resolution (near log2(m/10), or over 5 % of genuine scores unmatched) rise
    with the users by construction. The slope is fitted to the other sizes; where fewer than two are left it is fitted
    to all, and `limited` says so. `settled` is True where the whole interval of the slope is within `tolerance_bits`
    of 0, False where it is not and leaves out 0, None where the data cannot tell.
    """

    points: tuple[SizePoint, ...]
    slope_bits_per_doubling: Interval
    tolerance_bits: float
    settled: bool | None
    limited: bool


def doubling_sizes(users: int, smallest: int = 100) -> tuple[int, ...]:
    """users, users/2, users/4, ... down to `smallest`, in rising order."""
    sizes = [users]
    while sizes[-1] // 2 >= smallest:
        sizes.append(sizes[-1] // 2)
    return tuple(reversed(sizes))


def convergence(
    attack: Callable[[int, np.random.Generator], ScoreLaw],
    sizes: Sequence[int],
    seed: int,
    *,
    repeats: int = 4,
    tolerance_bits: float = 0.1,
    replicates: int = REPLICATES,
) -> Convergence:
    """Run `attack(users, rng)` on random subsamples of each size and fit the slope of the bits.

    The attack must be run anew on each subsample: with fewer users an adversary has fewer candidates, and a matcher
    that learns from all users learns less. Subsamples overlap, so that the interval of the slope is somewhat too
    narrow; the largest size counts once if it is everybody.
    """
    if len(set(sizes)) < 2 or min(sizes) < 2:
        raise InvalidParameter.of("sizes", "two or more different numbers of at least 2 users", tuple(sizes))
    if repeats < 1:
        raise InvalidParameter.of("repeats", "at least 1", repeats)
    runs = [size for size in sorted(set(sizes)) for _ in range(1 if size == max(sizes) else repeats)]
    points = []
    for size, child in zip(runs, np.random.SeedSequence(seed).spawn(len(runs)), strict=True):
        rng = np.random.default_rng(child)
        law = attack(size, rng)
        points.append(SizePoint(size, divergence(law, rng, replicates=replicates)))
    free = [point for point in points if not _cut_short([p.pse_bits for p in points if p.users == point.users])]
    limited = len({point.users for point in free}) < 2
    slope = _slope(points if limited else free)
    within = max(abs(slope.low), abs(slope.high)) <= tolerance_bits
    leaves_out_zero = slope.low > 0.0 or slope.high < 0.0
    settled = True if within else False if leaves_out_zero else None
    return Convergence(tuple(points), slope, tolerance_bits, settled, limited)


def _cut_short(bits: Sequence[ScoreBits]) -> bool:
    """Whether the bits of one size are set by its resolution."""
    unmatched = float(np.mean([pse.unmatched_genuine_share for pse in bits]))
    room = float(np.mean([pse.resolvable - pse.value for pse in bits]))
    return unmatched > 0.05 or room < 1.0


def _slope(points: Sequence[SizePoint]) -> Interval:
    """Weighted least squares of bits on log2 users, each point weighing by the width of its interval."""
    z = normal_quantile(0.5 + LEVEL / 2.0)
    doublings = np.log2([point.users for point in points])
    bits = np.array([point.pse_bits.value for point in points])
    deviation = np.array([(point.pse_bits.high - point.pse_bits.low) / (2.0 * z) for point in points])
    weight = 1.0 / np.maximum(deviation, 1e-6) ** 2
    centred = doublings - np.average(doublings, weights=weight)
    slope = float(np.sum(weight * centred * bits) / np.sum(weight * centred**2))
    half = z / math.sqrt(float(np.sum(weight * centred**2)))
    return Interval(slope, slope - half, slope + half)
