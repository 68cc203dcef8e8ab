"""A plan run by an engine, both stages, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from entropie.attack.measured import Attack, best_attack
from entropie.data.split import Knowledge
from entropie.measures.best import BestAttack
from entropie.measures.summary import Measures
from entropie.plan.attacks import AttackSpec
from entropie.plan.plan import Plan


class Attacked(NamedTuple):
    """What an attack amounts to, and the seconds that it took, on all cores together where they are many machines'."""

    measures: Measures
    seconds: float


class Runner(Protocol):
    """The part of an engine that runs attacks."""

    def attacked(self, plan: Plan, specs: Sequence[AttackSpec]) -> Sequence[Attacked]:
        """Run these attacks of the plan together; the same on every engine to the bit."""
        ...


@dataclass(frozen=True, slots=True)
class KnownEvents:
    """The attack of someone who knows so many first events of everybody; None: all events to learn from."""

    train_events: int | None
    figure: BestAttack

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        bits = self.figure.measures.pse_bits.to_json()
        return {"train_events": self.train_events, **self.figure.to_json(), "pse_bits": bits}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the attacks of a plan found."""

    attacks: tuple[Attack, ...]
    by_known_events: tuple[KnownEvents, ...]


def executed(plan: Plan, runner: Runner) -> Outcome:
    """Run every attack of the plan and tell what they found."""
    first: dict[AttackSpec, Attacked] = {}
    for group in plan.first_stage:
        first |= zip(group, runner.attacked(plan, group), strict=True)
    attacks = tuple(_attack(plan, name, first) for name in plan.matchers)
    best = best_attack(attacks)
    later = plan.second_stage(best.matcher)
    second = dict(zip(later, runner.attacked(plan, later), strict=True)) if later else {}
    return Outcome(attacks, _known_events(plan, best, second))


def _attack(plan: Plan, name: str, done: Mapping[AttackSpec, Attacked]) -> Attack:
    plain, control = done[AttackSpec(name)], done.get(AttackSpec(name, shuffled=True))
    knowledge: Knowledge = "maximum" if plan.knows_targets else "partial"
    if control is None:
        return Attack(name, knowledge, plain.measures, None, plain.seconds)
    return Attack(name, knowledge, plain.measures, control.measures, plain.seconds + control.seconds)


def _known_events(plan: Plan, best: BestAttack, done: Mapping[AttackSpec, Attacked]) -> tuple[KnownEvents, ...]:
    """How many events are enough, last with all of them."""
    known = []
    for step in plan.known_events:
        tried = {spec.matcher: done[spec].measures for spec in plan.knowing(step, best.matcher)}
        known.append(KnownEvents(step, BestAttack.of(tried)))
    return (*known, KnownEvents(None, best)) if known else ()
