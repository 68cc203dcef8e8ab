"""Times and ratings to numbers: whole batches by Arrow's casts where every text is plain, else text by text.

What a text means never depends on the texts around it: the casts read a part of what the patterns read, in the same
way (`tests/data/test_classify.py` compares both with Python's own calendar and decimals).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import absent_in, from_numpy, from_texts, one_of, values_of
from entropie.data.dates import EITHER, MONTHS, ZONE, marked
from entropie.data.rules import NULL_TIMES, SKIPPED
from entropie.data.times import TimeFormat
from entropie.data.zones import universal

_PROBE_ROWS = 64  # a cast that fails costs a microsecond per row, so that it is first tried on a few
_NUMBER = re.compile(
    r"[+-]?(nan|inf|infinity|(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)(e[+-]?\d{1,9})?)", re.IGNORECASE | re.ASCII
)
_ISO = (
    r"(?i)^(?P<year>\d{1,5})[-/\\ ](?P<month>\d{1,2})[-/\\ ](?P<day>\d{1,2})"
    r"(?:(?:T|[ \t]+)(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d*))?)?)?"
    rf" *(?:(?P<zulu>Z|UTC|GMT)|{ZONE})?)?$"
)
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY = (
    rf"(?i)^(?:{'|'.join(_DAYS)}) +(?P<name>{'|'.join(MONTHS)}) +(?P<day>\d{{1,2}}) "
    rf"+(?P<hour>\d{{1,2}}):(?P<minute>\d{{1,2}}):(?P<second>\d{{1,2}}) +{ZONE} +(?P<year>\d{{1,4}})$"
)
_PLAIN_WEEKDAY = b"Tue Apr 03 18:00:07 +0000 2012"
_PLAIN_LETTERS = np.frombuffer(_PLAIN_WEEKDAY, np.uint8)
_DIGITS = [place for place, letter in enumerate(_PLAIN_WEEKDAY) if chr(letter).isdigit()]
_MARKS = [place for place, letter in enumerate(_PLAIN_WEEKDAY) if chr(letter) in " :"]
_SIGN = _PLAIN_WEEKDAY.index(b"+")


@dataclass(frozen=True, slots=True)
class Ticks:
    """Ticks of all rows, and which rows have none for which reason."""

    values: NDArray[np.int64]  # 0 where there is none
    unread: dict[str, NDArray[np.bool_]]


def read_ticks(column: pa.Array, time: TimeFormat) -> Ticks:
    """Read a column of times of one of the normal types, text as UTF-8 `string`."""
    missing = absent_in(column)
    text = pa.types.is_string(column.type)
    plain = _plain_ticks(column, time) if text else None
    if text and plain is None:
        column = pc.utf8_trim_whitespace(column)
        missing |= one_of(column, NULL_TIMES)
    values = np.zeros(len(column), np.int64)
    infinite, unreadable = np.zeros((2, len(column)), np.bool_)
    local = np.ones(len(column), np.bool_)
    if plain is not None:
        values, local[:] = np.where(missing, 0, plain.ticks), plain.local
    else:
        found = _present_ticks(column.filter(from_numpy(~missing)), time)
        there = ~missing
        values[there], infinite[there], unreadable[there] = found.ticks, found.infinite, found.unreadable
        local[there] = found.local
    unread = {"missing time": missing, "NaN time": infinite, "unreadable time": unreadable}
    if time.zone is None:
        return Ticks(values, unread)
    local &= ~(missing | infinite | unreadable)
    skipped = np.zeros(len(column), np.bool_)
    values[local], skipped[local] = universal(values[local], time.zone, time.ticks_per_second or 1)
    return Ticks(values, {**unread, SKIPPED: skipped})


def read_numbers(column: pa.Array) -> NDArray[np.float64]:
    """Read a column of ratings, NaN where there is none or none that can be read."""
    if pa.types.is_string(column.type):
        plain = _plain_numbers(column)
        numbers = _odd_numbers(pc.utf8_trim_whitespace(column))[0] if plain is None else plain
    else:
        numbers = values_of(column).astype(np.float64)
    return np.where(absent_in(column), np.nan, numbers)


@dataclass(frozen=True, slots=True)
class _Found:
    """Ticks, which are not finite, which cannot be read, and which are of a clock that does not say its zone."""

    ticks: NDArray[np.int64]
    infinite: NDArray[np.bool_] | bool = False
    unreadable: NDArray[np.bool_] | bool = False
    local: NDArray[np.bool_] | bool = True


def _present_ticks(present: pa.Array, time: TimeFormat) -> _Found:
    """Read times where something is there; texts are trimmed."""
    text = pa.types.is_string(present.type)
    plain = _plain_ticks(present, time) if text else None
    if plain is not None:
        return plain
    if not text and time.name != "float":
        return _Found(values_of(present).astype(np.int64))
    if not text:
        return _Found(*_scaled(values_of(present).astype(np.float64), time.scale))
    if time.name == "either":
        return _either_ticks(present)
    if time.pattern or time.name in ("iso8601", "weekday"):
        parts = _Parts(present, time.pattern or (_ISO if time.name == "iso8601" else _WEEKDAY))
        ticks, readable = parts.ticks(parts.number("month"), parts.number("day"))
        return _Found(ticks, False, ~readable, parts.local)
    numbers, readable = _odd_numbers(present)
    ticks, infinite, too_large = _scaled(numbers, time.scale)
    if time.name == "integer":
        ticks, too_large = _exact(present, numbers)
    return _Found(ticks, infinite & readable, too_large | ~readable)


def _plain_ticks(texts: pa.Array, time: TimeFormat) -> _Found | None:
    """Read texts all at once; None if one of them is not plain, arbitrary where there is nothing."""
    if time.name == "integer":
        whole = _cast(texts, pa.int64())
        hexadecimal = whole is not None and pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py()
        return None if whole is None or hexadecimal else _Found(values_of(whole).astype(np.int64))
    if time.name == "float":
        numbers = _plain_numbers(texts)
        if numbers is None:
            return None
        ticks, infinite, unreadable = _scaled(np.where(absent_in(texts), 0.0, numbers), time.scale)
        return None if infinite.any() or unreadable.any() else _Found(ticks)
    if time.name == "iso8601":
        for zone in (None, "UTC"):
            instants = _cast(texts, pa.timestamp("us", zone))
            if instants is not None:
                return _Found(values_of(instants.cast(pa.int64())).astype(np.int64), local=zone is None)
    weekdays = _plain_weekdays(texts) if time.name == "weekday" else None
    return None if weekdays is None else _Found(weekdays, local=False)


def _plain_weekdays(texts: pa.Array) -> NDArray[np.int64] | None:
    """Read texts that all look like `Tue Apr 03 18:00:07 +0000 2012` to the letter: every part has its place."""
    _, ends, data = texts.buffers()
    bounds = np.frombuffer(ends, np.int32, len(texts) + 1, 4 * texts.offset) if len(texts) else np.zeros(1, np.int32)
    if texts.null_count or not len(texts) or (np.diff(bounds) != len(_PLAIN_WEEKDAY)).any():
        return None
    letters = np.frombuffer(data, np.uint8, bounds[-1] - bounds[0], bounds[0]).reshape(len(texts), -1)
    digits = letters[:, _DIGITS] - np.uint8(ord("0"))
    named = {place: letters[:, place : place + 3].astype(np.int64) @ (1 << 16, 1 << 8, 1) for place in (0, 4)}
    plain = (digits <= 9).all() and (letters[:, _MARKS] == _PLAIN_LETTERS[_MARKS]).all()
    plain &= np.isin(letters[:, _SIGN], (ord("+"), ord("-"))).all() and np.isin(named[0], _codes(_DAYS)).all()
    if not plain or not np.isin(named[4], _codes(MONTHS)).all():
        return None
    order = np.argsort(_codes(MONTHS))
    month = order[np.searchsorted(_codes(MONTHS)[order], named[4])] + 1
    day, hour, minute, second, zone_hours, zone_minutes, century, year = (
        digits[:, 2 * pair].astype(np.int64) * 10 + digits[:, 2 * pair + 1] for pair in range(8)
    )
    zone = 3600 * zone_hours + 60 * zone_minutes
    east = np.where(letters[:, _SIGN] == ord("-"), -zone, zone)
    ticks, readable = _instants((100 * century + year, month, day), (hour, minute, second), 0 * day, east)
    return ticks if readable.all() else None


def _codes(words: Sequence[str]) -> NDArray[np.int64]:
    """Three letters as a number, the first one large."""
    return np.array([int.from_bytes(word.title().encode(), "big") for word in words], np.int64)


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    try:
        texts[:_PROBE_ROWS].cast(kind)
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return None


def _plain_numbers(texts: pa.Array) -> NDArray[np.float64] | None:
    """Read texts all at once; None if one of them is no finite number, arbitrary where there is nothing."""
    numbers = _cast(texts, pa.float64())
    if numbers is None:
        return None
    values = values_of(numbers).astype(np.float64)
    return values if np.isfinite(values[~absent_in(texts)]).all() else None


def _odd_numbers(texts: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read trimmed texts one by one: the numbers, and which texts are one; nan is."""
    odd = [text if text is not None and _NUMBER.fullmatch(text) else None for text in texts.to_pylist()]
    numbers = np.array([math.nan if text is None else float(text) for text in odd], np.float64)
    return numbers, np.array([text is not None for text in odd], np.bool_)


