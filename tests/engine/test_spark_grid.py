"""The grid without Spark: the functions that tasks run, chained by hand, give what one machine measures to the bit."""

from __future__ import annotations

import itertools
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from entropie.attack import scoring
from entropie.attack.features import item_rows
from entropie.attack.index import Extent
from entropie.attack.matchers import MATCHERS, matcher
from entropie.attack.measured import Models
from entropie.data.split import Split, halves_of, split_traces
from entropie.data.traces import Traces
from entropie.engine import pipeline
from entropie.engine.local import LocalEngine
from entropie.engine.spark import blocks as cluster_blocks
from entropie.engine.spark import exchange, statistics
from entropie.engine.spark import grid as cells
from entropie.engine.spark.blocks import People, opened_block, people_boxes
from entropie.engine.spark.boxes import Box, Boxing, opened
from entropie.engine.spark.statistics import Populations
from entropie.measures.summary import Measures
from entropie.plan.attacks import AttackSpec
from entropie.plan.costs import price
from entropie.plan.grid import Grid
from entropie.plan.plan import Counts, Plan, plan_of, workers_of
from entropie.plan.sizes import Data, Machines
from entropie.request import Attackers, Request, Run, Source, SplitRule

HALVES = SplitRule("halves", "partial", None, None)
Batches = list[pa.RecordBatch]
Task = Callable[..., Iterable[Any]]
RANGES = 3  # of items, hashes and places


