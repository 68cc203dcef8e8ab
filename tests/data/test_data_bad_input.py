"""Every input that cannot be used: one sentence, soon, and within bounded memory."""

from __future__ import annotations

import gzip
import os
import random
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entropie.data.events import Events, read_events
from entropie.data.presets import PRESETS
from entropie.errors import EntropieError, InvalidInput, InvalidParameter
from entropie.request import Request

GOOD_LINES = b"user,item,time\n" + b"".join(b"u%d,i%d,%d\n" % (n % 7, n % 11, 1_600_000_000 + n) for n in range(3000))


def read(events: object, **options: Any) -> Events:
    job = Request.of(events, options)
    return read_events(job.source, job.run)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(content: bytes, name: str = "events.csv") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return write


def message(source: object, **options: object) -> str:
    """Read, expect a refusal, and check its form: one line, no traceback words."""
    with pytest.raises(InvalidInput) as caught:
        read(source, **options)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    assert "Traceback" not in text
    assert len(text) < 500
    return text


@pytest.mark.parametrize("content", [b"", b"\n\n \n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_empty(write: Callable[..., Path], content: bytes) -> None:
    assert "is empty" in message(write(content))


def test_blank_lines_without_end(write: Callable[..., Path]) -> None:
    assert "blank lines" in message(write(b"\n" * 262_140 + b"user,item\na,b\n"))


def test_header_only(write: Callable[..., Path]) -> None:
    assert "holds no rows, only a header" in message(write(b"user,item,time\n"))


def test_parquet_without_rows(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"user": pa.array([], pa.int64()), "item": pa.array([], pa.string())}), tmp_path / "e.parquet"
    )
    assert "holds no rows" in message(tmp_path / "e.parquet")


def test_table_without_rows() -> None:
    assert "the table holds no rows" in message(
        pa.table({"user": pa.array([], pa.int64()), "item": pa.array([], pa.int8())})
    )


def test_missing_column(write: Callable[..., Path]) -> None:
    path = write(b"user,item\na,b\n")
    assert message(path, time="when") == (
        f"Column `when` is missing from {path}; found: user, item. Name it with `time=`."
    )


def test_names_in_another_encoding(write: Callable[..., Path]) -> None:
    path = write("user,Straße\na,b\n".encode("latin1"))
    assert message(path, item="Straße") == (
        f"Column `Straße` is missing from {path}, whose line of names is not UTF-8; convert the file, as in "
        "`iconv -f latin1 -t utf-8 old.csv > new.csv`."
    )


def test_folders_that_are_closed_to_us() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, closed = Path(name), Path(name, "in", "closed")
        closed.mkdir(parents=True)
        for file in (folder / "in" / "a.csv", closed / "b.parquet"):
            file.write_bytes(GOOD_LINES)
        folder.chmod(0o755)
        closed.chmod(0)
        try:
            if os.geteuid() == 0:  # nothing is closed to root
                os.seteuid(65534)
            for named in (closed, folder / "in", closed / "b.parquet"):
                refused = closed / "b.parquet" if named.suffix else closed
                assert message(named) == f"{refused} cannot be opened: permission denied."
        finally:
            if os.getuid() == 0:
                os.seteuid(0)
            closed.chmod(0o755)


def test_no_column_looks_like_the_item(write: Callable[..., Path]) -> None:
    path = write(b"user,thing\na,b\n")
    assert message(path) == (f"No column of {path} looks like the item; found: user, thing. Name it with `item=`.")


def test_no_header_names_columns_by_number(write: Callable[..., Path]) -> None:
    text = message(write(b"1,a,3\n2,b,3\n"))
    assert "found: 1, 2, 3" in text
    assert "There is no header line, so columns are called by their number" in text


def test_column_twice(write: Callable[..., Path]) -> None:
    assert "appears more than once" in message(write(b"user,item,item\na,b,c\n"))
    assert "both user and item" in message(write(b"user,item\na,b\n"), user="item", item="item")


def test_one_column(write: Callable[..., Path]) -> None:
    assert "has one column" in message(write(b"user\na\n"))


@pytest.mark.parametrize(
    ("column", "role"),
    [
        (pa.array([[1], [2]]), "item"),
        (pa.array([{"a": 1}, {"a": 2}]), "user"),
        (pa.array([True, False]), "time"),
        (pa.array([[1], [2]]), "time"),
    ],
)
def test_wrong_type(column: pa.Array, role: str) -> None:
    columns = {"user": pa.array([1, 2]), "item": pa.array([1, 2]), "time": pa.array([1, 2]), role: column}
    text = message(pa.table(columns))
    assert f"Column `{role}` of the table has type" in text
    assert f"`{role}=`" in text


