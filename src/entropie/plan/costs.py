"""What a plan takes: core-hours, hours, bytes on the network, memory. A projection, not a guarantee.

It prices the very plan that an engine runs: its attacks, its grid. docs/scaling.md writes out every formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from entropie.attack.matchers import MatcherRates, matcher
from entropie.attack.profile.attack import AT_ONCE
from entropie.attack.profile.conjunctions import MOST_EVENTS
from entropie.attack.scoring import law_size, needs_atoms
from entropie.errors import InvalidParameter
from entropie.plan.attacks import AttackSpec, Training
from entropie.plan.grid import BYTES_PER_USER, BYTES_PER_USER_EVENT
from entropie.plan.plan import Plan
from entropie.plan.sizes import MOST_EXECUTORS, TASK_SHARE, Data, Machines
from entropie.theory.special import last_where

SCHEMA = "entropie.plan/1"

_NS_PER_HOUR = 3.6e12
_TRACE_BYTES, _CONJUNCTION_BYTES = 120, 410
_TARGET_BYTES, _LISTED_BYTES = 20_000, 1_400  # while it is looked at, with at most so many others; its list, later
_LEARNER_BYTES, _LEARNERS = 51_000, 4_500  # 132 candidates with 24 numbers each, twice; those drawn and the distinctive
_WHAT_IT_IS = (
    "A projection from rates of small runs: it may be wrong by a factor of three. Other jobs on the same machines are "
    "not in it."
)
_LEAVE_OUT = ", or leave out the attackers who need all traces at once (`--scope profile`)"
_WHAT_DECIDES = (
    "The number of people who share the item of an event, {:,.0f} here, decides the time of scoring. Measure it on a "
    "sample where you can; it grows with the people."
)


@dataclass(frozen=True, slots=True)
class Rates:
    """Constants of one core and of what is stored and moved; times in nanoseconds.

    Those of matchers and the times per event are printed by `scripts/bench plan`; the others follow from the sizes of
    arrays, or are set by hand.
    """

    matchers: Mapping[str, MatcherRates] = field(default_factory=dict)  # instead of what a matcher says of itself
    read_ns: float = 700.0  # per event
    encode_ns: float = 1_150.0  # per event, counting people and weighing items included
    entry_ns: float = 100.0  # per entry of a row made, moved and indexed
    result_ns: float = 1_000.0  # per target and user block, merged
    law_ns: float = 10e6  # per cell, merged
    attacker_event_ns: float = 1_400.0  # per event, for the attackers beside the matchers
    conjunction_ns: float = 70_000.0  # per event, for conjunctions, where they are looked at; less without times
    attacker_target_ns: float = 1_000_000.0  # per target, for the same
    visit_ns: float = 15.0  # per person who shares an item with a target, where these look for candidates
    last_ns: float = 25_000.0  # per target, in the one last task of an attack
    attack_ns: float = 0.0  # per attack, in that task, however many people there are
    start_seconds: float = 10.0  # before and between the stages, however many people there are
    overhead: float = 1.5  # what the engine adds to the work itself
    pace: float = 0.5  # of a core of today: those that the times of work were fitted on took twice as long
    event_bytes: float = 14.0  # per event in the table of people
    shuffled_event_bytes: float = 40.0  # per event, each time that events change place
    event_moves: float = 3.0  # two joins and one sort
    entry_bytes: float = 16.0  # key and weight
    row_bytes: float = 24.0  # of a row beside its entries: whose it is, where it ends, its own score
    result_bytes: float = 80.0  # per target and user block
    last_bytes: float = 120.0  # per target, in the last task of an attack
    start_bytes: float = 2e9  # of the driver, or of the one process

    def of(self, name: str) -> MatcherRates:
        """The rates of a matcher."""
        return self.matchers.get(name) or matcher(name).rates


SPARK = Rates()
"""An engine whose tasks pass rows on, many at once."""

LOCAL = Rates(
    read_ns=400.0,
    encode_ns=600.0,
    attack_ns=30e6,
    law_ns=0.0,
    start_seconds=1.5,
    overhead=1.0,
    event_bytes=60.0,
    event_moves=0.0,
    start_bytes=380e6,
)
"""One process whose threads share all rows."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One attack in numbers: entries of the rows it learns and asks, matched pairs, time to score them."""

    spec: AttackSpec
    user_entries: float
    target_entries: float
    matched: float
    scoring_ns: float
    model_ns: float

    @classmethod
    def of(cls, spec: AttackSpec, plan: Plan, data: Data, rates: Rates) -> _Part:
        cost, people, targets = rates.of(spec.matcher), float(plan.people), float(plan.targets)
        matched = data.target_items * data.shared(spec.training) * cost.reach
        every = people * targets * cost.pair_ns if plan.people <= cost.pair_users else 0.0
        scoring = matched * cost.matched_ns + every + targets * plan.grid.user_blocks * cost.target_ns
        learned = data.distinct_items(spec.training)
        model = cost.model_ns * learned / data.distinct_items(None)
        asked = data.target_items * cost.target_entries
        return cls(spec, learned * cost.user_entries, asked, matched, scoring, model)

    @property
    def model(self) -> tuple[str, Training]:
        """What attacks may share: who compares after learning from what."""
        return self.spec.matcher, self.spec.training