def drawn_traces(seed: int, users: int, *, items: int, longest: int, timed: bool) -> Traces:
    """People with favourites, at hours of their own; some have a single event."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest, users, endpoint=True)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    person = np.repeat(np.arange(users), lengths)
    own = (person * 7 + rng.integers(0, 3, person.size)) % items
    chosen = np.where(rng.random(person.size) < 0.5, own, rng.integers(0, items, person.size)).astype(np.uint32)
    times = None
    if timed:
        times = 86400 * np.arange(person.size) + 3600 * ((person * 5) % 24) + rng.integers(0, 7200, person.size)
    return Traces(offsets, chosen, items, times)


def rows_of(traces: Traces, cuts: Sequence[int], attacked: NDArray[np.int64] | None = None) -> Batches:
    """People in boxes, as reading makes them, cut where told."""
    bounds = [0, *sorted(cuts), traces.users]
    people = [np.arange(begin, end) for begin, end in itertools.pairwise(bounds) if begin < end]
    drawn = np.ones(traces.users, np.bool_) if attacked is None else np.isin(np.arange(traces.users), attacked)
    everybody = People(np.arange(traces.users), drawn, traces)
    return batched(box for some in people for box in people_boxes(0, 0, everybody.take(some)))


def boxed(make: Task, batches: Iterable[pa.RecordBatch]) -> list[Box]:
    """Run a task that makes boxes; they are written and opened again, as between two tasks."""
    return list(opened(Boxing(make)(iter(batches))))


def batched(boxes: Iterable[Box]) -> Batches:
    return list(Boxing(iter)(iter(boxes)))  # type: ignore[arg-type]


def by_key(boxes: Iterable[Box]) -> dict[int, Batches]:
    """What `gathered` does: the boxes of each key in the order of side and part."""
    found: dict[int, list[Box]] = defaultdict(list)
    for box in boxes:
        found[box.key].append(box)
    return {key: batched(sorted(mine, key=lambda box: box[:3])) for key, mine in found.items()}


def in_one_order(boxes: Sequence[Box]) -> Sequence[Box]:
    """Check that the order of boxes is settled by where they belong: no two of a key share side and part."""
    assert len({box[:3] for box in boxes}) == len(boxes)
    return boxes


class Spread:
    """People cut into blocks, and all that the driver asks of the blocks, in plain Python."""

    def __init__(
        self,
        traces: Traces,
        rule: SplitRule,
        grid: Grid,
        specs: Sequence[AttackSpec],
        cuts: Sequence[int],
        seed: int,
        attacked: NDArray[np.int64] | None = None,
    ) -> None:
        self.rule, self.grid, self.specs, self.seed = rule, grid, tuple(specs), seed
        self.names = ("attacked", *dict.fromkeys((None, *(spec.training for spec in specs))))
        self.rows = rows_of(traces, cuts, attacked)
        self.timed = traces.times is not None
        facts = self._facts()
        self.sums = [box.arrays for box in facts if box.side == statistics._SUMS]
        boxes = [*(box for box in facts if box.side == statistics._FACTS), *self._people()]
        boxes += self._exchanged(by_key(boxes), traces.users)
        self.gathered = by_key(boxes)
        self.blocks = {key: opened_block(opened(batches), rule) for key, batches in self.gathered.items()}
        assert sorted(self.blocks) == list(range(grid.user_blocks))

    def _people(self) -> Sequence[Box]:
        make = partial(statistics._people_of_blocks, bounds=self.grid.users, rule=self.rule)
        return in_one_order([box for batch in self.rows for box in boxed(make, [batch])])

    def _facts(self) -> list[Box]:
        shared = {"rule": self.rule, "names": self.names, "bounds": self.grid.users, "ranges": RANGES}
        sent = boxed(partial(statistics._item_boxes, **shared), self.rows)
        return self._each(partial(statistics._item_facts, names=self.names), sent)

    def _exchanged(self, gathered: dict[int, Batches], people: int) -> Sequence[Box]:
        make = partial(exchange._hashed, rule=self.rule, ranges=RANGES)
        hashed = [box for batches in gathered.values() for box in boxed(make, batches)]
        ordered = self._each(exchange._ordered, hashed)
        counts = {box.key: box.arrays[0] for box in ordered if box.side == exchange._COUNT}
        before = [sum(counts.get(key, 0) for key in range(number)) for number in range(RANGES)]
        shared = {"before": before, "seed": self.seed, "people": sum(counts.values()), "ranges": RANGES}
        waiting = batched(box for box in ordered if box.side == exchange._HASHED)
        return self._each(
            partial(exchange._exchanged, bounds=self.grid.users), boxed(partial(exchange._placed, **shared), waiting)
        )

    def populations(self, split: Split) -> Populations:
        """Settle smoothing and settings from the blocks, as `statistics.populations` does."""
        events, holders = (
            {name: sum(part[place][column] for part in self.sums) for place, name in enumerate(self.names)}
            for column in (0, 1)
        )
        wanted = [(spec.matcher, spec.training) for spec in self.specs]
        found = statistics.begun(Counts.of(split), holders, events, wanted, self.timed)
        while asking := found.asking():
            make = partial(statistics._part_boxes, rule=self.rule, populations=found, asking=asking)
            sent = [box for batches in self.gathered.values() for box in boxed(make, batches)]
            settled = self._each(partial(statistics._settled, populations=found, asking=asking), sent)
            settings = {asking[box.key]: box.arrays[0] for box in settled}
            assert sorted(map(str, settings)) == sorted(map(str, asking))
            found = found.settled(settings)
        return found

    def measures(self, split: Split, replicates: int) -> list[Measures]:
        """Everything from blocks to measures: models, units, own scores, pilot, cells, merged results."""
        single = int(np.diff(split.target.offsets).max()) == 1
        plan = Plan(split.train.users, split.targets, ("visit",), True, (), False, single, self.grid)
        job = cells.Job(plan, self.rule, self.specs, self.populations(split), self.seed, replicates)
        models = job.models
        blocks, splits = self.grid.user_blocks, self.grid.target_blocks
        by_block = [boxed(partial(cells._model_boxes, job=job), batches) for batches in self.gathered.values()]
        rows = [box for made in by_block for box in made]
        in_one_order(rows)
        extents = [Extent() for _ in models]
        for box in rows:
            if box.side == cells._EXTENT:
                extents[box.key] = extents[box.key].merge(box.arrays[0])
        units = [extent.units() for extent in extents]
        users = [box for box in rows if box.side == cells._USERS]

        def beside_attacks(boxes: Iterable[Box]) -> list[Box]:
            return [
                box._replace(key=attack * blocks + box.key % blocks)
                for box in boxes
                for attack in job.attacks_of(box.key // blocks)
            ]

        exchanged = [box for box in rows if box.side == cells._TARGETS and job.specs[box.key // blocks].shuffled]
        met = [box for box in beside_attacks(users) if job.specs[box.key // blocks].shuffled]
        own = partial(cells._owned, job=job, units=units)
        here = partial(cells._owned_here, job=job, units=units)
        owned = [box for made in by_block for box in boxed(here, batched(made))]
        owned += [box for batches in by_key([*met, *exchanged]).values() for box in boxed(own, batches)]
        in_one_order(owned)
        scales = self._scales(job, units, beside_attacks(users), owned)

        placed = [box._replace(key=box.key * splits + j) for box in users for j in range(splits)]
        for box in owned:
            if box.side == cells._TARGETS:
                attack, j = divmod(box.key, splits)
                for i in range(blocks):
                    key = (job.model_of(attack) * blocks + i) * splits + j
                    placed.append(box._replace(key=key, side=1 + attack))
        scored = self._each(partial(cells._cell, job=job, scales=scales), placed)
        merged = self._each(partial(cells._merge_boxes, job=job, scales=scales), scored)
        measured = self._each(partial(cells._measure_boxes, job=job, scales=scales), merged)
        return [box.arrays[0] for box in sorted(measured, key=lambda box: box.key)]

    def _scales(self, job: Any, units: list[Any], users: list[Box], owned: Sequence[Box]) -> list[Any]:
        blocks = self.grid.user_blocks
        asked = [
            box._replace(key=box.key * blocks + i) for box in owned if box.side == cells._PILOT for i in range(blocks)
        ]
        tried = self._each(partial(cells._pilot_cell, job=job, units=units), [*users, *asked])
        made = self._each(partial(cells._pilot_scale, job=job, units=units), tried)
        found = {box.key: box.arrays[0] for box in made if not job.short(self.specs[box.key].matcher)}
        for attack, spec in enumerate(self.specs):
            plain = pipeline.Scale.short if job.short(spec.matcher) else pipeline.Scale.plain
            found.setdefault(attack, plain(units[job.model_of(attack)]))
        return [found[attack] for attack in range(len(self.specs))]

    def _each(self, make: Task, boxes: Sequence[Box]) -> list[Box]:
        made = [box for batches in by_key(in_one_order(boxes)).values() for box in boxed(make, batches)]
        return list(in_one_order(made))


@st.composite
def cut_people(draw: st.DrawFn, codes: NDArray[np.int64], users: int) -> NDArray[np.int64]:
    """Bounds of blocks: anywhere, so long as nobody's block is empty."""
    inner = draw(st.sets(st.sampled_from(codes[1:].tolist()), max_size=6)) if codes.size > 1 else set()
    return np.array([0, *sorted(inner), users], np.int64)