def test_fractional_ids_are_refused_and_whole_floats_are_not() -> None:
    assert "do not all read as int64" in message(pa.table({"user": [1.5, 2.0], "item": [1, 2]}))
    events = read(pa.table({"user": [10.0, 2.0], "item": [1, 2]}))
    assert events.user_ids.to_pylist() == [2, 10]


def test_bytes_that_are_no_text() -> None:
    assert "do not all read as string" in message(pa.table({"user": [b"\xff"], "item": [1]}))


def test_a_frame_that_arrow_cannot_hold() -> None:
    frame = pd.DataFrame({"user": [1, "a"], "item": [[1], {2}]}, dtype=object)
    assert "cannot be read as Arrow" in message(frame)


def test_ratings_that_are_none() -> None:
    table = pa.table({"user": [1, 1, 1], "item": [1, 2, 3], "rating": ["5", "good", None]})
    assert "unreadable rating: 2" in message(table, min_rating=4)
    assert "ratings must be numbers" in message(table.set_column(2, "rating", [[[1], [2], [3]]]), min_rating=4)


def test_text_that_is_no_time(write: Callable[..., Path]) -> None:
    text = message(write(b"user,item,time\na,b,yesterday\n"))
    assert "holds no time that can be read, first in line 2; expected seconds" in text
    assert "`time=`" in text
    german = message(write(b"user,item,time\na,b,01.01.1970 00:00:08\n"))
    assert "may have day or month first, none has a number above 12; say which with `time_format=` day-first" in german
    assert text.endswith("Say how it is written with `time_format=`, or name another with `time=`.")


def test_nan_times_count_as_dirty() -> None:
    table = pa.table(
        {"user": [1] * 100, "item": [2] * 100, "time": [float("nan")] * 2 + [1.5e9 + n for n in range(98)]}
    )
    assert (
        "2 of 100 rows of the table (2\N{NO-BREAK SPACE}%) cannot be used (NaN time: 2, first in row 1, column `time`, expected a number)"
        in message(table)
    )
    report = read(table, max_dirty_share=0.02).report
    assert (report.events, report.dropped) == (98, {"NaN time": 2})


def test_all_rows_dirty_is_an_error_at_any_share(write: Callable[..., Path]) -> None:
    text = message(write(b"user,item\n,b\n,c\n"), max_dirty_share=1.0)
    assert "No event is left of the 2 rows" in text


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_gzip_that_ends_early(write: Callable[..., Path], keep: float) -> None:
    packed = gzip.compress(GOOD_LINES)
    path = write(packed[: int(len(packed) * keep)], "events.csv.gz")
    assert message(path) == f"{path} ends early: its gzip stream is cut off; fetch it again."


def test_zstd_that_ends_early(write: Callable[..., Path]) -> None:
    packed = pa.compress(GOOD_LINES, codec="zstd", asbytes=True)
    assert "ends early" in message(write(packed[:-40], "events.csv.zst"))


def test_gzip_with_a_flipped_bit(write: Callable[..., Path]) -> None:
    packed = bytearray(gzip.compress(GOOD_LINES))
    packed[-6] ^= 1
    assert "is damaged" in message(write(bytes(packed), "events.csv.gz"))


def parquet_bytes(tmp_path: Path, rows: int = 50_000) -> bytes:
    rng = np.random.default_rng(7)
    table = pa.table({"user": rng.integers(0, 900, rows), "item": rng.integers(0, 900, rows), "time": np.arange(rows)})
    pq.write_table(table, tmp_path / "whole.parquet", row_group_size=10_000)
    return (tmp_path / "whole.parquet").read_bytes()


