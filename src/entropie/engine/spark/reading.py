"""Tables as Spark sees them: every row judged where it is read, with the code that judges it on one machine."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.arrow import from_numpy, values_of
from entropie.data.classify import classify_rows
from entropie.data.events import Opened, open_events, recognise_times
from entropie.data.rejects import Rejects
from entropie.data.rules import Rules, tally
from entropie.data.tables import ArrowTable, Batches, Chosen, FileTable, Piece, normal_batch, normal_schema
from entropie.data.time_options import check_settled
from entropie.data.times import TimeFormat
from entropie.engine.spark.boxes import Box, mapped
from entropie.engine.spark.people import ACCOUNT, DIGEST, FILE_BITS, dealt
from entropie.engine.spark.session import SAME_PATH, failures
from entropie.errors import InvalidInput, InvalidParameter
from entropie.request import Source

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

_PART_BYTES = (1 << 20, 1 << 25)  # a part is no smaller, and if it can be cut no larger
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_NOT_PARQUET = re.compile(r"\.(csv|tsv|txt|dat|data|json|orc|avro|plt)(\.\w+)?/?$|\.(gz|zst|bz2|zip)$", re.IGNORECASE)
_TIME_SAMPLE_ROWS = 2000
_ENDLESS, _UNKNOWN_BYTES = 1 << 50, 1 << 30  # what Spark says where it knows nothing, and what is taken for it
_EVENTS_AT_ONCE = (1 << 18, 1 << 21)  # sent to all homes together, least and most
_EVENTS_PER_BOX = 1 << 11


@dataclass(frozen=True, slots=True)
class Rows:
    """A table whose rows are judged where they are read.

    boxes   events by home (`dealt`), accounts of what cannot be used, and digests of files
    homes   how many partitions people are brought to
    """

    opened: Opened
    time: TimeFormat | None
    boxes: DataFrame
    homes: int


@dataclass(frozen=True, slots=True)
class Account:
    """How many rows a part has, and what of them cannot be used.

    dirty      lines that cannot be cut into fields, by reason
    excluded   lines that reading leaves out by a rule
    judged     rows, by the code of the reason
    first      where the first row of a reason is
    """

    counted: int
    dirty: dict[str, int]
    excluded: dict[str, int]
    judged: dict[int, int]
    first: dict[str, str]


def open_rows(spark: SparkSession, source: Source) -> Rows:
    """Open a path that the workers see too, a Parquet address with a scheme, or a DataFrame of Spark.

    `source.order` names a column of a DataFrame that says the order of rows of equal time. Without it that is the order
    in the Parquet files the rows come from, and else whatever order Spark has them in, which may be another next time.
    """
    if isinstance(source.events, str) and source.events == "-":
        raise InvalidParameter.of("events", "files or a DataFrame on a cluster", "standard input")
    frame = _frame(spark, source.events)
    if frame is None:
        if source.order is not None:
            raise InvalidParameter.of("order", "left out for a path, whose rows have an order", source.order)
        return _from_files(spark, open_events(source))
    for name in ("preset", "grid", "cells", "header"):
        if getattr(source, name) is not None:
            rule = "left out for a DataFrame or a path with a scheme"
            raise InvalidParameter.of(name, rule, getattr(source, name))
    table = _columns_of(frame, source.events if isinstance(source.events, str) else "the DataFrame")
    return _from_frame(open_events(source, table), frame, source.order)


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at once, or Spark's own guess of it."""
    try:
        return max(1, int(spark.sparkContext.defaultParallelism))
    except Exception:  # a session over Spark Connect has no context
        return 8


