"""How many people a verdict speaks of, and how many it would take where it cannot tell."""

from __future__ import annotations

import math

from entropie import words
from entropie.document import Document
from entropie.document.assessment import SplitFacts
from entropie.measures.best import level_among
from entropie.measures.intervals import normal_quantile, share_interval
from entropie.words import count, plural

MOST_PEOPLE = 10**9
"""A decision that needs more people than this is out of reach."""


def assessed_statement(document: Document) -> str:
    """How many of how many people were assessed, and why the others were excluded."""
    people, total = document.users, document.input.users
    targets = document.best.targets
    drawn = f" {count(targets)} of them, drawn at random, were attacked among all." if targets < people else ""
    if total is None or total < people:
        return f"{plural(people, 'person was', 'people were')} assessed.{drawn}"
    if total == people:
        return f"All {count(people)} people in the data were assessed.{drawn}"
    excluded = _excluded(document, total)
    shown = "; ".join(f"{count(number)} {reason}" for reason, number in excluded.items())
    if sum(excluded.values()) != total - people:
        shown = count(total - people)  # an account that does not add up is not repeated
    return (
        f"{count(people)} of {count(total)} people were assessed; excluded: {shown}. Their risk is not covered.{drawn}"
    )


def _excluded(document: Document, total: int) -> dict[str, int]:
    """How many people each reason kept from being attacked."""
    facts = document.input
    counts = {
        f"with fewer than {facts.min_events} events": facts.dropped_users,
        "with nothing to learn from or nothing to attack": document.split.dropped_users,
    }
    return {reason: number for reason, number in counts.items() if number}


def known_events(split: SplitFacts) -> str:
    """What the attacker whose result is judged knows, in a few words."""
    return words.known_events(split.rule, split.knowledge, split.train_events, split.cut)


def limited_statement(split: SplitFacts) -> str | None:
    """Say that the attacker was limited to some first events, where the job says so."""
    if split.train_events is None or split.knowledge == "maximum":
        return None
    return f"The attacker was limited to {known_events(split)}; one who knows more may re-identify more people."


def headline_level(document: Document) -> float:
    """Level of the headline's intervals by themselves: all of the attacks chosen among share the 5 % of doubt."""
    return level_among(document.headline.chosen_among)


def people_needed(share: float, limit: float, level: float) -> int | None:
    """The fewest people, `share` of them re-identified, that put Wilson's whole interval on one side of the limit.

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
