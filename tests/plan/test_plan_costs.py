"""The projection: of the plan that engines run, against sums done by hand, and inverted by the search for executors."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.matchers import MATCHERS, MatcherRates
from entropie.attack.scoring import law_size
from entropie.errors import InvalidParameter
from entropie.plan import costs
from entropie.plan.attacks import AttackSpec
from entropie.plan.costs import Price, Rates, fewest_executors, price
from entropie.plan.grid import Grid
from entropie.plan.plan import Counts, Plan, plan_of
from entropie.plan.sizes import Data, Machines, even_counts, people_per_event
from entropie.request import Attackers, Request, Run, Source, SplitRule

GB = 10**9
SMALL = Rates(
    matchers={
        "visit": MatcherRates(
            reach=2.0,
            matched_ns=10.0,
            pair_ns=0.5,
            pair_users=20_000,
            target_ns=17.0,
            model_ns=5e3,
            user_entries=3.0,
            target_entries=4.0,
        )
    },
    read_ns=7.0,
    encode_ns=11.0,
    attacker_event_ns=36.0,
    conjunction_ns=1.0,
    attacker_target_ns=41.0,
    visit_ns=43.0,
    entry_ns=13.0,
    result_ns=19.0,
    law_ns=23.0,
    last_ns=29.0,
    attack_ns=31.0,
    start_seconds=3.6,
    overhead=8.0,
    pace=0.25,
    event_bytes=5.0,
    shuffled_event_bytes=30.0,
    entry_bytes=16.0,
    row_bytes=24.0,
    result_bytes=40.0,
    last_bytes=120.0,
    start_bytes=77.0,
    event_moves=3.0,
)


def request(*matchers: str, known: tuple[int, ...] = (), control: bool = True, **run: Any) -> Request:
    return Request(Source(), attackers=Attackers(matchers, known, control), run=Run(**run))


def test_a_small_example_by_hand():
    """1,000 people with 10 events to learn and 10 to attack each, half of them distinct: 5,000 entries a side.

    3 blocks of people and 4 of targets, an attack and its control on 2 x 2 cores.
    """
    counts = Counts.even(1000, 10, 10)
    grid = Grid((0, 400, 700, 1000), (0, 250, 500, 750, 1000))
    plan = Plan(1000, 1000, ("visit",), True, (), False, False, grid)
    found = price(plan, Data(counts, 50, 6.0, 0.5), Machines(2, 2, 40e6, 1e6), rates=SMALL)
    assert found.attacks == (AttackSpec("visit"), AttackSpec("visit", shuffled=True))
    assert found.matched_pairs == pytest.approx(2 * 5_000 * 6 * 2)
    users, targets = 5_000 * 3, 5_000 * 4
    indexed = 2 * (4 * users + 3 * targets)  # two attacks: users by splits, targets by blocks
    hour = 3.6e12
    scoring = 2 * (5_000 * 6 * 2 * 10 + 1000 * 1000 * 0.5 + 1000 * 3 * 17)
    merging = 2 * (1000 * 3 * 19 + 12 * 23)
    measures = 2 * (1000 * 29 + 31)
    attackers = 20_000 * (36 + 1) + 1000 * 41 + 5_000 * 6 * 43
    assert found.core_hours == pytest.approx(
        {
            "read": 2 * 20_000 * 7 / hour,
            "encode": 2 * 20_000 * 11 / hour,
            "models": 2 * (indexed * 13 + 5e3) / hour,
            "scoring": 2 * scoring / hour,
            "merging": 2 * merging / hour,
            "attackers": 2 * attackers / hour,
            "measures": 2 * measures / hour,
        }
    )
    # Users go to the 4 splits for both attacks, to the pilot of each, and once to score the control's own; targets go
    # to the 3 blocks for each attack, and the control's once more.
    moved = (4 + 2 + 1) * users + (2 * 3 + 1) * targets
    rows = (4 + 2 + 1 + 2 * 3 + 1) * 1000
    results = 2 * (1000 * 3 * 40 + 16 * 1000**2)  # a value for each pair: 12 cells have fewer than a law keeps
    assert law_size(1000) > 1000**2 / 12
    assert found.moved_bytes == {"events": 3 * 20_000 * 30, "models": moved * 16 + rows * 24, "results": results}
    assert found.hours == pytest.approx(
        {
            "start": 0.001,
            "ingest": 2 * 20_000 * 18 / hour / 4,
            "grid": 2 * (indexed * 13 + 5e3 + scoring + merging) / hour / 4,  # 12 cells are 3 waves on 4 cores
            "moving": 2 * sum(found.moved_bytes.values()) / 2e6 / 3600,
            "last_tasks": 2 * measures / hour / 2 + 2 * attackers / hour,  # both at once; in one task
        }
    )
    assert found.memory_bytes["task"] == 6 * 10**6 * 2  # 0.6 of 40 MB, for two cores
    assert found.memory_bytes["last_task"] == 20_000 * 410 + 1000 * (51_000 + 20_000)
    alone = price(replace(plan, attackers=False), found.data, found.machines, rates=SMALL)
    assert alone.memory_bytes["last_task"] == 120_000
    assert alone.core_hours == {**found.core_hours, "attackers": 0.0}
    assert found.disk_bytes_per_executor == (3 * 20_000 * 30 + 20_000 * 5 + moved * 16 + rows * 24) // 2
    assert sum(found.scoring_core_hours.values()) == pytest.approx(found.core_hours["scoring"])


def test_one_machine_shares_the_scoring_among_its_threads():
    counts = Counts.even(1000, 10, 10)
    plan = plan_of(request("visit", known=()), counts)
    data = Data(counts, 50, 6.0)
    one, four = (price(plan, data, Machines(1, cores, 8e9), on_cluster=False, rates=SMALL) for cores in (1, 4))
    assert one.core_hours == four.core_hours
    assert one.hours["grid"] - four.hours["grid"] == pytest.approx(
        0.75 * (one.core_hours["scoring"] + one.core_hours["attackers"])
    )
    assert one.total_hours == pytest.approx(0.001 + sum(one.core_hours.values()))
    assert (one.moved_bytes, one.disk_bytes_per_executor) == ({}, 0)


def test_every_attack_is_priced_those_of_weaker_attackers_too():
    counts = Counts.even(500, 15, 15)
    data = Data(counts, 50, 6.0)
    plan = plan_of(request("visit", "tfidf", known=(1, 5)), counts)
    found = price(plan, data, Machines(1, 2, 8e9), on_cluster=False)
    assert found.attacks == (*plan.first_stage[0], *plan.second_stage("tfidf"))
    assert {spec.training for spec in found.attacks} == {None, 1, 5}


@given(st.integers(1, 60), st.floats(0.05, 1.0))
def test_fewer_known_events_have_fewer_items(known: int, distinct: float):
    data = Data(Counts.even(100, 40, 20), 50, 6.0, distinct)
    items = data.distinct_items(known)
    assert 100 * (1 - 1e-9) <= items <= 100 * min(known, 40) * (1 + 1e-9) or known >= 40
    assert items <= data.distinct_items(known + 1) * (1 + 1e-12)
    assert data.distinct_items(40) == pytest.approx(data.distinct_items(None))
    if distinct * 40 >= 1:
        assert data.distinct_items(None) == pytest.approx(100 * 40 * distinct)


SPLITS = [
    (SplitRule(), 7, (4, 3)),
    (SplitRule(), 8, (4, 4)),
    (SplitRule(knowledge="maximum"), 8, (4, 4)),
    (SplitRule(train_events=3, target_events=2), 8, (3, 2)),
    (SplitRule("history", train_events=3), 8, (3, 8)),
    (SplitRule("history", train_events=3, target_events=5), 8, (3, 5)),
]


@pytest.mark.parametrize(("split", "each", "halves"), SPLITS)
def test_counts_without_data_are_those_of_data_alike(split: SplitRule, each: int, halves: tuple[int, int]):
    """The plan for people who are all alike is the plan for traces split by the rule."""
    from entropie.data.split import split_traces
    from entropie.data.traces import Traces

    people = 300
    traces = Traces(np.arange(people + 1) * each, np.zeros(people * each, np.uint32), 1)
    real, even = Counts.of(split_traces(traces, split)), even_counts(people, people * each, split)
    assert (even.train[0].tolist(), even.target[0].tolist()) == ([halves[0]], [halves[1]])
    for one, other in ((real.train, even.train), (real.target, even.target)):
        assert [part.tolist() for part in one] == [part.tolist() for part in other]
    asked = Request(Source(), split=split, run=Run(memory=20_000))
    assert plan_of(asked, real) == plan_of(asked, even)


prices = st.builds(
    lambda users, per_user, share, distinct, names, control: (
        Data(Counts.even(users, per_user / 2, per_user / 2), 1000, max(1e-3, share * users), distinct),
        request(*names, control=control, engine="spark"),
    ),
    st.integers(2, 10**9),
    st.integers(2, 1000),
    st.floats(1e-6, 1.0),
    st.floats(0.01, 1.0),
    st.lists(st.sampled_from(sorted(MATCHERS)), min_size=1, max_size=6, unique=True),
    st.booleans(),
)


def priced(asked: tuple[Data, Request], machines: Machines) -> Price:
    data, wanted = asked
    return price(plan_of(wanted, data.counts, machines.workers), data, machines)


@given(prices, st.integers(1, 100), st.integers(1, 64), st.floats(0.1 * GB, 1000 * GB), st.floats(1.0, 10.0))
@settings(deadline=None)
def test_more_memory_needs_no_more_blocks(asked, executors, cores, memory, factor):
    small, large = (priced(asked, Machines(executors, cores, size)) for size in (memory, memory * factor))
    assert large.plan.grid.user_blocks <= small.plan.grid.user_blocks
    for found in (small, large):
        assert all(value >= 0 and math.isfinite(value) for value in found.hours.values())
        assert found.plan == plan_of(asked[1], asked[0].counts, found.machines.workers)


@given(prices, st.integers(1, 3000), st.integers(1, 16))
@settings(deadline=None)
def test_the_search_for_executors_finds_enough(asked, executors, cores):
    hours = priced(asked, Machines(executors, cores)).total_hours * 1.2
    found = fewest_executors(hours, lambda count: priced(asked, Machines(count, cores)))
    assert found.total_hours <= hours
    if found.machines.executors > 1:
        assert priced(asked, Machines(found.machines.executors - 1, cores)).total_hours > hours


def test_time_that_no_cluster_makes_up_for():
    """The last task of an attack is one: 10^9 people need more than a minute there."""
    asked = Data(Counts.even(10**9, 5, 5), 10**6, 10.0), request("visit", engine="spark")
    with pytest.raises(
        InvalidParameter, match=r"No number of executors ends within 0\.0166667 hours: 1,000,000 of them"
    ):
        fewest_executors(1 / 60, lambda count: priced(asked, Machines(count)))


@pytest.mark.parametrize("items", [1, 2, 100, 4096, 4097, 50_000, 1_000_000])
@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.0, 1.4])
def test_people_per_event_is_the_sum_over_items(items, exponent):
    """Beyond 4,096 items runs of ranks stand for their middle; the whole sum is the oracle."""
    share = np.arange(1.0, items + 1.0) ** -exponent
    share /= share.sum()
    drawn = 0.6 * 80 / 2
    wanted = 1000 * math.fsum(share * (1.0 - (1.0 - share) ** drawn))
    found = people_per_event(1000, 80_000, items, distinct=0.6, exponent=exponent)
    assert found == pytest.approx(wanted, rel=1e-4)


def test_matchers_tell_their_rates():
    assert [costs.LOCAL.of(name) for name in MATCHERS] == [made.rates for made in MATCHERS.values()]


def test_what_does_not_fit_is_said():
    asked = Data(Counts.even(10**8, 50, 50), 10**7, 100.0), request("visit", engine="spark")
    tight = priced(asked, Machines(10, 4, 8 * GB))
    assert tight.fits == {"block": True, "last_task": False, "process": True}
    assert "needs 1,341.4 GB and the tasks of an executor have 4.8 GB together" in tight.sentences[0]
    assert "or leave out the attackers who need all traces at once" in tight.sentences[0]
    asked = asked[0], replace(asked[1], attackers=replace(asked[1].attackers, scope=("profile",)))
    tight = priced(asked, Machines(10, 4, 8 * GB))
    assert "The last task of an attack needs 12.0 GB and the tasks of an executor have 4.8 GB" in tight.sentences[0]
    assert len(priced(asked, Machines(10, 4, 64 * GB)).sentences) == 2
    here = price(plan_of(request("visit"), asked[0].counts), asked[0], Machines(1, 4, 8 * GB), on_cluster=False)
    assert here.fits["process"] is False
    assert "memory of this machine does not suffice" in here.sentences[0]


EVEN = Counts.even(10, 1, 1)
BAD: dict[str, tuple[Any, str]] = {
    "matcher": (
        lambda: price(Plan(10, 10, ("magic",), True, (), False, False, Grid((0, 10), (0, 10))), Data(EVEN, 5, 1.0), Machines()),
        "`matcher` must be one of markov",
    ),
    "distinct": (lambda: Data(EVEN, 5, 1.0, 1.5), "`distinct` must be a share"),
    "too many": (lambda: Data(EVEN, 5, 11.0), "`people_per_event` must be above 0 and at most"),
    "none": (lambda: Data(EVEN, 5, math.nan), "`people_per_event` must be above 0"),
    "executors": (lambda: Machines(0), "`executors` must be"),
    "cores": (lambda: Machines(1, 0), "`cores` must be"),
    "memory": (lambda: Machines(1, 1, -1.0), "`memory` must be a positive size"),
    "throughput": (lambda: Machines(1, 1, 1.0, 0.0), "`throughput` must be a positive number of MB"),
    "hours": (lambda: fewest_executors(math.inf, lambda count: pytest.fail("asked")), "`hours` must be a positive"),
    "zipf": (lambda: people_per_event(10, 20, 5, distinct=0.5, exponent=-1.0), "`zipf` must be between 0 and 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_numbers_get_one_sentence(name):
    act, sentence = BAD[name]
    with pytest.raises(InvalidParameter, match=sentence):
        act()


@pytest.mark.parametrize("people", [100, 1_000, 10_000])
@pytest.mark.parametrize("name", ["markov", "bayes", "pitman_yor"])
def test_predicted_bytes_of_models_are_those_of_the_arrays(people: int, name: str):
    """Rows of users and targets and the index over them, measured on drawn people; within a factor of two."""
    from entropie.attack.features import item_rows
    from entropie.attack.matchers import matcher
    from entropie.attack.scoring import prepare
    from entropie.data.split import split_traces
    from entropie.data.traces import Traces

    rng = np.random.default_rng(people)
    each = 40
    items = np.where(rng.random((people, each)) < 0.5, rng.integers(0, 5, (people, each)), 5)
    items = np.where(items < 5, (np.arange(people)[:, None] * 7 + items) % 3000, rng.zipf(1.3, (people, each)) % 3000)
    times = np.tile(np.arange(each) * 40_000, people)
    split = split_traces(Traces(np.arange(people + 1) * each, items.ravel().astype(np.uint32), 3000, times))
    matching = matcher(name)(split.train, split.target)
    index, targets = prepare(matching)
    arrays = [matching.users.features, matching.users.weights, matching.targets.features, matching.targets.weights]
    arrays += [index.users, index.fixed, targets.features, targets.weights]
    train, target = item_rows(split.train), item_rows(split.target)
    data = Data(
        Counts.of(split), 3000, float(train.holders()[target.features].mean()), train.features.size / split.train.events
    )
    plan = plan_of(request(name), data.counts)
    part = costs._Part.of(AttackSpec(name), plan, data, costs.LOCAL)
    predicted = costs.model_bytes(part.user_entries + part.target_entries)
    assert 0.5 <= predicted / sum(array.nbytes for array in arrays) <= 2.0
