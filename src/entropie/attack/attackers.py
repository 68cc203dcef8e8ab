"""Weaker and stronger attackers than the one assessed: who knows fewer events, and who knows the attacked ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from entropie.attack.measured import Tell, measured_attack
from entropie.data.split import Knowledge, Split, first_events
from entropie.errors import InvalidParameter
from entropie.measures.intervals import REPLICATES
from entropie.measures.summary import Measures

__all__ = ["AttackerLevel", "KnownEvents", "attacker_levels", "by_known_events", "known_event_steps"]

_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_USUAL_SHARE = 0.9
Level = Literal["weak", "medium", "strong"]


@dataclass(frozen=True, slots=True)
class KnownEvents:
    """The attack of someone who knows so many first events of everybody; None: all events to learn from."""

    train_events: int | None
    matcher: str
    measures: Measures

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        document = self.measures.to_json()
        return {
            "train_events": self.train_events,
            "matcher": self.matcher,
            "identification_error": document["identification_error"],
            "pse_bits": document["pse_bits"],
        }


@dataclass(frozen=True, slots=True)
class AttackerLevel:
    """How well an attacker of a named strength does."""

    level: Level
    knows: str
    matcher: str
    measures: Measures

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        error = self.measures.identification_error
        return {
            "level": self.level,
            "knows": self.knows,
            "matcher": self.matcher,
            "identification_error": None if error is None else error.to_json(),
        }


def known_event_steps(split: Split) -> tuple[int, ...]:
    """Numbers of known events worth showing: fewer than all but the longest tenth of people have."""
    usual = float(np.quantile(np.diff(split.train.offsets), _USUAL_SHARE))
    return tuple(step for step in _STEPS if step < usual)


def by_known_events(
    name: str,
    split: Split,
    steps: Sequence[int],
    whole: Measures,
    *,
    seed: int = 0,
    replicates: int = REPLICATES,
    threads: int | None = None,
    tell: Tell | None = None,
) -> tuple[KnownEvents, ...]:
    """Attack with the first events of each person's training alone; `whole` is the attack with all of them."""
    rows = []
    for known in sorted(set(steps)):
        if known < 1:
            raise InvalidParameter.of("known_events", "at least 1", known)
        stage = f"knowing {known}: {name}"
        measures = measured_attack(
            name,
            first_events(split.train, known),
            split.target,
            seed=seed,
            replicates=replicates,
            threads=threads,
            tell=tell,
            stage=stage,
        )
        rows.append(KnownEvents(known, name, measures))
    return (*rows, KnownEvents(None, name, whole))


def attacker_levels(
    name: str,
    split: Split,
    knowledge: Knowledge,
    assessed: Measures,
    one_event: Measures,
    *,
    seed: int = 0,
    replicates: int = REPLICATES,
    threads: int | None = None,
    tell: Tell | None = None,
) -> tuple[AttackerLevel, ...]:
    """Weak: one event of each person. Medium: what was assessed. Strong: the attacked events themselves."""
    weak = AttackerLevel("weak", "One event of each person.", name, one_event)
    strong = AttackerLevel("strong", "The very events that are attacked, with names.", name, assessed)
    if knowledge == "maximum":
        return (weak, strong)
    medium = AttackerLevel("medium", "The earlier events that the assessment lets her learn from.", name, assessed)
    most = measured_attack(
        name,
        split.target,
        split.target,
        seed=seed,
        replicates=replicates,
        threads=threads,
        tell=tell,
        stage=f"knowing all: {name}",
    )
    return (weak, medium, replace(strong, measures=most))
