"""Rows of a table in random order, whatever its size: dealt to files at random, each shuffled in memory.

Every row goes to one of many files by chance, and the rows of a file are put in random order when it is read: all
orders of all rows are equally likely (Rao 1961, Sandelius 1962). What fits into memory never touches a file. The files
have no names and hold only what will be written.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Words = Callable[[int], NDArray[np.uint64]]
"""So many uniform 64-bit numbers."""
_FILES = 64
_ROWS = 1 << 16


class Shuffle:
    """Takes batches of rows of one schema and gives them back in random order, in batches of equal size.

    `limit` is how many bytes may be held in memory; `folder` is where files go if they are more.
    """

    def __init__(self, words: Words, folder: Path, limit: int) -> None:
        self._words = words
        self._folder = folder
        self._limit = limit
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self._files: list[Any] = []
        self._writers: list[Any] = []
        self._sizes: list[int] = []
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Shuffle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, problem, trace)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take these rows."""
        if self._files:
            self._deal(batch)
            return
        self._held.append(batch)
        self._bytes += batch.nbytes
        if self._bytes > self._limit:
            self._start_files(batch.schema)
            for held in self._held:
                self._deal(held)
            self._held = []

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows in random order."""
        rest: list[pa.RecordBatch] = []
        rows = 0
        for part in self._parts():
            for batch in part.to_batches(max_chunksize=_ROWS):
                rest.append(batch)
                rows += batch.num_rows
                while rows >= _ROWS:
                    whole = pa.Table.from_batches(rest).combine_chunks()
                    yield whole.slice(0, _ROWS).to_batches()[0]
                    rest, rows = whole.slice(_ROWS).to_batches(), rows - _ROWS
        if rows:
            yield pa.Table.from_batches(rest).combine_chunks().to_batches()[0]

    def _parts(self) -> Iterator[pa.Table]:
        if not self._files:
            if self._held:
                yield self._in_random_order(pa.Table.from_batches(self._held))
            return
        for writer in self._writers:
            writer.close()
        for file, size in zip(self._files, self._sizes, strict=True):
            file.seek(0)
            with pa.ipc.open_stream(file) as stream:
                if size <= self._limit or size == sum(self._sizes):
                    table = stream.read_all()
                    if table.num_rows:
                        yield self._in_random_order(table)
                    continue
                with Shuffle(self._words, self._folder, self._limit) as again:
                    for batch in stream:
                        again.add(batch)
                    yield from again._parts()

    def _in_random_order(self, table: pa.Table) -> pa.Table:
        return table.take(pa.array(random_order(table.num_rows, self._words)))

    def _start_files(self, schema: pa.Schema) -> None:
        for _ in range(_FILES):
            file = self._open.enter_context(tempfile.TemporaryFile(dir=self._folder))  # noqa: SIM115
            self._files.append(file)
            self._writers.append(pa.ipc.new_stream(file, schema))
            self._sizes.append(0)

    def _deal(self, batch: pa.RecordBatch) -> None:
        dealt = self._words(batch.num_rows) % np.uint64(_FILES)  # 64 divides 2^64: every file is equally likely
        for place in range(_FILES):
            rows = np.flatnonzero(dealt == place)
            if rows.size:
                part = batch.take(pa.array(rows))
                self._writers[place].write_batch(part)
                self._sizes[place] += part.nbytes


def random_order(rows: int, words: Words) -> NDArray[np.int64]:
    """Every order of so many rows with the same probability: the order of different random numbers."""
    while True:
        drawn = words(rows)
        order = np.argsort(drawn, kind="stable")
        if rows < 2 or bool((np.diff(drawn[order]) > 0).all()):  # else two are equal, and order would not be chance
            return np.asarray(order)
