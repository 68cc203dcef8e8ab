"""What an assessment on Spark takes: blocks, core-hours, bytes on the network, memory. A projection, not a promise.

The grid: people are cut into U blocks that fit the memory of a task, targets into S splits, and each of the U S cells
of an attack scores one split against one block. docs/scaling.md writes out every formula.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from entropie.attack.matchers import MATCHERS, MatcherRates, matcher
from entropie.errors import InvalidParameter, Unreachable
from entropie.theory import checks

__all__ = [
    "SCHEMA",
    "Blocks",
    "Cluster",
    "Plan",
    "Rates",
    "Workload",
    "executors_for",
    "matchers_of",
    "people_per_event",
    "plan",
]

SCHEMA = "entropie.plan/1"
ZIPF_EXPONENT = 0.7
"""Check-ins of New York are shared as by a Zipf law of 0.64, of São Paulo as by one of 0.68; a little more is safe."""
DISTINCT_SHARE = 0.5
"""Items over events of a person in half of her events: 0.48 in New York, 0.34 in São Paulo, near 1 for films."""
CELLS_PER_CORE = 3
MOST_EXECUTORS = 10**6
_EXACT_ITEMS = 4096
_WHAT_IT_IS = (
    "A projection from rates of small runs, not a promise: it may well be wrong by a factor of three. Waiting for "
    "machines, tasks that are run again and other jobs on the same cluster are not in it."
)
_WHAT_DECIDES = (
    "The number of people who share the item of an event, {:,.0f} here, decides the time of scoring; measure it on a "
    "sample of the data where you can, and mind that it grows with the people."
)
_NS_PER_HOUR = 3.6e12
_MB = 10**6


@dataclass(frozen=True, slots=True)
class Rates:
    """Constants of one core and of what is stored and moved; times in nanoseconds.

    Those of matchers and the time per event are printed by `scripts/bench spark`; the others follow from the sizes of
    arrays, or are set by hand.
    """

    matchers: Mapping[str, MatcherRates] = field(default_factory=dict)  # where they are not the matcher's own
    read_ns: float = 1_400.0  # per event
    encode_ns: float = 16_000.0  # per event, counting people and weighing items included
    entry_ns: float = 100.0  # per entry of a row made, moved and indexed
    target_ns: float = 8_000.0  # per target and user block, beside its matched pairs
    result_ns: float = 1_000.0  # per target and user block, merged
    law_ns: float = 10e6  # per cell, merged
    last_ns: float = 2_000.0  # per target, in the one last task of an attack
    overhead: float = 1.5  # what Spark adds to the work itself
    event_bytes: float = 14.0  # per event in the table of people
    shuffled_event_bytes: float = 40.0  # per event, each time that events change place
    entry_bytes: float = 16.0  # key and weight
    posting_bytes: float = 12.0  # an entry of the index over a block
    state_bytes: float = 96.0  # per person of a block while it is scored
    result_bytes: float = 40.0  # per target and user block
    last_bytes: float = 120.0  # per target, in the last task of an attack
    law_bytes: float = 2**20  # 2^16 values and their counts
    driver_bytes: float = 2 * 10**9
    task_memory: float = 0.6  # share of an executor's memory that its Python tasks have together
    event_moves: float = 3.0  # two joins and one sort

    def of(self, name: str) -> MatcherRates:
        """The rates of a matcher."""
        return self.matchers.get(name) or matcher(name).rates


@dataclass(frozen=True, slots=True)
class Workload:
    """The data and what is done with them; one half of the events is learned, the other attacked.

    matched_people   mean number of people who have the item of a random target event
    distinct         distinct items per event of a person
    attacks          attacks per matcher: 2 with the check on permuted people, 1 without
    """

    users: int
    events: int
    items: int
    matchers: tuple[str, ...]
    matched_people: float
    distinct: float = DISTINCT_SHARE
    attacks: int = 2

    def __post_init__(self) -> None:
        checks.whole_number("users", self.users, at_least=2)
        checks.whole_number("events", self.events, at_least=2 * self.users)
        checks.whole_number("items", self.items, at_least=1)
        if not self.matchers:
            raise InvalidParameter("Parameter `matchers` must name at least one matcher.")
        for name in self.matchers:
            matcher(name)
        if not 0.0 < self.distinct <= 1.0:
            raise InvalidParameter.of("distinct", "a share above 0 and at most 1", self.distinct)
        if not 0.0 < self.matched_people <= self.users:
            rule = f"above 0 and at most the number of people, {self.users}"
            raise InvalidParameter.of("people_per_event", rule, self.matched_people)
        checks.whole_number("attacks", self.attacks, at_least=1)

    @property
    def distinct_events(self) -> float:
        """Items of all people in one half of their events, each person's counted once."""
        return self.distinct * self.events / 2


