"""The attacks on Spark: what one machine would find, from events that no one machine need hold."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from entropie.attack.attacker import AttackerRow
from entropie.attack.scoring import needs_atoms
from entropie.data.filter import no_history
from entropie.data.split import nobody_to_attack
from entropie.engine.spark.attackers import attacker_rows, fits_a_task, reads_files, rows_from_files
from entropie.engine.spark.boxes import gathered
from entropie.engine.spark.encoding import Ingested, ingest
from entropie.engine.spark.exchange import exchange_boxes
from entropie.engine.spark.grid import Job, attack_blocks
from entropie.engine.spark.information import attacked_pairs, dealt_pairs, identifying
from entropie.engine.spark.plans import shuffling
from entropie.engine.spark.progress import watched
from entropie.engine.spark.reading import parallelism
from entropie.engine.spark.session import connect, failures, require
from entropie.engine.spark.statistics import Items, block_boxes, populations
from entropie.errors import InvalidParameter, option
from entropie.findings import Attacked as AttackedPeople
from entropie.findings import Findings, put_together
from entropie.plan.attacks import AttackSpec
from entropie.plan.execution import Attacked, Outcome, executed
from entropie.plan.plan import Plan, plan_of, workers_of
from entropie.request import Limits, People, Request

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def assess_on_spark(request: Request) -> Findings:
    """Assess the events of a request, a DataFrame or a path, on the cluster of its `run`.

    The answer is that of one machine to the bit. `source.order` names the column that says which of a person's rows of
    equal time came first (a DataFrame has no order of its own; without times it is needed). `run.memory` is what one
    task may fill: blocks of people are cut to it. A path needs a session, given or active, or a master.
    """
    begun = clock.perf_counter()
    require()
    run, files = request.run, reads_files(request)
    with session_of(request) as session, failures(session):
        with watched(session, run.progress, "reading"):
            people = ingest(session, replace(request, source=replace(request.source, category=None)))
        try:
            if not people.counted.people:
                one_each = people.events <= people.users
                raise no_history(1) if one_each else nobody_to_attack(people.users)
            fits = fits_a_task(people, request)
            with shuffling(session, people.partitions):
                engine = SparkEngine(session, people, replace(request, split=people.rule))
                return _assessed(engine, begun, (_from_files if files else _rows) if fits else None)
        finally:
            people.release()


@contextmanager
def session_of(request: Request) -> Iterator[SparkSession]:
    """The session of a DataFrame, the one given, the active one, or one of our own with the master that is named."""
    from pyspark.sql import DataFrame, SparkSession

    events, run = request.source.events, request.run
    spark = events.sparkSession if isinstance(events, DataFrame) else run.spark
    if spark is None and run.master is not None:
        own = connect(run.master)
        try:
            yield own
        finally:
            own.stop()
        return
    spark = spark or SparkSession.getActiveSession()
    if spark is None:
        raise InvalidParameter(
            f"Files on Spark need a cluster: name it with {option('master')}, or have a session active "
            "(entropie.engine.spark.connect starts one)."
        )
    yield spark


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Attacks on people spread over a cluster."""

    spark: SparkSession
    people: Ingested
    request: Request

    def plan(self) -> Plan:
        """What the request takes for these people on this cluster."""
        return plan_of(self.request, self.people.counted.counts, workers_of(self.request.run, parallelism(self.spark)))

    def execute(self, plan: Plan) -> Outcome:
        """Run every attack of the plan."""
        return executed(plan, _Blocks.of(self, plan))


@dataclass(frozen=True, slots=True)
class _Blocks:
    """People in the blocks of a plan, with what everybody's data say of their items."""

    engine: SparkEngine
    items: Items
    boxes: DataFrame

    @classmethod
    def of(cls, engine: SparkEngine, plan: Plan) -> _Blocks:
        """Count items, put people into blocks, and in order where that is needed."""
        spark, rule, run, people = engine.spark, engine.request.split, engine.request.run, engine.people
        kept, blocks = people.kept, plan.grid.user_blocks
        with watched(spark, run.progress, "counting"):
            items = Items.of(people.people, rule, plan, people.partitions, kept)
        boxes = kept.keep(gathered(block_boxes(people.people, items, rule, plan), blocks))
        if plan.control or needs_atoms(plan.people, plan.targets):
            with watched(spark, run.progress, "exchanging"):
                exchanged = exchange_boxes(boxes, rule, plan, run.seed, people.partitions, kept)
                boxes = kept.keep(gathered(boxes.unionByName(exchanged), blocks))
        return cls(engine, items, boxes)

    def attacked(self, plan: Plan, specs: Sequence[AttackSpec]) -> list[Attacked]:
        """Run attacks of the plan together."""
        engine, rule, run = self.engine, self.engine.request.split, self.engine.request.run
        needed = [(spec.matcher, spec.training) for spec in specs]
        with watched(engine.spark, run.progress, "learning"):
            known = populations(self.boxes, rule, self.items, engine.people, needed)
        return attack_blocks(self.boxes, Job(plan, rule, tuple(specs), known, run.seed, run.replicates), run.progress)


Runners = Callable[[SparkEngine], tuple[tuple[AttackerRow, ...], dict[str, Any]]]


def _from_files(engine: SparkEngine) -> tuple[tuple[AttackerRow, ...], dict[str, Any]]:
    """The attackers who need categories or another file, and the account with both."""
    return rows_from_files(engine.spark, engine.request)


def _rows(engine: SparkEngine) -> tuple[tuple[AttackerRow, ...], dict[str, Any]]:
    """The attackers by what they know, and the account of what was read; who has few events is read once more, where
    there is anybody.
    """
    people, request = engine.people, engine.request
    if not people.facts["dropped_users"]:
        return attacker_rows(people, people, request), people.facts
    everybody = ingest(engine.spark, replace(request, people=People(0), verdict=Limits()))
    try:
        return attacker_rows(people, everybody, request), people.facts
    finally:
        everybody.release()


def _assessed(engine: SparkEngine, begun: float, attackers: Runners | None) -> Findings:
    request, spark, people, ranges = engine.request, engine.spark, engine.people, engine.people.partitions
    facts, run = people.counted, request.run
    outcome = engine.execute(engine.plan())
    with watched(spark, run.progress, "weighing items"):
        found, popularity = identifying(attacked_pairs(people.people, request.split, ranges), facts, ranges)
        by_chance, _ = identifying(dealt_pairs(spark, facts, popularity, run.seed, ranges), facts, ranges)
        names = people.names([shown.code for shown in found.shown])
    with watched(spark, run.progress, "attacking: known events, earlier behaviour"):
        rows, account = ((), people.facts) if attackers is None else attackers(engine)
    attacked = AttackedPeople(
        input=account,
        dropped_users=facts.dropped,
        users=facts.people,
        items=int(popularity[1].sum()),
        events=facts.events,
        rule=request.split,
        attackers=rows,
        item_bits=found,
        null_bits=by_chance.bits,
        item_name=names.__getitem__,
    )
    return put_together(outcome, attacked, request, begun)
