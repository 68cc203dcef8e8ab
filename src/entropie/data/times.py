"""What a time column holds, found from its type or its first values: the way to whole ticks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.arrow import values_of
from entropie.errors import InvalidInput, option, shown
from entropie.kernels.keyed import mixed

SIZES = (10**11, 10**14, 10**17)
"""Numbers of seconds, thousandths and millionths of a second since 1970 stay below these."""

EARLY = 10**8
"""Seconds since 1970 that are all below this end in March 1973, before most data on people."""

SAMPLED = 4096
"""Numbers that are looked at for whether they occur twice."""

MISSED = 20
"""Numbers of the sample that chance must have made to occur twice, for it to tell when none does."""

Assumed = Literal["order", "seconds", "declared order"]
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_BLOCK = 1 << 20
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
    unit: str | None = None  # the unit of numbers that was declared, or `order`

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


def declared(found: TimeFormat, unit: str | None, column: str, name: str) -> TimeFormat:
    """A format whose unit was declared; only numbers have one, and anything may say the order alone."""
    if unit is None:
        return found
    if unit != "order" and found.name not in ("integer", "float"):
        raise InvalidInput(
            f"{option('time_format')} {unit} is for numbers; column `{column}` of {name} holds {found.describe()}. "
            "Leave it out."
        )
    per_second = _PER_SECOND.get(unit)
    if found.name == "float" and per_second is not None:
        return replace(found, scale=1e6 / per_second, unit=unit)
    return replace(found, ticks_per_second=per_second or found.ticks_per_second, unit=unit)


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
    """What tells the unit of ticks: facts of any part of them, which add up to those of the whole.

    sample   of numbers that are small all of them: some, drawn by a hash, each with how often it occurs
    """

    count: int
    below: tuple[int, int, int]  # how many lie within each of SIZES of zero
    least: int
    most: int
    sample: tuple[tuple[int, int], ...] | None = None

    @classmethod
    def of(cls, ticks: NDArray[np.int64]) -> TickFacts:
        """Count some ticks, at least one."""
        small, middle, large = (int(np.count_nonzero((ticks > -size) & (ticks < size))) for size in SIZES)
        least, most = int(ticks.min()), int(ticks.max())
        sample = _sampled(ticks) if 0 <= least <= most < EARLY else None
        return cls(ticks.size, (small, middle, large), least, most, sample)

    @classmethod
    def merged(cls, parts: Sequence[TickFacts]) -> TickFacts:
        """The facts of all parts together."""
        small, middle, large = (sum(part.below[place] for part in parts) for place in range(3))
        least, most = min(part.least for part in parts), max(part.most for part in parts)
        sample: Counter[int] | None = Counter()
        for part in parts:
            if sample is None or part.sample is None:
                sample = None
            else:
                sample.update(dict(part.sample))
        kept = None if sample is None else tuple(sorted(sample.items())[:SAMPLED])
        return cls(sum(part.count for part in parts), (small, middle, large), least, most, kept)

    @property
    def all_different(self) -> bool:
        """Whether no number of the sample occurs twice."""
        return self.sample is not None and all(times == 1 for _, times in self.sample)

    @property
    def unlike_a_clock(self) -> bool:
        """Whether no two are the same, although many seconds would be at which two people do something."""
        seconds_spanned = self.most - self.least + 1
        return self.all_different and len(self.sample or ()) * self.count >= MISSED * seconds_spanned

    @property
    def row_numbers(self) -> bool:
        """Whether they number rows, of which at most half are missing."""
        return self.all_different and self.most - self.least + 1 <= 2 * self.count


def ticks_per_second(facts: TickFacts, time: TimeFormat) -> int | None:
    """Ticks in a second; None if ticks are but numbers of rows, which say the order and no more.

    Numbers of seconds stay below 1e11 until the year 5138, and so on for thousandths: the unit is the first whose
    bound holds more than half of the ticks. Whole numbers from 0 up to the number of events cannot be seconds of a
    clock that began in 1970; nor can small ones that are all different, where chance would make many the same.
    """
    if time.unit is not None:
        return None if time.unit == "order" else time.ticks_per_second
    told = (10**place for place, below in zip((0, 3, 6), facts.below, strict=True) if 2 * below > facts.count)
    per_second = time.ticks_per_second or next(told, 10**9)
    numbers = time.name in ("integer", "float")
    if numbers and facts.least >= 0 and (facts.most <= facts.count * per_second or facts.unlike_a_clock):
        return None
    return per_second


def assumed(facts: TickFacts, time: TimeFormat) -> Assumed | None:
    """What numbers were taken for without being told: the order alone, or seconds since 1970 that ended by 1973. Also
    that times were declared to say the order alone, although they look like times.

    None where a unit was declared, where the numbers are those of rows, and where they are times of today.
    """
    numbers = time.name in ("integer", "float")
    if time.unit == "order":
        untold = replace(time, unit=None)
        return None if numbers and ticks_per_second(facts, untold) is None else "declared order"
    if time.unit is not None or not numbers:
        return None
    per_second = ticks_per_second(facts, time)
    if per_second is None:
        return None if facts.row_numbers else "order"
    return "seconds" if facts.least >= 0 and facts.most < EARLY * per_second else None


def seconds(ticks: NDArray[np.int64], time: TimeFormat) -> tuple[NDArray[np.int64] | None, Assumed | None]:
    """Turn ticks into seconds, in place; None if they say the order and no more. Also what was assumed."""
    facts = TickFacts.of(ticks)
    per_second = ticks_per_second(facts, time)
    return None if per_second is None else np.floor_divide(ticks, per_second, out=ticks), assumed(facts, time)


def _sampled(ticks: NDArray[np.int64]) -> tuple[tuple[int, int], ...]:
    """The numbers whose hashes are lowest, as hashes, with how often each occurs: exact in any part and order."""
    hashes, counts = np.empty(0, np.uint64), np.empty(0, np.int64)
    for begin in range(0, ticks.size, _BLOCK):
        found = mixed(ticks[begin : begin + _BLOCK].astype(np.uint64))
        if hashes.size == SAMPLED:
            found = found[found <= hashes[-1]]
        new, times = np.unique(found, return_counts=True)
        every, places = np.unique(np.concatenate((hashes, new)), return_inverse=True)
        sums = np.bincount(places, np.concatenate((counts, times)), every.size).astype(np.int64)
        hashes, counts = every[:SAMPLED], sums[:SAMPLED]
    return tuple(zip(hashes.tolist(), counts.tolist(), strict=True))


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
