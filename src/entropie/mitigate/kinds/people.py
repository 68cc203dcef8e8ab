"""Fewer people, or people in pieces."""

from __future__ import annotations

import numpy as np

from entropie.mitigate.draft import Blocks, Change, Draft
from entropie.mitigate.exposure import most_exposed
from entropie.mitigate.kind import SHARES, Declarations, less

kind = Declarations("people")


@kind(
    SHARES,
    "P,...",
    "Drop the most exposed share P of people.",
    title="without {} exposed",
    action="leave out the most exposed {} of people",
    strength=float,
    tried=lambda material: (0.1,),
)
def exposed(blocks: Blocks, share: float) -> Change:
    """The people whom known events give away most surely are not released."""
    found = most_exposed(blocks, share)
    return lambda draft: draft.without(found[draft.material.keys][draft.material.people])


@kind(
    SHARES,
    "P,...",
    "Events of the most exposed P each on its own.",
    title="{} scattered",
    action="give every event of the most exposed {} of people a pseudonym of its own",
    strength=float,
)
def scatter(blocks: Blocks, share: float) -> Change:
    """Every event of the people whom known events give away most surely gets a pseudonym of its own."""
    found = most_exposed(blocks, share)

    def cut(draft: Draft) -> Draft:
        theirs = found[draft.material.keys][draft.material.people]
        return draft.cut(np.where(theirs, np.arange(theirs.size) + 1, 0))

    return cut


@kind(
    SHARES,
    "P,...",
    "Release a random share P of people.",
    title="{} of people",
    action="release a random {} of people",
    strength=less,
)
def sample(blocks: Blocks, share: float) -> Change:
    """Some people, drawn at random, are released, the others are not."""
    seed = blocks.example.material.seed
    drawn = np.random.default_rng([seed, 2]).permutation(blocks.people)[: max(1, round(share * blocks.people))]
    gone = np.ones(blocks.people, np.bool_)
    gone[drawn] = False
    return lambda draft: draft.without(gone[draft.material.keys][draft.material.people])
