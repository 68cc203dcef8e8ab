"""Local hashing: draw a hash function, send it with the hash of the item after randomized response over g values."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.errors import InvalidInput
from entropie.estimation.counting import hashed_supports
from entropie.estimation.counts import Counts
from entropie.estimation.estimates import Estimates, estimate
from entropie.mechanisms import parameters, probability
from entropie.mechanisms.hashing import HashFamily
from entropie.mechanisms.randomness import SimulationSource, Source, SystemSource
from entropie.mechanisms.values import checked_value, checked_values
from entropie.theory import checks
from entropie.theory.guarantee import ChannelParameters, Guarantee, guarantee
from entropie.theory.loss import CountingRates, local_hashing_rates


class HashedReport(NamedTuple):
    """One report: the function (a, b) and the value y it was answered with."""

    a: int
    b: int
    y: int


class HashedReports(NamedTuple):
    """Many reports, column by column."""

    a: NDArray[np.uint64]
    b: NDArray[np.uint64]
    y: NDArray[np.uint64]


@dataclass(frozen=True, slots=True, init=False)
class LocalHashing:
    """Local hashing of items 0 .. domain_size-1 to 0 .. hash_size-1; a report is (a, b, y).

    A new hash function is drawn for every report, from the operating system: a seed that a user keeps, or that
    numbers the users, would identify them.

    >>> mechanism = LocalHashing(domain_size=1000, hash_size=16, epsilon=2.0)
    >>> mechanism.family.prime
    1009
    >>> len(mechanism.obfuscate(7))
    3
    """

    kind: ClassVar[str] = "glh"
    domain_size: int
    family: HashFamily
    theta_numerator: int
    """The hash of the true item is sent with probability theta_numerator / 2^64."""

    def __init__(self, *, domain_size: int, hash_size: int, epsilon: float, prime: int | None = None) -> None:
        hash_size = checks.whole_number("hash_size", hash_size, at_least=2)
        self._set(domain_size, hash_size, probability.numerator_of_epsilon(epsilon, hash_size), prime)

    @classmethod
    def from_theta(
        cls, *, domain_size: int, hash_size: int, theta: float | Fraction, prime: int | None = None
    ) -> LocalHashing:
        """Local hashing that tells the truth with this probability (rounded down to a multiple of 2^-64)."""
        mechanism = cls.__new__(cls)
        mechanism._set(domain_size, hash_size, probability.numerator_of_theta(theta), prime)
        return mechanism

    @classmethod
    def binary(cls, *, domain_size: int, epsilon: float) -> LocalHashing:
        """BLH: two hash values."""
        return cls(domain_size=domain_size, hash_size=2, epsilon=epsilon)

    @classmethod
    def optimal(cls, *, domain_size: int, epsilon: float) -> LocalHashing:
        """OLH: e^eps + 1 hash values, the least noise for a rare item at this epsilon."""
        epsilon = checks.real_number("epsilon", epsilon, "a number from 0 to 41 (e^41 is the largest hash size)", 0, 41)
        return cls(domain_size=domain_size, hash_size=round(math.exp(epsilon) + 1.0), epsilon=epsilon)

    def _set(self, domain_size: int, hash_size: int, theta_numerator: int, prime: int | None) -> None:
        domain_size = checks.whole_number("domain_size", domain_size, at_least=2)
        hash_size = checks.whole_number("hash_size", hash_size, at_least=2)
        family = HashFamily.smallest(domain_size, hash_size) if prime is None else HashFamily(prime, hash_size)
        checks.whole_number("prime", family.prime, at_least=domain_size, at_most=1 << 62)
        object.__setattr__(self, "domain_size", domain_size)
        object.__setattr__(self, "family", family)
        object.__setattr__(self, "theta_numerator", theta_numerator)

    @property
    def hash_size(self) -> int:
        """How many hash values there are."""
        return self.family.hash_size

    @property
    def theta(self) -> float:
        """Probability of telling the truth."""
        return self.theta_numerator / probability.ONE

    @property
    def epsilon(self) -> float:
        """The local differential privacy that is kept: never more than was asked for."""
        return probability.epsilon_of_numerator(self.theta_numerator, self.hash_size)

    @property
    def rates(self) -> CountingRates:
        """Mu = w/Zg and nu = (1-theta)/g + theta c, with the collision probability of the family in use."""
        return local_hashing_rates(self.hash_size, self.epsilon, float(self.family.collision_probability))

    @property
    def channel(self) -> ChannelParameters:
        """The numbers a guarantee depends on."""
        return ChannelParameters(
            self.kind,
            self.domain_size,
            self.epsilon,
            self.hash_size,
            self.family.prime,
            float(self.family.collision_probability),
        )

    def guarantee(
        self, *, users: int, reports: int = 1, list_size: int = 1, prior_max: float | None = None
    ) -> Guarantee:
        """What is guaranteed when this many users send this many reports each."""
        return guarantee(self.channel, users, reports, list_size, prior_max)

    def obfuscate(self, value: int) -> HashedReport:
        """One report, for a device. Truth and lie are both always drawn, so that time tells nothing."""
        value = checked_value(value, self.domain_size)
        a = 1 + secrets.randbelow(self.family.prime - 1)
        b = secrets.randbelow(self.family.prime)
        truth, lie = self.family.value(a, b, value), secrets.randbelow(self.hash_size)
        truthful = secrets.randbits(64) < self.theta_numerator
        return HashedReport(a, b, (lie, truth)[truthful])

    def obfuscate_many(self, values: ArrayLike) -> HashedReports:
        """Many reports with the operating system's randomness."""
        return self._draw(values, SystemSource())

    def simulate(self, values: ArrayLike, rng: np.random.Generator) -> HashedReports:
        """Many reports from a seeded generator, for experiments."""
        return self._draw(values, SimulationSource(rng))

    def _draw(self, values: ArrayLike, source: Source) -> HashedReports:
        codes = checked_values(values, self.domain_size)
        a = source.below(self.family.prime - 1, len(codes)) + np.uint64(1)
        b = source.below(self.family.prime, len(codes))
        truth, lies = self.family.values(a, b, codes), source.below(self.hash_size, len(codes))
        truthful = probability.happens(self.theta_numerator, source.words(len(codes)))
        return HashedReports(a, b, np.where(truthful, truth, lies))

    def count(self, reports: HashedReports, into: Counts | None = None, items: ArrayLike | None = None) -> Counts:
        """Count a batch of reports, `into` earlier counts if given (which then grow)."""
        counts = parameters.counts_for(self, into, items)
        checked = self._checked(reports)
        supports = hashed_supports(checked, self.family.prime, self.hash_size, self.domain_size, counts.items)
        counts.add_supports(supports, len(checked.a))
        return counts

    def _checked(self, reports: HashedReports) -> HashedReports:
        if not isinstance(reports, tuple | list) or len(reports) != 3:
            raise InvalidInput("Reports of local hashing must be three columns: a, b and y.")
        bounds = (self.family.prime, self.family.prime, self.hash_size)
        a, b, y = (checked_values(column, bound) for column, bound in zip(reports, bounds, strict=True))
        if not len(a) == len(b) == len(y):
            raise InvalidInput(f"Reports must have as many a as b and y, got {len(a)}, {len(b)} and {len(y)}.")
        if len(a) and a.min() == 0:
            raise InvalidInput("Report field `a` must be at least 1, got 0; that is no function of the hash family.")
        return HashedReports(a, b, y)

    def estimate(self, reports: HashedReports, items: ArrayLike | None = None) -> Estimates:
        """Unbiased estimates from one batch of reports."""
        return estimate(self.count(reports, items=items), self.rates)

    def to_parameters(self) -> dict[str, Any]:
        """The fields of the parameter document."""
        return {
            "kind": self.kind,
            "domain_size": str(self.domain_size),
            "hash_size": str(self.hash_size),
            "prime": str(self.family.prime),
            "theta_numerator": str(self.theta_numerator),
        }

    @classmethod
    def from_parameters(cls, fields: dict[str, Any]) -> LocalHashing:
        """The mechanism that a parameter document describes."""
        names = ("domain_size", "hash_size", "prime", "theta_numerator")
        size, hash_size, prime, numerator = parameters.integers(fields, *names)
        if numerator > probability.ONE:
            raise InvalidInput(f"Field `theta_numerator` must be at most 2^64, got {numerator} instead.")
        theta = Fraction(numerator, probability.ONE)
        return cls.from_theta(domain_size=size, hash_size=hash_size, theta=theta, prime=prime)
