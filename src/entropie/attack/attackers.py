"""Weaker and stronger attackers than the one assessed: who knows fewer events, and who knows the attacked ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from entropie.attack.measured import Attack, AttackSpec, Engine, best_attack, strongest
from entropie.data.split import Knowledge
from entropie.errors import InvalidParameter
from entropie.measures.best import BestAttack
from entropie.measures.summary import Measures

__all__ = ["AttackerLevel", "Attackers", "KnownEvents", "known_event_steps"]

FEW_EVENTS = 5
_FOR_FEW_EVENTS = "pitman_yor"
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_USUAL_SHARE = 0.9
Level = Literal["weak", "medium", "strong"]


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
class Attackers:
    """Attackers beside the one assessed; with few events known another matcher is tried too, and the better counts.

    First comes the list of attacks it takes, then what is said once all of them have been run.
    """

    assessed: BestAttack
    knowledge: Knowledge
    steps: tuple[int, ...]  # numbers of events known, rising
    for_few_events: str | None = None

    @classmethod
    def beside(cls, attacks: Sequence[Attack], steps: Sequence[int]) -> Attackers:
        """Choose the matchers: the strongest of the attacks, and the one for few events if it is among them."""
        for known in steps:
            if known < 1:
                raise InvalidParameter.of("known_events", "at least 1", known)
        best = attacks[strongest(attacks)]
        few = _FOR_FEW_EVENTS if any(attack.matcher == _FOR_FEW_EVENTS for attack in attacks) else None
        return cls(best_attack(attacks), best.knowledge, tuple(sorted(set(steps))), few)

    def specs(self) -> tuple[AttackSpec, ...]:
        """The attacks to run."""
        known = [spec for step in self.steps for spec in self._knowing(step)]
        return (*known, self._knowing_all) if self._strong_is_run else tuple(known)

    def run(self, engine: Engine) -> tuple[tuple[KnownEvents, ...], tuple[AttackerLevel, ...]]:
        """Run them all and tell."""
        specs = self.specs()
        return self.told(dict(zip(specs, engine.measures(specs), strict=True))) if specs else ((), ())

    def told(self, found: Mapping[AttackSpec, Measures]) -> tuple[tuple[KnownEvents, ...], tuple[AttackerLevel, ...]]:
        """How many events are enough, last with all of them; and levels, where one known event was asked for.

        Weak: one event of each person. Medium: what was assessed. Strong: the attacked events themselves.
        """
        known = [
            KnownEvents(step, BestAttack.of({spec.matcher: found[spec] for spec in self._knowing(step)}))
            for step in self.steps
        ]
        rows = (*known, KnownEvents(None, self.assessed))
        if not self._with_levels:
            return rows, ()
        weak = AttackerLevel("weak", "One event of each person.", known[0].figure)
        everything = "The very events that are attacked, with names."
        if not self._strong_is_run:
            return rows, (weak, AttackerLevel("strong", everything, self.assessed))
        medium = AttackerLevel("medium", "The earlier events that the assessment lets her learn from.", self.assessed)
        all_known = BestAttack.of({self.assessed.matcher: found[self._knowing_all]})
        return rows, (weak, medium, AttackerLevel("strong", everything, all_known))

    @property
    def _with_levels(self) -> bool:
        return self.steps[:1] == (1,)

    @property
    def _strong_is_run(self) -> bool:
        return self._with_levels and self.knowledge != "maximum"

    @property
    def _knowing_all(self) -> AttackSpec:
        return AttackSpec(self.assessed.matcher, "target")

    def _knowing(self, step: int) -> list[AttackSpec]:
        names = [self.assessed.matcher]
        if self.for_few_events is not None and step <= FEW_EVENTS:
            names.append(self.for_few_events)  # few events favour other matchers than many do
        return [AttackSpec(name, step) for name in dict.fromkeys(names)]


def known_event_steps(lengths: NDArray[np.int64], people: NDArray[np.int64]) -> tuple[int, ...]:
    """Numbers of known events worth showing: fewer than all but the longest tenth of people have to learn from.

    people[i] people have lengths[i] training events each, rising.
    """
    usual = _quantile(lengths, people, _USUAL_SHARE)
    return tuple(step for step in _STEPS if step < usual)


def _quantile(lengths: NDArray[np.int64], people: NDArray[np.int64], share: float) -> float:
    """What numpy's quantile makes of every person's number, from how many people have each."""
    after = np.cumsum(people)
    last = int(after[-1]) - 1
    place = share * last
    low = math.floor(place)
    below, above = (
        float(lengths[np.searchsorted(after, min(number, last), side="right")]) for number in (low, low + 1)
    )
    part = place - low
    return above - (above - below) * (1.0 - part) if part >= 0.5 else below + (above - below) * part
