"""Subset selection: a report is a set of d items, which holds the true one more often than chance would have it.

With probability theta the set is drawn from those that hold the true item, else from all sets of d items. At a given
epsilon it has the least noise of all mechanisms that are known (Ye & Barg 2018), for d about k/(e^eps + 1).
"""

from __future__ import annotations

import decimal
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.estimation.counting import value_supports
from entropie.estimation.counts import Counters
from entropie.mechanisms import probability
from entropie.mechanisms.mechanism import LEAST_LOG, Mechanism, listed
from entropie.mechanisms.randomness import Source
from entropie.mechanisms.truth import ShapedMechanism, TruthMechanism
from entropie.mechanisms.values import checked_values
from entropie.theory import checks
from entropie.theory.loss import CountingRates
from entropie.theory.special import LARGE_EPSILON, LN2, psi

LARGEST_SUBSET = 4096
"""Items in a report: each is a column of its own."""
LARGEST_DOMAIN = 1 << 28


@dataclass(frozen=True, slots=True, init=False)
class SubsetSelection(TruthMechanism, ShapedMechanism):
    """Subset selection over items 0 .. domain_size-1; a report is `subset_size` item codes in rising order.

    >>> mechanism = SubsetSelection(domain_size=10, epsilon=1.0)
    >>> mechanism.subset_size
    3
    >>> len(mechanism.obfuscate(7))
    3
    """

    kind: ClassVar[str] = "subset"
    title: ClassVar[str] = "subset selection"
    own_options: ClassVar[Mapping[str, bool]] = {"subset_size": False}
    numbers: ClassVar[tuple[str, ...]] = ("domain_size", "subset_size")
    domain_size: int
    subset_size: int
    theta_numerator: int
    """The set is drawn from those with the true item with probability theta_numerator / 2^64, else from all."""

    def __init__(self, *, domain_size: int, subset_size: int | None = None, epsilon: float) -> None:
        size = checks.whole_number("domain_size", domain_size, at_least=2, at_most=LARGEST_DOMAIN)
        chosen = _best_subset_size(size, epsilon) if subset_size is None else subset_size
        self._settle(size, chosen)
        numerator = probability.numerator_of_epsilon(epsilon, self._answers)
        object.__setattr__(self, "theta_numerator", numerator)

    @classmethod
    def from_theta(cls, *, domain_size: int, subset_size: int | None = None, theta: float | Fraction) -> Self:
        """Subset selection with this probability of a set with the item (rounded down to a multiple of 2^-64)."""
        if subset_size is None:
            raise InvalidParameter(
                f"Subset selection needs {option('subset_size')} where {option('theta')} is given; "
                f"{option('epsilon')} finds the best one."
            )
        mechanism = cls.__new__(cls)
        mechanism._settle(domain_size, subset_size)
        object.__setattr__(mechanism, "theta_numerator", probability.numerator_of_theta(theta))
        return mechanism

    def _settle(self, domain_size: int, subset_size: int) -> None:
        size = checks.whole_number("domain_size", domain_size, at_least=2, at_most=LARGEST_DOMAIN)
        most = min(size - 1, LARGEST_SUBSET)
        object.__setattr__(self, "domain_size", size)
        object.__setattr__(self, "subset_size", checks.whole_number("subset_size", subset_size, 1, most))

    @property
    def _answers(self) -> Fraction:
        """k/d: the law is that of local hashing to so many values, each item in one of k/d parts of the sets."""
        return Fraction(self.domain_size, self.subset_size)

    @property
    def epsilon(self) -> float:
        """The local differential privacy that is kept: never more than was asked for."""
        return probability.epsilon_of_numerator(self.theta_numerator, self._answers)

    @property
    def rates(self) -> CountingRates:
        """A set of the item holds any other with (d-1)/(k-1), a set of all with d/k."""
        k, d, lie = self.domain_size, self.subset_size, float(1 - self.truth)
        return CountingRates(
            mu=self.theta + lie * d / k,
            nu=self.theta * (d - 1) / (k - 1) + lie * d / k,
            gain=self.theta * (k - d) / (k - 1),
            mu_off=lie * (k - d) / k,
        )

    def success_alone(self, users: int) -> Fraction:
        """(1 - theta + theta (k/d) h)/n, h the share of sets that hold one of m = min(n, k) different items."""
        used = min(users, self.domain_size)
        return (1 - self.truth + self.truth * self._answers * self._hit(used)) / users

    def _hit(self, used: int) -> Fraction:
        """1 - C(k-m, d)/C(k, d), with 60 digits."""
        k, d = self.domain_size, self.subset_size
        if used + d > k:
            return Fraction(1)
        with decimal.localcontext(probability.CONTEXT):
            missed = Decimal(1)
            for drawn in range(d):
                missed = missed * (k - used - drawn) / (k - drawn)
            return 1 - Fraction(missed)

    def bits_alone(self, users: int) -> float:
        """(1-theta) [(d/k) psi(w-1) - E psi((w-1) J/m)] / ln 2, J of d items drawn among the m in use.

        All sets of m different items tell the same, and equal shares are best for them: the value is exact.
        """
        k, d, m = self.domain_size, self.subset_size, min(users, self.domain_size)
        if m == 1 or not self.theta_numerator:
            return 0.0
        if self.epsilon > LARGE_EPSILON:
            return math.log2(m)
        lift, total = math.expm1(self.epsilon), 0.0
        for held, chance in _hypergeometric(k, m, d):
            total += chance * (held / m * psi(lift) - psi(lift * held / m))
        return min(math.log2(m), max(0.0, float(1 - self.truth) * total / LN2))

    def draw(self, values: NDArray[np.uint64], source: Source) -> tuple[NDArray[np.uint64], ...]:
        """Any set; in a report that is true and lacks the item, one of the set, whichever, is exchanged for it."""
        from entropie.kernels.subsets import subsets

        k, d, rows = self.domain_size, self.subset_size, len(values)
        draws = np.column_stack([source.below(k - d + place + 1, rows) for place in range(d)])
        sets = subsets(np.ascontiguousarray(draws), k)
        out = source.below(d, rows).astype(np.int64)
        truthful = probability.happens(self.theta_numerator, source.words(rows))
        lacking = np.flatnonzero(truthful & ~(sets == values[:, None]).any(axis=1))
        sets[lacking, out[lacking]] = values[lacking]
        sets.sort(axis=1)  # the place in the report must not tell which item came in
        return tuple(np.ascontiguousarray(column) for column in sets.T)

    @property
    def report_columns(self) -> dict[str, int]:
        """The items of the set, in rising order."""
        return {f"item_{place}": self.domain_size for place in range(self.subset_size)}

    @property
    def report_bits(self) -> float:
        """log2 C(k, d)."""
        k, d = self.domain_size, self.subset_size
        return (math.lgamma(k + 1) - math.lgamma(d + 1) - math.lgamma(k - d + 1)) / LN2

    def columns_of(self, reports: Any) -> tuple[NDArray[np.uint64], ...]:
        """Reports as those columns."""
        return tuple(reports)

    def reports_of(self, columns: tuple[NDArray[np.uint64], ...]) -> tuple[NDArray[np.uint64], ...]:
        """Reports from those columns."""
        return columns

    def obfuscate(self, value: int) -> tuple[int, ...]:
        """One report, for a device."""
        report = Mechanism.obfuscate(self, value)  # `super()` does not know a class with slots
        return report if isinstance(report, tuple) else (int(report),)

    def supports(
        self, reports: Any, items: NDArray[np.uint64] | None, threads: int | None = None
    ) -> tuple[Counters, int]:
        """How many reports hold each item, in O(n d + k)."""
        sets = self._checked(reports)
        return value_supports(sets.ravel(), self.domain_size, items), len(sets)

    def _checked(self, reports: Any) -> NDArray[np.uint64]:
        """Reports as rows of different items in rising order."""
        if not isinstance(reports, tuple | list) or len(reports) != self.subset_size:
            raise InvalidInput(f"Reports of this subset selection must be {self.subset_size} columns of item codes.")
        columns = [checked_values(column, self.domain_size) for column in reports]
        if len({len(column) for column in columns}) != 1:
            raise InvalidInput("Reports must have as many items in every column.")
        sets = np.column_stack(columns)
        if not (sets[:, 1:] > sets[:, :-1]).all():
            raise InvalidInput("A report of subset selection must hold different items in rising order.")
        return sets

    def possible_reports(self) -> tuple[NDArray[np.uint64], ...]:
        """Every set of d items."""
        listed(math.comb(self.domain_size, self.subset_size))
        sets = np.array(list(itertools.combinations(range(self.domain_size), self.subset_size)), np.uint64)
        return tuple(np.ascontiguousarray(column) for column in sets.T)

    def likelihoods(self, reports: Any) -> NDArray[np.float64]:
        """One of C(k-1, d-1) sets with the item, or of all C(k, d)."""
        sets = self._checked(reports)
        holds = np.zeros((len(sets), self.domain_size))
        np.put_along_axis(holds, sets.astype(np.int64), 1.0, axis=1)
        in_all = math.exp(max(-self.report_bits * LN2, LEAST_LOG))
        return np.asarray(in_all * (float(1 - self.truth) + self.theta * float(self._answers) * holds))


