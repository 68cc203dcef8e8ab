"""Reports counted on Spark: every task counts its share with the local kernels, whole numbers add up.

A task turns its counters into rows (chunk, counters), Spark brings equal chunks together, and the driver receives their
sum: one counter per item, 4 bytes each (8 from 2^32 reports on), which is the answer itself. No report reaches it.
Sums of whole numbers are the same in every order, so the counts equal those of one machine for any partitioning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from entropie.data.columns import codes_of, read_columns
from entropie.data.reports import ID_COLUMN, read_reports, short_id
from entropie.engine.spark.session import failures
from entropie.errors import EntropieError, InvalidInput, InvalidParameter, ParametersMismatch
from entropie.mechanisms.parameters import counts_for, from_document, to_document

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from entropie.estimation.counts import Counts
    from entropie.mechanisms.mechanism import Mechanism

__all__ = ["count_files", "count_reports", "merged_counts", "parts_of"]

CHUNK = 1 << 12
"""Counters in one row: 10,000 rows, Spark's largest batch, stay below 330 MB even at 8 bytes each."""
ROWS_AT_ONCE = 1 << 20
"""Reports counted together: each time costs a pass over all counters."""
_CHUNKS_AT_ONCE = 256
_CHUNKS_PER_SUM = 1024
_LARGEST_SUM = 256
_PARTS_PER_CORE = 2
_REPORTS = -1
"""The chunk whose one counter is the number of reports."""
_PROBLEM = -2
"""The chunk that holds the error of a part instead of counters."""
_SCHEMA = "chunk long, number long, counters binary"
"""`number` is the bytes of a counter, or the part where an error was found."""
_ERRORS = {kind.__name__: kind for kind in (InvalidInput, InvalidParameter, ParametersMismatch)}


@dataclass(frozen=True, slots=True)
class Part:
    """What one task reads: a file, or some row groups of a Parquet file that begin at row `first_row`."""

    path: str
    groups: tuple[int, ...] | None = None
    first_row: int = 1


def count_reports(
    reports: DataFrame, mechanism: Mechanism, *, items: ArrayLike | None = None, partitions: int | None = None
) -> Counts:
    """Count the reports of a DataFrame with the columns that `obfuscate` writes, for `items` or the whole domain.

    `partitions` is the number of tasks; each sends at most one counter per item, so fewer tasks send less. Reports of
    other parameters, blanks and values outside the domain are refused as on one machine; rows have no numbers here.
    """
    names = list(mechanism.report_columns)
    for name in (ID_COLUMN, *names):
        if reports.columns.count(name) != 1:
            found = ", ".join(reports.columns)
            raise InvalidInput(f"Column `{name}` must be in the DataFrame of reports once; found: {found}.")
    if partitions is not None and partitions < 1:
        raise InvalidParameter.of("partitions", "at least 1", partitions)
    empty = counts_for(mechanism, None, items)
    chosen = reports.select(ID_COLUMN, *names)
    if partitions is not None:
        chosen = chosen.repartition(partitions)
    return _gathered(
        chosen, _counter_of_batches(to_document(mechanism), empty.items), empty, "The DataFrame of reports"
    )


def count_files(
    spark: SparkSession, paths: Sequence[Path], mechanism: Mechanism, *, items: ArrayLike | None = None
) -> Counts:
    """Count files of reports, CSV or Parquet, that driver and workers see under the same path.

    The driver looks at the beginning of each file, so that a wrong name or column is told before anything starts. A
    CSV file is one task, a Parquet file as many as the cluster can use.
    """
    empty = counts_for(mechanism, None, items)
    columns = [ID_COLUMN, *mechanism.report_columns]
    cores = spark.sparkContext.defaultParallelism
    parts: list[Part] = []
    for path in paths:
        next(read_columns(path, columns, [ID_COLUMN]))
        parts += parts_of(path.absolute(), _PARTS_PER_CORE * cores, ROWS_AT_ONCE)
    numbers = spark.range(0, len(parts), 1, len(parts))
    return _gathered(numbers, _counter_of_parts(to_document(mechanism), empty.items, parts), empty, "The set of files")


