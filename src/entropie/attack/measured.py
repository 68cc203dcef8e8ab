"""One attack from split traces to its measures: the step that every assessment repeats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from entropie.attack.matchers import matcher
from entropie.attack.scoring import AttackOutcome
from entropie.attack.scoring import attack as attack_all_pairs
from entropie.attack.single import attack_single
from entropie.data.traces import Traces
from entropie.measures.intervals import REPLICATES
from entropie.measures.summary import Measures, measure_outcome

__all__ = ["Tell", "attack_outcome", "measured_attack"]

Tell = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done."""

_FIRST_EVENT_MATCHERS = ("markov", "visit")
"""They score a target of one event by the visit vector alone."""


def attack_outcome(
    name: str, train: Traces, target: Traces, *, threads: int | None = None, tell: Tell | None = None, stage: str = ""
) -> AttackOutcome:
    """Attack every target with the matcher `name`, by the shortest way to the same result."""
    if tell is not None:
        tell(stage, 0.0)
    if name in _FIRST_EVENT_MATCHERS and int(np.diff(target.offsets).max()) == 1:
        return attack_single(train, target)  # the same, without visiting pairs
    progress = None if tell is None else lambda done, total: tell(stage, done / total)
    return attack_all_pairs(matcher(name)(train, target), threads=threads, progress=progress)


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
