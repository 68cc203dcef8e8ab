"""No noise: names are replaced by pseudonyms and the datum is sent as it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.estimation.counting import value_supports
from entropie.estimation.counts import Counts
from entropie.estimation.estimates import Estimates, estimate
from entropie.mechanisms import parameters
from entropie.mechanisms.values import checked_value, checked_values
from entropie.theory import checks
from entropie.theory.guarantee import ChannelParameters, Guarantee, guarantee
from entropie.theory.loss import CountingRates


@dataclass(frozen=True, slots=True)
class Identity:
    """Pseudonymisation only. Where few values are possible, it may guarantee enough by itself."""

    kind: ClassVar[str] = "identity"
    domain_size: int

    def __post_init__(self) -> None:
        size = checks.whole_number("domain_size", self.domain_size, at_least=2)
        object.__setattr__(self, "domain_size", size)

    @property
    def theta(self) -> float:
        """The truth is always told."""
        return 1.0

    @property
    def epsilon(self) -> float:
        """No local differential privacy."""
        return math.inf

    @property
    def rates(self) -> CountingRates:
        """A report supports its item and no other."""
        return CountingRates(mu=1.0, nu=0.0, gain=1.0, mu_off=0.0)

    @property
    def channel(self) -> ChannelParameters:
        """The numbers a guarantee depends on."""
        return ChannelParameters(self.kind, self.domain_size, math.inf)

    def guarantee(
        self, *, users: int, reports: int = 1, list_size: int = 1, prior_max: float | None = None
    ) -> Guarantee:
        """What is guaranteed when this many users send this many reports each."""
        return guarantee(self.channel, users, reports, list_size, prior_max)

    def obfuscate(self, value: int) -> int:
        """The value itself."""
        return checked_value(value, self.domain_size)

    def obfuscate_many(self, values: ArrayLike) -> NDArray[np.uint64]:
        """The values themselves."""
        return checked_values(values, self.domain_size)

    def simulate(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[np.uint64]:
        """The values themselves; nothing is drawn."""
        return checked_values(values, self.domain_size)

    def count(self, reports: ArrayLike, into: Counts | None = None, items: ArrayLike | None = None) -> Counts:
        """Count a batch of reports, `into` earlier counts if given (which then grow)."""
        counts = parameters.counts_for(self, into, items)
        codes = checked_values(reports, self.domain_size)
        counts.add_supports(value_supports(codes, self.domain_size, counts.items), len(codes))
        return counts

    def estimate(self, reports: ArrayLike, items: ArrayLike | None = None) -> Estimates:
        """The observed shares."""
        return estimate(self.count(reports, items=items), self.rates)

    def to_parameters(self) -> dict[str, Any]:
        """The fields of the parameter document."""
        return {"kind": self.kind, "domain_size": str(self.domain_size)}

    @classmethod
    def from_parameters(cls, fields: dict[str, Any]) -> Identity:
        """The mechanism that a parameter document describes."""
        return cls(*parameters.integers(fields, "domain_size"))
