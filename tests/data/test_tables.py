"""One reader of tables: whatever the format, the delimiter or the packing, every command reads the same rows."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropie.data.columns import Dictionary, read_columns
from entropie.data.events import read_events
from entropie.data.roles import Header, missing_column
from entropie.data.tables import open_table
from entropie.errors import InvalidInput, InvalidParameter
from entropie.mitigate.attribute_table import read_attributes
from entropie.request import Source

ROWS = [("anna", "3", "museum"), ("bert", "1", "café"), ("anna", "2", "a b"), ("carl", "1", "zoo")]


def text(delimiter: str) -> bytes:
    return "\n".join(delimiter.join(row) for row in [("user", "code", "item"), *ROWS]).encode() + b"\n"


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


FORMATS: dict[str, Callable[[], bytes]] = {
    "t.csv": lambda: text(","),
    "t.tsv": lambda: text("\t"),
    "semicolon.csv": lambda: text(";"),
    "bar.txt": lambda: text("|"),
    "colons.dat": lambda: text("::"),
    "t.csv.gz": lambda: gzip.compress(text(",")),
    "t.tsv.zst": lambda: zstd(text("\t")),
    "t.csv.bz2": lambda: bz2.compress(text(";")),
    "named.by.nothing": lambda: bz2.compress(text("|")),
    "quoted.csv": lambda: (
        b'"user","code","item"\n' + b"".join(b'"%s","%s","%s"\n' % tuple(f.encode() for f in row) for row in ROWS)
    ),
}


def written(tmp_path: Path, name: str) -> Path:
    path = tmp_path / name
    if name.endswith(".parquet"):
        columns = dict(zip(("user", "code", "item"), map(list, zip(*ROWS, strict=True)), strict=True))
        pq.write_table(pa.table({**columns, "code": [int(code) for code in columns["code"]]}), path)
    else:
        path.write_bytes(FORMATS[name]())
    return path


@pytest.mark.parametrize("name", [*FORMATS, "t.parquet"])
def test_every_format_for_every_command(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name)
    for source in (path, str(path), tmp_path / "t*" if name.startswith("t.") else path):
        batches = [batch for batch, _ in read_columns(source, ["item", "code"], ["item"])]
        assert [row["item"] for batch in batches for row in batch.to_pylist()] == [row[2] for row in ROWS]
        assert [row["code"] for batch in batches for row in batch.to_pylist()] == [int(row[1]) for row in ROWS]
    if not name.startswith("named"):
        assert open_table(tmp_path).columns == ("user", "code", "item")  # a folder
    assert Dictionary.collect(path, "item").names.to_pylist() == ["a b", "café", "museum", "zoo"]
    read = read_events(Source(path, user="user", item="item")).traces
    assert (read.users, read.events, read.domain_size) == (3, 4, 4)
    people = read_attributes(path, ["item", "code"])
    assert people.people == 4
    assert [column.exact_size for column in people.columns] == [4, 3]
    assert people.sha256 == read_events(Source(path)).report.sha256


def test_one_column_is_a_table_where_no_event_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("item\nDrama|Comedy\nzoo\n")
    ((batch, _),) = read_columns(path, ["item"], ["item"])
    assert batch.column(0).to_pylist() == ["Drama|Comedy", "zoo"]
    with pytest.raises(InvalidInput, match="has one column; events need a user and an item"):
        read_events(Source(path))


def test_kept_columns_have_the_types_they_look_like(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n1,x,2.5\n2,,\n")
    ((batch, _),) = read_columns(path, ["c", "a", "b"], ["b"])
    assert batch.schema.types == [pa.float64(), pa.int64(), pa.string()]
    assert batch.to_pylist() == [{"c": 2.5, "a": 1, "b": "x"}, {"c": None, "a": 2, "b": None}]
    ((batch, _),) = read_columns(pa.table({"a": [7], "b": ["x"]}), ["b", "a"], ["a"])
    assert batch.to_pylist() == [{"b": "x", "a": "7"}]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty; a table needs a header and at least one row"),
        (b"a,b\n", "has no rows; at least one is needed"),
        (b"a,b\n1,2\n3\n", "has a row with too few fields in line 3, expected 2; mend it"),
        (b"a,b\n1,2\n3,4,5\n", "has a row with too many fields"),
        (b"a,b\n\xff,2\n", "Column `a` of .* holds text that is not UTF-8, first in line 2; save"),
        (b"a,a\n1,2\n", "Column `a` appears more than once in .*; give it one name"),
        (b"code,kind\n1,2\n", "Column `a` is missing from .*; found: code, kind"),
        (b"Jane,HIV\n1,2\n", "Column `a` is missing from .*; found: 2 columns, not listed because the first line may"),
        (bz2.compress(b"a,b\n1,2\n")[:-9], "bz2 stream"),
        (b"PK\x03\x04 zipped", "is a zip archive"),
    ],
)
def test_what_is_no_table_for_every_row_counts(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=said) as caught:
        list(read_columns(path, ["a"], ["a"]))
    assert "\n" not in str(caught.value)


def test_what_is_no_source() -> None:
    with pytest.raises(InvalidParameter, match="a path or an object with __arrow_c_stream__, got 'int'"):
        open_table(7)


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("usr", "user"),
        ("User", "user"),
        ("USER_ID", "user"),
        ("movie", None),
        ("tiem", "time"),
        ("venue id", "venueId"),
        ("x", None),
    ],
)
def test_near_misses(wanted: str, meant: str | None) -> None:
    said = missing_column(wanted, Header("events.csv", ("user", "venueId", "time")))
    listed = "ound: user, venueId, time."
    hint = f"; did you mean `{meant}`? F{listed}" if meant else f"; f{listed}"
    assert said == f"Column `{wanted}` is missing from events.csv{hint}"


def test_near_misses_wherever_events_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text(","))
    with pytest.raises(InvalidInput) as caught:
        read_events(Source(path, user="usr"))
    found = "Found: user, code, item. Name it with"
    assert str(caught.value) == f"Column `usr` is missing from {path}; did you mean `user`? {found} `user=`."
    assert caught.value.on_command_line(lambda name: f"--{name}").endswith("Name it with --user.")
