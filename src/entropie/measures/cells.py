"""The partition of the score line on which the default divergence is counted.

Which cells are right is a matter of bias. Let fixed cell c have the probabilities p_c (genuine) and q_c (impostor)
and hold N_c of n genuine and M_c of m impostor scores. The estimate

    sum_c N_c/n [ psi0(N_c) - psi0(n) - psi0(M_c + 1) + psi0(m + 1) ]

has the expected value  sum_c p_c ln(p_c/q_c) + sum_c p_c [ R_n(p_c) - R_{m+1}(q_c) ]  with
R_n(p) = integral of t^(n-1)/(1-t) over 0 < t < 1-p. R falls like e^{-np}/(np): it is negligible once a cell expects
three scores, and p R_n(p) stays below about 0.28/n. To first order the psi0 terms are the familiar correction
(C_G - 1)/(2n) + sum_c g_c (1-i_c)/(2 m i_c), which fails where counts are small.

So a cell needs impostor *and* genuine scores. Cells made of impostors alone would be as many as pairs (m is n(n-1)),
each with one genuine score or none, and the estimate would be about ln(n/10) nats whatever the scores are worth: on
two equal normal laws, n = 1000, m = 10^6, it gives 5.9 bits where the truth is 0.

Intervals are cut at scores, not fixed, and psi0 is right for them too: an interval that ends at its J-th genuine
score holds the probability P with E ln P = psi0(J) - psi0(n+1); one that ends at its K-th impostor score holds Q
with E[Q ln Q]/E[Q] = psi0(K+1) - psi0(m+2), and its genuine count weighs it by Q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.errors import InvalidInput
from entropie.measures.law import ScoreLaw

CELL_IMPOSTORS = 10
"""K: impostor scores that make a share worth estimating; it sets the largest resolvable value log2(m/K)."""

CELL_GENUINE = 10
"""J: genuine scores that a cell needs, unless there are so many that a thousandth of them is more."""

UNSEEN_IMPOSTORS = 3.0
"""No event in m trials: its probability is below 3/m with 95 % confidence."""

_HALF_LN_TWO_PI = math.log(2.0 * math.pi) / 2.0
_SHIFT = 8  # beyond 8 the series of digamma is exact to 1e-14


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells in ascending order of score: cell c holds the scores from lowest[c] up to below lowest[c + 1]."""

    lowest: NDArray[np.float64]
    genuine: NDArray[np.int64]
    impostors: NDArray[np.int64]

    @property
    def genuine_share(self) -> NDArray[np.float64]:
        """Share of the genuine scores in each cell."""
        return np.asarray(self.genuine / self.genuine.sum())

    @property
    def unmatched_genuine_share(self) -> float:
        """Share of genuine scores in cells that no impostor score reached."""
        return float(self.genuine_share[self.impostors == 0].sum())

    @property
    def log_unseen_share(self) -> float:
        """ln(3/m) in nats: impostor shares are not taken to be smaller than this."""
        return min(0.0, math.log(UNSEEN_IMPOSTORS / int(self.impostors.sum())))

    def log_genuine_share(self) -> NDArray[np.float64]:
        """ln g_c in nats, corrected for chance; -inf where no genuine score fell."""
        present = self.genuine > 0
        share = digamma(np.where(present, self.genuine, 1)) - digamma(self.genuine.sum())
        return np.where(present, share, -np.inf)

    def log_impostor_share(self) -> NDArray[np.float64]:
        """ln i_c in nats, corrected for chance, not below ln(3/m)."""
        share = digamma(self.impostors + 1) - digamma(self.impostors.sum() + 1)
        return np.maximum(share, self.log_unseen_share)


def digamma(x: ArrayLike) -> NDArray[np.float64]:
    """psi0(x) for x > 0; at a whole number, the harmonic number of x - 1 minus Euler's constant.

    Recurrence up to x >= 9, then the asymptotic series; absolute error below 1e-13 for x >= 1.
    """
    low = np.asarray(x, dtype=np.float64)
    high = low + _SHIFT
    inverse = 1.0 / (high * high)
    terms = 1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))
    value = np.log(high) - 0.5 / high - inverse * (1 / 12 - inverse * terms)
    for step in range(_SHIFT):
        value = value - 1.0 / (low + step)
    return np.where(low > 1e6, np.log(low) - 0.5 / low, value)  # no cancellation among large terms


