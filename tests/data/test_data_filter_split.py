"""Filters and splits against plain Python over lists of events."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.data.filter import keep_active_users, keep_used_items, sample_users, user_hashes
from entropie.data.split import first_events, split_traces
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.request import SplitRule

lists_of_events = st.lists(st.lists(st.integers(0, 19), max_size=9), min_size=1, max_size=12)


def make(lists: list[list[int]], domain_size: int = 20) -> Traces:
    offsets = np.concatenate([[0], np.cumsum([len(items) for items in lists])]).astype(np.int64)
    items = np.array([item for items in lists for item in items], np.uint32)
    return Traces(offsets, items, domain_size, np.arange(items.size, dtype=np.int64))


def as_lists(traces: Traces) -> list[list[int]]:
    return [traces.items[a:b].tolist() for a, b in zip(traces.offsets[:-1], traces.offsets[1:], strict=True)]


@settings(deadline=None)
@given(lists_of_events, st.integers(0, 9))
def test_active_users(lists: list[list[int]], least: int) -> None:
    kept = [items for items in lists if len(items) >= least]
    if not kept:
        alone = sum(map(len, lists)) <= 1.1 * len(lists)  # a table with one row per person, but for some
        with pytest.raises(InvalidInput, match="entropie attributes" if alone else "lower `min_events=` to"):
            keep_active_users(make(lists), least)
        return
    selection = keep_active_users(make(lists), least)
    assert [[selection.items[code] for code in items] for items in as_lists(selection.traces)] == kept
    assert selection.users.tolist() == [user for user, items in enumerate(lists) if len(items) >= least]
    assert selection.items.tolist() == sorted({item for items in kept for item in items})
    assert selection.traces.domain_size == selection.items.size
    assert selection.dropped_users == len(lists) - len(kept)
    assert selection.dropped_events == sum(map(len, lists)) - sum(map(len, kept))
    assert selection.dropped_items == 20 - selection.items.size
    assert selection.traces.times is not None
    assert selection.traces.times.size == selection.traces.events


def test_used_items() -> None:
    selection = keep_used_items(make([[19, 3], [3]]))
    assert as_lists(selection.traces) == [[1, 0], [0]]
    assert (selection.items.tolist(), selection.dropped_users, selection.dropped_events) == ([3, 19], 0, 0)


IDS = [f"user {n}" for n in range(4000)]
TRACES = make([[n % 20] for n in range(4000)])


def sampled(ids: list[object], **options: object) -> set[object]:
    selection = sample_users(make([[1]] * len(ids)), ids, **options)  # type: ignore[arg-type]
    return {ids[user] for user in selection.users}


def test_a_share_does_not_depend_on_order_or_partition() -> None:
    whole = sampled(IDS, share=0.3)
    order = np.random.default_rng(1).permutation(len(IDS))
    assert sampled([IDS[n] for n in order], share=0.3) == whole
    assert sampled(IDS[:1500], share=0.3) | sampled(IDS[1500:], share=0.3) == whole
    # 4000 coins of 0.3: the standard deviation is 29, five of them leave one failure in two million salts.
    assert abs(len(whole) - 1200) < 5 * 29


def test_a_count_takes_the_lowest_hashes() -> None:
    for count in (1, 10, 500, 4000, 9000):
        assert len(sampled(IDS, count=count)) == min(count, 4000)
    small, large = sampled(IDS, count=100), sampled(IDS, count=200)
    assert small < large
    assert sampled(IDS[::-1], count=100) == small


def test_ids_count_as_text_and_the_salt_matters() -> None:
    numbers: list[object] = list(range(1000))
    texts = sampled([str(n) for n in numbers], share=0.1)
    assert {str(n) for n in sampled(numbers, share=0.1)} == texts
    assert sampled([str(n) for n in numbers], share=0.1, salt="other") != texts
    arrow = sample_users(make([[1]] * 1000), pa.array(range(1000)), share=0.1)
    assert {str(n) for n in arrow.users} == texts


def test_the_sample_is_the_same_on_every_machine() -> None:
    # Written down once: a change of the hash would change every published sample.
    assert sorted(sampled([str(n) for n in range(100)], count=5), key=str) == GOLDEN


GOLDEN = ["5", "51", "9", "91", "96"]


def test_sampling_keeps_whole_users() -> None:
    selection = sample_users(TRACES, IDS, share=1.0)
    assert selection.traces.users == 4000
    for options in ({}, {"share": 0.5, "count": 3}, {"share": 0.0}, {"share": 1.1}, {"count": 0}):
        with pytest.raises(InvalidParameter):
            sample_users(TRACES, IDS, **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="one id per user"):
        sample_users(TRACES, IDS[:5], share=0.5)


@settings(deadline=None)
@given(lists_of_events)
def test_halves(lists: list[list[int]]) -> None:
    expected = [(items[: math.ceil(len(items) / 2)], items[math.ceil(len(items) / 2) :]) for items in lists]
    usable = [user for user, (train, target) in enumerate(expected) if train and target]
    if not usable:
        with pytest.raises(InvalidInput, match="both to learn from and to attack"):
            split_traces(make(lists))
        return
    split = split_traces(make(lists))
    assert split.users.tolist() == usable
    assert split.dropped_users == len(lists) - len(usable)
    assert as_lists(split.train) == [expected[user][0] for user in usable]
    assert as_lists(split.target) == [expected[user][1] for user in usable]


FIVE = [[1, 2, 3, 4, 5], [6, 7, 8], [9], []]


def test_first_events() -> None:
    assert as_lists(first_events(make(FIVE), 2)) == [[1, 2], [6, 7], [9], []]
    with pytest.raises(InvalidParameter):
        first_events(make(FIVE), 0)


def test_rating_history_trains_on_the_first_events_of_the_target_itself() -> None:
    split = split_traces(make(FIVE), SplitRule("history", train_events=2))
    assert as_lists(split.train) == [[1, 2], [6, 7], [9]]
    assert as_lists(split.target) == FIVE[:3]
    assert (split.users.tolist(), split.dropped_users) == ([0, 1, 2], 1)


@pytest.mark.parametrize(
    ("options", "train", "target"),
    [
        ({}, [[1, 2, 3], [6, 7]], [[4, 5], [8]]),
        ({"target_events": 1}, [[1, 2, 3], [6, 7]], [[4], [8]]),
        ({"train_events": 1}, [[1], [6]], [[4, 5], [8]]),
        ({"knowledge": "maximum"}, [[4, 5], [8]], [[4, 5], [8]]),
        ({"knowledge": "maximum", "target_events": 1}, [[4], [8]], [[4], [8]]),
        ({"rule": "history", "train_events": 1}, [[1], [6], [9]], FIVE[:3]),
        ({"rule": "history", "train_events": 1, "target_events": 2}, [[1], [6], [9]], [[1, 2], [6, 7], [9]]),
        ({"rule": "history", "knowledge": "maximum"}, FIVE[:3], FIVE[:3]),
    ],
)
def test_rules_and_knowledge(options: dict[str, object], train: list[list[int]], target: list[list[int]]) -> None:
    split = split_traces(make(FIVE), SplitRule(**options))  # type: ignore[arg-type]
    assert as_lists(split.train) == train
    assert as_lists(split.target) == target
    assert split.train.domain_size == split.target.domain_size == 20


@pytest.mark.parametrize("options", [{"rule": "thirds"}, {"knowledge": "none"}, {"rule": "history"}])
def test_rules_that_do_not_exist(options: dict[str, str]) -> None:
    with pytest.raises(InvalidParameter):
        split_traces(make(FIVE), SplitRule(**options))  # type: ignore[arg-type]


def test_hashes_of_many_ids_are_those_of_each() -> None:
    ids = [f"person {number}" for number in range(40_000)]
    assert user_hashes(pa.array(ids)).tolist() == user_hashes(ids).tolist()
    assert user_hashes(pa.chunked_array([ids[:9], ids[9:]])).tolist() == user_hashes(ids).tolist()
