"""Inference: how well a sensitive column is guessed from others by whoever has the table, and what the table adds.

The third criterion of the Article 29 Working Party (Opinion 05/2014) is whether a value can be deduced. An attacker who
knows somebody's quasi-identifiers and has the table guesses the most frequent value of their class; a number is guessed
as the middle of the interval that holds most of the class. Part of that would be so without the person: it follows from
what is true of people in general. The control are people left out. Their value is guessed from the rows of the others,
by the same rule in the smallest set of columns whose class holds enough of the others; columns are ordered by how well
each alone guesses, and how many people are enough is chosen on other people than those it is measured on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from entropie.document.table import Inference
from entropie.kernels.densest import densest
from entropie.measures.classes import classes_of
from entropie.measures.excess import excess
from entropie.measures.intervals import share_interval
from entropie.words import digits, interval, percent

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
FOLDS = 5
ENOUGH = (1, 3, 10, 30, 100, 1000)
MOST_GUESSED = 100_000
"""People among whom the control is measured; with more of them, so many are drawn."""
_ROUNDING = 1e-9


def inference(
    columns: Sequence[tuple[Codes, int]], values: Floats, tolerance: float | None, rng: np.random.Generator
) -> Inference:
    """Of `values` from the columns; numbers are right within the tolerance, and without one when they are equal."""
    people, width = values.size, 2.0 * (tolerance or 0.0)
    in_table = _Guesses(classes_of(columns)[0], values, width).own_share()
    baseline = _Guesses(np.zeros(people, np.int64), values, width).own_share()
    drawn = rng.permutation(people)[:MOST_GUESSED]
    control = left_out_share([(codes[drawn], size) for codes, size in columns], values[drawn], width, rng)
    shares = share_interval(in_table, people), share_interval(control, drawn.size), share_interval(baseline, people)
    gain, own = excess(shares[0], shares[2]), excess(shares[0], shares[1])
    near = "" if tolerance is None else f" (within {digits(tolerance)})"
    meaning = (
        f"Guessed right{near}: {percent(in_table)} of people from the table, {percent(control)} "
        f"({interval(shares[1])}) of people left out of it, {percent(baseline)} without the columns."
    )
    return Inference(*shares, gain, own, tolerance, people, meaning)


def left_out_share(
    columns: Sequence[tuple[Codes, int]], values: Floats, width: float, rng: np.random.Generator
) -> float:
    """Share of people guessed right from other people's rows."""
    people = values.size
    folds = rng.permutation(people) % min(FOLDS, people)
    hits = np.array([_fold_hits(columns, values, width, folds, fold) for fold in range(folds.max() + 1)])
    others = hits.sum(axis=0) - hits  # how many people are enough is chosen on the other folds
    return float(hits[np.arange(len(hits)), others.argmax(axis=1)].sum()) / people


def _fold_hits(
    columns: Sequence[tuple[Codes, int]], values: Floats, width: float, folds: Codes, fold: int
) -> list[int]:
    """For each number of people that is enough, how many of the fold are guessed right."""
    known, asked = folds != fold, folds == fold
    half = known & (np.cumsum(known) % 2 == 0)
    order = sorted(columns, key=lambda one: -_single_hits(one, values, width, half, known & ~half))
    guesses = [_Guesses(np.zeros(values.size, np.int64), values, width, known)]
    guesses += [_Guesses(classes_of(order[: size + 1])[0], values, width, known) for size in range(len(order))]
    found = []
    for enough in ENOUGH:
        guess = np.full(values.size, np.nan)
        for level in guesses:
            guess = level.better(guess, enough)
        found.append(int(np.count_nonzero(_right(guess[asked], values[asked], width))))
    return found


def _single_hits(
    column: tuple[Codes, int], values: Floats, width: float, known: NDArray[np.bool_], asked: NDArray[np.bool_]
) -> int:
    nobody = np.full(values.size, np.nan)
    guess = _Guesses(column[0], values, width, known).better(nobody, ENOUGH[1])
    return int(np.count_nonzero(_right(guess[asked], values[asked], width)))


def _right(guess: Floats, values: Floats, width: float) -> NDArray[np.bool_]:
    return np.asarray(np.abs(guess - values) <= width / 2.0 * (1.0 + _ROUNDING))


class _Guesses:
    """The best guess of every class, made from the rows of the people who are known."""

    def __init__(self, classes: Codes, values: Floats, width: float, known: NDArray[np.bool_] | None = None) -> None:
        self._classes = classes
        held, seen = (classes, values) if known is None else (classes[known], values[known])
        begins = np.concatenate(([0], np.cumsum(np.bincount(held, minlength=int(classes.max()) + 1))))
        order = np.lexsort((seen, held))
        self._most, self._middle = densest(begins, seen[order], width * (1.0 + _ROUNDING))
        self._people = np.diff(begins)

    def own_share(self) -> float:
        """Share of the known people whose value is the guess of their class."""
        return float(self._most.sum()) / float(self._people.sum())

    def better(self, guess: Floats, enough: int) -> Floats:
        """The guesses of these classes where they hold enough people, those at hand elsewhere."""
        return np.where(self._people[self._classes] >= enough, self._middle[self._classes], guess)
