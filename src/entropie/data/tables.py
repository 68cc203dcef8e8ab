"""Anything that holds rows of events, behind one face: column names, batches of chosen columns, a digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from entropie.data.arrow import absent_in, values_of
from entropie.data.budget import EVENT_BYTES
from entropie.data.dialect import Dialect, find_dialect
from entropie.data.files import HashedFile, InputFile, combined_digest, find_files
from entropie.data.normalise import normal_type, normalise
from entropie.data.parquet import DAMAGE, batch_rows, damaged, open_parquet
from entropie.data.presets import Layout, Preset, suggest_preset
from entropie.data.rejects import Place, Rejects
from entropie.data.roles import Header, Role
from entropie.data.text import read_text
from entropie.errors import InvalidInput, InvalidParameter, option, shown
from entropie.progress import Progress

Chosen = Mapping[Role, str]  # which column plays which role
Batches = Generator[pa.RecordBatch, None, None]
"""A stream of rows, which whoever opened it closes: threads and files belong to it."""


class Table(Protocol):
    """What reading needs from a source."""

    name: str  # as messages call it
    columns: tuple[str, ...]
    header: Header  # the same, as messages list them

    def type_of(self, column: str) -> pa.DataType:
        """Type of a column as the source has it."""

    def batches(self, columns: Chosen, rejects: Rejects, progress: Progress) -> Batches:
        """Stream the chosen columns, once, in row order, named by role and of the normal types."""

    def sha256(self) -> str:
        """Digest of the source; known when the batches are consumed."""

    def hint(self) -> str:
        """A sentence that helps whoever could not name the columns."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What can be read by itself: a file, or some row groups of a Parquet file."""

    file: int  # its number
    size: int  # in bytes, about
    groups: tuple[int, ...] | None = None  # None: the whole file
    first_row: int = 0  # how many rows of the file come before


class FileTable(Table, Protocol):
    """A table in files, which may be read in pieces, wherever the files are seen; it can be pickled."""

    def paths(self) -> Sequence[Path]:
        """The files, by number."""

    def pieces(self, fine: bool) -> list[Piece]:
        """All there is to read, in row order: whole files, or pieces as fine as they come."""

    def read(self, piece: Piece, columns: Chosen, rejects: Rejects) -> Iterator[pa.RecordBatch]:
        """Stream one piece as `batches` streams the table."""

    def digest(self, file: int) -> tuple[str, str]:
        """Read a file for its digest: the name that the listing of files has for it, and the digest."""


class _Files:
    """Files that are one table; `_digests` are of those that have been read."""

    def __init__(self, name: str, files: Sequence[InputFile]) -> None:
        self.name = name
        self._files = files
        self._digests: list[tuple[str, str]] = []

    def paths(self) -> list[Path]:
        """The files, by number."""
        return [file.path for file in self._files]

    def digest(self, file: int) -> tuple[str, str]:
        """Read a file for its digest."""
        path = self._files[file].path
        with HashedFile(path) as opened:
            return path.name, opened.sha256()

    def sha256(self) -> str:
        """Digest of the file, or of the listing of the files."""
        return combined_digest(self._digests)


