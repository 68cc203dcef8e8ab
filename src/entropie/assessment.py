"""The main job: events in, `Assessment` out.

Reads events, attacks all pairs of people with every matcher asked for, measures what the attacks amount to, and runs
each attack once more on permuted people, where there is nothing to find.
"""

from __future__ import annotations

import math
import sys
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from entropie._version import __version__
from entropie.attack.chance import by_content, dealt_anew, exchanged_targets
from entropie.attack.matchers import MATCHERS, matcher
from entropie.attack.scoring import attack as attack_all_pairs
from entropie.attack.single import attack_single, pie_bits
from entropie.data.events import Events, read_events
from entropie.data.filter import Selection, keep_active_users, keep_used_items, sample_users
from entropie.data.split import Knowledge, Split, split_traces
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.convergence import Convergence, convergence, doubling_sizes
from entropie.measures.identification import guessing_error
from entropie.measures.intervals import LEVEL, REPLICATES, Interval, wilson
from entropie.measures.law import ScoreLaw
from entropie.measures.summary import Measures, measure_outcome
from entropie.notebook import html_table
from entropie.theory import checks

__all__ = ["SCHEMA", "Assessment", "Attack", "Rule", "assess", "assess_traces"]

SCHEMA = "entropie.assessment/1"
LARGEST_THREADS = 256
Rule = Literal["halves", "history"]
_FIRST_EVENT_MATCHERS = ("markov", "visit")
"""They score a target of one event by the visit vector alone."""
Progress = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One matcher, the same matcher on permuted people, and what each amounts to."""

    matcher: str
    knowledge: Knowledge
    measures: Measures
    null: Measures | None
    seconds: float

    @property
    def error(self) -> float:
        """Share of people named wrongly."""
        return 1.0 if self.measures.identification_error is None else self.measures.identification_error.value

    def to_json(self) -> dict[str, Any]:
        """The documented object of one attack."""
        return {
            "matcher": self.matcher,
            "knowledge": self.knowledge,
            **self.measures.to_json(),
            "null_baseline": None if self.null is None else _null_json(self.null),
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, slots=True)
class Assessment:
    """How identifiable the people behind some events are.

    users, items, events   what was attacked, after filtering
    split                  which rule made training and target, and how many events of each were used
    attacks                one per matcher, in the order asked for
    pie_bits               I(U;X) of one event of a person drawn at random, exact for these very data
    pie_null_bits          the same with all events dealt out anew: what chance alone shows with so few events each
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
    convergence: Convergence | None
    provenance: dict[str, Any]

    @property
    def strongest(self) -> int:
        """Index of the attack that names most people; bits decide between equals."""
        return min(range(len(self.attacks)), key=lambda i: (self.attacks[i].error, -self._bits(i)))

    @property
    def best(self) -> Attack:
        """The attack that counts."""
        return self.attacks[self.strongest]

    @property
    def headline_error(self) -> Interval:
        """The best attack's error, with an interval that allows for its having been chosen among all of them."""
        measures = self.best.measures
        right = (1.0 - self.best.error) * measures.targets
        low, high = wilson(right, measures.targets, 1.0 - (1.0 - LEVEL) / len(self.attacks))
        return Interval(self.best.error, 1.0 - float(high), 1.0 - float(low))

    @property
    def null_error(self) -> float | None:
        """The smallest error of all attacks on permuted people: what choosing the best of them makes out of nothing."""
        nulls = [attack.null.identification_error for attack in self.attacks if attack.null is not None]
        return min((error.value for error in nulls if error is not None), default=None)

    def _bits(self, index: int) -> float:
        return self.attacks[index].measures.pse.value_bits

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
                "chosen_among": len(self.attacks),
                "null_identification_error": self.null_error,
            },
            "convergence": None if self.convergence is None else _convergence_json(self.convergence),
            "protection": [],
            "verdict": None,
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
    (`entropie.data.split`), `train_events` and `target_events` how much of it. Same data and seed, same result.
    """
    begun = clock.perf_counter()
    seed = checks.whole_number("seed", seed, at_least=0)
    if threads is not None:
        threads = checks.whole_number("threads", threads, at_least=1, at_most=LARGEST_THREADS)
    if sample is not None:
        sample = checks.whole_number("sample", sample, at_least=2)
    for name, value in (("target_events", target_events), ("train_events", train_events)):
        if value is not None:
            checks.whole_number(name, value, at_least=1)
    if not matchers:
        raise InvalidParameter("Parameter `matchers` must name at least one matcher.")
    for name in matchers:
        matcher(name)
    tell = progress or (lambda stage, share: None)
    read = read_events(
        events,
        user=user,
        item=item,
        time=time,
        rating=rating,
        preset=preset,
        min_rating=min_rating,
        grid=grid,
        max_dirty_share=max_dirty_share,
        memory_limit=memory_limit,
        threads=threads,
        progress=lambda stage, share: tell(f"reading: {stage}", share),
    )
    traces, report = _selected(read, min_events, sample)
    del read
    split = split_traces(traces, rule=rule, knowledge=knowledge, target_events=target_events, train_events=train_events)
    return assess_traces(
        traces,
        split,
        matchers=matchers,
        knowledge=knowledge,
        null_baseline=null_baseline,
        converge=converge,
        seed=seed,
        replicates=replicates,
        threads=threads,
        progress=progress,
        input_facts=report,
        split_facts={
            "rule": rule,
            "knowledge": knowledge,
            "train_events": train_events,
            "target_events": target_events,
            "dropped_users": split.dropped_users,
            "converge": converge,
        },
        begun=begun,
    )


def assess_traces(
    traces: Traces,
    split: Split,
    *,
    matchers: Sequence[str] = tuple(MATCHERS),
    knowledge: Knowledge = "partial",
    null_baseline: bool = True,
    converge: bool = False,
    seed: int = 0,
    replicates: int = REPLICATES,
    threads: int | None = None,
    progress: Progress | None = None,
    input_facts: dict[str, Any] | None = None,
    split_facts: dict[str, Any] | None = None,
    begun: float | None = None,
) -> Assessment:
    """The same for traces in memory that have been split."""
    begun = clock.perf_counter() if begun is None else begun
    if split.train.users < 2:
        raise InvalidInput("An attack needs at least two people with enough events, there is one; lower --min-events.")
    tell = progress or (lambda stage, share: None)
    attacks = tuple(
        _attack(name, split, knowledge, null_baseline, seed, replicates, threads, tell)
        for name in dict.fromkeys(matchers)
    )
    attacked = keep_used_items(traces.take(split.users)).traces if split.dropped_users else traces
    found = Assessment(
        input=input_facts or {},
        split=split_facts or {},
        users=split.train.users,
        items=attacked.domain_size,
        events=attacked.events,
        attacks=attacks,
        pie_bits=pie_bits(attacked),
        pie_null_bits=pie_bits(dealt_anew(attacked, seed)),
        convergence=None,
        provenance={
            "version": __version__,
            "python": sys.version.split()[0],
            "command": None,
            "seed": seed,
            "replicates": replicates,
            "seconds": 0.0,
        },
    )
    if converge:
        shown = _convergence(found.attacks[found.strongest].matcher, split, seed, replicates, threads, tell)
        found = _replaced(found, convergence=shown)
    return _replaced(found, provenance={**found.provenance, "seconds": round(clock.perf_counter() - begun, 3)})


def _selected(read: Events, min_events: int, sample: int | None) -> tuple[Traces, dict[str, Any]]:
    """The traces to attack, and the account of what was read and left out."""
    report = read.report.as_dict()
    active = keep_active_users(read.traces, min_events)
    report["min_events"] = min_events
    report["dropped_users"] = active.dropped_users
    report["dropped_events"] = active.dropped_events
    if sample is None or sample >= active.traces.users:
        return active.traces, report
    chosen: Selection = sample_users(active.traces, read.select(active).user_ids, count=sample)
    report["sampled_users"] = chosen.traces.users
    return chosen.traces, report


def _attack(
    name: str,
    split: Split,
    knowledge: Knowledge,
    null_baseline: bool,
    seed: int,
    replicates: int,
    threads: int | None,
    tell: Progress,
) -> Attack:
    begun = clock.perf_counter()
    build = matcher(name)

    def run(train: Traces, target: Traces, stage: str) -> Measures:
        tell(stage, 0.0)
        if name in _FIRST_EVENT_MATCHERS and int(np.diff(target.offsets).max()) == 1:
            outcome = attack_single(train, target)  # the same, without visiting pairs
        else:
            matching = build(train, target)
            outcome = attack_all_pairs(
                matching, threads=threads, progress=lambda done, total: tell(stage, done / total)
            )
        return measure_outcome(outcome, users=train.users, seed=seed, replicates=replicates)

    measures = run(split.train, split.target, f"attacking: {name}")
    null = None
    if null_baseline:
        null = run(split.train, split.target.take(exchanged_targets(split, seed)), f"permuted: {name}")
    return Attack(name, knowledge, measures, null, clock.perf_counter() - begun)


def _convergence(
    name: str, split: Split, seed: int, replicates: int, threads: int | None, tell: Progress
) -> Convergence | None:
    sizes = doubling_sizes(split.train.users)
    if len(sizes) < 2:
        return None
    build = matcher(name)
    order = by_content(split)

    def law_of(users: int, rng: np.random.Generator) -> ScoreLaw:
        tell(f"converging: {name}", users / split.train.users)
        chosen = np.sort(order[rng.choice(split.train.users, users, replace=False)])
        return attack_all_pairs(build(split.train.take(chosen), split.target.take(chosen)), threads=threads).law

    return convergence(law_of, sizes, seed, replicates=replicates)


def _null_json(null: Measures) -> dict[str, Any]:
    document = null.to_json()
    kept = ("identification_error", "pse_bits", "pse_finite_bits", "equal_error_rate")
    return {name: document[name] for name in kept}


def _convergence_json(found: Convergence) -> dict[str, Any]:
    return {
        "points": [{"users": point.users, "pse_bits": point.pse.to_json()} for point in found.points],
        "slope_bits_per_doubling": found.slope_bits.to_json(),
        "tolerance_bits": found.tolerance_bits,
        "settled": found.settled,
        "limited": found.limited,
    }


def _replaced(found: Assessment, **changes: Any) -> Assessment:
    import dataclasses

    return dataclasses.replace(found, **changes)
