"""Local hashing: draw a hash function, send it with the hash of the item after randomized response over g values."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.estimation.counting import hashed_supports
from entropie.estimation.counts import Counters
from entropie.mechanisms import probability
from entropie.mechanisms.hashing import HashFamily
from entropie.mechanisms.mechanism import listed
from entropie.mechanisms.randomness import Source
from entropie.mechanisms.truth import TruthMechanism
from entropie.mechanisms.values import checked_value, checked_values
from entropie.theory import checks
from entropie.theory.guarantee import ChannelParameters
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
class LocalHashing(TruthMechanism):
    """Local hashing of items 0 .. domain_size-1 to 0 .. hash_size-1; a report is (a, b, y).

    Without a `hash_size` it is the best for rare items, e^epsilon + 1.

    A new hash function is drawn for every report, from the operating system: a seed that a user keeps, or that
    numbers the users, would identify them.

    >>> mechanism = LocalHashing(domain_size=1000, hash_size=16, epsilon=2.0)
    >>> mechanism.family.prime
    1009
    >>> len(mechanism.obfuscate(7))
    3
    """

    kind: ClassVar[str] = "glh"
    title: ClassVar[str] = "local hashing"
    own_options: ClassVar[Mapping[str, bool]] = {"hash_size": False, "prime": False}
    numbers: ClassVar[tuple[str, ...]] = ("domain_size", "hash_size", "prime")
    alone_is_exact: ClassVar[bool] = False
    reports_are: ClassVar[Literal["items", "hashes", "other"]] = "hashes"
    domain_size: int
    family: HashFamily
    theta_numerator: int
    """The hash of the true item is sent with probability theta_numerator / 2^64."""

    def __init__(
        self, *, domain_size: int, hash_size: int | None = None, epsilon: float, prime: int | None = None
    ) -> None:
        size = _best_hash_size(epsilon) if hash_size is None else hash_size
        hash_size = checks.whole_number("hash_size", size, at_least=2)
        self._settle(domain_size, hash_size, probability.numerator_of_epsilon(epsilon, hash_size), prime)

    @classmethod
    def from_theta(
        cls, *, domain_size: int, hash_size: int | None = None, theta: float | Fraction, prime: int | None = None
    ) -> Self:
        """Local hashing that tells the truth with this probability (rounded down to a multiple of 2^-64)."""
        if hash_size is None:
            raise InvalidParameter(
                f"Local hashing needs {option('hash_size')} where {option('theta')} is given; "
                f"{option('epsilon')} finds the best one."
            )
        mechanism = cls.__new__(cls)
        mechanism._settle(domain_size, hash_size, probability.numerator_of_theta(theta), prime)
        return mechanism

    @classmethod
    def binary(cls, *, domain_size: int, epsilon: float) -> LocalHashing:
        """BLH: two hash values."""
        return cls(domain_size=domain_size, hash_size=2, epsilon=epsilon)

    @classmethod
    def optimal(cls, *, domain_size: int, epsilon: float) -> LocalHashing:
        """OLH: e^eps + 1 hash values, the least noise for a rare item at this epsilon."""
        return cls(domain_size=domain_size, epsilon=epsilon)

    def _settle(self, domain_size: int, hash_size: int, theta_numerator: int, prime: int | None) -> None:
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
    def prime(self) -> int:
        """The prime of the family."""
        return self.family.prime

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

    def obfuscate(self, value: int) -> HashedReport:
        """One report, for a device. Truth and lie are both always drawn, so that time tells nothing."""
        value = checked_value(value, self.domain_size)
        a = 1 + secrets.randbelow(self.family.prime - 1)
        b = secrets.randbelow(self.family.prime)
        truth, lie = self.family.value(a, b, value), secrets.randbelow(self.hash_size)
        truthful = secrets.randbits(64) < self.theta_numerator
        return HashedReport(a, b, (lie, truth)[truthful])

    def draw(self, values: NDArray[np.uint64], source: Source) -> HashedReports:
        """A new function for every report, with the hash of the truth or any other value."""
        a = source.below(self.family.prime - 1, len(values)) + np.uint64(1)
        b = source.below(self.family.prime, len(values))
        truth, lies = self.family.values(a, b, values), source.below(self.hash_size, len(values))
        truthful = probability.happens(self.theta_numerator, source.words(len(values)))
        return HashedReports(a, b, np.where(truthful, truth, lies))

    @property
    def report_columns(self) -> dict[str, int]:
        """The function (a, b) and the value y."""
        return {"a": self.family.prime, "b": self.family.prime, "y": self.hash_size}

    def reports_of(self, columns: tuple[NDArray[np.uint64], ...]) -> HashedReports:
        """Reports from those columns."""
        return HashedReports(*columns)

    def supports(
        self, reports: Any, items: NDArray[np.uint64] | None, threads: int | None = None
    ) -> tuple[Counters, int]:
        """How many reports each item x supports: h(x) = y."""
        checked = self._checked(reports)
        prime, size = self.family.prime, self.hash_size
        return hashed_supports(checked, prime, size, self.domain_size, items, threads), len(checked.a)

    def possible_reports(self) -> HashedReports:
        """Every function with every value."""
        prime, size = self.prime, self.hash_size
        codes = listed((prime - 1) * prime * size)
        function, y = np.divmod(codes, np.uint64(size))
        a, b = np.divmod(function, np.uint64(prime))
        return HashedReports(a + np.uint64(1), b, y)

    def likelihoods(self, reports: Any) -> NDArray[np.float64]:
        """The function is drawn uniformly; its value is that of the item with theta, else any."""
        checked, size = self._checked(reports), self.domain_size
        a, b, y = (np.repeat(column, size) for column in checked)
        items = np.tile(np.arange(size, dtype=np.uint64), len(checked.a))
        hit = (self.family.values(a, b, items) == y).reshape(-1, size)
        functions = float(self.prime) * (self.prime - 1)
        return np.asarray((self.theta * hit + float(1 - self.truth) / self.hash_size) / functions)

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


def _best_hash_size(epsilon: float) -> int:
    """The least noise for a rare item at this epsilon: e^eps + 1 values."""
    budget = checks.real_number("epsilon", epsilon, "a number from 0 to 41 (e^41 is the largest hash size)", 0, 41)
    return round(math.exp(budget) + 1.0)
