"""Dates in any order, patterns, local clocks, items of several columns: Python's own calendar says what is right."""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import entropie
from entropie.cli.main import run
from entropie.data.dates import format_of
from entropie.data.events import Events, read_events
from entropie.data.roles import ColumnChoice
from entropie.data.ticks import read_ticks
from entropie.errors import InvalidInput, InvalidParameter
from entropie.request import Request

UTC = datetime.UTC
moments = st.datetimes(datetime.datetime(1950, 1, 1), datetime.datetime(2090, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0)
)
known = moments.filter(lambda moment: moment.year < 2037)  # as far as zone files list the changes of clocks


def read(events: object, **options: Any) -> Events:
    job = Request.of(events, options)
    return read_events(job.source, job.run)


def table(times: list[str]) -> pa.Table:
    return pa.table({"user": ["u"] * len(times), "item": [f"i{n}" for n in range(len(times))], "time": times})


def seconds(moment: datetime.datetime) -> int:
    return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp())


def by_item(events: Events) -> list[int]:
    assert events.traces.times is not None
    places = np.argsort([int(name[1:]) for name in events.item_ids.to_pylist()])
    codes = np.argsort(places)
    return [int(events.traces.times[np.flatnonzero(codes[events.traces.items] == n)[0]]) for n in range(len(places))]


@given(
    st.lists(moments, min_size=1, max_size=30), st.sampled_from(["day-first", "month-first"]), st.sampled_from("/.-")
)
def test_the_order_that_the_column_tells(found: list[datetime.datetime], order: str, between: str) -> None:
    told = [*found, datetime.datetime(2012, 3, 31)]
    form = between.join(("%d", "%m", "%Y") if order == "day-first" else ("%m", "%d", "%Y")) + " %H:%M:%S"
    events = read(table([moment.strftime(form) for moment in told]))
    assert by_item(events) == [seconds(moment) for moment in told]
    assert (events.report.time_format, events.report.order_told) == (order, True)


def test_what_the_column_does_not_tell() -> None:
    with pytest.raises(InvalidInput, match="may have day or month first, none has a number above 12; say which"):
        read(table(["01/02/2012", "03/04/2012"]))
    with pytest.raises(InvalidInput, match="the day first in 2 rows and the month first in 1; make them one order"):
        read(table(["13/02/2012", "02/13/2012", "01/02/2012", "31/12/2011"]))
    named = read(table(["01/02/2012", "03/04/2012"]), time_format="month-first")
    assert by_item(named) == [seconds(datetime.datetime(2012, 1, 2)), seconds(datetime.datetime(2012, 3, 4))]
    assert not named.report.order_told


def test_a_late_row_tells_the_order_of_the_first(tmp_path: Path) -> None:
    """Batches are read one after the other; the row that tells is in another one than those that need it."""
    rows = [f"u{n % 50},i{n % 7},0{n % 9 + 1}/0{n % 8 + 1}/2012 {n % 24:02}:{n % 60:02}:00\n" for n in range(300_000)]
    (tmp_path / "t.csv").write_text("user,item,time\n" + "".join(rows) + "u1,i1,12/31/2012 23:00:00\n")
    events = read(tmp_path / "t.csv")
    assert events.report.time_format == "month-first"
    first = min(
        datetime.datetime(2012, n % 9 + 1, n % 8 + 1, n % 24, n % 60, tzinfo=UTC) for n in range(300_000) if n % 50 == 0
    )
    assert events.traces.times is not None
    assert events.traces.times[0] == first.timestamp()


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("12/31/2012 6:00 PM", datetime.datetime(2012, 12, 31, 18)),
        ("12/31/2012 12:05 AM", datetime.datetime(2012, 12, 31, 0, 5)),
        ("12/31/2012 12:05:09 pm", datetime.datetime(2012, 12, 31, 12, 5, 9)),
        ("12/31/2012, 23:59:59", datetime.datetime(2012, 12, 31, 23, 59, 59)),
        ("12/31/2012T23:59Z", datetime.datetime(2012, 12, 31, 23, 59)),
    ],
)
def test_american_times(text: str, moment: datetime.datetime) -> None:
    assert by_item(read(table([text]))) == [seconds(moment)]


@pytest.mark.parametrize(
    "text", ["30/02/2012", "02/30/2012", "00/10/2012", "32/01/2012", "13/13/2012", "12/31/2012 13 PM"]
)
def test_dates_that_are_in_no_calendar(text: str) -> None:
    plain = "12/31/2012" if "PM" in text else "31/12/2012"
    report = read(table([text, *[plain] * 5]), max_dirty_share=0.5).report
    assert report.dropped == {"unreadable time": 1}


