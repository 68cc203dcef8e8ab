"""The main job on Spark: the assessment that one machine would give, from events that no one machine need hold."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from entropie.assessment import MANY_PEOPLE, Assessment, Progress, Run, assembled, check_attack, run_attacks
from entropie.attack.attackers import known_event_steps
from entropie.attack.matchers import MATCHERS
from entropie.attack.measured import AttackSpec, Training
from entropie.attack.scoring import needs_atoms
from entropie.data.prepare import Rule
from entropie.data.split import Knowledge
from entropie.engine.spark.boxes import gathered
from entropie.engine.spark.encoding import Ingested, ingest
from entropie.engine.spark.exchange import exchange_boxes
from entropie.engine.spark.grid import Attacked, attack_blocks
from entropie.engine.spark.information import attacked_pairs, dealt_pairs, identifying
from entropie.engine.spark.plans import Kept, shuffling
from entropie.engine.spark.progress import watched
from entropie.engine.spark.reading import parallelism
from entropie.engine.spark.session import failures, require
from entropie.engine.spark.settings import TASK_MEMORY, Grid, grid_of, parse_size
from entropie.engine.spark.statistics import Facts, ItemTotals, block_boxes, facts_of, item_totals, populations
from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.intervals import REPLICATES
from entropie.measures.summary import Measures
from entropie.request import SplitRule
from entropie.theory import checks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["assess"]


def assess(
    events: DataFrame | str | os.PathLike[str],
    *,
    spark: SparkSession | None = None,
    user: str | None = None,
    item: str | None = None,
    time: str | None = None,
    order: str | None = None,
    rating: str | None = None,
    preset: str | None = None,
    min_rating: float | None = None,
    grid: str | None = None,
    min_events: int = 10,
    max_dirty_share: float = 0.01,
    sample: int | None = None,
    matchers: Sequence[str] = tuple(MATCHERS),
    knowledge: Knowledge = "partial",
    rule: Rule = "halves",
    target_events: int | None = None,
    train_events: int | None = None,
    known_events: Sequence[int] | None = None,
    null_baseline: bool = True,
    seed: int = 0,
    replicates: int = REPLICATES,
    memory: str | int | None = None,
    partitions: int | None = None,
    block_users: int | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Assess a Spark DataFrame, or a path that the driver and every worker see, as `entropie.assess` does.

    The answer is that of one machine to the bit. `order` names the column that says which of a person's rows of equal
    time came first (a DataFrame has no order of its own; without times it is needed). `memory` is what one task may
    fill, such as 2GB: blocks of people are cut to it. `partitions` and `block_users` cut differently, and change no
    result. A path needs a session, given or active. All other arguments are those of `entropie.assess`.
    """
    begun = clock.perf_counter()
    require()
    check_attack(matchers, seed, None)
    chosen = SplitRule(rule, knowledge, train_events, target_events)
    for step in known_events or ():
        if step < 1:
            raise InvalidParameter.of("known_events", "at least 1", step)
    if block_users is not None:
        checks.whole_number("block_users", block_users, at_least=1)
    budget = TASK_MEMORY if memory is None else parse_size("memory", memory)
    session = _session(events, spark)
    with failures(session):
        with watched(session, progress, "reading"):
            people = ingest(
                session,
                events,
                user=user,
                item=item,
                time=time,
                order=order,
                rating=rating,
                preset=preset,
                min_rating=min_rating,
                grid=grid,
                min_events=min_events,
                max_dirty_share=max_dirty_share,
                sample=None if sample is None else checks.whole_number("sample", sample, at_least=2),
                partitions=partitions,
            )
        try:
            with shuffling(session, people.partitions):
                engine = _Engine.of(
                    session,
                    people,
                    chosen,
                    matchers=tuple(dict.fromkeys(matchers)),
                    null_baseline=null_baseline,
                    known_events=known_events,
                    memory=budget,
                    block_users=block_users,
                    seed=seed,
                    replicates=replicates,
                    tell=progress,
                )
                try:
                    return _assessed(engine, people, begun)
                finally:
                    engine.release()
        finally:
            people.release()


def _session(events: object, spark: SparkSession | None) -> SparkSession:
    from pyspark.sql import DataFrame, SparkSession

    if isinstance(events, DataFrame):
        return events.sparkSession
    if spark is None:
        spark = SparkSession.getActiveSession()
    if spark is None:
        raise InvalidParameter.of("spark", "given with a path, or active (see entropie.engine.spark.connect)", None)
    return spark


