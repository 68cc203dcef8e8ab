"""What the attacks on some people amount to: run by an engine, put together here, the same from every engine."""

from __future__ import annotations

import datetime
import math
import secrets
import sys
import time as clock
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from msgspec import structs

from entropie._version import __version__
from entropie.attack.attacker import AttackerRow, Release, judged, most_exposed, strongest_row
from entropie.attack.attackers import attacker_rows, scoped
from entropie.attack.chance import dealt_anew
from entropie.attack.identifying import IdentifyingItems, identifying_items
from entropie.attack.matchers import matcher
from entropie.attack.measured import Attack, best_attack, strongest
from entropie.data.filter import keep_used_items
from entropie.data.prepare import Prepared
from entropie.data.split import cut_date, knows
from entropie.document import SCHEMA
from entropie.document.assessment import Convergence as ConvergenceDocument
from entropie.document.assessment import Projection
from entropie.document.base import plain
from entropie.document.measured import MostExposed, ShareInterval
from entropie.engine.local import LocalEngine
from entropie.measures.convergence import Convergence
from entropie.measures.identification import guessing_error
from entropie.measures.projection import project
from entropie.notebook import html_table
from entropie.plan.execution import KnownEvents, Outcome
from entropie.plan.plan import Counts, plan_of
from entropie.request import Request, Run, SplitRule
from entropie.words import bits, count, interval, percent