PATTERNS = ["%d.%m.%y %H:%M:%S", "%Y%m%d%H%M%S", "%b %d, %Y %I:%M:%S %p", "%A %d %B %Y %T", "%F %T.%f", "%D %R:%S"]


@given(st.lists(moments, min_size=1, max_size=10), st.sampled_from(PATTERNS))
def test_patterns_read_what_python_writes(found: list[datetime.datetime], pattern: str) -> None:
    if "%y" in pattern or "%D" in pattern:
        found = [
            moment.replace(year=1969 + moment.year % 100) for moment in found if (moment.month, moment.day) != (2, 29)
        ]
    if not found:
        return
    texts = [moment.strftime(pattern) for moment in found]
    assert by_item(read(table(texts), time_format=pattern)) == [seconds(moment) for moment in found]


def test_a_pattern_with_a_zone_says_it() -> None:
    texts = ["03/04/2012 18:00 +0200", "03/04/2012 18:00 -05:30", "03/04/2012 18:00 Z"]
    zones = [datetime.timedelta(hours=2), -datetime.timedelta(hours=5, minutes=30), datetime.timedelta()]
    expected = [seconds(datetime.datetime(2012, 4, 3, 18, tzinfo=datetime.timezone(zone))) for zone in zones]
    for zone in (None, "Asia/Tokyo"):
        assert by_item(read(table(texts), time_format="%d/%m/%Y %H:%M %z", time_zone=zone)) == expected


@pytest.mark.parametrize("pattern", ["%H:%M", "%d/%m", "%Y-%m-%d %Y", "%Q", "%", "yesterday", "%Y-%j", "%d %y %Y %m"])
def test_patterns_without_a_day(pattern: str) -> None:
    with pytest.raises(
        InvalidParameter, match="`time_format` must be s, ms, us, ns, order, day-first, month-first, or"
    ):
        format_of(pattern)


@given(st.text(max_size=30))
def test_any_pattern_reads_or_is_refused(pattern: str) -> None:
    try:
        time = format_of(f"%Y {pattern} %m %d")
    except InvalidParameter:
        return
    assert read_ticks(pa.array(["x"]), time).unread["unreadable time"].all()


@given(
    st.lists(known, min_size=1, max_size=20),
    st.sampled_from(["Europe/Paris", "America/New_York", "Asia/Kolkata", "UTC"]),
)
def test_local_times_are_those_of_the_zone(found: list[datetime.datetime], zone: str) -> None:
    clock = ZoneInfo(zone)
    local = [moment.replace(tzinfo=UTC).astimezone(clock) for moment in found]
    texts = [moment.strftime("%Y-%m-%d %H:%M:%S") for moment in local]
    expected = [seconds(moment.replace(fold=0)) for moment in local]  # the first of two
    whole = read(table(texts), time_zone=zone)
    assert by_item(whole) == expected
    again = sum(moment.replace(fold=0).utcoffset() != moment.replace(fold=1).utcoffset() for moment in local)
    assert whole.report.repeated_times == again
    naive = pa.array([moment.replace(tzinfo=None) for moment in local], pa.timestamp("ms"))
    typed = table(texts).set_column(2, "time", naive)
    assert by_item(read(typed, time_zone=zone)) == expected
    assert by_item(read(table([f"{text} +01:00" for text in texts]), time_zone=zone)) == [
        seconds(moment.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=1)))) for moment in local
    ]


def test_hours_that_clocks_repeat_or_skip() -> None:
    texts = ["2012-10-28 02:30:00", "2012-03-25 02:30:00", "2012-03-25 03:30:00", "2012-03-25 02:30:00Z"]
    report = read(table(texts), time_zone="Europe/Paris", max_dirty_share=0.3).report
    assert report.dropped == {"time skipped by the clocks": 1}
    assert (report.repeated_times, report.time_zone) == (1, "Europe/Paris")
    with pytest.raises(
        InvalidInput, match="time skipped by the clocks: 1, first in row 2, column `time`, expected a time"
    ):
        read(table(texts), time_zone="Europe/Paris")


