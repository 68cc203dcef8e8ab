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
from entropie.attack.attackers import AttackerLevel, Attackers, Figure, KnownEvents, known_event_steps
from entropie.attack.chance import by_content, dealt_anew, exchanged_targets
from entropie.attack.identifying import identifying_items
from entropie.attack.matchers import MATCHERS, matcher
from entropie.attack.measured import Models
from entropie.attack.scoring import attack as attack_all_pairs
from entropie.attack.single import pie_bits
from entropie.data.filter import keep_used_items
from entropie.data.prepare import Prepared, Rule, prepare_events
from entropie.data.split import Knowledge, Split
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.convergence import Convergence, convergence, doubling_sizes
from entropie.measures.identification import guessing_error
from entropie.measures.intervals import LEVEL, REPLICATES, Interval, wilson
from entropie.measures.law import ScoreLaw
from entropie.measures.summary import Measures, measure_outcome
from entropie.notebook import html_table
from entropie.theory import checks

__all__ = [
    "SCHEMA",
    "Assessment",
    "Attack",
    "Rule",
    "assess",
    "assess_prepared",
    "assess_traces",
    "check_attack",
    "prepare",
]

SCHEMA = "entropie.assessment/1"
LARGEST_THREADS = 256
LONGEST_NAME = 80
_FOR_FEW_EVENTS = "pitman_yor"
MANY_PEOPLE = 20_000
"""Beyond so many people weaker and stronger attackers are run only where asked for: each costs a whole attack."""
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
class MostExposed:
    """The people at the highest risk that an attacker can pick out without knowing the truth.

    Never below the average: where no tenth stands out, they are all people (share 1).
    """

    matcher: str
    share: float
    people: int
    right: Interval

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        return {"matcher": self.matcher, "share": self.share, "people": self.people, "right": self.right.to_json()}


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
        return _strongest(self.attacks)

    @property
    def best(self) -> Attack:
        """The attack that counts."""
        return self.attacks[self.strongest]

    @property
    def headline_error(self) -> Interval:
        """The best attack's error, with an interval that allows for its having been chosen among all of them."""
        return headline_error(self.attacks)

    @property
    def most_exposed(self) -> MostExposed:
        """The group of people with the highest risk: the clearest tenth of some attack, or everybody."""
        level = 1.0 - (1.0 - LEVEL) / len(self.attacks)
        everybody = MostExposed(self.best.matcher, 1.0, self.best.measures.targets, _complement(self.headline_error))
        groups = [everybody]
        for attack in self.attacks:
            if attack.measures.exposure is not None:
                first = attack.measures.exposure.most_exposed
                low, high = wilson(first.right.value * first.people, first.people, level)
                right = Interval(first.right.value, float(low), float(high))
                groups.append(MostExposed(attack.matcher, first.end, first.people, right))
        return max(groups, key=lambda group: (group.right.value, group.right.low))

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
    split, traces = prepared.split, prepared.traces
    if split.train.users < 2:
        raise InvalidInput("An attack needs at least two people with enough events, there is one; lower --min-events.")
    tell = progress or (lambda stage, share: None)
    run = _Run(split, prepared.knowledge, seed, replicates, threads, tell)
    attacks = tuple(run.attack(name, null_baseline) for name in dict.fromkeys(matchers))
    best = attacks[_strongest(attacks)]
    known, levels = run.other_attackers(attacks, known_events)
    kept = keep_used_items(traces.take(split.users)) if split.dropped_users else None
    attacked = traces if kept is None else kept.traces
    item_ids = prepared.item_ids if kept is None else prepared.item_ids.take(kept.items)
    found = identifying_items(attacked)
    return Assessment(
        input=prepared.input_facts,
        split={**prepared.split_facts, "converge": converge},
        users=split.train.users,
        items=attacked.domain_size,
        events=attacked.events,
        attacks=attacks,
        pie_bits=pie_bits(attacked),
        pie_null_bits=pie_bits(dealt_anew(attacked, seed)),
        by_known_events=known,
        attacker_levels=levels,
        identifying_items=found.to_json(lambda code: _shortened(str(item_ids[code]))),
        convergence=run.convergence(best.matcher) if converge else None,
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


@dataclass(frozen=True, slots=True)
class _Run:
    """What all attacks of one assessment share."""

    split: Split
    knowledge: Knowledge
    seed: int
    replicates: int
    threads: int | None
    tell: Progress

    def _options(self) -> dict[str, Any]:
        return {"seed": self.seed, "replicates": self.replicates, "threads": self.threads, "tell": self.tell}

    def attack(self, name: str, null_baseline: bool) -> Attack:
        """One matcher, and the same on permuted people."""
        begun = clock.perf_counter()
        stage = f"attacking: {name}"
        self.tell(stage, 0.0)
        models = Models.of(name, self.split.train, self.split.target)
        measures = self._measured(models, stage)
        null = None
        if null_baseline:
            null = self._measured(models.exchanged(exchanged_targets(self.split, self.seed)), f"permuted: {name}")
        return Attack(name, self.knowledge, measures, null, clock.perf_counter() - begun)

    def _measured(self, models: Models, stage: str) -> Measures:
        outcome = models.attack(threads=self.threads, tell=self.tell, stage=stage)
        return measure_outcome(outcome, users=self.split.train.users, seed=self.seed, replicates=self.replicates)

    def other_attackers(
        self, attacks: Sequence[Attack], steps: Sequence[int] | None
    ) -> tuple[tuple[KnownEvents, ...], tuple[AttackerLevel, ...]]:
        """Who knows fewer events than assessed, and who knows the attacked ones."""
        best = attacks[_strongest(attacks)]
        if steps is None:
            affordable = self.split.train.users <= MANY_PEOPLE
            steps = known_event_steps(self.split) if affordable else ()
        if not steps:
            return (), ()
        # Few events favour other matchers than many do.
        few = _FOR_FEW_EVENTS if any(attack.matcher == _FOR_FEW_EVENTS for attack in attacks) else None
        attackers = Attackers(best.matcher, self.split, few, **self._options())
        assessed = Figure(best.matcher, headline_error(attacks), best.measures, len(attacks))
        known = attackers.by_known_events(steps, assessed)
        if known[0].train_events != 1:
            return known, ()
        return known, attackers.levels(self.knowledge, assessed, known[0].figure)

    def convergence(self, name: str) -> Convergence | None:
        """Bits against number of users."""
        split = self.split
        sizes = doubling_sizes(split.train.users)
        if len(sizes) < 2:
            return None
        order = by_content(split)

        def law_of(users: int, rng: np.random.Generator) -> ScoreLaw:
            self.tell(f"converging: {name}", users / split.train.users)
            chosen = np.sort(order[rng.choice(split.train.users, users, replace=False)])
            matching = matcher(name)(split.train.take(chosen), split.target.take(chosen))
            return attack_all_pairs(matching, threads=self.threads).law

        return convergence(law_of, sizes, self.seed, replicates=self.replicates)


def headline_error(attacks: Sequence[Attack]) -> Interval:
    """The best attack's error, with an interval that allows for its having been chosen among all of them."""
    best = attacks[_strongest(attacks)]
    right = (1.0 - best.error) * best.measures.targets
    low, high = wilson(right, best.measures.targets, 1.0 - (1.0 - LEVEL) / len(attacks))
    return Interval(best.error, 1.0 - float(high), 1.0 - float(low))


def _complement(error: Interval) -> Interval:
    return Interval(1.0 - error.value, 1.0 - error.high, 1.0 - error.low)


def _strongest(attacks: Sequence[Attack]) -> int:
    return min(range(len(attacks)), key=lambda i: (attacks[i].error, -attacks[i].measures.pse.value_bits))


def _shortened(name: str) -> str:
    """An item's name as it goes into documents: one line, not endless."""
    line = " ".join(name.split())
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "\N{HORIZONTAL ELLIPSIS}"


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
