"""Text cut into blocks of rows: every row is in one block, counted as another reader counts it, whatever is cut where."""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entropie.data import blocks
from entropie.data.blocks import ahead, clean, exact_rows, row_blocks
from entropie.data.columns import read_columns
from entropie.data.dialect import Dialect
from entropie.data.events import read_events
from entropie.data.files import HashedFile, InputFile
from entropie.data.rejects import Rejects
from entropie.data.text import SWALLOWED, read_text
from entropie.errors import InvalidInput
from entropie.mitigate.attribute_table import read_attributes
from entropie.request import Source

COMMA = Dialect(",", False, ("1", "2"), (), 0)
GOOD = "".join(f"u{n % 7},i{n % 5},{n}\n" for n in range(2000))


class Pieces:
    """A stream that hands out its bytes in pieces of given sizes."""

    def __init__(self, content: bytes, sizes: list[int]) -> None:
        self.content, self.sizes = content, sizes

    def read(self, size: int) -> bytes:
        size = min(size, self.sizes.pop(0) if self.sizes else size)
        piece, self.content = self.content[:size], self.content[size:]
        return piece


def read_all(path: Path, dialect: Dialect) -> tuple[list[tuple[str | None, ...]], Rejects]:
    """All rows of a text, and the account of them."""
    rejects = Rejects("it")
    with HashedFile(path) as opened:
        batches = list(read_text(InputFile(path), opened, dialect, dialect.columns, rejects))
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()], rejects


@pytest.fixture(params=[40, 1 << 22])
def limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(blocks, "LINE_LIMIT_BYTES", request.param)
    return int(request.param)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet='ab,:"\n\ré', max_size=80), st.lists(st.integers(1, 5), max_size=40))
@pytest.mark.parametrize("delimiter", [",", "::"])
def test_cutting_a_stream_anywhere_does_not_change_its_rows(
    limit: int, delimiter: str, text: str, sizes: list[int]
) -> None:
    dialect = Dialect(delimiter, False, ("1", "2"), (), 0)
    whole = text.replace(delimiter, "\x1f") if delimiter == "::" else text
    try:
        cut = list(row_blocks(Pieces(text.encode(), sizes).read, dialect, "it"))
    except InvalidInput:
        assert '"' in text or len(text.encode()) >= limit
        return
    kept = b"".join(block.data for block in cut).decode()
    assert [line for line in kept.splitlines() if line] == [line for line in whole.splitlines() if line]
    # Python's reader is another one: it agrees wherever quotes stand where they should.
    if '"' not in text:
        assert sum(exact_rows(block, dialect, "it") for block in cut) == sum(1 for line in whole.splitlines() if line)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(*[st.text(alphabet='ab,"\né', min_size=1, max_size=9)] * 2), max_size=12), st.booleans())
def test_what_python_writes_is_read_row_by_row(
    limit: int, tmp_path: Path, rows: list[tuple[str, str]], windows: bool
) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n" if windows else "\n", quoting=csv.QUOTE_ALL).writerows(rows)
    path = tmp_path / "t.csv"
    path.write_text(text.getvalue() or "\n", encoding="utf-8", newline="")
    found, rejects = read_all(path, COMMA)
    assert found == rows
    assert (rejects.counted, rejects.dirty) == (len(rows), {})


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet='ab,"\n\r', max_size=60))
def test_the_parser_and_the_count_agree_on_any_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode() + b"\n")
    try:
        found, rejects = read_all(path, COMMA)
    except InvalidInput:
        return
    rejects.check_complete(len(found))


@given(st.binary(max_size=30))
def test_any_bytes_become_text_of_the_same_length(content: bytes) -> None:
    text = clean(content)
    text.decode()
    assert len(text) == len(content)
    if content.isascii():
        assert text == content


@pytest.mark.parametrize("row", [1, 1001, 1990])
def test_an_unclosed_quote_swallows_no_row(tmp_path: Path, row: int) -> None:
    lines = ["user,item,time", *GOOD.splitlines()]
    lines[row] = lines[row].replace(",i", ',"i')
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    said = f"The quote that opens a field in line {row + 1:,} of .*; the rows after it would be lost"
    for read in (lambda: read_events(Source(path)), lambda: read_attributes(path, ["time"])):
        with pytest.raises(InvalidInput, match=said):
            read()


