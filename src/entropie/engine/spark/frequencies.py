"""Reports counted on Spark: every task counts its share with the local kernels, whole numbers add up.

A task sends its counters in chunks, equal chunks meet and are added, and the driver receives the sums: one counter per
item, 4 bytes each (8 from 2^32 reports on), which is the answer itself. No report reaches it. Sums of whole numbers are
the same in every order, so the counts equal those of one machine for any partitioning.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from entropie.data.columns import codes_of, read_columns
from entropie.data.parquet import DAMAGE, damaged, open_parquet
from entropie.data.rejects import Place
from entropie.data.reports import ID_COLUMN, other_parameters, read_reports, short_id
from entropie.engine.spark.boxes import Box, arriving, gathered, in_order, mapped, opened
from entropie.engine.spark.session import failures
from entropie.errors import EntropieError, InvalidInput, InvalidParameter
from entropie.mechanisms.parameters import counts_for, from_document, to_document

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from entropie.estimation.counts import Counts
    from entropie.mechanisms.mechanism import Mechanism

CHUNK = 1 << 16
"""Counters in one box."""
ROWS_AT_ONCE = 1 << 20
"""Reports counted together: each time costs a pass over all counters."""
_CHUNKS_PER_SUM = 64
_LARGEST_SUM = 256
_PARTS_PER_CORE = 2
_COUNTERS, _REPORTS, _PROBLEM = range(3)
"""What a box holds: a chunk of counters, the number of reports, or the error of a part instead of both."""


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
    return _gathered(chosen, Counting(to_document(mechanism), empty.items), empty, "The DataFrame of reports")


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
    return _gathered(numbers, Counting(to_document(mechanism), empty.items, parts), empty, "The set of files")


def parts_of(path: Path, wanted: int, least_rows: int) -> list[Part]:
    """Cut a Parquet file into about `wanted` runs of row groups, none but the last below `least_rows`."""
    if path.suffix.lower() not in (".parquet", ".pq"):
        return [Part(str(path))]
    with open_parquet(path) as file:
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


def checked_reports(batch: Any, mechanism: Mechanism, rows: Place, source: str) -> Any:
    """The reports of a batch as `mechanism.count` takes them; refused with the sentences of `read_reports`."""
    expected = short_id(mechanism)
    label = batch.column(0)
    for other in pc.unique(label).to_pylist():
        if other != expected:
            raise other_parameters(source, rows.of(label.to_pylist().index(other)), other, expected)
    columns = [
        codes_of(_whole_numbers(batch.column(place)), name, bound, rows)
        for place, (name, bound) in enumerate(mechanism.report_columns.items(), 1)
    ]
    return mechanism.reports_of(tuple(columns))


def _whole_numbers(column: Any) -> Any:
    """Spark has no unsigned 64-bit numbers and reads those of Parquet as decimals without places."""
    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        highest = pc.max(column).as_py()
        return pc.cast(column, pa.uint64() if highest is not None and highest >= 2**63 else pa.int64())
    return column


@dataclass(frozen=True)
class Counting:
    """A task: the reports of a DataFrame's batches, or of the parts whose numbers come in them, counted."""

    document: str
    items: NDArray[np.uint64] | None
    parts: Sequence[Part] | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Box]:
        """Count. An error becomes a box: no task is tried again in vain, and the first part with one is told of."""
        mechanism = from_document(self.document)
        counts = counts_for(mechanism, None, self.items)
        number = 0
        try:
            for place, each in self._sources(batches, mechanism):
                number = place
                for reports in each:
                    mechanism.count(reports, into=counts, threads=1)
        except EntropieError as problem:
            said = str(problem)
            if self.parts is None:  # a partition does not know which row of the table it is at
                said = re.sub(r"in row [\d,]+", "in some row", said)
            yield Box(0, _PROBLEM, number, (type(problem), said))
        else:
            yield from boxes_of(counts)

    def _sources(self, batches: Iterable[pa.RecordBatch], mechanism: Mechanism) -> Iterator[tuple[int, Iterable[Any]]]:
        if self.parts is None:
            yield 0, (checked_reports(batch, mechanism, Place(1), "The DataFrame") for batch in _joined(batches))
            return
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield number, _read(self.parts[number], mechanism)


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
        with open_parquet(path) as file:
            for batch in file.iter_batches(ROWS_AT_ONCE, row_groups=list(part.groups), columns=columns):
                label = pc.cast(batch.column(0), pa.string())
                arrays = [label, *(batch.column(name) for name in columns[1:])]
                whole = pa.RecordBatch.from_arrays(arrays, names=columns)
                yield checked_reports(whole, mechanism, Place(first_row), path.name)
                first_row += batch.num_rows
    except DAMAGE as problem:
        raise damaged(path, problem) from None


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


def _sums(counters: int) -> int:
    """Tasks that add up chunks of so many counters."""
    return min(_LARGEST_SUM, 1 + counters // (CHUNK * _CHUNKS_PER_SUM))


def boxes_of(counts: Counts) -> Iterator[Box]:
    """Counters in boxes; chunks of zeros are left out."""
    if counts.reports:
        yield Box(0, _REPORTS, 0, (np.array([counts.reports]),))
        size = len(counts.counts)
        for begin in range(0, size, CHUNK):
            counters = counts.counts[begin : begin + CHUNK]
            if counters.any():
                yield Box(begin * _sums(size) // size, _COUNTERS, begin // CHUNK, (_narrow(counters),))


def _narrow(counters: NDArray[Any]) -> NDArray[Any]:
    """Counters in 4 bytes each where they fit."""
    return counters.astype(np.uint32) if int(counters.max()) < 2**32 else counters


def add_chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[Box]:
    """Sum the counters of equal chunks in 64 bits; errors pass."""
    for (key, side, part), boxes in itertools.groupby(in_order(opened(batches)), key=lambda box: box[:3]):
        if side == _PROBLEM:
            yield from boxes
        else:
            total = next(boxes).arrays[0].astype(np.int64)
            for box in boxes:
                total += box.arrays[0]
            yield Box(key, side, part, (_narrow(total),))


def merged_counts(boxes: Iterable[Box], empty: Counts, source: str) -> Counts:
    """The counts that summed chunks make, 32 bits wide below 2^32 reports as on one machine; or the error they hold."""
    counters: NDArray[Any] = np.zeros(len(empty.counts), np.uint32)
    reports = 0
    problems: list[Box] = []
    for box in boxes:
        if box.side == _PROBLEM:
            problems.append(box)
        elif box.side == _REPORTS:
            reports = int(box.arrays[0][0])
        else:
            counters = counters.astype(np.result_type(counters, box.arrays[0]), copy=False)
            counters[box.part * CHUNK : (box.part + 1) * CHUNK] = box.arrays[0]
    if problems:
        kind, said = min(problems, key=lambda box: box.part).arrays
        raise kind(said)
    if reports == 0:
        raise InvalidInput(f"{source} has no rows; at least one is needed.")
    empty.add_supports(counters.astype(np.int64) if reports >= 2**32 else counters, reports)
    return empty


def _gathered(rows: DataFrame, count: Counting, empty: Counts, source: str) -> Counts:
    """Count, sum chunks where they meet, and take the sums to the driver one partition after the other."""
    with failures(rows.sparkSession):
        summed = mapped(gathered(mapped(rows, count), _sums(len(empty.counts))), add_chunks)
        return merged_counts(arriving(summed.toLocalIterator()), empty, source)
