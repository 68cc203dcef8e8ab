"""How options are declared, and the kinds of values that they have: how each is read and what it should be."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from entropie.errors import InvalidParameter
from entropie.quantities import MOST_BYTES, PointErrors, read_bytes, read_count, read_share
from entropie.theory import checks

Kind = Literal[
    "text", "texts", "choice", "count", "counts", "some", "number", "share", "bytes", "flag", "path", "date", "errors",
    "table", "columns", "names", "population",
]  # fmt: skip


class Option(NamedTuple):
    """What a person sees of a field: one line, the kind of value, and how the command line spells it."""

    help: str
    kind: Kind
    metavar: str | None = None
    spelled: str | None = None  # --name, where it is not the field's own
    choices: tuple[str, ...] = ()
    group: str | None = None  # the question the help lists it under, where it is not that of its section


def declare(
    default: Any, help: str, kind: Kind = "text", metavar: str | None = None, *,
    spelled: str | None = None, choices: tuple[str, ...] = (), group: str | None = None,
) -> Any:  # fmt: skip
    """A field of the job that people can set: its default and what they see of it."""
    return dataclasses.field(default=default, metadata={"option": Option(help, kind, metavar, spelled, choices, group)})


def option_of(declared: dataclasses.Field[Any]) -> Option | None:
    """What a person sees of a field; None for what only Python can give."""
    return declared.metadata.get("option")


def converted(name: str, kind: Kind, value: Any, choices: tuple[str, ...] = ()) -> Any:
    """A value of an option as its field holds it, read from text where it is text; says what it should be."""
    read, rule = _KINDS[kind]
    try:
        found = read(value)
    except (ValueError, TypeError, OverflowError):
        raise InvalidParameter.of(name, rule, value) from None
    if choices and found not in choices:
        raise InvalidParameter.among(name, choices, value)
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError
    value.encode()  # half a character from a terminal with another encoding cannot be written to any document
    return value


def _count(value: Any) -> int:
    return read_count(value) if isinstance(value, str) else checks.whole_number("count", value, at_least=-(10**18))


def _some(value: Any) -> int | str:
    return "all" if isinstance(value, str) and value.strip().lower() == "all" else _count(value)


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    return float(value)


def _share(value: Any) -> float:
    return read_share(value) if isinstance(value, str) else _number(value)


def _bytes(value: Any) -> int:
    if isinstance(value, str):
        return read_bytes(value)
    return checks.whole_number("size", value, at_least=1, at_most=MOST_BYTES)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _date(value: Any) -> datetime.date:
    if isinstance(value, datetime.datetime):
        return value.date()
    return value if isinstance(value, datetime.date) else datetime.date.fromisoformat(value)


def _errors(value: Any) -> PointErrors:
    return value if isinstance(value, PointErrors) else PointErrors.read(value if isinstance(value, str) else "")


def _columns(value: Any) -> str:
    return _text(value) if isinstance(value, str) else ",".join(map(_text, value))


def _names(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, [name.strip() for name in value.split(",")] if isinstance(value, str) else value))


def population_of(value: Any) -> Any:
    """A number of people, or the table of the population: a file of that name stands before a number.

    >>> population_of("1.4M"), population_of(12), population_of("census.csv")
    (1400000, 12, 'census.csv')
    """
    if isinstance(value, str | Path) and not Path(value).exists():
        try:
            return read_count(str(value))
        except (ValueError, OverflowError):
            return _text(str(value))
    return checks.whole_number("population", value) if isinstance(value, int) else value


def _table(value: Any) -> Any:
    return value if hasattr(value, "__arrow_c_stream__") else Path(value)


def _several(one: Any) -> Any:
    return lambda values: tuple(map(one, (values,) if isinstance(values, str | int) else values))


_KINDS: dict[Kind, tuple[Any, str]] = {
    "text": (_text, "a text that is not empty"),
    "columns": (_columns, "a column, or several with commas between"),
    "names": (_names, "columns, with commas between"),
    "population": (population_of, "a table, or a number of people"),
    "texts": (_several(_text), "a list of texts"),
    "choice": (lambda value: _text(value).lower(), "a name"),
    "count": (_count, "a whole number, such as 1000, 1e6 or 1.4M"),
    "counts": (_several(_count), "a list of whole numbers"),
    "some": (_some, "a whole number, such as 1000 or 20K, or all"),
    "number": (_number, "a number"),
    "share": (_share, "a share, such as 0.1 or 10%"),
    "bytes": (_bytes, "a size, such as 512MB or 4GB"),
    "flag": (_flag, "true or false"),
    "path": (Path, "a path"),
    "date": (_date, "a date, such as 2027-01-31"),
    "errors": (_errors, "how wrong points may be, such as time=30min,items=10%"),
    "table": (_table, "a path or an object with __arrow_c_stream__"),
}
"""How each is read, and what it should be."""
