"""One attack from split traces to its measures, on one machine; and the strongest of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import Matching
from entropie.attack.matchers import matcher
from entropie.attack.scoring import AttackOutcome
from entropie.attack.scoring import attack as attack_all_pairs
from entropie.attack.single import attack_single
from entropie.data.split import Knowledge, Split
from entropie.data.traces import Traces
from entropie.document.base import plain
from entropie.document.measured import Control
from entropie.measures.best import BestAttack, strength
from entropie.measures.intervals import REPLICATES
from entropie.measures.summary import Identified, Measures, measure
from entropie.request import Run

_RUN = Run()


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
        """Share of people who are not re-identified."""
        return self.measures.error

    def to_json(self) -> dict[str, Any]:
        """The documented object of one attack."""
        return {
            "matcher": self.matcher,
            "knowledge": self.knowledge,
            **self.measures.to_json(),
            "null_baseline": None if self.null is None else plain(self.null, Control),
            "seconds": round(self.seconds, 3),
        }


def strongest(attacks: Sequence[Attack]) -> int:
    """Index of the attack that re-identifies most people; bits decide between equals."""
    return min(range(len(attacks)), key=lambda i: strength(attacks[i].measures))


def best_attack(attacks: Sequence[Attack]) -> BestAttack:
    """The strongest attack, with an interval that allows for its having been chosen among all of them."""
    return BestAttack.of({attack.matcher: attack.measures for attack in attacks})


def attack_outcome(name: str, train: Traces, target: Traces, run: Run = _RUN) -> AttackOutcome:
    """Attack every target with the matcher `name`, by the shortest way to the same result."""
    return Models.of(name, train, target).attack(run)


def measured_attack(name: str, split: Split, run: Run = _RUN, stage: str = "") -> Measures:
    """Attack those who are attacked, and say what it amounts to."""
    train = split.train
    outcome = Models.of(name, train, split.target, split.attacked).attack(run, stage=stage)
    return measure_outcome(outcome, users=train.users, seed=run.seed, replicates=run.replicates)


def measure_outcome(outcome: AttackOutcome, *, users: int, seed: int, replicates: int = REPLICATES) -> Measures:
    """Measure what an attack found; the distribution of impostor scores is held fixed in the intervals."""
    identified = Identified(outcome.credit, outcome.rank_low, outcome.rank_high, outcome.clarity)
    return measure(outcome.law, users=users, seed=seed, identified=identified, replicates=replicates)


@dataclass(frozen=True, slots=True)
class Models:
    """A matcher's work on training and target, done once for the attack and for the one on permuted people."""

    train: Traces
    target: Traces
    matching: Matching | None  # None: one event per target, where pairs need not be visited
    atoms: NDArray[np.int64] | None = None  # frequent scores, where they are known

    @classmethod
    def of(cls, name: str, train: Traces, target: Traces, attacked: NDArray[np.int64] | None = None) -> Models:
        """Build the models for all targets, or those of the people `attacked`, unless there is a shorter way."""
        by = matcher(name)
        if not (by.first_by_visit and int(np.diff(target.offsets).max()) == 1):
            return cls(train, target, by(train, target, attacked))
        if attacked is None:
            return cls(train, target, None)
        return cls(train, target, matcher("visit")(train, target, attacked), np.zeros(1, np.int64))

    def exchanged(self, order: NDArray[np.int64]) -> Models:
        """Give user i the target of user order[i]."""
        if self.matching is None:
            return Models(self.train, self.target.take(order), None)
        return replace(self, matching=self.matching.exchanged(order))

    def attack(self, run: Run, *, stage: str = "", pilot: NDArray[np.int64] | None = None) -> AttackOutcome:
        """Score all users for all targets; `pilot` is the order in which targets are tried beforehand."""
        run.progress(stage, 0.0)
        if self.matching is None:
            return attack_single(self.train, self.target)
        return attack_all_pairs(
            self.matching,
            threads=run.threads,
            progress=lambda share: run.progress(stage, share),
            pilot=pilot,
            atoms=self.atoms,
        )
