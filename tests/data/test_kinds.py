"""Columns of every type that Arrow has, in every part a column can play: an answer or a sentence, nothing else."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropie.cli.main import run
from entropie.data.columns import Dictionary, codes_of, read_columns
from entropie.data.event_columns import category_labels, numbers, read_event_columns
from entropie.data.events import read_events
from entropie.errors import EntropieError
from entropie.request import Request, Source
from entropie.table import attributes

ROWS = 6
BASE = [1, 2, 1, 2, 3, 3]
TEXTS = ["a", "b", "a", "b", "c", None]
NUMBERS = (
    *(pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.float16(), pa.float64(), pa.date32(), pa.time64("us")),
    *(pa.timestamp("s"), pa.timestamp("ns", "Europe/Paris"), pa.duration("us")),
)
LETTERS = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())


def every_kind() -> dict[str, pa.Array]:
    """A column of each type."""
    kinds = {str(kind): pa.array(BASE, kind) for kind in NUMBERS}
    for kind in LETTERS:
        plain = TEXTS if "string" in str(kind) else [None if text is None else text.encode() for text in TEXTS]
        kinds[str(kind)] = pa.array(plain, kind)
    kinds |= {
        f"dictionary of {name}": kinds[name].dictionary_encode()
        for name in ("string", "large_string", "int64", "timestamp[s]", "double", "binary")
    }
    places = [np.arange(ROWS + 1, dtype=size).tobytes() for size in ("i4", "i8")]
    bad = [
        pa.Array.from_buffers(kind, ROWS, [None, pa.py_buffer(ends), pa.py_buffer(b"\xff" * ROWS)])
        for kind, ends in zip((pa.string(), pa.large_string()), places, strict=True)
    ]
    return kinds | {
        "fixed bytes": pa.array([b"a", b"b", b"a", b"b", b"c", None], pa.binary(1)),
        "truth": pa.array([True, False, None, True, False, True]),
        "null": pa.nulls(ROWS),
        "decimal": pa.array([decimal.Decimal(number) for number in BASE], pa.decimal256(50, 2)),
        "list": pa.array([["a"], ["b"], None, [], ["a"], ["c"]]),
        "fixed list": pa.array([[1, 2]] * ROWS, pa.list_(pa.int8(), 2)),
        "list view": pa.array([[1]] * ROWS, pa.list_view(pa.int64())),
        "struct": pa.array([{"a": 1}] * ROWS),
        "map": pa.array([[("a", 1)]] * ROWS, pa.map_(pa.string(), pa.int64())),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([3, 6]), pa.array(["a", "b"])),
        "uuid": pa.array([bytes(16)] * ROWS, pa.uuid()),
        "interval": pa.array([pa.MonthDayNano([1, 2, 3])] * ROWS),
        "not UTF-8": bad[0],
        "not UTF-8 and large": bad[1],
    }


KINDS = every_kind()


def further(source: Any) -> None:
    column = read_event_columns(Source(source), ["x"]).columns["x"]
    category_labels(column)
    numbers(column)


JOBS: dict[str, Callable[[Any], object]] = {
    "further column": further,
    "attribute": lambda source: attributes(source, columns=["x", "user"]),
    "bands": lambda source: attributes(source, columns=["x", "user"], bins={"x": 2}),
    "person": lambda source: attributes(source, columns=["user", "item"], id_column="x"),
    "codes": lambda source: [codes_of(batch.column(0), "x", 9, place) for batch, place in read_columns(source, ["x"])],
    "names": lambda source: Dictionary.collect(source, "x"),
}


def sources(table: pa.Table, path: Path) -> list[Any]:
    """A table in memory, and in a file where Parquet can hold it."""
    try:
        pq.write_table(table, path)
    except pa.ArrowException:
        return [table]
    return [table, path]


def tried(job: Callable[[], object]) -> None:
    try:
        job()
    except EntropieError as error:
        assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize("kind", KINDS)
def test_events(tmp_path: Path, kind: str) -> None:
    for role in ("user", "item", "time", "rating"):
        columns = {name: pa.array(BASE) for name in ("user", "item", "time", "rating")} | {role: KINDS[kind]}
        options = {"max_dirty_share": 1.0} | ({"min_rating": 0.5} if role == "rating" else {})
        for source in sources(pa.table(columns), tmp_path / "t.parquet"):
            job = Request.of(source, options)
            tried(lambda job=job: read_events(job.source, job.run))


@pytest.mark.parametrize("kind", KINDS)
def test_other_tables(tmp_path: Path, kind: str) -> None:
    table = pa.table({"user": BASE, "item": BASE, "x": KINDS[kind]})
    for source in sources(table, tmp_path / "t.parquet"):
        for job in JOBS.values():
            tried(lambda job=job, source=source: job(source))


@pytest.mark.parametrize("kind", KINDS)
def test_reports(tmp_path: Path, kind: str) -> None:
    if len(sources(pa.table({"code": BASE, "x": KINDS[kind]}), tmp_path / "t.parquet")) == 1:
        return  # Parquet has no such type
    for out in ("csv", "parquet"):
        words = ["obfuscate", str(tmp_path / "t.parquet"), "--mechanism", "rr", "--epsilon", "2"]
        words += ["--out", str(tmp_path / f"kept.{out}"), "--column", "code", "--domain", "9", "--keep", "x"]
        assert run(words) in (0, 2)
