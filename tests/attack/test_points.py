"""The attacker who holds points against plain intersection of sets."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropie.attack.points import (
    POINTS,
    RESOLUTIONS,
    PointAttack,
    PointIndex,
    PointOutcome,
    Resolution,
    drawn_points,
    own_resolution,
    queries_of,
    resolutions_of,
)
from entropie.data.traces import Traces
from entropie.request import Run

_WIDTHS = {name: width for name, width in RESOLUTIONS.items() if width is not None}


def point_attacks(traces: Traces, resolution: Resolution, run: Run = Run()) -> list[PointOutcome]:
    attack = PointAttack.of(traces, POINTS[-1], run)
    return [attack.outcome(points, resolution) for points in POINTS]


@st.composite
def _traces(draw: st.DrawFn, timed: bool | None = None) -> Traces:
    people = draw(st.integers(1, 8))
    lengths = draw(st.lists(st.integers(1, 10), min_size=people, max_size=people))
    events = sum(lengths)
    items = draw(st.lists(st.integers(0, 4), min_size=events, max_size=events))
    times = None
    if draw(st.booleans()) if timed is None else timed:
        far = draw(st.sampled_from([0, 0, 2**40]))  # more seconds than fit 32 bits
        steps = st.one_of(st.integers(-200, 200), st.integers(-20, 20).map(lambda hour: far + 3_600 * hour))
        times = np.array(draw(st.lists(steps, min_size=events, max_size=events)), np.int64)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return Traces(offsets, np.array(items, np.uint32), 5, times)


def _cells(traces: Traces, person: int, resolution: Resolution) -> set[tuple[int, int]]:
    """What a person did, as an attacker of this resolution sees it."""
    width = RESOLUTIONS[resolution]
    cells = set()
    for event in range(traces.offsets[person], traces.offsets[person + 1]):
        when = 0 if width is None or traces.times is None else int(traces.times[event]) // width
        cells.add((int(traces.items[event]), when))
    return cells


def _known(traces: Traces, events: np.ndarray, resolution: Resolution) -> set[tuple[int, int]]:
    width = RESOLUTIONS[resolution]
    timed = width is not None and traces.times is not None
    return {
        (int(traces.items[event]), int(traces.times[event]) // width if timed else 0) for event in events if event >= 0
    }


@given(_traces(), st.sampled_from(list(RESOLUTIONS)), st.integers(0, 3))
def test_holders_are_those_of_plain_intersection(traces: Traces, resolution: Resolution, seed: int) -> None:
    outcomes = point_attacks(traces, resolution, Run(seed=seed, threads=1))
    assert [outcome.points for outcome in outcomes] == list(POINTS)
    draws = outcomes[0].holders.shape[1]
    drawn = drawn_points(traces, POINTS[-1], draws, seed)
    everybody = [_cells(traces, person, resolution) for person in range(traces.users)]
    for outcome in outcomes:
        for person, draw in itertools.product(range(traces.users), range(draws)):
            known = _known(traces, drawn[person, draw, : outcome.points], resolution)
            assert outcome.holders[person, draw] == sum(known <= cells for cells in everybody)


@given(_traces(timed=True), st.sampled_from(list(RESOLUTIONS)))
def test_holders_add_up_over_blocks_of_people(traces: Traces, resolution: Resolution) -> None:
    queries = queries_of(traces, drawn_points(traces, 4, 2, 0).reshape(-1, 4), resolution)
    whole = PointIndex.of(traces).holders(queries)
    middle = traces.users // 2
    parts = [traces.take(np.arange(*ends)) for ends in ((0, middle), (middle, traces.users))]
    assert np.array_equal(whole, sum(PointIndex.of(part).holders(queries) for part in parts))


def test_data_made_to_hurt_cost_no_more_than_their_events() -> None:
    """Everybody at one item all the time, and one person with most of all events: counted, not timed."""
    people, each = 400, 20
    items = np.zeros(people * each + 5_000, np.uint32)
    items[::2] = 1 + np.arange(items[::2].size) % 10
    offsets = np.append(np.arange(people) * each, [people * each, items.size]).astype(np.int64)
    traces = Traces(offsets, items, 11, np.arange(items.size))
    index = PointIndex.of(traces)
    assert index.own.size == index.posted.size == items.size
    for resolution in RESOLUTIONS:
        for points in POINTS:
            queries = queries_of(traces, drawn_points(traces, points, 1, 0)[:, 0], resolution)
            holders, looked = index.counted(queries)
            distinct = np.unique(
                [tuple(np.sort(traces.items[row])) for row in drawn_points(traces, points, 1, 0)[:, 0]], axis=0
            )
            most = distinct.shape[0] if resolution == "none" else traces.users
            assert looked <= most * np.bincount(traces.items).max()
            assert holders.min() >= 1


@given(_traces(timed=True))
def test_more_points_and_finer_times_leave_fewer_candidates(traces: Traces) -> None:
    holders = np.array(
        [[outcome.holders for outcome in point_attacks(traces, resolution)] for resolution in RESOLUTIONS]
    )
    assert np.all(np.diff(holders, axis=0) >= 0), "a coarser time"
    assert np.all(np.diff(holders, axis=1) <= 0), "another point"
    assert np.all(holders >= 1), "the person they are of holds them"


@given(_traces())
def test_drawn_events_are_distinct_and_their_owners(traces: Traces) -> None:
    drawn = drawn_points(traces, 8, 3, 1)
    for person in range(traces.users):
        begin, end = traces.offsets[person], traces.offsets[person + 1]
        for events in drawn[person]:
            known = events[events >= 0]
            assert known.size == min(8, end - begin) == np.unique(known).size
            assert np.all((begin <= known) & (known < end))


def test_every_choice_of_events_is_as_likely_as_any_other() -> None:
    people, length, points = 24_000, 5, 2
    items = np.arange(people * length, dtype=np.uint32)  # popularity alike, order of each person's events another
    items = np.random.default_rng(3).integers(0, 50_000, items.size).astype(np.uint32)
    traces = Traces(np.arange(people + 1, dtype=np.int64) * length, items, 50_000)
    drawn = drawn_points(traces, points, 1, 0)[:, 0] - traces.offsets[:-1, None]
    seen = Counter(map(tuple, drawn.tolist()))
    expected = people / (length * (length - 1))
    assert set(seen) == set(itertools.permutations(range(length), points))
    statistic = sum((count - expected) ** 2 / expected for count in seen.values())
    assert statistic < 19 + 5 * np.sqrt(2 * 19)  # chi-square with 19 degrees of freedom, five standard deviations

    skewed = np.where(
        np.arange(people) % 20 == 0, 0, drawn[:, 0]
    )  # power: one draw in twenty is always the first event
    heads = np.bincount(skewed, minlength=length)
    assert ((heads - people / length) ** 2 / (people / length)).sum() > 4 + 5 * np.sqrt(8)


@given(_traces(), st.permutations(range(5)))
def test_names_of_items_do_not_matter(traces: Traces, names: list[int]) -> None:
    renamed = Traces(traces.offsets, np.array(names, np.uint32)[traces.items], 5, traces.times)
    for resolution in RESOLUTIONS:
        pairs = zip(point_attacks(traces, resolution), point_attacks(renamed, resolution), strict=True)
        assert all(np.array_equal(one.holders, other.holders) for one, other in pairs)


def test_shares_follow_from_the_number_of_candidates() -> None:
    # persons 0 and 1 are twins at item 0, person 2 is alone at item 1
    traces = Traces(np.array([0, 2, 4, 6], np.int64), np.array([0, 0, 0, 0, 1, 1], np.uint32), 2)
    outcome = point_attacks(traces, "none")[0]
    assert outcome.credit.tolist() == [0.5, 0.5, 1.0]
    assert outcome.unique.tolist() == [0.0, 0.0, 1.0]
    assert [guess.error for guess in outcome.naming.within((1, 2), 3)] == pytest.approx([1 / 3, 0.0])
    assert outcome.control_credit.max() <= 1.0


def test_the_control_names_hardly_anybody_where_everybody_is_alone() -> None:
    people = 300
    traces = Traces(np.arange(people + 1, dtype=np.int64), np.arange(people, dtype=np.uint32), people)
    outcome = point_attacks(traces, "none")[0]
    assert outcome.credit.mean() == 1.0
    assert outcome.control_credit.mean() <= 10 / people  # a random exchange leaves about one person in place


@pytest.mark.parametrize(
    ("times", "resolution"),
    [([0, 86_400], "day"), ([0, 7_200], "hour"), ([60, 7_200], "minute"), ([1, 7_200], "second"), (None, "none")],
)
def test_own_resolution(times: list[int] | None, resolution: Resolution) -> None:
    held = None if times is None else np.array(times, np.int64)
    traces = Traces(np.array([0, 2], np.int64), np.zeros(2, np.uint32), 1, held)
    assert own_resolution(traces) == resolution == resolutions_of(traces)[0]
    assert resolutions_of(traces)[-1] == "none"


def test_candidates_stand_at_the_person_they_are_of_where_no_two_people_ask_alike() -> None:
    traces = Traces(np.array([0, 1, 2, 4, 6], np.int64), np.array([0, 1, 2, 0, 3, 1], np.uint32), 4)
    queries = queries_of(traces, np.array([[0], [1], [2], [4]]), "none")
    assert PointIndex.of(traces).holders(queries).tolist() == [2, 2, 1, 1]