@st.composite
def attacked_of(draw: st.DrawFn, split: Split) -> tuple[Split, NDArray[np.int64] | None]:
    """Everybody is attacked, or some are: with the codes of these."""
    if draw(st.booleans()):
        return split, None
    rows = draw(st.sets(st.sampled_from(range(split.users.size)), min_size=2))
    chosen = np.array(sorted(rows), np.int64)
    return replace(split, attacked=chosen), split.users[chosen]


RULES = [
    HALVES,
    SplitRule("halves", "partial", None, 1),
    SplitRule("halves", "partial", 2, 3),
    SplitRule("halves", "maximum", None, None),
    SplitRule("history", "partial", 2, None),
    SplitRule("history", "partial", 3, 4),
]


def on_one_machine(split: Split, specs: Sequence[AttackSpec], seed: int) -> list[Measures]:
    engine = LocalEngine.of(split, Run(seed, replicates=5, threads=1))
    plan = plan_of(Request(Source(), attackers=Attackers(("visit",), ())), Counts.of(split))
    return [found.measures for found in engine.attacked(plan, specs)]


SPECS = [
    AttackSpec(name, training, exchanged)
    for name in MATCHERS
    for training, exchanged in ((None, False), (None, True), (1, False), (2, False), ("target", False))
]


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_any_grid_measures_what_one_machine_does(data: st.DataObject) -> None:
    users = data.draw(st.sampled_from([2, 3, 7, 20, 70]), label="users")
    traces = drawn_traces(
        data.draw(st.integers(0, 2**32), label="seed of the events"),
        users,
        items=data.draw(st.sampled_from([1, 5, 40]), label="items"),
        longest=data.draw(st.sampled_from([2, 9, 30]), label="longest"),
        timed=data.draw(st.booleans(), label="timed"),
    )
    rule = data.draw(st.sampled_from(RULES), label="rule")
    if rule.rule == "halves":
        assume(np.count_nonzero(np.diff(traces.offsets) > 1) > 1)
    split = split_traces(traces, rule)
    split, drawn = data.draw(attacked_of(split), label="attacked")
    specs = data.draw(st.lists(st.sampled_from(SPECS), min_size=1, max_size=4, unique=True), label="specs")
    grid = Grid.of(
        data.draw(cut_people(split.users, users), label="user bounds"),
        data.draw(cut_people(split.users, users), label="target bounds"),
    )
    cuts = data.draw(st.lists(st.integers(0, users), max_size=5), label="batches")
    seed = data.draw(st.integers(0, 5), label="seed")
    values = data.draw(st.sampled_from([None, 4, 50]), label="values a law keeps")
    tried = data.draw(st.sampled_from([2**20, 40]), label="values a pilot keeps")
    with (
        mock.patch.object(scoring, "MAX_VALUES", values or scoring.MAX_VALUES),
        mock.patch.object(scoring, "PILOT_VALUES", tried),
        mock.patch.object(pipeline, "PILOT_VALUES", tried),
        mock.patch.object(cluster_blocks, "LARGEST_BOX", data.draw(st.sampled_from([1 << 23, 300]), label="a box")),
    ):
        expected = on_one_machine(split, specs, seed)
        found = Spread(traces, rule, grid, specs, cuts, seed, drawn).measures(split, 5)
    for spec, one, other in zip(specs, found, expected, strict=True):
        assert one.to_json() == other.to_json(), spec


