"""The engine of one machine: everybody in one process, attacked by threads.

Everybody is one block where memory allows: then items number the features, and no key is looked up. Otherwise people go
through the pipeline block by block, and rows are made anew for each block when its turn comes.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from entropie.attack.chance import by_content, exchanged_targets
from entropie.attack.index import Extent, Units
from entropie.attack.keyed import KeyedRows
from entropie.attack.matchers import Matcher, Population, matcher
from entropie.attack.measured import Models, measure_outcome
from entropie.attack.partial import Partial, merge_users
from entropie.attack.scoring import AttackOutcome, core_count, law_size, needs_atoms, pilot_places
from entropie.attack.scoring import attack as attack_all_pairs
from entropie.data.split import Split
from entropie.data.traces import Traces, dense
from entropie.engine.pipeline import Asked, Known, Scale, cell, extent_of, outcome, own_scores, pilot_cell, scale_of
from entropie.measures.convergence import Convergence, convergence, doubling_sizes
from entropie.measures.law import ScoreLaw
from entropie.plan.attacks import AttackSpec, trained_on
from entropie.plan.execution import Attacked, Outcome, executed
from entropie.plan.grid import Grid
from entropie.plan.plan import Plan
from entropie.request import Run


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
                models = self._models(plan, spec)
            outcome = self._outcome(models, spec)
            users, run = self.split.train.users, self.run
            measures = measure_outcome(outcome, users=users, seed=run.seed, replicates=run.replicates)
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

    def _models(self, plan: Plan, spec: AttackSpec) -> Models | ModelsInBlocks:
        by, split = (
            matcher(spec.matcher),
            replace(self.split, train=trained_on(self.split.train, self.split.target, spec.training)),
        )
        if plan.grid.cells == 1 or (plan.single and by.first_by_visit):
            return Models.of(spec.matcher, split.train, split.target, split.attacked)
        bounds = [np.searchsorted(split.users, cut) for cut in (plan.grid.users, plan.grid.targets)]
        return ModelsInBlocks.of(by, split, Grid.of(*bounds))

    def _outcome(self, models: Models | ModelsInBlocks, spec: AttackSpec) -> AttackOutcome:
        pilot = self.order
        if spec.shuffled:
            exchanged = exchanged_targets(self.split, self.run.seed, self.order)
            models = models.exchanged(exchanged)
            now_at = np.empty_like(exchanged)
            now_at[exchanged] = np.arange(exchanged.size)
            pilot = now_at[self.order]  # the same targets, where they stand now
        return models.attack(self.run, stage=spec.stage, pilot=pilot)


@dataclass(frozen=True, slots=True, eq=False)
class ModelsInBlocks:
    """A matcher's work on people in blocks: rows of users are made when they are needed, those of targets are kept.

    People are numbered by their place, and `grid` cuts these numbers. Row r of the targets is of person owners[r].
    """

    by: Matcher
    train: Traces
    population: Population
    grid: Grid
    units: Units
    targets: KeyedRows
    owners: NDArray[np.int64]

    @classmethod
    def of(cls, by: Matcher, split: Split, grid: Grid) -> ModelsInBlocks:
        """Learn what is known of everybody, and how large scores may be."""
        train, target = split.train, split.target
        population = by.population(train, target)
        owners = np.arange(train.users) if split.attacked is None else split.attacked
        extent, parts = Extent(), []
        for begin, end in itertools.pairwise(grid.users):
            asked = owners[slice(*np.searchsorted(owners, (begin, end)))]
            parts.append(by.target_keys(*_dense(target.take(asked), population)))
            users = by.user_keys(*_dense(train.take(np.arange(begin, end)), population))
            extent = extent.merge(extent_of(by, users, parts[-1]))
        return cls(by, train, population, grid, extent.units(), KeyedRows.concat(parts), owners)

    def exchanged(self, order: NDArray[np.int64]) -> ModelsInBlocks:
        """Give user i the target of user order[i]."""
        now_of = np.empty_like(order)
        now_of[order] = np.arange(order.size)
        owners = now_of[self.owners]
        by_owner = np.argsort(owners)
        return replace(self, targets=self.targets.take(by_owner), owners=owners[by_owner])

    def attack(self, run: Run, *, stage: str = "", pilot: NDArray[np.int64]) -> AttackOutcome:
        """Score all users for all targets; `pilot` is the order in which targets are tried beforehand."""
        run.progress(stage, 0.0)
        everybody, attacked, blocks = self.train.users, self.targets.rows, self.grid.user_blocks
        genuine, values, scale = self._genuine(), law_size(everybody), Scale.plain(self.units)
        if needs_atoms(everybody, attacked):
            among = np.isin(self.owners, pilot[: pilot_places(everybody, attacked)])
            first = self._asked(np.flatnonzero(among), genuine)
            tried = [pilot_cell(self._users(block), first, self.units) for block in range(blocks)]
            scale = scale_of(self.units, tried, values)
        rows = (np.arange(*ends) for ends in itertools.pairwise(np.searchsorted(self.owners, self.grid.targets)))
        asked = [self._asked(mine, genuine) for mine in rows if mine.size]
        held: list[list[Partial]] = [[] for _ in asked]
        for block in range(blocks):
            users = self._users(block)
            for place, targets in enumerate(asked):
                run.progress(stage, (block * len(asked) + place) / self.grid.cells)
                held[place].append(cell(users, targets, scale, max_values=values, threads=core_count(run.threads)))
                held[place] = [merge_users(held[place], self.units.tolerance)]
        return outcome(scale, [result for (result,) in held])

    def _genuine(self) -> NDArray[np.int64]:
        scores = []
        for users in map(self._users, range(self.grid.user_blocks)):
            begin, end = np.searchsorted(self.owners, (users.people[0], users.people[-1] + 1))
            own = users.rows.take(self.owners[begin:end] - users.people[0])
            scores.append(own_scores(own, self.targets.take(np.arange(begin, end)), self.units))
        return np.concatenate(scores)

    def _users(self, block: int) -> Known:
        people = np.arange(self.grid.users[block], self.grid.users[block + 1])
        return Known(people, self.by.user_keys(*_dense(self.train.take(people), self.population)))

    def _asked(self, rows: NDArray[np.int64], genuine: NDArray[np.int64]) -> Asked:
        return Asked(self.owners[rows], genuine[rows], self.targets.take(rows))


def _dense(traces: Traces, population: Population) -> tuple[Traces, NDArray[np.uint32], Population]:
    """Number the items of a block in their order: the traces, the codes behind the numbers, what is known of them."""
    numbered, codes = dense(traces)
    return numbered, codes, population.cut(codes)
