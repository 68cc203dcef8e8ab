"""Linkability: how many rows of one part of the columns are joined to the right row of the other part.

The second criterion of the Article 29 Working Party (Opinion 05/2014). The attacker has two files about the same
people, one with each part of the columns, and the released table, where both parts stand in one row. Of a row with
values a they ask which values b make it likeliest, f(a, b)/f(b), and pick one of the rows with these values. Part of
that works for anybody, since columns have to do with each other. The control are people left out: their rows are joined
by what the rows of the other half say about everybody, by the pair of column sets that does best on other people.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from entropie.document.table import Linkability
from entropie.measures.classes import classes_of
from entropie.measures.excess import excess
from entropie.measures.intervals import share_interval
from entropie.words import count, interval, listed, percent

Codes = NDArray[np.int64]
Part = Sequence[tuple[Codes, int]]
MOST_LINKED = 100_000
"""People among whom the control is measured; with more of them, so many are drawn."""
_SMOOTHING = 1.0


def linkability(
    names: tuple[tuple[str, ...], tuple[str, ...]], parts: tuple[Part, Part], rng: np.random.Generator
) -> Linkability:
    """Of the two parts of the columns of everybody."""
    left, right = (classes_of(part)[0] for part in parts)
    people = left.size
    linked = linked_people(left, right) / people
    drawn = rng.permutation(people)[:MOST_LINKED]
    middle = drawn.size // 2
    halves = drawn[:middle], drawn[middle : 2 * middle]
    in_half = float(np.mean([linked_people(left[half], right[half]) for half in halves])) / middle
    control = left_out_share(parts, halves)
    shares = share_interval(linked, people), share_interval(in_half, 2 * middle), share_interval(control, 2 * middle)
    meaning = (
        f"{percent(linked)} of rows with {listed(names[0])} are joined to the right row with {listed(names[1])} (by "
        f"chance: {percent(1.0 / people)}); among {count(middle)} people {percent(in_half)} of those in the table and "
        f"{percent(control)} ({interval(shares[2])}) of those left out of it."
    )
    return Linkability(*names, *shares, middle, 1.0 / people, excess(shares[1], shares[2]), meaning)


def linked_people(left: Codes, right: Codes) -> float:
    """How many are expected to be joined right by who has these very rows.

    >>> linked_people(np.array([0, 0, 1]), np.array([0, 1, 1]))  # 0 to 0, 1 to one of two
    1.5
    """
    table = _Pairs.of(left, right)
    ratio = table.counts / np.bincount(right)[table.rights]
    return float(np.maximum.reduceat(ratio, table.begins).sum())


def left_out_share(parts: tuple[Part, Part], halves: tuple[Codes, Codes]) -> float:
    """Share of either half joined right by what the other half says."""
    hits = np.array([
        [_left_out_hits(left, right, halves), _left_out_hits(left, right, halves[::-1])]
        for left in _levels(parts[0])
        for right in _levels(parts[1])
    ])  # fmt: skip
    chosen = hits.argmax(axis=0)[::-1]  # on the other half
    return float(hits[chosen, [0, 1]].sum()) / (halves[0].size + halves[1].size)


def _levels(part: Part) -> list[Codes]:
    """The classes by all columns of a part, and by each alone."""
    return [classes_of(some)[0] for some in (part, *([one] for one in part if len(part) > 1))]


def _left_out_hits(left: Codes, right: Codes, halves: tuple[Codes, Codes]) -> float:
    """How many of the second half are expected to be joined right by what the first half says.

    (f(a, b) + P(a))/(f(b) + 1) of those values b that are among the rows to join; where none is above P(a), which is
    what values not seen before have, and for values a not seen before, rows are joined at random.
    """
    known, asked = halves
    model = _Pairs.of(left[known], right[known])
    often = np.bincount(left[known], minlength=int(left.max()) + 1) / known.size
    totals = np.bincount(right[known], minlength=int(right.max()) + 1)
    rows = np.bincount(right[asked], minlength=int(right.max()) + 1)
    ahead = (model.counts + _SMOOTHING * often[model.lefts]) / (totals[model.rights] + _SMOOTHING) - often[model.lefts]
    ahead = np.where(rows[model.rights] > 0, ahead, -1.0)
    best = model.first_of_largest(ahead)
    best = best[ahead[best] > 0.0]
    joined = np.full(often.size, -1)
    joined[model.lefts[best]] = model.rights[best]
    choice = joined[left[asked]]
    some = choice >= 0
    right_one = right[asked] == choice
    return float((right_one[some] / rows[choice[some]]).sum() + np.count_nonzero(~some) / asked.size)


class _Pairs:
    """How often values of both parts go together, where they do: by the left one, then by the right one."""

    def __init__(self, lefts: Codes, rights: Codes, counts: Codes) -> None:
        self.lefts, self.rights, self.counts = lefts, rights, counts
        self.begins = np.flatnonzero(np.diff(lefts, prepend=-1))

    @classmethod
    def of(cls, left: Codes, right: Codes) -> _Pairs:
        """From the classes of everybody."""
        size = int(right.max()) + 1
        pairs, counts = np.unique(left * size + right, return_counts=True)
        return cls(*np.divmod(pairs, size), counts)

    def first_of_largest(self, worth: NDArray[np.float64]) -> Codes:
        """For each left value, where among the pairs its right value of the greatest worth is."""
        order = np.lexsort((-worth, self.lefts))
        return np.asarray(order[self.begins])