@pytest.mark.parametrize("values", [4, 2**18])
def test_one_event_is_scored_as_on_the_short_way(values: int) -> None:
    """One machine scores it item by item, without a pilot; a grid scores pairs."""
    rule = SplitRule("halves", "partial", None, 1)
    traces = drawn_traces(4, 90, items=25, longest=30, timed=False)
    split = split_traces(traces, rule)
    specs = [spec for spec in SPECS if spec.matcher in ("markov", "visit", "bayes")]
    grid = Grid.of(np.array([0, 40, 90]), np.array([0, 20, 33, 90]))
    with mock.patch.object(scoring, "MAX_VALUES", values):
        expected = on_one_machine(split, specs, 1)
        found = Spread(traces, rule, grid, specs, [10], 1).measures(split, 5)
    for spec, one, other in zip(specs, found, expected, strict=True):
        assert one.to_json() == other.to_json(), spec


def test_everybodys_hours_are_summed_over_all_blocks() -> None:
    traces = drawn_traces(4, 160, items=25, longest=30, timed=True)
    split = split_traces(traces, HALVES)
    grid = Grid.of(np.array([0, 7, 120, 160]), np.array([0, 160]))
    expected = matcher("pitman_yor").population(split.train, split.target).settings
    spread = Spread(traces, HALVES, grid, [AttackSpec("pitman_yor")], [33], 0)
    found = spread.populations(split).known["pitman_yor", None].settings
    assert found.tolist() == expected.tolist()
    assert np.ptp(expected) > 0.0


