"""Real assessments with risks of one's choice."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

from real_documents import real

SHA = "ab" * 32
SCOPE = ("profile", "crowd", "joint", "points")
PEOPLE, EXPOSED = 1000, 100


def wilson(share: float, people: int, tests: int = 1) -> dict[str, float]:
    """Wilson's interval from the roots of the score equation, |share - p| = z sqrt(p (1-p) / people), where so many
    intervals are to hold together at 95 %.
    """
    z = NormalDist().inv_cdf(1.0 - 0.025 / tests)
    a, b, c = 1.0 + z * z / people, -(2.0 * share + z * z / people), share * share
    root = math.sqrt(max(0.0, b * b - 4.0 * a * c))
    low, high = (-b - root) / (2.0 * a), (-b + root) / (2.0 * a)
    return {"value": share, "low": low if share else 0.0, "high": min(1.0, high) if share < 1.0 else 1.0}


def row(attacker: str, tail: dict[int, float], **changes: Any) -> dict[str, Any]:
    """One attacker in scope: shares re-identified by number of people, the most of which are all people."""
    people = max(tail)
    points = 4 if attacker == "points" else None
    return {
        "attacker": attacker,
        "knows": "4 random events, to the hour" if points else "the first half of each person's events",
        "points": points,
        "time_resolution": "hour" if points else None,
        "item_resolution": "item" if points else None,
        "matcher": None if points else "fused",
        "people": people,
        "targets": people,
        "reidentified": wilson(tail[people], people),
        "unicity": None,
        "control": None,
        "top_k": [],
        "tail": [
            {"share": size / people, "people": size, "reidentified": wilson(share, size)}
            for size, share in sorted(tail.items())
        ],
        "failed": False,
        "look_alikes": None,
        "in_scope": True,
        "seconds": 0.1,
        **changes,
    }


def assessment(
    average: float = 0.5,
    worst: float = 0.8,
    *,
    people: int = PEOPLE,
    exposed: int = EXPOSED,
    facts: dict[str, Any] | None = None,
    split: dict[str, Any] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """Everybody assessed by all four attackers; earlier behaviour re-identifies most, the others nobody."""
    document = real()
    document["users"] = people
    document["input"] |= {"source": "events.csv", "sha256": SHA, "users": people, "dropped_users": 0, **(facts or {})}
    document["split"] |= split or {}
    document["attackers"] = [
        row(name, {exposed: worst, people: average} if name == "profile" else {exposed: 0.0, people: 0.0})
        for name in SCOPE
    ]
    document["provenance"]["date"] = "2026-11-16T10:30:00+00:00"
    return {**document, **changes}


GROUPS = 2 * len(SCOPE)
"""Groups of people that are looked at in such a document."""


Three = tuple[float, float, float]


def headed(average: Three = (0.5, 0.4, 0.6), worst: Three = (0.8, 0.7, 0.9), **changes: Any) -> dict[str, Any]:
    """The same with a headline of one's choice, for what reads no more than that."""
    document = assessment(**changes)
    ends = ("value", "low", "high")
    document["headline"] |= {
        "identification_error": dict(zip(ends, (1.0 - average[0], 1.0 - average[2], 1.0 - average[1]), strict=True)),
        "chosen_among": 2,
    }
    document["headline"]["most_exposed"] |= {"share": 0.1, "people": 100, "right": dict(zip(ends, worst, strict=True))}
    return document
