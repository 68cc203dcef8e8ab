"""Columns of CSV and Parquet files, streamed: read batch by batch, written whole or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from entropie.atomic import replacing
from entropie.errors import InvalidInput

Progress = Callable[[float], None]
"""Called with the share of the input read so far."""

CSV_BLOCK_BYTES = 16 << 20
PARQUET_BATCH_ROWS = 1 << 20
_CSV_ENDINGS = (".csv", ".tsv", ".txt")
_ZIP_ENDINGS = (".gz", ".zst", ".bz2")


def read_batches(
    path: Path, columns: Sequence[str], texts: Sequence[str] = (), progress: Progress | None = None
) -> Iterator[Any]:
    """Record batches with just these columns, those in `texts` as text, the others as what they look like."""
    if not path.exists():
        raise InvalidInput(f"File {path} does not exist; check the name.")
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; name one CSV or Parquet file.")
    if path.stat().st_size == 0:
        raise InvalidInput(f"File {path} is empty; it needs a header and at least one row.")
    batches = _parquet_batches if _is_parquet(path) else _csv_batches
    rows = 0
    try:
        for batch in batches(path, columns, texts, progress):
            rows += batch.num_rows
            if batch.num_rows:
                yield batch
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError, EOFError, UnicodeDecodeError) as problem:
        said = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise InvalidInput(f"File {path} cannot be read to its end: {said}") from None
    if rows == 0:
        raise InvalidInput(f"File {path} has no rows; at least one is needed.")


def _is_parquet(path: Path) -> bool:
    if path.suffix.lower() in (".parquet", ".pq"):
        return True
    endings = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in _ZIP_ENDINGS]
    if endings and endings[-1] in _CSV_ENDINGS:
        return False
    raise InvalidInput(f"File {path} must end in .csv, .tsv (also .gz, .zst, .bz2 after it) or .parquet.")


def _parquet_batches(
    path: Path, columns: Sequence[str], texts: Sequence[str], progress: Progress | None
) -> Iterator[Any]:
    with pq.ParquetFile(path) as file:
        _require(path, columns, file.schema_arrow.names)
        total, done = max(1, file.metadata.num_rows), 0
        for batch in file.iter_batches(PARQUET_BATCH_ROWS, columns=list(columns)):
            done += batch.num_rows
            if progress:
                progress(done / total)
            yield _as_text(batch, texts)


def _csv_batches(path: Path, columns: Sequence[str], texts: Sequence[str], progress: Progress | None) -> Iterator[Any]:
    size = path.stat().st_size
    separator = "\t" if ".tsv" in [suffix.lower() for suffix in path.suffixes] else ","
    types = dict.fromkeys(texts, pa.string())
    with pa.OSFile(str(path)) as raw:
        stream = pa.CompressedInputStream(raw, _compression(path)) if _compression(path) else raw
        reader = pa_csv.open_csv(
            stream,
            read_options=pa_csv.ReadOptions(block_size=CSV_BLOCK_BYTES),
            parse_options=pa_csv.ParseOptions(delimiter=separator),
            convert_options=pa_csv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=[""]),
        )
        _require(path, columns, reader.schema.names)
        for batch in reader:
            if progress:
                progress(min(1.0, raw.tell() / size))
            yield batch.select(list(columns))


def _compression(path: Path) -> str | None:
    return {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}.get(path.suffix.lower())


def _require(path: Path, columns: Sequence[str], found: Sequence[str]) -> None:
    for column in columns:
        if column not in found:
            raise InvalidInput(f"Column `{column}` is missing from {path.name}; found: {', '.join(found)}.")
        if list(found).count(column) > 1:
            raise InvalidInput(f"Column `{column}` appears more than once in {path.name}; give it one name.")


def _as_text(batch: Any, texts: Sequence[str]) -> Any:
    names = batch.schema.names
    columns = [
        pc.cast(column, pa.string()) if name in texts else column
        for name, column in zip(names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=names)


def codes_of(column: Any, name: str, domain_size: int, first_row: int) -> NDArray[np.uint64]:
    """A column of item codes as an array; says which row holds no code of the domain."""
    _no_blank(column, name, first_row)
    if not pa.types.is_integer(column.type):
        raise InvalidInput(
            f"Column `{name}` must hold item codes (whole numbers from 0 to {domain_size - 1}), "
            f"it holds {column.type}; give item names with --dictionary."
        )
    values = column.to_numpy(zero_copy_only=False)
    outside = (values < 0) | (values >= domain_size) if values.dtype.kind == "i" else values >= domain_size
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        raise InvalidInput(
            f"Row {first_row + row} of column `{name}` is {values[row]}, outside the domain 0 to {domain_size - 1}."
        )
    return np.asarray(values.astype(np.uint64, copy=False))


def _no_blank(column: Any, name: str, first_row: int) -> None:
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise InvalidInput(f"Row {first_row + row} of column `{name}` is blank; fill it or leave the row out.")


class Dictionary:
    """Item names and their codes: name i has code i. On file, a table with the columns `code` and `item`."""

    def __init__(self, names: Any) -> None:
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def collect(cls, path: Path, column: str, progress: Progress | None = None) -> Dictionary:
        """The distinct values of a column, sorted."""
        seen = pa.array([], pa.string())
        first_row = 1
        for batch in read_batches(path, [column], [column], progress):
            _no_blank(batch.column(0), column, first_row)
            first_row += batch.num_rows
            seen = pc.unique(pa.chunked_array([seen, pc.unique(batch.column(0))]))
        return cls(seen.take(pc.array_sort_indices(seen)))

    @classmethod
    def load(cls, path: Path) -> Dictionary:
        """Read a dictionary file; codes must run from 0 without gaps, names must differ."""
        batches = list(read_batches(path, ["code", "item"], ["code", "item"]))
        table = pa.Table.from_batches(batches)
        try:
            codes = pc.cast(table["code"], pa.int64()).to_numpy()
        except pa.ArrowInvalid:
            raise InvalidInput(f"Column `code` of {path.name} must hold whole numbers.") from None
        if not np.array_equal(np.sort(codes), np.arange(len(codes))):
            raise InvalidInput(f"Column `code` of {path.name} must hold every code from 0 to {len(codes) - 1} once.")
        names = table["item"].combine_chunks().take(pa.array(np.argsort(codes)))
        if names.null_count or len(pc.unique(names)) != len(names):
            raise InvalidInput(f"Column `item` of {path.name} must hold different names and no blank.")
        return cls(names)

    def save(self, path: Path) -> None:
        """Write the dictionary file."""
        with TableWriter(path) as writer:
            writer.write({"code": np.arange(len(self)), "item": self.names})

    def encode(self, column: Any, name: str, first_row: int) -> NDArray[np.uint64]:
        """The codes of a column of names."""
        _no_blank(column, name, first_row)
        codes = pc.index_in(column, value_set=self.names)
        if codes.null_count:
            row = int(np.flatnonzero(codes.is_null().to_numpy(zero_copy_only=False))[0])
            raise InvalidInput(
                f"Row {first_row + row} of column `{name}` is {column[row].as_py()!r}, which is not in the dictionary "
                f"of {len(self)} items."
            )
        return np.asarray(codes.to_numpy(zero_copy_only=False).astype(np.uint64))


class TableWriter:
    """Writes a CSV or Parquet table batch by batch into a hidden file that takes its name only when complete."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hidden = path
        self._parquet = path.suffix.lower() in (".parquet", ".pq")
        if not self._parquet and path.suffix.lower() != ".csv":
            raise InvalidInput(f"Output {path} must end in .csv or .parquet.")
        self._files = contextlib.ExitStack()
        self._writer: Any = None

    def __enter__(self) -> TableWriter:
        self._hidden = self._files.enter_context(replacing(self._path))
        return self

    def write(self, columns: dict[str, Any]) -> None:
        """Append rows, given column by column."""
        batch = pa.RecordBatch.from_arrays([pa.array(column) for column in columns.values()], names=list(columns))
        if self._writer is None:
            opener = pq.ParquetWriter if self._parquet else pa_csv.CSVWriter
            self._writer = opener(str(self._hidden), batch.schema)
        self._writer.write_batch(batch)

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            with contextlib.suppress(Exception) if kind else contextlib.nullcontext():
                self._writer.close()
        self._files.__exit__(kind, problem, trace)


def write_text(path: Path, text: str) -> None:
    """Write a small text file whole or not at all."""
    with replacing(path) as hidden:
        hidden.write_text(text, encoding="utf-8")