def parts_of(path: Path, wanted: int, least_rows: int) -> list[Part]:
    """Cut a Parquet file into about `wanted` runs of row groups, none but the last below `least_rows`."""
    if path.suffix.lower() not in (".parquet", ".pq"):
        return [Part(str(path))]
    with pq.ParquetFile(path) as file:
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
    enough = max(least_rows, -(-sum(sizes) // wanted))
    parts: list[Part] = []
    run: list[int] = []
    rows, first_row = 0, 1
    for group, size in enumerate(sizes):
        run.append(group)
        rows += size
        if rows >= enough or group == len(sizes) - 1:
            parts.append(Part(str(path), tuple(run), first_row))
            first_row += rows
            run, rows = [], 0
    return parts


def checked_reports(batch: Any, mechanism: Mechanism, first_row: int, source: str) -> Any:
    """The reports of a batch as `mechanism.count` takes them; refused with the sentences of `read_reports`."""
    expected = short_id(mechanism)
    label = batch.column(0)
    for other in pc.unique(label).to_pylist():
        if other != expected:
            row = first_row + label.to_pylist().index(other)
            raise ParametersMismatch(
                f"Row {row} of {source} was made under parameters {other}, the given document is {expected}; "
                "estimate each set of reports with its own document."
            )
    columns = [
        codes_of(_whole_numbers(batch.column(place)), name, bound, first_row)
        for place, (name, bound) in enumerate(mechanism.report_columns.items(), 1)
    ]
    return mechanism.reports_of(tuple(columns))


def _whole_numbers(column: Any) -> Any:
    """Spark has no unsigned 64-bit numbers and reads those of Parquet as decimals without places."""
    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        highest = pc.max(column).as_py()
        return pc.cast(column, pa.uint64() if highest is not None and highest >= 2**63 else pa.int64())
    return column


Rows = Iterator[pa.RecordBatch]


def _counter_of_batches(document: str, items: NDArray[np.uint64] | None) -> Callable[[Iterable[Any]], Rows]:
    """The task that counts the batches Spark hands it."""

    def task(batches: Iterable[Any]) -> Rows:
        mechanism = from_document(document)
        counts = counts_for(mechanism, None, items)
        try:
            for batch in _joined(batches):
                mechanism.count(checked_reports(batch, mechanism, 1, "the DataFrame"), into=counts, threads=1)
        except EntropieError as problem:
            # a partition does not know which row of the table it is at
            yield _problem(0, type(problem)(re.sub(r"^Row \d+", "A row", str(problem))))
            return
        yield from _rows_of(counts)

    return task


def _counter_of_parts(
    document: str, items: NDArray[np.uint64] | None, parts: Sequence[Part]
) -> Callable[[Iterable[Any]], Rows]:
    """The task that reads the parts whose numbers it is handed, and counts them."""

    def task(batches: Iterable[Any]) -> Rows:
        mechanism = from_document(document)
        counts = counts_for(mechanism, None, items)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                try:
                    for reports in _read(parts[number], mechanism):
                        mechanism.count(reports, into=counts, threads=1)
                except EntropieError as problem:
                    yield _problem(number, problem)
                    return
        yield from _rows_of(counts)

    return task


def _read(part: Part, mechanism: Mechanism) -> Iterator[Any]:
    """The reports of a part, batch by batch."""
    path = Path(part.path)
    if not path.exists():
        raise InvalidInput(f"File {path} is not there on a worker; every worker must see the same path.")
    if part.groups is None:
        yield from read_reports(path, mechanism)
        return
    first_row = part.first_row
    columns = [ID_COLUMN, *mechanism.report_columns]
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS_AT_ONCE, row_groups=list(part.groups), columns=columns):
                label = pc.cast(batch.column(0), pa.string())
                arrays = [label, *(batch.column(name) for name in columns[1:])]
                whole = pa.RecordBatch.from_arrays(arrays, names=columns)
                yield checked_reports(whole, mechanism, first_row, path.name)
                first_row += batch.num_rows
    except (pa.ArrowInvalid, OSError) as problem:
        said = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise InvalidInput(f"File {path} cannot be read to its end: {said}") from None


def _joined(batches: Iterable[Any]) -> Iterator[Any]:
    """Batches of about `ROWS_AT_ONCE` rows: Spark's are short, and each count costs a pass over all counters."""
    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= ROWS_AT_ONCE:
            yield _one_batch(waiting)
            waiting, rows = [], 0
    if rows:
        yield _one_batch(waiting)


def _one_batch(batches: list[Any]) -> Any:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _rows_of(counts: Counts) -> Rows:
    """Counters as rows; chunks of zeros are left out."""
    if counts.reports == 0:
        return
    chunks = [_as_chunk(_REPORTS, np.array([counts.reports], np.int64))]
    for number, begin in enumerate(range(0, len(counts.counts), CHUNK)):
        counters = counts.counts[begin : begin + CHUNK]
        if counters.any():
            chunks.append(_as_chunk(number, counters))
        if len(chunks) >= _CHUNKS_AT_ONCE:
            yield _batch(chunks)
            chunks = []
    if chunks:
        yield _batch(chunks)


def _as_chunk(number: int, counters: NDArray[np.uint32] | NDArray[np.int64]) -> tuple[int, int, bytes]:
    """Counters as bytes, 4 each where they fit; the driver and all workers must have the same order of bytes."""
    if counters.dtype == np.int64 and int(counters.max()) < 2**32:
        counters = counters.astype(np.uint32)
    return number, counters.itemsize, counters.tobytes()


def _as_counters(width: int, counters: bytes) -> NDArray[np.uint32] | NDArray[np.int64]:
    return np.frombuffer(counters, np.uint32) if width == 4 else np.frombuffer(counters, np.int64)


def _problem(part: int, problem: EntropieError) -> pa.RecordBatch:
    """An error as a row: no task is tried again in vain, and the first part with one decides what is said."""
    return _batch([(_PROBLEM, part, f"{type(problem).__name__} {problem}".encode())])


def _batch(rows: Sequence[tuple[int, int, bytes]]) -> pa.RecordBatch:
    chunks, numbers, counters = zip(*rows, strict=True)
    arrays = [pa.array(chunks, pa.int64()), pa.array(numbers, pa.int64()), pa.array(counters, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, names=["chunk", "number", "counters"])


def add_chunks(batches: Iterable[Any]) -> Rows:
    """Sum the counters of equal chunks in 64 bits; errors pass."""
    sums: dict[int, NDArray[np.int64]] = {}
    for batch in batches:
        for chunk, number, counters in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if chunk == _PROBLEM:
                yield _batch([(chunk, number, counters)])
            elif chunk in sums:
                sums[chunk] += _as_counters(number, counters)
            else:
                sums[chunk] = _as_counters(number, counters).astype(np.int64)
    while sums:
        yield _batch([_as_chunk(*sums.popitem()) for _ in range(min(len(sums), _CHUNKS_AT_ONCE))])


def merged_counts(rows: Iterable[tuple[int, int, bytes]], empty: Counts, source: str) -> Counts:
    """The counts that summed chunks make, 32 bits wide below 2^32 reports as on one machine; or the error they hold."""
    counters: NDArray[np.uint32] | NDArray[np.int64] = np.zeros(len(empty.counts), np.uint32)
    reports = 0
    problems: list[tuple[int, str]] = []
    for chunk, number, content in rows:
        if chunk == _PROBLEM:
            problems.append((number, bytes(content).decode()))
        elif chunk == _REPORTS:
            reports = int(_as_counters(number, content)[0])
        else:
            if number == 8 and counters.dtype == np.uint32:
                counters = counters.astype(np.int64)
            counters[chunk * CHUNK : (chunk + 1) * CHUNK] = _as_counters(number, content)
    if problems:
        kind, sentence = min(problems)[1].split(" ", 1)
        raise _ERRORS[kind](sentence)
    if reports == 0:
        raise InvalidInput(f"{source} has no rows; at least one is needed.")
    empty.add_supports(counters.astype(np.int64) if reports >= 2**32 else counters, reports)
    return empty


def _gathered(rows: DataFrame, count: Callable[[Iterable[Any]], Rows], empty: Counts, source: str) -> Counts:
    """Count, sum chunks where they meet, and take the sums to the driver one partition after the other."""
    chunks = -(-len(empty.counts) // CHUNK)
    partitions = min(_LARGEST_SUM, 1 + chunks // _CHUNKS_PER_SUM)
    with failures(rows.sparkSession):
        counted = rows.mapInArrow(count, _SCHEMA)
        summed = counted.repartition(partitions, "chunk").mapInArrow(add_chunks, _SCHEMA)
        received = ((row.chunk, row.number, row.counters) for row in summed.toLocalIterator())
        return merged_counts(received, empty, source)
