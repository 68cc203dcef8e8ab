"""The exception tree: what entropie raises, and nothing else.

    EntropieError
    ├── InvalidParameter     a number or name that breaks a rule (also a ValueError)
    ├── InvalidInput         a file, column or value that cannot be used (also a ValueError)
    │   └── ParametersMismatch   reports or counts made under other parameters
    └── Unreachable          no setting gives what was asked for (also a ValueError)

Every message is one sentence or two: name, rule, value, remedy. A message that speaks of a parameter marks it with
`option`: Python then reads `min_events=`, the command line `--min-events`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["EntropieError", "InvalidInput", "InvalidParameter", "ParametersMismatch", "Unreachable", "option"]

_INSIDE = re.compile("\x02([^\x02\x03]*)\x03")
_SUBJECT = re.compile(r"Parameter `(\w+)`")


def option(name: str) -> str:
    """Mark a parameter in a message, so that it is shown the way its reader sets it."""
    return f"\x02{name}\x03"


class EntropieError(Exception):
    """Root of everything raised on purpose."""

    def __str__(self) -> str:
        return _INSIDE.sub(r"`\1=`", super().__str__())

    def on_command_line(self, spelled: Callable[[str], str]) -> str:
        """The message with every parameter as the option that sets it; `spelled` gives an option's name."""
        text = _INSIDE.sub(lambda found: spelled(found[1]), super().__str__())
        return _SUBJECT.sub(lambda found: f"Option {spelled(found[1])}", text)


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
