"""Tables that Spark keeps, with short plans: what is derived from them does not drag their whole history along."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@contextmanager
def shuffling(spark: SparkSession, partitions: int) -> Iterator[None]:
    """Cut what is exchanged between tasks into so many parts, where a query does not say; as before afterwards.

    A query is planned once, not again after each of its stages: all parts are of known sizes here, and each new plan
    would be a job of its own.
    """
    chosen = {"spark.sql.shuffle.partitions": str(partitions), "spark.sql.adaptive.enabled": "false"}
    before = {name: spark.conf.get(name) for name in chosen}
    for name, value in chosen.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        with suppress(Exception):  # the session may have ended
            for name, earlier in before.items():
                if earlier is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, earlier)


@dataclass(slots=True)
class Kept:
    """What Spark keeps for a job, to be let go of together."""

    frames: list[DataFrame] = field(default_factory=list)

    def keep(self, frame: DataFrame) -> DataFrame:
        """Keep a table in memory and on disk, and hand it back with a plan that begins there.

        A plan holds its sources as often as it uses them, so that a chain of tables, each used twice by the next,
        doubles its plan at every step. Spark still knows how each partition came about, and makes anew what a lost
        worker takes with it.
        """
        frame.persist()
        self.frames.append(frame)
        return _severed(frame)

    def release(self) -> None:
        """Let go of everything, the latest first."""
        while self.frames:
            self.frames.pop().unpersist()


def _severed(frame: DataFrame) -> DataFrame:
    """The same rows, as a table that has no plan but its rows."""
    from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

    session: Any = frame.sparkSession
    java: Any = frame._jdf
    schema = java.schema()
    try:
        made = session._jsparkSession.internalCreateDataFrame(java.queryExecution().toRdd(), schema, False)
    except TypeError:  # no such method in this Spark: go through the public one, which copies every row
        made = session._jsparkSession.createDataFrame(java.javaRDD(), schema)
    return ClassicFrame(made, session)