@pytest.mark.parametrize("timed", [False, True])
def test_a_law_with_atoms_and_wide_cells_does_not_depend_on_the_grid(timed: bool) -> None:
    """Beyond 512 people a pilot looks for frequent scores, and cells of the law grow: all constants as they are."""
    traces = drawn_traces(11, 800, items=60, longest=40, timed=timed)
    split = split_traces(traces, HALVES)
    outcome = Models.of("tfidf", split.train, split.target).attack(Run(threads=1))
    assert outcome.grid > 0
    assert outcome.law.counts.max() > outcome.law.impostors / 256
    drawn = None if timed else np.arange(0, 800, 3)
    split = split_traces(traces, HALVES, drawn)
    specs = [AttackSpec(name, None, exchanged) for name in ("tfidf", "pitman_yor") for exchanged in (False, True)]
    grid = Grid.of(np.array([0, 37, 600, 800]), np.array([0, 3, 250, 798, 800]))
    expected = on_one_machine(split, specs, 3)
    found = Spread(traces, HALVES, grid, specs, [100, 100, 411], 3, drawn).measures(split, 5)
    for spec, one, other in zip(specs, found, expected, strict=True):
        assert one.to_json() == other.to_json(), spec


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32),
    users=st.integers(1, 40),
    timed=st.booleans(),
    rule=st.sampled_from(RULES),
    cuts=st.lists(st.integers(0, 40), max_size=5),
    bounds=st.sets(st.integers(1, 39), max_size=6),
    largest=st.sampled_from([100, 400, 1 << 23]),
)
def test_a_block_comes_out_of_its_boxes_as_it_went_in(
    seed: int, users: int, timed: bool, rule: SplitRule, cuts: list[int], bounds: set[int], largest: int
) -> None:
    traces = drawn_traces(seed, users, items=15, longest=6, timed=timed)
    train, target = halves_of(traces, rule)
    edges = np.array([0, *sorted(bound for bound in bounds if bound < users), users])
    with mock.patch.object(cluster_blocks, "LARGEST_BOX", largest):
        make = partial(statistics._people_of_blocks, bounds=edges, rule=rule)
        boxes = [box for batch in rows_of(traces, [min(cut, users) for cut in cuts]) for box in boxed(make, [batch])]
    gathered = by_key(in_one_order(boxes))
    kept = (np.diff(train.offsets) > 0) & (np.diff(target.offsets) > 0)
    for number, (begin, end) in enumerate(itertools.pairwise(edges)):
        people = np.arange(begin, end)[kept[begin:end]]
        block = opened_block(opened(gathered.get(number, [])), rule)
        if block is None:
            assert people.size == 0
            continue
        assert block.people.tolist() == block.labels.tolist() == people.tolist()
        for mine, whole in ((block.train, train), (block.target, target)):
            expected = whole.take(people)
            assert mine.offsets.tolist() == expected.offsets.tolist()
            assert block.codes[mine.items].tolist() == expected.items.tolist()
            assert (mine.times is None) == (expected.times is None)
            if mine.times is not None and expected.times is not None:
                assert mine.times.tolist() == expected.times.tolist()


@pytest.mark.parametrize("users", [60, 240, 560])
def test_bytes_that_travel_are_those_that_the_plan_is_priced_at(users: int) -> None:
    """Everything that goes from task to task, counted as it is packed; models within a factor of two."""
    traces = drawn_traces(2, users, items=200, longest=40, timed=False)
    split = split_traces(traces, HALVES)
    names = ("visit", "markov")
    request = Request(
        Source(), attackers=Attackers(names, ()), run=Run(engine="spark", memory=700 * users, replicates=2)
    )
    plan = plan_of(request, Counts.of(split), workers_of(request.run, 4))
    assert plan.grid.user_blocks > 1
    [specs] = plan.first_stage
    spread = Spread(traces, HALVES, plan.grid, specs, [], 0)
    moved = {"models": 0, "results": 0}
    one_by_one = by_key

    def counted(boxes: Iterable[Box]) -> dict[int, Batches]:
        held = list(boxes)
        for box in held:
            of = "models" if len(box.arrays) > 3 else "results"
            moved[of] += len(pickle.dumps(box.arrays, protocol=5))
        return one_by_one(held)

    with mock.patch.dict(globals(), {"by_key": counted}):
        spread.measures(split, 2)
    train, target = item_rows(split.train), item_rows(split.target)
    data = Data(
        Counts.of(split), 200, float(train.holders()[target.features].mean()), train.features.size / split.train.events
    )
    expected = price(plan, data, Machines(1, 4)).moved_bytes
    assert 0.5 <= expected["models"] / moved["models"] <= 2.0
    assert moved["results"] <= 1.2 * expected["results"]
