"""One attack from split traces to its measures: the step that every assessment repeats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import Matching
from entropie.attack.matchers import matcher
from entropie.attack.scoring import AttackOutcome
from entropie.attack.scoring import attack as attack_all_pairs
from entropie.attack.single import attack_single
from entropie.data.traces import Traces
from entropie.measures.intervals import REPLICATES
from entropie.measures.summary import Measures, measure_outcome

__all__ = ["Models", "Tell", "attack_outcome", "measured_attack"]

Tell = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done."""

_FIRST_EVENT_MATCHERS = ("markov", "visit")
"""They score a target of one event by the visit vector alone."""


def attack_outcome(
    name: str, train: Traces, target: Traces, *, threads: int | None = None, tell: Tell | None = None, stage: str = ""
) -> AttackOutcome:
    """Attack every target with the matcher `name`, by the shortest way to the same result."""
    return Models.of(name, train, target).attack(threads=threads, tell=tell, stage=stage)


def measured_attack(
    name: str,
    train: Traces,
    target: Traces,
    *,
    seed: int = 0,
    replicates: int = REPLICATES,
    threads: int | None = None,
    tell: Tell | None = None,
    stage: str = "",
) -> Measures:
    """The same, and what it amounts to."""
    outcome = attack_outcome(name, train, target, threads=threads, tell=tell, stage=stage)
    return measure_outcome(outcome, users=train.users, seed=seed, replicates=replicates)


@dataclass(frozen=True, slots=True)
class Models:
    """A matcher's work on training and target, done once for the attack and for the one on permuted people."""

    train: Traces
    target: Traces
    matching: Matching | None  # None: one event per target, where pairs need not be visited

    @classmethod
    def of(cls, name: str, train: Traces, target: Traces) -> Models:
        """Build the models, unless there is a shorter way."""
        single = name in _FIRST_EVENT_MATCHERS and int(np.diff(target.offsets).max()) == 1
        return cls(train, target, None if single else matcher(name)(train, target))

    def exchanged(self, order: NDArray[np.int64]) -> Models:
        """Give user i the target of user order[i]."""
        if self.matching is None:
            return Models(self.train, self.target.take(order), None)
        return Models(self.train, self.target, self.matching.exchanged(order))

    def attack(self, *, threads: int | None = None, tell: Tell | None = None, stage: str = "") -> AttackOutcome:
        """Score all users for all targets."""
        if tell is not None:
            tell(stage, 0.0)
        if self.matching is None:
            return attack_single(self.train, self.target)
        progress = None if tell is None else lambda done, total: tell(stage, done / total)
        return attack_all_pairs(self.matching, threads=threads, progress=progress)
