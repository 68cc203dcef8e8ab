"""How many people a verdict speaks of, and how many it would take where it cannot tell."""

from __future__ import annotations

import math

from entropie.gate import documents
from entropie.gate.documents import Document
from entropie.measures.intervals import share_interval
from entropie.measures.special import normal_quantile

__all__ = ["MOST_PEOPLE", "assessed_sentence", "people_needed"]

MOST_PEOPLE = 10**9
"""A decision that needs more people than this is out of reach."""


def assessed_sentence(document: Document) -> str:
    """How many of how many people were assessed, and why the others were not."""
    people = int(documents.number(document, "users"))
    facts = documents.entry(document, "input")
    total = facts.get("users")
    if not isinstance(total, int) or total < people:
        return f"Assessed were {people:,} people."
    if total == people:
        return f"Assessed were all {people:,} people in the data."
    left_out = _left_out(document, total)
    others = total - people
    if sum(left_out.values()) != others:
        reasons = "were not assessed"
    elif len(left_out) == 1:
        (reason,) = left_out
        reasons = f"{reason} and were not assessed"
    else:
        each = "; ".join(f"{count:,} {reason}" for reason, count in left_out.items())
        reasons = f"were not assessed ({each})"
    others_said = f"the other {others:,} {reasons}: nothing is said about their risk"
    return f"Assessed were {people:,} of {total:,} people; {others_said}."


def _left_out(document: Document, total: int) -> dict[str, int]:
    """How many people each reason kept from being attacked."""
    facts = document["input"]
    few = facts.get("dropped_users") or 0
    sampled = facts.get("sampled_users")
    counts = {
        f"have fewer than {facts.get('min_events')} events": few,
        "are not in the sample": 0 if sampled is None else total - few - sampled,
        "have nothing to learn from or nothing to attack": document.get("split", {}).get("dropped_users") or 0,
    }
    return {reason: count for reason, count in counts.items() if count}


def people_needed(share: float, limit: float, level: float) -> int | None:
    """The fewest people of whom `share` are named rightly that put Wilson's whole interval on one side of the limit.

    With z the normal quantile of the level, the interval's end reaches the limit L at z^2 L (1 - L) / (share - L)^2
    people. None where the share is the limit itself, or so close that more than `MOST_PEOPLE` are needed.

    >>> people_needed(0.0, 0.09, 0.95)
    39
    """
    if limit >= 1.0:
        return 1  # every share is within it
    z = normal_quantile(0.5 + level / 2.0)
    # A distance of zero, also one whose square is, would need endlessly many.
    distance = (share - limit) ** 2
    if distance * MOST_PEOPLE <= z * z * limit * (1.0 - limit):
        return None
    exact = z * z * limit * (1.0 - limit) / distance
    people = max(1, math.ceil(exact) - 1)
    while not _tells(share, limit, level, people):  # at most a few steps: rounding, and an end equal to the limit
        people += 1
    return people


def _tells(share: float, limit: float, level: float, people: int) -> bool:
    interval = share_interval(share, people, level)
    return interval.high <= limit or interval.low > limit
