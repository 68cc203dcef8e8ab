"""Hadamard response: a report is one of about k answers, of which every item supports a different half.

Item x supports the answers y with an even number of ones in (x+1) AND y. With probability theta the answer is drawn
from the half that the true item supports, else from all. Small reports, one number each, and counts for all items at
once by a fast Walsh-Hadamard transform: the mechanism for a small epsilon and many items.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidParameter
from entropie.estimation.counts import Counters
from entropie.mechanisms import parameters, probability
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.randomness import Source
from entropie.mechanisms.values import checked_values
from entropie.theory import checks
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import ChannelParameters, Guarantee, noisy_guarantee
from entropie.theory.loss import CountingRates
from entropie.theory.randomized_response import psi_gap_over

LARGEST_DOMAIN = (1 << 28) - 1
"""More answers than this would take gigabytes to count."""


@dataclass(frozen=True, slots=True, init=False)
class HadamardResponse(Mechanism):
    """Hadamard response over items 0 .. domain_size-1; a report is an answer below `answers`.

    >>> mechanism = HadamardResponse(domain_size=100, epsilon=1.0)
    >>> mechanism.answers
    128
    >>> 0 <= mechanism.obfuscate(42) < 128
    True
    """

    kind: ClassVar[str] = "hadamard"
    title: ClassVar[str] = "Hadamard response"
    domain_size: int
    theta_numerator: int
    """The answer comes from the half of the true item with probability theta_numerator / 2^64, else from all."""

    def __init__(self, *, domain_size: int, epsilon: float) -> None:
        self._set(domain_size, probability.numerator_of_epsilon(epsilon, 2))

    @classmethod
    def from_theta(cls, *, domain_size: int, theta: float | Fraction) -> HadamardResponse:
        """Hadamard response with this probability of a true half (rounded down to a multiple of 2^-64)."""
        mechanism = cls.__new__(cls)
        mechanism._set(domain_size, probability.numerator_of_theta(theta))
        return mechanism

    def _set(self, domain_size: int, theta_numerator: int) -> None:
        domain_size = checks.whole_number("domain_size", domain_size, at_least=2)
        if domain_size > LARGEST_DOMAIN:
            rule = f"at most {LARGEST_DOMAIN} for Hadamard response (local hashing has no limit)"
            raise InvalidParameter.of("domain_size", rule, domain_size)
        object.__setattr__(self, "domain_size", domain_size)
        object.__setattr__(self, "theta_numerator", theta_numerator)

    @property
    def answers(self) -> int:
        """The smallest power of two above the number of items."""
        return 1 << self.domain_size.bit_length()

    @property
    def theta(self) -> float:
        """Probability that the item plays a part."""
        return self.theta_numerator / probability.ONE

    @property
    def truth(self) -> Fraction:
        """Theta to its last digit."""
        return Fraction(self.theta_numerator, probability.ONE)

    @property
    def epsilon(self) -> float:
        """The local differential privacy that is kept: ln((1+theta)/(1-theta))."""
        return probability.epsilon_of_numerator(self.theta_numerator, 2)

    @property
    def rates(self) -> CountingRates:
        """A report supports its true item with (1+theta)/2 and any other with 1/2: two halves share a quarter."""
        return CountingRates(
            mu=(1.0 + self.theta) / 2.0, nu=0.5, gain=self.theta / 2.0, mu_off=(1.0 - self.theta) / 2.0
        )

    def guarantee_for(self, crowd: Crowd) -> Guarantee:
        """Answers from a true half are at most twice as likely as by chance, so that a guess doubles at most."""
        channel = ChannelParameters(self.kind, self.domain_size, self.epsilon, theta=self.theta)
        single = psi_gap_over(2, min(2, crowd.users), self.epsilon)
        return noisy_guarantee(crowd, channel, self.truth, 2.0, single)

    def draw(self, values: NDArray[np.uint64], source: Source) -> NDArray[np.uint64]:
        """Any answer; in a report that is true, one outside the item's half is exchanged with its partner inside."""
        answers = source.below(self.answers, len(values))
        masks = values + np.uint64(1)
        outside = (np.bitwise_count(masks & answers) & 1).astype(bool)
        truthful = probability.happens(self.theta_numerator, source.words(len(values)))
        partner = answers ^ (masks & (~masks + np.uint64(1)))  # one bit of the mask changed: the parity turns
        return np.where(truthful & outside, partner, answers)

    @property
    def report_columns(self) -> dict[str, int]:
        """One column of answers."""
        return {"report": self.answers}

    def supports(
        self, reports: Any, items: NDArray[np.uint64] | None, threads: int | None = None
    ) -> tuple[Counters, int]:
        """How many reports each item supports: (reports + transform of their histogram) / 2, in O(n + K log K)."""
        codes = checked_values(reports, self.answers)
        histogram = np.bincount(codes.astype(np.int64), minlength=self.answers).astype(np.int64)
        balance = walsh_hadamard(histogram)[1 : self.domain_size + 1]
        supported = ((len(codes) + balance) // 2).astype(np.int64)
        return (supported if items is None else supported[items.astype(np.int64)]), len(codes)

    def to_parameters(self) -> dict[str, Any]:
        """The fields of the parameter document."""
        size, numerator = str(self.domain_size), str(self.theta_numerator)
        return {"kind": self.kind, "domain_size": size, "theta_numerator": numerator}

    @classmethod
    def from_parameters(cls, fields: dict[str, Any]) -> HadamardResponse:
        """The mechanism that a parameter document describes."""
        size, numerator = parameters.integers_and_theta(fields, "domain_size")
        return cls.from_theta(domain_size=size, theta=Fraction(numerator, probability.ONE))


def walsh_hadamard(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """sum_y (-1)^(ones of x AND y) values[y] for every x; the length is a power of two."""
    found = values.copy()
    half = 1
    while half < len(found):
        pairs = found.reshape(-1, 2, half)
        low, high = pairs[:, 0].copy(), pairs[:, 1].copy()
        pairs[:, 0], pairs[:, 1] = low + high, low - high
        half *= 2
    return found
