"""Attackers side by side: one row for each, then those who know fewer events, the control and chance.

Another kind of attacker is one more name in `entropie.document.assessment.NAMES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from entropie import words
from entropie.document import Document
from entropie.document.assessment import NAMES, leading
from entropie.document.measured import ShareInterval


@dataclass(frozen=True, slots=True)
class Attacker:
    """One row.

    kind    which words the template has for it
    path    where it stands in the document
    right   the share of people re-identified; without an interval where only the share is known
    label   what it is called
    """

    kind: Literal["attacker", "known", "chance"]
    path: str
    right: ShareInterval | float
    label: str


def attackers(document: Document) -> Iterator[Attacker]:
    """All of them: by what they know, then by fewer and fewer first events."""
    for place in leading(document.attackers):
        row = document.attackers[place]
        points = row.points if row.attacker == "points" else None
        label = NAMES[row.attacker] if points is None else words.plural(points, "known event")
        yield Attacker("attacker", f"attackers.{place}", row.reidentified, label)
    for place, known in reversed(list(enumerate(document.by_known_events))):
        if known.train_events is not None and known.identification_error is not None:
            label = f"first {words.plural(known.train_events, 'event')}"
            yield Attacker("known", f"by_known_events.{place}", known.identification_error.complement, label)
    yield Attacker("chance", "guessing_error", 1.0 - document.guessing_error, "chance")


@dataclass(frozen=True, slots=True)
class Points:
    """What points give away, by number of points and how exactly their time is known."""

    resolutions: list[str]
    rows: list[tuple[int, list[str | None]]]  # number of points; by resolution, where it stands in the document


def points_of(document: Document) -> Points:
    """The table of the attacker of points; without rows where there was none."""
    paths = {
        (row.points, row.time_resolution): f"attackers.{place}"
        for place, row in enumerate(document.attackers)
        if row.attacker == "points" and row.matcher is None
    }
    resolutions = list(dict.fromkeys(str(resolution) for _, resolution in paths))
    numbers = sorted({points for points, _ in paths if points is not None})
    return Points(resolutions, [(number, [paths.get((number, one)) for one in resolutions]) for number in numbers])
