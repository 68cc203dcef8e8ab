"""A session that runs tasks here, one after the other: the same functions, cut in the same way, without a JVM."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from entropie.engine.spark import attackers, encoding, frequencies, plans
from entropie.release import on_spark


class Frame:
    """Partitions of batches, with what ingest and counting ask of a DataFrame."""

    def __init__(self, partitions: list[list[pa.RecordBatch]], session: Session | None = None) -> None:
        self.partitions = partitions
        self.sparkSession = session
        self.rdd = self
        self.columns = [*next((batch.schema.names for batches in partitions for batch in batches), [])]

    @classmethod
    def of(cls, table: pa.Table, session: Session) -> Frame:
        return cls([[batch] for batch in table.to_batches(max_chunksize=max(1, table.num_rows // 3))], session)

    def getNumPartitions(self) -> int:
        return len(self.partitions)

    def mapInArrow(self, task: Callable[[Iterator[pa.RecordBatch]], Any], _: str) -> Frame:
        from pyspark.cloudpickle import dumps

        sent = dumps(task)
        return self._of([list(pickle.loads(sent)(iter(batches))) for batches in self.partitions])

    def where(self, condition: str) -> Frame:
        name, numbers = re.fullmatch(r"(\w+) (?:= |in \()([\d, ]+)\)?", condition).groups()  # type: ignore[union-attr]
        wanted = [int(number) for number in numbers.split(",")]
        return self._of(
            [
                [batch.filter(pa.array(np.isin(batch.column(name).to_numpy(), wanted))) for batch in batches]
                for batches in self.partitions
            ]
        )

    def select(self, *names: str) -> Frame:
        return self._of([[batch.select(list(names)) for batch in batches] for batches in self.partitions])

    def repartition(self, partitions: int, *columns: str) -> Frame:
        rows = [
            batch.slice(row, 1) for batches in self.partitions for batch in batches for row in range(batch.num_rows)
        ]
        dealt: list[list[pa.RecordBatch]] = [[] for _ in range(partitions)]
        for number, row in enumerate(rows):
            key = hash(tuple(row.column(name)[0].as_py() for name in columns)) if columns else number
            dealt[key % partitions].append(row)
        return self._of(dealt)

    def toLocalIterator(self, prefetchPartitions: bool = False) -> Iterator[Any]:
        return iter(self.collect())

    def unionByName(self, other: Frame) -> Frame:
        return self._of([*self.partitions, *other.partitions])

    def collect(self) -> list[Any]:
        from pyspark.sql import Row

        return [Row(**row) for batches in self.partitions for batch in batches for row in batch.to_pylist()]

    def limit(self, rows: int) -> Frame:
        return self._of([[batch.slice(0, rows)] for batches in self.partitions[:1] for batch in batches[:1]])

    def count(self) -> int:
        return len(self.collect())

    def persist(self) -> Frame:
        return self

    def unpersist(self) -> None:
        pass

    def _of(self, partitions: list[list[pa.RecordBatch]]) -> Frame:
        return Frame(partitions, self.sparkSession)


def gathered(boxes: Frame, keys: int) -> Frame:
    """What Spark does with boxes: key k to partition k, in order of side and part; those that tie in any order."""
    found: list[list[tuple[int, int, pa.RecordBatch]]] = [[] for _ in range(keys)]
    for batches in reversed(boxes.partitions):
        for batch in batches:
            for row in range(batch.num_rows):
                key, side, part = (batch.column(name)[row].as_py() for name in ("key", "side", "part"))
                found[key].append((side, part, batch.slice(row, 1)))
    return boxes._of([[row[2] for row in sorted(rows, key=lambda row: row[:2])] for rows in found])


class Session:
    """Stands for a session with so many cores."""

    def __init__(self, cores: int = 2) -> None:
        self.sparkContext = self
        self.defaultParallelism = cores
        self.conf = self
        self.settings = {"spark.sql.shuffle.partitions": "7", "spark.sql.adaptive.enabled": "true"}

    def get(self, name: str) -> str:
        return self.settings[name]

    def set(self, name: str, value: str) -> None:
        self.settings[name] = value

    def range(self, begin: int, end: int, step: int, partitions: int) -> Frame:
        assert (begin, end, step) == (0, partitions, 1)
        numbers = [pa.RecordBatch.from_arrays([pa.array([number])], names=["id"]) for number in range(end)]
        return Frame([[number] for number in numbers], self)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Session:
    pytest.importorskip("pyspark")
    for module in (attackers, encoding, frequencies, on_spark):
        monkeypatch.setattr(module, "gathered", gathered)
    monkeypatch.setattr(plans, "_severed", lambda frame: frame)
    return Session()
