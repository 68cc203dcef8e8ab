"""How many people a verdict speaks of, and how many it would take where it cannot tell."""

from __future__ import annotations

import math
from collections.abc import Iterator

from entropie import words
from entropie.data.rejects import MERGED
from entropie.document import Document
from entropie.document.assessment import SplitFacts
from entropie.document.verdict import Declared
from entropie.gate.groups import LEAST_PEOPLE, judged_rows, takes_for_reports
from entropie.measures.intervals import normal_quantile, share_interval
from entropie.words import count, listed, percent, plural

MOST_EXCLUDED = 0.05
"""A verdict on the others says too little where more than this share of people was not assessed."""

MOST_PEOPLE = 10**9
"""A decision that needs more people than this is out of reach."""


def assessed(document: Document) -> tuple[int, int]:
    """People whom an attacker in scope covered, and all people in the data."""
    return document.assessed, max(document.assessed, document.input.users or 0)


def unsettled_by(document: Document, limit: float, declared: Declared) -> list[str]:
    """What keeps a number within the limit from being enough, in sentences: too few people, people not assessed,
    models that fail, a projection that cannot be made, ids that look alike.
    """
    return [
        *_too_few(document),
        *([] if declared.excluded_not_released else (*_not_assessed(document), *_not_read(document))),
        *_failed(document),
        *(_not_projected(document, declared.population or 0) if declared.judge_population else []),
        *([] if declared.one_id_per_person else _look_alikes(document, limit)),
        *([] if declared.made_by_mechanism else _not_shown(document)),
    ]


DECLARED = "Declared, not checked: "


def declared_statements(declared: Declared) -> list[str]:
    """What was declared and keeps doubts away."""
    people = f"{DECLARED}people who were not assessed and rows that were excluded will not be released."
    ids = f"{DECLARED}every id is another person."
    return [*([people] if declared.excluded_not_released else []), *([ids] if declared.one_id_per_person else [])]


def _too_few(document: Document) -> Iterator[str]:
    people = max((row.targets for row in judged_rows(document)), default=0)
    if people < LEAST_PEOPLE:
        attacked = plural(people, "person was", "people were")
        yield f"Only {attacked} attacked, and fewer than {LEAST_PEOPLE} decide nothing."


def _not_assessed(document: Document) -> Iterator[str]:
    covered, total = assessed(document)
    if total - covered > MOST_EXCLUDED * total:
        yield (
            f"{count(total - covered)} of {count(total)} people were not assessed; lower --min-events, or declare that "
            "they will not be released (--excluded-not-released)."
        )


def _not_read(document: Document) -> Iterator[str]:
    """Each row may be of another person: in so many a group may hide that no number of the others speaks of."""
    lost = {reason: rows for reason, rows in document.input.dropped.items() if rows and reason not in MERGED}
    rows = sum(lost.values())
    if rows >= LEAST_PEOPLE:
        yield (
            f"{count(rows)} rows were excluded ({', '.join(lost)}) and are part of no attack; mend "
            "them, or declare that they will not be released (--excluded-not-released)."
        )


def _failed(document: Document) -> Iterator[str]:
    failed = [row.matcher or row.attacker for row in judged_rows(document) if row.failed]
    if failed:
        yield (
            f"The model of {listed(dict.fromkeys(failed))} fails on these data: it finds the right person less often "
            "than chance, which says nothing about safety."
        )


def _not_projected(document: Document, population: int) -> Iterator[str]:
    made = document.projection
    if made is None or made.reidentified is None:
        why = "nothing to project from" if made is None else str(made.reason)
        yield f"The risk among {count(population)} people was to be judged and cannot be told: {why}."


def _look_alikes(document: Document, limit: float) -> Iterator[str]:
    for row in judged_rows(document):
        alike = row.look_alikes
        if alike is None:
            continue
        surely = (alike.found.low - alike.chance) / (1.0 - alike.chance)
        if surely <= max(limit, row.reidentified.high):  # within the limit, or no more than the right ids themselves
            continue
        yield (
            f"Several ids behave as one person: the attacker finds the right id or one like it in "
            f"{percent(alike.found.value)} of cases (by chance {percent(alike.chance)}). If they are of one person, "
            "merge them; if they are not, declare it (--one-id-per-person)."
        )


def _not_shown(document: Document) -> Iterator[str]:
    if takes_for_reports(document):
        yield (
            "Nothing in the data can show that they came out of the mechanism: plain data may look like its noise. If "
            "you know that it made them, declare it (--made-by-mechanism)."
        )


def assessed_statement(document: Document) -> str:
    """How many of how many people were assessed, and how many were not."""
    people, total = assessed(document)
    few = max(0, people - document.users)
    points = f"; {count(few)} of them have too few events for more than the attacker of known events" if few else ""
    if total == people:
        return f"All {count(people)} people in the data were assessed{points}."
    return f"{count(people)} of {count(total)} people were assessed{points}; {count(total - people)} were excluded."


def taken_as_seconds(document: Document) -> str | None:
    """That small numbers were taken for times, where nobody said so."""
    if document.input.time_assumed != "seconds":
        return None
    return (
        "The numbers in the time column were taken for seconds since 1970, all before 1973; if they only number "
        "events, say so (--time-format order)."
    )


def known_events(split: SplitFacts) -> str:
    """What the attacker whose result is judged knows, in a few words."""
    return words.known_events(split.rule, split.knowledge, split.train_events, split.cut)


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
