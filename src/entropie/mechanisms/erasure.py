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
from entropie.mechanisms import probability
from entropie.mechanisms.mechanism import listed, supported_by_code
from entropie.mechanisms.randomness import Source
from entropie.mechanisms.truth import ShapedMechanism, TruthMechanism
from entropie.mechanisms.values import checked_values
from entropie.theory import checks
from entropie.theory.loss import CountingRates


@dataclass(frozen=True, slots=True, init=False)
class Erasure(TruthMechanism, ShapedMechanism):
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

    def _set(self, domain_size: int, theta_numerator: int, most: int = checks.LARGEST_SIZE - 1) -> None:
        TruthMechanism._set(self, domain_size, theta_numerator, most)

    @property
    def epsilon(self) -> float:
        """No local differential privacy, unless nothing is ever sent."""
        return math.inf if self.theta_numerator else 0.0

    @property
    def rates(self) -> CountingRates:
        """A report supports its item with theta and no other."""
        return CountingRates(mu=self.theta, nu=0.0, gain=self.theta, mu_off=float(1 - self.truth))

    def success_alone(self, users: int) -> Fraction:
        """(theta m + 1 - theta)/n: what arrives tells the item, and what does not tells nothing."""
        return (self.truth * min(users, self.domain_size) + 1 - self.truth) / users

    def bits_alone(self, users: int) -> float:
        """Theta log m."""
        return self.theta * math.log2(min(users, self.domain_size))

    def possible_reports(self) -> NDArray[np.uint64]:
        """Every item, and the sign for none."""
        return listed(self.domain_size + 1)

    def likelihoods(self, reports: Any) -> NDArray[np.float64]:
        """Theta for the item that is named; the same for all where none is."""
        codes = checked_values(reports, self.domain_size + 1)
        none = float(1 - self.truth) * (codes == self.domain_size)
        return np.asarray(self.theta * supported_by_code(codes, self.domain_size) + none[:, None], np.float64)

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
