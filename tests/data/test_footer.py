"""The footer of a Parquet file as the program reads it, against Arrow's reading and against damage."""

from __future__ import annotations

import datetime
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import entropie
from entropie.data.footer import chunks_of
from entropie.errors import InvalidInput

ROWS = 3000


def table() -> pa.Table:
    n = np.arange(ROWS)
    return pa.table(
        {
            "user": [f"u{i % 97}" for i in n],
            "item": pa.array([f"place {i % 7}" for i in n]).dictionary_encode(),
            "time": pa.array(n * 3600, pa.timestamp("s")),
            "truth": pa.array(n % 2 == 0),
            "share": n / ROWS,
            "none": pa.nulls(ROWS, pa.string()),
            "nested": [{"a": int(i), "b": [str(i), "x"]} for i in n],
            "day": [datetime.date(2024, 1, 1)] * ROWS,
        }
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_dictionary": False, "compression": "zstd", "row_group_size": 100},
        {"version": "1.0", "write_statistics": False, "row_group_size": 1000},
        {"use_dictionary": False, "column_encoding": {"user": "DELTA_BYTE_ARRAY", "share": "BYTE_STREAM_SPLIT"}},
        {"write_page_index": True, "write_page_checksum": True, "store_schema": False, "row_group_size": 999},
        {"sorting_columns": [pq.SortingColumn(0)], "data_page_version": "2.0"},
    ],
)
def test_the_footer_says_what_arrow_reads_in_it(tmp_path: Path, options: dict[str, object]) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(table(), path, **options)
    with pq.ParquetFile(path) as source:
        wide = len(source.schema.names)
        found = chunks_of(path, frozenset(range(wide)))
        assert len(found) == source.metadata.num_row_groups
        for group, chunks in enumerate(found):
            assert len(chunks) == wide
            for chunk in chunks:
                said = source.metadata.row_group(group).column(chunk.column)
                assert chunk.text == (said.physical_type == "BYTE_ARRAY")
                assert (chunk.values, chunk.unpacked) == (said.num_values, said.total_uncompressed_size)
                assert chunk.dictionary == said.has_dictionary_page
                assert chunk.prefixed == ("DELTA_BYTE_ARRAY" in said.encodings)
        some = chunks_of(path, frozenset({1, 4}))
        assert some == [[chunk for chunk in chunks if chunk.column in (1, 4)] for chunks in found]


def contradictory(path: Path) -> None:
    """Write a file one of whose histograms of sizes has one entry where its column has two."""
    pq.write_table(pa.table({"user": [f"u{i % 9}" for i in range(ROWS)], "item": ["a"] * ROWS}), path)
    data = path.read_bytes()
    two = b"\x26\x00\xf0\x2e"  # a list of two numbers: 0 rows and 3,000 rows
    assert data.count(two) >= 2, "Arrow writes size statistics"
    path.write_bytes(data.replace(two, b"\x16\x80\xf0\x2e"))


def test_statistics_that_contradict_the_type(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    contradictory(path)
    look = f"import pyarrow.parquet as p; p.ParquetFile({str(path)!r}).metadata.row_group(0).column(0)"
    assert subprocess.run([sys.executable, "-c", look], capture_output=True, check=False).returncode < 0, "Arrow aborts"
    with pytest.raises(InvalidInput, match="damaged"):
        entropie.assess(path)


def test_no_damage_of_a_footer_is_anything_but_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(table(), path, row_group_size=1500)
    whole = path.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little")
    drawn = np.random.default_rng(5)
    refused = 0
    for trial in range(600):
        data = bytearray(whole[-8 - footer :])
        for place in drawn.integers(0, footer, 1 + trial % 4):
            data[place] = drawn.integers(256)
        if trial % 3 == 0:
            del data[: drawn.integers(1, footer)]
            data[-8:-4] = (len(data) - 8).to_bytes(4, "little")
        damaged = tmp_path / f"{trial}.parquet"
        damaged.write_bytes(data)
        try:
            chunks_of(damaged, frozenset({0, 2}))
        except pa.ArrowInvalid:
            refused += 1
        damaged.unlink()
    assert refused > 150


@pytest.mark.parametrize("nested", [b"\x1c", b"\x19\x1c", b"\x1b\x01\x5c\x00", b"\x19\x19"])
def test_a_footer_without_a_bottom(tmp_path: Path, nested: bytes) -> None:
    path = tmp_path / "t.parquet"
    data = nested * 100_000
    path.write_bytes(data + len(data).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(pa.ArrowInvalid):
        chunks_of(path, frozenset({0}))


def test_lists_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    for of in range(16):
        data = bytes([0x19, 0xF0 | of]) + b"\xff" * 8 + b"\x7f" + b"\x00" * 50
        path.write_bytes(data + len(data).to_bytes(4, "little") + b"PAR1")
        with pytest.raises(pa.ArrowInvalid):
            chunks_of(path, frozenset({0}))
