"""What the user declares and no data can show: attacker, population, context, and how likely an attempt is."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, fields
from typing import Any

from entropie.errors import InvalidInput
from entropie.gate.toml import read_toml
from entropie.theory import checks

__all__ = ["NOTHING_DECLARED", "Declared", "read_declared"]

_TEXTS = ("attacker", "context")


@dataclass(frozen=True, slots=True)
class Declared:
    """Statements of the user; None where she made none.

    attacker               who might try
    population             how many people the attacker must tell apart, at least those in the data
    context                how the data are released, and under which controls
    attempt_probability    probability that anybody tries at all; zero would make every risk nothing
    """

    attacker: str | None = None
    population: int | None = None
    context: str | None = None
    attempt_probability: float | None = None

    def __post_init__(self) -> None:
        for name in _TEXTS:
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value.strip()):
                raise InvalidInput(f"Declared `{name}` must be a text that is not empty, got {value!r} instead.")
        if self.population is not None:
            checks.whole_number("population", self.population, at_least=2)
        if self.attempt_probability is not None:
            rule = "a probability above 0 and up to 1"
            checks.real_number("attempt_probability", self.attempt_probability, rule, math.nextafter(0.0, 1.0), 1.0)

    def check_population(self, people: int) -> None:
        """Refuse a population smaller than the people it must contain."""
        if self.population is not None and self.population < people:
            raise InvalidInput(
                f"The declared population of {self.population:,} is smaller than the {people:,} people in the data; "
                f"it must contain them all."
            )

    def updated(self, **changes: Any) -> Declared:
        """The same with every change that is not None."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return Declared(**{**values, **{name: value for name, value in changes.items() if value is not None}})

    def to_json(self) -> dict[str, Any]:
        """The documented object `declared`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


NOTHING_DECLARED = Declared()


def read_declared(path: str | os.PathLike[str]) -> Declared:
    """The declarations in a TOML file; it may name some of the keys and no others."""
    known = tuple(field.name for field in fields(Declared))
    return Declared(**read_toml("Declarations", path, known))