def test_parquet_that_ends_early(write: Callable[..., Path], tmp_path: Path) -> None:
    content = parquet_bytes(tmp_path)
    assert "ends early" in message(write(content[: len(content) // 2], "events.parquet"))


def test_parquet_with_damaged_pages(write: Callable[..., Path], tmp_path: Path) -> None:
    content = bytearray(parquet_bytes(tmp_path))
    content[20:2000] = bytes(1980)
    assert "damaged" in message(write(bytes(content), "events.parquet"))


def test_csv_named_parquet(write: Callable[..., Path]) -> None:
    assert "named like Parquet" in message(write(GOOD_LINES, "events.parquet"))


@pytest.mark.parametrize("name", ["events.csv", "events.csv.gz", "events.parquet"])
def test_file_that_changes_while_it_is_read(write: Callable[..., Path], tmp_path: Path, name: str) -> None:
    content = GOOD_LINES if "csv" in name else parquet_bytes(tmp_path)
    path = write(gzip.compress(content) if name.endswith("gz") else content, name)

    def grow(stage: str, share: float) -> None:
        if stage == "read" and share > 0:
            with path.open("ab") as file:
                file.write(b"x,y,1\n")

    assert message(path, progress=grow) == f"{path} changed while it was read; copy it, then read the copy."


def test_file_that_vanishes_while_it_is_read(write: Callable[..., Path]) -> None:
    path = write(GOOD_LINES)
    assert "cannot be opened" in message(path, progress=lambda stage, share: path.unlink(missing_ok=True))
    path = write(GOOD_LINES)
    vanish = lambda stage, share: path.unlink(missing_ok=True) if share else None  # noqa: E731
    assert "changed while it was read" in message(path, progress=vanish)


def write_bomb(path: Path, start: bytes, megabytes: int) -> None:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(start)
        zeros = bytes(1 << 20)
        for _ in range(megabytes):
            file.write(zeros)


@pytest.mark.parametrize("start", [b"", GOOD_LINES], ids=["from the start", "after good lines"])
def test_zeros_without_end_in_a_gzip(tmp_path: Path, start: bytes) -> None:
    path = tmp_path / "bomb.csv.gz"
    # Beyond the sample that is looked at first, so that the reader itself meets the zeros.
    write_bomb(path, start * 10, 200)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = message(path)
    assert "is not text" in text or "is longer than 4 MiB" in text
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown_mib < 150, "the 200 MiB must never be held at once"


def test_nothing_but_bad_lines_is_given_up_soon(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"user,item,time\n" + b"a,b\n" * 400_000)
    text = message(path)
    assert "More than half of" in text
    assert "too few fields" in text


def test_binary_garbage(write: Callable[..., Path]) -> None:
    assert "is not text" in message(write(random.Random(5).randbytes(100_000)))
    assert "is not text" in message(write(b"user,item\n\x00\x01,b\n"))


@pytest.mark.parametrize(("head", "word"), [(b"PK\x03\x04", "zip"), (b"\xfd7zXZ\x00", "xz"), (b"ARROW1", "Arrow")])
def test_other_formats_are_named(write: Callable[..., Path], head: bytes, word: str) -> None:
    assert word in message(write(head + bytes(200)))


def test_utf16(write: Callable[..., Path]) -> None:
    assert "UTF-16" in message(write(GOOD_LINES.decode().encode("utf-16")))


def test_not_utf8(write: Callable[..., Path]) -> None:
    path = write("user,item\nAnaïs,café\nBob,pub\n".encode("latin-1"))
    assert message(path) == (
        f"1 of 2 rows of {path} (50\N{NO-BREAK SPACE}%) cannot be used (not UTF-8: 1, first in line 2, column `user` or `item`, "
        "expected UTF-8), more than the limit of 1\N{NO-BREAK SPACE}%; convert it to "
        "UTF-8 (from Latin-1: `iconv -f latin1 -t utf-8 in > out`), or raise `max_dirty_share=`."
    )
    assert read(path, max_dirty_share=0.5).user_ids.to_pylist() == ["Bob"]


def test_bad_bytes_outside_the_columns_in_use_do_not_matter(write: Callable[..., Path]) -> None:
    path = write("user,item,note\n1,2,café\n2,3,thé\n".encode("latin-1"))
    assert read(path).report.events == 2


def test_bad_bytes_in_a_line_that_is_bad_anyway(write: Callable[..., Path]) -> None:
    path = write("user,item,note\n1,2,café\n2,thé\n".encode("latin-1"))
    assert read(path, max_dirty_share=0.5).report.dropped == {"too few fields": 1}


def test_folder_without_files(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("nothing")
    assert "holds no table; looked for" in message(tmp_path)


def test_glob_without_match(tmp_path: Path) -> None:
    assert "No file matches" in message(tmp_path / "*.csv")


def test_no_such_file(tmp_path: Path) -> None:
    assert "does not exist" in message(tmp_path / "events.csv")


def test_folder_of_two_kinds(write: Callable[..., Path], tmp_path: Path) -> None:
    folder = write(GOOD_LINES, "both/a.csv").parent
    write(parquet_bytes(tmp_path), "both/b.parquet")
    assert "both Parquet and text" in message(folder)


def test_files_with_different_columns(write: Callable[..., Path]) -> None:
    folder = write(GOOD_LINES, "parts/a.csv").parent
    write(b"user,item\na,b\n", "parts/b.csv")
    assert "different columns" in message(folder)


def test_quote_that_is_never_closed(write: Callable[..., Path]) -> None:
    path = write(b'user,item\n1,2\n"3,4\n' + b"5,6\n" * 3)
    assert message(path) == (
        f"The quote that opens a field in line 3 of {path} is never closed; the rows after it would be lost. Close it, or "
        "double a quote that is part of the text."
    )


def test_quote_closed_lines_later_does_not_hide_them(write: Callable[..., Path]) -> None:
    path = write(b'user,item\n1,2\n"3,4\n5,6\n7",8\n')
    assert "3 of 4 rows" in message(path)
    assert "quoted lines that look like rows: 3, first in line 3" in message(path)


def test_sources_and_parameters_that_make_no_sense(write: Callable[..., Path]) -> None:
    path = write(GOOD_LINES)
    for options in (
        {"max_dirty_share": 1.5},
        {"threads": 0},
        {"min_rating": float("nan")},
        {"memory": "lots"},
        {"preset": "myspace"},
        {"grid": "500m"},
        {"preset": "geolife"},
    ):
        with pytest.raises(InvalidParameter):
            read(path, **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="__arrow_c_stream__"):
        read(12)


def test_nothing_is_left_behind(write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    read(write(GOOD_LINES))
    message(write(b"user,item,time\n" + b"a,b\n" * 5))

    for interrupted in ("read", "encode", "sort"):

        def interrupt(stage: str, share: float, wanted: str = interrupted) -> None:
            if stage == wanted and share > 0:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            read(write(GOOD_LINES), progress=interrupt)
    assert list(scratch.iterdir()) == []


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(alphabet='au1,\t;|:"\n\r é\x1a-.T', max_size=200).map(str.encode),
        st.lists(st.sampled_from([b"user,item,time\n", b"a,b,1\n", b"a,b\n", b'"a,b,1\n', b"\xff,b,1\n", b"\n"])).map(
            b"".join
        ),
        st.binary(max_size=60).map(lambda noise: GOOD_LINES[:300] + noise + GOOD_LINES[300:600]),
        st.binary(max_size=60).map(lambda noise: gzip.compress(GOOD_LINES)[:100] + noise),
    ),
    st.sampled_from([None, *PRESETS]),
)
def test_whatever_the_bytes_an_answer_or_a_sentence(tmp_path: Path, content: bytes, preset: str | None) -> None:
    path = tmp_path / "fuzz"
    path.write_bytes(content)
    try:
        events = read(path, preset=preset, grid="1km" if preset == "geolife" else None, max_dirty_share=0.9)
    except EntropieError:
        return
    assert events.traces.events == events.report.rows - sum(events.report.dropped.values())


DAY = ["2012-04-03 18:00:07"]


def test_a_refusal_names_column_row_and_what_was_expected(tmp_path: Path) -> None:
    """The line of a text, the row of a table; in which file where there are several."""
    rows = pa.table({"who": ["a", "b", None, "d", "e"], "what": list("vwxyz"), "when": [*(3 * DAY), "noon", "soon"]})
    roles = {"user": "who", "item": "what", "time": "when"}
    time, user = "column `when`, expected ISO 8601", "column `who`, expected an id"
    said = "unreadable time: 2, first in {} {}, {}; missing user: 1, first in {} {}, {}"
    text, parts = tmp_path / "t.csv", tmp_path / "parts"
    text.write_bytes(("who,what,when\n" + _lines(rows)).encode())
    assert said.format("line", 5, time, "line", 4, user) in message(text, **roles)
    assert said.format("row", 4, time, "row", 3, user) in message(rows, **roles)
    text.write_bytes(("who,what,when\n\n" + _lines(rows)).encode())
    assert said.format("or after line", 5, time, "or after line", 4, user) in message(text, **roles)
    parts.mkdir()
    pq.write_table(rows.slice(0, 2), parts / "1.parquet")
    pq.write_table(rows.slice(2), parts / "2.parquet", row_group_size=1)
    there = " of 2.parquet"
    assert said.format("row", f"2{there}", time, "row", f"1{there}", user) in message(parts, **roles)


def _lines(rows: pa.Table) -> str:
    return "".join(",".join(value or "" for value in row.values()) + "\n" for row in rows.to_pylist())


def test_times_that_cannot_be_read_name_the_first(write: Callable[..., Path]) -> None:
    table = pa.table({"user": list("abc"), "item": list("abc"), "time": [None, " ", "noon"]})
    assert "holds no time that can be read, first in row 3; expected" in message(table)
    assert "holds no time that can be read, first in line 4; expected" in message(
        write(b"user,item,time\na,b,\na,b, \na,b,noon\n")
    )


def test_ratings_name_their_column(write: Callable[..., Path]) -> None:
    path = write(b"user,item,stars\na,b,5\na,c,good\n")
    said = message(path, min_rating=4, rating="stars")
    assert "unreadable rating: 1, first in line 3, column `stars`, expected a number" in said
    said = message(path, min_rating=9, rating="stars", max_dirty_share=1.0)
    assert "rating below the minimum: 1, first in line 2, column `stars`, expected at least 9" in said


def test_a_place_in_a_late_block_is_exact(write: Callable[..., Path]) -> None:
    lines = 300_000
    path = write(b"user,item,time\n" + b"a,b,1600000000\n" * lines + b"a,,1600000000\n")
    assert f"missing item: 1, first in line {lines + 2:,}, column `item`" in message(path, max_dirty_share=0.0)
