"""Times and ratings to numbers in memory, in agreement with what DuckDB reads.

DuckDB reads more kinds of text than can be listed. What is read here is the plain core of every format, where the two
cannot differ; a column with any other text is returned unread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import absent_in, from_numpy, from_texts, truths_of, values_of
from entropie.data.encoding import NULL_TIMES
from entropie.data.times import TimeFormat

__all__ = ["Ticks", "one_of", "read_numbers", "read_ticks"]

_SPACES = " \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"  # DuckDB's
_WHOLE = r"^-?\d{1,18}$"
_DECIMAL = r"^-?\d{1,17}(\.\d{1,17})?([eE][+-]?\d{1,2})?$"
_NOT_FINITE = r"(?i)^-?(nan|inf|infinity)$"
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
_OFFSET = r"[+-](?:0\d|1[0-4])"
_LOCAL = rf"^[12]\d{{3}}-\d\d-\d\d([T ]{_CLOCK}(\.\d{{1,6}})?)?$"
_ZONED = rf"^[12]\d{{3}}-\d\d-\d\d[T ]{_CLOCK}(\.\d{{1,6}})?(Z|{_OFFSET}(:?[0-5]\d)?)$"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAY = (
    rf"^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<month>{'|'.join(_MONTHS)}) (?P<clock>\d\d {_CLOCK}) "
    rf"(?P<zone>{_OFFSET}[0-5]\d) (?P<year>[12]\d{{3}})$"
)


@dataclass(frozen=True, slots=True)
class Ticks:
    """Ticks of all rows, and which rows have none for which reason."""

    values: NDArray[np.int64]  # 0 where there is none
    unread: dict[str, NDArray[np.bool_]]  # the first reason first


def read_ticks(column: pa.Array, time: TimeFormat) -> Ticks | None:
    """Read a column of times; None if a text of it is beyond the plain core."""
    missing = absent_in(column)
    if pa.types.is_string(column.type):
        missing |= one_of(column, NULL_TIMES, trimmed=True)
    present = column.filter(from_numpy(~missing))
    found = _present_ticks(present, time)
    if found is None:
        return None
    values = np.zeros(len(column), np.int64)
    infinite, unreadable = np.zeros((2, len(column)), np.bool_)
    values[~missing], infinite[~missing], unreadable[~missing] = found
    return Ticks(values, {"missing time": missing, "NaN time": infinite, "unreadable time": unreadable})


def read_numbers(column: pa.Array) -> NDArray[np.float64] | None:
    """Read a column of ratings, NaN where there is none; None if a text of it is beyond the plain core."""
    numbers = np.full(len(column), np.nan)
    absent = absent_in(column)
    if pa.types.is_string(column.type):
        absent |= one_of(column, NULL_TIMES)
    present = column.filter(from_numpy(~absent))
    if pa.types.is_string(column.type) and not _all_match(present, _DECIMAL, _NOT_FINITE):
        return None
    numbers[~absent] = values_of(present.cast(pa.float64()))
    return numbers


def one_of(texts: pa.Array, values: Sequence[str], *, trimmed: bool = False) -> NDArray[np.bool_]:
    """Where a text is one of these."""
    texts = pc.utf8_trim(texts, characters=_SPACES) if trimmed else texts
    return truths_of(pc.is_in(texts, value_set=from_texts(values)))


_Found = tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]
"""Ticks, which are not finite, which cannot be read."""


def _present_ticks(present: pa.Array, time: TimeFormat) -> _Found | None:
    nothing = np.zeros(len(present), np.bool_)
    text = pa.types.is_string(present.type)
    if time.name == "float":
        numbers = read_numbers(present)
        return None if numbers is None else _scaled(numbers, time.scale)
    if time.name == "integer" and text:
        return _whole_ticks(present)
    if not text:
        return values_of(present).astype(np.int64), nothing, nothing
    ticks = _iso_ticks(present) if time.name == "iso8601" else _weekday_ticks(present)
    return None if ticks is None else (ticks, nothing, nothing)


def _scaled(numbers: NDArray[np.float64], scale: float) -> _Found:
    with np.errstate(over="ignore", invalid="ignore"):
        floors = np.floor(numbers * scale)
        fits = (floors >= -(2.0**63)) & (floors < 2.0**63)
    infinite = ~np.isfinite(numbers)
    return np.where(fits, floors, 0.0).astype(np.int64), infinite, ~fits & ~infinite


def _whole_ticks(texts: pa.Array) -> _Found | None:
    if not _all_match(texts, _WHOLE, _NOT_FINITE):
        return None
    infinite = ~_matches(texts, _WHOLE)
    ticks = np.zeros(len(texts), np.int64)
    ticks[~infinite] = values_of(texts.filter(from_numpy(~infinite)).cast(pa.int64()))
    return ticks, infinite, np.zeros(len(texts), np.bool_)


def _iso_ticks(texts: pa.Array) -> NDArray[np.int64] | None:
    local, zoned = _matches(texts, _LOCAL), _matches(texts, _ZONED)
    if not np.all(local | zoned):
        return None
    ticks = np.zeros(len(texts), np.int64)
    for where, zone in ((local, None), (zoned, "UTC")):
        found = _instants(texts.filter(from_numpy(where)), zone)
        if found is None:
            return None
        ticks[where] = found
    return ticks


def _weekday_ticks(texts: pa.Array) -> NDArray[np.int64] | None:
    """Put the parts in the order of ISO 8601; the name of the day says nothing more."""
    parts = pc.extract_regex(texts, _WEEKDAY)
    if parts.null_count:
        return None
    month, day_and_clock, zone, year = (pc.struct_field(parts, name) for name in ("month", "clock", "zone", "year"))
    numbers = from_texts([f"-{place:02d}-" for place in range(1, 13)])
    month = numbers.take(pc.index_in(month, value_set=from_texts(_MONTHS)))
    nothing_between = from_texts([""]).take(from_numpy(np.zeros(len(texts), np.int64)))
    return _instants(pc.binary_join_element_wise(year, month, day_and_clock, zone, nothing_between), "UTC")


def _instants(texts: pa.Array, zone: str | None) -> NDArray[np.int64] | None:
    """Microseconds since 1970; None if a date is not in the calendar."""
    try:
        instants = texts.cast(pa.timestamp("us", zone))
    except pa.ArrowInvalid:
        return None
    return values_of(instants.cast(pa.int64())).astype(np.int64)


def _matches(texts: pa.Array, pattern: str) -> NDArray[np.bool_]:
    return truths_of(pc.match_substring_regex(texts, pattern))


def _all_match(texts: pa.Array, *patterns: str) -> bool:
    return bool(np.all(np.any([_matches(texts, pattern) for pattern in patterns], axis=0)))
