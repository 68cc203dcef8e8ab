"""Both score laws on one set of bins, to be drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.document.measured import ScoreHistograms
from entropie.errors import InvalidInput
from entropie.measures.law import ScoreLaw

BINS = 48
_TAIL = 0.001


def law_histogram(law: ScoreLaw, *, bins: int = BINS) -> ScoreHistograms:
    """Bin both laws between the thousandth of the lower and the last thousandth of the higher of them.

    A bin holds its lower edge and not its upper one; the outermost bins hold all that lies beyond them.
    """
    sides = [(law.values, law.counts), (np.sort(law.genuine), np.ones(law.targets, dtype=np.int64))]
    present = [(values, counts) for values, counts in sides if values.size]
    if not present:
        raise InvalidInput("A histogram of scores needs a score.")
    low = min(_quantile(values, counts, _TAIL) for values, counts in present)
    high = max(_quantile(values, counts, 1.0 - _TAIL) for values, counts in present)
    if not low < high:
        low, high, bins = low - 0.5, low + 0.5, 1
    edges = np.linspace(low, high, bins + 1)
    impostor, genuine = (_shares(values, counts, edges) for values, counts in sides)
    return ScoreHistograms(edges.tolist(), genuine, impostor)


def _quantile(values: NDArray[np.float64], counts: NDArray[np.int64], share: float) -> float:
    """The first value with at least `share` of all scores at or below it."""
    below = np.cumsum(counts)
    return float(values[min(np.searchsorted(below, share * below[-1]), values.size - 1)])


def _shares(values: NDArray[np.float64], counts: NDArray[np.int64], edges: NDArray[np.float64]) -> list[float]:
    place = np.searchsorted(edges[1:-1], values, side="right")
    held = np.bincount(place, weights=counts, minlength=edges.size - 1)
    total = held.sum()
    return [float(share) for share in (held / total if total else held)]