@dataclass(frozen=True, slots=True)
class Price:
    """The projection: times in hours, sizes in bytes; totals are over all attacks, which run in `groups`."""

    plan: Plan
    data: Data
    machines: Machines
    on_cluster: bool
    rates: Rates
    groups: tuple[tuple[_Part, ...], ...]

    @property
    def _parts(self) -> tuple[_Part, ...]:
        return tuple(part for group in self.groups for part in group)

    @property
    def attacks(self) -> tuple[AttackSpec, ...]:
        """Every attack that is priced."""
        return tuple(part.spec for part in self._parts)

    @property
    def matched_pairs(self) -> float:
        """Entries of targets times the people who share them."""
        return sum(part.matched for part in self._parts)

    def _worked_hours(self, nanoseconds: float) -> float:
        """Work as it was fitted, in hours of a core of today with what the engine adds."""
        return self.rates.overhead * self.rates.pace * nanoseconds / _NS_PER_HOUR

    @property
    def core_hours(self) -> dict[str, float]:
        """Core time of every stage: a block's rows go to S cells, a split's to U."""
        grid, targets, rates, parts = self.plan.grid, self.plan.targets, self.rates, self._parts
        made = {part.model: part.model_ns for part in parts}
        indexed = sum(grid.target_blocks * part.user_entries + grid.user_blocks * part.target_entries for part in parts)
        results = targets * grid.user_blocks * rates.result_ns + grid.cells * rates.law_ns
        busy = {
            "read": self.data.events * rates.read_ns,
            "encode": self.data.events * rates.encode_ns,
            "models": indexed * rates.entry_ns + sum(made.values()),
            "scoring": sum(part.scoring_ns for part in parts),
            "merging": len(parts) * results,
            "attackers": self._attackers_ns if self.plan.attackers else 0.0,
            "measures": len(parts) * (targets * rates.last_ns + rates.attack_ns),
        }
        return {stage: self._worked_hours(time) for stage, time in busy.items()}

    @property
    def _attackers_ns(self) -> float:
        """Time of points and profiles: to arrange the events, and per target to draw, search and weigh."""
        rates, visits = self.rates, self.data.target_items * self.data.shared(None)
        together = rates.conjunction_ns if self.data.events <= MOST_EVENTS else 0.0
        each = self.data.events * (rates.attacker_event_ns + together)
        return each + self.plan.targets * rates.attacker_target_ns + visits * rates.visit_ns

    @property
    def _attacker_bytes(self) -> int:
        plan = self.plan
        return attacker_bytes(plan.people, self.data.events, plan.targets) if plan.attackers else 0

    @property
    def scoring_core_hours(self) -> dict[str, float]:
        """Core time of scoring by matcher."""
        hours = dict.fromkeys(self.plan.matchers, 0.0)
        for part in self._parts:
            hours[part.spec.matcher] += self._worked_hours(part.scoring_ns)
        return hours

    @property
    def hours(self) -> dict[str, float]:
        """Time from start to end. On a cluster cells run in waves, so that the last wave may leave cores idle; on one
        machine threads share the scoring, and all else is done by one.
        """
        spent, cores = self.core_hours, self.machines.all_cores
        start, ingest = self.rates.start_seconds / 3600.0, spent["read"] + spent["encode"]
        if not self.on_cluster:
            grid = spent["models"] + spent["merging"] + (spent["scoring"] + spent["attackers"]) / cores
            return {"start": start, "ingest": ingest, "grid": grid, "last_tasks": spent["measures"]}
        cells = self.plan.grid.cells * self.plan.models
        used = cells / (-(-cells // cores) * cores)
        waves = sum(-(-len(group) // cores) for group in self.groups)
        both_ways = 2.0 / (self.machines.throughput * self.machines.executors * 3600.0)
        return {
            "start": start,
            "ingest": ingest / cores,
            "grid": (spent["models"] + spent["scoring"] + spent["merging"]) / (cores * used),
            "moving": both_ways * sum(self.moved_bytes.values()),
            "last_tasks": spent["measures"] / len(self._parts) * waves + spent["attackers"],
        }

    @property
    def total_hours(self) -> float:
        """Hours from start to end."""
        return sum(self.hours.values())

    @property
    def moved_bytes(self) -> dict[str, int]:
        """Bytes that change place on a cluster."""
        if not self.on_cluster:
            return {}
        rates, people, targets, grid = self.rates, self.plan.people, self.plan.targets, self.plan.grid
        law_bytes = 16.0 * min(law_size(people), people * targets / grid.cells)  # no more values than a cell has pairs
        return {
            "events": round(rates.event_moves * self.data.events * rates.shuffled_event_bytes),
            "models": round(sum(map(self._model_bytes, self.groups))),
            "results": round(
                len(self._parts) * (targets * grid.user_blocks * rates.result_bytes + grid.cells * law_bytes)
            ),
        }

    def _model_bytes(self, group: Sequence[_Part]) -> float:
        """Rows of users go to every split of the targets once for all attacks that share a model, and for each attack
        to the pilot; where identities are shuffled, once more to score people's own.
        """
        people, attacked = self.plan.people, self.plan.targets
        splits, blocks = self.plan.grid.target_blocks, self.plan.grid.user_blocks
        pilot = int(needs_atoms(people, attacked))
        models = {part.model: part for part in group}
        entries = sum(splits * part.user_entries for part in models.values())
        rows = len(models) * splits * people
        for part in group:
            users, targets = pilot + int(part.spec.shuffled), blocks + int(part.spec.shuffled)
            entries += users * part.user_entries + targets * part.target_entries
            rows += users * people + targets * attacked
        return entries * self.rates.entry_bytes + rows * self.rates.row_bytes

    @property
    def disk_bytes_per_executor(self) -> int:
        """Events moved, the people and the models of one group of attacks."""
        if not self.on_cluster:
            return 0
        largest = max(map(self._model_bytes, self.groups))
        people = self.data.events * self.rates.event_bytes
        return round((self.moved_bytes["events"] + people + largest) / self.machines.executors)

    @property
    def memory_bytes(self) -> dict[str, int]:
        """What is needed where, and what is there."""
        rates, machines = self.rates, self.machines
        each = BYTES_PER_USER + BYTES_PER_USER_EVENT * self.data.counts.train_events / self.plan.people
        block = round(self.plan.grid.largest_block * each)  # in a cell at most, as the grid is cut by it
        if self.on_cluster:
            return {
                "executor": round(machines.memory),
                "executor_tasks": round(TASK_SHARE * machines.memory),
                "task": machines.task_memory,
                "block": block,
                "last_task": max(round(self.plan.targets * rates.last_bytes), self._attacker_bytes),
                "driver": round(rates.start_bytes),
            }
        process = round(rates.start_bytes) + self.held_bytes
        return {"process": process, "block": block, "machine": round(machines.memory)}

    @property
    def held_bytes(self) -> int:
        """What one machine holds of the data: events and models, then what attackers need."""
        entries = max(part.user_entries + part.target_entries for part in self._parts)
        models = self.data.events * self.rates.event_bytes + model_bytes(entries) / self.plan.grid.user_blocks
        return round(max(models, self._attacker_bytes))

    @property
    def fits(self) -> dict[str, bool]:
        """Whether what is there suffices."""
        memory = self.memory_bytes
        if not self.on_cluster:
            return {"block": True, "last_task": True, "process": memory["process"] <= memory["machine"]}
        tasks = memory["executor_tasks"]
        return {"block": memory["block"] <= tasks, "last_task": memory["last_task"] <= tasks, "process": True}

    @property
    def sentences(self) -> tuple[str, ...]:
        """What does not fit, then what the numbers mean, and what they do not."""
        said = []
        if not self.fits["block"]:
            said.append("A task has too little memory for even one person: raise the memory.")
        if not self.fits["last_task"]:
            need, have = self.memory_bytes["last_task"] / 1e9, self.memory_bytes["executor_tasks"] / 1e9
            said.append(
                f"The last task of an attack needs {need:,.1f} GB and the tasks of an executor have {have:,.1f} GB "
                f"together: raise the memory of the executors{_LEAVE_OUT if self.plan.attackers else ''}."
            )
        if not self.fits["process"]:
            said.append("The memory of this machine does not suffice: give `--memory`, or use a cluster.")
        return (*said, _WHAT_IT_IS, _WHAT_DECIDES.format(self.data.sharing))

    def to_json(self) -> dict[str, Any]:
        """The document that `plan --json` prints."""
        grid, machines, counts = self.plan.grid, self.machines, self.data.counts
        return {
            "schema": SCHEMA,
            "engine": "spark" if self.on_cluster else "local",
            "users": counts.people,
            "targets": counts.attacked,
            "events": self.data.events,
            "items": self.data.items,
            "matchers": list(self.plan.matchers),
            "known_events": list(self.plan.known_events),
            "attacks": len(self.attacks),
            "distinct_share": self.data.distinct,
            "people_per_event": self.data.sharing,
            "machines": {
                "executors": machines.executors,
                "cores_per_executor": machines.cores,
                "cores": machines.all_cores,
                "memory_bytes_per_executor": round(machines.memory),
                "bytes_per_second_per_executor": round(machines.throughput),
            },
            "blocks": {
                "user_blocks": grid.user_blocks,
                "target_splits": grid.target_blocks,
                "users_per_block": grid.largest_block,
                "bytes_per_block": self.memory_bytes["block"],
                "cells": grid.cells,
            },
            "pairs_per_attack": counts.people * counts.attacked,
            "matched_pairs": self.matched_pairs,
            "core_hours": {**self.core_hours, "total": sum(self.core_hours.values())},
            "scoring_core_hours": self.scoring_core_hours,
            "hours": {**self.hours, "total": self.total_hours},
            "shuffle_bytes": {**self.moved_bytes, "total": sum(self.moved_bytes.values())},
            "disk_bytes_per_executor": self.disk_bytes_per_executor,
            "memory_bytes": self.memory_bytes,
            "fits": self.fits,
            "sentences": list(self.sentences),
        }


def price(plan: Plan, data: Data, machines: Machines, *, on_cluster: bool = True, rates: Rates | None = None) -> Price:
    """Project what the plan takes. The second stage is priced for the matcher that costs most."""
    rates = rates or (SPARK if on_cluster else LOCAL)
    dearest = max(plan.matchers, key=lambda name: _Part.of(AttackSpec(name), plan, data, rates).scoring_ns)
    later = plan.second_stage(dearest)
    groups = (*plan.first_stage, *((later,) if later else ()))
    parts = tuple(tuple(_Part.of(spec, plan, data, rates) for spec in group) for group in groups)
    return Price(plan, data, machines, on_cluster, rates, parts)


def attacker_bytes(people: int, events: int, targets: int) -> int:
    """Room for attackers beside the matchers: traces as they arrive, together and split; what is learned from, which is
    at most some people; candidates, and evidence of so many at once. Conjunctions are looked at among few events alone.
    """
    each = _CONJUNCTION_BYTES if events <= MOST_EVENTS else _TRACE_BYTES
    looked_at = _TARGET_BYTES * min(targets, AT_ONCE) + _LISTED_BYTES * max(0, targets - AT_ONCE)
    return each * events + _LEARNER_BYTES * min(people, _LEARNERS) + looked_at


def model_bytes(entries: float) -> float:
    """Rows of users and targets (feature and weight) and the index over them (user and weight), on one machine."""
    return entries * (12.0 + 12.0)


def fewest_executors(hours: float, priced: Callable[[int], Price]) -> Price:
    """The price with the fewest executors that end within so many hours."""
    if not hours > 0 or not math.isfinite(hours):
        raise InvalidParameter.of("hours", "a positive number", hours)
    low, high = 0, 1  # too few, perhaps enough
    while (tried := priced(high)).total_hours > hours:
        if high == MOST_EXECUTORS:
            raise InvalidParameter(
                f"No number of executors ends within {hours:g} hours: {MOST_EXECUTORS:,} of them would need "
                f"{tried.total_hours:.3g}; give more time, or name fewer matchers."
            )
        low, high = high, min(2 * high, MOST_EXECUTORS)
    return priced(1 + last_where(lambda few: priced(few).total_hours > hours, low, high))
