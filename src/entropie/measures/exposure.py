"""Who is at risk: people in order of how clear the attacker's best match is, and how often it is right.

An attacker need not attack everybody. They see how far their best candidate stands ahead of the second without knowing
the truth, and may act only where the gap is wide. The average over all people hides that; the tenths shown here do not.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from entropie.errors import InvalidInput
from entropie.measures.intervals import Interval, share_interval

GROUPS = 10
"""People are shown in so many groups of equal size."""


@dataclass(frozen=True, slots=True)
class ExposureGroup:
    """Some people next to each other in the order of clarity, and the share of them re-identified."""

    begin: float  # share of people whose match is clearer
    end: float
    people: int
    right: Interval

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        return {"from": self.begin, "to": self.end, "people": self.people, "right": self.right.to_json()}


@dataclass(frozen=True, slots=True)
class Exposure:
    """The distribution of risk over people: groups from the clearest match to the least clear."""

    groups: tuple[ExposureGroup, ...]

    @property
    def most_exposed(self) -> ExposureGroup:
        """The people an attacker would choose first."""
        return self.groups[0]

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        first = self.most_exposed
        return {
            "groups": [group.to_json() for group in self.groups],
            "most_exposed": {"share": first.end, "people": first.people, "right": first.right.to_json()},
        }


def exposure(credit: ArrayLike, clarity: ArrayLike, *, groups: int = GROUPS) -> Exposure:
    """Cut people into groups by `clarity`, clearest first; equally clear people share their credit.

    Sharing makes the groups independent of the order in which people are listed. With fewer people than groups every
    person is a group.

    >>> exposure([1.0, 0.0, 1.0, 0.0], [9.0, 1.0, 8.0, 1.0], groups=2).most_exposed.right.value
    1.0
    """
    shares, gaps = np.asarray(credit, dtype=np.float64), np.asarray(clarity, dtype=np.float64)
    if shares.shape != gaps.shape or shares.ndim != 1 or not shares.size:
        raise InvalidInput(f"Exposure needs one credit and one clarity per person, got {shares.shape}, {gaps.shape}.")
    if not np.isfinite(gaps).all():
        raise InvalidInput("Exposure needs finite clarities; drop or replace NaN and infinite ones.")
    _, place, members = np.unique(-gaps, return_inverse=True, return_counts=True)
    shared = (np.bincount(place, weights=shares) / members)[np.sort(place)]
    bounds = np.linspace(0, shares.size, min(groups, shares.size) + 1).round().astype(np.int64)
    groups_of_people = []
    for begin, end in itertools.pairwise(bounds.tolist()):
        right = share_interval(float(shared[begin:end].mean()), end - begin)
        groups_of_people.append(ExposureGroup(begin / shares.size, end / shares.size, end - begin, right))
    return Exposure(tuple(groups_of_people))
