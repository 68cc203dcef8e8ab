"""Small files that unfold to much: reading stops with a sentence at the memory allowed, whatever the format."""

from __future__ import annotations

import bz2
import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropie.data.budget import Budget, machine_bytes
from entropie.data.columns import Dictionary, read_columns
from entropie.data.event_columns import read_event_columns
from entropie.data.events import read_events
from entropie.data.matrices import read_matrix
from entropie.data.parquet import batch_rows
from entropie.data.reports import load_counts
from entropie.errors import InputTooLarge, InvalidInput
from entropie.request import Run, Source
from entropie.table import attributes

ROWS = 60_000
LINES = b"user,item,time,note\n" + b"".join(b"u%d,i,%d,n%d\n" % (n, n, n) for n in range(ROWS))
SMALL = Run(memory=10**6)


@pytest.fixture(autouse=True)
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow less than a real run always may take, so that files stay small."""
    monkeypatch.setattr("entropie.data.budget.LEAST_BYTES", 0)


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


@pytest.mark.parametrize("packed", [gzip.compress, bz2.compress, zstd, bytes], ids=["gzip", "bz2", "zstd", "plain"])
def test_text(tmp_path: Path, packed: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(packed(LINES))
    jobs: list[Callable[[int], object]] = [
        lambda memory: read_events(Source(path), Run(memory=memory)),
        lambda memory: read_event_columns(Source(path), ["note"], Run(memory=memory)),
        lambda memory: attributes(path, columns=["user"], memory=memory, max_set=1),
        lambda memory: Dictionary.collect(path, "user", memory=memory),
    ]
    for job in jobs:
        with pytest.raises(InputTooLarge) as caught:
            job(10**6)
        said = f"{path} takes more memory than the 1\N{NO-BREAK SPACE}MB allowed for it; allow more with `memory=`, "
        assert str(caught.value) == said + "or read fewer rows or columns."
        job(10**9)


@pytest.mark.parametrize("packed", [gzip.compress, bz2.compress, zstd], ids=["gzip", "bz2", "zstd"])
def test_a_file_packed_in_parts_is_read_to_its_end(tmp_path: Path, packed: Callable[[bytes], bytes]) -> None:
    """As `cat a.gz b.gz` and packers with several threads make them: no row of a later part vanishes."""
    path, half = tmp_path / "t.csv", LINES.index(b"\n", len(LINES) // 2) + 1
    first, last = packed(LINES[:half]), packed(LINES[half:])
    path.write_bytes(first + last)
    assert read_events(Source(path)).report.rows == ROWS
    bad = [first + last[:-20], first + last + b"garbage", packed(first + last)]
    if packed is bz2.compress:
        bad.append(first + packed(b"") + last)  # a part without anything is more than its reader takes
    for damage in bad:
        path.write_bytes(damage)
        with pytest.raises(InvalidInput, match=r"cut off|cannot be unpacked|control bytes"):
            read_events(Source(path))


def test_a_dictionary_file(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(b"code,item\n" + b"".join(b"%d,i%d\n" % (n, n) for n in range(ROWS)))
    with pytest.raises(InputTooLarge):
        Dictionary.load(path, 10**6)
    assert len(Dictionary.load(path, 10**9)) == ROWS


def test_parquet_that_says_how_many_rows_it_has(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"user": pa.array([1]).take(pa.array([0] * ROWS)), "item": [2] * ROWS}), path)
    assert path.stat().st_size < 2000
    read: list[float] = []
    with pytest.raises(InputTooLarge):
        read_events(Source(path), Run(memory=10**6, progress=lambda stage, share: read.append(share)))
    assert max(read) == 0.0, "refused before anything is decoded"


@pytest.mark.parametrize("encoding", ["dictionary", "DELTA_BYTE_ARRAY", "PLAIN"])
def test_long_texts_that_every_row_repeats(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "t.parquet"
    longest, rows = 100_000, 3000
    names = pa.array(["x" * longest]).take(pa.array([0] * rows))
    own = {"use_dictionary": True} if encoding == "dictionary" else {"column_encoding": {"user": encoding}}
    table = pa.table({"user": names, "item": [2] * rows})
    pq.write_table(table, path, compression="zstd", **({"use_dictionary": False} | own))
    assert path.stat().st_size < 300_000
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    budget = Budget("it", 1 << 28)
    if encoding == "PLAIN":  # the page itself unfolds to 300 MB, and says so
        with pytest.raises(InputTooLarge):
            list(read_columns_with(path, budget))
        return
    for batch in read_columns_with(path, budget):
        assert batch.nbytes < 1 << 28
        assert pool.bytes_allocated() - before < 1 << 29
    if encoding == "dictionary":  # a batch is held several times: it is a small part of what is allowed
        with pq.ParquetFile(path) as source:
            few = batch_rows(path, source, [0], ["user"], Budget("it", 1 << 26))
            assert 1 <= few < batch_rows(path, source, [0], ["user"], budget)
        assert few * longest <= (1 << 26) / 16


def read_columns_with(path: Path, budget: Budget) -> list[pa.RecordBatch]:
    with pq.ParquetFile(path) as source:
        groups = list(range(source.metadata.num_row_groups))
        rows = batch_rows(path, source, groups, ["user"], budget)
        return [batch.slice(0, 1) for batch in source.iter_batches(rows, columns=["user"])]


def test_counts_in_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    np.savez_compressed(path, counts=np.zeros(10**6))
    assert path.stat().st_size < 20_000
    with pytest.raises(InputTooLarge):
        load_counts(path, 10**6)
    with pytest.raises(InvalidInput, match="damaged"):
        load_counts(path)


def test_columns_without_end(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    wide = 20_000
    path.write_text(",".join(f"c{n}" for n in range(wide)) + "\n" + ",".join(["1"] * wide) + "\n")
    ((batch, _),) = read_columns(path, ["c19999"])
    assert batch.to_pylist() == [{"c19999": 1}]
    with pytest.raises(InvalidInput) as caught:
        list(read_columns(path, ["nope"]))
    assert len(str(caught.value)) < 500


def test_one_line_without_end(tmp_path: Path) -> None:
    path = tmp_path / "line.csv.gz"
    path.write_bytes(gzip.compress(b"user,item\n" + b"a,b\n" * 70_000 + b"x" * (6 << 20)))
    tracemalloc.start()
    with pytest.raises(InvalidInput, match=r"Line 70,002 of .* is longer than 4 MiB"):
        read_events(Source(path))
    assert tracemalloc.get_traced_memory()[1] < 60 << 20
    tracemalloc.stop()


def test_the_limit_is_a_share_of_the_machine_unless_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert Budget("it").limit == machine_bytes() // 2
    assert Budget("it", 5).limit == 5
    (tmp_path / "max").write_text("max\n")
    (tmp_path / "limit").write_text("123456789\n")
    monkeypatch.setattr("entropie.data.budget._LIMITS", (str(tmp_path / "max"), str(tmp_path / "none")))
    free = machine_bytes()
    monkeypatch.setattr("entropie.data.budget._LIMITS", (str(tmp_path / "max"), str(tmp_path / "limit")))
    assert machine_bytes() == 123456789 < free


@pytest.mark.parametrize("name", ["m.npz", "m.npy"])
def test_a_packed_matrix_is_refused_by_what_it_says_whatever_its_name(name, tmp_path):
    path = tmp_path / name
    with path.open("wb") as handle:
        np.savez_compressed(handle, matrix=np.zeros((3_000, 3_000)))
    assert path.stat().st_size < 1e6
    with pytest.raises(InputTooLarge, match="takes more memory than"):
        read_matrix(path, memory=1)
