"""What a mechanism is: frozen data, from an item code to a report and from reports back to the distribution of items.

A subclass says how reports are drawn and what they support; counting, estimating, device and simulation follow. Where a
report is an item code, subclass `ItemMechanism`. docs/extending.md has a complete example.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.errors import InvalidInput
from entropie.estimation.counting import value_supports
from entropie.estimation.counts import Counters, Counts
from entropie.estimation.estimates import Estimates, estimate
from entropie.mechanisms import parameters
from entropie.mechanisms.randomness import SimulationSource, Source, SystemSource
from entropie.mechanisms.values import checked_value, checked_values
from entropie.theory import any_mechanism
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import (
    ChannelParameters,
    Guarantee,
    certified_alpha_bits,
    certified_success,
    guarantee,
)
from entropie.theory.loss import CountingRates

LEAST_LOG = -600.0
"""ln of the least probability that is given as it is; a smaller one would underflow."""
MOST_POSSIBLE = 1 << 16
"""More different reports than this are not listed."""


class Mechanism(ABC):
    """From an item code to a report, and from reports back to the distribution of items.

    kind          its name in parameter documents and on the command line
    title         what people call it
    own_options   what it takes by name beside the size of the domain and epsilon or theta; whether it needs them
    reports_are   what an attacker on reports must know: "items" (the true one with probability theta, else a uniform
                  one), "hashes" (a, b and y under `family`), or "other": only `likelihoods` tells
    alone_is_exact  whether some people's data attain `success_alone`; else it is a bound
    """

    __slots__ = ()

    kind: ClassVar[str]
    title: ClassVar[str]
    own_options: ClassVar[Mapping[str, bool]] = {}
    reports_are: ClassVar[Literal["items", "hashes", "other"]] = "other"
    alone_is_exact: ClassVar[bool] = True
    domain_size: int

    @property
    @abstractmethod
    def theta(self) -> float:
        """Probability of telling the truth."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The local differential privacy that is kept."""

    @property
    @abstractmethod
    def rates(self) -> CountingRates:
        """How often a report supports its true item and any other."""

    @property
    def channel(self) -> ChannelParameters:
        """The numbers a guarantee depends on, for truth with probability theta and else a uniform answer."""
        return ChannelParameters(self.kind, self.domain_size, self.epsilon)

    @property
    def truth(self) -> Fraction:
        """Theta to its last digit."""
        return Fraction(self.theta)

    def guarantee(
        self,
        *,
        users: int,
        reports: int = 1,
        list_size: int = 1,
        prior_max: float | None = None,
        linked: bool = True,
    ) -> Guarantee:
        """What is guaranteed when this many users send this many reports each, linked to each other or not."""
        return self.guarantee_for(Crowd(users, reports, list_size, prior_max, linked))

    def guarantee_for(self, crowd: Crowd) -> Guarantee:
        """The same for a crowd; follows from `channel` where a report is the truth or uniform over all answers."""
        return guarantee(self.channel, crowd, self.truth)

    def success_alone(self, users: int) -> Fraction:
        """Worst-case chance of naming the sender of one report that leaks alone, among so many people."""
        return certified_success(self.channel, Crowd(users), self.truth)

    def bits_alone(self, users: int) -> float:
        """Worst-case information in one report about its sender, among so many people."""
        return certified_alpha_bits(self.channel, Crowd(users))

    def certainty_alone(self, users: int) -> float:
        """Worst-case certainty about one person from a report that leaks alone: w/(w + n - 1), attained."""
        return any_mechanism.posterior_max(users, self.epsilon)

    @property
    def report_bits(self) -> float:
        """Size of one report."""
        return sum(math.log2(bound) for bound in self.report_columns.values())

    @abstractmethod
    def likelihoods(self, reports: Any) -> NDArray[np.float64]:
        """Pr(report | item): one row per report, one column per item of the domain.

        Where a report is so unlikely that the number underflows, its row may be scaled: ratios within a row count.
        """

    @abstractmethod
    def possible_reports(self) -> Any:
        """Every report that there is, as one batch; refuses where they are more than `MOST_POSSIBLE`."""

    def matrix(self) -> NDArray[np.float64]:
        """The whole law Q[x, y] = Pr(y | x), reports in the order of `possible_reports`."""
        return np.ascontiguousarray(self.likelihoods(self.possible_reports()).T)

    @abstractmethod
    def draw(self, values: NDArray[np.uint64], source: Source) -> Any:
        """One report for each of these item codes, which are inside the domain, with randomness from `source`."""

    def obfuscate(self, value: int) -> Any:
        """One report, for a device: randomness of the operating system, integers only."""
        code = checked_value(value, self.domain_size)
        row = [int(column[0]) for column in self.columns_of(self.draw(np.array([code], np.uint64), SystemSource()))]
        return row[0] if len(row) == 1 else tuple(row)

    def obfuscate_many(self, values: ArrayLike) -> Any:
        """Many reports with the operating system's randomness."""
        return self.draw(checked_values(values, self.domain_size), SystemSource())

    def simulate(self, values: ArrayLike, rng: np.random.Generator) -> Any:
        """Many reports from a seeded generator, for experiments: they can be repeated, so they protect nobody."""
        return self.draw(checked_values(values, self.domain_size), SimulationSource(rng))

    @property
    @abstractmethod
    def report_columns(self) -> dict[str, int]:
        """The columns of a table of reports, each with the bound that its whole numbers stay below."""

    def columns_of(self, reports: Any) -> tuple[NDArray[np.uint64], ...]:
        """Reports as those columns."""
        return (reports,) if len(self.report_columns) == 1 else tuple(reports)

    def reports_of(self, columns: tuple[NDArray[np.uint64], ...]) -> Any:
        """Reports from those columns."""
        return columns[0] if len(columns) == 1 else columns

    def rows_of(self, reports: Any) -> NDArray[np.uint64]:
        """Reports as rows of whole numbers, equal for equal reports."""
        return np.column_stack([np.asarray(column, np.uint64) for column in self.columns_of(reports)])

    @abstractmethod
    def supports(
        self, reports: Any, items: NDArray[np.uint64] | None, threads: int | None = None
    ) -> tuple[Counters, int]:
        """How many reports support each item (of `items`, or of all), and how many reports there are."""

    def count(
        self,
        reports: Any,
        into: Counts | None = None,
        items: ArrayLike | None = None,
        *,
        threads: int | None = None,
    ) -> Counts:
        """Count a batch of reports, `into` earlier counts if given (which then grow), for `items` or all items."""
        counts = parameters.counts_for(self, into, items)
        counts.add_supports(*self.supports(reports, counts.items, threads))
        return counts

    def estimate(self, reports: Any, items: ArrayLike | None = None) -> Estimates:
        """Unbiased estimates of the distribution from one batch of reports."""
        return self.estimates_of(self.count(reports, items=items))

    def estimates_of(self, counts: Counts) -> Estimates:
        """Unbiased estimates of the distribution from counts."""
        return estimate(counts, self.rates)

    def variance(self, shares: ArrayLike, reports: int) -> NDArray[np.float64]:
        """Variance of each estimate from so many reports, where the items have these shares."""
        p, rates = np.asarray(shares, np.float64), self.rates
        spread = p * rates.mu * rates.mu_off + (1.0 - p) * rates.nu * (1.0 - rates.nu)
        return np.asarray(spread / rates.gain / rates.gain / reports)

    @abstractmethod
    def to_parameters(self) -> dict[str, Any]:
        """The fields of the parameter document, `kind` among them; whole numbers as decimal strings."""

    @classmethod
    @abstractmethod
    def from_parameters(cls, fields: dict[str, Any]) -> Mechanism:
        """The mechanism that these fields, but `kind`, describe; refuses unknown and missing ones."""