@dataclass(frozen=True, slots=True, repr=False)
class Findings:
    """How identifiable the people behind some events are, before anybody judges it.

    users, items, events   what was attacked, after filtering
    split                  which rule made training and target, and how many events of each were used
    attacks                one per matcher, in the order asked for
    pie_bits               I(U;X) of one event of a person drawn at random, exact for these data
    pie_null_bits          the same with all events shuffled among people: what chance shows with so few events each
    by_known_events        the attack with fewer events to learn from, and last with all of them, where asked for
    attackers              every attacker by what it knows
    identifying_items      which items carry how many of the pie_bits; none is named that fewer than ten people have
    convergence            bits against number of people for the strongest matcher, where asked for
    projection             share re-identified among the population declared, where one is
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
    attackers: tuple[AttackerRow, ...]
    identifying_items: dict[str, Any]
    convergence: Convergence | None
    projection: Projection | None
    provenance: dict[str, Any]

    @property
    def strongest(self) -> int:
        """Index of the attack that re-identifies most people; bits decide between equals."""
        return strongest(self.attacks)

    @property
    def best(self) -> Attack:
        """The attack that counts."""
        return self.attacks[self.strongest]

    @property
    def reidentified(self) -> ShareInterval:
        """Share of people that the strongest attacker in scope re-identifies; the interval allows for the choice."""
        return strongest_row(self.attackers)[1]

    @property
    def most_exposed(self) -> MostExposed:
        """The people with the highest risk: the clearest of some attacker in scope, or everybody."""
        return most_exposed(self.attackers)

    @property
    def assessed(self) -> int:
        """People whom an attacker in scope covers; those with few events are attacked by points alone."""
        return max(row.people for row in judged(self.attackers))

    @property
    def null_error(self) -> float | None:
        """The smallest error with identities shuffled: what choosing the strongest attacker makes out of nothing."""
        controls = [row.control.value for row in judged(self.attackers) if row.control is not None]
        return 1.0 - max(controls) if controls else None

    @property
    def guessing_error(self) -> float:
        """Error of guessing: 1 - 1/n."""
        return guessing_error(self.users)

    def to_json(self) -> dict[str, Any]:
        """The document `assessment.json`: plain values, None instead of NaN; protection and verdict still open."""
        leading, share = strongest_row(self.attackers)
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
                "attacker": leading.attacker,
                "knows": leading.knows,
                "people": leading.targets,
                "identification_error": share.complement.to_json(),
                "most_exposed": self.most_exposed.to_json(),
                "chosen_among": len(judged(self.attackers)),
                "null_identification_error": self.null_error,
            },
            "convergence": None if self.convergence is None else plain(self.convergence, ConvergenceDocument),
            "by_known_events": [row.to_json() for row in self.by_known_events],
            "attackers": [row.to_json() for row in self.attackers],
            "identifying_items": self.identifying_items,
            "projection": None if self.projection is None else self.projection.to_json(),
            "protection": [],
            "declared": None,
            "verdict": None,
            "review": None,
            "provenance": self.provenance,
        }

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        """What a result says of itself in a line or two."""
        share, exposed = self.reidentified, self.most_exposed
        few = self.assessed > self.users  # attacked by known events alone, and among those in the data
        items, events = (self.input["items"], self.input["events"]) if few else (self.items, self.events)
        sizes = f"{count(self.assessed)} people, {count(items)} items, {count(events)} events"
        yield f"{type(self).__name__} of {sizes}"
        yield f"  re-identified: {percent(share.value)} (95 % CI {interval(share)}); chance {percent(1 / self.users)}"
        if exposed.share < 1.0:
            right = exposed.right
            yield f"  most exposed {percent(exposed.share)}: {percent(right.value)} ({interval(right)})"
        yield f"  strongest of {len(self.attacks)} matchers: {self.best.matcher}; one event: {bits(self.pie_bits)} bits"

    def _repr_html_(self) -> str:
        headers = ("matcher", "re-identified", "low", "high", "equal error", "bits")
        rows = []
        for attack in self.attacks:
            measures = attack.measures
            error = measures.identification_error
            ends = (0.0, 1.0) if error is None else (1.0 - error.high, 1.0 - error.low)
            rows.append(
                (attack.matcher, 1.0 - attack.error, *ends, measures.equal_error_rate.value, measures.pse_bits.value)
            )
        return html_table(f"{self.users:,} people, {self.items:,} items, {self.events:,} events", headers, rows)

    def parts(self) -> dict[str, Any]:
        """Every field by name, to build a larger value from."""
        return {field.name: getattr(self, field.name) for field in fields(Findings)}


@dataclass(frozen=True, slots=True)
class Attacked:
    """Whom and what the attacks were on, and what single items give away.

    rule         how traces were split, with what the data decided
    attackers    rows of the attackers that the engine ran beside the matchers
    item_bits    each item's part of the information of one event
    null_bits    the information of one event when events are shuffled among people
    item_name    the name behind an item code
    """

    input: dict[str, Any]
    dropped_users: int
    users: int
    items: int
    events: int
    rule: SplitRule
    attackers: tuple[AttackerRow, ...]
    item_bits: IdentifyingItems
    null_bits: float
    item_name: Callable[[int], str]


def findings_of(
    prepared: Prepared, request: Request, begun: float | None = None, rows: Sequence[AttackerRow] | None = None
) -> Findings:
    """Attack events that have been read and split, on this machine; `begun` is when that began.

    `rows` are those of the attackers beside the matchers, where these have been run.
    """
    begun = clock.perf_counter() if begun is None else begun
    run, split, rule = request.run, prepared.split, prepared.rule
    engine = LocalEngine.of(split, run)
    outcome = engine.execute(plan_of(request, Counts.of(split)))
    kept = keep_used_items(prepared.traces.take(split.users)) if split.dropped_users else None
    traces = prepared.traces if kept is None else kept.traces
    item_ids = prepared.item_ids if kept is None else prepared.item_ids.take(kept.items)
    attacked = Attacked(
        input=prepared.input_facts,
        dropped_users=split.dropped_users,
        users=split.train.users,
        items=traces.domain_size,
        events=traces.events,
        rule=rule,
        attackers=tuple(attacker_rows(release_of(prepared), request) if rows is None else rows),
        item_bits=identifying_items(traces),
        null_bits=identifying_items(dealt_anew(traces, run.seed)).bits,
        item_name=lambda code: str(item_ids[code]),
    )
    best = best_attack(outcome.attacks).matcher
    convergence = engine.convergence(best) if request.attackers.converge else None
    return put_together(outcome, attacked, request, begun, convergence)


def release_of(prepared: Prepared) -> Release:
    """What the attackers beside the matchers are run on."""
    release = Release.of(
        prepared.released,
        prepared.split,
        prepared.rule,
        item_categories=prepared.categories,
        attacked=prepared.attacked,
    )
    return replace(release, known=prepared.known)


def put_together(
    outcome: Outcome, attacked: Attacked, request: Request, begun: float, convergence: Convergence | None = None
) -> Findings:
    """Everything found, with the account of how."""
    rule = attacked.rule
    matchers = [AttackerRow.of_attack(attack, knows(rule)) for attack in outcome.attacks]
    rows = scoped([*attacked.attackers, *matchers], request)
    return Findings(
        input=attacked.input,
        split={
            "rule": rule.rule,
            "cut": None if rule.cut is None else cut_date(rule.cut),
            "knowledge": rule.knowledge,
            "train_events": rule.train_events,
            "target_events": rule.target_events,
            "dropped_users": attacked.dropped_users,
            "converge": request.attackers.converge,
        },
        users=attacked.users,
        items=attacked.items,
        events=attacked.events,
        attacks=outcome.attacks,
        pie_bits=attacked.item_bits.bits,
        pie_null_bits=attacked.null_bits,
        by_known_events=outcome.by_known_events,
        attackers=rows,
        identifying_items=attacked.item_bits.to_json(attacked.item_name),
        convergence=convergence,
        projection=_projection(rows, outcome, request),
        provenance=provenance_of(request.run, begun),
    )


def _projection(rows: Sequence[AttackerRow], outcome: Outcome, request: Request) -> Projection | None:
    """From the people at hand to the population declared, by the attacker in scope who may re-identify most there.

    Who is ahead among few need not be among many, so every attacker in scope is projected; one whose curve cannot be
    told may be the one, and so nothing is.
    """
    population = request.verdict.population
    if population is None:
        return None
    matchers = {attack.matcher: attack.measures.ranks for attack in outcome.attacks}
    made = []
    for row in judged(rows):
        ranks = matchers.get(row.matcher or "") if row.ranks is None else row.ranks
        if ranks is not None and population > ranks.strangers:  # too small a population is refused elsewhere
            projected = project(ranks, population, np.random.default_rng([request.run.seed, population]))
            made.append(structs.replace(projected, attacker=row.attacker, knows=row.knows))
    return max(made, key=lambda one: one.most, default=None)


def provenance_of(run: Run, begun: float) -> dict[str, Any]:
    """How and when a result was made; `run` is what everything written of one run has in common."""
    return {
        "run": secrets.token_hex(8),
        "version": __version__,
        "python": sys.version.split()[0],
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": run.command,
        "seed": run.seed,
        "replicates": run.replicates,
        "seconds": round(clock.perf_counter() - begun, 3),
    }


def check_matchers(names: tuple[str, ...]) -> None:
    """Refuse a matcher that does not exist before anything is read."""
    for name in names:
        matcher(name)
