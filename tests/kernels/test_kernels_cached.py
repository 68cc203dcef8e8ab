"""Compiled code kept between runs: two different functions must never go by one name.

Numba names the parts of a sort by their types and by a number that each process counts for itself. Quicksort of `sort`
and of `argsort`, or the left and the right search, are different functions under the same name: where two processes
compiled them for the same types and counted alike, a third process that loads both runs one of them for the other. So
kernels sort by `.sort()`, take orders by mergesort, and search on the left.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import entropie.kernels

SOURCES = {path.stem: path.read_text() for path in sorted(Path(entropie.kernels.__file__).parent.glob("*.py"))}


@pytest.mark.parametrize("name", SOURCES)
def test_orders_are_taken_by_mergesort_and_values_sorted_by_quicksort(name: str) -> None:
    calls = re.findall(r"\bargsort\((?:[^()]|\([^()]*\))*\)", SOURCES[name])
    assert [call for call in calls if 'kind="mergesort"' not in call] == []
    assert re.findall(r"\.sort\([^)]+\)|np\.sort\(|\bsorted\(", SOURCES[name]) == []


@pytest.mark.parametrize("name", SOURCES)
def test_searches_are_on_the_left(name: str) -> None:
    assert "side=" not in SOURCES[name]


def test_there_is_something_to_look_at() -> None:
    assert sum(source.count("argsort(") for source in SOURCES.values()) >= 5
    assert sum(source.count("searchsorted(") for source in SOURCES.values()) >= 5
