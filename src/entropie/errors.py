"""The exception tree: what entropie raises, and nothing else.

    EntropieError
    ├── InvalidParameter     a number or name that breaks a rule (also a ValueError)
    ├── InvalidInput         a file, column or value that cannot be used (also a ValueError)
    │   └── ParametersMismatch   reports or counts made under other parameters
    └── Unreachable          no setting gives what was asked for (also a ValueError)

Every message is one sentence or two: name, rule, value, remedy.
"""

from __future__ import annotations

__all__ = ["EntropieError", "InvalidInput", "InvalidParameter", "ParametersMismatch", "Unreachable"]


class EntropieError(Exception):
    """Root of everything raised on purpose."""


class InvalidParameter(EntropieError, ValueError):
    """A parameter breaks its rule."""

    @classmethod
    def of(cls, name: str, rule: str, value: object) -> InvalidParameter:
        """Build the standard sentence: which parameter, what it must be, what it was."""
        return cls(f"Parameter `{name}` must be {rule}, got {value!r} instead.")


class InvalidInput(EntropieError, ValueError):
    """A file, a column or a value cannot be used."""


class ParametersMismatch(InvalidInput):
    """Reports or counts belong to other parameters than the ones in use."""


class Unreachable(EntropieError, ValueError):
    """No setting of the mechanism reaches the wanted guarantee."""
