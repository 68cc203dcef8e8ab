"""Weaker and stronger attackers than the one assessed: who knows fewer events, and who knows the attacked ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from entropie.attack.measured import Tell, measured_attack
from entropie.data.split import Knowledge, Split, first_events
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter
from entropie.measures.intervals import LEVEL, REPLICATES, Interval, wilson
from entropie.measures.summary import Measures

__all__ = ["AttackerLevel", "Attackers", "Figure", "KnownEvents", "known_event_steps"]

FEW_EVENTS = 5
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_USUAL_SHARE = 0.9
Level = Literal["weak", "medium", "strong"]


@dataclass(frozen=True, slots=True)
class Figure:
    """The best of the matchers tried, with an interval that allows for the choice."""

    matcher: str
    error: Interval
    measures: Measures
    tried: int

    @classmethod
    def best(cls, found: dict[str, Measures]) -> Figure:
        """Choose the matcher that names most people."""
        name = min(found, key=lambda tried: _error(found[tried]))
        measures, error = found[name], _error(found[name])
        right = (1.0 - error) * measures.targets
        low, high = wilson(right, measures.targets, 1.0 - (1.0 - LEVEL) / len(found))
        return cls(name, Interval(error, 1.0 - float(high), 1.0 - float(low)), measures, len(found))

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        return {
            "matcher": self.matcher,
            "identification_error": self.error.to_json(),
            "matchers_tried": self.tried,
        }


@dataclass(frozen=True, slots=True)
class KnownEvents:
    """The attack of someone who knows so many first events of everybody; None: all events to learn from."""

    train_events: int | None
    figure: Figure

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        bits = self.figure.measures.pse.to_json()
        return {"train_events": self.train_events, **self.figure.to_json(), "pse_bits": bits}


@dataclass(frozen=True, slots=True)
class AttackerLevel:
    """How well an attacker of a named strength does."""

    level: Level
    knows: str
    figure: Figure

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        return {"level": self.level, "knows": self.knows, **self.figure.to_json()}


@dataclass(frozen=True, slots=True)
class Attackers:
    """Attacks on one split by one matcher, and where few events are known by another too; the better one counts."""

    matcher: str
    split: Split
    for_few_events: str | None = None
    seed: int = 0
    replicates: int = REPLICATES
    threads: int | None = None
    tell: Tell | None = None

    def by_known_events(self, steps: Sequence[int], whole: Figure) -> tuple[KnownEvents, ...]:
        """Attack with the first events of each person's training alone; `whole` is the attack with all of them."""
        rows = []
        for known in sorted(set(steps)):
            if known < 1:
                raise InvalidParameter.of("known_events", "at least 1", known)
            others = (self.for_few_events,) if self.for_few_events and known <= FEW_EVENTS else ()
            rows.append(
                KnownEvents(known, self._best(first_events(self.split.train, known), f"knowing {known}", others))
            )
        return (*rows, KnownEvents(None, whole))

    def levels(self, knowledge: Knowledge, assessed: Figure, one_event: Figure) -> tuple[AttackerLevel, ...]:
        """Weak: one event of each person. Medium: what was assessed. Strong: the attacked events themselves."""
        weak = AttackerLevel("weak", "One event of each person.", one_event)
        everything = "The very events that are attacked, with names."
        if knowledge == "maximum":
            return (weak, AttackerLevel("strong", everything, assessed))
        medium = AttackerLevel("medium", "The earlier events that the assessment lets her learn from.", assessed)
        return (weak, medium, AttackerLevel("strong", everything, self._best(self.split.target, "knowing all")))

    def _best(self, train: Traces, stage: str, others: tuple[str, ...] = ()) -> Figure:
        return Figure.best(
            {
                name: measured_attack(
                    name,
                    train,
                    self.split.target,
                    seed=self.seed,
                    replicates=self.replicates,
                    threads=self.threads,
                    tell=self.tell,
                    stage=f"{stage}: {name}",
                )
                for name in dict.fromkeys((self.matcher, *others))
            }
        )


def known_event_steps(split: Split) -> tuple[int, ...]:
    """Numbers of known events worth showing: fewer than all but the longest tenth of people have."""
    usual = float(np.quantile(np.diff(split.train.offsets), _USUAL_SHARE))
    return tuple(step for step in _STEPS if step < usual)


def _error(measures: Measures) -> float:
    return 1.0 if measures.identification_error is None else measures.identification_error.value
