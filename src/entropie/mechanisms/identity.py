"""No noise: names are replaced by pseudonyms and the datum is sent as it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from entropie.mechanisms import parameters
from entropie.mechanisms.mechanism import ItemMechanism
from entropie.mechanisms.randomness import Source
from entropie.theory import checks
from entropie.theory.loss import CountingRates


@dataclass(frozen=True, slots=True)
class Identity(ItemMechanism):
    """Pseudonymisation only. Where few values are possible, it may guarantee enough by itself."""

    kind: ClassVar[str] = "identity"
    title: ClassVar[str] = "pseudonymisation"
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

    def draw(self, values: NDArray[np.uint64], source: Source) -> NDArray[np.uint64]:
        """The values themselves; nothing is drawn."""
        return values

    def to_parameters(self) -> dict[str, Any]:
        """The fields of the parameter document."""
        return {"kind": self.kind, "domain_size": str(self.domain_size)}

    @classmethod
    def from_parameters(cls, fields: dict[str, Any]) -> Identity:
        """The mechanism that a parameter document describes."""
        return cls(*parameters.integers(fields, "domain_size"))
