"""One attack from split traces to its measures: the step that every assessment repeats, and who takes it.

An assessment says which attacks it wants; an engine runs them. The local one is here; a cluster may be another.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from entropie.attack.chance import by_content, exchanged_targets
from entropie.attack.features import Matching
from entropie.attack.matchers import matcher
from entropie.attack.scoring import AttackOutcome
from entropie.attack.scoring import attack as attack_all_pairs
from entropie.attack.single import attack_single
from entropie.data.split import Knowledge, Split, first_events
from entropie.data.traces import Traces
from entropie.measures.best import BestAttack, strength
from entropie.measures.convergence import Convergence, convergence, doubling_sizes
from entropie.measures.intervals import REPLICATES, Interval, share_interval
from entropie.measures.law import ScoreLaw
from entropie.measures.summary import Measures, measure_outcome

__all__ = [
    "Attack",
    "AttackSpec",
    "Engine",
    "LocalEngine",
    "Models",
    "MostExposed",
    "Tell",
    "Training",
    "attack_by_each",
    "attack_outcome",
    "best_attack",
    "measured_attack",
    "most_exposed",
    "strongest",
]

Tell = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done."""

Training = int | Literal["target"] | None
"""What is learned from: the split's training (None), so many first events of it, or the attacked events themselves."""


@dataclass(frozen=True, slots=True)
class AttackSpec:
    """One attack that an assessment asks for."""

    matcher: str
    training: Training = None
    exchanged: bool = False  # on permuted people, by `exchanged_targets` with the assessment's seed

    @property
    def stage(self) -> str:
        """What to tell while it runs."""
        if self.exchanged:
            return f"permuted: {self.matcher}"
        if self.training is None:
            return f"attacking: {self.matcher}"
        return f"knowing {'all' if self.training == 'target' else self.training}: {self.matcher}"


class Engine(Protocol):
    """Runs attacks on one split."""

    def measures(self, specs: Sequence[AttackSpec]) -> list[Measures]:
        """What each attack amounts to, in the order asked; the same on every engine to the bit."""
        ...


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


def attack_by_each(
    engine: Engine, matchers: Iterable[str], knowledge: Knowledge, null_baseline: bool
) -> tuple[Attack, ...]:
    """Attack with every matcher, and where asked on permuted people too."""
    attacks = []
    for name in dict.fromkeys(matchers):
        begun = clock.perf_counter()
        plain, permuted = AttackSpec(name), AttackSpec(name, exchanged=True)
        found = engine.measures((plain, permuted) if null_baseline else (plain,))
        null = found[1] if null_baseline else None
        attacks.append(Attack(name, knowledge, found[0], null, clock.perf_counter() - begun))
    return tuple(attacks)


def strongest(attacks: Sequence[Attack]) -> int:
    """Index of the attack that re-identifies most people; bits decide between equals."""
    return min(range(len(attacks)), key=lambda i: strength(attacks[i].measures))


def best_attack(attacks: Sequence[Attack]) -> BestAttack:
    """The strongest attack, with an interval that allows for its having been chosen among all of them."""
    return BestAttack.of({attack.matcher: attack.measures for attack in attacks})


def most_exposed(attacks: Sequence[Attack]) -> MostExposed:
    """The group of people with the highest risk: the clearest tenth of some attack, or everybody."""
    best = best_attack(attacks)
    groups = [MostExposed(best.matcher, 1.0, best.measures.targets, best.right)]
    for attack in attacks:
        if attack.measures.exposure is not None:
            first = attack.measures.exposure.most_exposed
            right = share_interval(first.right.value, first.people, best.level)
            groups.append(MostExposed(attack.matcher, first.end, first.people, right))
    return max(groups, key=lambda group: (group.right.value, group.right.low))


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Attacks in this process. `order` are the people by content: it says who is exchanged with whom, and whose
    targets are tried first to find out how scores fall.
    """

    split: Split
    order: NDArray[np.int64]
    seed: int = 0
    replicates: int = REPLICATES
    threads: int | None = None
    tell: Tell | None = None

    @classmethod
    def of(cls, split: Split, **options: Any) -> LocalEngine:
        """Put people in order once for all attacks."""
        return cls(split, by_content(split), **options)

    def measures(self, specs: Sequence[AttackSpec]) -> list[Measures]:
        """Run one attack after the other; neighbours that differ in the exchange alone share their models."""
        found, made, models = [], None, None
        for spec in specs:
            if self.tell is not None:
                self.tell(spec.stage, 0.0)
            if models is None or made != (spec.matcher, spec.training):
                made, models = (spec.matcher, spec.training), None  # the last models go before the next are made
                models = Models.of(spec.matcher, self._training(spec.training), self.split.target)
            found.append(self._measured(models, spec))
        return found

    def convergence(self, name: str) -> Convergence | None:
        """Bits against number of users, if there are enough for two sizes."""
        split, everybody = self.split, self.split.train.users
        sizes = doubling_sizes(everybody)
        if len(sizes) < 2:
            return None

        def law_of(users: int, rng: np.random.Generator) -> ScoreLaw:
            if self.tell is not None:
                self.tell(f"converging: {name}", users / everybody)
            chosen = np.sort(self.order[rng.choice(everybody, users, replace=False)])
            matching = matcher(name)(split.train.take(chosen), split.target.take(chosen))
            return attack_all_pairs(matching, threads=self.threads).law

        return convergence(law_of, sizes, self.seed, replicates=self.replicates)

    def _training(self, training: Training) -> Traces:
        if training is None:
            return self.split.train
        return self.split.target if training == "target" else first_events(self.split.train, training)

    def _measured(self, models: Models, spec: AttackSpec) -> Measures:
        pilot = self.order
        if spec.exchanged:
            exchanged = exchanged_targets(self.split, self.seed, self.order)
            models = models.exchanged(exchanged)
            now_at = np.empty_like(exchanged)
            now_at[exchanged] = np.arange(exchanged.size)
            pilot = now_at[self.order]  # the same targets, where they stand now
        outcome = models.attack(threads=self.threads, tell=self.tell, stage=spec.stage, pilot=pilot)
        return measure_outcome(outcome, users=self.split.train.users, seed=self.seed, replicates=self.replicates)


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
        by = matcher(name)
        single = by.first_by_visit and int(np.diff(target.offsets).max()) == 1
        return cls(train, target, None if single else by(train, target))

    def exchanged(self, order: NDArray[np.int64]) -> Models:
        """Give user i the target of user order[i]."""
        if self.matching is None:
            return Models(self.train, self.target.take(order), None)
        return Models(self.train, self.target, self.matching.exchanged(order))

    def attack(
        self,
        *,
        threads: int | None = None,
        tell: Tell | None = None,
        stage: str = "",
        pilot: NDArray[np.int64] | None = None,
    ) -> AttackOutcome:
        """Score all users for all targets; `pilot` is the order in which targets are tried beforehand."""
        if tell is not None:
            tell(stage, 0.0)
        if self.matching is None:
            return attack_single(self.train, self.target)
        progress = None if tell is None else lambda done, total: tell(stage, done / total)
        return attack_all_pairs(self.matching, threads=threads, progress=progress, pilot=pilot)


def _null_json(null: Measures) -> dict[str, Any]:
    document = null.to_json()
    kept = ("identification_error", "pse_bits", "pse_finite_bits", "equal_error_rate")
    return {name: document[name] for name in kept}
