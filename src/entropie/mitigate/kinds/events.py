"""Fewer events of each person."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.data.coarsen import hashed_shares
from entropie.mitigate.draft import Blocks, Change, Draft
from entropie.mitigate.kind import SHARES, WHOLE, Declarations, less

kind = Declarations("events")


@kind(
    WHOLE,
    "N,...",
    "Release the first N events of each person.",
    title="first {} events",
    action="release only the first {} events of each person",
    strength=less,
    tried=lambda material: (count for count in (10,) if count < material.longest),
)
def first(blocks: Blocks, count: int) -> Change:
    """The first events of each person are released."""
    return lambda draft: draft.without(_place(draft) >= count)


@kind(
    WHOLE,
    "N,...",
    "Release the last N events of each person.",
    title="last {} events",
    action="release only the last {} events of each person",
    strength=less,
)
def last(blocks: Blocks, count: int) -> Change:
    """The last events of each person are released."""

    def without(draft: Draft) -> Draft:
        kept = np.bincount(draft.material.people, draft.kept, draft.material.traces.users)
        return draft.without(_place(draft) < kept[draft.material.people] - count)

    return without


@kind(
    SHARES,
    "P,...",
    "Release each event with probability P.",
    title="random {}",
    action="release a random {} of the events",
    strength=less,
    tried=lambda material: (0.5, 0.1),
)
def thin(blocks: Blocks, probability: float) -> Change:
    """Each event is released with a probability; what a smaller one keeps is part of what a larger one keeps."""

    def without(draft: Draft) -> Draft:
        material = draft.material
        return draft.without(hashed_shares(material.traces, material.seed, material.keys) >= probability)

    return without


def _place(draft: Draft) -> NDArray[np.int64]:
    """Which of their person's released events each is."""
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(draft.kept, dtype=np.int64)))
    return before[:-1] - before[draft.material.traces.offsets[:-1]][draft.material.people]
