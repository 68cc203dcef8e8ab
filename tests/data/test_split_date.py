"""One date for all people: which it is, when it is taken, and that parts of people merge to the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropie.data.split import DAY_SECONDS, Days, knows, settled, split_traces
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.request import SplitRule

OPEN, DATE = SplitRule(), SplitRule("date")


def people(*days: list[int], start: int = 15_000) -> Traces:
    """People with an event on each of these days, at noon."""
    times = (np.concatenate([np.array(sorted(each)) for each in days]) + start) * DAY_SECONDS + 43_200
    offsets = np.concatenate(([0], np.cumsum([len(each) for each in days]))).astype(np.int64)
    return Traces(offsets, np.zeros(times.size, np.uint32), 1, times.astype(np.int64))


def covered(traces: Traces, cut: int) -> int:
    assert traces.times is not None
    parts = np.split(traces.times, traces.offsets[1:-1])
    return sum(bool((each < cut).any() and (each >= cut).any()) for each in parts)


@given(st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=6), min_size=1, max_size=12), st.integers(1, 4))
def test_the_date_serves_most_people_and_parts_merge_to_the_same(days: list[list[int]], parts: int) -> None:
    traces = people(*days)
    best = max(covered(traces, day * DAY_SECONDS) for day in range(15_000, 15_062))
    pieces = np.array_split(np.arange(traces.users), parts)
    merged = Days.merged([Days.of(traces.take(piece)) for piece in pieces if piece.size])
    for rule in (OPEN, DATE):
        if not best and rule is DATE:
            with pytest.raises(InvalidInput, match="No date"):
                settled(rule, traces)
            continue
        found = settled(rule, traces)
        assert merged.settled(rule) == found
        wide = max(map(max, days)) - min(map(min, days)) >= 28
        assert found.rule == ("date" if rule is DATE or (wide and best >= 0.95 * traces.users) else "halves")
        if found.cut is not None:
            assert found.cut % DAY_SECONDS == 0
            assert covered(traces, found.cut) >= best - 0.01 * traces.users


def test_events_before_the_date_are_known_and_those_from_it_on_attacked() -> None:
    traces = people([0, 10, 40], [0, 20, 30, 40], [1, 35], [2, 3])
    split = split_traces(traces, SplitRule("date", cut=15_030 * DAY_SECONDS))
    assert split.users.tolist() == [0, 1, 2]
    assert split.dropped_users == 1
    assert np.diff(split.train.offsets).tolist() == [2, 2, 1]
    assert np.diff(split.target.offsets).tolist() == [1, 2, 1]
    assert split.train.times is not None
    assert split.target.times is not None
    assert split.train.times.max() < 15_030 * DAY_SECONDS <= split.target.times.min()


def test_where_many_have_one_side_only_halves_are_taken() -> None:
    """Most people rate films in one evening: a date would leave them all out."""
    once = [[day] * 6 for day in range(0, 60, 3)]
    assert settled(OPEN, people(*once, [0, 59])).rule == "halves"
    assert settled(OPEN, people(*[[0, 59]] * 20)).rule == "date"


def test_what_is_known_is_said_with_the_date() -> None:
    rule = settled(DATE, people([0, 59], [0, 59], start=0))
    assert knows(rule) == "the events of each person before 1970-03-01"


def test_order_alone_has_no_dates() -> None:
    traces = Traces(np.array([0, 2], np.int64), np.zeros(2, np.uint32), 1)
    assert settled(OPEN, traces).rule == "halves"
    with pytest.raises(InvalidParameter, match="needs the times"):
        settled(DATE, traces)