def smallest_genuine(targets: int) -> int:
    """J, how many genuine scores make a cell: 10, or a thousandth of them, which bounds the number of cells."""
    return max(CELL_GENUINE, targets // 1000)


def cells_of(law: ScoreLaw) -> Cells:
    """Cut the score line: heavy atoms alone, scores outside the impostors' range alone, intervals between."""
    if not law.targets or not law.impostors:
        raise InvalidInput(
            f"Bits need genuine and impostor scores, got {law.targets} and {law.impostors}; give at least two users."
        )
    values = np.union1d(law.values, law.genuine)[::-1]  # from the top, where the genuine scores are
    impostors = np.zeros(values.size, dtype=np.int64)
    impostors[values.size - 1 - np.searchsorted(values[::-1], law.values)] = law.counts
    genuine = np.bincount(values.size - 1 - np.searchsorted(values[::-1], law.genuine), minlength=values.size)
    starts = _cut(genuine, impostors, smallest_genuine(law.targets))
    ends = np.append(starts[1:], values.size)
    return Cells(
        lowest=values[ends - 1][::-1],
        genuine=np.add.reduceat(genuine, starts)[::-1],
        impostors=np.add.reduceat(impostors, starts)[::-1],
    )


def _cut(genuine: NDArray[np.int64], impostors: NDArray[np.int64], full: int) -> NDArray[np.int64]:
    """First positions of the cells along the distinct values; each cell as short as its two counts allow."""
    genuine_before = np.concatenate(([0], np.cumsum(genuine)))
    impostors_before = np.concatenate(([0], np.cumsum(impostors)))
    starts: list[int] = []
    for begin, end in _stretches(genuine, impostors, full):
        position = begin
        while position < end:
            enough_genuine = genuine_before[position] + full
            enough_impostors = impostors_before[position] + CELL_IMPOSTORS
            lacks_genuine = genuine_before[end] < enough_genuine
            lacks_impostors = impostors_before[end] < enough_impostors
            if lacks_genuine and lacks_impostors and position > begin:
                break  # the rest of the stretch is too little for a cell: it joins the one before
            starts.append(position)
            if lacks_genuine or lacks_impostors:
                break
            position = max(
                int(np.searchsorted(genuine_before, enough_genuine)),
                int(np.searchsorted(impostors_before, enough_impostors)),
            )
    return np.array(starts, dtype=np.int64)


def _stretches(genuine: NDArray[np.int64], impostors: NDArray[np.int64], full: int) -> list[tuple[int, int]]:
    """Stretches of positions that cells must not cross.

    An atom stands alone when it holds a cell's share of the genuine or of the impostor scores; the genuine scores
    beyond the highest and the lowest impostor stand alone too.
    """
    heavy = max(float(CELL_IMPOSTORS), full * float(impostors.sum()) / float(genuine.sum()))
    alone = np.flatnonzero((genuine >= full) | (impostors >= heavy))
    matched = np.flatnonzero(impostors)
    fences = np.unique(np.concatenate(([0, genuine.size, matched[0], matched[-1] + 1], alone, alone + 1)))
    return list(zip(fences[:-1].tolist(), fences[1:].tolist(), strict=True))


def log_gamma(x: ArrayLike) -> NDArray[np.float64]:
    """ln Gamma(x) for x > 0: Stirling's series after moving x up by 8; relative error below 1e-13."""
    low = np.asarray(x, dtype=np.float64)
    high, rising = low + 8.0, low.copy()
    for step in range(1, 8):
        rising = rising * (low + step)
    inverse = 1.0 / (high * high)
    tail = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188)))) / high
    moved = (high - 0.5) * np.log(high) - high + _HALF_LN_TWO_PI + tail - np.log(rising)
    large = np.maximum(low, 1e6)
    return np.where(low > 1e6, (large - 0.5) * np.log(large) - large + _HALF_LN_TWO_PI + 1 / 12 / large, moved)
