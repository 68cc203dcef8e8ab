"""Randomized response: tell the truth with probability theta, else name an item drawn uniformly from all of them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from entropie.mechanisms import probability
from entropie.mechanisms.mechanism import ItemMechanism
from entropie.mechanisms.randomness import Source
from entropie.mechanisms.truth import TruthMechanism
from entropie.mechanisms.values import checked_value
from entropie.theory import checks
from entropie.theory.loss import CountingRates, randomized_response_rates


@dataclass(frozen=True, slots=True, init=False)
class RandomizedResponse(TruthMechanism, ItemMechanism):
    """Randomized response over items 0 .. domain_size-1; a report is an item code.

    >>> mechanism = RandomizedResponse(domain_size=100, epsilon=2.0)
    >>> round(mechanism.theta, 4)
    0.06
    >>> 0 <= mechanism.obfuscate(42) < 100
    True
    """

    kind: ClassVar[str] = "rr"
    title: ClassVar[str] = "randomized response"
    domain_size: int
    theta_numerator: int
    """The truth is told with probability theta_numerator / 2^64."""

    def __init__(self, *, domain_size: int, epsilon: float) -> None:
        domain_size = checks.whole_number("domain_size", domain_size, at_least=2)
        self._set(domain_size, probability.numerator_of_epsilon(epsilon, domain_size))

    @property
    def epsilon(self) -> float:
        """The local differential privacy that is kept: never more than was asked for."""
        return probability.epsilon_of_numerator(self.theta_numerator, self.domain_size)

    @property
    def rates(self) -> CountingRates:
        """Mu = w/Z and nu = 1/Z."""
        return randomized_response_rates(self.domain_size, self.epsilon)

    def obfuscate(self, value: int) -> int:
        """One report, for a device. Truth and lie are both always drawn, so that time tells nothing."""
        value = checked_value(value, self.domain_size)
        lie = secrets.randbelow(self.domain_size)
        truthful = secrets.randbits(64) < self.theta_numerator
        return (lie, value)[truthful]

    def draw(self, values: NDArray[np.uint64], source: Source) -> NDArray[np.uint64]:
        """The truth with probability theta, else any item."""
        reports = source.below(self.domain_size, len(values))
        np.copyto(reports, values, where=probability.happens(self.theta_numerator, source.words(len(values))))
        return reports
