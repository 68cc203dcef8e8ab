"""The projection: against sums done by hand, monotone where it must be, and inverted by the search for executors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.matchers import MATCHERS, MatcherRates
from entropie.engine.spark import costs
from entropie.engine.spark.costs import (
    Cluster,
    Rates,
    Workload,
    executors_for,
    matchers_of,
    people_per_event,
    plan,
)
from entropie.errors import InvalidParameter, Unreachable

GB = 10**9
SMALL = Rates(
    matchers={
        "visit": MatcherRates(
            reach=2.0, matched_ns=10.0, pair_ns=0.5, pair_users=20_000, user_entries=3.0, target_entries=4.0
        )
    },
    read_ns=7.0,
    encode_ns=11.0,
    entry_ns=13.0,
    target_ns=17.0,
    result_ns=19.0,
    law_ns=23.0,
    last_ns=29.0,
    overhead=2.0,
    event_bytes=5.0,
    shuffled_event_bytes=30.0,
    entry_bytes=16.0,
    posting_bytes=12.0,
    state_bytes=100.0,
    result_bytes=40.0,
    last_bytes=120.0,
    law_bytes=1000.0,
    driver_bytes=77.0,
    task_memory=0.5,
    event_moves=3.0,
)


def test_a_small_example_by_hand():
    """100 people, 2,000 events, half of them distinct: 500 items learned, 5 each, and 500 attacked.

    A person takes 100 + 5 x 3 x 28 = 520 bytes of a block, a target 40 + 5 x 4 x 16 = 360 of a split. A task has
    0.5 x 40,000 / 2 = 10,000 bytes, half for each: (5,000 - 1,000) // 520 = 7 people in a block, so 15 blocks, of 7;
    100 x 360 / 5,000 = 7.2, so 8 splits. 120 cells are more than the 3 that each of 2 x 2 cores needs.
    """
    work = Workload(100, 2_000, 50, ("visit",), 6.0, 0.5, 2)
    found = plan(work, Cluster(2, 2, 40_000.0, 1_000.0), SMALL)
    assert (found.blocks.user_blocks, found.blocks.target_splits, found.blocks.cells) == (15, 8, 120)
    assert (found.blocks.users_per_block, found.blocks.bytes_per_block) == (7, 7 * 520 + 1000)
    assert found.matched_pairs == 2 * 500 * 6 * 2
    indexed = 2 * (8 * 500 * 3 + 15 * 500 * 4)  # entries: two attacks, users by splits, targets by blocks
    moved = (8 + 2) * 500 * 3 + 2 * (15 + 1) * 500 * 4  # users go to cells once, and all to where own scores are made
    hour = 3.6e12
    assert found.core_hours == pytest.approx(
        {
            "read": 2 * 2_000 * 7 / hour,
            "encode": 2 * 2_000 * 11 / hour,
            "models": 2 * indexed * 13 / hour,
            "scoring": 2 * (12_000 * 10 + 2 * 100 * 100 * 0.5 + 2 * 100 * 15 * 17) / hour,
            "merging": 2 * (2 * 100 * 15 * 19 + 2 * 120 * 23 + 2 * 100 * 29) / hour,
        },
        rel=1e-12,
    )
    results = 2 * (100 * 15 * 40 + 120 * 1000)
    assert found.shuffle_bytes == {"events": 3 * 2_000 * 30, "models": moved * 16, "results": results}
    assert found.hours == pytest.approx(
        {
            "ingest": 2 * 2_000 * 18 / hour / 4,
            "grid": 2 * (indexed * 13 + 181_000 + 2 * 100 * 15 * 19 + 2 * 120 * 23) / hour / 4,
            "moving": 2 * (180_000 + moved * 16 + results) / (2 * 1_000) / 3600,
            "last_tasks": 2 * 100 * 29 / hour,  # two attacks on two executors, side by side
        },
        rel=1e-12,
    )
    one_matcher = moved * 16 + results
    assert found.disk_bytes_per_executor == (180_000 + 2_000 * 5 + one_matcher) // 2
    assert found.memory_bytes == {
        "executor": 40_000, "executor_tasks": 20_000, "task": 10_000, "last_task": 12_000, "driver": 77,
    }  # fmt: skip
    assert found.fits == {"block": True, "last_task": True}
    assert sum(found.scoring_core_hours.values()) == pytest.approx(found.core_hours["scoring"])


workloads = st.builds(
    lambda users, per_user, items, share, distinct, names, attacks: Workload(
        users, users * per_user, items, tuple(names), max(1e-3, share * users), distinct, attacks
    ),
    st.integers(2, 10**9),
    st.integers(2, 1000),
    st.integers(1, 10**9),
    st.floats(1e-6, 1.0),
    st.floats(0.01, 1.0),
    st.lists(st.sampled_from(sorted(MATCHERS)), min_size=1, max_size=6, unique=True),
    st.integers(1, 2),
)
memories = st.floats(0.1 * GB, 1000 * GB)


@given(workloads, st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 64), memories)
@settings(deadline=None)
def test_more_executors_never_take_longer(work, executors, more, cores, memory):
    few = plan(work, Cluster(executors, cores, memory)).total_hours
    many = plan(work, Cluster(executors + more, cores, memory)).total_hours
    assert many <= few * (1 + 1e-12)


@given(workloads, st.integers(1, 100), st.integers(1, 64), memories, st.floats(1.0, 10.0))
@settings(deadline=None)
def test_blocks_fit_memory_and_more_memory_needs_no_more_of_them(work, executors, cores, memory, factor):
    small, large = (plan(work, Cluster(executors, cores, size)) for size in (memory, memory * factor))
    assert large.blocks.user_blocks <= small.blocks.user_blocks
    for found in (small, large):
        blocks = found.blocks
        assert blocks.user_blocks * blocks.users_per_block >= work.users
        assert (blocks.user_blocks - 1) * blocks.users_per_block < work.users
        if found.fits["block"]:
            assert blocks.bytes_per_block <= found.memory_bytes["task"] / 2 + 1


@given(workloads, st.integers(1, 300), st.integers(1, 64))
@settings(deadline=None)
def test_every_core_has_cells(work, executors, cores):
    """Three for each core, or one split of the targets fewer than that where it ends earlier."""
    found = plan(work, Cluster(executors, cores))
    assert found.blocks.user_blocks * (found.blocks.target_splits + 1) >= 3 * executors * cores


@given(workloads, st.integers(1, 3000), st.integers(1, 16))
@settings(deadline=None)
def test_the_search_for_executors_inverts_the_hours(work, executors, cores):
    hours = plan(work, Cluster(executors, cores)).total_hours
    found = executors_for(work, hours * (1 + 1e-12), cores_per_executor=cores)
    assert found.total_hours <= hours * (1 + 1e-9)
    assert found.cluster.executors <= executors
    if found.cluster.executors > 1:
        assert plan(work, Cluster(found.cluster.executors - 1, cores)).total_hours > hours


def test_time_that_no_cluster_makes_up_for():
    """The last task of an attack is one: 10^9 people need more than a minute there."""
    work = Workload(10**9, 10**10, 10**6, ("visit",), 10.0)
    with pytest.raises(Unreachable, match=r"No number of executors ends within 0\.0166667 hours: 1,000,000 of them"):
        executors_for(work, 1 / 60)


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
    assert [costs.Rates().of(name) for name in MATCHERS] == [made.rates for made in MATCHERS.values()]
    assert matchers_of([]) == tuple(MATCHERS)
    assert matchers_of(["bayes", "visit", "bayes"]) == ("bayes", "visit")


def test_what_does_not_fit_is_said():
    work = Workload(10**8, 10**10, 10**7, ("visit",), 100.0)
    tight = plan(work, Cluster(10, 4, 8 * GB))
    assert tight.fits == {"block": True, "last_task": False}
    assert "The last task of an attack needs 12.0 GB and the tasks of an executor have 4.8 GB" in tight.sentences[-1]
    hopeless = plan(work, Cluster(10, 4, 1e6))
    assert hopeless.fits["block"] is False
    assert any("too little memory for even one person" in sentence for sentence in hopeless.sentences)
    assert len(plan(work, Cluster(10, 4, 64 * GB)).sentences) == 2


BAD = {
    "users": (lambda: Workload(1, 10, 5, ("visit",), 1.0), "`users` must be"),
    "events": (lambda: Workload(10, 19, 5, ("visit",), 1.0), "`events` must be"),
    "items": (lambda: Workload(10, 20, 0, ("visit",), 1.0), "`items` must be"),
    "no matcher": (lambda: Workload(10, 20, 5, (), 1.0), "`matchers` must name at least one"),
    "matcher": (lambda: Workload(10, 20, 5, ("magic",), 1.0), "`matcher` must be one of markov"),
    "distinct": (lambda: Workload(10, 20, 5, ("visit",), 1.0, 1.5), "`distinct` must be a share"),
    "too many": (lambda: Workload(10, 20, 5, ("visit",), 11.0), "`people_per_event` must be above 0 and at most"),
    "none": (lambda: Workload(10, 20, 5, ("visit",), math.nan), "`people_per_event` must be above 0"),
    "executors": (lambda: Cluster(0), "`executors` must be"),
    "cores": (lambda: Cluster(1, 0), "`cores` must be"),
    "memory": (lambda: Cluster(1, 1, -1.0), "`memory` must be a positive size"),
    "throughput": (lambda: Cluster(1, 1, 1.0, 0.0), "`throughput` must be a positive number of MB"),
    "hours": (lambda: executors_for(Workload(10, 20, 5, ("visit",), 1.0), math.inf), "`hours` must be a positive"),
    "zipf": (lambda: people_per_event(10, 20, 5, distinct=0.5, exponent=-1.0), "`zipf` must be between 0 and 3"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_numbers_get_one_sentence(name):
    act, sentence = BAD[name]
    with pytest.raises(InvalidParameter, match=sentence):
        act()
