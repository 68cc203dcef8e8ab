"""What a release loses on each scale, against the same counted slowly from rows."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mitigate_oracles import lost
from test_mitigate_changes import TABLE, drafted, material

from entropie.errors import InvalidInput, InvalidParameter
from entropie.mitigate.draft import Draft
from entropie.mitigate.loss import SCALES, check_scale, information_lost, loss
from entropie.mitigate.mitigation import Mitigation

HOUR, WEEK = 3_600, 168
CASES = {
    "as is": (),
    "top": (Mitigation("top", 4),),
    "kind": (Mitigation("category", "kind"),),
    "day": (Mitigation("time_unit", "day"),),
    "week": (Mitigation("time_unit", "week"),),
    "none": (Mitigation("time_unit", "none"),),
    "thin": (Mitigation("thin", 0.5),),
    "rotate": (Mitigation("rotate", "day"),),
    "several": (
        Mitigation("top", 9),
        Mitigation("time_unit", "day"),
        Mitigation("last", 5),
        Mitigation("rotate", "week"),
    ),
}


def columns(draft: Draft) -> tuple[list, ...]:  # type: ignore[type-arg]
    traces = draft.material.traces
    assert traces.times is not None
    times = [None] * traces.events if draft.times is None else draft.times.tolist()
    return (draft.material.people.tolist(), traces.items.tolist(), traces.times.tolist(), draft.labels.tolist(), times,
            draft.kept.tolist(), draft.pieces.tolist())  # fmt: skip


def distance(true: Counter[Hashable], seen: dict[Hashable, float]) -> float:
    whole = sum(true.values())
    cells = {*true, *seen}
    return sum(abs(true[cell] / whole - seen.get(cell, 0.0)) for cell in cells) / 2


def spread(draft: Draft) -> tuple[dict[int, int], dict[int, list[int]]]:
    """The label of every item, and the items of every label."""
    label = dict(zip(columns(draft)[1], columns(draft)[3], strict=True))
    members: dict[int, list[int]] = {}
    for item, name in label.items():
        members.setdefault(name, []).append(item)
    return label, members


def seen_items(draft: Draft) -> dict[Hashable, float]:
    _, members = spread(draft)
    kept = [name for name, stays in zip(columns(draft)[3], columns(draft)[5], strict=True) if stays]
    seen: dict[Hashable, float] = {}
    for name in kept:
        for item in members[name]:
            seen[item] = seen.get(item, 0.0) + 1 / len(kept) / len(members[name])
    return seen


def hour_of_week(time: int) -> int:
    return (time // HOUR - 96) % WEEK


def slow_items(draft: Draft) -> float:
    return distance(Counter(columns(draft)[1]), seen_items(draft))


def slow_item_hours(draft: Draft) -> float:
    _, items, times, labels, shown, kept, _ = columns(draft)
    _, members = spread(draft)
    width = {"day": 24, "week": WEEK}.get(
        {86_400: "day", 604_800: "week"}.get(draft.unit, ""), WEEK if draft.unit == 0 else 1
    )
    seen: dict[Hashable, float] = {}
    for name, time, stays in zip(labels, shown, kept, strict=True):
        if stays:
            first = 0 if time is None else hour_of_week(time) // width * width
            for hour in range(first, first + width):
                for item in members[name]:
                    seen[item, hour] = seen.get((item, hour), 0.0) + 1 / sum(kept) / len(members[name]) / width
    return distance(Counter(zip(items, map(hour_of_week, times), strict=True)), seen)


def slow_flows(draft: Draft) -> float:
    people, items, times, labels, shown, kept, pieces = columns(draft)
    _, members = spread(draft)
    if draft.times is None:
        return 1.0
    people, times, items = map(list, zip(*sorted(zip(people, times, items, strict=True)), strict=True))
    true = Counter((a, b) for a, b, p, q in zip(items, items[1:], people, people[1:], strict=False) if p == q)
    rows = sorted(
        (piece, time, min(members[name]), name)
        for piece, time, name, stays in zip(pieces, shown, labels, kept, strict=True)
        if stays
    )
    pairs = [(a[-1], b[-1]) for a, b in itertools.pairwise(rows) if a[0] == b[0]]
    seen: dict[Hashable, float] = {}
    for a, b in pairs:
        for one in members[a]:
            for other in members[b]:
                seen[one, other] = seen.get((one, other), 0.0) + 1 / len(pairs) / len(members[a]) / len(members[b])
    return distance(true, seen)


def slow_information(draft: Draft) -> float:
    people, items, times, labels, shown, kept, pieces = columns(draft)
    what = lost(items, [name if stays else "gone" for name, stays in zip(labels, kept, strict=True)])
    hours = [None if time is None else time // HOUR for time in shown]
    when = lost(
        [time // HOUR for time in times], [hour if stays else "gone" for hour, stays in zip(hours, kept, strict=True)]
    )
    told = pairs = 0
    for a in range(len(people) - 1):
        if people[a] != people[a + 1] or (times[a] == times[a + 1] and items[a] != items[a + 1]):
            continue
        pairs += 1
        linked = kept[a] and kept[a + 1] and pieces[a] == pieces[a + 1]
        ordered = (shown[a] is not None and shown[a] < shown[a + 1]) or labels[a] == labels[a + 1]
        told += linked and ordered
    return (what + when + 1 - told / pairs) / 3


SLOW = {"information": slow_information, "items": slow_items, "item-hours": slow_item_hours, "flows": slow_flows}


@pytest.mark.parametrize("scale", SLOW)
@pytest.mark.parametrize("case", CASES)
def test_loss(scale: str, case: str) -> None:
    draft = drafted(*CASES[case])
    assert loss(draft, scale) == pytest.approx(SLOW[scale](draft), abs=1e-9)


def test_as_is_costs_nothing_and_nothing_left_costs_everything() -> None:
    for scale in SCALES:
        assert loss(drafted(), scale) == pytest.approx(0.0, abs=1e-9)
        assert loss(drafted(Mitigation("thin", 1e-12)), scale) == 1.0


TIED = pa.table({"user": [1] * 6 + [2] * 6, "item": list("bacbca" * 2), "time": [0, 0, 0, 86_400, 86_400, 9**6] * 2})


def test_what_the_data_do_not_say_is_not_lost() -> None:
    """Events at one time have no order: as is, they lose nothing; without their days, all that the days told."""
    for scale in SCALES:
        assert loss(drafted(of=material(TIED)), scale) == pytest.approx(0.0, abs=1e-9), scale
    draft = drafted(Mitigation("time_unit", "none"), of=material(TIED))
    assert loss(draft, "information") == pytest.approx(slow_information(draft))
    assert loss(draft, "information") == pytest.approx((0 + 1 + 1) / 3)


def test_the_most_frequent_items_that_a_release_shows() -> None:
    """150 items, each with a frequency of its own: of the 100 most frequent the release merges 60 with the 50 others."""
    items = np.repeat(np.arange(150), np.arange(151, 1, -1))
    table = pa.table({"user": items % 20, "item": items, "time": np.arange(items.size)})
    draft = drafted(Mitigation("top", 40), of=material(table))
    assert loss(draft, "top") == pytest.approx(1 - (40 + 60 * 60 / 110) / 100)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=60))
def test_information_lost(pairs: list[tuple[int, int]]) -> None:
    before, after = (np.array(column) for column in zip(*pairs, strict=True))
    assert information_lost(before, after) == pytest.approx(lost(before.tolist(), after.tolist()), abs=1e-9)


def test_scales_that_are_none() -> None:
    with pytest.raises(InvalidParameter, match="`cost` must be one of information, items, item-hours, flows, top"):
        check_scale("beauty")
    with pytest.raises(InvalidInput, match="item-hours needs times, and only the order of events is known"):
        check_scale("item-hours", material(TABLE.drop(["time"])))
