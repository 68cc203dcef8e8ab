"""Dates in other orders than ISO's: patterns as people write them, and which of day and month comes first.

`31/12/2012` can only have its day first, `12/31/2012` only its month, `05/04/2012` either. Until a whole column is
read, a tick carries which of these its text was (`marked`); `decided` then reads all in the one order that fits.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from entropie.data.times import TimeFormat
from entropie.errors import InvalidInput, InvalidParameter, option

ZONE = r"(?P<sign>[+-])(?P<zone_hours>\d\d):?(?P<zone_minutes>\d\d)?(?::?(?P<zone_seconds>\d\d))?"
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES = "|".join(
    f"{month}(?:{rest})?"
    for month, rest in zip(
        MONTHS,
        ("uary", "ruary", "ch", "il", "", "e", "y", "ust", "t(?:ember)?|tember", "ober", "ember", "ember"),
        strict=True,
    )
)
_CLOCK = (
    r"(?:(?:T|,?[ \t]+)(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d*))?)?)?"
    r" *(?P<half>AM|PM)? *(?P<zulu>Z|UTC|GMT)?)?$"
)
EITHER = rf"(?i)^(?P<first>\d{{1,2}})[/.-](?P<other>\d{{1,2}})[/.-](?P<year>\d{{4}}){_CLOCK}"
"""A date of which day and month are the first two numbers."""

ORDERS = {
    "day-first": EITHER.replace("first", "day").replace("other", "month"),
    "month-first": EITHER.replace("first", "month").replace("other", "day"),
}
_PARTS = {
    "Y": r"(?P<year>\d{4})",
    "y": r"(?P<short>\d{2})",
    "m": r"(?P<month>\d{1,2})",
    "d": r"(?P<day>\d{1,2})",
    "H": r"(?P<hour>\d{1,2})",
    "I": r"(?P<hour>\d{1,2})",
    "M": r"(?P<minute>\d{1,2})",
    "S": r"(?P<second>\d{1,2})",
    "f": r"(?P<fraction>\d{1,9})",
    "p": r"(?P<half>AM|PM)",
    "b": f"(?P<name>{_NAMES})",
    "a": r"[a-z]+\.?",
    "z": rf"(?:(?P<zulu>Z)|{ZONE})",
    "Z": r"(?P<zulu>Z|UTC|GMT)",
    "%": "%",
}
_SAME = {"B": "%b", "h": "%b", "A": "%a", "e": "%d", "T": "%H:%M:%S", "R": "%H:%M", "F": "%Y-%m-%d", "D": "%m/%d/%y"}
_RULE = "s, ms, us, ns, order, day-first, month-first, or a pattern with year, month and day: '%d.%m.%Y %H:%M'"


def format_of(text: str) -> TimeFormat:
    """Read how times are written: the order of a date by name, or a pattern as strftime has them."""
    if text.lower() in ORDERS:
        return TimeFormat(text.lower(), 10**6, pattern=ORDERS[text.lower()])  # type: ignore[arg-type]
    pattern, whole = "", re.sub("%([BhAeTRFD])", lambda found: _SAME[found[1]], text.strip())
    for part in re.findall(r"%.|\s+|[^%\s]|%", whole):
        if part[0] == "%" and part[1:] not in _PARTS:
            raise InvalidParameter.of("time_format", _RULE, text)
        pattern += _PARTS[part[1]] if part[0] == "%" else "[ \\t]+" if part.isspace() else re.escape(part)
    names = re.findall(r"\?P<(\w+)>", pattern)
    needed = (("year", "short"), ("month", "name"), ("day",))
    if len(set(names)) < len(names) or any(len(set(names) & set(either)) != 1 for either in needed):
        raise InvalidParameter.of("time_format", _RULE, text)
    return TimeFormat("pattern", 10**6, pattern=f"(?i)^{pattern}$", called=text)


def marked(
    day_first: NDArray[np.int64], month_first: NDArray[np.int64], fits: tuple[NDArray[np.bool_], NDArray[np.bool_]]
) -> NDArray[np.int64]:
    """Ticks of texts that are read day first where that fits, each with a mark: 1 only so, 2 only the other way."""
    one, other = fits
    ticks = np.where(one, day_first, month_first)
    return np.asarray(4 * ticks + np.where(one & ~other, 1, 0) + np.where(other & ~one, 2, 0), np.int64)


def decided(ticks: NDArray[np.int64], time: TimeFormat, column: str, name: str) -> TimeFormat:
    """Give marked ticks of a whole column their meaning, in place; refuses dates that fit both orders or neither."""
    order = order_told(*marks(ticks), column, name)
    unmark(ticks, order)
    return order


def marks(ticks: NDArray[np.int64]) -> tuple[int, int]:
    """How many marked ticks have the day first for certain, and how many the month."""
    return int(np.count_nonzero(ticks & 3 == 1)), int(np.count_nonzero(ticks & 3 == 2))


def order_told(days: int, months: int, column: str, name: str) -> TimeFormat:
    """What comes first in a column where so many rows say so."""
    say = f"say which with {option('time_format')} day-first or month-first"
    if not days and not months:
        raise InvalidInput(
            f"Dates in column `{column}` of {name} may have day or month first, none has a number above 12; {say}."
        )
    if days and months:
        raise InvalidInput(
            f"Dates in column `{column}` of {name} have the day first in {days:,} rows and the month first in "
            f"{months:,}; make them one order, or {say}."
        )
    return TimeFormat("day-first" if days else "month-first", 10**6, told=True)


def unmark(ticks: NDArray[np.int64], order: TimeFormat) -> None:
    """Give marked ticks their meaning, in place."""
    either = ticks & 3 == 0
    ticks >>= 2
    if order.name == "month-first":
        ticks[either] = _turned(ticks[either])


def _turned(ticks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same texts read month first: day and month, both at most 12, change places."""
    days = ticks // (86_400 * 10**6)
    date = days.astype("datetime64[D]")
    month = date.astype("datetime64[M]")
    year = month.astype("datetime64[Y]")
    day_of_month = (date - month.astype("datetime64[D]")).astype(np.int64)
    month_of_year = (month - year.astype("datetime64[M]")).astype(np.int64)
    turned = (year.astype("datetime64[M]") + day_of_month).astype("datetime64[D]") + month_of_year
    return np.asarray(ticks + (turned.astype(np.int64) - days) * 86_400 * 10**6, np.int64)