def plan_parts(pieces: Sequence[Piece], wanted: int) -> list[tuple[Piece, ...]]:
    """Cut what there is to read into about `wanted` parts of about equal size, in row order.

    Neighbouring row groups of a file become one piece; a piece is never cut.
    """
    least, most = _PART_BYTES
    target = min(most, max(least, sum(piece.size for piece in pieces) // max(1, wanted)))
    parts: list[list[Piece]] = []
    size = 0
    for piece in pieces:
        if not parts or size + piece.size > target:
            parts.append([])
            size = 0
        size += piece.size
        last = parts[-1][-1] if parts[-1] else None
        if last and last.file == piece.file and last.groups is not None and piece.groups is not None:
            joined = Piece(last.file, last.size + piece.size, (*last.groups, *piece.groups), last.first_row)
            parts[-1][-1] = joined
        else:
            parts[-1].append(piece)
    return [tuple(part) for part in parts]


def _frame(spark: SparkSession, source: object) -> DataFrame | None:
    """The source as a DataFrame, if Spark is to read it; None for a path that we read ourselves."""
    if hasattr(source, "mapInArrow"):
        return cast("DataFrame", source)
    text = os.fspath(source) if isinstance(source, os.PathLike) else source
    if not isinstance(text, str):
        kind = type(source).__name__
        raise InvalidParameter.of("source", "a path or a DataFrame of Spark", kind)
    if not _SCHEME.match(text):
        return None
    remedy = "read it with Spark and pass the DataFrame, or save it as Parquet"
    if _NOT_PARQUET.search(text):
        raise InvalidInput(f"{text} has a scheme and is not Parquet; {remedy}.")
    with failures(spark):
        from pyspark.errors import AnalysisException

        try:
            return spark.read.parquet(text)
        except AnalysisException as error:
            said = str(error).splitlines()[0][:200]
            raise InvalidInput(f"{text} cannot be read as Parquet ({said}); {remedy}.") from None


def _from_files(spark: SparkSession, opened: Opened) -> Rows:
    if not hasattr(opened.table, "pieces"):
        raise InvalidParameter.of("source", "a path or a DataFrame of Spark", opened.table.name)
    table = cast(FileTable, opened.table)
    chosen = dict(opened.chosen)
    rejects = Rejects(table.name)
    with closing(_first_batches(table, chosen, rejects)) as batches:
        time = recognise_times(opened, batches, rejects)[0]
    check_settled(time, chosen.get("time"), table.name)
    wanted = 4 * parallelism(spark)
    files = table.pieces(fine=False)
    homes = _homes(sum(file.size for file in files), wanted)
    parts = plan_parts(table.pieces(fine=True), wanted)
    digests = plan_parts(files, wanted)
    job = _ReadParts(table, chosen, opened.rules(time), parts, digests, homes, patient=len(files) > 1)
    tasks = len(parts) + len(digests)
    with failures(spark):
        boxes = mapped(spark.range(0, tasks, 1, tasks), job)
    return Rows(opened, time, boxes, homes)


def _from_frame(opened: Opened, frame: DataFrame, order: str | None) -> Rows:
    spark = frame.sparkSession
    chosen = dict(opened.chosen)
    with failures(spark):
        from pyspark.sql import functions as sf

        columns: dict[str, Column] = {role: sf.col(f"`{column}`") for role, column in chosen.items()}
        if order is not None:
            kind = dict(frame.dtypes).get(order)
            if kind not in ("tinyint", "smallint", "int", "bigint", "timestamp", "timestamp_ntz", "date"):
                rule = "a column of the DataFrame with whole numbers or timestamps"
                raise InvalidParameter.of("order", rule, f"{order} ({kind or 'missing'})")
            place = sf.col(f"`{order}`")
            if not kind.endswith("int"):
                place = sf.unix_micros(place.cast("timestamp"))
            columns |= {"order": place.cast("bigint")}
        elif _has_row_numbers(frame):
            columns |= {"order": sf.col("_metadata.row_index"), "file": sf.col("_metadata.file_path")}
        elif "time" in chosen:
            columns |= {"order": sf.monotonically_increasing_id()}
        else:
            rule = "given, the name of a column that says the order of rows, where there is no time"
            raise InvalidParameter.of("order", rule, None)
        picked = frame.select([column.alias(name) for name, column in columns.items()])
        time = _recognised(opened, frame)
        schema = normal_schema(opened.table, chosen)
        homes = _homes(_size_of(picked), 4 * parallelism(spark))
        job = _JudgeRows(opened.table.name, chosen, schema, opened.rules(time), homes)
        boxes = mapped(picked, job)
    return Rows(opened, time, boxes, homes)


def _homes(size: int, wanted: int) -> int:
    """Partitions for so many bytes: as many as are wanted, fewer if they would be tiny, more if they would be large."""
    least, most = _PART_BYTES
    return min(1 << 16, max(1, min(wanted, size // least), size // most))


def _size_of(frame: DataFrame) -> int:
    """The bytes of a DataFrame as Spark estimates them; a guess where it has no estimate."""
    java: Any = getattr(frame, "_jdf", None)  # none over Spark Connect
    size = _ENDLESS if java is None else int(str(java.queryExecution().optimizedPlan().stats().sizeInBytes()))
    return size if size < _ENDLESS else _UNKNOWN_BYTES


def _recognised(opened: Opened, frame: DataFrame) -> TimeFormat | None:
    """Recognise the times by some of the first values."""
    chosen = opened.chosen
    if "time" not in chosen:
        return None
    from pyspark.sql import functions as sf

    column = sf.col(f"`{chosen['time']}`")
    first: list[Any] = []
    kind = opened.table.type_of(chosen["time"])
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_string(kind):
        first = [row[0] for row in frame.select(column).where(column.isNotNull()).limit(_TIME_SAMPLE_ROWS).collect()]
    target = normal_schema(opened.table, chosen).field("time").type
    values = [float(value) for value in first] if pa.types.is_floating(target) else first
    batch = pa.RecordBatch.from_arrays([pa.array(values, target)], names=["time"])
    time = recognise_times(opened, iter([batch]), Rejects(opened.table.name))[0]
    check_settled(time, chosen["time"], opened.table.name)
    return time


def _has_row_numbers(frame: DataFrame) -> bool:
    """Whether Spark still knows of every row which one it is of which Parquet file."""
    from pyspark.errors import AnalysisException

    try:
        frame.select("_metadata.file_path", "_metadata.row_index").schema  # noqa: B018
    except AnalysisException:
        return False
    return True


def _first_batches(table: FileTable, chosen: Chosen, rejects: Rejects) -> Batches:
    for piece in table.pieces(fine=False):
        yield from table.read(piece, chosen, rejects)


def _columns_of(frame: DataFrame, name: str) -> ArrowTable:
    """The columns of a DataFrame as those of a table without rows: its own are read by Spark."""
    fields = [(field.name, _arrow_type(field.dataType)) for field in frame.schema.fields]
    return ArrowTable(pa.schema(fields).empty_table(), name)


def _arrow_type(kind: DataType) -> pa.DataType:
    """The type in Arrow; for a type that it does not know, one that is refused by its name."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        return to_arrow_type(kind)
    except PySparkException:
        return pa.struct([(kind.simpleString(), pa.null())])


@dataclass(frozen=True)
class _ReadParts:
    """A task: a part of a table, read and judged, or after those the digests of some files."""

    table: FileTable
    chosen: Chosen
    rules: Rules
    parts: Sequence[tuple[Piece, ...]]
    digests: Sequence[tuple[Piece, ...]]
    homes: int
    patient: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Box]:
        for batch in batches:
            for number in values_of(batch.column(0)).tolist():
                if number < len(self.parts):
                    for piece in self.parts[number]:
                        yield from self._piece(piece)
                else:
                    for piece in self.digests[number - len(self.parts)]:
                        _check_seen(self.table, piece.file)
                        yield Box(0, DIGEST, piece.file, self.table.digest(piece.file))

    def _piece(self, piece: Piece) -> Iterator[Box]:
        _check_seen(self.table, piece.file)
        rejects = Rejects(self.table.name, patient=self.patient)
        first = (piece.file << FILE_BITS) + piece.first_row
        judged = _Judged(self.rules, self.table.name, self.homes)
        row = first
        for batch in self.table.read(piece, self.chosen, rejects):
            yield from judged.rows(batch, np.arange(row, row + batch.num_rows, dtype=np.int64), rejects)
            row += batch.num_rows
        yield from judged.rest(first, rejects)


@dataclass(frozen=True)
class _JudgeRows:
    """A task: rows of a DataFrame, judged."""

    name: str
    chosen: Chosen
    schema: pa.Schema
    rules: Rules
    homes: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Box]:
        from pyspark import TaskContext

        context = TaskContext.get()
        judged = _Judged(self.rules, self.name, self.homes)
        rejects = Rejects(self.name)
        roles = {role: role for role in self.chosen}
        for batch in batches:
            rejects.counted += batch.num_rows
            if batch.column("order").null_count:
                raise InvalidInput(f"The column that orders {self.name} has rows without a value; name another.")
            order = values_of(batch.column("order")).astype(np.int64)
            if "file" in batch.schema.names:
                order += judged.file_numbers(batch.column("file")) << FILE_BITS
            yield from judged.rows(normal_batch(batch, roles, self.schema, self.name), order, rejects)
        yield from judged.rest(0 if context is None else context.partitionId(), rejects)


@dataclass(frozen=True)
class _Judged:
    """Batches judged one by one, the usable rows of some of them dealt out together, and a count of the others."""

    rules: Rules
    name: str
    homes: int
    counts: Counter[int] = field(default_factory=Counter)
    files: dict[str, int] = field(default_factory=dict)
    held: list[tuple[Any, ...]] = field(default_factory=list)

    def file_numbers(self, paths: pa.Array) -> NDArray[np.int64]:
        """Number files as they come."""
        encoded = paths.dictionary_encode()
        numbers = [self.files.setdefault(path, len(self.files)) for path in encoded.dictionary.to_pylist()]
        return np.array(numbers, np.int64)[values_of(encoded.indices).astype(np.int64)]

    def rows(self, batch: pa.RecordBatch, order: NDArray[np.int64], rejects: Rejects) -> Iterator[Box]:
        """Judge a batch of the normal types; deal out what is held once it is enough."""
        verdicts = classify_rows(batch, self.rules)
        tally(verdicts.reasons, self.counts, rejects)
        kept = verdicts.reasons == 0
        ids = [_plain(batch.column(role)) for role in ("user", "item")]
        ticks = np.zeros(0, np.int64) if self.rules.time is None else verdicts.ticks
        if not kept.all():
            mask = from_numpy(kept)
            ids = [column.filter(mask) for column in ids]
            ticks, order = ticks[kept] if ticks.size else ticks, order[kept]
        if order.size:
            self.held.append((*ids, ticks, order))
        least, most = _EVENTS_AT_ONCE
        if sum(part[3].size for part in self.held) >= min(most, max(least, self.homes * _EVENTS_PER_BOX)):
            yield from self._dealt()

    def rest(self, part: int, rejects: Rejects) -> Iterator[Box]:
        """Deal out what is still held, and give account of what cannot be used, in the order in which it was met."""
        yield from self._dealt()
        judged = {code: count for code, count in sorted(self.counts.items()) if code}
        account = Account(rejects.counted, {**rejects.dirty}, {**rejects.excluded}, judged, rejects.first)
        yield Box(0, ACCOUNT, part, (account,))

    def _dealt(self) -> Iterator[Box]:
        if self.held:
            users, items = (pa.concat_arrays([part[place] for part in self.held]) for place in (0, 1))
            ticks, order = (np.concatenate([part[place] for part in self.held]) for place in (2, 3))
            self.held.clear()
            yield from dealt(users, items, ticks, order, self.homes, list(self.files))


def _plain(ids: pa.Array) -> pa.Array:
    return ids.cast(pa.string()) if pa.types.is_large_string(ids.type) else ids


def _check_seen(table: FileTable, file: int) -> None:
    path = table.paths()[file]
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise InvalidInput(f"{path} cannot be opened by a worker ({said}); {SAME_PATH}.") from None
