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
from entropie.mechanisms import probability
from entropie.mechanisms.mechanism import listed
from entropie.mechanisms.randomness import Source
from entropie.mechanisms.truth import ShapedMechanism, TruthMechanism
from entropie.mechanisms.values import checked_values
from entropie.theory.loss import CountingRates
from entropie.theory.randomized_response import psi_gap_over

LARGEST_DOMAIN = (1 << 28) - 1
"""More answers than this would take gigabytes to count."""


@dataclass(frozen=True, slots=True, init=False)
class HadamardResponse(TruthMechanism, ShapedMechanism):
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

    def _set(self, domain_size: int, theta_numerator: int, most: int = LARGEST_DOMAIN) -> None:
        TruthMechanism._set(self, domain_size, theta_numerator)
        if self.domain_size > most:
            rule = f"at most {most} for Hadamard response (local hashing has no limit)"
            raise InvalidParameter.of("domain_size", rule, domain_size)

    @property
    def answers(self) -> int:
        """The smallest power of two above the number of items."""
        return 1 << self.domain_size.bit_length()

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

    def success_alone(self, users: int) -> Fraction:
        """(1 - theta + theta f)/n with f = 1, 3/2, 2 for one, two, three and more different items.

        Two halves cover three quarters of the answers. Three whose masks sum to 0, such as 1, 2 and 3, cover all: no
        answer has odd parity with all three.
        """
        covered = (Fraction(1), Fraction(3, 2), Fraction(2))[min(users, self.domain_size, 3) - 1]
        return (1 - self.truth + self.truth * covered) / users

    def bits_alone(self, users: int) -> float:
        """Exact for two: half of the answers tell them apart. For more a bound: whether an answer is in one's half."""
        used = min(users, self.domain_size)
        return (0.0, 0.5, 1.0)[min(used, 3) - 1] * psi_gap_over(2, 2, self.epsilon)

    def possible_reports(self) -> NDArray[np.uint64]:
        """Every answer."""
        return listed(self.answers)

    def likelihoods(self, reports: Any) -> NDArray[np.float64]:
        """(1+theta)/K for an item whose half the answer is in, (1-theta)/K else."""
        codes = checked_values(reports, self.answers)
        masks = np.arange(1, self.domain_size + 1, dtype=np.uint64)
        signs = 1.0 - 2.0 * (np.bitwise_count(codes[:, None] & masks) & 1)
        return np.asarray((1.0 + self.theta * signs) / self.answers)

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


def walsh_hadamard(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """sum_y (-1)^(ones of x AND y) values[y] for every x; the length is a power of two."""
    sums = values.copy()
    half = 1
    while half < len(sums):
        pairs = sums.reshape(-1, 2, half)
        low, high = pairs[:, 0].copy(), pairs[:, 1].copy()
        pairs[:, 0], pairs[:, 1] = low + high, low - high
        half *= 2
    return sums
