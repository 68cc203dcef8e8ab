"""Points that may be wrong: scores against a naive oracle, and the plain intersection where they are right."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.point_errors import MARGIN, beliefs_of, score_queries
from entropie.attack.points import RESOLUTIONS, PointIndex, Queries, Resolution, drawn_points, queries_of
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter
from entropie.quantities import PointErrors
from entropie.request import Request

RIGHT = PointErrors()


@st.composite
def traces_with_times(draw: st.DrawFn) -> Traces:
    people = draw(st.integers(1, 7))
    lengths = draw(st.lists(st.integers(1, 9), min_size=people, max_size=people))
    events = sum(lengths)
    items = draw(st.lists(st.integers(0, 4), min_size=events, max_size=events))
    times = draw(st.none() | st.lists(st.integers(-9_000, 9_000), min_size=events, max_size=events))
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return Traces(offsets, np.array(items, np.uint32), 5, None if times is None else np.array(times, np.int64))


def scores_by_looking(traces: Traces, queries: Queries, query: int) -> list[float]:
    """Everybody's score, by looking at every event of everybody."""
    times = np.zeros(traces.events, np.int64) if traces.times is None else traces.times
    scores = [0.0] * traces.users
    for point in range(queries.offsets[query], queries.offsets[query + 1]):
        there = [
            event
            for event in {
                (person, int(traces.items[at]), int(times[at]))
                for person in range(traces.users)
                for at in range(traces.offsets[person], traces.offsets[person + 1])
            }
            if event[1] == queries.items[point] and queries.since[point] <= event[2] <= queries.until[point]
        ]
        for person in {person for person, _, _ in there}:
            scores[person] += math.log(1 + traces.users / len(there))
    return scores


@settings(deadline=None, max_examples=60)
@given(traces_with_times(), st.sampled_from(list(RESOLUTIONS)), st.integers(0, 3_000), st.sampled_from([0.0, 0.4]))
def test_scores_are_those_of_looking_at_everybody(
    traces: Traces, resolution: Resolution, off: int, items: float
) -> None:
    drawn = drawn_points(traces, 4, 2, 1)
    queries = beliefs_of(traces, drawn, PointErrors(off, items), 3).queries(3, resolution, off)
    owners = np.repeat(np.arange(traces.users), 2)
    found = score_queries(PointIndex.of(traces), queries, owners, 1)
    for query, owner in enumerate(owners):
        scores = scores_by_looking(traces, queries, query)
        best, own = max(scores), scores[owner]
        assert found.best[query] == pytest.approx(best)
        assert found.own[query] == pytest.approx(own)
        assert found.tied[query] == sum(score > best - 1e-9 for score in scores)
        assert found.second[query] == pytest.approx(max((score for score in scores if score <= best - 1e-9), default=0))
        assert found.better[query] == sum(score > own + 1e-9 for score in scores)
        assert found.level[query] == sum(abs(score - own) <= 1e-9 for score in scores)
        assert found.deviation[query] == pytest.approx(np.std(scores), abs=1e-7)


@settings(deadline=None, max_examples=60)
@given(traces_with_times(), st.sampled_from(list(RESOLUTIONS)), st.sampled_from([1, 2, 4]))
def test_right_points_name_whom_the_plain_intersection_names(
    traces: Traces, resolution: Resolution, points: int
) -> None:
    drawn, index = drawn_points(traces, 4, 2, 0), PointIndex.of(traces)
    holders = index.holders(queries_of(traces, drawn[:, :, :points].reshape(-1, points), resolution)).reshape(-1, 2)
    queries = beliefs_of(traces, drawn, RIGHT, 0).queries(points, resolution)
    naming = score_queries(index, queries, np.repeat(np.arange(traces.users), 2)).naming(2, RIGHT)
    assert np.allclose(naming.credit, (1.0 / holders).mean(axis=1))
    assert naming.unique is not None
    assert np.allclose(naming.unique, (holders == 1).mean(axis=1))
    assert naming.rank_low is not None
    assert not naming.rank_low.any()
    assert naming.rank_high is not None
    assert np.array_equal(naming.rank_high, holders - 1)


