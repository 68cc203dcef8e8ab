"""The one judge of rows against a slow and obvious one: Python's own calendar and decimals, a row at a time."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from entropie.data.classify import classify_rows
from entropie.data.rules import REASONS, Rules
from entropie.data.times import TickFacts, TimeFormat, find_time_format, seconds, ticks_per_second

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
SAMPLES = {
    "integer": "1333476007",
    "float": "1333476007.5",
    "iso8601": "2012-04-03T18:00:07Z",
    "weekday": "Tue Apr 03 18:00:07 +0000 2012",
}
FORMATS = {name: find_time_format(pa.array([sample]), "time", "the table") for name, sample in SAMPLES.items()}


def naive_time(text: str | None, form: TimeFormat) -> int | str:
    """The tick of a text, or the reason that it has none."""
    text = "" if text is None else text.strip()
    if text in ("", "\\N", "NULL", "null", "None", "NaT"):
        return "missing time"
    if form.name in ("iso8601", "weekday"):
        return (naive_iso if form.name == "iso8601" else naive_weekday)(text)
    digits = r"\d+(?:_\d+)*"
    number = rf"[+-]?(?:{digits}\.?(?:{digits})?|\.{digits})(?:[eE][+-]?\d{{1,9}})?"
    if re.fullmatch("[+-]?(nan|inf|infinity)", text, re.IGNORECASE):
        return "NaN time"
    if not re.fullmatch(number, text, re.ASCII):
        return "unreadable time"
    if math.isinf(float(text)):
        return "NaN time"
    if form.name == "float":
        tick = math.floor(float(text) * form.scale) if abs(float(text)) < 1e300 else 2**64
    else:
        tick = math.floor(Decimal(text)) if abs(float(text)) < 1e30 else 2**64
    return tick if -(2**63) <= tick < 2**63 else "unreadable time"


def naive_iso(text: str) -> int | str:
    date, clock, zone = text, "", ""
    cut = re.match(r"(\d+[-/\\ ]\d+[-/\\ ]\d+)(?:[tT]|[ \t]+)(.*)", text, re.ASCII)
    if cut:
        date, clock = cut.groups()
        ending = re.search(r" *(z|utc|gmt|[+-]\d\d(:?\d\d)?(:?\d\d)?)$", clock, re.IGNORECASE | re.ASCII)
        if ending:
            zone, clock = ending[1], clock[: ending.start()]
        if not re.fullmatch(r"\d{1,2}(:\d{1,2}(:\d{1,2}(\.\d*)?)?)?", clock.rstrip(" "), re.ASCII):
            return "unreadable time"
    parts = re.fullmatch(r"(\d{1,5})[-/\\ ](\d{1,2})[-/\\ ](\d{1,2})", date, re.ASCII)
    if parts is None:
        return "unreadable time"
    year, month, day = map(int, parts.groups())
    return naive_instant(year, month, day, clock.rstrip(" ") or "0", zone)


def naive_weekday(text: str) -> int | str:
    fields = re.split(" +", text)
    if len(fields) != 6 or fields[0].lower() not in ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]:
        return "unreadable time"
    _, month, day, clock, zone, year = fields
    shapes = {month.lower(): "|".join(MONTHS), day: r"\d{1,2}", clock: r"\d{1,2}:\d{1,2}:\d{1,2}", year: r"\d{1,4}"}
    shapes[zone] = r"[+-]\d\d(:?\d\d)?(:?\d\d)?"
    if not all(re.fullmatch(shape, field, re.ASCII) for field, shape in shapes.items()):
        return "unreadable time"
    return naive_instant(int(year), MONTHS.index(month.lower()) + 1, int(day), clock, zone)


def naive_instant(year: int, month: int, day: int, clock: str, zone: str) -> int | str:
    """Microseconds since 1970; the calendar repeats every 400 years, which take 146,097 days."""
    hour, minute, second = [*clock.split(":"), "0", "0"][:3]
    whole, _, fraction = second.partition(".")
    offset = re.findall(r"\d\d", zone)
    east = sum(int(part) * size for part, size in zip(offset, (3600, 60, 1), strict=False))
    later = int(hour) == 24 and int(minute) == int(whole) == int(fraction[:6] or 0) == 0
    try:
        moment = dt.datetime(2000 + year % 400, month, day, 0 if later else int(hour), int(minute), int(whole))
    except ValueError:
        return "unreadable time"
    days = (year - year % 400 - 2000) // 400 * 146_097 + int(later)
    since = moment.replace(tzinfo=dt.UTC) - EPOCH
    whole_seconds = since.days * 86_400 + since.seconds + days * 86_400 + (east if zone.startswith("-") else -east)
    return whole_seconds * 10**6 + int(fraction[:6].ljust(6, "0"))


def naive_row(row: dict[str, object], rules: Rules) -> tuple[int, str]:
    """The tick and the reason of a row; of several reasons the first in the list."""
    reasons = []
    for role in ("user", "item"):
        text = row[role]
        if text is None or (isinstance(text, str) and text.strip() in NOTHING):
            reasons.append(f"missing {role}")
        if isinstance(text, str):
            reasons += ["line break in an id"] * ("\n" in text) + ["not UTF-8"] * ("\x1a" in text)
    if row["item"] in rules.missing_items:
        reasons.append("no item recorded")
    tick = 0
    if rules.time is not None:
        found = naive_value(row["time"], rules.time)
        tick = found if isinstance(found, int) else 0
        reasons += [found] if isinstance(found, str) else []
    if rules.min_rating is not None:
        stars = naive_rating(row["rating"])
        reasons += ["unreadable rating"] if math.isnan(stars) else []
        reasons += ["rating below the minimum"] if stars < rules.min_rating else []
    return tick, min(reasons, key=REASONS.index, default="")


NOTHING = ("", "\\N", "NULL", "null", "None", "NaT", "NaN", "nan")


def naive_value(value: object, form: TimeFormat) -> int | str:
    if value is None or isinstance(value, str):
        return naive_time(value, form)
    if isinstance(value, int):
        return value
    assert isinstance(value, float)
    if not math.isfinite(value):
        return "NaN time"
    scaled = value * form.scale
    return math.floor(scaled) if -(2.0**63) <= scaled < 2.0**63 else "unreadable time"


def naive_rating(value: object) -> float:
    if isinstance(value, str):
        found = naive_time(value, TimeFormat("float", 10**6, 1e-300))  # for its rule of what is a number
        return float(value) if found in ("NaN time", 0, -1) else math.nan
    return math.nan if value is None else float(value)  # type: ignore[arg-type]


def judged(batch: pa.RecordBatch, rules: Rules) -> list[tuple[int, str]]:
    """What the judge says, in the words of the naive one."""
    verdicts = classify_rows(batch, rules)
    ticks = verdicts.ticks.tolist() if rules.time is not None else [0] * batch.num_rows
    return list(zip(ticks, (REASONS[code - 1] if code else "" for code in verdicts.reasons.tolist()), strict=True))


def of_times(times: Sequence[object], form: TimeFormat, kind: pa.DataType | None = None) -> list[int | str]:
    """Tick or reason of each of these times."""
    ones = pa.array([1] * len(times), pa.int64())
    batch = pa.RecordBatch.from_arrays(
        [ones, ones, pa.array(times, kind or pa.string())], names=["user", "item", "time"]
    )
    return [reason or tick for tick, reason in judged(batch, Rules(form))]


ODD = {
    "integer": {
        "+5": 5,
        " 5": 5,
        "5\t": 5,
        "5.": 5,
        "5.0": 5,
        "5.9": 5,
        "-5.1": -6,
        ".5": 0,
        "-.5": -1,
        "1e3": 1000,
        "1_000": 1000,
        "-0": 0,
        "007": 7,
        "1.5e3": 1500,
        "1e-400": 0,
        "-1e-400": -1,
        "\u30005": 5,
        "9223372036854775807": 2**63 - 1,
        "9223372036854775807.9": 2**63 - 1,
        "-9223372036854775808": -(2**63),
        "9007199254740993": 9007199254740993,
        "9007199254740993.5": 9007199254740993,
        **dict.fromkeys(["9223372036854775808", "-9223372036854775808.5", "9" * 25, "1e99"], "unreadable time"),
        **dict.fromkeys(
            ["0x10", "0X10", "yesterday", "1,000", "1 000", "--5", "1__0", "_1", "1e", "٣"], "unreadable time"
        ),
        **dict.fromkeys(["1e9999999999", "5f", "nan(1)", "true", "2020-01-02"], "unreadable time"),
        **dict.fromkeys(["nan", "+NaN", "-nan", "inf", "-Infinity", "1e400", "-1e400"], "NaN time"),
        **dict.fromkeys(["", " ", "NULL", " null", "NaT", "None", "\\N", "\xa0", "\u3000"], "missing time"),
    },
    "float": {
        "5": 5_000_000,
        "+.5": 500_000,
        " 5. ": 5_000_000,
        "1e3": 10**9,
        "1_0.5": 10_500_000,
        "-1e-7": -1,
        **dict.fromkeys(["x", "0x1p3", "nan(1)", "1e30"], "unreadable time"),
        **dict.fromkeys(["nan", "inf", "1e400"], "NaN time"),
        **dict.fromkeys(["", "NULL", "\t"], "missing time"),
    },
    "iso8601": {
        "2020-01-02": 1577923200,
        "2020-1-2": 1577923200,
        "2020/01/02": 1577923200,
        "2020 01 02": 1577923200,
        "2020\\01\\02": 1577923200,
        "02020-01-02": 1577923200,
        "\t2020-01-02 ": 1577923200,
        "2020/1/2 3:4:5": 1577934245,
        "2020-01-02T03:04": 1577934240,
        "2020-01-02T03": 1577934000,
        "2020-01-02T03:04Z": 1577934240,
        "2020-01-02t03:04:05z": 1577934245,
        "2020-01-02  03:04:05": 1577934245,
        "2020-01-02\t03:04:05": 1577934245,
        "2020-01-02T03:04:05.": 1577934245,
        "2020-01-02 03:04:05 UTC": 1577934245,
        "2020-01-02 03:04 gmt": 1577934240,
        "2020-01-02T03:04:05.999999Z": 1577934245.999999,
        "2020-01-02T03:04:05.9999999": 1577934245.999999,
        "2020-01-02 03:04:05+02": 1577927045,
        "2020-01-02 03:04:05 +02:00": 1577927045,
        "2020-01-02T03:04:05-0230": 1577943245,
        "2020-01-02T03:04+02": 1577927040,
        "2020-01-02 03:04:05-15:59:59": 1577991844,
        "2020-01-02 03:04:05+99:99": 1577571905,
        "2020-01-02T24:00:00": 1578009600,
        "2020-02-29": 1582934400,
        "2000-02-29": 951782400,
        "0001-01-01": -62135596800,
        "9999-12-31": 253402214400,
        "12020-01-02": 317147443200,
        "0-01-01": -62167219200,
        **dict.fromkeys(
            ["2020-02-30", "2021-02-29", "1900-02-29", "2020-13-01", "2020-00-10", "2020-01-00"], "unreadable time"
        ),
        **dict.fromkeys(["2020-01-02T24:00:01", "2020-01-02T24:00:00.1", "2020-01-02T25:00"], "unreadable time"),
        **dict.fromkeys(["2020-01-02T23:60", "2020-01-02T23:59:60", "2020-01-02Z", "2020.01.02"], "unreadable time"),
        **dict.fromkeys(
            ["2020-01-02T03:04:05+2", "2020-01-02T03:04:05 EST", "20200102", "nan", "5"], "unreadable time"
        ),
        **dict.fromkeys(["120200-01-02", "-2020-01-02", "2020-001-02", "2020-01-02T003:04", "x"], "unreadable time"),
        **dict.fromkeys(["", "NULL ", "NaT"], "missing time"),
    },
    "weekday": {
        "Tue Apr 03 18:00:07 +0000 2012": 1333476007,
        "Mon Apr 03 18:00:07 +0000 2012": 1333476007,
        "tue APR 3 18:00:07 -0000 2012": 1333476007,
        " Tue  Apr  3 18:0:7 +00 2012 ": 1333476007,
        "Tue Apr 03 18:00:07 +02:00 2012": 1333468807,
        "Tue Apr 03 18:00:07 -0930 2012": 1333510207,
        "Tue Apr 03 24:00:00 +0000 2012": 1333497600,
        "Thu Feb 29 00:00:00 +0000 2000": 951782400,
        **dict.fromkeys(["Tue Apr 31 18:00:07 +0000 2012", "Thu Feb 29 18:00:07 +0000 1900"], "unreadable time"),
        **dict.fromkeys(["Tue Apr 03 18:00:60 +0000 2012", "Tue Apr 03 18:60:00 +0000 2012"], "unreadable time"),
        **dict.fromkeys(["Tue Apr 03 24:00:07 +0000 2012", "Tue Apr 03 25:00:00 +0000 2012"], "unreadable time"),
        **dict.fromkeys(["Xyz Apr 03 18:00:07 +0000 2012", "Tue Xyz 03 18:00:07 +0000 2012"], "unreadable time"),
        **dict.fromkeys(["Tue Apr 03 18:00:07 2012", "Tue Apr 03 18:00:07 0000 2012", "nan"], "unreadable time"),
        **dict.fromkeys(["Tue Apr 03 18-00:07 +0000 2012", "Tue Apr 03 18:00:07 *0000 2012"], "unreadable time"),
        **dict.fromkeys(["Tue Apr 03 1x:00:07 +0000 2012", "Tue Apr 03_18:00:07 +0000 2012"], "unreadable time"),
        "tue Apr 03 18:00:07 +0000 2012": 1333476007,
        **dict.fromkeys(["Tue Apr 003 18:00:07 +0000 2012", "Tue Apr 00 18:00:07 +0000 2012"], "unreadable time"),
        **dict.fromkeys(["", "None"], "missing time"),
    },
}
TEXTS = [(name, text) for name, texts in ODD.items() for text in texts]


@pytest.mark.parametrize(("name", "text"), TEXTS)
def test_odd_texts(name: str, text: str) -> None:
    """By hand, by the naive judge, alone and among texts that are plain."""
    told = ODD[name][text]
    factor = 10**6 if name in ("iso8601", "weekday") else 1
    expected = told if isinstance(told, str) else round(told * factor)
    assert naive_time(text, FORMATS[name]) == expected
    assert of_times([text], FORMATS[name]) == [expected]
    plain = naive_time(SAMPLES[name], FORMATS[name])
    assert of_times([SAMPLES[name], text, None] * 70, FORMATS[name]) == [plain, expected, "missing time"] * 70


ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))
MOMENTS = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30), timezones=ZONES)


def microseconds(moment: dt.datetime) -> int:
    return (moment - EPOCH) // dt.timedelta(microseconds=1)


@given(st.lists(MOMENTS, min_size=1, max_size=5), st.sampled_from("T "))
def test_iso_is_pythons_calendar(moments: list[dt.datetime], between: str) -> None:
    form = FORMATS["iso8601"]
    assert of_times([moment.isoformat(between) for moment in moments], form) == [microseconds(m) for m in moments]
    local = [moment.replace(tzinfo=dt.UTC) for moment in moments]
    texts = [moment.replace(tzinfo=None).isoformat(between) for moment in moments]
    assert of_times(texts, form) == [microseconds(moment) for moment in local]
    assert of_times([text.replace("-", "/") for text in texts], form) == [microseconds(moment) for moment in local]
    days = [moment.replace(hour=0, minute=0, second=0, microsecond=0) for moment in local]
    assert of_times([day.date().isoformat() for day in days], form) == [microseconds(day) for day in days]


@given(st.lists(MOMENTS, min_size=1, max_size=5))
def test_weekday_is_pythons_calendar(moments: list[dt.datetime]) -> None:
    whole = [moment.replace(microsecond=0) for moment in moments]
    texts = [f"{m:%a %b %d %H:%M:%S %z} {m.year:04d}" for m in whole]
    assert of_times(texts, FORMATS["weekday"]) == [microseconds(m) for m in whole]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_whole_numbers_are_exact(numbers: list[int]) -> None:
    assert of_times([str(number) for number in numbers], FORMATS["integer"]) == numbers
    assert of_times(numbers, FORMATS["integer"], pa.int64()) == numbers


@given(st.lists(st.decimals(-(10**12), 10**12, places=3), min_size=1))
def test_fractions_are_cut_to_microseconds(numbers: list[Decimal]) -> None:
    expected = [math.floor(float(str(number)) * 1e6) for number in numbers]
    assert of_times([str(number) for number in numbers], FORMATS["float"]) == expected
    assert of_times([f" {number}" for number in numbers], FORMATS["float"]) == expected
    thousandths = find_time_format(pa.array([1333476007000.5]), "time", "the table")
    floats = [float(str(number)) for number in numbers]
    assert of_times(floats, thousandths, pa.float64()) == [math.floor(number * 1e3) for number in floats]


GARBAGE = st.text("0123456789-:./TZ +e_xnaif\\", max_size=12)
CUT = st.builds(lambda text, place, new: text[:place] + new + text[place:], st.sampled_from([t for _, t in TEXTS]),
                st.integers(0, 30), st.sampled_from(["", " ", "0", "9", "-", ".", "e"]))  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(list(FORMATS)), st.lists(st.none() | st.sampled_from([t for _, t in TEXTS]) | GARBAGE | CUT))
@example("integer", ["0x10", "5"])
@example("float", ["nan(1)", "5"])
@example("iso8601", ["2020-01-02", "2020-01-02T03:04Z"])
def test_any_text_means_what_the_naive_judge_says_alone_and_in_company(name: str, texts: list[str | None]) -> None:
    expected = [naive_time(text, FORMATS[name]) for text in texts]
    assert of_times(texts, FORMATS[name]) == expected
    assert [of_times([text], FORMATS[name])[0] for text in texts] == expected


PLAIN_IDS = st.one_of(st.integers(-20, 20).map(str), st.text("ab é😀\u0131Zz", min_size=1, max_size=3).map("x".__add__))
ODD_IDS = st.sampled_from(
    [
        *("", " ", "\xa0", "NULL", " nan ", "NaN", "None", "\\N", "\u3000null", "NaT", "007", "-0", "+5", " 5", "1e3"),
        *("a\nb", "\n", "\x1a", "a\x1ab", "\x1a\n", "\x00", "a\x00b", "\t", "\tNULL", "\u200b", "ﬀ", "e\u0301"),
        *("gone", "it's", "Null", "NAN", "none", "null null", "\U0010ffff", "\ufeff", "'", '"', "%"),
    ]
)


@dataclass(frozen=True)
class Rows:
    """One table: a column for each role, and the rules it is held to."""

    columns: dict[str, pa.Array]
    rules: Rules
    cuts: tuple[int, ...] = ()

    def batches(self) -> list[pa.RecordBatch]:
        whole = pa.RecordBatch.from_arrays(list(self.columns.values()), names=list(self.columns))
        ends = [0, *sorted(min(cut, whole.num_rows) for cut in self.cuts), whole.num_rows]
        return [whole.slice(begin, end - begin) for begin, end in itertools.pairwise(ends)]

    def naive(self) -> list[tuple[int, str]]:
        whole = pa.RecordBatch.from_arrays(list(self.columns.values()), names=list(self.columns))
        return [naive_row(row, self.rules) for row in whole.to_pylist()]


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    rows = draw(st.integers(0, 12))

    def column(values: st.SearchStrategy[object], kind: pa.DataType) -> pa.Array:
        return pa.array(draw(st.lists(st.none() | values, min_size=rows, max_size=rows)), kind)

    columns = {}
    for role in ("user", "item"):
        kind = draw(st.sampled_from([pa.string(), pa.large_string(), pa.int64(), pa.uint64()]))
        whole = st.integers(0, 2**64 - 1 if pa.types.is_uint64(kind) else 2**63 - 1)
        columns[role] = column(whole if pa.types.is_integer(kind) else PLAIN_IDS | ODD_IDS | st.text(max_size=3), kind)
    form = draw(st.sampled_from([None, *FORMATS.values(), TimeFormat("timestamp", 1000)]))
    if form is not None:
        if form.name == "timestamp" or (form.name == "integer" and draw(st.booleans())):
            columns["time"] = column(st.integers(-(2**63), 2**63 - 1), pa.int64())
        elif form.name == "float" and draw(st.booleans()):
            columns["time"] = column(st.floats(), pa.float64())
        else:
            columns["time"] = column(st.just(SAMPLES[form.name]) | st.sampled_from(list(ODD[form.name])), pa.string())
    least = draw(st.none() | st.sampled_from([4.0, 3.3, 0.1 + 0.2, -1e-7]))
    if least is not None:
        texts = st.sampled_from(["4", "3.3", " 5", "5.", "1e400", "-inf", "nan", "good", "", "NULL", "-1e-7", "+4_0"])
        columns["rating"] = (
            column(st.floats() | st.just(least), pa.float64()) if draw(st.booleans()) else column(texts, pa.string())
        )
    rules = Rules(form, least, draw(st.sampled_from([(), ("gone", "it's")])))
    return Rows(columns, rules, tuple(draw(st.lists(st.integers(0, 12), max_size=3))))


@settings(max_examples=200, deadline=None)
@given(tables())
def test_rows_are_judged_as_the_naive_judge_does_however_they_are_cut(rows: Rows) -> None:
    expected = rows.naive()
    assert [row for batch in rows.batches() for row in judged(batch, rows.rules)] == expected


FAULTLESS: dict[str, object] = {"user": "a", "item": "b", "time": "5", "rating": "4"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        *(({"user": text}, "missing user") for text in (None, *NOTHING, " NaN\t")),
        *(({"item": text}, "missing item") for text in (None, *NOTHING, " null\xa0")),
        *(({"user": text}, "") for text in ("Null", "0", "-", "nan nan", "NONE")),
        ({"user": "a\nb"}, "line break in an id"),
        ({"item": "b\n"}, "line break in an id"),
        ({"user": "a\x1a"}, "not UTF-8"),
        ({"item": "\x1ab"}, "not UTF-8"),
        ({"rating": "3.9"}, "rating below the minimum"),
        ({"rating": "-inf"}, "rating below the minimum"),
        ({"rating": "4.0"}, ""),
        ({"rating": " 1e2"}, ""),
        *(({"rating": text}, "unreadable rating") for text in (None, "", "nan", "good", "NULL")),
        ({"item": "gone"}, "no item recorded"),
        ({"user": "gone"}, ""),
        ({"item": " gone"}, ""),
        # Of several faults the first in the list counts, and what falls to a rule comes after what is wrong.
        ({"user": "", "item": "", "time": "", "rating": ""}, "missing user"),
        ({"item": "", "time": "x", "rating": ""}, "missing item"),
        ({"user": "a\n", "time": "", "rating": ""}, "missing time"),
        ({"user": "a\n", "time": "nan", "rating": ""}, "NaN time"),
        ({"user": "a\n", "time": "x", "rating": ""}, "unreadable time"),
        ({"user": "a\n", "item": "\x1a", "rating": ""}, "line break in an id"),
        ({"user": "a\x1a", "rating": ""}, "not UTF-8"),
        ({"item": "gone", "rating": ""}, "unreadable rating"),
        ({"item": "gone", "rating": "1"}, "rating below the minimum"),
    ],
)
def test_every_rule(change: dict[str, object], reason: str) -> None:
    row = {**FAULTLESS, **change}
    batch = pa.RecordBatch.from_pydict({role: pa.array([value], pa.string()) for role, value in row.items()})
    rules = Rules(FORMATS["integer"], 4.0, ("gone",))
    assert [found for _, found in judged(batch, rules)] == [reason]
    assert naive_row(row, rules)[1] == reason


def test_text_that_is_not_utf8_speaks_against_its_row_alone() -> None:
    broken = pa.array([b"a\xff", b"b", None]).view(pa.string())
    batch = pa.RecordBatch.from_arrays([broken, pa.array([1, 2, 3]), broken], names=["user", "item", "time"])
    assert judged(batch, Rules(None)) == [(0, "not UTF-8"), (0, ""), (0, "missing user")]
    swapped = pa.RecordBatch.from_arrays([pa.array([1, 2, 3]), pa.array([1, 2, 3]), broken], names=batch.schema.names)
    assert [reason for _, reason in judged(swapped, Rules(FORMATS["integer"]))] == [
        *("unreadable time", "unreadable time", "missing time")
    ]


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
    assert ticks_per_second(facts, FORMATS["integer"]) == (None if rows else unit)
    found, _ = seconds(np.array(values, np.int64), FORMATS["integer"])
    assert (found is None) == rows
    assert found is None or found.tolist() == [value // unit for value in values]
    assert ticks_per_second(facts, FORMATS["iso8601"]) == 10**6
