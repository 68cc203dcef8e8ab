"""Columns of CSV and Parquet files, streamed: read batch by batch, written whole or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
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
from entropie.data.arrow import decoded, masked, one_of, truths_of, type_within
from entropie.data.blocks import UNREADABLE
from entropie.data.budget import Budget
from entropie.data.rejects import Place, Rejects
from entropie.data.roles import require_columns
from entropie.data.tables import open_table
from entropie.errors import InvalidInput, option, shown
from entropie.progress import Progress, silent
from entropie.spreadsheet import cells_as_written, safe_cell, safe_cells

_WHOLE = r"^\s*[+-]?\d+\s*$"
_COPIES = 4  # of names, while they are sorted and looked up


def read_columns(
    source: object, columns: Sequence[str], texts: Sequence[str] = (), progress: Progress = silent
) -> Iterator[tuple[pa.RecordBatch, Place]]:
    """Batches with just these columns of any table, those in `texts` as text, the others as what they look like; and
    where they are.

    Every row counts: one that cannot be cut into fields, or a text that is not UTF-8, is refused. An empty text is
    nothing.
    """
    table = open_table(source)
    require_columns(columns, table.header)
    for name in columns:
        _check_plain(name, table.type_of(name), table.name)
    rejects = Rejects(table.name, strict=True)
    rows = 0
    for batch in table.select(columns, rejects, progress, inferred=[name for name in columns if name not in texts]):
        rows += batch.num_rows
        if batch.num_rows:
            arrays = [
                _as_text(name, column, table.name) if name in texts else _plain(column)
                for name, column in zip(columns, batch.columns, strict=True)
            ]
            yield checked_texts(pa.RecordBatch.from_arrays(arrays, names=list(columns)), rejects), rejects.last
    rejects.check_complete(rows)
    if rows == 0:
        raise InvalidInput(f"{table.name} has no rows; at least one is needed.")


def _check_plain(name: str, kind: pa.DataType, table: str) -> None:
    """Refuse a column that holds several values in one."""
    kind = type_within(kind)
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType) or pa.types.is_run_end_encoded(kind):
        raise InvalidInput(f"Column `{name}` of {table} has type {kind}; it must hold text, numbers or dates.")


def _plain(column: Any) -> Any:
    """Text and bytes of the types that every format can write; of a categorical column the values, not the categories.

    Categories name also what no row holds.
    """
    column = decoded(column)
    views = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return column.cast(views[column.type]) if column.type in views else column


def _as_text(name: str, column: Any, table: str) -> Any:
    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        raise InvalidInput(
            f"Column `{name}` of {table} holds values of type {column.type} that do not read as text; make them text."
        ) from None


def checked_texts(batch: pa.RecordBatch, rejects: Rejects) -> pa.RecordBatch:
    """The columns of the batch accepted last with nothing in place of empty texts; refuses text that is not UTF-8."""
    arrays = list(batch.columns)
    for place, (name, column) in enumerate(zip(batch.schema.names, arrays, strict=True)):
        if pa.types.is_string(column.type):
            unreadable = truths_of(pc.match_substring(column, UNREADABLE))
            if unreadable.any():
                raise InvalidInput(
                    f"Column `{name}` of {rejects.name} holds text that is not UTF-8, first "
                    f"{rejects.last.of(int(np.argmax(unreadable)))}; save it as UTF-8."
                )
            arrays[place] = masked(column, ~one_of(column, ("",)))
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def codes_of(column: Any, name: str, domain_size: int, place: Place) -> NDArray[np.uint64]:
    """A column of item codes as an array; says where there is no code of the domain."""
    _no_blank(column, name, place)
    if not pa.types.is_integer(column.type):
        raise InvalidInput(
            f"Column `{name}` must hold item codes (whole numbers from 0 to {domain_size - 1}), it holds "
            f"{column.type}{_first_other(column, place)}; give item names with {option('dictionary')}."
        )
    values = column.to_numpy(zero_copy_only=False)
    outside = (values < 0) | (values >= domain_size) if values.dtype.kind == "i" else values >= domain_size
    if outside.any():
        row = int(np.argmax(outside))
        raise InvalidInput(
            f"Column `{name}` holds a code {place.of(row)} that is outside the domain 0 to {domain_size - 1}"
            f"{shown(f' ({values[row]})')}; check the file, or the domain."
        )
    return np.asarray(values.astype(np.uint64, copy=False))


def _first_other(column: Any, place: Place) -> str:
    """Where a column of text first holds something else than a whole number."""
    if not pa.types.is_string(column.type):
        return ""
    other = ~truths_of(pc.match_substring_regex(column, _WHOLE))
    return f", first {place.of(int(np.argmax(other)))}" if other.any() else ""


def _no_blank(column: Any, name: str, place: Place) -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise InvalidInput(f"Column `{name}` is blank {place.of(row)}; fill it or leave the row out.")


class Dictionary:
    """Item names and their codes: name i has code i. On file, a table with the columns `code` and `item`."""

    def __init__(self, names: Any) -> None:
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def collect(cls, path: Path, column: str, progress: Progress = silent, memory: int | None = None) -> Dictionary:
        """The distinct values of a column, sorted."""
        budget = Budget(str(path), memory)
        seen = pa.array([], pa.string())
        for batch, place in read_columns(path, [column], [column], progress):
            _no_blank(batch.column(0), column, place)
            seen = pc.unique(pa.chunked_array([seen, pc.unique(batch.column(0))]))
            budget.keep("items", _COPIES * seen.nbytes)
        return cls(seen.take(pc.array_sort_indices(seen)))

    @classmethod
    def load(cls, path: Path, memory: int | None = None) -> Dictionary:
        """Read a dictionary file; codes must run from 0 without gaps, names must differ."""
        budget, numbers, parts, size = Budget(str(path), memory), [], [], 0
        for batch, place in read_columns(path, ["code", "item"], ["code", "item"]):
            numbers.append(_whole_numbers(batch.column(0), path, place))
            parts.append(batch.column(1))
            size += batch.nbytes
            budget.keep("items", _COPIES * size)
        codes = np.concatenate(numbers)
        if not np.array_equal(np.sort(codes), np.arange(len(codes))):
            raise InvalidInput(f"Column `code` of {path.name} must hold every code from 0 to {len(codes) - 1} once.")
        names = pa.concat_arrays(parts).take(pa.array(np.argsort(codes)))
        if path.suffix.lower() == ".csv":
            names = cells_as_written(names)
        if names.null_count or len(pc.unique(names)) != len(names):
            raise InvalidInput(f"Column `item` of {path.name} must hold different names and no blank.")
        return cls(names)

    def save(self, path: Path) -> None:
        """Write the dictionary file."""
        with TableWriter(path) as writer:
            writer.write({"code": np.arange(len(self)), "item": self.names})

    def encode(self, column: Any, name: str, place: Place) -> NDArray[np.uint64]:
        """The codes of a column of names."""
        _no_blank(column, name, place)
        codes = pc.index_in(column, value_set=self.names)
        if codes.null_count:
            row = int(np.argmax(codes.is_null().to_numpy(zero_copy_only=False)))
            raise InvalidInput(
                f"Column `{name}` holds an item {place.of(row)}{shown(f' ({column[row].as_py()!r})')} that is not in "
                f"the dictionary of {len(self)} items; add it there."
            )
        return np.asarray(codes.to_numpy(zero_copy_only=False).astype(np.uint64))


def _whole_numbers(column: Any, path: Path, place: Place) -> NDArray[np.int64]:
    try:
        return np.asarray(pc.cast(column, pa.int64()).fill_null(-1))
    except pa.ArrowInvalid:
        where = _first_other(column, place)
        raise InvalidInput(f"Column `code` of {path.name} must hold whole numbers{where}.") from None


def _bare_parquet(path: str, schema: pa.Schema) -> Any:
    return pq.ParquetWriter(path, schema, write_statistics=False, use_dictionary=False, store_schema=False)


def check_table(path: Path) -> None:
    """Refuse a name that says no kind of table."""
    if path.suffix.lower() not in (".csv", ".parquet", ".pq"):
        raise InvalidInput(f"Output {path} must end in .csv or .parquet.")


class TableWriter:
    """Writes a CSV or Parquet table batch by batch into a hidden file that takes its name only when complete.

    In a CSV file, text that a spreadsheet would run gets a quote mark. A Parquet file holds values and nothing about
    them: no statistics, no dictionaries, no schema of another program.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hidden = path
        check_table(path)
        self._parquet = path.suffix.lower() != ".csv"
        self._files = contextlib.ExitStack()
        self._writer: Any = None

    def __enter__(self) -> TableWriter:
        self._hidden = self._files.enter_context(replacing(self._path))
        return self

    def write(self, columns: dict[str, Any]) -> None:
        """Append rows, given column by column."""
        arrays, names = [pa.array(column) for column in columns.values()], list(columns)
        if not self._parquet:
            arrays, names = [safe_cells(array) for array in arrays], [safe_cell(name) for name in names]
        batch = pa.RecordBatch.from_arrays(arrays, names=names)
        if self._writer is None:
            opener = _bare_parquet if self._parquet else pa_csv.CSVWriter
            self._writer = opener(str(self._hidden), batch.schema)
        self._writer.write_batch(batch)

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            with contextlib.suppress(Exception) if kind else contextlib.nullcontext():
                self._writer.close()
        self._files.__exit__(kind, problem, trace)
