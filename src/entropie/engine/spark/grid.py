"""The attack on Spark: models from blocks, own scores, a grid of cells, merged and measured where the data are.

    blocks --models--> user rows, target rows --own scores--> targets --cells--> laws, results of targets
                                                                   --merged over user blocks--> measured, one task each

The steps themselves are those of `entropie.engine.pipeline`; here is who does them where, and what travels in between.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.attack.index import Extent, Units
from entropie.attack.keyed import KeyedRows
from entropie.attack.matchers import matcher
from entropie.attack.measured import measure_outcome
from entropie.attack.partial import LawPart, Partial, merge_laws, merge_users
from entropie.attack.scoring import law_size, needs_atoms, pilot_places
from entropie.engine.pipeline import Asked, Known, Scale, cell, extent_of, outcome, own_scores, pilot_cell, scale_of
from entropie.engine.spark.blocks import grouped, opened_block, pieces
from entropie.engine.spark.boxes import Box, gathered, in_order, mapped, opened, received, replicated
from entropie.engine.spark.plans import Kept
from entropie.engine.spark.progress import watched
from entropie.engine.spark.statistics import Populations
from entropie.plan.attacks import AttackSpec, Training
from entropie.plan.execution import Attacked
from entropie.plan.grid import Grid
from entropie.plan.plan import Plan
from entropie.progress import Progress
from entropie.request import SplitRule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_USERS, _TARGETS, _EXTENT, _PILOT = range(4)


@dataclass(frozen=True, slots=True)
class Job:
    """What all tasks of some attacks of a plan share; seed and replicates are of the intervals."""

    plan: Plan
    rule: SplitRule
    specs: tuple[AttackSpec, ...]
    populations: Populations
    seed: int
    replicates: int

    @property
    def grid(self) -> Grid:
        """The blocks of users and of targets."""
        return self.plan.grid

    @property
    def models(self) -> tuple[tuple[str, Training], ...]:
        """Who compares traces how after learning from what; an attack and its control share a model."""
        return tuple(dict.fromkeys((spec.matcher, spec.training) for spec in self.specs))

    @property
    def pilot(self) -> int:
        """Targets whose place by content is below are the pilot's."""
        people, targets = self.plan.people, self.plan.targets
        return pilot_places(people, targets) if needs_atoms(people, targets) else 0

    def model_of(self, attack: int) -> int:
        """The model that an attack uses."""
        return self.models.index((self.specs[attack].matcher, self.specs[attack].training))

    def attacks_of(self, model: int) -> list[int]:
        """The attacks that use a model."""
        return [attack for attack in range(len(self.specs)) if self.model_of(attack) == model]

    def short(self, name: str) -> bool:
        """Whether every target has one event that the matcher scores by the visit vector alone."""
        return self.plan.single and matcher(name).first_by_visit

    @property
    def max_values(self) -> int:
        """Values that a law keeps: chosen by the number of all people, not of a block."""
        return law_size(self.plan.people)


def attack_blocks(blocks: DataFrame, job: Job, progress: Progress) -> list[Attacked]:
    """Run the attacks of a job together on blocks as `block_boxes` makes them, gathered by user block."""
    kept = Kept()
    try:
        with watched(blocks.sparkSession, progress, "building models"):
            rows = kept.keep(mapped(blocks, _model_boxes, job=job))
            units = _units(rows, job)
        users = rows.where(f"side = {_USERS}")
        with watched(blocks.sparkSession, progress, "own scores"):
            owned = kept.keep(_with_own_scores(rows, users, job, units))
            scales = _scales(users, owned, job, units)
        with watched(blocks.sparkSession, progress, f"scoring {len(job.models) * job.grid.cells} cells"):
            measured = received(_measured(_cells(users, owned, job, scales), job, scales))
    finally:
        kept.release()
    return [Attacked(*box.arrays) for box in measured]