@pytest.mark.parametrize(
    ("times", "options", "said"),
    [
        (["2012-01-01"], {"time_zone": "Europe/Pariss"}, "`time_zone` must be a time zone, such as Europe/Paris"),
        (["1333476007"], {"time_zone": "Europe/Paris"}, "holds numbers, which count from 1970 in universal time"),
        (["31/12/2012"], {"time_zone": "Europe/Paris"}, "With `time_zone=` say whether dates"),
        ([1], {"time_format": "day-first"}, "has type int64; `time_format=` is for text"),
    ],
)
def test_options_that_do_not_fit_the_times(times: list[Any], options: dict[str, str], said: str) -> None:
    with pytest.raises((InvalidInput, InvalidParameter)) as caught:
        read(table(times), **options)
    assert said in str(caught.value)
    with pytest.raises((InvalidInput, InvalidParameter), match=r"speaks of times|must be"):
        read(table(times).drop_columns(["time"]), **options)


# Items of several columns.


@given(st.lists(st.tuples(st.text("a|\\ ", max_size=4), st.text("a|\\ ", max_size=4)), min_size=1, max_size=30))
def test_different_values_are_different_items(pairs: list[tuple[str, str]]) -> None:
    pairs = [(f"x{a}", f"x{b}") for a, b in pairs]
    rows = pa.table({"user": ["u"] * len(pairs), "city": [a for a, _ in pairs], "shop": [b for _, b in pairs]})
    assert read(rows, item="city,shop").report.items == len(set(pairs))


def test_items_of_several_columns(tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = [(rng.randrange(9), rng.choice("ab"), rng.randrange(3)) for _ in range(100)]
    whole = read(
        pa.table(dict(zip(("user", "city", "shop"), map(list, zip(*rows, strict=True)), strict=True))),
        item=["city", "shop"],
    )
    assert whole.item_ids.to_pylist() == sorted({f"{city} | {shop}" for _, city, shop in rows})
    (tmp_path / "t.csv").write_text("user,city,shop\n" + "".join(f"{u},{c},{s}\n" for u, c, s in rows))
    text = read(tmp_path / "t.csv", item="city, shop")
    assert np.array_equal(whole.traces.items, text.traces.items)
    assert whole.item_ids.equals(text.item_ids)
    assert ColumnChoice("item", "city,shop", "given") in text.report.columns
    assert text.report.unused == ()  # both play a part
    beside = pa.table({"user": [1], "city": ["a"], "shop": [1], "device": [7]})
    assert read(beside, item="city,shop").report.unused == ("device",)
    lacking = read(
        pa.table({"user": [1, 1], "city": ["a", None], "shop": [1, 2]}), item="city,shop", max_dirty_share=0.5
    )
    assert lacking.report.dropped == {"missing item": 1}
    (tmp_path / "gaps.csv").write_text("user,city,shop\n1,a,1\n1,,2\n1,NULL,3\n1,b, \n")
    assert read(tmp_path / "gaps.csv", item="city,shop", max_dirty_share=1.0).report.dropped == {"missing item": 3}
    one = read(pa.table({"user": [1], "city,shop": ["a"], "city": ["b"], "shop": ["c"]}), item="city,shop")
    assert one.item_ids.to_pylist() == ["a"]  # a column of that very name
    for wrong, said in (
        ("city,", "`item` must be different columns"),
        ("city,city", "must be diff"),
        ("city,x", "Column `x` is missing"),
    ):
        with pytest.raises((InvalidInput, InvalidParameter), match=said):
            read(tmp_path / "t.csv", item=wrong)


def test_what_was_told_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(2)
    rows = "".join(
        f"u{n % 12},{rng.choice('abc')},{rng.randrange(40)},{rng.randrange(1, 29):02}/{n % 12 + 1:02}/2012 10:{n % 60:02}\n"
        for n in range(600)
    )
    (tmp_path / "t.csv").write_text("user,city,shop,time\n" + rows)
    words = [
        "assess",
        str(tmp_path / "t.csv"),
        "--item",
        "city,shop",
        "--matcher",
        "visit",
        "--no-report",
        "--out",
        str(tmp_path / "o"),
    ]
    assert run(words) == 0
    assert "Dates are read day-first: no other order fits all of them (--time-format)." in capsys.readouterr().out
    assert run([*words, "--time-format", "day-first", "--time-zone", "Europe/Paris", "--print-config"]) == 0
    (tmp_path / "job.toml").write_text(capsys.readouterr().out)
    again = Request.read(tmp_path / "job.toml").source
    assert (again.item, again.time_format, again.time_zone) == ("city,shop", "day-first", "Europe/Paris")
    result = entropie.assess(tmp_path / "t.csv", item=["city", "shop"], matchers=["visit"], replicates=20)
    assert result.document["input"]["order_told"] is True
