"""Which items give people away, and who is told their names."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.features import item_rows
from entropie.attack.identifying import SMALLEST_GROUP, identifying_items, item_parts, summary_of
from entropie.attack.single import pie_bits
from entropie.data.traces import Traces
from entropie.errors import InvalidInput

histories = st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=12), min_size=2, max_size=40)


def traces_of(rows: list[list[int]], domain: int = 7) -> Traces:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return Traces(offsets, np.array([x for row in rows for x in row], np.uint32), domain)


def naive_bits(rows: list[list[int]], item: int) -> float:
    shares = [Counter(row)[item] / len(row) for row in rows]
    mean = sum(shares) / len(rows)
    return sum(s * math.log2(s / mean) for s in shares if s) / len(rows)


@settings(max_examples=100, deadline=None)
@given(histories)
def test_parts_are_those_of_the_formula_and_sum_to_the_information(rows: list[list[int]]) -> None:
    found = identifying_items(traces_of(rows), shown=3)
    for item in found.shown:
        assert item.bits == pytest.approx(naive_bits(rows, item.code), abs=1e-9)
        mean = sum(Counter(row)[item.code] / len(row) for row in rows) / len(rows)
        assert item.bits_per_event == pytest.approx(naive_bits(rows, item.code) / mean, abs=1e-9)
        assert item.people == sum(item.code in row for row in rows)
        assert item.share_of_events == pytest.approx(sum(r.count(item.code) for r in rows) / sum(map(len, rows)))
    whole = sum(item.bits for item in found.shown) + found.other.bits + found.rare.bits
    assert whole == pytest.approx(found.bits, abs=1e-12)
    assert found.bits == pytest.approx(pie_bits(traces_of(rows)), abs=1e-12)
    used = {x for row in rows for x in row}
    assert len(found.shown) + found.other.items + found.rare.items == len(used)


@settings(max_examples=100, deadline=None)
@given(histories)
def test_nothing_rare_is_named(rows: list[list[int]]) -> None:
    found = identifying_items(traces_of(rows))
    assert all(item.people >= SMALLEST_GROUP for item in found.shown)
    bits = [round(item.bits_per_event, 6) for item in found.shown]
    assert bits == sorted(bits, reverse=True)


def test_an_item_of_nine_people_stays_unnamed_and_of_ten_is_named() -> None:
    rows = [[0, 1] for _ in range(9)] + [[0, 2] for _ in range(10)]
    names = identifying_items(traces_of(rows)).to_json(lambda code: f"item {code}")
    assert {row["item"] for row in names["shown"]} == {"item 0", "item 2"}
    assert names["rare"]["items"] == 1


def test_the_information_is_that_of_the_single_datum() -> None:
    rng = np.random.default_rng(2)
    lengths = rng.integers(0, 60, 800)
    items = (300 * rng.random(lengths.sum()) ** 3).astype(np.uint32)
    traces = Traces(np.concatenate(([0], np.cumsum(lengths))), items, 320)
    found = identifying_items(traces)
    assert found.bits == pytest.approx(pie_bits(traces), abs=1e-12)
    assert found.bits > 1.0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 25))
def test_parts_of_the_items_merge_in_any_order_to_the_same(seed: int, shown: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [(40 * rng.random(rng.integers(1, 12)) ** 2).astype(int).tolist() for _ in range(60)]
    traces = traces_of(rows, 45)
    whole = identifying_items(traces, shown=shown)
    counts = item_rows(traces)
    lengths = np.repeat(counts.totals(), np.diff(counts.offsets))
    part_of = rng.integers(0, 4, 45)
    summaries = []
    for part in range(4):
        codes = np.flatnonzero(part_of == part)
        entries = part_of[counts.features] == part
        local = np.searchsorted(codes, counts.features[entries])
        parts = item_parts(local, counts.weights[entries], lengths[entries], 60, codes.size)
        summaries.append(summary_of(codes, *parts, traces.events, shown=shown))
    rng.shuffle(summaries)
    merged = summaries[0].merge(summaries[1]).merge(summaries[2].merge(summaries[3])).result()
    assert merged == whole


def test_events_are_needed() -> None:
    with pytest.raises(InvalidInput, match="at least one event"):
        identifying_items(traces_of([[], []]))
