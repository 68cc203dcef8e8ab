"""The main job: events in, `Assessment` out.

Reads events, attacks all pairs of people with every matcher asked for, measures what the attacks amount to, and runs
each attack once more on permuted people, where there is nothing to find.
"""

from __future__ import annotations

import datetime
import math
import sys
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from entropie._version import __version__
from entropie.attack.chance import dealt_anew
from entropie.attack.identifying import IdentifyingItems, identifying_items
from entropie.attack.matchers import MATCHERS, matcher
from entropie.attack.measured import (
    Attack,
    MostExposed,
    best_attack,
    most_exposed,
    strongest,
)
from entropie.data.filter import keep_used_items
from entropie.data.prepare import Prepared, Rule, prepare_events
from entropie.data.split import Knowledge, Split
from entropie.data.traces import Traces
from entropie.engine.local import LocalEngine
from entropie.errors import InvalidParameter
from entropie.measures.convergence import Convergence
from entropie.measures.identification import guessing_error
from entropie.measures.intervals import REPLICATES, Interval
from entropie.notebook import html_table
from entropie.plan.execution import AttackerLevel, KnownEvents, Outcome
from entropie.plan.plan import Counts, plan_of
from entropie.request import Attackers, Request, Run, Source, SplitRule
from entropie.theory import checks

__all__ = [
    "SCHEMA",
    "Assessment",
    "Attack",
    "Rule",
    "assembled",
    "assess",
    "assess_prepared",
    "assess_traces",
    "check_attack",
    "prepare",
]

SCHEMA = "entropie.assessment/1"
LARGEST_THREADS = 256
Progress = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """How identifiable the people behind some events are.

    users, items, events   what was attacked, after filtering
    split                  which rule made training and target, and how many events of each were used
    attacks                one per matcher, in the order asked for
    pie_bits               I(U;X) of one event of a person drawn at random, exact for these very data
    pie_null_bits          the same with all events dealt out anew: what chance alone shows with so few events each
    by_known_events        the attack with fewer events to learn from, and last with all of them
    attacker_levels        weaker and stronger attackers than the one assessed
    identifying_items      which items carry how many of the pie_bits; none is named that fewer than ten people have
    convergence            bits against number of users for the strongest matcher, where asked for
    """

    input: dict[str, Any]
    split: dict[str, Any]
    users: int
    items: int
    events: int
    attacks: tuple[Attack, ...]
    pie_bits: float
    pie_null_bits: float
    by_known_events: tuple[KnownEvents, ...]
    attacker_levels: tuple[AttackerLevel, ...]
    identifying_items: dict[str, Any]
    convergence: Convergence | None
    provenance: dict[str, Any]

    @property
    def strongest(self) -> int:
        """Index of the attack that names most people; bits decide between equals."""
        return strongest(self.attacks)

    @property
    def best(self) -> Attack:
        """The attack that counts."""
        return self.attacks[self.strongest]

    @property
    def headline_error(self) -> Interval:
        """The best attack's error, with an interval that allows for its having been chosen among all of them."""
        return best_attack(self.attacks).error

    @property
    def most_exposed(self) -> MostExposed:
        """The group of people with the highest risk: the clearest tenth of some attack, or everybody."""
        return most_exposed(self.attacks)

    @property
    def null_error(self) -> float | None:
        """The smallest error of all attacks on permuted people: what choosing the best of them makes out of nothing."""
        nulls = [attack.null.identification_error for attack in self.attacks if attack.null is not None]
        return min((error.value for error in nulls if error is not None), default=None)

    @property
    def guessing_error(self) -> float:
        """Error of naming anybody: 1 - 1/n."""
        return guessing_error(self.users)

    def to_json(self) -> dict[str, Any]:
        """The document `assessment.json`: plain values, None instead of NaN."""
        return {
            "schema": SCHEMA,
            "input": self.input,
            "split": self.split,
            "users": self.users,
            "items": self.items,
            "events": self.events,
            "attacks": [attack.to_json() for attack in self.attacks],
            "guessing_error": self.guessing_error,
            "name_bits": math.log2(self.users),
            "pie_bits": self.pie_bits,
            "pie_null_bits": self.pie_null_bits,
            "strongest": self.strongest,
            "headline": {
                "matcher": self.best.matcher,
                "identification_error": self.headline_error.to_json(),
                "most_exposed": self.most_exposed.to_json(),
                "chosen_among": len(self.attacks),
                "null_identification_error": self.null_error,
            },
            "convergence": None if self.convergence is None else _convergence_json(self.convergence),
            "by_known_events": [row.to_json() for row in self.by_known_events],
            "attacker_levels": [level.to_json() for level in self.attacker_levels],
            "identifying_items": self.identifying_items,
            "protection": [],
            "declared": None,
            "verdict": None,
            "review": None,
            "provenance": self.provenance,
        }

    def _repr_html_(self) -> str:
        headers = ("matcher", "wrong", "low", "high", "equal error", "bits")
        rows = []
        for attack in self.attacks:
            measures = attack.measures
            error = measures.identification_error
            ends = (0.0, 1.0) if error is None else (error.low, error.high)
            rows.append((attack.matcher, attack.error, *ends, measures.eer.value, measures.pse.value_bits))
        return html_table(f"{self.users:,} people, {self.items:,} items, {self.events:,} events", headers, rows)


