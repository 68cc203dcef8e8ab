"""Which squared errors count: of all items, or of the most frequent ones under a distribution.

The variance of an estimate is linear in the share of its item, so that of the distribution only the number of items
that count and the share that they have together matter. Over all items that is 1: the loss then depends on nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from entropie.errors import InvalidParameter
from entropie.theory import checks
from entropie.theory.loss import CountingRates

_SUMMED = 1000
"""Terms of a harmonic number that are added one by one; the rest is an integral with its corrections."""


@dataclass(frozen=True, slots=True)
class LossWeights:
    """The items whose squared errors are added up: how many, and which share of all reports is about them."""

    items: int
    mass: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", checks.whole_number("top", self.items))
        rule = "a share from 0 to 1"
        object.__setattr__(self, "mass", checks.real_number("mass", self.mass, rule, 0.0, 1.0))

    def loss(self, rates: CountingRates, reports: int) -> float:
        """[P mu(1-mu) + (phi - P) nu(1-nu)] / (n gain^2) for phi items with the share P."""
        if rates.gain == 0.0:
            return math.inf
        spread = self.mass * rates.mu * rates.mu_off + (self.items - self.mass) * rates.nu * (1.0 - rates.nu)
        return spread / rates.gain / rates.gain / reports

    @classmethod
    def whole(cls, domain_size: int) -> LossWeights:
        """All items."""
        return cls(domain_size, 1.0)

    @classmethod
    def zipf(cls, domain_size: int, top: int, exponent: float = 1.0) -> LossWeights:
        """The `top` most frequent items where the i-th has a share in proportion to i^-exponent."""
        rule = "a number from 0 to 10"
        exponent = checks.real_number("zipf", exponent, rule, 0.0, 10.0)
        top = _checked_top(top, domain_size)
        return cls(top, min(1.0, harmonic(top, exponent) / harmonic(domain_size, exponent)))

    @classmethod
    def of_shares(cls, shares: ArrayLike, domain_size: int, top: int) -> LossWeights:
        """The `top` most frequent items of a distribution: counts or shares, of which absent items have none."""
        rule = "a list of numbers, none below 0 and not all 0"
        try:
            given = np.asarray(shares, np.float64)
        except (TypeError, ValueError):
            raise InvalidParameter(f"Parameter `shares` must be {rule}.") from None
        if given.ndim != 1 or not given.size or not np.isfinite(given).all() or (given < 0).any() or not given.any():
            raise InvalidParameter(f"Parameter `shares` must be {rule}.")
        if given.size > domain_size:
            raise InvalidParameter.of("shares", f"of at most {domain_size} items, those of the domain", given.size)
        top = _checked_top(top, domain_size)
        scaled = np.sort(given / given.max())[::-1]  # so that large counts cannot overflow
        return cls(top, min(1.0, math.fsum(scaled[:top]) / math.fsum(scaled)))


def _checked_top(top: int, domain_size: int) -> int:
    return checks.whole_number("top", top, at_least=1, at_most=domain_size)


def harmonic(count: int, exponent: float) -> float:
    """The sum of i^-s for i = 1 .. count, to about 12 digits for any count."""
    first = min(count, _SUMMED)
    total = math.fsum(float(i) ** -exponent for i in range(1, first + 1))
    if count == first:
        return total
    low, high, s = float(first), float(count), exponent
    span, rest = math.log(high / low), 1.0 - s
    area = low**rest * (span if rest == 0.0 else math.expm1(rest * span) / rest)
    ends = (high**-s - low**-s) / 2.0
    slopes = s * (low ** (-s - 1.0) - high ** (-s - 1.0)) / 12.0
    return float(total + area + ends + slopes)
