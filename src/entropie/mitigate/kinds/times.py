"""Coarser times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from entropie.data.coarsen import TIME_UNITS, hashed_shares, unit_begins
from entropie.mitigate.draft import GONE, Blocks, Change, Draft
from entropie.mitigate.kind import LENGTH, Declarations, one_of
from entropie.quantities import read_seconds

kind = Declarations("times")
_UNITS = (*TIME_UNITS, "none")


@kind(
    one_of(*_UNITS, called="units with commas between them, such as hour,day,week"),
    "U,...",
    "Round times to hour, day, week; none: drop.",
    title="times: {}",
    action="round times to the {} and drop the order within",
    strength=_UNITS.index,
    tried=lambda material: ("day", "week", "none") if material.timed else ("none",),
    timed=lambda unit: unit != "none",
    unlike={"none": ("times: none", "release neither times nor the order of events")},
)
def time_unit(blocks: Blocks, unit: str) -> Change:
    """Times rounded down; or neither times nor the order of events released."""
    if unit == "none":
        return lambda draft: replace(draft, times=None, unit=GONE, ordered=False)
    return lambda draft: replace(draft, times=unit_begins(_times(draft), unit), unit=TIME_UNITS[unit])


@kind(
    LENGTH,
    "T,...",
    "Move times at random by up to T, as 2h.",
    title="times within {}",
    action="move every time at random by up to {}",
    strength=read_seconds,
    timed=lambda length: True,
)
def jitter(blocks: Blocks, length: str) -> Change:
    """Every time moved by up to so much, each move equally likely."""
    most = read_seconds(length)

    def moved(draft: Draft) -> Draft:
        shares = hashed_shares(draft.material.traces, draft.material.seed + 1, draft.material.keys)
        return replace(draft, times=_times(draft) + np.floor(shares * (2 * most + 1)).astype(np.int64) - most)

    return moved


def _times(draft: Draft) -> NDArray[np.int64]:
    assert draft.times is not None
    return draft.times
