"""A table with one more column, made from others of it: a cell from two coordinates, one item from several columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, cast

import pyarrow as pa
import pyarrow.compute as pc

from entropie.data.arrow import from_numpy, masked, one_of
from entropie.data.classify import readable
from entropie.data.coordinates import Cells, read_points
from entropie.data.rejects import Rejects
from entropie.data.roles import Header, choose_column, require_columns
from entropie.data.rules import FAULT, NULLS
from entropie.data.stays import Stays
from entropie.data.tables import Batches, Chosen, FileTable, Piece, Table
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.progress import Progress
from entropie.request import Source

_BETWEEN, _ESCAPE = "|", "\\"


class Made(Protocol):
    """How a column is made from others, batch by batch."""

    name: str  # of the column
    parts: dict[str, str]  # columns it is made from, by the roles that they are read under
    type: pa.DataType

    def arrays(self, parts: Sequence[pa.Array]) -> dict[str, pa.Array]:
        """The item of every row, and what else the judge of rows is to see."""


class CellOf:
    """Cells of a map from a latitude and a longitude; points themselves where stays are still to be found in them."""

    def __init__(self, latitude: str, longitude: str, cells: Cells, called: str, *, points: bool) -> None:
        self.name = f"{latitude},{longitude} as {called}"
        self.parts = {"latitude": latitude, "longitude": longitude}
        self.type = pa.int64() if points else cells.type
        self._cells = cells
        self._points = points

    def arrays(self, parts: Sequence[pa.Array]) -> dict[str, pa.Array]:
        """Items, arbitrary where coordinates are at fault; and the faults."""
        read = read_points(*map(readable, parts))
        items = from_numpy(read.values) if self._points else self._cells.names(read.values)
        return {"item": items, FAULT: from_numpy(read.faults)}


class Joined:
    """One item from several columns: their values with a bar between, nothing where one of them is missing."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.name = ",".join(columns)
        self.parts = {f"item {place}": column for place, column in enumerate(columns, 1)}
        self.type = pa.string()

    def arrays(self, parts: Sequence[pa.Array]) -> dict[str, pa.Array]:
        """Items; a bar or a backslash within a value is escaped, so that different values stay different items."""
        texts = []
        for part in parts:
            text = readable(part).cast(pa.string())
            text = masked(text, ~one_of(pc.utf8_trim_whitespace(text), NULLS))
            for sign in (_ESCAPE, _BETWEEN):
                if pc.any(pc.match_substring(text, sign)).as_py():
                    text = pc.replace_substring(text, sign, _ESCAPE + sign)
            texts.append(text)
        return {"item": pc.binary_join_element_wise(*texts, f" {_BETWEEN} ")}


class DerivedTable:
    """Any table with the column made; where nobody asks for it, the table as it is."""

    def __init__(self, table: Table, made: Made) -> None:
        self.made = made
        self.name = table.name
        self.columns = (*table.columns, made.name)
        self.header = Header(table.header.table, self.columns, table.header.certain)
        self._table = table

    def type_of(self, column: str) -> pa.DataType:
        """Type of a column as the source has it, or as it is made."""
        return self.made.type if column == self.made.name else self._table.type_of(column)

    def batches(self, columns: Chosen, rejects: Rejects, progress: Progress) -> Batches:
        """Stream the chosen columns, the one that is made among them."""
        for batch in self._table.batches(self._read_as(columns), rejects, progress):
            yield self._with_item(batch, columns)

    def sha256(self) -> str:
        """Digest of the source."""
        return self._table.sha256()

    def hint(self) -> str:
        """What the source adds."""
        return self._table.hint()

    def _read_as(self, columns: Chosen) -> Chosen:
        """Every column that is needed, once, though it may be an item's part and have a role of its own."""
        read: dict[str, str] = {str(role): column for role, column in columns.items() if column != self.made.name}
        if len(read) < len(columns):
            read |= {role: column for role, column in self.made.parts.items() if column not in read.values()}
        return cast(Chosen, read)

    def _with_item(self, batch: pa.RecordBatch, columns: Chosen) -> pa.RecordBatch:
        if self.made.name not in columns.values():
            return batch
        roles = {column: role for role, column in self._read_as(columns).items()}
        made = self.made.arrays([batch.column(roles[column]) for column in self.made.parts.values()])
        found: dict[str, pa.Array] = {role: made[role] if role in made else batch.column(role) for role in columns}
        return pa.RecordBatch.from_pydict({**found, **made})


class DerivedFileTable(DerivedTable):
    """The same over files, which may be read in pieces."""

    def __init__(self, table: FileTable, made: Made) -> None:
        super().__init__(table, made)
        self._files = table

    def paths(self) -> Sequence[Path]:
        """The files, by number."""
        return self._files.paths()

    def pieces(self, fine: bool) -> list[Piece]:
        """All there is to read."""
        return self._files.pieces(fine)

    def read(self, piece: Piece, columns: Chosen, rejects: Rejects) -> Iterator[pa.RecordBatch]:
        """Stream one piece with the column made."""
        for batch in self._files.read(piece, self._read_as(columns), rejects):
            yield self._with_item(batch, columns)

    def digest(self, file: int) -> tuple[str, str]:
        """Digest of a file."""
        return self._files.digest(file)


def with_item(table: Table, source: Source) -> Table:
    """The table with the item that the source describes, where no column holds it as it is."""
    made = _made(table, source)
    if made is None:
        return table
    for column in made.parts.values():
        require_columns([column], table.header)
    if hasattr(table, "pieces"):
        return DerivedFileTable(cast(FileTable, table), made)
    return DerivedTable(table, made)


def _made(table: Table, source: Source) -> Made | None:
    if source.cells is not None:
        latitude = choose_column("latitude", table.header, source.lat)
        longitude = choose_column("longitude", table.header, source.lon)
        if latitude == longitude:
            raise InvalidInput(
                f"Column `{latitude}` of {table.name} cannot be both latitude and longitude; name another with "
                f"{option('lon')}."
            )
        cells, positions = Cells.parse(source.cells), source.stays is not None
        return CellOf(latitude, longitude, cells, source.cells, points=positions)
    if source.item is None or "," not in source.item or source.item in table.columns:
        return None
    columns = [column.strip() for column in source.item.split(",")]
    if "" in columns or len(set(columns)) < len(columns):
        raise InvalidParameter.of("item", "different columns with a comma between them, such as city,shop", source.item)
    return Joined(columns)


def check_coordinates(source: Source) -> None:
    """Refuse options that go only together, or not together."""
    for name in ("lat", "lon", "stays"):
        if getattr(source, name) is not None and source.cells is None:
            raise InvalidParameter(f"{option(name)} needs {option('cells')}, such as h3:9 or grid:500m.")
    if source.cells is None:
        return
    for name in ("item", "grid"):
        if getattr(source, name) is not None:
            raise InvalidInput(f"{option('cells')} makes items from coordinates; leave {option(name)} out.")
    Cells.parse(source.cells)
    if source.stays is not None:
        Stays.parse(source.stays)
        if source.category is not None:
            raise InvalidParameter(f"{option('stays')} makes events that no row holds; leave {option('category')} out.")
