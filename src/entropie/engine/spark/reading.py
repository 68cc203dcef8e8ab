"""Tables as Spark sees them: every row judged where it is read, with the code that judges it on one machine."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.arrow import from_numpy, from_texts, values_of
from entropie.data.classify import classify_rows
from entropie.data.events import Opened, open_events, recognise_times
from entropie.data.files import combined_digest
from entropie.data.rejects import Rejects
from entropie.data.rules import Rules, is_text, reason_of
from entropie.data.tables import Chosen, FileTable, Piece, normal_batch, normal_schema
from entropie.data.times import TimeFormat
from entropie.engine.spark.session import SAME_PATH, failures
from entropie.errors import InvalidInput, InvalidParameter
from entropie.progress import Progress
from entropie.request import Source

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["FOUND_READING", "LEFT_OUT_READING", "LEFT_OUT_ROW", "Rows", "open_rows", "parallelism", "plan_parts"]

FOUND_READING, LEFT_OUT_READING, LEFT_OUT_ROW = "dirty: ", "excluded: ", "row: "
"""How a reason begins: a line that cannot be cut into fields, one that reading leaves out by a rule, a row judged."""

_FILE_BITS = 40  # of a row's number, below the number of its file
_PART_BYTES = (1 << 20, 1 << 27)  # a part is no smaller, and if it can be cut no larger
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_NOT_PARQUET = re.compile(r"\.(csv|tsv|txt|dat|data|json|orc|avro|plt)(\.\w+)?/?$|\.(gz|zst|bz2|zip)$", re.IGNORECASE)
_TIME_SAMPLE_ROWS = 2000
_SHIFT = np.uint64(1 << 63)


@dataclass(frozen=True, slots=True)
class Rows:
    """A table whose rows are judged.

    rows       one row per usable event (user, item, tick, row; count 1, reason null), and few that count the others
               by reason (reason, count, an example, and in `row` their order)
    unsigned   ids that are unsigned numbers of 64 bits are lowered by 2^63, to fit
    parts      how many tasks read the table; None where Spark decides
    """

    opened: Opened
    time: TimeFormat | None
    rows: DataFrame
    sha256: str | None
    unsigned: Mapping[str, bool]
    parts: int | None


def open_rows(
    spark: SparkSession,
    source: object,
    *,
    user: str | None = None,
    item: str | None = None,
    time: str | None = None,
    rating: str | None = None,
    preset: str | None = None,
    min_rating: float | None = None,
    grid: str | None = None,
    header: bool | None = None,
    max_dirty_share: float = 0.01,
    order: str | None = None,
) -> Rows:
    """Open a path that the workers see too, a Parquet address with a scheme, or a DataFrame of Spark.

    `order` names a column of a DataFrame that says the order of rows of equal time. Without it that is the order in
    the Parquet files the rows come from, and else whatever order Spark has them in, which may be another next time.
    Other arguments are those of `read_events`.
    """
    told = Source(
        source, user=user, item=item, time=time, rating=rating, preset=preset, min_rating=min_rating, grid=grid,
        header=header, max_dirty_share=max_dirty_share,
    )  # fmt: skip
    frame = _frame(spark, source)
    if frame is None:
        if order is not None:
            raise InvalidParameter.of("order", "left out for a path, whose rows have an order", order)
        return _from_files(spark, open_events(told))
    for name, value in (("preset", preset), ("grid", grid), ("header", header)):
        if value is not None:
            raise InvalidParameter.of(name, "left out for a DataFrame or a path with a scheme", value)
    table = _FrameTable("the DataFrame" if not isinstance(source, str) else source, frame)
    return _from_frame(open_events(told, table), frame, order)


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
    time = recognise_times(table, chosen, _first_batches(table, chosen))[0]
    schema = normal_schema(table, chosen)
    wanted = 4 * parallelism(spark)
    parts = plan_parts(table.pieces(fine=True), wanted)
    files = table.pieces(fine=False)
    job = _ReadParts(table, chosen, opened.rules(time), parts, patient=len(files) > 1)
    with failures(spark):
        digests = _Digests(table, plan_parts(files, wanted))
        listed = _range(spark, len(digests.parts)).mapInArrow(digests, "file long, name string, sha256 string")
        listing = [(name, digest) for _, name, digest in sorted(listed.collect())]
        rows = _range(spark, len(parts)).mapInArrow(job, _ddl(schema))
    return Rows(opened, time, rows, combined_digest(listing), _unsigned(schema), len(parts))


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
        files: list[str] = []
        if "file" in columns:
            files = sorted(row[0] for row in picked.select("file").distinct().collect())
        time = _recognised(opened, frame)
        schema = normal_schema(opened.table, chosen)
        job = _JudgeRows(
            opened.table.name, chosen, schema, opened.rules(time), {file: place for place, file in enumerate(files)}
        )
        rows = picked.mapInArrow(job, _ddl(schema))
    return Rows(opened, time, rows, None, _unsigned(schema), None)


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
    return recognise_times(opened.table, chosen, iter([batch]))[0]


def _has_row_numbers(frame: DataFrame) -> bool:
    """Whether Spark still knows of every row which one it is of which Parquet file."""
    from pyspark.errors import AnalysisException

    try:
        frame.select("_metadata.file_path", "_metadata.row_index").schema  # noqa: B018
    except AnalysisException:
        return False
    return True


def _first_batches(table: FileTable, chosen: Chosen) -> Iterator[pa.RecordBatch]:
    rejects = Rejects(table.name)
    for piece in table.pieces(fine=False):
        yield from table.read(piece, chosen, rejects)


def _range(spark: SparkSession, parts: int) -> DataFrame:
    return spark.range(0, parts, 1, max(1, parts))


def _ddl(schema: pa.Schema) -> str:
    """The columns of rows, as Spark writes them."""
    ids = ", ".join(f"{role} {'string' if is_text(schema, role) else 'bigint'}" for role in ("user", "item"))
    return f"{ids}, tick bigint, row bigint, reason string, count bigint, example string"


def _unsigned(schema: pa.Schema) -> dict[str, bool]:
    return {role: pa.types.is_uint64(schema.field(role).type) for role in ("user", "item")}


class _FrameTable:
    """A DataFrame's columns and types; its rows are read by Spark."""

    def __init__(self, name: str, frame: DataFrame) -> None:
        self.name = name
        self.columns = tuple(frame.columns)
        self._fields = {field.name: field.dataType for field in frame.schema.fields}

    def type_of(self, column: str) -> pa.DataType:
        """Type of a column as Arrow has it."""
        from pyspark.errors import PySparkException
        from pyspark.sql.pandas.types import to_arrow_type

        kind = self._fields[column]
        try:
            return to_arrow_type(kind)
        except PySparkException:
            rule = "ids must be integers or text, times numbers, timestamps or text"
            raise InvalidInput(
                f"Column `{column}` of {self.name} has type {kind.simpleString()}; {rule}. Name another."
            ) from None

    def batches(self, columns: Chosen, rejects: Rejects, progress: Progress) -> Iterator[pa.RecordBatch]:
        """Nothing comes this way."""
        raise NotImplementedError

    def sha256(self) -> str:
        """Nobody sees all of it."""
        raise NotImplementedError

    def hint(self) -> str:
        """Nothing to add: the names are in the DataFrame."""
        return ""


