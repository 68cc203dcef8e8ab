"""From rows to people on Spark: ids become the codes that one machine would give them, and the account is the same.

Every step is an operation on tables; what the driver sees is counts. Codes are ranks: a table is cut into ranges of
its order, each range counts its rows, and a row's code is its place in its range after the rows of the ranges before.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from entropie.data.arrow import from_numpy, values_of
from entropie.data.events import Found, IngestReport, ingest_report
from entropie.data.filter import nobody_active, user_hashes
from entropie.data.rejects import Rejects
from entropie.data.rules import reason_code, settle
from entropie.data.times import SIZES, TickFacts, ticks_per_second
from entropie.engine.spark.people import gather_people
from entropie.engine.spark.plans import shuffling
from entropie.engine.spark.reading import (
    FOUND_READING,
    LEFT_OUT_READING,
    LEFT_OUT_ROW,
    Rows,
    open_rows,
    parallelism,
)
from entropie.engine.spark.session import failures
from entropie.errors import InvalidInput, InvalidParameter

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row, SparkSession

__all__ = ["Ingested", "ingest"]

_MOST_CODES = 2**31
_SHIFT = 1 << 63


@dataclass(frozen=True, slots=True)
class Ingested:
    """People ready to be attacked, and the account of what was read and left out.

    people        one row per person: `user` int, `items` array<int>, `seconds` array<bigint> or null, in partitions
                  that are ranges of user codes
    items         one row per item that people have: `code` bigint, `name` string
    users, events, domain_size   how many people, events and items there are in `people`
    timed         whether seconds are known
    partitions    how many partitions `people` has
    report        what was read, before people were chosen
    facts         what was read and left out, as in assessment.json
    """

    people: DataFrame
    items: DataFrame
    users: int
    domain_size: int
    events: int
    timed: bool
    partitions: int
    report: IngestReport
    facts: dict[str, Any]
    kept: tuple[DataFrame, ...] = ()

    def release(self) -> None:
        """Let go of what Spark keeps of these people."""
        for frame in self.kept:
            frame.unpersist()


def ingest(
    spark: SparkSession,
    source: object,
    *,
    user: str | None = None,
    item: str | None = None,
    time: str | None = None,
    rating: str | None = None,
    preset: str | None = None,
    min_rating: float | None = None,
    grid: str | None = None,
    header: bool | None = None,
    order: str | None = None,
    min_events: int = 10,
    max_dirty_share: float = 0.01,
    sample: int | None = None,
    partitions: int | None = None,
) -> Ingested:
    """Read a table, choose people and number them and their items, as `prepare_events` does on one machine.

    `partitions` is how many blocks of people there are to be; what comes out does not depend on it. Other arguments
    are those of `prepare_events`, and `order` that of `open_rows`.
    """
    if min_events < 0:
        raise InvalidParameter.of("min_events", "at least 0", min_events)
    if partitions is not None and partitions < 1:
        raise InvalidParameter.of("partitions", "at least 1", partitions)
    from pyspark.sql import DataFrame

    if not hasattr(DataFrame, "repartitionById"):
        raise InvalidInput("Spark must be 4.1 or newer for people to be cut into blocks; upgrade it.")
    rows = open_rows(
        spark, source, user=user, item=item, time=time, rating=rating, preset=preset, min_rating=min_rating,
        grid=grid, header=header, max_dirty_share=max_dirty_share, order=order,
    )  # fmt: skip
    blocks = partitions or max(4 * parallelism(spark), rows.parts or 0)
    work = _Work(rows, blocks, [])
    with failures(spark), shuffling(spark, blocks):
        try:
            return work.ingested(min_events, sample)
        except BaseException:
            work.release()
            raise


@dataclass(frozen=True)
class _Work:
    """The steps, and the tables that Spark keeps on the way."""

    source: Rows
    blocks: int
    kept: list[DataFrame]

    def ingested(self, min_events: int, sample: int | None) -> Ingested:
        from pyspark.sql import functions as sf

        opened, time = self.source.opened, self.source.time
        # One shuffle by user serves counting people, finding duplicates and joining codes.
        rows = self._keep(self.source.rows.repartition(self.blocks, "user"))
        account = self._account(rows)
        rejects, read = _settled(account, self.source)
        usable = next(row for row in account if row["reason"] is None)
        per_second = None
        if time is not None:
            below = tuple(int(usable[f"below{place}"]) for place in range(len(SIZES)))
            facts = TickFacts(int(usable["count"]), below, int(usable["least"]), int(usable["most"]))  # type: ignore[arg-type]
            per_second = ticks_per_second(facts, time)
        events = rows.where("reason is null")
        numeric = {role: bool(usable[f"{role}_whole"]) for role in ("user", "item")}

        counts = self._keep(events.groupBy("user").agg(sf.count("*").alias("n")))
        active = sf.col("n") >= min_events
        people = counts.agg(
            sf.count("*").alias("users"),
            sf.max("n").alias("most"),
            sf.count_if(active).alias("active"),
            sf.coalesce(sf.sum(sf.when(active, sf.col("n"))), sf.lit(0)).alias("events"),
        ).collect()[0]
        if not people["active"]:
            raise nobody_active(min_events, people["most"])
        found = Found(
            rows=read,
            events=int(usable["count"]),
            users=people["users"],
            items=events.select("item").distinct().count(),
            duplicates=None if time is None else _duplicates(events),
            order_only=per_second is None,
            sha256=self.source.sha256,
        )
        report = ingest_report(opened.table, found, rejects, opened.choices, time)
        input_facts = {
            **report.as_dict(),
            "min_events": min_events,
            "dropped_users": people["users"] - people["active"],
            "dropped_events": found.events - people["events"],
        }
        chosen = counts.where(active).withColumn("key", _key("user", numeric["user"]))
        if sample is not None and sample < people["active"]:
            if sample < 1:
                raise InvalidParameter.of("count", "at least 1", sample)
            chosen = self._sampled(chosen, sample)
            input_facts["sampled_users"] = sample
        users, total_users, total_events = self._ranked(chosen, ["key"], "user")
        block = sf.expr(f"cast(least(before * {self.blocks} div {total_events}, {self.blocks - 1}) as int)")
        codes = users.select("user", sf.col("code").cast("int").alias("code"), block.alias("block"))
        mine = self._keep(
            events.select("user", "item", "tick", "row")
            .join(codes.hint("shuffle_hash"), "user")
            .select("block", sf.col("code").alias("user"), "item", "tick", "row")
        )
        used = (
            mine.select("item")
            .distinct()
            .select("item", _key("item", numeric["item"]).alias("key"), sf.lit(1).alias("n"))
        )
        items, domain_size, _ = self._ranked(used, ["key"], "item")
        item_codes = items.select("item", sf.col("code").cast("int").alias("code"))
        coded = mine.join(item_codes.hint("shuffle_hash"), "item").select(
            "block", "user", sf.col("code").alias("item"), "tick", "row"
        )
        gathered = self._keep(gather_people(coded, self.blocks, per_second, opened.newest_first))
        gathered.count()  # so that what it was made of can go
        for frame in (rows, counts, mine):
            frame.unpersist()
            self.kept.remove(frame)
        names = items.select("code", _name("item", self.source.unsigned["item"]).alias("name"))
        return Ingested(
            gathered, names, total_users, domain_size, total_events, per_second is not None, self.blocks, report,
            input_facts, tuple(self.kept),
        )  # fmt: skip

    def release(self) -> None:
        """Let go of everything, after an error."""
        for frame in self.kept:
            frame.unpersist()

    def _keep(self, frame: DataFrame) -> DataFrame:
        from pyspark import StorageLevel

        self.kept.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        return self.kept[-1]

    def _account(self, rows: DataFrame) -> list[Row]:
        """What there is, by reason: counts, and of the usable rows (no reason) all that later steps depend on."""
        from pyspark.sql import functions as sf

        sizes = [
            sf.count_if((sf.col("tick") > -size) & (sf.col("tick") < size)).alias(f"below{place}")
            for place, size in enumerate(SIZES)
        ]
        types = dict(rows.dtypes)
        wholes = [
            sf.bool_and(sf.expr(f"cast(try_cast({role} as bigint) as string) <=> {role}")).alias(f"{role}_whole")
            if types[role] == "string"
            else sf.lit(False).alias(f"{role}_whole")
            for role in ("user", "item")
        ]
        return rows.groupBy("reason").agg(
            sf.sum("count").alias("count"),
            sf.min("row").alias("first"),
            sf.min_by("example", "row").alias("example"),
            sf.min("tick").alias("least"),
            sf.max("tick").alias("most"),
            *sizes,
            *wholes,
        ).collect()  # fmt: skip

    def _sampled(self, people: DataFrame, count: int) -> DataFrame:
        """Keep the people with the lowest hashes of their ids; of equal hashes the first in order."""
        kind = dict(people.dtypes)
        schema = f"user {kind['user']}, n bigint, key {kind['key']}, hash bigint"
        hashed = people.select("user", "n", "key").mapInArrow(_Hash(self.source.unsigned["user"]), schema)
        ranked, _, _ = self._ranked(hashed, ["hash", "key"], "user")
        return ranked.where(f"code < {count}").select("user", "n", "key")

    def _ranked(self, frame: DataFrame, keys: list[str], what: str) -> tuple[DataFrame, int, int]:
        """Give rows their rank in the order of unique keys as `code`, and the sum of `n` over those before.

        The table is kept, so that running a task again cannot cut the ranges elsewhere. Returns the table, how many
        rows it has, and the sum of `n`.
        """
        from pyspark.sql import functions as sf

        kinds = ", ".join(f"{name} {kind}" for name, kind in frame.dtypes)
        ranges = frame.repartitionByRange(self.blocks, *keys).sortWithinPartitions(*keys)
        placed = self._keep(ranges.mapInArrow(_number, f"{kinds}, part int, place bigint, sum_before bigint"))
        sizes = {
            row["part"]: (row["rows"], row["total"])
            for row in placed.groupBy("part").agg(sf.count("*").alias("rows"), sf.sum("n").alias("total")).collect()
        }
        parts = [sizes.get(part, (0, 0)) for part in range(max(sizes, default=0) + 1)]
        before = [list(itertools.accumulate((part[place] for part in parts), initial=0)) for place in (0, 1)]
        if before[0][-1] >= _MOST_CODES:
            raise InvalidInput(
                f"There are {before[0][-1]:,} {what}s, more than Spark's {_MOST_CODES:,} codes; read a sample of them."
            )
        offsets, sums = (sf.array([sf.lit(number).cast("bigint") for number in numbers]) for numbers in before)
        coded = placed.withColumn("code", offsets[sf.col("part")] + sf.col("place")).withColumn(
            "before", sums[sf.col("part")] + sf.col("sum_before")
        )
        return coded.drop("part", "place", "sum_before"), before[0][-1], before[1][-1]


def _settled(account: list[Row], source: Rows) -> tuple[Rejects, int]:
    """Enter the counts as one machine does, in the order in which it meets them, and hold them to the same rules."""
    rejects = Rejects(source.opened.table.name, patient=True)
    counts: dict[int, int] = {}
    for row in sorted(account, key=lambda row: row["first"]):
        reason, count = row["reason"], int(row["count"])
        if reason is None:
            counts[0] = count
        elif reason.startswith(LEFT_OUT_ROW):
            counts[reason_code(reason.removeprefix(LEFT_OUT_ROW))] = count
        elif reason.startswith(LEFT_OUT_READING):
            rejects.excluded[reason.removeprefix(LEFT_OUT_READING)] = count
        else:
            rejects.add_dirty(reason.removeprefix(FOUND_READING), count, row["example"])
    rejects.accepted = sum(counts.values()) + rejects.excluded.total()
    rejects.check_hopeless()
    return rejects, settle(counts, source.opened.rules(source.time), rejects)


def _duplicates(events: DataFrame) -> int:
    from pyspark.sql import functions as sf

    repeated = events.groupBy("user", "tick", "item").agg((sf.count("*") - 1).alias("again"))
    return int(repeated.agg(sf.sum("again")).collect()[0][0])


def _key(role: str, numeric: bool) -> Column:
    """What ids are ordered by: their number where all are digits, else the bytes of their text."""
    from pyspark.sql import functions as sf

    return sf.expr(f"try_cast({role} as bigint)") if numeric else sf.col(role)


def _name(role: str, unsigned: bool) -> Column:
    """The text of an id."""
    from pyspark.sql import functions as sf

    return (
        sf.expr(f"cast(cast({role} as decimal(20, 0)) + {_SHIFT} as string)")
        if unsigned
        else sf.col(role).cast("string")
    )


@dataclass(frozen=True)
class _Hash:
    """A task: add to every person the hash that sampling goes by."""

    unsigned: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ids = batch.column("user").to_pylist()
            hashes = user_hashes([id + _SHIFT for id in ids] if self.unsigned else ids)
            ordered = (hashes ^ np.uint64(_SHIFT)).view(np.int64)  # signed, in the same order
            yield batch.append_column("hash", from_numpy(ordered))


def _number(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task: number the rows of a range in their order, and sum up `n` over those before."""
    from pyspark import TaskContext

    context = TaskContext.get()
    part = 0 if context is None else context.partitionId()
    rows = total = 0
    for batch in batches:
        size = batch.num_rows
        n = values_of(batch.column("n")).astype(np.int64)
        before = total + np.cumsum(n) - n
        for name, values in (
            ("part", np.full(size, part, np.int32)),
            ("place", np.arange(rows, rows + size)),
            ("sum_before", before),
        ):
            batch = batch.append_column(name, from_numpy(values))
        rows += size
        total += int(n.sum())
        yield batch