@dataclass(frozen=True, slots=True)
class Cluster:
    """What the work runs on; `throughput` is bytes per second that one executor writes or reads in a shuffle."""

    executors: int
    cores_per_executor: int = 4
    memory_bytes: float = 16e9
    throughput: float = 200e6

    def __post_init__(self) -> None:
        checks.whole_number("executors", self.executors, at_least=1, at_most=MOST_EXECUTORS)
        checks.whole_number("cores", self.cores_per_executor, at_least=1, at_most=4096)
        if not self.memory_bytes > 0 or not math.isfinite(self.memory_bytes):
            raise InvalidParameter.of("memory", "a positive size", self.memory_bytes)
        if not self.throughput > 0 or not math.isfinite(self.throughput):
            raise InvalidParameter.of("throughput", "a positive number of MB per second", self.throughput / _MB)

    @property
    def cores(self) -> int:
        """Cores of all executors."""
        return self.executors * self.cores_per_executor


@dataclass(frozen=True, slots=True)
class Blocks:
    """How an attack is cut: `user_blocks` times `target_splits` cells."""

    user_blocks: int
    target_splits: int
    users_per_block: int
    bytes_per_block: int

    @property
    def cells(self) -> int:
        """Cells of one attack."""
        return self.user_blocks * self.target_splits


