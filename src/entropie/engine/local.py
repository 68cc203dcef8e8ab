"""The engine of one machine: everybody in one process, attacked by threads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.attack.chance import by_content, exchanged_targets
from entropie.attack.matchers import matcher
from entropie.attack.measured import Models
from entropie.attack.scoring import attack as attack_all_pairs
from entropie.data.split import Split, first_events
from entropie.data.traces import Traces
from entropie.measures.convergence import Convergence, convergence, doubling_sizes
from entropie.measures.law import ScoreLaw
from entropie.measures.summary import Measures, measure_outcome
from entropie.plan.attacks import AttackSpec, Training
from entropie.plan.execution import Attacked, Outcome, executed
from entropie.plan.plan import Plan
from entropie.request import Run

__all__ = ["LocalEngine"]


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Attacks in this process. `order` are the people by content: it says whose identities are exchanged, and whose
    targets are tried first to find out how scores fall.
    """

    split: Split
    run: Run
    order: NDArray[np.int64]

    @classmethod
    def of(cls, split: Split, run: Run) -> LocalEngine:
        """Put people in order once for all attacks."""
        return cls(split, run, by_content(split))

    def execute(self, plan: Plan) -> Outcome:
        """Run every attack of the plan."""
        return executed(plan, self)

    def attacked(self, plan: Plan, specs: Sequence[AttackSpec]) -> list[Attacked]:
        """Run one attack after the other; neighbours that differ in the shuffling alone share their models."""
        results, made, models = [], None, None
        for spec in specs:
            begun = time.perf_counter()
            self.run.progress(spec.stage, 0.0)
            if models is None or made != (spec.matcher, spec.training):
                made, models = (spec.matcher, spec.training), None  # the last models go before the next are made
                models = Models.of(spec.matcher, self._training(spec.training), self.split.target)
            measures = self._measured(models, spec)
            results.append(Attacked(measures, time.perf_counter() - begun))
        return results

    def convergence(self, name: str) -> Convergence | None:
        """Bits against number of users, if there are enough for two sizes."""
        split, everybody = self.split, self.split.train.users
        sizes = doubling_sizes(everybody)
        if len(sizes) < 2:
            return None

        def law_of(users: int, rng: np.random.Generator) -> ScoreLaw:
            self.run.progress(f"converging: {name}", users / everybody)
            chosen = np.sort(self.order[rng.choice(everybody, users, replace=False)])
            matching = matcher(name)(split.train.take(chosen), split.target.take(chosen))
            return attack_all_pairs(matching, threads=self.run.threads).law

        return convergence(law_of, sizes, self.run.seed, replicates=self.run.replicates)

    def _training(self, training: Training) -> Traces:
        if training is None:
            return self.split.train
        return self.split.target if training == "target" else first_events(self.split.train, training)

    def _measured(self, models: Models, spec: AttackSpec) -> Measures:
        run, pilot = self.run, self.order
        if spec.shuffled:
            exchanged = exchanged_targets(self.split, run.seed, self.order)
            models = models.exchanged(exchanged)
            now_at = np.empty_like(exchanged)
            now_at[exchanged] = np.arange(exchanged.size)
            pilot = now_at[self.order]  # the same targets, where they stand now
        outcome = models.attack(run, stage=spec.stage, pilot=pilot)
        return measure_outcome(outcome, users=self.split.train.users, seed=run.seed, replicates=run.replicates)
