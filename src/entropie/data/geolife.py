"""GeoLife's tree of .plt files as a table: a point becomes the cell it lies in, a stay in a cell one event."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.dialect import Dialect
from entropie.data.files import HashedFile, InputFile, combined_digest
from entropie.data.grid import MapGrid
from entropie.data.rejects import SAME_CELL, Rejects
from entropie.data.roles import Header
from entropie.data.tables import Batches, Chosen, Piece
from entropie.data.text import read_text
from entropie.errors import InvalidInput, shown
from entropie.progress import Progress

_FIELDS = ("latitude", "longitude", "zero", "altitude", "days", "date", "time")
_HEADER_LINES = 6
_TYPICAL_BYTES = 1 << 16
_WANTED = ("latitude", "longitude", "date", "time")


class GeolifeTable:
    """Every `<user>/Trajectory/<start>.plt` below a folder; user is the folder's name, item the cell."""

    columns: tuple[str, ...] = ("user", "cell", "time")

    def __init__(self, name: str, paths: Sequence[Path], grid: MapGrid) -> None:
        self.name = name
        self.header = Header(name, self.columns)
        self._grid = grid
        self._paths = [path for path in paths if path.parent.name == "Trajectory"]
        if not self._paths:
            raise InvalidInput(f"{name} holds no <user>/Trajectory/*.plt; name GeoLife's folder Data.")
        self._digests: list[tuple[str, str]] = []

    def type_of(self, column: str) -> pa.DataType:
        """Cells are numbers, the rest is text."""
        return pa.int64() if column == "cell" else pa.string()

    def batches(self, columns: Chosen, rejects: Rejects, progress: Progress) -> Batches:
        """Read one trajectory after the other."""
        for done, path in enumerate(self._paths):
            with self._by_number(done), HashedFile(path) as opened:
                yield from self._read(opened, columns, rejects)
                self._digests.append((_listed(path), opened.sha256()))
            progress("read", (done + 1) / len(self._paths))

    def paths(self) -> list[Path]:
        """The files, by number."""
        return self._paths

    def pieces(self, fine: bool) -> list[Piece]:
        """A trajectory is read as one; they are small and about alike."""
        return [Piece(number, _TYPICAL_BYTES) for number in range(len(self._paths))]

    def read(self, piece: Piece, columns: Chosen, rejects: Rejects) -> Iterator[pa.RecordBatch]:
        """Stream one trajectory."""
        with self._by_number(piece.file), HashedFile(self._paths[piece.file]) as opened:
            yield from self._read(opened, columns, rejects)
            opened.check_unchanged()

    def digest(self, file: int) -> tuple[str, str]:
        """Read a trajectory for its digest."""
        path = self._paths[file]
        with self._by_number(file), HashedFile(path) as opened:
            return _listed(path), opened.sha256()

    def sha256(self) -> str:
        """Digest of the listing of the files."""
        return combined_digest(self._digests)

    def hint(self) -> str:
        """Nothing to add: the columns are this class's own."""
        return ""

    @contextlib.contextmanager
    def _by_number(self, file: int) -> Iterator[None]:
        """Have messages name a trajectory by its number: its folder is the id of a person."""
        try:
            yield
        except InvalidInput as problem:
            path = str(self._paths[file])
            number = f"Trajectory {file + 1:,} of {self.name}{shown(f' ({path})')}"
            raise type(problem)(str(problem.args[0]).replace(path, number)) from None

    def _read(self, opened: HashedFile, columns: Chosen, rejects: Rejects) -> Iterator[pa.RecordBatch]:
        dialect = Dialect(",", False, _FIELDS, (), _HEADER_LINES, quoted=False)
        user = opened.path.parent.parent.name
        last = -1
        for points in read_text(InputFile(opened.path), opened, dialect, _WANTED, rejects):
            batch, last = self._events(user, points, last, rejects)
            yield batch.select(list(columns.values())).rename_columns(list(columns))

    def _events(self, user: str, points: pa.RecordBatch, last: int, rejects: Rejects) -> tuple[pa.RecordBatch, int]:
        """Turn points into entries to cells, given the cell of the point before."""
        cells = self._grid.cells(_floats(points.column("latitude")), _floats(points.column("longitude")))
        on_earth = cells >= 0
        if not on_earth.all():
            first = f"{rejects.last.of(int(np.argmin(on_earth)))}, expected degrees of latitude and longitude"
            rejects.add_dirty("no place on Earth", int(np.count_nonzero(~on_earth)), first)
        cells = cells[on_earth]
        entered = np.diff(cells, prepend=last) != 0
        rejects.excluded[SAME_CELL] += int(np.count_nonzero(~entered))
        points = points.filter(pa.array(on_earth)).filter(pa.array(entered))
        rejects.accepted -= int(np.count_nonzero(~on_earth))
        rejects.narrow(points.num_rows)
        times = pc.binary_join_element_wise(points.column("date"), points.column("time"), "T")
        users = pa.array([user] * len(times), pa.string())
        batch = pa.RecordBatch.from_arrays([users, pa.array(cells[entered]), times], names=list(self.columns))
        return batch, int(cells[-1]) if cells.size else last


def _listed(path: Path) -> str:
    """What the listing of files calls a trajectory."""
    return f"{path.parent.parent.name}/{path.name}"


def _floats(column: pa.Array) -> NDArray[np.float64]:
    """Read numbers; what is none becomes NaN."""
    try:
        return np.asarray(column.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return np.array([_float(text) for text in column.to_pylist()], np.float64)


def _float(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")
