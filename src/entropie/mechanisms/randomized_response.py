"""Randomized response: tell the truth with probability theta, else name an item drawn uniformly from all of them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.errors import InvalidInput
from entropie.estimation.counting import value_supports
from entropie.estimation.counts import Counts
from entropie.estimation.estimates import Estimates, estimate
from entropie.mechanisms import parameters, probability
from entropie.mechanisms.randomness import SimulationSource, Source, SystemSource
from entropie.mechanisms.values import checked_value, checked_values
from entropie.theory import checks
from entropie.theory.guarantee import ChannelParameters, Guarantee, guarantee
from entropie.theory.loss import CountingRates, randomized_response_rates

Codes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, init=False)
class RandomizedResponse:
    """Randomized response over items 0 .. domain_size-1; a report is an item code.

    >>> mechanism = RandomizedResponse(domain_size=100, epsilon=2.0)
    >>> round(mechanism.theta, 4)
    0.06
    >>> 0 <= mechanism.obfuscate(42) < 100
    True
    """

    kind: ClassVar[str] = "rr"
    domain_size: int
    theta_numerator: int
    """The truth is told with probability theta_numerator / 2^64."""

    def __init__(self, *, domain_size: int, epsilon: float) -> None:
        domain_size = checks.whole_number("domain_size", domain_size, at_least=2)
        self._set(domain_size, probability.numerator_of_epsilon(epsilon, domain_size))

    @classmethod
    def from_theta(cls, *, domain_size: int, theta: float | Fraction) -> RandomizedResponse:
        """Randomized response that tells the truth with this probability (rounded down to a multiple of 2^-64)."""
        mechanism = cls.__new__(cls)
        mechanism._set(
            checks.whole_number("domain_size", domain_size, at_least=2), probability.numerator_of_theta(theta)
        )
        return mechanism

    def _set(self, domain_size: int, theta_numerator: int) -> None:
        object.__setattr__(self, "domain_size", domain_size)
        object.__setattr__(self, "theta_numerator", theta_numerator)

    @property
    def theta(self) -> float:
        """Probability of telling the truth."""
        return self.theta_numerator / probability.ONE

    @property
    def epsilon(self) -> float:
        """The local differential privacy that is kept: never more than was asked for."""
        return probability.epsilon_of_numerator(self.theta_numerator, self.domain_size)

    @property
    def rates(self) -> CountingRates:
        """Mu = w/Z and nu = 1/Z."""
        return randomized_response_rates(self.domain_size, self.epsilon)

    @property
    def channel(self) -> ChannelParameters:
        """The numbers a guarantee depends on."""
        return ChannelParameters(self.kind, self.domain_size, self.epsilon)

    def guarantee(
        self, *, users: int, reports: int = 1, list_size: int = 1, prior_max: float | None = None
    ) -> Guarantee:
        """What is guaranteed when this many users send this many reports each."""
        return guarantee(self.channel, users, reports, list_size, prior_max)

    def obfuscate(self, value: int) -> int:
        """One report, for a device. Truth and lie are both always drawn, so that time tells nothing."""
        value = checked_value(value, self.domain_size)
        lie = secrets.randbelow(self.domain_size)
        truthful = secrets.randbits(64) < self.theta_numerator
        return (lie, value)[truthful]

    def obfuscate_many(self, values: ArrayLike) -> Codes:
        """Many reports with the operating system's randomness."""
        return self._draw(values, SystemSource())

    def simulate(self, values: ArrayLike, rng: np.random.Generator) -> Codes:
        """Many reports from a seeded generator, for experiments."""
        return self._draw(values, SimulationSource(rng))

    def _draw(self, values: ArrayLike, source: Source) -> Codes:
        truth = checked_values(values, self.domain_size)
        reports = source.below(self.domain_size, len(truth))
        np.copyto(reports, truth, where=probability.happens(self.theta_numerator, source.words(len(truth))))
        return reports

    def count(self, reports: ArrayLike, into: Counts | None = None, items: ArrayLike | None = None) -> Counts:
        """Count a batch of reports, `into` earlier counts if given (which then grow)."""
        counts = parameters.counts_for(self, into, items)
        codes = checked_values(reports, self.domain_size)
        counts.add_supports(value_supports(codes, self.domain_size, counts.items), len(codes))
        return counts

    def estimate(self, reports: ArrayLike, items: ArrayLike | None = None) -> Estimates:
        """Unbiased estimates from one batch of reports."""
        return estimate(self.count(reports, items=items), self.rates)

    def to_parameters(self) -> dict[str, Any]:
        """The fields of the parameter document."""
        return {
            "kind": self.kind,
            "domain_size": str(self.domain_size),
            "theta_numerator": str(self.theta_numerator),
        }

    @classmethod
    def from_parameters(cls, fields: dict[str, Any]) -> RandomizedResponse:
        """The mechanism that a parameter document describes."""
        size, numerator = parameters.integers(fields, "domain_size", "theta_numerator")
        if numerator > probability.ONE:
            raise InvalidInput(f"Field `theta_numerator` must be at most 2^64, got {numerator} instead.")
        return cls.from_theta(domain_size=size, theta=Fraction(numerator, probability.ONE))