def _model_boxes(batches: Iterable[pa.RecordBatch], *, job: Job) -> Iterator[Box]:
    """Build the rows of a block for every model: users by (model, block), targets by (attack, block of their label)."""
    block = opened_block(in_order(opened(batches)), job.rule)
    if block is None:
        return
    blocks = job.grid.user_blocks
    own = int(job.grid.user_block(block.people[:1])[0])
    for model, (name, training) in enumerate(job.models):
        population = job.populations.of((name, training), block)
        by = matcher("visit" if job.short(name) else name)  # as on one machine, which has a short way there
        users = by.user_keys(block.training(training), block.codes, population)
        targets = by.target_keys(block.target.take(block.attacked), block.codes, population)
        yield from _row_boxes(model * blocks + own, _USERS, own << 32, users, (block.people,))
        yield Box(model, _EXTENT, own, (extent_of(by, users, targets),))
        for attack in job.attacks_of(model):
            labels = (block.labels if job.specs[attack].shuffled else block.people)[block.attacked]
            places = block.places[block.attacked]
            for number, chosen in grouped(job.grid.user_block(labels)):
                columns = (labels[chosen], places[chosen])
                yield from _row_boxes(attack * blocks + number, _TARGETS, own << 32, targets.take(chosen), columns)


def _row_boxes(
    key: int, side: int, part: int, rows: KeyedRows, columns: tuple[NDArray[np.int64], ...]
) -> Iterator[Box]:
    """Rows and what stands beside each of them, cut so that they fit boxes."""
    for number, begin, end in pieces(part, rows.offsets, 16):
        run = slice(rows.offsets[begin], rows.offsets[end])
        term = None if rows.term is None else rows.term[begin:end]
        offsets = rows.offsets[begin : end + 1] - rows.offsets[begin]
        beside = (column[begin:end] for column in columns)
        yield Box(key, side, number, (*beside, offsets, rows.keys[run], rows.weights[run], term))


def _joined(boxes: Sequence[Box], columns: int) -> tuple[list[NDArray[np.int64]], KeyedRows]:
    """Put rows together from their boxes, and the columns beside them."""
    beside = [np.concatenate([box.arrays[place] for box in boxes]) for place in range(columns)]
    return beside, KeyedRows.concat([KeyedRows(*box.arrays[columns:]) for box in boxes])


def _known(boxes: Sequence[Box]) -> Known:
    (people,), rows = _joined(boxes, 1)
    return Known(people, rows)


def _asked(boxes: Sequence[Box]) -> Asked:
    (labels, genuine), rows = _joined(boxes, 2)
    return Asked(labels, genuine, rows)


def _units(rows: DataFrame, job: Job) -> list[Units]:
    """Choose the unit of every model's scores from the largest weights of all blocks."""
    extents = [Extent() for _ in job.models]
    for box in received(rows.where(f"side = {_EXTENT}")):
        extents[box.key] = extents[box.key].merge(box.arrays[0])
    return [extent.units() for extent in extents]


def _with_own_scores(rows: DataFrame, users: DataFrame, job: Job, units: list[Units]) -> DataFrame:
    """Give every target the score of the person it belongs to: boxes by (attack, target block), and the pilot's.

    Where people are as they are, a block has both at hand. Exchanged targets must go to the block of their person.
    """
    here = mapped(rows, _owned_here, job=job, units=units)
    blocks, shuffled = job.grid.user_blocks, [attack for attack, spec in enumerate(job.specs) if spec.shuffled]
    if not shuffled:
        return here
    listed = ", ".join(map(str, shuffled))
    wanted = rows.where(f"side = {_TARGETS} and key div {blocks} in ({listed})")
    met = gathered(_beside(users, job, shuffled).unionByName(wanted), len(job.specs) * blocks)
    return here.unionByName(mapped(met, _owned, job=job, units=units))


def _beside(users: DataFrame, job: Job, attacks: Sequence[int]) -> DataFrame:
    """Users of (model, block) for every one of some attacks by that model: keys (attack, block)."""
    blocks = job.grid.user_blocks
    of_model = [[attack for attack in job.attacks_of(model) if attack in attacks] for model in range(len(job.models))]
    lists = ", ".join("array(" + ", ".join(f"{attack}L" for attack in mine) + ")" for mine in of_model)
    mine = f"element_at(array({lists}), cast(key div {blocks} as int) + 1)"
    return replicated(users, f"transform({mine}, a -> a * {blocks} + key % {blocks})")