TWO = Dialect(",", False, ("1", "2"), (), 0)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.booleans())
def test_two_lost_quotes_in_a_table_of_two_columns_lose_no_row(
    tmp_path: Path, data: st.DataObject, windows: bool
) -> None:
    """Ids of any kind: lines that look like the rows around them are told from lines of a text."""
    kinds = (("u{}", "place {}"), ("{:032x}", "{}"), ("{}", "cafe no. {}"), ("p{}@x.org", "{}-{}"))
    user, item = data.draw(st.sampled_from(kinds))
    rng = data.draw(st.randoms(use_true_random=False))
    rows = [[user.format(rng.getrandbits(120)), item.format(rng.randrange(99), 7)] for _ in range(30)]
    first = data.draw(st.integers(0, 25))
    last = data.draw(st.integers(first + 1, 29))
    opened, closed = data.draw(st.tuples(st.integers(0, 1), st.integers(0, 1)))
    expected = [tuple(row) for row in (*rows[:first], *rows[last + 1 :])]
    rows[first][opened] = '"' + rows[first][opened]
    rows[last][closed] += '"'
    path = tmp_path / "t.csv"
    path.write_bytes("".join(",".join(row) + ("\r\n" if windows else "\n") for row in rows).encode())
    try:
        found, rejects = read_all(path, TWO)
    except InvalidInput:
        assert last - first > blocks.LINE_BREAKS
        return
    assert (found, rejects.dirty) == (expected, {SWALLOWED: last + 1 - first})
    assert rejects.counted == len(rows)


def test_texts_of_several_lines_in_a_table_of_two_columns_stay(tmp_path: Path) -> None:
    """One comma in every line, as in addresses: no code, or no name, of the column before it stands there."""
    rows = [("7", "12 Main St\nSpringfield, IL"), ("8", "here"), ("9", "a\nb,c\nd,e"), ("10", "Rue X\nLyon, F\nEU, x")]
    for written in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n", quoting=written).writerows(rows * 40)
        path = tmp_path / "t.csv"
        path.write_text(text.getvalue(), newline="")
        found, rejects = read_all(path, TWO)
        assert (found, rejects.dirty, rejects.counted) == (rows * 40, {}, 160)


FOUR = Dialect(",", False, ("1", "2", "3", "4"), (), 0)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.booleans())
def test_two_lost_quotes_that_pair_up_lose_no_row(
    limit: int, tmp_path: Path, data: st.DataObject, windows: bool
) -> None:
    """Whichever fields they stand in: no line between them vanishes without a word."""
    rows = [[f"{name}{n}" for name in "abcd"] for n in range(data.draw(st.integers(2, 12)))]
    first = data.draw(st.integers(0, len(rows) - 2))
    last = data.draw(st.integers(first + 1, len(rows) - 1))
    opened, closed = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    expected = [tuple(row) for row in (*rows[:first], *rows[last + 1 :])]
    rows[first][opened] = '"' + rows[first][opened]
    rows[last][closed] += '"'
    path = tmp_path / "t.csv"
    path.write_bytes("".join(",".join(row) + ("\r\n" if windows else "\n") for row in rows).encode())
    try:
        found, rejects = read_all(path, FOUR)
    except InvalidInput:
        assert limit == 40  # such a field is longer than a line may be
        return
    assert found == expected
    assert rejects.dirty == {SWALLOWED: last + 1 - first}
    assert rejects.first[SWALLOWED] == f"in line {first + 1}, expected a quote closed in its line"
    rejects.check_complete(len(found))


