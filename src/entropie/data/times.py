"""What a time column holds, found from its type or its first values: the way to whole ticks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.arrow import values_of
from entropie.errors import InvalidInput, option, shown

SIZES = (10**11, 10**14, 10**17)
"""Numbers of seconds, thousandths and millionths of a second since 1970 stay below these."""

_NUMBER = re.compile(r"\s*([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity))\s*", re.IGNORECASE)
_WHOLE = re.compile(r"\s*[+-]?\d+\s*")
_ISO = re.compile(
    r"\s*\d{4}[-/]\d{1,2}[-/]\d{1,2}([T ]\d{1,2}:\d\d(:\d\d(\.\d+)?)?\s?(Z|UTC|[+-]\d\d(:?\d\d)?)?)?\s*", re.IGNORECASE
)
_WEEKDAY = re.compile(r"\s*[a-z]{3} +[a-z]{3} +\d\d? +\d\d?:\d\d?:\d\d? +[+-]\d\d(:?\d\d)? +\d{4}\s*", re.IGNORECASE)
_EITHER = re.compile(
    r"\s*\d{1,2}[/.-]\d{1,2}[/.-]\d{4}((T|,?\s+)\d{1,2}(:\d\d(:\d\d(\.\d+)?)?)?\s*([AP]M)?\s*(Z|UTC|GMT)?)?\s*",
    re.IGNORECASE,
)

_EXAMPLE = "Tue Apr 03 18:00:07 +0000 2012"


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """How one value becomes a tick: by which form it is read, and how many ticks make a second."""

    name: Literal[
        "integer", "float", "iso8601", "weekday", "timestamp", "either", "day-first", "month-first", "pattern"
    ]  # either: of day and month, to be told from the whole column
    ticks_per_second: int | None = None  # None: to be told from the size of the numbers
    scale: float = 1.0  # ticks in one unit of a floating number
    pattern: str = ""  # an expression with the parts of a date by name
    called: str = ""  # how whoever gave the pattern wrote it
    told: bool = False  # that day or month comes first was told from the column
    zone: str | None = None  # of times that do not say it; universal time if None

    def describe(self) -> str:
        """What a value must be to be read."""
        return {
            "integer": "a whole number",
            "float": "a number",
            "iso8601": "ISO 8601",
            "weekday": f"`{_EXAMPLE}`",
            "timestamp": "a time",
            "either": "a date such as 31/12/2012",
            "day-first": "a date with the day first, such as 31/12/2012",
            "month-first": "a date with the month first, such as 12/31/2012",
            "pattern": f"a time written as `{self.called}`",
        }[self.name]

    @property
    def title(self) -> str:
        """What the document calls it."""
        return self.called or self.name


def find_time_format(sample: pa.Array, column: str, name: str, first: str | None = None) -> TimeFormat:
    """Recognise the format by which most of the first values can be read; the whole column is held to it.

    `first` is where the first value is.
    """
    kind = sample.type
    if pa.types.is_integer(kind):
        return TimeFormat("integer")
    if pa.types.is_floating(kind):
        return _float_format(values_of(sample.drop_null()).astype(np.float64))
    bare = pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()
    texts = [text.decode(errors="replace") for text in sample.drop_null().view(bare).to_pylist() if text.strip()]
    counts = {form: sum(map(bool, map(test.fullmatch, texts))) for form, test in _TESTS.items()}
    best = max(counts, key=lambda form: counts[form])
    if texts and counts[best] == 0:
        raise InvalidInput(
            f"Column `{column}` of {name} holds no time that can be read{'' if first is None else f', first {first}'}"
            f"{shown(f' ({texts[0]!r})')}; expected seconds, ISO 8601 (2012-04-03 18:00:07), 31/12/2012 or "
            f"`{_EXAMPLE}`. Say how it is written with {option('time_format')}, or name another with {option('time')}."
        )
    if best != "float":
        return TimeFormat(best, ticks_per_second=10**6)
    if all(_WHOLE.fullmatch(text) for text in texts if text.strip()[-1:].isdigit()):
        return TimeFormat("integer")
    return _float_format(np.array([float(text) for text in texts if _NUMBER.fullmatch(text)], np.float64))


@dataclass(frozen=True, slots=True)
class TickFacts:
    """What tells the unit of ticks: facts of any part of them, which add up to those of the whole."""

    count: int
    below: tuple[int, int, int]  # how many lie within each of SIZES of zero
    least: int
    most: int

    @classmethod
    def of(cls, ticks: NDArray[np.int64]) -> TickFacts:
        """Count some ticks, at least one."""
        small, middle, large = (int(np.count_nonzero((ticks > -size) & (ticks < size))) for size in SIZES)
        return cls(ticks.size, (small, middle, large), int(ticks.min()), int(ticks.max()))


def ticks_per_second(facts: TickFacts, time: TimeFormat) -> int | None:
    """Ticks in a second; None if ticks are but numbers of rows, which say the order and no more.

    Numbers of seconds stay below 1e11 until the year 5138, and so on for thousandths: the unit is the first whose
    bound holds more than half of the ticks. Whole numbers from 0 up to the number of events cannot be seconds of a
    clock that began in 1970.
    """
    told = (10**place for place, below in zip((0, 3, 6), facts.below, strict=True) if 2 * below > facts.count)
    per_second = time.ticks_per_second or next(told, 10**9)
    numbers = time.name in ("integer", "float")
    if numbers and facts.least >= 0 and facts.most <= facts.count * per_second:
        return None
    return per_second


def seconds(ticks: NDArray[np.int64], time: TimeFormat) -> NDArray[np.int64] | None:
    """Turn ticks into seconds, in place; None if they say the order and no more."""
    per_second = ticks_per_second(TickFacts.of(ticks), time)
    return None if per_second is None else np.floor_divide(ticks, per_second, out=ticks)


_TESTS: dict[Literal["float", "iso8601", "weekday", "either"], re.Pattern[str]] = {
    "float": _NUMBER,
    "iso8601": _ISO,
    "weekday": _WEEKDAY,
    "either": _EITHER,
}


def _float_format(sample: NDArray[np.float64]) -> TimeFormat:
    """From a floating number of seconds (or of the unit its size tells) to whole microseconds."""
    return TimeFormat("float", 10**6, scale=1e6 / _magnitude_unit(sample[np.isfinite(sample)]))


def _magnitude_unit(values: NDArray[np.float64]) -> int:
    """Ticks in a second, told by the median: numbers of seconds stay below 1e11 until the year 5138."""
    median = float(np.median(np.abs(values))) if values.size else 0.0
    return 1 if median < 1e11 else 10**3 if median < 1e14 else 10**6 if median < 1e17 else 10**9
