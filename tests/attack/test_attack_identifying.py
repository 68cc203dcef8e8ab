"""Which items give people away, and who is told their names."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.identifying import SMALLEST_GROUP, identifying_items
from entropie.attack.single import pie_bits
from entropie.data.traces import Traces

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
    assert whole == pytest.approx(pie_bits(traces_of(rows)), abs=1e-9)
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