def _owned_here(batches: Iterable[pa.RecordBatch], *, job: Job, units: list[Units]) -> Iterator[Box]:
    """The targets of a block's own people, all models one after the other."""
    held: dict[tuple[int, int], list[Box]] = {}
    for box in opened(batches):
        held.setdefault((box.side, box.key), []).append(box)
    for (side, key), asked in held.items():
        attack, block = divmod(key, job.grid.user_blocks)
        if side == _TARGETS and not job.specs[attack].shuffled:
            model = job.model_of(attack)
            yield from _own_boxes(attack, block, held[_USERS, model * job.grid.user_blocks + block], asked, job, units)


def _owned(batches: Iterable[pa.RecordBatch], *, job: Job, units: list[Units]) -> Iterator[Box]:
    """The targets of one attack that belong to one block's people, wherever they come from."""
    boxes = list(in_order(opened(batches)))
    asked = [box for box in boxes if box.side == _TARGETS]
    if asked:
        users = [box for box in boxes if box.side == _USERS]
        yield from _own_boxes(*divmod(asked[0].key, job.grid.user_blocks), users, asked, job, units)


def _own_boxes(
    attack: int, block: int, candidates: list[Box], asked: list[Box], job: Job, units: list[Units]
) -> Iterator[Box]:
    users = _known(candidates)
    (labels, places), targets = _joined(asked, 2)
    order = np.argsort(labels, kind="stable")
    labels, places, targets = labels[order], places[order], targets.take(order)
    own = np.searchsorted(users.people, labels)
    if not np.array_equal(labels, users.people[own]):
        raise AssertionError("Every target of a block is of one of its people.")
    genuine = own_scores(users.rows.take(own), targets, units[job.model_of(attack)])
    for number, chosen in grouped(job.grid.target_block(labels)):
        columns = (labels[chosen], genuine[chosen])
        key = attack * job.grid.target_blocks + number
        yield from _row_boxes(key, _TARGETS, block << 32, targets.take(chosen), columns)
    pilot = np.flatnonzero(places < job.pilot)
    if pilot.size:
        yield from _row_boxes(attack, _PILOT, block << 32, targets.take(pilot), (labels[pilot], genuine[pilot]))


def _scales(users: DataFrame, owned: DataFrame, job: Job, units: list[Units]) -> list[Scale]:
    """Find the frequent values of every attack's scores from the pilot's targets against everybody."""
    blocks, everyone = job.grid.user_blocks, range(len(job.specs))
    short = [job.short(spec.matcher) for spec in job.specs]
    scales = [(Scale.short if short[attack] else Scale.plain)(units[job.model_of(attack)]) for attack in everyone]
    if not job.pilot or all(short):
        return scales
    pilot = replicated(
        owned.where(f"side = {_PILOT}"), f"transform(sequence(0, {blocks - 1}), b -> key * {blocks} + b)"
    )
    met = gathered(_beside(users, job, everyone).unionByName(pilot), len(job.specs) * blocks)
    tried = gathered(mapped(met, _pilot_cell, job=job, units=units), len(job.specs))
    for box in received(mapped(tried, _pilot_scale, job=job, units=units)):
        if not short[box.key]:
            (scales[box.key],) = box.arrays
    return scales


def _pilot_cell(batches: Iterable[pa.RecordBatch], *, job: Job, units: list[Units]) -> Iterator[Box]:
    boxes = list(in_order(opened(batches)))
    asked = [box for box in boxes if box.side == _PILOT]
    if not asked:
        return
    attack, block = divmod(asked[0].key, job.grid.user_blocks)
    users = _known([box for box in boxes if box.side == _USERS])
    yield Box(attack, 0, block, (pilot_cell(users, _asked(asked), units[job.model_of(attack)]),))


def _pilot_scale(batches: Iterable[pa.RecordBatch], *, job: Job, units: list[Units]) -> Iterator[Box]:
    boxes = list(in_order(opened(batches)))
    if boxes:
        attack = boxes[0].key
        scale = scale_of(units[job.model_of(attack)], [box.arrays[0] for box in boxes], job.max_values)
        yield Box(attack, 0, 0, (scale,))