def _best_subset_size(domain_size: int, epsilon: float) -> int:
    """The least noise for a rare item at this epsilon: k/(w+1) items, up or down."""
    budget = checks.epsilon_value(epsilon)
    about = domain_size / (math.exp(min(budget, LARGE_EPSILON)) + 1.0)
    if about > LARGEST_SUBSET:
        raise InvalidParameter(
            f"Subset selection of {domain_size} items at epsilon {budget:g} would send {round(about)} items "
            f"in a report, more than {LARGEST_SUBSET}; take local hashing (glh), or give {option('subset_size')}."
        )
    choices = {max(1, min(domain_size - 1, end)) for end in (math.floor(about), math.ceil(about))}

    def noise(size: int) -> float:
        made = SubsetSelection(domain_size=domain_size, subset_size=size, epsilon=budget)
        return made.rates.l2(0.0, 1)

    return min(sorted(choices), key=noise)


def _hypergeometric(items: int, marked: int, drawn: int) -> list[tuple[int, float]]:
    """Chances of each number of marked ones among so many drawn, from logarithms."""

    def log_choose(n: int, r: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(r + 1) - math.lgamma(n - r + 1)

    low, high = max(0, drawn - (items - marked)), min(drawn, marked)
    logs = [log_choose(marked, j) + log_choose(items - marked, drawn - j) for j in range(low, high + 1)]
    top = max(logs)
    weights = [math.exp(one - top) for one in logs]
    total = math.fsum(weights)
    return [(low + place, weight / total) for place, weight in enumerate(weights)]
