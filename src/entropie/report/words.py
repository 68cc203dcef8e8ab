"""How the report writes numbers: one function per format, chosen by name."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any

from entropie.errors import InvalidInput

__all__ = ["FORMATS", "written"]

_PERCENT = "\N{NO-BREAK SPACE}%"
_LONGEST_NAME = 80


def percent(share: float) -> str:
    r"""A share in percent: one decimal, and close to 0 or 100 % so many that two digits tell it apart from them.

    >>> percent(0.5702), percent(0.99522), percent(0.000662), percent(1.0)
    ('57.0\xa0%', '99.52\xa0%', '0.066\xa0%', '100\xa0%')
    """
    edge = min(abs(share), abs(1.0 - share)) * 100.0
    if edge == 0.0:
        return f"{share * 100.0:.0f}{_PERCENT}"
    if edge < 1e-6:
        return f"almost {round(share * 100.0)}{_PERCENT}"
    decimals = 1 if edge >= 1.0 else 1 - math.floor(math.log10(edge))
    return f"{share * 100.0:,.{decimals}f}{_PERCENT}"


def limit(share: float) -> str:
    """A share that somebody wrote down, as she wrote it: 0.09 as 9 %."""
    return f"{share * 100.0:.10g}{_PERCENT}"


def right(error: float) -> str:
    """The share named rightly, where the document holds the share named wrongly."""
    return percent(1.0 - error)


def bits(value: float) -> str:
    """Bits with two decimals, without the unit; never -0.00."""
    return f"{round(value, 2) + 0.0:.2f}"


def small_bits(value: float) -> str:
    """Bits of one item among thousands, four decimals."""
    return f"{round(value, 4) + 0.0:.4f}"


def count(number: int) -> str:
    """1511 as 1,511."""
    return f"{number:,}"


def number(value: float) -> str:
    """Four significant digits."""
    return f"{value:.4g}"


def seconds(value: float) -> str:
    """Up to a minute in seconds, longer ones in minutes and seconds."""
    if value < 60.0:
        return f"{value:.1f}\N{NO-BREAK SPACE}s"
    return f"{int(value) // 60}\N{NO-BREAK SPACE}min {int(value) % 60}\N{NO-BREAK SPACE}s"


def date(text: str) -> str:
    """2027-11-16 or 2027-11-16T09:30:00+00:00 as 16 November 2027."""
    day = datetime.datetime.fromisoformat(text).date()
    return f"{day.day} {day:%B} {day.year}"


def moment(text: str) -> str:
    r"""A day as `date` writes it, and the time too where the text has one.

    >>> moment("2023-11-15"), moment("2023-11-15T06:30Z")
    ('15 November 2023', '15 November 2023, 06:30\xa0UTC')
    """
    if len(text) <= len("2023-11-15"):
        return date(text)
    found = datetime.datetime.fromisoformat(text)
    found = found.replace(tzinfo=datetime.UTC) if found.tzinfo is None else found.astimezone(datetime.UTC)
    return f"{date(found.isoformat())}, {found:%H:%M}\N{NO-BREAK SPACE}UTC"


def name(text: str) -> str:
    """A name of somebody else's making, cut where it is too long for a table."""
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def file_name(text: str) -> str:
    """The last part of a path."""
    return name(text.replace("\\", "/").rstrip("/").rpartition("/")[2] or text)


def text(value: str) -> str:
    """As it is."""
    return value


FORMATS: dict[str, tuple[type | tuple[type, ...], Callable[[Any], str]]] = {
    "percent": ((int, float), percent),
    "limit": ((int, float), limit),
    "right": ((int, float), right),
    "bits": ((int, float), bits),
    "small_bits": ((int, float), small_bits),
    "count": (int, count),
    "number": ((int, float), number),
    "seconds": ((int, float), seconds),
    "date": (str, date),
    "moment": (str, moment),
    "name": (str, name),
    "file_name": (str, file_name),
    "text": (str, text),
}


def written(value: object, form: str, where: str) -> str:
    """`value` in the named format, or a sentence that says what is wrong with it and where it stands."""
    types, function = FORMATS[form]
    usable = isinstance(value, types) and not isinstance(value, bool)
    if not usable or (isinstance(value, float) and not math.isfinite(value)):
        raise InvalidInput(
            f"The document's `{where}` cannot be written as {form}: it is {value!r}; "
            "make it anew with `entropie assess`."
        )
    try:
        return function(value)
    except ValueError:
        raise InvalidInput(f"The document's `{where}` must be a {form}, got {value!r} instead.") from None