@dataclass(frozen=True, slots=True)
class Plan:
    """The projection: times in hours, sizes in bytes; totals are over all attacks."""

    workload: Workload
    cluster: Cluster
    blocks: Blocks
    matched_pairs: float
    core_hours: dict[str, float]
    scoring_core_hours: dict[str, float]
    hours: dict[str, float]
    shuffle_bytes: dict[str, int]
    disk_bytes_per_executor: int
    memory_bytes: dict[str, int]
    fits: dict[str, bool]

    @property
    def attacks(self) -> int:
        """Attacks of all matchers."""
        return len(self.workload.matchers) * self.workload.attacks

    @property
    def total_hours(self) -> float:
        """Hours from start to end."""
        return sum(self.hours.values())

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the numbers mean, and what they do not."""
        said = [_WHAT_IT_IS, _WHAT_DECIDES.format(self.workload.matched_people)]
        if not self.fits["block"]:
            said.append("A task has too little memory for even one person and the law of scores: raise the memory.")
        if not self.fits["last_task"]:
            need, have = self.memory_bytes["last_task"] / 1e9, self.memory_bytes["executor_tasks"] / 1e9
            said.append(
                f"The last task of an attack needs {need:,.1f} GB and the tasks of an executor have {have:,.1f} GB "
                "together: raise the memory of the executors."
            )
        return tuple(said)

    def to_json(self) -> dict[str, Any]:
        """The document that `plan --json` prints."""
        work, cluster = self.workload, self.cluster
        return {
            "schema": SCHEMA,
            "users": work.users,
            "events": work.events,
            "items": work.items,
            "matchers": list(work.matchers),
            "attacks": self.attacks,
            "distinct_share": work.distinct,
            "people_per_event": work.matched_people,
            "cluster": {
                "executors": cluster.executors,
                "cores_per_executor": cluster.cores_per_executor,
                "cores": cluster.cores,
                "memory_bytes_per_executor": round(cluster.memory_bytes),
                "bytes_per_second_per_executor": round(cluster.throughput),
            },
            "blocks": {**dataclasses.asdict(self.blocks), "cells": self.blocks.cells},
            "pairs_per_attack": work.users**2,
            "matched_pairs": self.matched_pairs,
            "core_hours": {**self.core_hours, "total": sum(self.core_hours.values())},
            "scoring_core_hours": self.scoring_core_hours,
            "hours": {**self.hours, "total": self.total_hours},
            "shuffle_bytes": {**self.shuffle_bytes, "total": sum(self.shuffle_bytes.values())},
            "disk_bytes_per_executor": self.disk_bytes_per_executor,
            "memory_bytes": self.memory_bytes,
            "fits": self.fits,
            "sentences": list(self.sentences),
        }


def people_per_event(users: int, events: int, items: int, *, distinct: float, exponent: float) -> float:
    """How many people have the item of a random event, if all drew their items from one Zipf law.

    n sum_x p(x) (1 - (1 - p(x))^t) with p(x) proportional to x^-exponent and t distinct items per person in half of her
    events. People who live in different places share less, and those who follow a fashion more.
    """
    if not 0.0 <= exponent <= 3.0:
        raise InvalidParameter.of("zipf", "between 0 and 3", exponent)
    head = min(items, _EXACT_ITEMS)
    edges = np.unique(np.round(np.geomspace(head + 1, items + 1, 2048))) if items > head else np.array([head + 1.0])
    ranks = np.concatenate((np.arange(1.0, head + 1.0), (edges[1:] + edges[:-1] - 1.0) / 2.0))
    times = np.concatenate((np.ones(head), np.diff(edges)))
    share = ranks**-exponent
    share /= float(np.sum(times * share))
    drawn = distinct * events / (2 * users)
    has = -np.expm1(drawn * np.log1p(-np.minimum(share, 1.0 - 1e-12)))
    return float(users * np.sum(times * share * has))


def plan(workload: Workload, cluster: Cluster, rates: Rates | None = None) -> Plan:
    """Cut the grid for this cluster and project what it takes.

    S is the least number of splits that gives every core three cells, or one fewer where leaving some cores idle costs
    less than moving every model once more.
    """
    rates = rates or Rates()
    share = rates.task_memory * cluster.memory_bytes / cluster.cores_per_executor / 2  # half each: a block, a split
    costs = [rates.of(name) for name in workload.matchers]
    per_user = workload.distinct_events / workload.users
    user_bytes = rates.state_bytes + per_user * max(cost.user_entries for cost in costs) * (
        rates.entry_bytes + rates.posting_bytes
    )
    target_bytes = rates.result_bytes + per_user * max(cost.target_entries for cost in costs) * rates.entry_bytes
    fitting = int((share - rates.law_bytes) // user_bytes)
    user_blocks = -(-workload.users // max(1, fitting))
    people = -(-workload.users // user_blocks)
    least = max(1, math.ceil(workload.users * target_bytes / share))
    splits = max(least, -(-CELLS_PER_CORE * cluster.cores // user_blocks))
    size = round(people * user_bytes + rates.law_bytes)
    grids = [Blocks(user_blocks, count, people, size) for count in (max(least, splits - 1), splits)]
    choices = [_projected(workload, cluster, rates, grid, fitting) for grid in grids]
    return min(choices, key=lambda choice: (choice.total_hours, -choice.blocks.target_splits))


def _projected(work: Workload, cluster: Cluster, rates: Rates, blocks: Blocks, fitting: int) -> Plan:
    """What a grid takes. Cells keep a third of their number of cores busy, so that none waits long for the last."""
    costs = [rates.of(name) for name in work.matchers]
    attacks = len(costs) * work.attacks
    U, S, n = blocks.user_blocks, blocks.target_splits, work.users
    matched = [work.attacks * work.distinct_events * work.matched_people * cost.reach for cost in costs]
    indexed, moved = 0.0, []
    for cost in costs:
        users, targets = work.distinct_events * cost.user_entries, work.distinct_events * cost.target_entries
        indexed += work.attacks * (S * users + U * targets)
        # To the cells, which serve all attacks of a matcher, and once more for each attack to score people's own.
        moved.append((S + work.attacks) * users + work.attacks * (U + 1) * targets)
    all_pairs = [n * cost.pair_ns if n <= cost.pair_users else 0.0 for cost in costs]
    scoring = [
        m * cost.matched_ns + work.attacks * n * (every + U * rates.target_ns)
        for m, cost, every in zip(matched, costs, all_pairs, strict=True)
    ]
    last = attacks * n * rates.last_ns
    busy = {
        "read": work.events * rates.read_ns,
        "encode": work.events * rates.encode_ns,
        "models": indexed * rates.entry_ns,
        "scoring": sum(scoring),
        "merging": attacks * (n * U * rates.result_ns + blocks.cells * rates.law_ns) + last,
    }
    core_hours = {stage: rates.overhead * time / _NS_PER_HOUR for stage, time in busy.items()}
    shuffle = {
        "events": rates.event_moves * work.events * rates.shuffled_event_bytes,
        "models": sum(moved) * rates.entry_bytes,
        "results": attacks * (n * U * rates.result_bytes + blocks.cells * rates.law_bytes),
    }
    used = min(1.0, blocks.cells / (CELLS_PER_CORE * cluster.cores))
    ingest = (core_hours["read"] + core_hours["encode"]) / cluster.cores
    last_hours = rates.overhead * last / _NS_PER_HOUR
    grid = (sum(core_hours.values()) - core_hours["read"] - core_hours["encode"] - last_hours) / (cluster.cores * used)
    both_ways = 2.0 / (cluster.throughput * cluster.executors * 3600.0)
    waves = -(-attacks // cluster.executors)
    hours = {
        "ingest": ingest,
        "grid": grid,
        "moving": both_ways * (shuffle["events"] + (shuffle["models"] + shuffle["results"]) / used),
        "last_tasks": last_hours / attacks * waves,
    }
    tasks = rates.task_memory * cluster.memory_bytes
    people_bytes = work.events * rates.event_bytes
    memory = {
        "executor": round(cluster.memory_bytes),
        "executor_tasks": round(tasks),
        "task": round(tasks / cluster.cores_per_executor),
        "last_task": round(n * rates.last_bytes),
        "driver": round(rates.driver_bytes),
    }
    one_matcher = max(moved) * rates.entry_bytes + shuffle["results"] / len(costs)
    return Plan(
        workload=work,
        cluster=cluster,
        blocks=blocks,
        matched_pairs=sum(matched),
        core_hours=core_hours,
        scoring_core_hours={
            name: rates.overhead * time / _NS_PER_HOUR for name, time in zip(work.matchers, scoring, strict=True)
        },
        hours=hours,
        shuffle_bytes={stage: round(size) for stage, size in shuffle.items()},
        disk_bytes_per_executor=round((shuffle["events"] + people_bytes + one_matcher) / cluster.executors),
        memory_bytes=memory,
        fits={"block": fitting >= 1, "last_task": memory["last_task"] <= tasks},
    )


def executors_for(
    workload: Workload,
    hours: float,
    *,
    cores_per_executor: int = 4,
    memory_bytes: float = 16e9,
    throughput: float = 200e6,
    rates: Rates | None = None,
) -> Plan:
    """The plan with the fewest executors that ends within so many hours."""
    if not hours > 0 or not math.isfinite(hours):
        raise InvalidParameter.of("hours", "a positive number", hours)

    def with_executors(count: int) -> Plan:
        return plan(workload, Cluster(count, cores_per_executor, memory_bytes, throughput), rates)

    low, high = 0, 1  # too few, perhaps enough
    while (found := with_executors(high)).total_hours > hours:
        if high == MOST_EXECUTORS:
            raise Unreachable(
                f"No number of executors ends within {hours:g} hours: {MOST_EXECUTORS:,} of them would need "
                f"{found.total_hours:.3g}; give more time, or name fewer matchers."
            )
        low, high = high, min(2 * high, MOST_EXECUTORS)
    while high - low > 1:
        middle = (low + high) // 2
        if with_executors(middle).total_hours > hours:
            low = middle
        else:
            high = middle
    return with_executors(high)


def matchers_of(names: Sequence[str]) -> tuple[str, ...]:
    """Every matcher once, all of them where none is named."""
    return tuple(dict.fromkeys(names)) or tuple(MATCHERS)
