"""l-diversity: how many values of a sensitive column each class has (Machanavajjhala et al. 2007).

A class is all who share their quasi-identifiers. Whoever finds somebody's class learns that their sensitive value is
one of those in it: distinct l counts them, entropy l says how many equally frequent ones are as uncertain, and
recursive (c, l) asks that the most frequent value is less than c times as frequent as the l-th and rarer ones together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.document.table import Recursive

Codes = NDArray[np.int64]
MOST_RECURSIVE = 5


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """How often each value occurs in each class, where it does: class after class, values rising.

    begins   where each class begins among them
    values   codes from 0, of which there are `size`
    counts   people of the class with the value
    totals   people of each class
    """

    begins: Codes
    values: Codes
    counts: Codes
    totals: Codes
    size: int

    @classmethod
    def of(cls, classes: Codes, codes: Codes, size: int) -> Contents:
        """From the class and the value of everybody."""
        pairs, counts = np.unique(classes * size + codes, return_counts=True)
        held, values = np.divmod(pairs, size)
        begins = np.flatnonzero(np.diff(held, prepend=-1))
        return cls(begins, values, counts, np.add.reduceat(counts, begins), size)

    @property
    def owner(self) -> Codes:
        """The class of each entry."""
        return np.repeat(np.arange(self.begins.size), self.distinct)

    @property
    def distinct(self) -> Codes:
        """Different values of each class."""
        return np.diff(self.begins, append=self.values.size)


def distinct_l(contents: Contents) -> int:
    """The fewest different values of any class."""
    return int(contents.distinct.min())


def entropy_l(contents: Contents) -> float:
    """2 to the smallest entropy in bits of any class.

    >>> round(entropy_l(Contents.of(np.array([0, 0, 0, 0]), np.array([0, 1, 2, 2]), 3)), 4)  # 2^1.5
    2.8284
    """
    share = contents.counts / contents.totals[contents.owner]
    bits = np.add.reduceat(-share * np.log2(share), contents.begins)
    return float(2.0 ** max(0.0, bits.min()))


def disclosed(contents: Contents) -> float:
    """Share of people whose class has one value."""
    return float(contents.totals[contents.distinct == 1].sum()) / float(contents.totals.sum())


def recursive(contents: Contents) -> tuple[Recursive, ...]:
    """For l from 2 to the distinct l, five at most: the number that c must exceed.

    >>> recursive(Contents.of(np.array([0, 0, 0, 0]), np.array([0, 1, 2, 2]), 3))
    (Recursive(different=2, c=1.0), Recursive(different=3, c=2.0))
    """
    owner = contents.owner
    falling = contents.counts[np.lexsort((-contents.counts, owner))]
    place = np.arange(falling.size) - contents.begins[owner]
    most = falling[contents.begins]
    rows = []
    for different in range(2, min(distinct_l(contents), MOST_RECURSIVE) + 1):
        rarer = np.add.reduceat(np.where(place >= different - 1, falling, 0), contents.begins)
        rows.append(Recursive(different, float((most / rarer).max())))
    return tuple(rows)
