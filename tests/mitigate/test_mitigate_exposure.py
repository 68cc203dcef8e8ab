"""Who is most exposed, against everybody compared with everybody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.points import draws_for
from entropie.data.traces import Traces
from entropie.kernels.points import draw_places
from entropie.mitigate import exposure
from entropie.mitigate.draft import Blocks, Draft, Material
from entropie.mitigate.exposure import most_exposed


def drafts(seed: int, people: int, items: int, times: int, spread: int) -> list[Draft]:
    """The same people in two blocks, with numbers that say nothing of the block; some events are not released."""
    rng = np.random.default_rng(seed)
    keys, made = rng.permutation(people), []
    for mine in (keys[: people // 3], keys[people // 3 :]):
        lengths = rng.integers(0, 9, mine.size)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        when = rng.integers(0, times, offsets[-1]) * spread if times else None
        traces = Traces(offsets, rng.integers(0, items, offsets[-1]).astype(np.uint32), items, when)
        of_each = np.repeat(np.arange(mine.size), lengths)
        names = pa.array(map(str, range(items)), pa.large_string())
        draft = Material(traces, names, {}, None, of_each, mine, people, 0).draft()
        made.append(replace(draft, kept=rng.random(traces.events) < 0.8))
    return made


def slowly(blocks: list[Draft], people: int, share: float) -> list[int]:
    """Sets of cells, compared one with another."""
    has: dict[int, list[tuple[int, int]]] = {}
    for draft in blocks:
        for event in np.flatnonzero(draft.kept).tolist():
            time = 0 if draft.times is None else int(draft.times[event])
            key = int(draft.material.keys[draft.material.people[event]])
            has.setdefault(key, []).append((int(draft.labels[event]), time))
    credit = dict.fromkeys(has, 0.0)
    for word in np.random.SeedSequence(0).generate_state(draws_for(people), np.uint64):
        for key, cells in has.items():
            places = draw_places(np.array([len(cells)]), np.array([key]), 4, word)[0]
            known = {cells[place] for place in places if place >= 0}
            credit[key] += 1.0 / sum(known <= set(other) for other in has.values())
    order = sorted(has, key=lambda key: (-round(credit[key], 9), -len(has[key]), key))
    return sorted(order[: max(1, round(share * len(has)))]) if has else []


@settings(max_examples=40)
@given(
    st.integers(0, 10**6), st.integers(3, 150), st.sampled_from([1, 3, 40]), st.sampled_from([0, 1, 4, 30]),
    st.sampled_from([1, 2**33]), st.sampled_from([1, 64, 10**9]),
)  # fmt: skip
def test_the_most_exposed_are_those_of_whom_fewest_have_the_same(
    seed: int, people: int, items: int, times: int, spread: int, dense: int
) -> None:
    """With bits for few cells, some or all; people at a time as they come and 10; times near one another and not."""
    blocks = drafts(seed, people, items, times, spread)

    def again() -> Iterator[Draft]:
        return iter(blocks)

    events = sum(draft.labels.size for draft in blocks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exposure, "_DENSE", dense)
        patch.setattr(exposure, "_PEOPLE", 10 if seed % 2 else 1 << 16)
        found = most_exposed(Blocks(again, people, events), 0.3)
    assert np.flatnonzero(found).tolist() == slowly(blocks, people, 0.3)
