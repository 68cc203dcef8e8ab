"""The exception tree: what entropie raises, and nothing else.

    EntropieError
    ├── InvalidParameter     a number or name that breaks a rule (also a ValueError)
    ├── InvalidInput         a file, column or value that cannot be used (also a ValueError)
    │   ├── InputTooLarge        more than the memory allowed for it
    │   └── ParametersMismatch   reports or counts made under other parameters
    ├── Unreachable          no setting gives what was asked for (also a ValueError)
    └── OutputFailed         a file that could not be written (also an OSError)

Every message is one sentence or two: name, rule, value, remedy. A message that speaks of a parameter marks it with
`option`: Python then reads `min_events=`, the command line `--min-events`. A message that quotes data marks it with
`shown`: it is left out unless asked for (`--show-values`, `with_values`), because messages end up in logs. Whatever a
message names is `printable`: nothing in it moves a cursor, turns the direction of text or breaks a line.
"""

from __future__ import annotations

import functools
import re
import traceback
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ParamSpec, TypeVar

__all__ = [
    "EntropieError",
    "InputTooLarge",
    "InvalidInput",
    "InvalidParameter",
    "OutputFailed",
    "ParametersMismatch",
    "Unreachable",
    "interrupted",
    "interruptible",
    "option",
    "printable",
    "shown",
    "unexpected",
    "without_password",
]

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")
_INSIDE = re.compile("\x02([^\x02\x03]*)\x03")
_VALUE = re.compile("\x04([^\x04-\x06]*)\x05([^\x04-\x06]*)\x06")
_LONGEST_VALUE = 60
_PASSWORD = re.compile(r"(?<=://)([^\s/?#:@]*):[^\s/?#]*@|\b(password=)[^\s&'\"]*", re.IGNORECASE)
_SUBJECT = re.compile(r"Parameter `(\w+)`")


def option(name: str) -> str:
    """Mark a parameter in a message, so that it is shown the way its reader sets it."""
    return f"\x02{name}\x03"


def shown(value: object, instead: str = "") -> str:
    """Mark a value from the data in a message: it is left out, and `instead` stands there, unless asked for."""
    text = printable(_cut(value) if isinstance(value, str) else _brief(value))
    return f"\x04{text}\x05{instead}\x06"


def printable(text: str) -> str:
    r"""A name as it may be shown: controls, escapes, turns of direction, line ends and broken characters spelled out.

    >>> printable("a\x1b[31m\u202eb\n")
    'a\\x1b[31m\\u202eb\\n'
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or unicodedata.category(letter) == "Zs" else repr(letter)[1:-1]
        for letter in text
    )


def without_password(text: str) -> str:
    """A text in which no address of a database has a password.

    >>> without_password("postgresql://ann:pw@host/db?password=pw&a=1")
    'postgresql://ann@host/db?password=&a=1'
    """
    return _PASSWORD.sub(lambda found: found[2] or f"{found[1]}@", text)


class EntropieError(Exception):
    """Root of everything raised on purpose."""

    def __str__(self) -> str:
        return printable(_INSIDE.sub(r"`\1=`", self._said(values=False)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def with_values(self) -> str:
        """The message with the values from the data that it quotes; not for logs."""
        return printable(_INSIDE.sub(r"`\1=`", self._said(values=True)))

    def on_command_line(self, spelled: Callable[[str], str], *, values: bool = False) -> str:
        """The message with every parameter as the option that sets it; `spelled` gives an option's name."""
        text = _INSIDE.sub(lambda found: spelled(found[1]), self._said(values))
        return printable(_SUBJECT.sub(lambda found: f"Option {spelled(found[1])}", text))

    def _said(self, values: bool) -> str:
        return without_password(_VALUE.sub(r"\1" if values else r"\2", super().__str__()))


class InvalidParameter(EntropieError, ValueError):
    """A parameter breaks its rule."""

    @classmethod
    def of(cls, name: str, rule: str, value: object) -> InvalidParameter:
        """Build the standard sentence: which parameter, what it must be, what it was."""
        return cls(f"Parameter `{name}` must be {rule}, got {_brief(value)} instead.")

    @classmethod
    def among(cls, name: str, names: Iterable[str], value: object) -> InvalidParameter:
        """The same where it must be one of these names, with the one that was nearly written."""
        known = list(names)
        rule = f"Parameter `{name}` must be one of {', '.join(known)}"
        return cls(f"{rule}, got {_brief(value)} instead{meant(value, known)}")


class InvalidInput(EntropieError, ValueError):
    """A file, a column or a value cannot be used."""


def extra_needed(what: str, extra: str) -> InvalidInput:
    """What to install where a part of this package is not there."""
    return InvalidInput(f"{what} the extra `{extra}`; run: pip install 'entropie[{extra}]'")


class InputTooLarge(InvalidInput):
    """What was read takes more memory than it may."""


class ParametersMismatch(InvalidInput):
    """Reports or counts belong to other parameters than the ones in use."""


class Unreachable(EntropieError, ValueError):
    """No setting of the mechanism reaches the wanted guarantee."""


class OutputFailed(EntropieError, OSError):
    """A file could not be written: the disk is full, or nobody may write there."""


def interrupted(problem: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: where it meets the edge of compiled code, it comes out as a SystemError."""
    return problem is not None and (
        isinstance(problem, KeyboardInterrupt)
        or (isinstance(problem, SystemError) and interrupted(problem.__cause__ or problem.__context__))
    )


def unexpected(problem: BaseException) -> str:
    """What kind of error nobody meant to raise, and where in this program; what it says itself may quote the data."""
    if isinstance(problem, MemoryError):
        return "Memory is exhausted; take fewer events, or a machine with more."
    ours = Path(__file__).parent
    places = [step for step in traceback.extract_tb(problem.__traceback__) if Path(step.filename).is_relative_to(ours)]
    last = next(reversed(places), None)
    where = "" if last is None else f" in {Path(last.filename).relative_to(ours)}, line {last.lineno}"
    return f"This is an error of the program ({type(problem).__name__}{where}), not of the data."


def interruptible(door: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """A function that runs compiled code, whom Ctrl-C leaves as KeyboardInterrupt and nothing else."""

    @functools.wraps(door)
    def called(*given: _Given.args, **named: _Given.kwargs) -> _Found:
        try:
            return door(*given, **named)
        except SystemError as problem:
            if interrupted(problem):
                raise KeyboardInterrupt from None
            raise

    return called


def meant(value: object, names: Iterable[str]) -> str:
    """The end of a sentence about a name that is none of these: which of them was nearly written.

    >>> meant("vist", ["markov", "visit"]), meant("other", ["markov", "visit"])
    ('; did you mean `visit`?', '.')
    """
    import difflib

    near = difflib.get_close_matches(str(value).lower(), list(names), 1)
    return f"; did you mean `{near[0]}`?" if near else "."


def _brief(value: object) -> str:
    """A value as Python writes it, cut where it is long."""
    try:
        return _cut(repr(value))
    except ValueError:  # Python does not write out numbers of more than 4,300 digits
        return "a number of thousands of digits"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
