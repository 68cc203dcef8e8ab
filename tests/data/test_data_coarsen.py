"""Every coarsening of traces against plain Python over lists of events."""

from __future__ import annotations

import datetime
import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.data.coarsen import (
    coarsen_time,
    grid_labels,
    keep_top_items,
    last_events,
    merge_items,
    prefix_groups,
    replace_items,
    thin,
)
from entropie.data.grid import MapGrid
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter

# An event is (item, time); times lie within some days around the epoch, so that units are shared and negative ones occur.
Event = tuple[int, int]
people = st.lists(
    st.lists(st.tuples(st.integers(0, 7), st.integers(-900_000, 900_000)), max_size=9).map(
        lambda events: sorted(events, key=lambda event: event[1])
    ),
    min_size=1,
    max_size=8,
)


def make(lists: list[list[Event]], domain_size: int = 8, times: bool = True) -> Traces:
    offsets = np.concatenate([[0], np.cumsum([len(events) for events in lists])]).astype(np.int64)
    items = np.array([item for events in lists for item, _ in events], np.uint32)
    moments = np.array([time for events in lists for _, time in events], np.int64)
    return Traces(offsets, items, domain_size, moments if times else None)


def as_lists(traces: Traces) -> list[list[Event]]:
    assert traces.times is not None
    pairs = list(zip(traces.items.tolist(), traces.times.tolist(), strict=True))
    return [pairs[a:b] for a, b in zip(traces.offsets[:-1], traces.offsets[1:], strict=True)]


def items_of(traces: Traces) -> list[list[int]]:
    return [traces.items[a:b].tolist() for a, b in zip(traces.offsets[:-1], traces.offsets[1:], strict=True)]


def top(lists: list[list[Event]], count: int) -> set[int]:
    events = Counter(item for person in lists for item, _ in person)
    return set(sorted(events, key=lambda item: (-events[item], item))[:count])


@settings(deadline=None)
@given(people, st.integers(1, 9))
def test_top_items_with_the_rest_merged(lists: list[list[Event]], count: int) -> None:
    coarse = keep_top_items(make(lists), count)
    kept = sorted(top(lists, count))
    other = len(kept)  # the last code
    wanted = [[kept.index(item) if item in kept else other for item, _ in person] for person in lists]
    assert items_of(coarse) == wanted
    assert coarse.domain_size == len({code for person in wanted for code in person})
    assert as_lists(coarse) == [
        [(code, time) for code, (_, time) in zip(codes, person, strict=True)]
        for codes, person in zip(wanted, lists, strict=True)
    ]


@settings(deadline=None)
@given(people, st.integers(1, 9))
def test_top_items_with_the_rest_dropped(lists: list[list[Event]], count: int) -> None:
    kept = sorted(top(lists, count))
    wanted = [[(kept.index(item), time) for item, time in person if item in kept] for person in lists]
    assert as_lists(keep_top_items(make(lists), count, rest="drop")) == wanted


@settings(deadline=None)
@given(people, st.lists(st.integers(-3, 3), min_size=8, max_size=8))
def test_merged_items(lists: list[list[Event]], groups: list[int]) -> None:
    coarse = merge_items(make(lists), groups)
    used = sorted({groups[item] for person in lists for item, _ in person})
    assert items_of(coarse) == [[used.index(groups[item]) for item, _ in person] for person in lists]
    assert coarse.domain_size == len(used)


@settings(deadline=None)
@given(people, st.lists(st.integers(0, 3), min_size=8, max_size=8), st.lists(st.integers(0, 2), min_size=4, max_size=4))
def test_merging_twice_is_merging_once(lists: list[list[Event]], first: list[int], second: list[int]) -> None:
    traces = make(lists)
    once = merge_items(traces, [second[group] for group in first])
    labels = np.array(first)[traces.items] if traces.events else np.zeros(0, np.int64)
    inner = replace_items(traces, labels)
    used = sorted(set(labels.tolist()))
    twice = merge_items(inner, [second[group] for group in used])
    assert items_of(once) == items_of(twice)


def unit_begin(time: int, unit: str) -> int:
    moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=time)
    moment = moment.replace(minute=0, second=0)
    if unit != "hour":
        moment = moment.replace(hour=0)
    if unit == "week":
        moment -= datetime.timedelta(days=moment.weekday())
    return int(moment.timestamp())


@settings(deadline=None)
@given(people, st.sampled_from(["hour", "day", "week"]), st.booleans())
def test_time_is_rounded_down_and_the_order_within_is_lost(lists: list[list[Event]], unit: str, dedupe: bool) -> None:
    coarse = coarsen_time(make(lists), unit, dedupe=dedupe)  # type: ignore[arg-type]
    wanted = []
    for person in lists:
        rounded = sorted((unit_begin(time, unit), item) for item, time in person)
        rounded = sorted(set(rounded)) if dedupe else rounded
        wanted.append([(item, time) for time, item in rounded])
    assert as_lists(coarse) == wanted


@settings(deadline=None)
@given(people, st.sampled_from(["hour", "day", "week"]), st.randoms(use_true_random=False))
def test_order_within_a_unit_leaves_no_trace(lists: list[list[Event]], unit: str, chance: object) -> None:
    """Any other order of the events of a unit gives the very same release."""
    shuffled = []
    for person in lists:
        by_unit: dict[int, list[Event]] = {}
        for event in person:
            by_unit.setdefault(unit_begin(event[1], unit), []).append(event)
        for events in by_unit.values():
            items = [item for item, _ in events]
            chance.shuffle(items)  # type: ignore[attr-defined]
            events[:] = [(item, time) for item, (_, time) in zip(items, events, strict=True)]
        shuffled.append([event for events in by_unit.values() for event in events])
    one, other = (coarsen_time(make(each), unit) for each in (lists, shuffled))  # type: ignore[arg-type]
    assert as_lists(one) == as_lists(other)


