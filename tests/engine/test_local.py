"""People in blocks on one machine: whatever the cut, every measure is that of everybody at once, to the bit."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from entropie.attack import scoring
from entropie.attack.matchers import MATCHERS
from entropie.attack.measured import Models
from entropie.data.split import Split, split_traces
from entropie.data.traces import Traces
from entropie.engine import pipeline
from entropie.engine.local import LocalEngine, ModelsInBlocks
from entropie.plan.attacks import AttackSpec
from entropie.plan.grid import Grid
from entropie.plan.plan import Counts, plan_of
from entropie.request import Attackers, Request, Run, Source, SplitRule

SPECS = [
    AttackSpec(name, training, shuffled)
    for name in MATCHERS
    for training, shuffled in ((None, False), (None, True), (2, False), ("target", False))
]
RULES = [SplitRule(), SplitRule(knowledge="maximum"), SplitRule(target_events=1), SplitRule("history", train_events=2)]


def drawn(seed: int, users: int, *, items: int, longest: int, timed: bool) -> Traces:
    """People with favourites, at hours of their own; some have a single event."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest, users, endpoint=True)
    person = np.repeat(np.arange(users), lengths)
    own = (person * 7 + rng.integers(0, 3, person.size)) % items
    chosen = np.where(rng.random(person.size) < 0.5, own, rng.integers(0, items, person.size)).astype(np.uint32)
    times = 86400 * np.arange(person.size) + 3600 * ((person * 5) % 24) if timed else None
    return Traces(np.concatenate(([0], np.cumsum(lengths))), chosen, items, times)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_blocks_measure_what_everybody_at_once_does(data: st.DataObject) -> None:
    users = data.draw(st.sampled_from([2, 7, 20, 70]), label="users")
    traces = drawn(
        data.draw(st.integers(0, 2**32), label="seed"),
        users,
        items=data.draw(st.sampled_from([1, 5, 40]), label="items"),
        longest=data.draw(st.sampled_from([2, 9, 30]), label="longest"),
        timed=data.draw(st.booleans(), label="timed"),
    )
    rule = data.draw(st.sampled_from(RULES), label="rule")
    assume(np.count_nonzero(np.diff(traces.offsets) > 1) > 1)
    split = split_traces(traces, rule)
    rows = data.draw(st.none() | st.sets(st.sampled_from(range(split.users.size)), min_size=2), label="attacked")
    split = replace(split, attacked=None if rows is None else np.array(sorted(rows)))
    specs = data.draw(st.lists(st.sampled_from(SPECS), min_size=1, max_size=3, unique=True), label="specs")
    cuts = st.sets(st.sampled_from(split.users[1:].tolist()), max_size=5)
    grid = Grid.of(*((0, *sorted(data.draw(cuts, label=side)), users) for side in ("users", "targets")))
    engine = LocalEngine.of(
        split, Run(seed=data.draw(st.integers(0, 5)), replicates=5, threads=data.draw(st.integers(1, 2)))
    )
    plan = plan_of(Request(Source(), split=rule, attackers=Attackers(("visit",), ())), Counts.of(split))
    assert plan.grid.cells == 1
    values = data.draw(st.sampled_from([None, 4, 50]), label="values a law keeps")
    tried = data.draw(st.sampled_from([2**20, 40]), label="values a pilot keeps")
    with (
        mock.patch.object(scoring, "MAX_VALUES", values or scoring.MAX_VALUES),
        mock.patch.object(scoring, "PILOT_VALUES", tried),
        mock.patch.object(pipeline, "PILOT_VALUES", tried),
    ):
        expected = engine.attacked(plan, specs)
        cut = engine.attacked(replace(plan, grid=grid), specs)
    for spec, one, other in zip(specs, cut, expected, strict=True):
        assert one.measures.to_json() == other.measures.to_json(), spec


@pytest.mark.parametrize("name", MATCHERS)
def test_who_is_attacked_fares_as_among_all_targets(name: str) -> None:
    """Credit, ranks and clarity of each are those of the attack on everybody; scores of strangers add up."""
    split = split_traces(drawn(5, 90, items=40, longest=30, timed=True))
    rows = np.arange(split.users.size)
    everybody = Models.of(name, split.train, split.target).attack(Run(threads=1))
    parts = [Models.of(name, split.train, split.target, rows[first::3]).attack(Run(threads=1)) for first in range(3)]
    for first, part in enumerate(parts):
        for field in ("credit", "rank_low", "rank_high", "ties"):
            assert np.array_equal(getattr(part, field), getattr(everybody, field)[first::3]), field
        assert np.allclose(part.clarity, everybody.clarity[first::3], atol=1e-9, rtol=0)
        assert part.law.targets == rows[first::3].size
    assert sum(part.law.impostors for part in parts) == everybody.law.impostors
    totals = [float(part.law.values @ part.law.counts) for part in (*parts, everybody)]
    assert np.isclose(sum(totals[:3]), totals[3], rtol=1e-6)


def test_memory_asks_for_blocks_and_changes_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """All constants as they are: beyond 512 people a pilot looks for frequent scores."""
    split = split_traces(drawn(11, 800, items=60, longest=40, timed=True))
    made: list[Grid] = []
    of = ModelsInBlocks.of.__func__  # type: ignore[attr-defined]

    def watched(cls: type, by: object, split: Split, grid: Grid) -> ModelsInBlocks:
        made.append(grid)
        return of(cls, by, split, grid)

    monkeypatch.setattr(ModelsInBlocks, "of", classmethod(watched))
    documents = []
    for memory in (None, 400_000):
        run = Run(seed=3, replicates=5, memory=memory)
        request = Request(Source(), attackers=Attackers(("tfidf", "markov"), (1,)), run=run)
        plan = plan_of(request, Counts.of(split))
        outcome = LocalEngine.of(split, run).execute(plan)
        assert (plan.grid.cells > 4) == (memory is not None)
        documents.append([attack.measures.to_json() for attack in outcome.attacks])
        documents[-1] += [row.to_json() for row in outcome.by_known_events]
    assert documents[0] == documents[1]
    assert {grid.user_blocks for grid in made} == {plan.grid.user_blocks}
