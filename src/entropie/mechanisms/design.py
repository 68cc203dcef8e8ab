"""The search behind `calibrate`: the least loss over mechanism, hash size and theta that keeps every limit.

The largest theta is found by inverting the guarantee itself, to the last digit that a device can draw (T of T/2^64):
the guarantee of T keeps every limit, that of T + 1 does not. Hash sizes are compared by closed forms first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from entropie.errors import Unreachable, option
from entropie.mechanisms import probability
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.theory import any_mechanism, checks, composition, everybody, fano, repeated
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import certified_alpha_bits, certified_success, entry_bits, raised
from entropie.theory.loss import local_hashing_rates, randomized_response_rates
from entropie.theory.special import epsilon_of, largest_where, theta_of

Calibrated = RandomizedResponse | LocalHashing
Scope = Literal["all", "alone"]
_TENTHS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
_ENOUGH = 1.01
"""Of the hash sizes whose loss is within 1 % of the least, the smallest is taken."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What is wanted of a mechanism over `domain_size` items.

    bayes_error   error rate of an attacker with the crowd's number of guesses, at least
    certainty     worst-case certainty about one person, at most
    scope         what leaks: "all" reports, or one person's "alone"
    """

    crowd: Crowd
    domain_size: int
    bayes_error: float
    certainty: float = 1.0
    scope: Scope = "all"

    def check(self) -> None:
        """Refuse what pure noise does not reach."""
        chance = min(Fraction(1), self.crowd.guesses)
        if chance > self.allowed:
            raise Unreachable(
                f"An error rate of {self.bayes_error:.10g} cannot be guaranteed: by chance alone it is "
                f"{float(1 - chance):.10g} at most; lower {option('bayes_error')}, or have more people."
            )
        known = self.certainty_at(0.0)
        if known > self.certainty:
            raise Unreachable(
                f"A certainty of {self.certainty:.10g} about one person cannot be guaranteed: without any report it is "
                f"{known:.10g} already; raise {option('certainty')}, or have more people."
            )

    @property
    def allowed(self) -> Fraction:
        """The success that the wanted error rate leaves, as people write it: 1 - 0.9 is 0.1."""
        return 1 - Fraction(repr(float(self.bayes_error)))

    def certainty_at(self, epsilon: float) -> float:
        """Worst-case certainty about one person."""
        if self.scope == "all":
            return everybody.posterior_max(self.crowd, epsilon)
        return any_mechanism.posterior_max(self.crowd.users, epsilon, self.crowd.reports, self.crowd.prior_max)

    def met(self, made: Calibrated) -> bool:
        """Whether the guarantee of this mechanism keeps every limit."""
        if self.certainty_at(made.epsilon) > self.certainty:
            return False
        crowd = self.crowd
        if self.scope == "alone":
            return certified_success(made.channel, crowd, made.truth) <= self.allowed
        if everybody.success(crowd, self.domain_size, made.truth) <= self.allowed:
            return True
        alone = entry_bits(made.channel, crowd, certified_alpha_bits(made.channel, crowd))
        bits = everybody.alpha_bits(crowd, self.domain_size, made.theta, alone)
        return raised(fano.success(bits, crowd.users, crowd.prior_max, crowd.list_size)) <= self.allowed

    def largest(self, make: Callable[[Fraction], Calibrated]) -> Calibrated:
        """The mechanism with the most truth that meets the goal: the next T does not."""
        low, high = 0, probability.ONE
        if self.met(make(Fraction(1))):
            return make(Fraction(1))
        while high - low > 1:
            middle = (low + high) // 2
            if self.met(make(Fraction(middle, probability.ONE))):
                low = middle
            else:
                high = middle
        return make(Fraction(low, probability.ONE))


@dataclass(frozen=True, slots=True)
class Sketch:
    """A setting found by closed forms; `hash_size` is None for randomized response."""

    hash_size: int | None
    epsilon: float
    theta: float
    loss: float


def response(goal: Goal) -> RandomizedResponse:
    """Randomized response that meets the goal."""
    made = goal.largest(lambda theta: RandomizedResponse.from_theta(domain_size=goal.domain_size, theta=theta))
    assert isinstance(made, RandomizedResponse)
    return made


def hashing(goal: Goal, hash_size: int) -> LocalHashing:
    """Local hashing to this many values that meets the goal."""
    plain = LocalHashing.from_theta(domain_size=goal.domain_size, hash_size=hash_size, theta=0.0)
    made = goal.largest(plain.with_theta)
    assert isinstance(made, LocalHashing)
    return made


def best_hash_size(goal: Goal) -> int:
    """The smallest hash size whose loss is hardly above the least."""
    tried = [sketch for sketch in _sketches(goal) if sketch.hash_size is not None]
    least = min(sketch.loss for sketch in tried)
    return next(sketch.hash_size or 2 for sketch in tried if sketch.loss <= least * _ENOUGH)


def sketch(goal: Goal) -> Sketch:
    """The best setting of any mechanism, by closed forms."""
    tried = list(_sketches(goal))
    least = min(one.loss for one in tried)
    return next(one for one in tried if one.loss <= least * _ENOUGH)


def _sketches(goal: Goal) -> Iterator[Sketch]:
    """Randomized response, then local hashing by falling noise."""
    budget = _budget(goal)
    whatever_certain = replace(goal, certainty=1.0)  # so that trade-offs find what was worked out before
    of_error = None if goal.scope == "alone" else _theta_of_error(whatever_certain, goal.domain_size)
    for size in (None, *_hash_sizes(goal)):
        answers = size or goal.domain_size
        theta = _theta_of_error(whatever_certain, answers) if of_error is None else of_error
        theta = min(theta, theta_of(budget, answers))
        epsilon = epsilon_of(theta, answers)
        if size is None:
            rates = randomized_response_rates(answers, epsilon)
        else:
            rates = local_hashing_rates(size, epsilon, _collision(goal.domain_size, size))
        yield Sketch(size, epsilon, theta, rates.l2_sum(goal.domain_size, goal.crowd.users))


def _hash_sizes(goal: Goal) -> list[int]:
    """Round numbers; fewer where one takes long."""
    slow = goal.scope == "alone" and goal.crowd.reports > 1
    heads = _TENTHS[::3] if slow else _TENTHS
    sizes = (round(head * 10.0**power) for power in range(19) for head in heads)
    return [size for size in sizes if 2 <= size <= checks.LARGEST_SIZE]


def _collision(domain_size: int, hash_size: int) -> float:
    """About the collision probability: with the bound itself in place of the next prime."""
    prime = max(domain_size, hash_size, 3)
    quotient, rest = divmod(prime, hash_size)
    return quotient * (prime + rest - hash_size) / (prime * (prime - 1.0))


def _budget(goal: Goal) -> float:
    """The largest epsilon that keeps the certainty."""
    if goal.certainty_at(math.inf) <= goal.certainty:
        return math.inf
    return largest_where(lambda epsilon: goal.certainty_at(epsilon) <= goal.certainty, 0.0, 1e6)


@lru_cache(maxsize=4096)
def _theta_of_error(goal: Goal, answers: int) -> float:
    """The largest theta that keeps the error rate, by the direct bound."""
    allowed = 1.0 - goal.bayes_error

    def holds(theta: float) -> bool:
        return _direct(goal, answers, theta) <= allowed * (1.0 + 1e-12)

    if holds(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60 if goal.crowd.reports == 1 or goal.scope == "all" else 20):
        middle = (low + high) / 2.0
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _direct(goal: Goal, answers: int, theta: float) -> float:
    crowd, t = goal.crowd, goal.crowd.reports
    if goal.scope == "all":
        return float(everybody.success(crowd, goal.domain_size, Fraction(theta)))
    guesses = float(min(Fraction(1), crowd.guesses))
    buckets = min(crowd.users, goal.domain_size, answers)
    if t == 1:
        return theta * min(1.0, buckets * guesses) + (1.0 - theta) * guesses
    if crowd.prior_max is None and repeated.is_exact(crowd.users, answers, t):
        return repeated.success(crowd.users, answers, theta, t, crowd.list_size)
    few = min(answers, goal.domain_size)
    return composition.success(theta, few, crowd.users, t, crowd.list_size, crowd.prior_max or 0.0)
