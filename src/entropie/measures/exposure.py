"""Who is at risk: people in order of how clear the attacker's best match is, and how often it is right.

An attacker need not attack everybody. They see how far their best candidate stands ahead of the second without knowing
the truth, and may act only where the gap is wide. The average over all people hides that; the tenths shown here do not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
from msgspec import structs
from numpy.typing import ArrayLike, NDArray

from entropie.document.assessment import TailGroup
from entropie.document.measured import Exposure, ExposureGroup, Group
from entropie.errors import InvalidInput
from entropie.measures.intervals import share_interval

GROUPS = 10
"""People are shown in so many groups of equal size."""

TAIL, LEAST_GROUP = (0.001, 0.01, 0.1, 1.0), 20
"""Shares of people whose match is clearest, each looked at by itself; and the fewest people that are a group."""


def exposure(credit: ArrayLike, clarity: ArrayLike, *, groups: int = GROUPS) -> Exposure:
    """Cut people into groups by `clarity`, clearest first; equally clear people share their credit.

    Sharing makes the groups independent of the order in which people are listed. With fewer people than groups every
    person is a group.

    >>> exposure([1.0, 0.0, 1.0, 0.0], [9.0, 1.0, 8.0, 1.0], groups=2).most_exposed.right.value
    1.0
    """
    shared = _by_clarity(credit, clarity)
    bounds = np.linspace(0, shared.size, min(groups, shared.size) + 1).round().astype(np.int64)
    groups_of_people = []
    for begin, end in itertools.pairwise(bounds.tolist()):
        right = share_interval(float(shared[begin:end].mean()), end - begin)
        groups_of_people.append(ExposureGroup(begin / shared.size, end / shared.size, end - begin, right))
    first = groups_of_people[0]
    return Exposure(groups_of_people, Group(first.ends, first.people, first.right))


def few_tails(
    low: NDArray[np.int64], high: NDArray[np.int64], among: Mapping[int, NDArray[np.float64]]
) -> tuple[TailGroup, ...]:
    """Parts of the people by how far the best k candidates stand ahead of the others together, one of them being named
    at random; `low` and `high` are how many strangers surely and possibly stand before the right person.

    Of two people who are alike, and nobody else is, neither stands ahead, and a model may even prefer the wrong one.
    """
    found: list[TailGroup] = []
    for k, gaps in among.items():
        inside = np.clip((k - low) / (high - low + 1.0), 0.0, 1.0)
        found += (structs.replace(part, alike=k) for part in tail_of(inside / k, gaps)[:-1])
    return tuple(found)


def tail_of(credit: ArrayLike, clarity: ArrayLike) -> tuple[TailGroup, ...]:
    """The clearest 20 people, 0.1 %, 1 %, 10 % and 100 %, rising; no group but that of all people is smaller than 20.

    >>> [group.people for group in tail_of([0.0] * 5000, [0.0] * 5000)]
    [20, 50, 500, 5000]
    """
    shared = _by_clarity(credit, clarity)
    everybody = shared.size
    sizes = {LEAST_GROUP, *(math.ceil(round(share * everybody, 6)) for share in TAIL)}
    kept = sorted({size for size in sizes if LEAST_GROUP <= size <= everybody} | {everybody})
    return tuple(TailGroup(size / everybody, size, share_interval(float(shared[:size].mean()), size)) for size in kept)


def _by_clarity(credit: ArrayLike, clarity: ArrayLike) -> NDArray[np.float64]:
    """The credits of people, clearest first; equally clear people share theirs."""
    shares, gaps = np.asarray(credit, dtype=np.float64), np.asarray(clarity, dtype=np.float64)
    if shares.shape != gaps.shape or shares.ndim != 1 or not shares.size:
        raise InvalidInput(f"Exposure needs one credit and one clarity per person, got {shares.shape}, {gaps.shape}.")
    if not np.isfinite(gaps).all():
        raise InvalidInput("Exposure needs finite clarities; drop or replace NaN and infinite ones.")
    _, place, members = np.unique(-gaps, return_inverse=True, return_counts=True)
    return np.asarray((np.bincount(place, weights=shares) / members)[np.sort(place)], np.float64)