def _scaled(
    numbers: NDArray[np.float64], scale: float
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Whole ticks, which numbers are not finite, and which have no room in 64 bits."""
    with np.errstate(over="ignore", invalid="ignore"):
        floors = np.floor(numbers * scale)
        fits = (floors >= -(2.0**63)) & (floors < 2.0**63)
    infinite = ~np.isfinite(numbers)
    return np.where(fits, floors, 0.0).astype(np.int64), infinite, ~fits & ~infinite


def _exact(texts: pa.Array, numbers: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Cut numbers to whole ones, exactly beyond 2^53 too; and which of the finite ones have no room in 64 bits."""
    ticks = [
        math.floor(Decimal(text)) if abs(number) < 2.0**64 else 0 if math.isnan(number) else 2**64
        for text, number in zip(texts.to_pylist(), numbers.tolist(), strict=True)
    ]
    fits = [-(2**63) <= tick < 2**63 for tick in ticks]
    whole = np.array([tick if fit else 0 for tick, fit in zip(ticks, fits, strict=True)], np.int64)
    return whole, ~np.array(fits, np.bool_) & np.isfinite(numbers)


def _either_ticks(texts: pa.Array) -> _Found:
    """Read dates whose first numbers are day and month in an order that only the whole column tells."""
    parts = _Parts(texts, EITHER)
    first, other = parts.number("first"), parts.number("other")
    day_first, one = parts.ticks(other, first)
    month_first, two = parts.ticks(first, other)
    return _Found(marked(day_first, month_first, (one, two)), False, ~(one | two), parts.local)


class _Parts:
    """The parts of trimmed texts that an expression names: year, month, day and so on; zero where one is not there."""

    def __init__(self, texts: pa.Array, pattern: str) -> None:
        self._rows = len(texts)
        self._parts = pc.extract_regex(texts, pattern)
        self._names = {field.name for field in self._parts.type}

    def number(self, name: str, width: int = 0) -> NDArray[np.int64]:
        """A part as a number; with a width so many digits of it, filled up with zeros on the right."""
        if name == "month" and "name" in self._names:
            short = pc.utf8_slice_codeunits(pc.utf8_lower(self._text("name")), 0, 3)
            return values_of(pc.index_in(short, value_set=from_texts(MONTHS))).astype(np.int64) + 1
        if name == "year" and "short" in self._names:
            year = self.number("short")
            return np.where(year < 69, 2000 + year, 1900 + year)  # as POSIX has it
        if name not in self._names:
            return np.zeros(self._rows, np.int64)
        digits = pc.utf8_slice_codeunits(self._text(name), 0, width or None)
        digits = pc.utf8_rpad(digits, max(1, width), "0")
        return values_of(digits.cast(pa.int64())).astype(np.int64)

    @property
    def local(self) -> NDArray[np.bool_]:
        """Which texts do not say how far east their clock is."""
        told = [~one_of(self._text(name), ("",)) for name in ("sign", "zulu") if name in self._names]
        return ~np.logical_or.reduce(told) if told else np.ones(self._rows, np.bool_)

    def ticks(self, month: NDArray[np.int64], day: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Microseconds since 1970, and which texts are of the pattern and in the calendar."""
        year, hour, minute, second = map(self.number, ("year", "hour", "minute", "second"))
        readable = ~absent_in(self._parts)
        if "half" in self._names:
            half = pc.utf8_lower(self._text("half"))
            halved, late = ~one_of(half, ("",)), one_of(half, ("pm",))
            readable &= ~halved | ((hour >= 1) & (hour <= 12))
            hour = np.where(halved, hour % 12 + 12 * late, hour)
        zone = 3600 * self.number("zone_hours") + 60 * self.number("zone_minutes") + self.number("zone_seconds")
        west = one_of(self._text("sign"), ("-",)) if "sign" in self._names else np.zeros(self._rows, np.bool_)
        east = np.where(west, -zone, zone)
        ticks, there = _instants((year, month, day), (hour, minute, second), self.number("fraction", 6), east)
        readable &= there
        return np.where(readable, ticks, 0), readable

    def _text(self, name: str) -> pa.Array:
        return pc.fill_null(pc.struct_field(self._parts, name), "")


_Whole = NDArray[np.int64]


def _instants(
    date: tuple[_Whole, _Whole, _Whole], clock: tuple[_Whole, _Whole, _Whole], fraction: _Whole, east: _Whole
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Microseconds since 1970 of dates and times so many seconds east of Greenwich, and which there are."""
    (year, month, day), (hour, minute, second) = date, clock
    first = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    days, length = first.astype("datetime64[D]"), (first + 1).astype("datetime64[D]") - first.astype("datetime64[D]")
    midnight = (hour == 24) & (minute == 0) & (second == 0) & (fraction == 0)
    readable = (month >= 1) & (month <= 12) & (day >= 1) & (day <= length.astype(np.int64))
    readable &= ((hour < 24) | midnight) & (minute < 60) & (second < 60)
    seconds = 86400 * (days.astype(np.int64) + day - 1) + 3600 * hour + 60 * minute + second - east
    return 10**6 * seconds + fraction, readable
