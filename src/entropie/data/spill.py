"""Rows that are dealt to parts and come back part by part: in memory while they are few, else in a file without a name.

The file holds numbers and no id, nobody else can open it, and it is gone when the process is, however that ends.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

PARTS = 256
Rows = NDArray[np.void]
"""Rows of named columns."""


@dataclass(slots=True)
class _Chunk:
    """Rows that came together, by part: where each part begins, and the rows, or where they are in the file."""

    starts: NDArray[np.int64]
    rows: Rows | None
    place: int = 0


class Spill:
    """Takes rows and gives back those of some parts, in the order in which they came.

    `room` is how many bytes may be held in memory; `folder` is where the file goes if they are more.
    """

    def __init__(self, columns: np.dtype[Any], folder: Path, room: int) -> None:
        self.columns, self._folder, self._room = columns, folder, room
        self._chunks: list[_Chunk] = []
        self._held = 0
        self._end = 0
        self._file: FileIO | None = None
        self.sizes = np.zeros(PARTS, np.int64)

    def __enter__(self) -> Spill:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.sizes.sum())

    def add(self, parts: NDArray[np.uint8], rows: Rows) -> None:
        """Take rows, each of a part."""
        order = np.argsort(parts, kind="stable")
        sizes = np.bincount(parts, minlength=PARTS)
        self.sizes += sizes
        self._chunks.append(_Chunk(np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))), rows[order]))
        self._held += rows.nbytes
        if self._held > self._room:
            self._write()

    def _write(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
        self._file.seek(self._end)
        for chunk in self._chunks:
            if chunk.rows is not None:
                left = chunk.rows.view(np.uint8).data
                chunk.rows, chunk.place, self._end = None, self._end, self._end + left.nbytes
                while left.nbytes:
                    left = left[self._file.write(left) :]
        self._held = 0

    def ranges(self, most: int) -> list[tuple[int, int]]:
        """The parts cut into ranges of at most so many rows, or of one part; ranges without rows are left out."""
        cuts, total = [0], 0
        for part, size in enumerate(self.sizes.tolist()):
            if total and total + size > most:
                cuts.append(part)
                total = 0
            total += size
        ranges = zip(cuts, [*cuts[1:], PARTS], strict=True)
        return [(first, last) for first, last in ranges if self.sizes[first:last].any()]

    def read(self, first: int, last: int) -> Rows:
        """The rows of parts first..last-1."""
        found = np.empty(int(self.sizes[first:last].sum()), self.columns)
        end = 0
        for chunk in self._chunks:
            begin, stop = int(chunk.starts[first]), int(chunk.starts[last])
            into = found[end : end + stop - begin]
            end += stop - begin
            if chunk.rows is not None:
                into[:] = chunk.rows[begin:stop]
            elif into.size:
                self._fill(into, chunk.place + begin * self.columns.itemsize)
        return found

    def _fill(self, rows: Rows, place: int) -> None:
        assert self._file is not None
        self._file.seek(place)
        left = rows.view(np.uint8).data
        while left.nbytes:
            got = self._file.readinto(left)
            if not got:
                raise OSError("A file of rows that were put aside is shorter than it was.")
            left = left[got:]