@dataclass(slots=True)
class _Engine:
    """Attacks on people spread over a cluster. It knows which attacks are coming, and runs those together."""

    spark: SparkSession
    rule: SplitRule
    facts: Facts
    timed: bool
    grid: Grid
    totals: ItemTotals
    everybody: DataFrame
    blocks: DataFrame
    matchers: tuple[str, ...]
    null_baseline: bool
    known_events: tuple[int, ...]
    seed: int
    replicates: int
    tell: Progress | None
    kept: Kept
    done: dict[AttackSpec, Attacked] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        people: Ingested,
        rule: SplitRule,
        *,
        matchers: tuple[str, ...],
        null_baseline: bool,
        known_events: Sequence[int] | None,
        memory: int,
        block_users: int | None,
        seed: int,
        replicates: int,
        tell: Progress | None,
    ) -> _Engine:
        """Count people and items, cut blocks, and put people in order where that is needed."""
        kept = Kept()
        with watched(spark, tell, "counting"):
            everybody = kept.keep(people.people)
            facts = facts_of(everybody, rule, people.users)
            if not facts.people:
                raise nobody_to_attack(people.users)
            if known_events is None:
                known_events = known_event_steps(*facts.train_lengths) if facts.people <= MANY_PEOPLE else ()
            steps = tuple(sorted(set(known_events)))
            trainings: tuple[Training, ...] = (None, *steps, *(("target",) if steps[:1] == (1,) else ()))
            grid = grid_of(
                facts.first,
                facts.bin_people,
                facts.bin_train,
                facts.bin_target,
                people.users,
                memory=memory,
                cores=parallelism(spark),
                models=len(matchers) if facts.people <= MANY_PEOPLE else 1,
                block_users=block_users,
            )
            totals = item_totals(everybody, rule, trainings, kept)
        blocks = kept.keep(gathered(block_boxes(everybody, totals, rule, grid.users), grid.user_blocks))
        if null_baseline or needs_atoms(facts.people, facts.people):
            with watched(spark, tell, "exchanging"):
                exchanged = exchange_boxes(
                    blocks, rule, facts.people, grid.users, seed, max(people.partitions, 1), kept
                )
                blocks = kept.keep(gathered(blocks.unionByName(exchanged), grid.user_blocks))
        return cls(
            spark, rule, facts, people.timed, grid, totals, everybody, blocks, matchers, null_baseline, steps, seed,
            replicates, tell, kept,
        )  # fmt: skip

    def release(self) -> None:
        """Let go of what Spark keeps."""
        self.kept.release()

    def measures(self, specs: Sequence[AttackSpec]) -> list[Measures]:
        """What each attack amounts to. Of few people the first call runs the attacks of all matchers.

        Of many it does not: the models of one matcher at a time are enough for the disks.
        """
        wanted = [spec for spec in specs if spec not in self.done]
        if wanted and not self.done and self.facts.people <= MANY_PEOPLE:
            both = (False, True) if self.null_baseline else (False,)
            wanted = [AttackSpec(name, exchanged=exchanged) for name in self.matchers for exchanged in both]
        if wanted:
            self.done |= dict(zip(wanted, self._run(wanted), strict=True))
        return [self.done[spec].measures for spec in specs]

    def seconds(self, name: str) -> float:
        """What a matcher's cells took, on all cores together."""
        return sum(found.seconds for spec, found in self.done.items() if spec.matcher == name and spec.training is None)

    def _run(self, specs: Sequence[AttackSpec]) -> list[Attacked]:
        needed = [(spec.matcher, spec.training) for spec in specs]
        with watched(self.spark, self.tell, "tuning"):
            known = populations(self.blocks, self.rule, self.facts, self.totals, needed, timed=self.timed)
        return attack_blocks(
            self.blocks,
            self.rule,
            self.grid,
            known,
            specs,
            single=int(self.facts.target_lengths[0].max()) == 1,
            seed=self.seed,
            replicates=self.replicates,
            tell=self.tell,
        )


def nobody_to_attack(users: int) -> InvalidInput:
    """As one machine says it."""
    return InvalidInput(
        f"None of {users} users has events both to learn from and to attack; "
        "two events per user are needed to split a trace into halves."
    )


def _assessed(engine: _Engine, people: Ingested, begun: float) -> Assessment:
    rule, facts, spark = engine.rule, engine.facts, engine.spark
    run = run_attacks(
        engine,
        *facts.train_lengths,
        matchers=engine.matchers,
        knowledge=rule.knowledge,
        known_events=engine.known_events,
        null_baseline=engine.null_baseline,
    )
    attacks = tuple(replace(attack, seconds=engine.seconds(attack.matcher)) for attack in run.attacks)
    run = Run(attacks, run.by_known_events, run.attacker_levels)
    with watched(spark, engine.tell, "weighing items"):
        pairs = attacked_pairs(engine.everybody, rule)
        found, popularity = identifying(pairs, facts.people, facts.events, people.partitions)
        dealt = dealt_pairs(spark, facts.whole_lengths, popularity, engine.seed, facts.people, people.partitions)
        by_chance, _ = identifying(dealt, facts.people, facts.events, people.partitions)
        codes = [shown.code for shown in found.shown]
        named = people.items.where(people.items["code"].isin(codes)).collect() if codes else []
    names = {row["code"]: row["name"] for row in named}
    return assembled(
        run,
        input_facts=people.facts,
        split_facts={
            "rule": rule.rule,
            "knowledge": rule.knowledge,
            "train_events": rule.train_events,
            "target_events": rule.target_events,
            "dropped_users": facts.dropped,
            "converge": False,
        },
        users=facts.people,
        items=int(popularity[1].sum()),
        events=facts.events,
        found=found,
        null_bits=by_chance.bits,
        item_name=lambda code: str(names[code]),
        convergence=None,
        seed=engine.seed,
        replicates=engine.replicates,
        begun=begun,
    )