def rowlike_lines(row: tuple[str, ...]) -> int:
    """Over how many lines a row is written, if each of them would be a row by itself, else 0."""
    cuts = [0]
    for place, field in enumerate(row):
        cuts[-1] += place > 0
        if "\n" in field:
            first, *others = (line.count(",") for line in field.split("\n"))
            cuts[-1] += first
            cuts += others
    return len(cuts) if len(cuts) > 1 and set(cuts) == {len(row) - 1} else 0


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(*[st.text(alphabet='ab,,,"\n\n', min_size=1, max_size=9)] * 4), max_size=12), st.booleans())
def test_legal_texts_over_several_lines_are_read_or_counted(
    tmp_path: Path, rows: list[tuple[str, ...]], every: bool
) -> None:
    """Only those whose every line looks like a row are refused, line by line; all others are as Python reads them."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL if every else csv.QUOTE_MINIMAL).writerows(rows)
    path = tmp_path / "t.csv"
    path.write_text(text.getvalue() or "\n", newline="")
    found, rejects = read_all(path, FOUR)
    read = [tuple(row) for row in csv.reader(io.StringIO(text.getvalue(), newline=""))]
    assert found == [row for row in read if not rowlike_lines(row)]
    assert rejects.dirty.total() == sum(map(rowlike_lines, rows))
    assert rejects.counted == sum(rowlike_lines(row) or 1 for row in rows)


def test_swallowed_rows_are_told_of_by_every_reader(tmp_path: Path) -> None:
    """Also where the column is not used; a text that only here and there looks like rows is a text."""
    lines = ["user,item,time,note", *(f"u{n % 7},i{n % 5},{n},fine" for n in range(2000))]
    lines[1001], lines[1010] = lines[1001].replace("fine", '"fine'), lines[1010] + '"'
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    report = read_events(Source(path)).report
    assert (report.rows, report.events, report.dropped) == (2000, 1990, {SWALLOWED: 10})
    assert read_attributes(path, ["item"]).people == 1990
    with pytest.raises(
        InvalidInput, match="a row with quoted lines that look like rows in line 1,002, expected a quote"
    ):
        list(read_columns(path, ["item"]))
    path.write_text("".join(f'u{n},i{n},{n},"Dear all,\nyours, A, B, C"\n' for n in range(99)))
    assert read_events(Source(path, header=False, user="1", item="2")).report.dropped == {}


def test_a_quote_closed_far_below_or_in_the_wrong_place_is_found() -> None:
    def read(text: str) -> int:
        return sum(block.rows for block in row_blocks(io.BytesIO(text.encode()).read, COMMA, "it"))

    assert read('a,"b' + "\n" * blocks.LINE_BREAKS + '"\n') == 1
    with pytest.raises(InvalidInput, match=r"in line 2 of it is not closed for more than 20 lines"):
        read('x,y\na,"b' + "\n" * (blocks.LINE_BREAKS + 1) + '"\n')
    with pytest.raises(InvalidInput, match="in line 1 of it is closed lines later, in the middle of a field"):
        read('a,"b\nc,"d"\n')
    assert read('a,"b"c\n5" pipe,d\n') == 2  # no line is lost


def test_lines_that_do_not_fit_are_named_by_their_number(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\nc\nd,e,f\n")
    _, rejects = read_all(path, COMMA)
    assert (
        str(InvalidInput(rejects.summary()))
        == "too few fields: 1, first in line 2, expected 2; too many fields: 1, first in line 3, expected 2"
    )
    assert "'d,e,f'" in InvalidInput(rejects.summary()).with_values()
    path.write_text("a,b\n\nc\n")
    _, rejects = read_all(path, COMMA)
    assert "first in or after line 2" in rejects.summary()


def test_the_thread_that_reads_ahead_ends_with_the_reading() -> None:
    def made() -> Iterator[int]:
        yield from range(100)
        raise InvalidInput("it ends badly")

    def readers() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name.startswith("entropie-reading")]

    def all_ended() -> bool:
        for thread in readers():
            thread.join(5)
        return not readers()

    coming = ahead(made())
    assert next(coming) == 0
    assert len(readers()) == 1
    coming.close()
    assert all_ended()
    with pytest.raises(InvalidInput, match="ends badly"):
        list(ahead(made()))
    assert all_ended()


def test_types_settle_with_the_first_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "LINE_LIMIT_BYTES", 16)
    path = tmp_path / "t.csv"
    path.write_text("1,2\n3,4\n5,6\n" * 20 + "Jane Doe,8\n")
    with HashedFile(path) as opened, pytest.raises(InvalidInput) as caught:
        list(read_text(InputFile(path), opened, COMMA, ["1"], Rejects("it"), ["1"]))
    assert "Column `1` of" in str(caught.value)
    assert "that is no int64, as those before are; make the column one kind" in str(caught.value)
    assert "Jane" not in str(caught.value)
    path.write_text(",2\n,4\n,4\n,4\n,4\nx,6\n")
    with HashedFile(path) as opened:
        table = pa.Table.from_batches(read_text(InputFile(path), opened, COMMA, ["1"], Rejects("it"), ["1"]))
    assert table["1"].to_pylist() == [None] * 5 + ["x"]


def test_a_mark_of_byte_order_that_begins_a_row_is_part_of_it(tmp_path: Path) -> None:
    """Arrow takes it for that of a file, wherever a block begins: a row of it alone was counted and not read."""
    path = tmp_path / "t.csv"
    for rows in ("\ufeffx,1\ny,2\n", "\ufeff\ny,2\n"):
        path.write_text(f"a,b\n{rows}", encoding="utf-8")
        found, rejects = read_all(path, replace(COMMA, skip_lines=1))
        whole = [tuple(row.split(",")) for row in rows.split() if "," in row]
        assert [tuple(row) for row in found] == whole
        assert (rejects.counted, rejects.dirty.total()) == (2, 2 - len(whole))