def assess(
    events: object,
    *,
    user: str | None = None,
    item: str | None = None,
    time: str | None = None,
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
    converge: bool = False,
    seed: int = 0,
    replicates: int = REPLICATES,
    threads: int | None = None,
    memory_limit: str | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Assess an event table: a path, or anything with `__arrow_c_stream__` (pandas, Polars, DuckDB, PyArrow).

    Columns are guessed where not named. Users with fewer than `min_events` events are left out; `sample` keeps that
    many, chosen by a hash of their id. `rule` and `knowledge` say what the attacker learns from
    (`entropie.data.split`), `train_events` and `target_events` how much of it; `known_events` lists numbers of events
    to show weaker attackers for (a choice up to 20,000 people and none beyond where it is not given). Same data and
    seed, same result.
    """
    begun = clock.perf_counter()
    check_attack(matchers, seed, threads)
    prepared = prepare(
        events,
        user=user,
        item=item,
        time=time,
        rating=rating,
        preset=preset,
        min_rating=min_rating,
        grid=grid,
        min_events=min_events,
        max_dirty_share=max_dirty_share,
        sample=sample,
        knowledge=knowledge,
        rule=rule,
        target_events=target_events,
        train_events=train_events,
        threads=threads,
        memory_limit=memory_limit,
        progress=progress,
    )
    return assess_prepared(
        prepared,
        matchers=matchers,
        known_events=known_events,
        null_baseline=null_baseline,
        converge=converge,
        seed=seed,
        replicates=replicates,
        threads=threads,
        progress=progress,
        begun=begun,
    )


def prepare(events: object, **options: Any) -> Prepared:
    """Read, filter and split events as `assess` does, for use by several jobs."""
    for name, least in (("sample", 2), ("target_events", 1), ("train_events", 1)):
        if options.get(name) is not None:
            options[name] = checks.whole_number(name, options[name], at_least=least)
    return prepare_events(events, **options)


def check_attack(matchers: Sequence[str], seed: int, threads: int | None) -> None:
    """Refuse what would only fail after the events have been read."""
    checks.whole_number("seed", seed, at_least=0)
    if threads is not None:
        checks.whole_number("threads", threads, at_least=1, at_most=LARGEST_THREADS)
    if not matchers:
        raise InvalidParameter("Parameter `matchers` must name at least one matcher.")
    for name in matchers:
        matcher(name)


def assess_prepared(
    prepared: Prepared,
    *,
    matchers: Sequence[str] = tuple(MATCHERS),
    known_events: Sequence[int] | None = None,
    null_baseline: bool = True,
    converge: bool = False,
    seed: int = 0,
    replicates: int = REPLICATES,
    threads: int | None = None,
    progress: Progress | None = None,
    begun: float | None = None,
) -> Assessment:
    """The same for events that have been read and split; `begun` is when that began."""
    begun = clock.perf_counter() if begun is None else begun
    check_attack(matchers, seed, threads)
    split = prepared.split
    tell = progress or (lambda stage, share: None)
    request = Request(
        Source(),
        split=SplitRule(knowledge=prepared.knowledge),
        attackers=Attackers(tuple(matchers), None if known_events is None else tuple(known_events), null_baseline),
        run=Run(seed, replicates, threads, progress=tell),
    )
    engine = LocalEngine.of(split, request.run)
    run = engine.execute(plan_of(request, Counts.of(split)))
    kept = keep_used_items(prepared.traces.take(split.users)) if split.dropped_users else None
    attacked = prepared.traces if kept is None else kept.traces
    item_ids = prepared.item_ids if kept is None else prepared.item_ids.take(kept.items)
    return assembled(
        run,
        input_facts=prepared.input_facts,
        split_facts={**prepared.split_facts, "converge": converge},
        users=split.train.users,
        items=attacked.domain_size,
        events=attacked.events,
        found=identifying_items(attacked),
        null_bits=identifying_items(dealt_anew(attacked, seed)).bits,
        item_name=lambda code: str(item_ids[code]),
        convergence=engine.convergence(run.attacks[strongest(run.attacks)].matcher) if converge else None,
        seed=seed,
        replicates=replicates,
        begun=begun,
    )


def assembled(
    run: Outcome,
    *,
    input_facts: dict[str, Any],
    split_facts: dict[str, Any],
    users: int,
    items: int,
    events: int,
    found: IdentifyingItems,
    null_bits: float,
    item_name: Callable[[int], str],
    convergence: Convergence | None,
    seed: int,
    replicates: int,
    begun: float,
) -> Assessment:
    """Put together what was found; `null_bits` is the information of one event when events are dealt anew."""
    return Assessment(
        input=input_facts,
        split=split_facts,
        users=users,
        items=items,
        events=events,
        attacks=run.attacks,
        pie_bits=found.bits,
        pie_null_bits=null_bits,
        by_known_events=run.by_known_events,
        attacker_levels=run.attacker_levels,
        identifying_items=found.to_json(item_name),
        convergence=convergence,
        provenance={
            "version": __version__,
            "python": sys.version.split()[0],
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": None,
            "seed": seed,
            "replicates": replicates,
            "seconds": round(clock.perf_counter() - begun, 3),
        },
    )


def assess_traces(traces: Traces, split: Split, *, knowledge: Knowledge = "partial", **options: Any) -> Assessment:
    """The same for traces in memory; items are named by their codes. Options as of `assess_prepared`."""
    names = pa.array(np.arange(traces.domain_size, dtype=np.uint32))
    return assess_prepared(Prepared(traces, split, names, knowledge, {}, {}), **options)


def _convergence_json(found: Convergence) -> dict[str, Any]:
    return {
        "points": [{"users": point.users, "pse_bits": point.pse.to_json()} for point in found.points],
        "slope_bits_per_doubling": found.slope_bits.to_json(),
        "tolerance_bits": found.tolerance_bits,
        "settled": found.settled,
        "limited": found.limited,
    }
