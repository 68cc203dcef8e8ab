"""Trace kernels against plain Python over lists."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.kernels.traces import copy_runs, count_duplicates, group_rows, sort_users

# Few users and few ticks, so that ties are common; long enough for the merging part of the sort.
rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(-3, 3)), max_size=300)


def arrays(table: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    users, items, ticks = np.array(table, np.int64).reshape(-1, 3).T
    return users.astype(np.uint32), items.astype(np.uint32), np.ascontiguousarray(ticks)


@settings(deadline=None)
@given(rows, st.booleans())
def test_group_and_sort_are_a_stable_sort_by_user_and_tick(table: list[tuple[int, int, int]], backwards: bool) -> None:
    users = 3  # user 3 stands for dropped rows
    offsets, items, ticks = group_rows(*arrays(table), users, backwards)
    sort_users(offsets, items, ticks, 0, users)

    expected = sorted((r for r in (table[::-1] if backwards else table) if r[0] < users), key=lambda r: (r[0], r[2]))
    assert items.tolist() == [item for _, item, _ in expected]
    assert ticks.tolist() == [tick for _, _, tick in expected]
    counts = Counter(user for user, _, _ in expected)
    assert np.diff(offsets).tolist() == [counts[user] for user in range(users)]

    repeats = sum(n - 1 for n in Counter(expected).values())
    assert count_duplicates(offsets, items, ticks, 0, users) == repeats


def test_long_traces_sort_stably() -> None:
    rng = np.random.default_rng(3)
    for size in (31, 32, 33, 64, 65, 1000, 4096, 10_001):
        ticks = rng.integers(0, size // 3 + 1, size)
        items = np.arange(size, dtype=np.uint32)
        order = np.argsort(ticks, kind="stable")
        got_ticks, got_items = ticks.copy(), items.copy()
        sort_users(np.array([0, size]), got_items, got_ticks, 0, 1)
        assert np.array_equal(got_ticks, ticks[order])
        assert np.array_equal(got_items, order)


def test_grouping_without_ticks() -> None:
    users, items, _ = arrays([(1, 5, 0), (0, 4, 0), (1, 3, 0)])
    offsets, grouped, ticks = group_rows(users, items, np.empty(0, np.int64), 2, False)
    assert (offsets.tolist(), grouped.tolist(), ticks.tolist()) == ([0, 1, 3], [4, 5, 3], [])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 10)), max_size=20))
@settings(deadline=None)
def test_copied_runs(runs: list[tuple[int, int]]) -> None:
    values = np.arange(100, 120, dtype=np.uint32)
    starts = np.array([start for start, _ in runs], np.int64)
    offsets = np.concatenate([[0], np.cumsum([length for _, length in runs])]).astype(np.int64)
    out = np.zeros(offsets[-1], np.uint32)
    copy_runs(values, starts, offsets, out)
    expected = [value for start, length in runs for value in values.tolist()[start : start + length]]
    assert out.tolist() == expected
