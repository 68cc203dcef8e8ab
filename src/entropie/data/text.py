"""Delimited text, packed or not: its chosen columns as Arrow batches, and an account of every row."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa
import pyarrow.csv as pa_csv

from entropie.data.blocks import BOM, ONE_BYTE, Block, ahead, clean, exact_rows, row_blocks
from entropie.data.dialect import Dialect
from entropie.data.files import HashedFile, InputFile, Unpacked
from entropie.data.rejects import Place, Rejects
from entropie.errors import InvalidInput, shown

SWALLOWED = "quoted lines that look like rows"
_NO_NUMBER = re.compile(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (\w+)")


def read_text(
    file: InputFile,
    opened: HashedFile,
    dialect: Dialect,
    columns: Sequence[str],
    rejects: Rejects,
    inferred: Collection[str] = (),
) -> Iterator[pa.RecordBatch]:
    """Stream the chosen columns as text, those inferred as what their first values look like.

    Lines that do not fit are told to `rejects`, and so is the number of rows, counted apart from the parser.
    """
    parser = _parser(str(file.path), dialect, columns, inferred)
    with Unpacked(opened, file.packing) as stream, closing(ahead(_parsed(parser, stream, file))) as all_parsed:
        for parsed in all_parsed:
            rejects.counted += parsed.rows + sum(lines for _, lines in parsed.swallowed)
            for first, lines in parsed.swallowed:
                where = f"{Place(first, 'line').of(0)}, expected a quote closed in its line"
                rejects.add_dirty(SWALLOWED, lines, where)
            for reason, row, text in parsed.refused:
                where = f"{parsed.place.of(row)}, expected {'plain values' if dialect.json else len(dialect.columns)}"
                rejects.add_dirty(reason, 1, where + shown(f" ({text!r})"))
            exact = parsed.place.exact and not parsed.refused
            rejects.accept(parsed.batch.num_rows, replace(parsed.place, exact=exact), file.path)
            yield parsed.batch


@dataclass(frozen=True, slots=True)
class Parsed:
    """A block cut into fields: the rows that fit, those that do not (reason, row, text), how many, and where."""

    batch: pa.RecordBatch
    refused: list[tuple[str, int, str]]
    rows: int
    place: Place
    swallowed: tuple[tuple[int, int], ...]


class Parser(Protocol):
    """What cuts blocks into the chosen columns."""

    dialect: Dialect

    def parse(self, block: Block) -> Parsed:
        """Cut one block."""


def _parsed(parser: Parser, stream: Unpacked, file: InputFile) -> Iterator[Parsed]:
    try:
        for block in row_blocks(stream.read, parser.dialect, str(file.path)):
            yield parser.parse(block)
    except (OSError, pa.ArrowException) as error:  # Arrow tells some damage of packed files in its own way
        raise file.unreadable(error) from None


def exactly(block: Block, dialect: Dialect, name: str) -> Block:
    """A block that counts no blank lines among its rows."""
    return replace(block, rows=exact_rows(block, dialect, name))


def _parser(name: str, dialect: Dialect, columns: Sequence[str], inferred: Collection[str]) -> Parser:
    if not dialect.json:
        return _Parser(name, dialect, columns, inferred)
    from entropie.data.json_lines import JsonParser

    return JsonParser(name, dialect, columns, inferred)


class _Parser:
    """Cuts blocks into the chosen columns; the first block settles the types of those that are inferred."""

    def __init__(self, name: str, dialect: Dialect, columns: Sequence[str], inferred: Collection[str]) -> None:
        self.dialect = dialect
        self._name = name
        self._columns = list(columns)
        self._names = [f"column {place}" for place in range(len(dialect.columns))]
        self._wanted = [self._names[dialect.columns.index(column)] for column in columns]
        self._types = {
            name: pa.string() for name, column in zip(self._wanted, columns, strict=True) if column not in inferred
        }

    def parse(self, block: Block) -> Parsed:
        """Cut one block, in this thread."""
        refused: list[tuple[str, int, str]] = []

        def skip(row: pa_csv.InvalidRow) -> str:
            reason = "too few fields" if row.actual_columns < row.expected_columns else "too many fields"
            refused.append((reason, row.number - 1, row.text[:60]))
            return "skip"

        data = clean(block.data or b"\n")
        if data.startswith(BOM):  # Arrow takes one away wherever it begins; at the file's it is gone already
            data = BOM + data
        try:
            table = pa_csv.read_csv(
                pa.BufferReader(data),
                read_options=pa_csv.ReadOptions(column_names=self._names, block_size=len(data) + 1, use_threads=False),
                parse_options=pa_csv.ParseOptions(
                    delimiter=self.dialect.delimiter if len(self.dialect.delimiter) == 1 else ONE_BYTE,
                    quote_char='"' if self.dialect.quoted else False,
                    newlines_in_values=self.dialect.quoted,
                    invalid_row_handler=skip,
                ),
                convert_options=pa_csv.ConvertOptions(
                    include_columns=self._wanted, column_types=self._types, null_values=[""]
                ),
            )
        except pa.ArrowException as error:
            raise self._unreadable(str(error), block) from None
        if len(self._types) < len(self._wanted) and table.num_rows:
            kinds = [pa.string() if pa.types.is_null(kind) else kind for kind in table.schema.types]
            self._types = dict(zip(self._wanted, kinds, strict=True))
            table = table.cast(pa.schema(self._types.items()))
        arrays = [column.combine_chunks() for column in table.columns]
        batch = pa.RecordBatch.from_arrays(arrays, names=self._columns)
        if block.rows != batch.num_rows + len(refused):
            block = exactly(block, self.dialect, self._name)
        return Parsed(batch, refused, block.rows, block.place, block.swallowed)

    def _unreadable(self, text: str, block: Block) -> InvalidInput:
        found = _NO_NUMBER.search(text)
        if found is None:
            return InvalidInput(f"{self._name} cannot be read near line {block.first_line:,}{shown(f' ({text})')}.")
        column = self.dialect.columns[int(found[1])]
        where = exactly(block, self.dialect, self._name).place.of(int(found[2]) - 1)
        return InvalidInput(
            f"Column `{column}` of {self._name} holds a value {where} that is no {found[3]}, as "
            f"those before are{shown(f' ({text})')}; make the column one kind."
        )
