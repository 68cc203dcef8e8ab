"""Ticks from text in memory: what Python's own calendar says, and nothing where only DuckDB can tell."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropie.data.ticks import read_numbers, read_ticks
from entropie.data.times import TickFacts, TimeFormat, find_time_format, seconds, ticks_per_second

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
ISO = find_time_format(pa.array(["2012-04-03T18:00:07Z"]), "time", "the table")
WEEKDAY = find_time_format(pa.array(["Tue Apr 03 18:00:07 +0000 2012"]), "time", "the table")
WHOLE = find_time_format(pa.array(["1333476007"]), "time", "the table")
SECONDS = find_time_format(pa.array(["1333476007.5"]), "time", "the table")
MILLISECONDS = find_time_format(pa.array([1333476007000.5]), "time", "the table")

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))
MOMENTS = st.datetimes(dt.datetime(1000, 1, 2), dt.datetime(2999, 12, 30), timezones=ZONES)


def microseconds(moment: dt.datetime) -> int:
    return (moment - EPOCH) // dt.timedelta(microseconds=1)


def ticks(values: list[object], time: TimeFormat) -> list[int]:
    found = read_ticks(pa.array(values), time)
    assert found is not None
    assert not any(where.any() for where in found.unread.values())
    return found.values.tolist()


@given(st.lists(MOMENTS, min_size=1, max_size=5), st.sampled_from("T "))
def test_iso(moments: list[dt.datetime], between: str) -> None:
    assert ticks([moment.isoformat(between) for moment in moments], ISO) == [microseconds(m) for m in moments]
    local = [moment.replace(tzinfo=dt.UTC) for moment in moments]
    texts = [moment.replace(tzinfo=None).isoformat(between) for moment in moments]
    assert ticks(texts, ISO) == [microseconds(moment) for moment in local]
    days = [moment.replace(hour=0, minute=0, second=0, microsecond=0) for moment in local]
    assert ticks([day.date().isoformat() for day in days], ISO) == [microseconds(day) for day in days]


@given(st.lists(MOMENTS, min_size=1, max_size=5))
def test_weekday(moments: list[dt.datetime]) -> None:
    whole = [moment.replace(microsecond=0) for moment in moments]
    assert ticks([m.strftime("%a %b %d %H:%M:%S %z %Y") for m in whole], WEEKDAY) == [microseconds(m) for m in whole]


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1))
def test_whole_numbers_are_exact(numbers: list[int]) -> None:
    assert ticks([str(number) for number in numbers], WHOLE) == numbers
    assert ticks(list(numbers), TimeFormat("integer", "")) == numbers


@given(st.lists(st.decimals(-(10**12), 10**12, places=3), min_size=1))
def test_fractions_are_cut_to_microseconds(numbers: list[object]) -> None:
    assert ticks([str(number) for number in numbers], SECONDS) == [math.floor(float(str(n)) * 1e6) for n in numbers]
    floats = [float(str(number)) for number in numbers]
    assert ticks(list(floats), MILLISECONDS) == [math.floor(number * 1e3) for number in floats]


def test_reasons() -> None:
    found = read_ticks(pa.array(["5", None, " NULL ", "nan", "-inf", "1e30", "\u3000", "-7"]), SECONDS)
    assert found is not None
    assert found.values.tolist() == [5_000_000, 0, 0, 0, 0, 0, 0, -7_000_000]
    assert {reason: np.flatnonzero(where).tolist() for reason, where in found.unread.items()} == {
        "missing time": [1, 2, 6],
        "NaN time": [3, 4],
        "unreadable time": [5],
    }


@pytest.mark.parametrize(
    ("text", "time"),
    [
        *((text, ISO) for text in ("2020-02-30", "2020-01-02T24:00:00", "2020-01-02Z", "2020-1-2", "x", "infinity")),
        *((text, WEEKDAY) for text in ("Tue Apr 31 18:00:07 +0000 2012", "Tue Apr 3 18:00:07 +0000 2012", "nan")),
        *((text, WHOLE) for text in ("5.5", "+5", "1e3", "0x10", "9" * 19, "5\n")),
        *((text, SECONDS) for text in ("5.", ".5", "+5", "1_0", "1e400", "x")),
    ],
)
def test_what_is_not_certain_is_left_alone(text: str, time: TimeFormat) -> None:
    assert read_ticks(pa.array([text]), time) is None


def test_ratings() -> None:
    found = read_numbers(pa.array(["4", "3.5", None, "", "nan", "-1e1"]))
    assert found is not None
    assert found.tolist() == pytest.approx([4.0, 3.5, math.nan, math.nan, math.nan, -10.0], nan_ok=True)
    assert read_numbers(pa.array(["good"])) is None
    numbers = read_numbers(pa.array([1.5, None]))
    assert numbers is not None
    assert numbers.tolist() == pytest.approx([1.5, math.nan], nan_ok=True)


NUMBERS = st.lists(
    st.sampled_from([0, 5, 10**11 - 1, 10**11, -(10**11), 10**14, -(10**14) + 1, 10**17, 2**63 - 1, -(2**63)]),
    min_size=1,
)


@given(NUMBERS, st.randoms(use_true_random=False))
def test_the_unit_is_that_of_most_ticks_in_any_order(values: list[int], rng: object) -> None:
    facts = TickFacts.of(np.array(values, np.int64))
    rng.shuffle(values)  # type: ignore[attr-defined]
    assert facts == TickFacts.of(np.array(values, np.int64))
    below = [sum(abs(value) < bound for value in values) for bound in (10**11, 10**14, 10**17)]
    unit = next((unit for unit, count in zip((1, 10**3, 10**6), below, strict=True) if 2 * count > len(values)), 10**9)
    rows = min(values) >= 0 and max(values) <= len(values) * unit
    assert ticks_per_second(facts, WHOLE) == (None if rows else unit)
    found = seconds(np.array(values, np.int64), WHOLE)
    assert (found is None) == rows
    assert found is None or found.tolist() == [value // unit for value in values]
    assert ticks_per_second(facts, ISO) == 10**6