@settings(deadline=None)
@given(people, st.integers(1, 12))
def test_last_events(lists: list[list[Event]], count: int) -> None:
    assert as_lists(last_events(make(lists), count)) == [person[-count:] for person in lists]


def mixed(word: int) -> int:
    """The finalizer of splitmix64, on Python's whole numbers."""
    mask = 2**64 - 1
    word = (word + 0x9E3779B97F4A7C15) & mask
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
    return word ^ (word >> 31)


@settings(deadline=None)
@given(people, st.floats(0, 1), st.integers(0, 2**63))
def test_thinning_goes_by_seed_user_and_place(lists: list[list[Event]], share: float, seed: int) -> None:
    def kept(user: int, place: int) -> bool:
        draw = mixed((mixed((user + mixed(seed)) % 2**64) + place) % 2**64)
        return (draw >> 11) < math.ceil(share * 2**53)  # draw/2^53 < share, in whole numbers

    wanted = [[event for place, event in enumerate(person) if kept(user, place)] for user, person in enumerate(lists)]
    assert as_lists(thin(make(lists), share, seed=seed)) == wanted


def test_thinning_keeps_the_share_asked_for_and_is_nested() -> None:
    traces = make([[(0, n) for n in range(50)]] * 2000)
    for share in (0.1, 0.5, 0.9):
        found = thin(traces, share, seed=3)
        spread = math.sqrt(100_000 * share * (1 - share))
        # Five standard deviations: one seed in two million fails; a share 10 % off is over 20 of them away.
        assert abs(found.events - 100_000 * share) < 5 * spread
        assert abs(found.events - 100_000 * share * 0.9) > 5 * spread
        per_user = np.diff(found.offsets)
        # The variance over users is that of 50 coins each; its standard error is about variance * sqrt(2/2000).
        variance = 50 * share * (1 - share)
        assert abs(per_user.var() - variance) < 5 * variance * math.sqrt(2 / 2000)
    half, tenth = (as_lists(thin(traces, share, seed=3)) for share in (0.5, 0.1))
    assert all(set(few) <= set(many) for few, many in zip(tenth, half, strict=True))
    assert as_lists(thin(traces, 0.5, seed=4)) != half


def test_thinning_goes_by_keys_where_they_are_given() -> None:
    lists = [[(item, time) for time, item in enumerate(range(7))] for _ in range(5)]
    keys = [40, 10, 30, 0, 20]
    found = as_lists(thin(make(lists), 0.5, seed=9, keys=keys))
    order = [3, 1, 4, 2, 0]
    again = as_lists(thin(make([lists[user] for user in order]), 0.5, seed=9, keys=sorted(keys)))
    assert [found[user] for user in order] == again


def test_ends_of_thinning() -> None:
    traces = make([[(1, 1), (2, 2)], []])
    assert thin(traces, 1.0).events == 2
    assert thin(traces, 0.0).events == 0
    assert thin(traces, 0.0).users == 2


@settings(deadline=None)
@given(st.lists(st.text("abcü0", max_size=5), min_size=1, max_size=12), st.integers(1, 4))
def test_prefixes(ids: list[str], length: int) -> None:
    groups = prefix_groups(pa.array(ids), length)
    for one, left in zip(ids, groups, strict=True):
        for other, right in zip(ids, groups, strict=True):
            assert (left == right) == (one[:length] == other[:length])


def test_prefixes_of_numbers() -> None:
    assert prefix_groups(pa.array([10115, 10117, 80331]), 3).tolist() == [0, 0, 1]


def test_points_of_one_cell_get_one_label_and_no_place_is_one_too() -> None:
    # Two points 100 m apart, one a kilometre to the north, one without a place, one off the Earth.
    latitude = np.array([52.5000, 52.5005, 52.5100, np.nan, 95.0])
    longitude = np.array([13.4000, 13.4005, 13.4000, 13.4, 13.4])
    coarse = grid_labels(latitude, longitude, MapGrid.parse("10km"))
    fine = grid_labels(latitude, longitude, MapGrid.parse("10m"))
    assert len(set(coarse[:3].tolist())) == 1
    assert len(set(fine[:3].tolist())) == 3
    assert coarse[3:].tolist() == fine[3:].tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda t: keep_top_items(t, 0), "`count` must be at least 1 item, got 0"),
        (lambda t: keep_top_items(t, 1, rest="lose"), "`rest` must be merge or drop"),
        (lambda t: last_events(t, 0), "`count` must be at least 1 event"),
        (lambda t: thin(t, 1.5), "`probability` must be between 0 and 1"),
        (lambda t: thin(t, 0.5, keys=[1]), "one value per user, 2, got 1"),
        (lambda t: coarsen_time(t, "month"), "`unit` must be one of hour, day, week"),
        (lambda t: coarsen_time(make([[(0, 0)]], times=False), "day"), "only the order of events is known"),
        (lambda t: replace_items(t, [1]), "one value per event, 3, got 1"),
        (lambda t: merge_items(t, [1]), "one value per item, 8, got 1"),
        (lambda t: prefix_groups(pa.array(["a"]), 0), "`length` must be at least 1"),
    ],
)
def test_bad_settings_get_a_sentence(call, said) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises((InvalidInput, InvalidParameter), match=said):
        call(make([[(0, 0), (1, 1)], [(2, 5)]]))
