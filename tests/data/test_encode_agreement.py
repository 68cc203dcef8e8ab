"""Both ways to encode a table are one function: whatever the rows hold, codes, ids, ticks, counts and errors agree."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.data import encode as entrance
from entropie.data.classify import classify
from entropie.data.encode_duckdb import classify_large, encode_large
from entropie.data.encode_small import encode_small
from entropie.data.encoding import Encoded, Rules
from entropie.data.rejects import Rejects
from entropie.data.times import TimeFormat, find_time_format
from entropie.errors import EntropieError
from entropie.request import Run

WEEKDAY = "%a %b %d %H:%M:%S +0000 %Y"
MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2199, 12, 31))
OFFSETS = st.sampled_from(["", "Z", "+00", "+02", "-0930", "+05:45", "-14:00", "+14:59"])


@dataclass(frozen=True)
class Rows:
    """One table: a column for each role, and the rules it is held to."""

    columns: dict[str, pa.Array]
    rules: Rules
    cuts: tuple[int, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(role, column.type) for role, column in self.columns.items()])

    def batches(self) -> list[pa.RecordBatch]:
        whole = pa.RecordBatch.from_arrays(list(self.columns.values()), schema=self.schema)
        ends = [0, *sorted(min(cut, whole.num_rows) for cut in self.cuts), whole.num_rows]
        return [whole.slice(begin, end - begin) for begin, end in itertools.pairwise(ends)]


def outcome(rows: Rows, run: Callable[[Rows, Rejects], Encoded | None]) -> object:
    """Everything that a caller can see of an encoding; None where it was left to the other one."""
    rejects = Rejects("the table")
    rejects.add_dirty("too few fields", 1, "a,b")  # as if counted while reading
    try:
        found = run(rows, rejects)
    except EntropieError as error:
        return type(error), str(error), rejects.dirty, rejects.excluded
    if found is None:
        return None
    arrays = [(array.dtype.str, array.tolist()) for array in (found.users, found.items, found.ticks)]
    ids = [(array.type, array.to_pylist()) for array in (found.user_ids, found.item_ids)]
    return found.rows, arrays, ids, rejects.dirty, rejects.excluded, rejects.summary()


def small(rows: Rows, rejects: Rejects) -> Encoded | None:
    return encode_small(rows.batches(), rows.schema, rows.rules, rejects)


def large(rows: Rows, rejects: Rejects) -> Encoded | None:
    return encode_large(iter(rows.batches()), rows.schema, rows.rules, rejects, Run(threads=1))


PLAIN_IDS = st.one_of(st.integers(-20, 20).map(str), st.text("ab é😀\u0131Zz", min_size=1, max_size=3).map("x".__add__))
ODD_IDS = st.sampled_from(
    [
        *(
            "",
            " ",
            "\xa0",
            "NULL",
            " nan ",
            "NaN",
            "None",
            "\\N",
            "\u3000null",
            "NaT",
            "007",
            "-0",
            "+5",
            " 5",
            "5 ",
            "1e3",
        ),
        *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "0", "00"),
        *(
            "a\nb",
            "\n",
            "\x1a",
            "a\x1ab",
            "\x1a\n",
            "\x00",
            "a\x00b",
            "\t",
            "\tNULL",
            "\u200b",
            "ﬀ",
            "e\u0301",
            "\U0010ffff",
        ),
        *("gone", "\ufeff", "'", '"', "%"),
    ]
)
WHOLE_IDS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-9, 9)).map(str)


@st.composite
def id_columns(draw: st.DrawFn, rows: int, odd: bool) -> pa.Array:
    kind = draw(st.sampled_from([pa.string(), pa.large_string(), pa.int64(), pa.uint64()]))
    if pa.types.is_int64(kind):
        values: st.SearchStrategy[object] = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
    elif pa.types.is_uint64(kind):
        values = st.integers(0, 2**64 - 1) | st.integers(0, 3)
    else:
        values = draw(st.sampled_from([PLAIN_IDS, WHOLE_IDS, PLAIN_IDS | WHOLE_IDS]))
        values = values | ODD_IDS | st.text(max_size=3) if odd else values
    return pa.array(draw(_lists(st.none() | values if odd else values, rows)), kind)


def _lists(values: st.SearchStrategy[object], rows: int) -> st.SearchStrategy[list[object]]:
    return st.lists(values, min_size=rows, max_size=rows)


TIMES: dict[str, tuple[st.SearchStrategy[object], pa.DataType]] = {
    "int64": (st.integers(-(2**63), 2**63 - 1), pa.int64()),
    "float64": (st.floats(-1e12, 1e12), pa.float64()),
    "whole": (st.integers(-(10**17), 10**17).map(str) | st.just("007"), pa.string()),
    "decimal": (
        st.one_of(
            st.floats(-1e12, 1e12).map(lambda x: f"{x:.3f}"),
            st.builds("{}.{:03d}e{}".format, st.integers(-99, 99), st.integers(0, 999), st.integers(-30, 30)),
            st.integers(-(10**16), 10**16).map(str),
        ),
        pa.string(),
    ),
    "iso": (
        st.one_of(
            st.builds(lambda moment, zone: moment.isoformat() + zone, MOMENTS, OFFSETS),
            st.builds(lambda moment, zone: moment.isoformat(" ", "milliseconds") + zone, MOMENTS, OFFSETS),
            MOMENTS.map(lambda moment: moment.date().isoformat()),
        ),
        pa.string(),
    ),
    "weekday": (
        st.builds(
            lambda moment, zone: moment.strftime(WEEKDAY).replace("+0000", zone),
            MOMENTS,
            st.sampled_from(["+0000", "-0930", "+1445"]),
        ),
        pa.string(),
    ),
}
SAMPLES = {
    "whole": ["1333476007"],
    "decimal": ["1333476007.5"],
    "iso": ["2012-04-03T18:00:07Z"],
    "weekday": ["Tue Apr 03 18:00:07 +0000 2012"],
}
DIRTY_TIMES = st.sampled_from(["", " ", "NULL", " null", "NaT", "None", "\\N", "\xa0", "\u3000", None])
NOT_FINITE = st.sampled_from(["nan", "NaN", "-nan", "inf", "INF", "-Infinity"])
ODD_TIMES = st.sampled_from(
    [
        *(
            "",
            " ",
            "NULL",
            " null",
            "NaT",
            "None",
            "\\N",
            "\xa0",
            "nan",
            "NaN",
            "-nan",
            "+nan",
            "inf",
            "-Infinity",
            "1e400",
        ),
        *(
            "yesterday",
            "5.5",
            "5.0",
            "+5",
            " 5",
            "5.",
            ".5",
            "1e3",
            "1_000",
            "0x10",
            "-0",
            "0",
            "9" * 25,
            "1e99",
            "-1e99",
        ),
        *("9223372036854775807", "9223372036854775808", "123456789012345.99999999999", "9007199254740993.5"),
        *("2020-02-30", "2020-02-29", "2021-02-29T00:00:00", "2020-01-02T24:00:00", "2020-01-02T23:59:60", "2020-1-2"),
        *("2020/01/02", "2020-01-02T03:04", "2020-01-02T03:04Z", "2020-01-02T03:04:05z", "2020-01-02t03:04:05"),
        *(
            "2020-01-02T03:04:05.1234567",
            "2020-01-02T03:04:05.999999999Z",
            "2020-01-02T03:04:05.",
            "0001-01-01",
            "9999-12-31",
        ),
        *(
            "2020-01-02 03:04:05 UTC",
            "2020-01-02 03:04:05+99:99",
            "2020-01-02 03:04:05 +02:00",
            "2020-01-02Z",
            "infinity",
        ),
        *("20200102", "epoch", "12020-01-02", "-2020-01-02", "2020-01-02T03:04:05+2", "2020-13-01", "2020-00-10"),
        *("Mon Apr 03 18:00:07 +0000 2012", "Tue Apr 31 18:00:07 +0000 2012", "Tue Apr 3 18:00:07 +0000 2012"),
        *("tue apr 03 18:00:07 +0000 2012", "Tue Apr 03 18:00:07 +9900 2012", "Tue Apr 03 18:00:60 +0000 2012"),
        *("Tue Apr 03 18:00:07 +02:00 2012", "Tue Apr 03 24:00:07 +0000 2012", "Thu Feb 29 18:00:07 +0000 1900"),
    ]
)


@st.composite
def time_columns(draw: st.DrawFn, rows: int, odd: bool) -> tuple[pa.Array | None, TimeFormat | None]:
    name = draw(st.sampled_from([*TIMES, "timestamp", "none"]))
    if name == "none":
        return None, None
    if name == "timestamp":
        values = draw(_lists(st.none() | st.integers(-(2**63), 2**63 - 1), rows))
        return pa.array(values, pa.int64()), TimeFormat("timestamp", "time", ticks_per_second=1000)
    values, kind = TIMES[name]
    sample = pa.array(SAMPLES.get(name, [1333476007 * draw(st.sampled_from([1, 10**3, 10**6]))]), kind)
    if odd and pa.types.is_string(kind):
        values = values | DIRTY_TIMES | (NOT_FINITE if name in ("whole", "decimal") else DIRTY_TIMES)
        if draw(st.booleans()):
            values = values | ODD_TIMES | st.text("0123456789-:.TZ +e", max_size=8)
    elif odd:
        values = values | st.none() | (st.floats() if pa.types.is_floating(kind) else st.none())
    return pa.array(draw(_lists(values, rows)), kind), find_time_format(sample, "time", "the table")


@st.composite
def tables(draw: st.DrawFn, odd: bool) -> Rows:
    rows = draw(st.integers(0 if odd else 1, 12))
    columns = {role: draw(id_columns(rows, odd)) for role in ("user", "item")}
    time, time_format = draw(time_columns(rows, odd))
    if time is not None:
        columns["time"] = time
    least = draw(st.none() | st.sampled_from([4.0, 3.3, 0.1 + 0.2, -1e-7]))
    if least is not None:
        stars: st.SearchStrategy[object] = st.floats(-9, 9) | st.just(least)
        text = draw(st.booleans())
        if text:
            stars = stars.map(lambda x: f"{x:.9f}")
        if odd:
            strange = st.sampled_from(
                ["", "NULL", "nan", "inf", *draw(st.sampled_from([[], ["good", " 5", "5.", "1e400"]]))]
            )
            stars = stars | st.none() | (strange if text else st.just(float("nan")))
        columns["rating"] = pa.array(draw(_lists(stars, rows)), pa.string() if text else pa.float64())
    missing = draw(st.sampled_from([(), ("gone", "it's")]))
    share = draw(st.sampled_from([1.0, 1.0, 0.5, 0.0])) if odd else 1.0
    return Rows(
        columns, Rules(time_format, least, missing, share), tuple(draw(st.lists(st.integers(0, 12), max_size=3)))
    )


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(tables(odd=False))
def test_plain_tables_are_encoded_in_memory_and_alike(rows: Rows) -> None:
    found = outcome(rows, small)
    assert found is not None
    assert found == outcome(rows, large)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(tables(odd=True))
def test_whatever_is_encoded_in_memory_is_encoded_alike(rows: Rows) -> None:
    found = outcome(rows, small)
    assert found is None or found == outcome(rows, large)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(tables(odd=True))
def test_rows_are_judged_alike_batch_by_batch_and_by_duckdb(rows: Rows) -> None:
    whole = pa.Table.from_batches(rows.batches(), rows.schema).combine_chunks().to_batches()
    ticks, reasons = classify_large(whole[0], rows.rules, "it") if whole else (np.zeros(0), np.zeros(0))
    judged = [classify(batch, rows.rules, "it") for batch in rows.batches()]
    assert [code for part in judged for code in part.reasons.tolist()] == reasons.tolist()
    if rows.rules.time is not None:
        usable = reasons == 0
        assert np.concatenate([part.ticks for part in judged])[usable].tolist() == ticks[usable].tolist()


def text_table(times: Sequence[str | None], sample: str) -> Rows:
    """A user, an item and these times; every other row is as it should be."""
    both = [value for time in times for value in (time, sample)]
    ids = pa.array([str(place % 3) for place in range(len(both))])
    rules = Rules(find_time_format(pa.array([sample]), "time", "the table"), max_dirty_share=1.0)
    return Rows({"user": ids, "item": ids, "time": pa.array(both, pa.string())}, rules)


DIRT = Rows(
    {
        "user": pa.array(["b", "a", "\xa0NULL", "nan", None, "a\nb", "c\x1a", "é", "B", "a", "10", "9", "a"]),
        "item": pa.array(["1", "10", "9", "2", "3", "4", "5", "6", "gone", "8", "7", "1", "NULL"]),
        "time": pa.array(["5", "-7", "6", "6", "6", "6", "6", "nan", "6", "inf", "NULL", "6", "6"]),
        "rating": pa.array(["5", "4.5", "4", "4", "4", "4", "4", "5", "5", "4", "4", "1", "4"]),
    },
    Rules(find_time_format(pa.array(["5"]), "time", "the table"), 4.0, ("gone",), 1.0),
)
CLOCK = text_table(
    ["Sun Jan 05 23:59:59 +0130 2020", "Mon Dec 30 00:00:00 -0000 1999"], "Tue Apr 03 18:00:07 +0000 2012"
)
WHOLE = text_table(["007", "12"], "1333476007")


@pytest.mark.parametrize("rows", [DIRT, CLOCK, WHOLE])
def test_the_tables_of_the_next_test_agree(rows: Rows) -> None:
    found = outcome(rows, small)
    assert found is not None
    assert found == outcome(rows, large)


@pytest.mark.parametrize(
    ("name", "value", "rows"),
    [
        ("classify.NULLS", ("",), DIRT),
        ("classify.UNREADABLE", "?", DIRT),
        ("encode_small.NO_USER", 0, DIRT),
        ("classify._WHOLE", "^never$", WHOLE),
        ("ticks._SPACES", " ", DIRT),
        ("ticks.NULL_TIMES", ("", "nan"), DIRT),
        ("ticks._MONTHS", ("Jan", "Feb", "Mar", "Dec", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Apr"), CLOCK),
    ],
)
def test_a_difference_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str, value: object, rows: Rows) -> None:
    right = outcome(rows, large)
    monkeypatch.setattr(f"entropie.data.{name}", value)
    found = outcome(rows, small)
    assert found != right


@pytest.mark.parametrize("text", ["yesterday", "+5", " 5", "0x10", "2020/01/02", "5.0", "9" * 19])
def test_what_only_duckdb_can_judge_is_left_to_it(text: str) -> None:
    rows = text_table([text], "1333476007")
    assert outcome(rows, small) is None
    assert outcome(rows, through_entrance) == outcome(rows, large)


def test_text_that_is_not_utf8_is_left_to_duckdb() -> None:
    broken = pa.array([b"a\xff", b"b"]).view(pa.string())
    assert outcome(Rows({"user": broken, "item": pa.array([1, 2])}, Rules(None)), small) is None


def through_entrance(rows: Rows, rejects: Rejects) -> Encoded | None:
    return entrance.encode(iter(rows.batches()), rows.schema, rows.rules, rejects, Run(threads=1))


@pytest.mark.parametrize(("limit", "value"), [("_SMALL_ROWS", 4), ("_SMALL_BYTES", 100), ("_SMALL_ROWS", 13)])
def test_a_table_beyond_the_limit_goes_to_duckdb_whole(monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    rows = Rows(DIRT.columns, DIRT.rules, (2, 5, 5, 9))
    expected = outcome(rows, large)
    monkeypatch.setattr(entrance, limit, value)
    used = []
    monkeypatch.setattr(entrance, "encode_small", lambda *given, **named: used.append(given))
    assert outcome(rows, through_entrance) == expected
    assert bool(used) == (value == 13)  # a table at the limit is offered to both