def crowd(people: int = 300, seed: int = 5) -> Traces:
    """Everybody at 12 of 60 places, some of which are popular, within ten days."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, 61)
    items = rng.choice(60, people * 12, p=share / share.sum()).astype(np.uint32)
    times = np.sort(rng.integers(0, 864_000, (people, 12)), axis=1).ravel()
    return Traces(np.arange(people + 1, dtype=np.int64) * 12, items, 60, times)


def named(traces: Traces, errors: PointErrors, looked_around: int, points: int = 4) -> float:
    queries = beliefs_of(traces, drawn_points(traces, 4, 3, 0), errors, 0).queries(points, "minute", looked_around)
    found = score_queries(PointIndex.of(traces), queries, np.repeat(np.arange(traces.users), 3))
    return float(found.naming(3, errors).credit.mean())


def test_errors_cost_the_attacker_something_and_are_not_the_end() -> None:
    traces = crowd()
    wrong = PointErrors(1_800, 0.25)
    assert named(traces, RIGHT, 0) > 0.99
    assert 0.5 < named(traces, wrong, 1_800) < named(traces, RIGHT, 0)
    assert named(traces, PointErrors(1_800), 0) < 0.1, "who does not look around finds nobody"
    queries = beliefs_of(traces, drawn_points(traces, 4, 1, 0), PointErrors(0, 0.5), 0).queries(4, "minute")
    holders = PointIndex.of(traces).holders(queries)
    assert (holders == 0).mean() > 0.5, "nor does the plain intersection, once an item is wrong"


def test_as_many_errors_are_made_as_asked_for() -> None:
    traces = crowd(2_000)
    drawn = drawn_points(traces, 4, 3, 0)
    beliefs = beliefs_of(traces, drawn, PointErrors(600, 0.2), 0)
    assert traces.times is not None
    assert beliefs.times is not None
    off = beliefs.times - traces.times[drawn]
    assert off.min() == -600
    assert off.max() == 600
    assert abs(off.mean()) < 5 * 600 / math.sqrt(3 * off.size)  # a uniform number; z = 5
    same = np.bincount(traces.items) / traces.events  # a mistaken item is the right one with this probability
    expected = 0.2 * (1.0 - float(same @ same))
    changed = float((beliefs.items != traces.items[drawn]).mean())
    deviation = math.sqrt(expected * (1 - expected) / drawn.size)
    assert abs(changed - expected) < 5 * deviation  # z = 5
    assert 0.1 * expected > 5 * deviation, "power: a tenth off would be noticed"


def test_the_best_stands_out_by_a_margin() -> None:
    # person 0 alone has item 0; items 1 and 2 are everybody's
    traces = Traces(np.array([0, 3, 5, 7, 9], np.int64), np.array([0, 1, 2, 1, 2, 1, 2, 1, 2], np.uint32), 3)
    drawn = np.array([[[0, 1]], [[3, 4]], [[5, 6]], [[7, 8]]])
    queries = beliefs_of(traces, drawn, RIGHT, 0).queries(2, "none")
    found = score_queries(PointIndex.of(traces), queries, np.arange(4))
    assert found.credit.tolist() == [1.0, 0.25, 0.25, 0.25]
    assert found.clarity[0] > MARGIN
    assert found.clarity[1:].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("time=30min,items=10%", PointErrors(1_800, 0.1)),
        ("items=0.25", PointErrors(0, 0.25)),
        ("time=2h", PointErrors(7_200)),
        (" time = 45s ", PointErrors(45)),
    ],
)
def test_errors_as_people_write_them(text: str, errors: PointErrors) -> None:
    assert Request.of("x", {"point_errors": text}).attackers.point_errors == errors
    assert PointErrors.read(str(errors)) == errors


@pytest.mark.parametrize(
    "text", ["", "30min", "time=30", "time=-1h", "items=1", "items=-1%", "time=1h,time=2h", "place=1"]
)
def test_other_errors_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match="point_errors"):
        Request.of("x", {"point_errors": text})
