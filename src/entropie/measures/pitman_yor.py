"""The process of Pitman and Yor fitted to sizes of classes: how many people it leaves alone, and how classes grow.

Classes are those of an exchangeable partition with discount d and strength theta, of greatest likelihood for all sizes
together. A person is alone among N with probability

    product over i < N of (theta + i - 1 + d)/(theta + i) = B(a, b + N - 1)/B(a, b),  a = 1 - d, b = theta + d

which is the curve of `measures.projection`. With 0 < d < 1 there are always new classes; with d < 0 there are -theta/d
in all, of shares that follow a symmetric Dirichlet law. Both are tried. Given the people at hand, a class of s of n
gains among m more Beta-binomial(m; s - d, theta + n - s + d).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.measures.cells import log_gamma

Floats = NDArray[np.float64]
Bend = Callable[[Floats], tuple[float, float]]
_STEPS, _HALVINGS, _REACHED = 100, 40, 1e-6
_WIDTH = 0.02  # of differences that stand for slopes
_SUMMED, _PLACES = 2048, 1000
_ENDS = np.array([[-9.0, -7.0], [9.0, 35.0]])  # of logit d and ln b
_LIMITED = np.array([[-9.0, -12.0], [9.0, 35.0]])  # of ln -d and ln(classes not seen)
_VAGUE = 9.0  # variance where the sizes say nothing of a setting


@dataclass(frozen=True, slots=True)
class PitmanYor:
    """a = 1 - d and b = theta + d; `moves` says how they change with the two settings that were fitted."""

    a: float
    b: float
    moves: Bend
    settings: tuple[float, float]
    covariance: Floats

    @classmethod
    def fitted(cls, sizes: NDArray[np.int64]) -> PitmanYor:
        """The likelier of the fit with ever new classes and that with a number of them."""
        distinct, times = (found.astype(np.float64) for found in np.unique(sizes, return_counts=True))
        classes = float(sizes.size)

        def ever_new(at: Floats) -> tuple[float, float]:
            return 1.0 / (1.0 + math.exp(at[0])), math.exp(at[1])

        def limited(at: Floats) -> tuple[float, float]:
            return 1.0 + math.exp(at[0]), math.exp(at[0]) * (classes - 1.0 + math.exp(at[1]))

        found = []
        for moves, ends in ((ever_new, _ENDS), (limited, _LIMITED)):
            begin = np.array([0.0, math.log(1.0 + classes / 4.0)])

            def height(at: Floats, moves: Bend = moves) -> float:
                return _log_likelihood(*moves(at), distinct, times)

            at, covariance = _climbed(height, begin, ends)
            found.append((height(at), cls(*moves(at), moves, (float(at[0]), float(at[1])), covariance)))
        return max(found, key=lambda one: one[0])[1]

    def alone(self, people: int, population: int) -> tuple[float, float]:
        """ln of how far the share of people who are alone falls from the people to the population, and its error."""
        return self._fall(_log_alone, people, population)

    def classes(self, people: int, population: int) -> tuple[float, float]:
        """The same of the classes per person, which is the share named by picking anybody who fits."""
        return self._fall(_log_classes, people, population)

    def _fall(self, curve: Callable[[float, float, int], float], people: int, population: int) -> tuple[float, float]:
        def fall(at: Floats) -> float:
            a, b = self.moves(at)
            return curve(a, b, population) - curve(a, b, people)

        at = np.array(self.settings)
        slope = np.array([(fall(at + move) - fall(at - move)) / (2.0 * _WIDTH) for move in np.eye(2) * _WIDTH])
        return fall(at), math.sqrt(max(0.0, float(slope @ self.covariance @ slope)))

    def growth(self, distinct: NDArray[np.int64], people: int, population: int, until: int) -> Floats:
        """Pr(a class of so many has fewer than k of the population): rows by size, k from 0 to `until`."""
        more = population - people
        first, second = distinct + self.a - 1.0, self.b + people - distinct
        log_term = log_gamma(second + more) - log_gamma(second) - log_gamma(first + second + more)
        term = np.exp(log_term + log_gamma(first + second))
        below = np.zeros((distinct.size, until + 1))
        for k in range(until):
            gained = k - distinct
            inside = (gained >= 0) & (gained <= more)
            below[:, k + 1] = below[:, k] + np.where(inside, term, 0.0)
            last = inside & (gained < more)
            rest = np.where(last, (gained + 1.0) * (second + more - gained - 1.0), 1.0)
            term = np.where(last, term * (more - gained) * (first + gained) / rest, term)
        return np.minimum(below, 1.0)


def _curve(a: float, b: float, people: Floats) -> Floats:
    """ln of the probability of being alone among so many."""
    return np.asarray(log_gamma(b + people - 1.0) - log_gamma(b) - log_gamma(a + b + people - 1.0) + log_gamma(a + b))


def _log_alone(a: float, b: float, people: int) -> float:
    return float(_curve(a, b, np.array([people], dtype=np.float64))[0])


def _log_classes(a: float, b: float, people: int) -> float:
    """ln of the mean of being alone among 1, 2 ... of them, which is the expected number of classes for each person."""
    first = min(people, _SUMMED)
    total = float(np.exp(_curve(a, b, np.arange(1.0, first + 1.0))).sum())
    if people > first:
        grid = np.geomspace(first + 0.5, people + 0.5, _PLACES)
        heights = np.exp(_curve(a, b, grid))
        total += float((np.diff(grid) * (heights[1:] + heights[:-1]) / 2.0).sum())
    return math.log(min(1.0, total / people))


def _log_likelihood(a: float, b: float, distinct: Floats, times: Floats) -> float:
    """ln of the probability of the partition (Pitman 1995)."""
    people, classes, d = float(times @ distinct), float(times.sum()), 1.0 - a
    if d > 0.0:
        new = (classes - 1.0) * math.log(d) + float(log_gamma(b / d + classes - 1.0) - log_gamma(b / d))
    else:
        new = (classes - 1.0) * math.log(-d) + float(log_gamma(-b / d + 1.0) - log_gamma(-b / d + 2.0 - classes))
    joined = float(times @ (log_gamma(distinct - d) - log_gamma(1.0 - d)))
    return new + joined - float(log_gamma(b - d + people) - log_gamma(b - d + 1.0))


def _climbed(height: Callable[[Floats], float], at: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """Where the height is greatest, and the inverse of its curvature there.

    Newton's steps, uphill where they would lead down, halved where they go too far.
    """
    reached = height(at)
    for _ in range(_STEPS):
        slope, bend = _shape(height, at)
        step = np.linalg.pinv(-bend) @ slope
        step = slope if step @ slope <= 0.0 else step
        step = step / max(1.0, float(np.abs(step).max()))
        for _ in range(_HALVINGS):
            moved = np.clip(at + step, *ends)
            if height(moved) > reached:
                break
            step = step / 2.0
        else:
            break
        far, at, reached = float(np.abs(moved - at).max()), moved, height(moved)
        if far < _REACHED:
            break
    strength, ways = np.linalg.eigh(-_shape(height, at)[1])
    return at, (ways / np.maximum(strength, 1.0 / _VAGUE)) @ ways.T


def _shape(height: Callable[[Floats], float], at: Floats) -> tuple[Floats, Floats]:
    """Slope and curvature by differences."""
    moves = np.eye(2) * _WIDTH
    middle = height(at)
    up, down = np.array([height(at + move) for move in moves]), np.array([height(at - move) for move in moves])
    both = [height(at + one * moves[0] + other * moves[1]) for one in (1, -1) for other in (1, -1)]
    cross = (both[0] - both[1] - both[2] + both[3]) / (4.0 * _WIDTH**2)
    own = (up - 2.0 * middle + down) / _WIDTH**2
    return (up - down) / (2.0 * _WIDTH), np.array([[own[0], cross], [cross, own[1]]])
