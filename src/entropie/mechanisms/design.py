"""The search behind `calibrate`: the least loss over mechanism, shape and theta that keeps every limit.

Shapes (hash values, items of a subset) are compared by closed forms first. Of the best of each kind the most truth is
then found by inverting the guarantee itself, to the last digit that a device can draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from entropie.mechanisms.families import Family, Hashing, Response, between, families
from entropie.mechanisms.goal import Goal, Scope
from entropie.theory import composition, everybody, repeated
from entropie.theory.crowd import Crowd
from entropie.theory.special import largest_where

_TRIES = 60
_FINE = 1e-6
ENOUGH = 1.01
"""Of the settings whose loss is within 1 % of the least, the one with the smallest report is taken."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """A setting found by closed forms."""

    family: Family
    epsilon: float
    theta: float
    loss: float


def best_of_each(goal: Goal, kinds: Iterable[str], hash_size: int | None = None) -> list[Sketch]:
    """The best shape of every kind that fits, in the order of the kinds."""
    found = (_best_shape(goal, kind, hash_size) for kind in kinds)
    return [one for one in found if one is not None]


def best(sketches: Iterable[Sketch]) -> Sketch:
    """The smallest report among those whose loss is hardly above the least."""
    tried = list(sketches)
    least = min(one.loss for one in tried)
    return min((one for one in tried if one.loss <= least * ENOUGH), key=lambda one: one.family.report_bits())


def _best_shape(goal: Goal, kind: str, hash_size: int | None) -> Sketch | None:
    """Among round sizes first, then between those on both sides of the least loss."""
    slow = goal.scope == "alone" and goal.crowd.reports > 1
    coarse = _sketches(goal, families(kind, goal.domain_size, hash_size, slow))
    if not coarse:
        return None
    at = min(range(len(coarse)), key=lambda place: coarse[place].loss)
    ends = (coarse[max(0, at - 1)].family, coarse[min(len(coarse) - 1, at + 1)].family)
    return best([*coarse, *_sketches(goal, between(*ends, 6 if slow else 40))])


def _sketches(goal: Goal, shapes: Iterable[Family]) -> list[Sketch]:
    """The most truth that each shape may have, and its loss."""
    budget, crowd, found = min(allowed_epsilon(goal), goal.max_epsilon), goal.crowd, []
    for family in shapes:
        if family.fits(goal.max_report_bits):
            theta = min(_theta_of_error(crowd, goal.bayes_error, goal.scope, family), family.theta_for(budget))
            loss = goal.counted.loss(family.rates(theta), crowd.users)
            found.append(Sketch(family, family.epsilon_for(theta), theta, loss))
    return found


@lru_cache(maxsize=256)
def allowed_epsilon(goal: Goal) -> float:
    """The largest epsilon that keeps the certainty: ln(n-1)/2t for one half where all reports leak, ln(n-1)/t alone."""
    if goal.certainty_at(math.inf) <= goal.certainty:
        return math.inf
    return largest_where(lambda epsilon: goal.certainty_at(epsilon) <= goal.certainty, 0.0, 1e6)


@lru_cache(maxsize=8192)
def _theta_of_error(crowd: Crowd, bayes_error: float, scope: Scope, family: Family) -> float:
    """The largest theta that keeps the error rate, by the direct bound."""
    if scope == "all":  # the same for all that have so much truth
        return min(_theta_of_all(crowd, bayes_error, family.domain_size), family.theta_for(math.inf))
    allowed = (1.0 - bayes_error) * (1.0 + 1e-12)
    low, high = 0.0, family.theta_for(math.inf)
    under, over = (_direct(crowd, family, end) - allowed for end in (low, high))
    if over <= 0.0:
        return high
    for _ in range(_TRIES):  # false position; an end that stays counts half (Illinois)
        middle = (low * over - high * under) / (over - under)
        excess = _direct(crowd, family, middle) - allowed
        if high - low <= _FINE * high or not low < middle < high:
            break
        if excess <= 0.0:
            low, under, over = middle, excess, over / 2.0
        else:
            high, under, over = middle, under / 2.0, excess
    return low


@lru_cache(maxsize=256)
def _theta_of_all(crowd: Crowd, bayes_error: float, domain_size: int) -> float:
    allowed = (1.0 - bayes_error) * (1.0 + 1e-12)
    return largest_where(
        lambda theta: float(everybody.success(crowd, domain_size, Fraction(theta))) <= allowed, 0.0, 1.0
    )


def _direct(crowd: Crowd, family: Family, theta: float) -> float:
    """What one person's reports that leak alone let L guesses get, at most."""
    guesses, t, prior = float(min(Fraction(1), crowd.guesses)), crowd.reports, crowd.prior_max or 0.0
    factor = (family.raised(crowd.users, theta) - (1.0 - theta)) / theta if theta else 1.0
    if t == 1:
        return theta * min(1.0, factor * guesses) + (1.0 - theta) * guesses
    if isinstance(family, Response | Hashing):
        factor = min(family.answers, family.domain_size)
    bound = composition.success(theta, factor, crowd.users, t, crowd.list_size, prior)
    if not prior and isinstance(family, Response | Hashing):
        answers = int(family.answers)
        people = min(crowd.users, answers)
        if answers >= t and repeated.is_exact(people, answers, t):
            bound = min(bound, repeated.success(people, answers, theta, t, crowd.list_size))
    return bound