class ItemMechanism(Mechanism):
    """A mechanism whose report is an item code: it supports that item and no other."""

    __slots__ = ()
    reports_are: ClassVar[Literal["items", "hashes", "other"]] = "items"

    @property
    def report_columns(self) -> dict[str, int]:
        """One column of item codes."""
        return {"report": self.domain_size}

    def supports(
        self, reports: Any, items: NDArray[np.uint64] | None, threads: int | None = None
    ) -> tuple[Counters, int]:
        """How many reports name each item."""
        codes = checked_values(reports, self.domain_size)
        return value_supports(codes, self.domain_size, items), len(codes)

    def possible_reports(self) -> NDArray[np.uint64]:
        """Every item code."""
        return listed(self.domain_size)

    def likelihoods(self, reports: Any) -> NDArray[np.float64]:
        """Theta for the item itself, and (1-theta)/k for each."""
        codes = checked_values(reports, self.domain_size)
        named = supported_by_code(codes, self.domain_size).astype(np.float64)
        return np.asarray(self.theta * named + float(1 - self.truth) / self.domain_size, np.float64)


def listed(reports: int) -> NDArray[np.uint64]:
    """The codes of so many different reports; refuses too many."""
    if reports > MOST_POSSIBLE:
        raise InvalidInput(f"There are {reports} different reports; at most {MOST_POSSIBLE} are listed.")
    return np.arange(reports, dtype=np.uint64)


def supported_by_code(codes: NDArray[np.uint64], domain_size: int) -> NDArray[np.bool_]:
    """Whether report j names item x, for reports that name one item or none."""
    return np.asarray(codes[:, None] == np.arange(domain_size, dtype=np.uint64))
