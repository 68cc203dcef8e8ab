"""Mechanisms of one kind and shape, by how much of the truth they tell: what `calibrate` searches through."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from entropie.mechanisms import hadamard, probability, subset_selection, unary_encoding
from entropie.mechanisms.hadamard import HadamardResponse
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mechanisms.subset_selection import SubsetSelection
from entropie.mechanisms.unary_encoding import UnaryEncoding
from entropie.theory import checks
from entropie.theory.loss import CountingRates, local_hashing_rates
from entropie.theory.special import epsilon_of, theta_of

Calibrated = RandomizedResponse | LocalHashing | SubsetSelection | HadamardResponse | UnaryEncoding
KINDS = ("rr", "glh", "subset", "hadamard", "unary")
"""What `calibrate` tries, the plainest first."""

_TENTHS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)


@dataclass(frozen=True, slots=True)
class Family(ABC):
    """Mechanisms that differ in one number: steps from 0, pure noise, to `steps`, the most truth."""

    kind: ClassVar[str]
    steps: ClassVar[int] = probability.ONE
    domain_size: int

    @abstractmethod
    def at(self, step: int) -> Calibrated:
        """The mechanism of a step."""

    @property
    def answers(self) -> float:
        """epsilon = ln(1 + answers theta/(1-theta))."""
        return self.domain_size

    def theta_for(self, epsilon: float) -> float:
        """The share of truth at a budget."""
        return theta_of(epsilon, self.answers)

    def epsilon_for(self, theta: float) -> float:
        """The budget of a share of truth."""
        return epsilon_of(theta, self.answers)

    def near(self, theta: float) -> Calibrated:
        """The mechanism with about this share of truth."""
        return self.at(min(self.steps, round(theta * self.steps)))

    def rates(self, theta: float) -> CountingRates:
        """How often a report supports its item, for about this share of truth."""
        return self.near(theta).rates

    def raised(self, users: int, theta: float) -> float:
        """By what factor one report that leaks alone raises the best guess: n V."""
        return 1.0 - theta + theta * _factor(self, users)

    def report_bits(self) -> float:
        """Size of a report; hardly depends on the step."""
        return self.near(0.5).report_bits

    def fits(self, bits: float) -> bool:
        """Whether a report has at most so many bits."""
        return self.report_bits() <= bits


@dataclass(frozen=True, slots=True)
class Response(Family):
    """Randomized response."""

    kind: ClassVar[str] = "rr"

    def at(self, step: int) -> RandomizedResponse:
        """Theta in units of 2^-64."""
        return RandomizedResponse.from_theta(domain_size=self.domain_size, theta=_unit(step))


@dataclass(frozen=True, slots=True)
class Sized(Family):
    """A family with a size to choose: of the hash or of the subset."""

    size: int


@dataclass(frozen=True, slots=True)
class Hashing(Sized):
    """Local hashing to so many values."""

    kind: ClassVar[str] = "glh"

    def at(self, step: int) -> LocalHashing:
        """Theta in units of 2^-64."""
        return _plain_hashing(self).with_theta(_unit(step))

    @property
    def answers(self) -> float:
        """The hash values."""
        return self.size

    def rates(self, theta: float) -> CountingRates:
        """With the bound itself in place of the next prime, which takes long to find."""
        prime = max(self.domain_size, self.size, 3)
        quotient, rest = divmod(prime, self.size)
        collision = quotient * (prime + rest - self.size) / (prime * (prime - 1.0))
        return local_hashing_rates(self.size, self.epsilon_for(theta), collision)

    def report_bits(self) -> float:
        """About: a function of two numbers below the prime, and a value."""
        return 2.0 * math.log2(max(self.domain_size, self.size, 3)) + math.log2(self.size)

    def fits(self, bits: float) -> bool:
        """With the prime itself where it matters: it is less than twice the bound."""
        about = self.report_bits()
        return about <= bits and (about + 2.0 <= bits or _plain_hashing(self).report_bits <= bits)


@dataclass(frozen=True, slots=True)
class Subsets(Sized):
    """Subset selection of so many items."""

    kind: ClassVar[str] = "subset"

    def at(self, step: int) -> SubsetSelection:
        """Theta in units of 2^-64."""
        return SubsetSelection.from_theta(domain_size=self.domain_size, subset_size=self.size, theta=_unit(step))

    @property
    def answers(self) -> float:
        """k/d."""
        return self.domain_size / self.size


@dataclass(frozen=True, slots=True)
class Hadamard(Family):
    """Hadamard response."""

    kind: ClassVar[str] = "hadamard"

    def at(self, step: int) -> HadamardResponse:
        """Theta in units of 2^-64."""
        return HadamardResponse.from_theta(domain_size=self.domain_size, theta=_unit(step))

    @property
    def answers(self) -> float:
        """In the half of the item, or in the other."""
        return 2.0


@dataclass(frozen=True, slots=True)
class Unary(Family):
    """Unary encoding, optimised or symmetric; a step takes 2^-64 from the chance of a false bit."""

    kind: ClassVar[str] = "unary"
    steps: ClassVar[int] = probability.ONE // 2 - 1
    symmetric: bool

    def at(self, step: int) -> UnaryEncoding:
        """The chance of a false bit is 1/2 less the steps."""
        false = probability.ONE // 2 - step
        true = probability.ONE - false if self.symmetric else probability.ONE // 2
        numbers = {"domain_size": self.domain_size, "true_numerator": true, "false_numerator": false}
        return UnaryEncoding.from_parameters({name: str(number) for name, number in numbers.items()})

    def near(self, theta: float) -> UnaryEncoding:
        """By its own inverse."""
        most = 1.0 - 1e-15 if self.symmetric else 0.5 - 1e-15
        return UnaryEncoding.from_theta(
            domain_size=self.domain_size, theta=min(theta, most), symmetric=int(self.symmetric)
        )

    def theta_for(self, epsilon: float) -> float:
        """1 - e^(-eps/2) where symmetric, else (1 - e^-eps)/2; but for the report of all ones."""
        return -math.expm1(-epsilon / 2.0) if self.symmetric else -math.expm1(-epsilon) / 2.0

    def epsilon_for(self, theta: float) -> float:
        """The inverse, up to what 64 bits can tell."""
        left = 1.0 - (theta if self.symmetric else 2.0 * theta)
        return -(2.0 if self.symmetric else 1.0) * math.log(max(left, 2.0**-64))

    def raised(self, users: int, theta: float) -> float:
        """From the mechanism itself, whose shape changes with its noise."""
        return float(self.near(theta).success_alone(users) * users)

    def report_bits(self) -> float:
        """A bit for every item."""
        return float(self.domain_size)


def families(kind: str, domain_size: int, hash_size: int | None = None, few: bool = False) -> list[Family]:
    """The shapes of a kind that fit the domain, by rising size of hash or subset; `few` of them where each is slow."""
    k, heads = domain_size, _TENTHS[::3] if few else _TENTHS
    if k > largest_domain(kind):
        return []
    if kind == "glh":
        sizes = _round_numbers(checks.LARGEST_SIZE, heads) if hash_size is None else [hash_size]
        return [Hashing(k, size) for size in sizes]
    if kind == "subset":
        most = min(k // 2, subset_selection.LARGEST_SUBSET)
        return [Subsets(k, size) for size in _round_numbers(most, heads) or [1]]
    if kind == "unary":
        return [Unary(k, False), Unary(k, True)]
    return [Response(k) if kind == "rr" else Hadamard(k)]


def between(low: Family, high: Family, steps: int) -> list[Family]:
    """Sizes between those of two families of a kind, evenly spaced in their logarithm."""
    if not isinstance(low, Sized) or not isinstance(high, Sized):
        return []
    ratio = high.size / low.size
    sizes = {round(low.size * ratio ** (step / (steps + 1.0))) for step in range(1, steps + 1)}
    return [replace(low, size=size) for size in sorted(sizes - {low.size, high.size})]


def largest_domain(kind: str) -> float:
    """Items up to which a kind has a mechanism."""
    limits: dict[str, Any] = {"subset": subset_selection, "hadamard": hadamard, "unary": unary_encoding}
    return limits[kind].LARGEST_DOMAIN if kind in limits else math.inf


def _round_numbers(most: int, heads: tuple[float, ...]) -> list[int]:
    sizes = {round(head * 10.0**power) for power in range(19) for head in heads}
    return sorted(size for size in sizes if 2 <= size <= most)


def _unit(step: int) -> Fraction:
    return Fraction(step, probability.ONE)


@lru_cache(maxsize=4096)
def _factor(family: Family, users: int) -> float:
    """What a report that is true raises the best guess by: the number of answers that people can be told apart by."""
    if isinstance(family, Hashing):
        return float(min(users, family.domain_size, family.size))
    if isinstance(family, Subsets):
        k, d, m = family.domain_size, family.size, min(users, family.domain_size)
        return k / d if m + d > k else -math.expm1(_log_missed(k, d, m)) * k / d
    return float(family.at(family.steps).success_alone(users) * users)


def _log_missed(k: int, d: int, m: int) -> float:
    """Ln C(k-m, d)/C(k, d): no set of d items holds one of m."""
    return math.fsum(math.log1p(-m / (k - drawn)) for drawn in range(d))


@lru_cache(maxsize=64)
def _plain_hashing(family: Hashing) -> LocalHashing:
    """Its prime is found once."""
    return LocalHashing.from_theta(domain_size=family.domain_size, hash_size=family.size, theta=0.0)
