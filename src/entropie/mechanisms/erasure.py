"""Erasure: the item is sent with probability theta, else a sign that there is none. Nothing can be denied.

Publishing a random share of the data is this. On average it re-identifies as few people as randomized response with the
same theta, at the least loss of all; but a report that arrives is true, so that the certainty about its sender has no
limit. It is here to be compared with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidParameter
from entropie.estimation.counting import value_supports
from entropie.estimation.counts import Counters
from entropie.mechanisms import parameters, probability
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.randomness import Source
from entropie.mechanisms.values import checked_values
from entropie.theory import checks
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import ChannelParameters, Guarantee, noisy_guarantee
from entropie.theory.loss import CountingRates


@dataclass(frozen=True, slots=True, init=False)
class Erasure(Mechanism):
    """Erasure over items 0 .. domain_size-1; the report `domain_size` says that there is none.

    >>> Erasure.from_theta(domain_size=100, theta=0.5).epsilon
    inf
    """

    kind: ClassVar[str] = "erasure"
    title: ClassVar[str] = "erasure (no deniability)"
    domain_size: int
    theta_numerator: int
    """The item is sent with probability theta_numerator / 2^64."""

    def __init__(self, *, domain_size: int, epsilon: float) -> None:
        raise InvalidParameter.of("epsilon", "absent for erasure, which has none; give theta", epsilon)

    @classmethod
    def from_theta(cls, *, domain_size: int, theta: float | Fraction) -> Erasure:
        """Erasure that sends the item with this probability (rounded down to a multiple of 2^-64)."""
        mechanism = cls.__new__(cls)
        size = checks.whole_number("domain_size", domain_size, at_least=2, at_most=checks.LARGEST_SIZE - 1)
        object.__setattr__(mechanism, "domain_size", size)
        object.__setattr__(mechanism, "theta_numerator", probability.numerator_of_theta(theta))
        return mechanism

    @property
    def theta(self) -> float:
        """Probability that the item is sent."""
        return self.theta_numerator / probability.ONE

    @property
    def truth(self) -> Fraction:
        """Theta to its last digit."""
        return Fraction(self.theta_numerator, probability.ONE)

    @property
    def epsilon(self) -> float:
        """No local differential privacy, unless nothing is ever sent."""
        return math.inf if self.theta_numerator else 0.0

    @property
    def rates(self) -> CountingRates:
        """A report supports its item with theta and no other."""
        return CountingRates(mu=self.theta, nu=0.0, gain=self.theta, mu_off=float(1 - self.truth))

    def guarantee_for(self, crowd: Crowd) -> Guarantee:
        """What arrives tells the item, and what does not tells nothing: exact for one report."""
        channel = ChannelParameters(self.kind, self.domain_size, self.epsilon, theta=self.theta)
        kinds = min(crowd.users, self.domain_size)
        return noisy_guarantee(crowd, channel, self.truth, float(kinds), self.theta * math.log2(kinds))

    def draw(self, values: NDArray[np.uint64], source: Source) -> NDArray[np.uint64]:
        """The items, and the sign for none in place of most."""
        sent = probability.happens(self.theta_numerator, source.words(len(values)))
        return np.where(sent, values, np.uint64(self.domain_size))

    @property
    def report_columns(self) -> dict[str, int]:
        """One column of item codes, one code more than there are items."""
        return {"report": self.domain_size + 1}

    def supports(
        self, reports: Any, items: NDArray[np.uint64] | None, threads: int | None = None
    ) -> tuple[Counters, int]:
        """How many reports name each item."""
        codes = checked_values(reports, self.domain_size + 1)
        return value_supports(codes[codes < self.domain_size], self.domain_size, items), len(codes)

    def to_parameters(self) -> dict[str, Any]:
        """The fields of the parameter document."""
        size, numerator = str(self.domain_size), str(self.theta_numerator)
        return {"kind": self.kind, "domain_size": size, "theta_numerator": numerator}

    @classmethod
    def from_parameters(cls, fields: dict[str, Any]) -> Erasure:
        """The mechanism that a parameter document describes."""
        size, numerator = parameters.integers_and_theta(fields, "domain_size")
        return cls.from_theta(domain_size=size, theta=Fraction(numerator, probability.ONE))
