"""Pseudonyms that change."""

from __future__ import annotations

from entropie.data.coarsen import unit_begins
from entropie.mitigate.draft import Blocks, Change, Draft
from entropie.mitigate.kind import Declarations, one_of

kind = Declarations("pseudonyms")
_PERIODS = ("week", "day")


@kind(
    one_of(*_PERIODS, called="periods with commas between them, such as day,week"),
    "U,...",
    "Change pseudonyms every day or week.",
    title="pseudonyms by {}",
    action="give everybody a new pseudonym every {}",
    strength=_PERIODS.index,
    tried=lambda material: _PERIODS if material.timed and material.longest > 1 else (),
    timed=lambda period: True,
)
def rotate(blocks: Blocks, period: str) -> Change:
    """A new pseudonym for everybody every day or week."""

    def cut(draft: Draft) -> Draft:
        times = draft.material.traces.times
        assert times is not None
        return draft.cut(unit_begins(times, period))

    return cut