class TextTable(_Files):
    """CSV and its kin, or JSON Lines, in one file or several with the same columns."""

    def __init__(
        self, name: str, files: Sequence[InputFile], layout: Layout | None, header: bool | None, form: str | None = None
    ) -> None:
        super().__init__(name, files)
        self._dialects = [_dialect(file, layout, header, form) for file in files]
        headers = [
            Header(str(file.path), dialect.columns, dialect.certain)
            for file, dialect in zip(files, self._dialects, strict=True)
        ]
        self.header = _common(name, headers)
        self.columns = self.header.columns

    def type_of(self, column: str) -> pa.DataType:
        """Everything is text in a text file."""
        return pa.string()

    def batches(self, columns: Chosen, rejects: Rejects, progress: Progress) -> Batches:
        """Every column is text, which is a normal type."""
        for batch in self.select(list(columns.values()), rejects, progress):
            yield batch.rename_columns(list(columns))

    def select(
        self, columns: Sequence[str], rejects: Rejects, progress: Progress, inferred: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Read one file after the other; each is digested as it passes."""
        total = sum(file.size for file in self._files)
        before = 0
        for file, dialect in zip(self._files, self._dialects, strict=True):
            with file.open() as opened:
                for batch in read_text(file, opened, dialect, columns, rejects, inferred):
                    progress("read", min(1.0, (before + opened.position) / total))
                    yield batch
                self._digests.append((file.path.name, opened.sha256()))
            before += file.size

    def pieces(self, fine: bool) -> list[Piece]:
        """A text can be cut nowhere, because a quote may hold a line break."""
        return [Piece(number, file.size) for number, file in enumerate(self._files)]

    def read(self, piece: Piece, columns: Chosen, rejects: Rejects) -> Iterator[pa.RecordBatch]:
        """Stream one file."""
        file = self._files[piece.file]
        with HashedFile(file.path) as opened:
            for batch in read_text(file, opened, self._dialects[piece.file], list(columns.values()), rejects):
                yield batch.rename_columns(list(columns))
            opened.check_unchanged()

    def hint(self) -> str:
        """Point to the preset that a file looks like, or to naming columns by number."""
        dialect = self._dialects[0]
        preset = suggest_preset(dialect.delimiter, dialect.first_line)
        if preset is not None:
            return f" It looks like {preset.title}: try --preset {preset.name}."
        if not dialect.header:
            line = dialect.delimiter.join(dialect.first_line)
            return (
                f" There is no header line{shown(f' (first line: {line!r})')}, so columns are called by their number."
            )
        return ""


class ParquetTable(_Files):
    """Parquet, in one file or several with the same columns."""

    def __init__(self, name: str, files: Sequence[InputFile]) -> None:
        super().__init__(name, files)
        schemas = []
        self._groups: list[list[tuple[int, int]]] = []  # rows and bytes of each row group of each file
        for file in files:
            with open_parquet(file.path) as source:
                schemas.append(source.schema_arrow)
                groups = map(source.metadata.row_group, range(source.metadata.num_row_groups))
                self._groups.append([(group.num_rows, group.total_byte_size) for group in groups])
        self._rows = sum(rows for groups in self._groups for rows, _ in groups)
        self._schema = schemas[0]
        named = zip(files, schemas, strict=True)
        self.header = _common(name, [Header(str(file.path), tuple(schema.names)) for file, schema in named])
        self.columns = self.header.columns

    def type_of(self, column: str) -> pa.DataType:
        """Type of a column in the first file; the others are cast to it."""
        return self._schema.field(column).type

    def batches(self, columns: Chosen, rejects: Rejects, progress: Progress) -> Batches:
        """Cast the chosen columns to the normal types."""
        rejects.budget.require(EVENT_BYTES * self._rows)
        schema = normal_schema(self, columns)
        for batch in self.select(list(columns.values()), rejects, progress):
            yield normal_batch(batch, columns, schema, self.name)

    def select(
        self, columns: Sequence[str], rejects: Rejects, progress: Progress, inferred: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Digest, then decode; both see the same file or the change is noticed."""
        done = 0
        for piece in self.pieces(fine=False):
            file = self._files[piece.file]
            with HashedFile(file.path) as opened:
                digest = opened.sha256()
                for batch in self._read(piece, opened, columns, rejects):
                    done += batch.num_rows
                    progress("read", done / self._rows)
                    yield batch
            self._digests.append((file.path.name, digest))

    def pieces(self, fine: bool) -> list[Piece]:
        """Whole files, or row groups."""
        if not fine:
            return [Piece(number, file.size) for number, file in enumerate(self._files)]
        found = []
        for number, groups in enumerate(self._groups):
            before = 0
            for group, (rows, size) in enumerate(groups):
                found.append(Piece(number, size, (group,), before))
                before += rows
        return found

    def read(self, piece: Piece, columns: Chosen, rejects: Rejects) -> Iterator[pa.RecordBatch]:
        """Stream a file or some row groups of it."""
        with HashedFile(self._files[piece.file].path) as opened:
            schema = normal_schema(self, columns)
            for batch in self._read(piece, opened, list(columns.values()), rejects):
                yield normal_batch(batch, columns, schema, str(opened.path))

    def _read(
        self, piece: Piece, opened: HashedFile, columns: Sequence[str], rejects: Rejects
    ) -> Iterator[pa.RecordBatch]:
        path, declared = opened.path, self._groups[piece.file]
        groups = list(range(len(declared)) if piece.groups is None else piece.groups)
        there = sum(declared[group][0] for group in groups)
        rejects.counted += there
        row = piece.first_row + 1
        try:
            with open_parquet(path) as source:
                rows = batch_rows(path, source, groups, columns, rejects.budget)
                for batch in source.iter_batches(rows, row_groups=groups, columns=list(columns)):
                    rejects.accept(batch.num_rows, Place(row), path)
                    row += batch.num_rows
                    yield batch.select(list(columns))
        except DAMAGE as error:
            opened.check_unchanged()
            raise damaged(path, error) from None
        opened.check_unchanged()
        if row - piece.first_row - 1 != there:
            raise damaged(path, f"{there} rows are declared, {row - piece.first_row - 1} are there")

    def hint(self) -> str:
        """Nothing to add: the names are in the file."""
        return ""


class ArrowTable:
    """Rows in memory, from anything that speaks Arrow's stream protocol."""

    def __init__(self, source: object, name: str | None = None) -> None:
        self.name = name or "the table"
        try:
            self._reader = pa.RecordBatchReader.from_stream(source)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InvalidInput(
                f"The table cannot be read as Arrow ({type(error).__name__}{shown(f': {error}')}); "
                "make each column one kind."
            ) from None
        schema = self._reader.schema
        self.columns = tuple(schema.names)
        self.header = Header(self.name, self.columns)
        self._digests: list[_ColumnDigest] = []

    def type_of(self, column: str) -> pa.DataType:
        """Type of a column as the source has it."""
        return self._reader.schema.field(column).type

    def batches(self, columns: Chosen, rejects: Rejects, progress: Progress) -> Batches:
        """Pass the batches on, digesting the chosen columns."""
        schema = normal_schema(self, columns)
        self._digests = [_ColumnDigest() for _ in columns]
        for batch in self.select(list(columns.values()), rejects, progress):
            chosen = normal_batch(batch, columns, schema, self.name)
            for array, digest in zip(chosen.columns, self._digests, strict=True):
                digest.update(array)
            yield chosen

    def select(
        self, columns: Sequence[str], rejects: Rejects, progress: Progress, inferred: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Pass the batches on."""
        try:
            for batch in self._reader:
                rejects.accept(batch.num_rows, Place(rejects.counted + 1))
                rejects.counted += batch.num_rows
                yield batch.select(list(columns))
        except (pa.ArrowException, OSError) as error:
            raise self.broken(error, rejects.counted) from None

    def broken(self, error: Exception, rows: int) -> InvalidInput:
        """The error for a stream that ends before all rows have come."""
        return InvalidInput(f"The table cannot be read ({type(error).__name__}{shown(f': {error}')}).")

    def sha256(self) -> str:
        """Digest of the chosen columns' values, however the table is cut into batches."""
        return hashlib.sha256("\n".join(digest.hexdigest() for digest in self._digests).encode()).hexdigest()

    def hint(self) -> str:
        """Nothing to add: the names are in the table."""
        return ""


def open_table(source: object) -> TextTable | ParquetTable | ArrowTable:
    """Open any table with names in its first line: a file, a folder, a pattern, or an object with a stream of Arrow."""
    if hasattr(source, "__arrow_c_stream__"):
        return ArrowTable(source)
    if not isinstance(source, str | os.PathLike):
        kind = type(source).__name__
        raise InvalidParameter.of("table", "a path or an object with __arrow_c_stream__", kind)
    path = str(os.fspath(source))
    return open_files(path, find_files(path), None, header=True)


def open_files(
    name: str, paths: Sequence[Path], preset: Preset | None, header: bool | None, form: str | None = None
) -> TextTable | ParquetTable:
    """Open files as one table; they must all be of one kind, the one that `form` names."""
    layout = None
    if preset is not None and preset.layouts:
        paths, layout = _files_of(preset, name, paths)
    files = [InputFile(path) for path in paths]
    if len({file.parquet for file in files}) > 1:
        raise InvalidInput(
            f"{name} holds both Parquet and text; name one kind with a glob, such as '{name}/*.parquet'."
        )
    if form is not None and files[0].parquet != (form == "parquet"):
        raise InvalidInput(f"{name} is {'' if files[0].parquet else 'not '}Parquet; leave {option('format')} out.")
    if not files[0].parquet:
        return TextTable(name, files, layout, header, form)
    if preset is not None:
        raise InvalidInput(f"{name} is Parquet, but preset {preset.name} describes the published text files.")
    return ParquetTable(name, files)


def _files_of(preset: Preset, name: str, paths: Sequence[Path]) -> tuple[list[Path], Layout]:
    """Pick the file of a data set out of a folder, and the layout by name or else by first line."""
    for layout in preset.layouts:
        named = [path for path in paths if layout.matches_name(path.name)]
        if named:
            return named, layout
    if len(paths) == 1:
        file = InputFile(paths[0])
        for layout in preset.layouts:
            if file.parquet or layout.matches_line(find_dialect(file, delimiter=layout.delimiter).first_line):
                return [paths[0]], layout
    wanted = ", ".join(pattern for layout in preset.layouts for pattern in layout.file_names)
    raise InvalidInput(f"{name} does not look like {preset.title}; expected {wanted} (also .gz, .zst, .bz2).")


def _dialect(file: InputFile, layout: Layout | None, header: bool | None, form: str | None) -> Dialect:
    if layout is None:
        return find_dialect(file, header=header, form=form)
    found = find_dialect(file, delimiter=layout.delimiter, header=layout.header)
    if not layout.header and len(found.columns) != len(layout.columns):
        raise InvalidInput(
            f"{file.path} has {len(found.columns)} columns, the preset's file has {len(layout.columns)} "
            f"({', '.join(layout.columns)}); name the columns with {option('user')}, "
            f"{option('item')} and {option('time')} instead of {option('preset')}."
        )
    columns = found.columns if layout.header else layout.columns
    return Dialect(layout.delimiter, layout.header, columns, found.first_line, found.skip_lines, layout.quoted)


def _common(name: str, headers: Sequence[Header]) -> Header:
    """The columns of several files under the name of all; they must be the same."""
    first = headers[0]
    for other in headers:
        if sorted(other.columns) != sorted(first.columns):
            raise InvalidInput(
                f"{other.table} and {first.table} have different columns ({other.listed()} and "
                f"{first.listed()}); read them apart."
            )
    return Header(name, first.columns, first.certain)


def normal_schema(table: Table, columns: Chosen) -> pa.Schema:
    """Name the types in which a table's batches come: one field per role."""
    return pa.schema(
        [(role, normal_type(role, table.type_of(column), column, table.name)) for role, column in columns.items()]
    )


def normal_batch(batch: pa.RecordBatch, columns: Chosen, schema: pa.Schema, name: str) -> pa.RecordBatch:
    """Give the chosen columns of a batch the names of their roles and the normal types."""
    arrays = [
        normalise(batch.column(column), role, field.type, column, name)
        for (role, column), field in zip(columns.items(), schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class _ColumnDigest:
    """Digest of a column's values that does not depend on how it is cut into batches."""

    def __init__(self) -> None:
        self._valid = hashlib.sha256()
        self._lengths = hashlib.sha256()
        self._values = hashlib.sha256()

    def update(self, array: pa.Array) -> None:
        """Add the values of one batch, of one of the normal types."""
        absent = absent_in(array)
        self._valid.update((~absent).view(np.uint8).data)
        if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
            self._values.update(np.where(absent, 0, values_of(array)).data)
            return
        text = array.cast(pa.large_binary())
        text = text.fill_null(b"") if text.null_count else text
        self._lengths.update(values_of(pc.binary_length(text)).data)
        _, offsets, values = text.buffers()
        if values is not None:
            bounds = memoryview(offsets).cast("q")
            self._values.update(memoryview(values)[bounds[text.offset] : bounds[text.offset + len(text)]])

    def hexdigest(self) -> str:
        """Close the three streams under one name."""
        return " ".join(part.hexdigest() for part in (self._valid, self._lengths, self._values))