@dataclass(frozen=True)
class _Digests:
    """A task: the digests of some files."""

    table: FileTable
    parts: Sequence[tuple[Piece, ...]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(batches):
            files = [piece.file for piece in self.parts[number]]
            for file in files:
                _check_seen(self.table, file)
            found = [self.table.digest(file) for file in files]
            names, digests = ([pair[place] for pair in found] for place in (0, 1))
            columns = [from_numpy(np.array(files, np.int64)), from_texts(names), from_texts(digests)]
            yield pa.RecordBatch.from_arrays(columns, names=["file", "name", "sha256"])


@dataclass(frozen=True)
class _ReadParts:
    """A task: some parts of a table, read and judged."""

    table: FileTable
    chosen: Chosen
    rules: Rules
    parts: Sequence[tuple[Piece, ...]]
    patient: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(batches):
            for piece in self.parts[number]:
                yield from self._piece(piece)

    def _piece(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        _check_seen(self.table, piece.file)
        rejects = Rejects(self.table.name, patient=self.patient)
        first = (piece.file << _FILE_BITS) + piece.first_row
        judged = _Judged(self.rules, self.table.name)
        schema = None
        for batch in self.table.read(piece, self.chosen, rejects):
            schema = batch.schema
            yield from judged.rows(batch, np.arange(first, first + batch.num_rows, dtype=np.int64))
            first += batch.num_rows
        if schema is None:
            schema = normal_schema(self.table, self.chosen)
        yield from judged.account(schema, piece.file << _FILE_BITS, rejects)


@dataclass(frozen=True)
class _JudgeRows:
    """A task: rows of a DataFrame, judged."""

    name: str
    chosen: Chosen
    schema: pa.Schema
    rules: Rules
    files: Mapping[str, int]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        judged = _Judged(self.rules, self.name)
        roles = {role: role for role in self.chosen}
        for batch in batches:
            if batch.column("order").null_count:
                raise InvalidInput(f"The column that orders {self.name} has rows without a value; name another.")
            order = values_of(batch.column("order")).astype(np.int64)
            if self.files:
                paths = batch.column("file").dictionary_encode()
                numbers = np.array([self.files[path] for path in paths.dictionary.to_pylist()], np.int64)
                order += numbers[values_of(paths.indices)] << _FILE_BITS
            yield from judged.rows(normal_batch(batch, roles, self.schema, self.name), order)
        yield from judged.account(self.schema, 0, Rejects(self.name))


@dataclass(frozen=True)
class _Judged:
    """Batches judged one by one, and a count of what cannot be used."""

    rules: Rules
    name: str
    counts: Counter[int] = field(default_factory=Counter)

    def rows(self, batch: pa.RecordBatch, order: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        """The usable rows of a batch of the normal types."""
        verdicts = classify_rows(batch, self.rules)
        codes, counts = np.unique(verdicts.reasons, return_counts=True)
        self.counts.update({int(code): int(count) for code, count in zip(codes, counts, strict=True) if code})
        kept = verdicts.reasons == 0
        events = int(np.count_nonzero(kept))
        if not events:
            return
        mask = from_numpy(kept)
        ids = [_spark_ids(batch.column(role).filter(mask)) for role in ("user", "item")]
        ticks = pa.nulls(events, pa.int64()) if self.rules.time is None else from_numpy(verdicts.ticks[kept])
        ones = from_numpy(np.ones(events, np.int64))
        nothing = pa.nulls(events, pa.string())
        yield _batch([*ids, ticks, from_numpy(order[kept]), nothing, ones, nothing])

    def account(self, schema: pa.Schema, first: int, rejects: Rejects) -> Iterator[pa.RecordBatch]:
        """Rows that count what cannot be used; those of reading in the order in which they were met."""
        found = [
            *((FOUND_READING + reason, count, rejects.first.get(reason)) for reason, count in rejects.dirty.items()),
            *((LEFT_OUT_READING + reason, count, None) for reason, count in rejects.excluded.items() if count),
            *((LEFT_OUT_ROW + reason_of(code), count, None) for code, count in sorted(self.counts.items())),
        ]
        if not found:
            return
        reasons, counts, examples = zip(*found, strict=True)
        ids = [pa.nulls(len(found), pa.string() if is_text(schema, role) else pa.int64()) for role in ("user", "item")]
        order = from_numpy(first + np.arange(len(found), dtype=np.int64))
        number = from_numpy(np.array(counts, np.int64))
        ticks = pa.nulls(len(found), pa.int64())
        yield _batch([*ids, ticks, order, from_texts(reasons), number, pa.array(examples, pa.string())])


_NAMES = ("user", "item", "tick", "row", "reason", "count", "example")


def _batch(columns: Sequence[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns), names=list(_NAMES))


def _spark_ids(ids: pa.Array) -> pa.Array:
    """Ids in a type that Spark has."""
    if pa.types.is_uint64(ids.type):
        return from_numpy((values_of(ids).astype(np.uint64) ^ _SHIFT).view(np.int64))
    return ids.cast(pa.string()) if pa.types.is_large_string(ids.type) else ids


def _numbers(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from values_of(batch.column(0)).tolist()


def _check_seen(table: FileTable, file: int) -> None:
    path = table.paths()[file]
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise InvalidInput(f"{path} cannot be opened by a worker ({said}); {SAME_PATH}.") from None
