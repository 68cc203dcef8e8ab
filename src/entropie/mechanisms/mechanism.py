"""What every mechanism can do. Mechanisms are frozen data: equal parameters, equal mechanism."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from entropie.estimation.counts import Counts
from entropie.estimation.estimates import Estimates
from entropie.theory.guarantee import Guarantee
from entropie.theory.loss import CountingRates


class Mechanism(Protocol):
    """From an item code to a report, and from reports back to the distribution of items."""

    @property
    def domain_size(self) -> int:
        """How many items there are."""
        ...

    @property
    def theta(self) -> float:
        """Probability of telling the truth."""
        ...

    @property
    def epsilon(self) -> float:
        """The local differential privacy that is kept."""
        ...

    @property
    def rates(self) -> CountingRates:
        """How often a report supports its true item and any other."""
        ...

    def guarantee(
        self, *, users: int, reports: int = 1, list_size: int = 1, prior_max: float | None = None
    ) -> Guarantee:
        """What is guaranteed when this many users send this many reports each."""
        ...

    def obfuscate(self, value: int) -> Any:
        """One report, for a device: randomness of the operating system, integers only."""
        ...

    def obfuscate_many(self, values: ArrayLike) -> Any:
        """Many reports with the same randomness as `obfuscate`."""
        ...

    def simulate(self, values: ArrayLike, rng: np.random.Generator) -> Any:
        """Many reports from a seeded generator, for experiments: they can be repeated, so they protect nobody."""
        ...

    def count(self, reports: Any, into: Counts | None = None, items: ArrayLike | None = None) -> Counts:
        """Count a batch of reports, `into` earlier counts if given (which then grow), for `items` or all items."""
        ...

    def estimate(self, reports: Any, items: ArrayLike | None = None) -> Estimates:
        """Unbiased estimates of the distribution from one batch of reports."""
        ...

    def to_parameters(self) -> dict[str, Any]:
        """The fields of the parameter document."""
        ...
