"""What a mitigation costs, against slow arithmetic; and that no coarsening tells more than what it was made from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mitigate_oracles import entropy, lost

from entropie.attack.single import pie_bits
from entropie.data.coarsen import coarsen_time, keep_top_items, merge_items
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter
from entropie.mitigate.material import information_lost, order_lost
from entropie.mitigate.mitigation import Mitigation

values = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=60)
people = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=9), min_size=1, max_size=8)


def make(lists: list[list[int]], times: np.ndarray | None = None) -> Traces:
    offsets = np.concatenate([[0], np.cumsum([len(items) for items in lists])]).astype(np.int64)
    return Traces(offsets, np.array([item for items in lists for item in items], np.uint32), 10, times)


@settings(deadline=None)
@given(values)
def test_information_lost(pairs: list[tuple[int, int]]) -> None:
    before, after = (np.array(column) for column in zip(*pairs, strict=True))
    assert information_lost(before, after) == pytest.approx(lost(before.tolist(), after.tolist()), abs=1e-9)


@settings(deadline=None)
@given(people, st.lists(st.integers(0, 3), min_size=10, max_size=10))
def test_merging_never_adds_information(lists: list[list[int]], groups: list[int]) -> None:
    """Data processing: entropy and I(U;X) of the coarse items are at most those of the fine ones."""
    fine = make(lists)
    coarse = merge_items(fine, groups)
    assert pie_bits(coarse) <= pie_bits(fine) + 1e-9
    assert entropy(coarse.items.tolist()) <= entropy(fine.items.tolist()) + 1e-9
    whole = entropy(fine.items.tolist())
    expected = 1 - entropy(coarse.items.tolist()) / whole if whole else 0.0
    assert information_lost(fine.items, coarse.items) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None)
@given(people)
def test_fewer_top_items_tell_less(lists: list[list[int]]) -> None:
    fine = make(lists)
    steps = [keep_top_items(fine, count) for count in range(10, 0, -1)]
    for more, fewer in zip([fine, *steps], steps, strict=False):
        assert pie_bits(fewer) <= pie_bits(more) + 1e-9
        assert information_lost(fine.items, fewer.items) >= information_lost(fine.items, more.items) - 1e-9
    assert information_lost(fine.items, steps[0].items) == 0.0  # all ten stay


@settings(deadline=None)
@given(people, st.permutations(range(10)))
def test_other_names_are_no_coarsening(lists: list[list[int]], names: list[int]) -> None:
    fine = make(lists)
    renamed = merge_items(fine, names)
    assert information_lost(fine.items, renamed.items) == 0.0
    assert pie_bits(renamed) == pytest.approx(pie_bits(fine), abs=1e-12)


@settings(deadline=None)
@given(people, st.sampled_from(["hour", "day", "week"]), st.data())
def test_order_lost(lists: list[list[int]], unit: str, data: st.DataObject) -> None:
    times = [sorted(data.draw(st.lists(st.integers(0, 400_000), min_size=len(x), max_size=len(x)))) for x in lists]
    traces = make(lists, np.array([time for own in times for time in own], np.int64))
    length = {"hour": 3_600, "day": 86_400, "week": 604_800}[unit]
    shift = 345_600 if unit == "week" else 0  # 1970-01-05 was a Monday
    pairs = same = 0
    for items, own in zip(lists, times, strict=True):
        for place in range(1, len(items)):
            pairs += 1
            together = (own[place] - shift) // length == (own[place - 1] - shift) // length
            same += together and items[place] != items[place - 1]
    coarse = coarsen_time(traces, unit)  # type: ignore[arg-type]
    assert coarse.times is not None
    units = np.array([(time - shift) // length for own in times for time in own])
    assert order_lost(traces, units) == pytest.approx(same / pairs if pairs else 0.0)


@pytest.mark.parametrize(
    ("kind", "setting", "said"),
    [
        ("shake", 1, "`mitigation` must be one of top, category"),
        ("top", 0, "`top` must be a whole number from 1"),
        ("first", 2.5, "`first` must be a whole number"),
        ("thin", 1.0, "`thin` must be a share above 0 and below 1, got 1.0"),
        ("thin", float("nan"), "`thin` must be a share above 0 and below 1"),
        ("time_unit", "month", "`time_unit` must be one of hour, day, week, got 'month'"),
        ("grid", "500", "`grid` must be a size such as 500m"),
        ("category", "", "`category` must be the name of a column"),
    ],
)
def test_bad_settings_get_a_sentence(kind: str, setting: object, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        Mitigation(kind, setting)  # type: ignore[arg-type]
