"""t-closeness: how far the values of any class are from those of the whole table (Li, Li & Venkatasubramanian 2007).

The distance is the earth mover's. Between categories all ways are equally long, and it is half the sum of differences;
between m ordered values it is the sum of the differences of the cumulative shares, divided by m - 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.measures.diversity import Contents

Floats = NDArray[np.float64]


def largest_distance(contents: Contents, *, ordered: bool) -> float:
    """The largest distance of a class from all people; values are in the order of their codes where they are ordered.

    >>> both = Contents.of(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]), 3)
    >>> largest_distance(both, ordered=False), largest_distance(both, ordered=True)
    (0.25, 0.25)
    """
    return float(np.clip(distances(contents, ordered=ordered).max(), 0.0, 1.0))


def distances(contents: Contents, *, ordered: bool) -> Floats:
    """The distance of each class."""
    whole = np.bincount(contents.values, weights=contents.counts, minlength=contents.size) / contents.totals.sum()
    return _ordered(contents, whole) if ordered else _equal(contents, whole)


def _equal(contents: Contents, whole: Floats) -> Floats:
    """What a class has too much of some values it lacks of the others."""
    over = contents.counts / contents.totals[contents.owner] - whole[contents.values]
    return np.asarray(np.add.reduceat(np.maximum(over, 0.0), contents.begins))


def _ordered(contents: Contents, whole: Floats) -> Floats:
    """Sum of |P - Q| of the cumulative shares; P of a class stays the same from one of its values to the next."""
    shares = contents.counts / contents.totals[contents.owner]
    heap = np.cumsum(shares)
    before = np.repeat(heap[contents.begins] - shares[contents.begins], contents.distinct)
    steps = heap - before
    last = np.append(contents.begins[1:], contents.values.size) - 1
    until = np.append(contents.values[1:], contents.size)
    until[last] = contents.size
    cumulative = np.cumsum(whole)
    sums = np.concatenate(([0.0], np.cumsum(cumulative)))
    own = _area(contents.values, until, steps, cumulative, sums)
    first = contents.values[contents.begins]
    lead = _area(np.zeros_like(first), first, np.zeros(first.size), cumulative, sums)
    return np.asarray((np.add.reduceat(own, contents.begins) + lead) / (contents.size - 1))


def _area(begin: NDArray[np.int64], end: NDArray[np.int64], level: Floats, cumulative: Floats, sums: Floats) -> Floats:
    """Sum of |level - cumulative[i]| over begin <= i < end; `cumulative` rises, `sums` are its sums from the start."""
    turn = np.clip(np.searchsorted(cumulative, level), begin, end)
    below = level * (turn - begin) - (sums[turn] - sums[begin])
    return np.asarray(below + (sums[end] - sums[turn]) - level * (end - turn))
