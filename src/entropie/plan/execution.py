"""A plan run by an engine, both stages, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from entropie.attack.measured import Attack, best_attack
from entropie.data.split import Knowledge
from entropie.measures.best import BestAttack
from entropie.measures.summary import Measures
from entropie.plan.attacks import AttackSpec
from entropie.plan.plan import Plan

Level = Literal["weak", "medium", "strong"]


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
        bits = self.figure.measures.pse.to_json()
        return {"train_events": self.train_events, **self.figure.to_json(), "pse_bits": bits}


@dataclass(frozen=True, slots=True)
class AttackerLevel:
    """How well an attacker of a named strength does."""

    level: Level
    knows: str
    figure: BestAttack

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        return {"level": self.level, "knows": self.knows, **self.figure.to_json()}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the attacks of a plan found."""

    attacks: tuple[Attack, ...]
    by_known_events: tuple[KnownEvents, ...]
    attacker_levels: tuple[AttackerLevel, ...]


def executed(plan: Plan, runner: Runner) -> Outcome:
    """Run every attack of the plan and tell what they found."""
    first: dict[AttackSpec, Attacked] = {}
    for group in plan.first_stage:
        first |= zip(group, runner.attacked(plan, group), strict=True)
    attacks = tuple(_attack(plan, name, first) for name in plan.matchers)
    best = best_attack(attacks)
    later = plan.second_stage(best.matcher)
    second = dict(zip(later, runner.attacked(plan, later), strict=True)) if later else {}
    known = _known_events(plan, best, second)
    return Outcome(attacks, known, _levels(plan, best, known, second))


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


def _levels(
    plan: Plan, best: BestAttack, known: Sequence[KnownEvents], done: Mapping[AttackSpec, Attacked]
) -> tuple[AttackerLevel, ...]:
    """Weak: one event of each person. Medium: what was assessed. Strong: the attacked events themselves."""
    if not plan.shows_levels:
        return ()
    weak = AttackerLevel("weak", "One event of each person.", known[0].figure)
    everything = "The attacked events themselves, with names."
    if not plan.runs_strong:
        return (weak, AttackerLevel("strong", everything, best))
    medium = AttackerLevel("medium", "The earlier events that the assessment lets the attacker learn from.", best)
    strongest = BestAttack.of({best.matcher: done[AttackSpec(best.matcher, "target")].measures})
    return (weak, medium, AttackerLevel("strong", everything, strongest))