def _cells(users: DataFrame, owned: DataFrame, job: Job, scales: list[Scale]) -> DataFrame:
    """The grid: cell (model, i, j) holds user block i and target block j of every attack that uses the model."""
    blocks, splits = job.grid.user_blocks, job.grid.target_blocks
    candidates = replicated(users, f"transform(sequence(0, {splits - 1}), j -> key * {splits} + j)")
    model = "element_at(array(" + ", ".join(str(job.model_of(a)) for a in range(len(job.specs))) + "), cast(key div "
    model += f"{splits} as int) + 1)"
    asked = replicated(
        owned.where(f"side = {_TARGETS}").selectExpr(
            "key", f"cast(1 + key div {splits} as int) as side", "part", "payload"
        ),
        f"transform(sequence(0, {blocks - 1}), i -> ({model} * {blocks} + i) * {splits} + key % {splits})",
    )
    met = gathered(candidates.unionByName(asked), len(job.models) * blocks * splits)
    return mapped(met, _cell, job=job, scales=scales)


def _cell(batches: Iterable[pa.RecordBatch], *, job: Job, scales: list[Scale]) -> Iterator[Box]:
    """Score one cell; its law goes to its attack (side 0), its targets to their block (side 1)."""
    boxes = list(in_order(opened(batches)))
    if not boxes or boxes[0].side != _USERS:
        return
    blocks, splits = job.grid.user_blocks, job.grid.target_blocks
    rest, split = divmod(boxes[0].key, splits)
    block = rest % blocks
    users = _known([box for box in boxes if box.side == _USERS])
    for side in sorted({box.side for box in boxes} - {_USERS}):
        begun = time.perf_counter()
        attack = side - 1
        asked = _asked([box for box in boxes if box.side == side])
        scored = cell(users, asked, scales[attack], max_values=job.max_values)
        seconds = time.perf_counter() - begun
        yield Box(len(job.specs) * splits + attack, 0, block * splits + split, (scored.law, seconds))
        bare = replace(scored, law=LawPart.empty(scales[attack].atoms.size, job.max_values))
        yield Box(attack * splits + split, 1, block, (bare,))


def _measured(cells: DataFrame, job: Job, scales: list[Scale]) -> DataFrame:
    """Merge results of targets over user blocks, then measure every attack in one task."""
    splits, attacks = job.grid.target_blocks, len(job.specs)
    merged = mapped(gathered(cells, attacks * (splits + 1)), _merge_boxes, job=job, scales=scales)
    return mapped(gathered(merged, attacks), _measure_boxes, job=job, scales=scales)


def _merge_boxes(batches: Iterable[pa.RecordBatch], *, job: Job, scales: list[Scale]) -> Iterator[Box]:
    """One attack's laws, merged as they come; or one target block's results, merged over user blocks."""
    splits = job.grid.target_blocks
    law: LawPart | None = None
    seconds = 0.0
    held: list[Partial] = []
    key = -1
    for box in in_order(opened(batches)):
        key = box.key
        if box.side == 0:
            law = box.arrays[0] if law is None else merge_laws((law, box.arrays[0]))
            seconds += box.arrays[1]
        else:
            held.append(box.arrays[0])
    if law is not None:
        yield Box(key - len(job.specs) * splits, 0, 0, (law, seconds))
    if held:
        attack, split = divmod(key, splits)
        yield Box(attack, 1, split, (merge_users(held, scales[attack].units.tolerance),))


def _measure_boxes(batches: Iterable[pa.RecordBatch], *, job: Job, scales: list[Scale]) -> Iterator[Box]:
    """Everything of one attack, as one machine would have it, measured by the same function."""
    boxes = list(in_order(opened(batches)))
    if boxes:
        attack, (law, seconds) = boxes[0].key, boxes[0].arrays
        found = outcome(scales[attack], [box.arrays[0] for box in boxes[1:]], law)
        measures = measure_outcome(found, users=job.plan.people, seed=job.seed, replicates=job.replicates)
        yield Box(attack, 0, 0, (measures, seconds))
