"""Attackers side by side: one row for each, from the one who knows most to chance.

Another kind of attacker is one more block of `attackers`, and its words one more branch of the template.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from entropie import words
from entropie.document import Document
from entropie.document.measured import ShareInterval


@dataclass(frozen=True, slots=True)
class Attacker:
    """One row.

    kind    which words the template has for it
    path    where it stands in the document
    error   its error rate, a share with an interval; without one where only the share is known
    label   what a chart calls it
    """

    kind: Literal["attacked", "assessed", "known", "control", "chance"]
    path: str
    error: ShareInterval | float
    label: str


def attackers(document: Document) -> Iterator[Attacker]:
    """All of them, the one who knows most first."""
    maximum = document.split.knowledge == "maximum"
    for place, level in enumerate(document.attacker_levels):
        if level.level == "strong" and level.identification_error is not None and not maximum:
            yield Attacker("attacked", f"attacker_levels.{place}", level.identification_error, "the same events")
    label = "the same events" if maximum else "earlier behaviour"
    yield Attacker("assessed", "headline", document.headline.identification_error, label)
    for place, row in reversed(list(enumerate(document.by_known_events))):
        if row.train_events is not None and row.identification_error is not None:
            label = words.plural(row.train_events, "known event")
            yield Attacker("known", f"by_known_events.{place}", row.identification_error, label)
    if document.headline.null_identification_error is not None:
        path = "headline.null_identification_error"
        yield Attacker("control", path, document.headline.null_identification_error, "control")
    yield Attacker("chance", "guessing_error", document.guessing_error, "chance")
