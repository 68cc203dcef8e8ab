"""What is wanted of a mechanism, and whether one keeps it: limits on error, certainty, budget and size of a report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from entropie.errors import InvalidParameter, Unreachable, option
from entropie.mechanisms.families import Calibrated, Family
from entropie.mechanisms.truth import ShapedMechanism
from entropie.theory import any_mechanism, checks, everybody, fano
from entropie.theory.calibration import beyond_chance
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import (
    certified_alpha_bits,
    certified_success,
    entry_bits,
    noisy_alpha_bits,
    noisy_success,
    raised,
)
from entropie.theory.special import last_where
from entropie.theory.weights import LossWeights

Scope = Literal["all", "alone"]
Limit = Literal["certainty", "error", "epsilon"]


@dataclass(frozen=True, slots=True)
class Goal:
    """What is wanted of a mechanism over `domain_size` items that the people of `crowd` use.

    bayes_error      error rate of an attacker with the crowd's number of guesses, at least
    certainty        worst-case certainty about one person, at most
    scope            of whom both hold: whoever holds "all" reports (where those of one person are linked, also for who
                     sees one person's), or sees one person's "alone"
    max_epsilon      budget of one report, at most
    max_report_bits  size of one report, at most
    weights          whose squared errors are to be small; those of all items unless told

    >>> Goal(Crowd(1_000_000), 1000, bayes_error=0.9).certainty
    0.5
    """

    crowd: Crowd
    domain_size: int
    bayes_error: float
    certainty: float = 0.5
    scope: Scope = "all"
    max_epsilon: float = math.inf
    max_report_bits: float = math.inf
    weights: LossWeights | None = None

    def __post_init__(self) -> None:
        rule = "a probability from 0 to 1"
        positive = "a number above 0"
        checked = {
            "domain_size": checks.whole_number("domain", self.domain_size, at_least=2),
            "bayes_error": checks.bayes_error_value(self.bayes_error),
            "certainty": checks.share_value("certainty", self.certainty, rule),
            "max_epsilon": checks.real_number("max_epsilon", self.max_epsilon, positive, 5e-324, math.inf),
            "max_report_bits": checks.real_number("max_report_bits", self.max_report_bits, positive, 5e-324, math.inf),
            "weights": self.weights or LossWeights.whole(self.domain_size),
        }
        if self.scope not in ("all", "alone"):
            raise InvalidParameter.of("scope", "all or alone", self.scope)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        checks.whole_number("top", self.counted.items, at_least=1, at_most=self.domain_size)

    @property
    def counted(self) -> LossWeights:
        """Whose squared errors are to be small."""
        assert self.weights is not None
        return self.weights

    def check(self) -> None:
        """Refuse what pure noise does not reach."""
        chance = min(Fraction(1), self.crowd.guesses)
        if chance > self.allowed:
            raise beyond_chance(self.bayes_error, float(1 - chance))
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
        return self.broken(made) is None

    def broken(self, made: Calibrated) -> Limit | None:
        """The limit that this mechanism does not keep, the size of a report apart."""
        if made.epsilon > self.max_epsilon:
            return "epsilon"
        if self.certainty_at(made.epsilon) > self.certainty:
            return "certainty"
        return None if self._error_kept(made) else "error"

    def _error_kept(self, made: Calibrated) -> bool:
        crowd = self.crowd
        if self.scope == "alone":
            return _success_alone(made, crowd) <= self.allowed
        if everybody.success(crowd, self.domain_size, made.truth) <= self.allowed:
            return True
        bits = everybody.alpha_bits(crowd, self.domain_size, made.theta, _entry_bits(made, crowd))
        return raised(fano.success(bits, crowd.users, crowd.prior_max, crowd.list_size)) <= self.allowed

    def largest(self, family: Family) -> Calibrated:
        """The mechanism with the most truth that meets the goal: that of the next step does not."""
        return family.at(self.largest_step(family))

    def largest_step(self, family: Family) -> int:
        """Its step; pure noise meets every goal that `check` lets pass."""
        if self.met(family.at(family.steps)):
            return family.steps
        return last_where(lambda step: self.met(family.at(step)), 0, family.steps)


def _success_alone(made: Calibrated, crowd: Crowd) -> Fraction:
    """The certified chance of naming whose reports leaked."""
    if not isinstance(made, ShapedMechanism):
        return certified_success(made.channel, crowd, made.truth)
    factor = min(made._factor(crowd.users), float(min(crowd.users, made.domain_size)))
    return noisy_success(crowd, made.truth, factor, _shaped_bits(made, crowd, factor))


def _entry_bits(made: Calibrated, crowd: Crowd) -> float:
    """Bound on the information in one entry of a store."""
    if not isinstance(made, ShapedMechanism):
        return entry_bits(made.channel, crowd, certified_alpha_bits(made.channel, crowd))
    if not crowd.linked:
        return made.bits_alone(crowd.users)
    factor = min(made._factor(crowd.users), float(min(crowd.users, made.domain_size)))
    return _shaped_bits(made, crowd, factor)


def _shaped_bits(made: ShapedMechanism, crowd: Crowd, factor: float) -> float:
    return noisy_alpha_bits(crowd, made.domain_size, float(made.truth), factor, made.bits_alone(crowd.users))
