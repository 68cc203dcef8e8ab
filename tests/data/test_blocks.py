"""Text cut into blocks of rows: every row is in one block, counted as another reader counts it, whatever is cut where."""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entropie.data import blocks
from entropie.data.blocks import ahead, clean, exact_rows, row_blocks
from entropie.data.dialect import Dialect
from entropie.data.events import read_events
from entropie.data.files import HashedFile, InputFile
from entropie.data.rejects import Rejects
from entropie.data.text import read_text
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

    def readers() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("entropie-reading")]

    coming = ahead(made())
    assert next(coming) == 0
    assert len(readers()) == 1
    coming.close()
    assert readers() == []
    with pytest.raises(InvalidInput, match="ends badly"):
        list(ahead(made()))
    assert readers() == []


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
