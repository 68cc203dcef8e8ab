"""Traces: what is checked on construction, taking users, naming the content."""

from __future__ import annotations

import numpy as np
import pytest
from digests import traces_sha256
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.data.traces import Traces
from entropie.errors import EntropieError


def make(lists: list[list[int]], domain_size: int = 10, timed: bool = False) -> Traces:
    offsets = np.concatenate([[0], np.cumsum([len(items) for items in lists])]).astype(np.int64)
    items = np.array([item for items in lists for item in items], np.uint32)
    return Traces(offsets, items, domain_size, np.arange(items.size, dtype=np.int64) * 60 if timed else None)


def as_lists(traces: Traces) -> list[list[int]]:
    return [traces.items[a:b].tolist() for a, b in zip(traces.offsets[:-1], traces.offsets[1:], strict=True)]


def test_sizes() -> None:
    traces = make([[1, 2], [], [3]])
    assert (traces.users, traces.events, traces.domain_size) == (3, 3, 10)
    assert make([]).users == 0


@pytest.mark.parametrize(
    ("offsets", "items", "domain_size", "times", "word"),
    [
        (np.array([0, 2]), np.array([1], np.uint32), 5, None, "offsets"),
        (np.array([1, 1]), np.array([1], np.uint32), 5, None, "offsets"),
        (np.array([], np.int64), np.array([], np.uint32), 5, None, "offsets"),
        (np.array([0, 2, 1, 3]), np.zeros(3, np.uint32), 5, None, "decrease"),
        (np.array([0, 1], np.int32), np.array([1], np.uint32), 5, None, "int64"),
        (np.array([0, 1]), np.array([1]), 5, None, "uint32"),
        (np.array([0, 1]), np.array([5], np.uint32), 5, None, "below domain_size = 5, got 5"),
        (np.array([0, 1]), np.array([1], np.uint32), 5, np.array([1, 2]), "one value per item"),
        (np.array([0, 1]), np.array([1], np.uint32), 5, np.array([1.0]), "int64"),
        (np.array([0, 1]), np.array([1], np.uint32), -1, None, "domain_size"),
        (np.array([0, 2]), np.zeros(4, np.uint32)[::2], 5, None, "contiguous"),
        ([0, 1], np.array([1], np.uint32), 5, None, "offsets"),
    ],
)
def test_what_is_refused(offsets: object, items: object, domain_size: int, times: object, word: str) -> None:
    with pytest.raises(EntropieError, match=word):
        Traces(offsets, items, domain_size, times)  # type: ignore[arg-type]


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=8), st.data(), st.booleans())
def test_take(lists: list[list[int]], data: st.DataObject, timed: bool) -> None:
    traces = make(lists, timed=timed)
    wanted = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=10))
    part = traces.take(np.array(wanted, np.int64))
    assert as_lists(part) == [lists[user] for user in wanted]
    assert part.domain_size == traces.domain_size
    if timed:
        assert part.times is not None
        assert traces.times is not None
        cuts = [traces.times[traces.offsets[u] : traces.offsets[u + 1]] for u in wanted]
        assert part.times.tolist() == [time for cut in cuts for time in cut.tolist()]


@pytest.mark.parametrize("user", [-1, 3])
def test_take_refuses_users_that_are_not_there(user: int) -> None:
    with pytest.raises(EntropieError, match="between 0 and 2"):
        make([[1], [2], [3]]).take(np.array([user]))


def test_content_names() -> None:
    names = {
        traces_sha256(traces)
        for traces in (
            make([[1, 2], [3]]),
            make([[1], [2, 3]]),
            make([[1, 2], [3]], 11),
            make([[1, 2], [3]], timed=True),
            make([[1, 2], [4]]),
        )
    }
    assert len(names) == 5
    assert traces_sha256(make([[1, 2], [3]])) == traces_sha256(make([[1, 2], [3]]))
