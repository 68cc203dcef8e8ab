"""The most exposed people of two assessments side by side: groups of the same attacker that both have.

An average that stays hides a few people who are found now. All differences share the 5 % of doubt (Bonferroni): the one
that stands out is looked at. Groups of one kind of conjunction have no name in a document and are not paired; whether
an attacker's most exposed fail the limit now looks at them, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from entropie.document import Document
from entropie.document.assessment import NAMES, Attacker, TailGroup
from entropie.document.base import Part
from entropie.document.measured import ShareInterval
from entropie.gate.difference import Difference, difference
from entropie.gate.groups import LEAST_PEOPLE, groups_among, judged_rows
from entropie.measures.best import level_among
from entropie.measures.exposure import TAIL
from entropie.measures.intervals import share_interval
from entropie.words import listed, percent, points

_Key = tuple[str, str | None, int | None, str | None, str | None]


class ExposedChange(Part, frozen=True):
    """The most exposed people of one attacker, as many or as large a share, and how many more are re-identified."""

    attacker: str
    knows: str
    matcher: str | None
    old: TailGroup
    new: TailGroup
    difference: Difference

    @property
    def sentence(self) -> str:
        """What became of them, in a sentence."""
        ends = f"CI {points(self.difference.low).removesuffix(' points')} to {points(self.difference.high)}"
        now, before = (percent(group.reidentified.value) for group in (self.new, self.old))
        return (
            f"The most exposed {percent(self.new.share)} of people, by {_named(self.attacker, self.matcher)}: {now} "
            f"are re-identified, before {before}: {points(self.difference.value)} (at least 95 % {ends})."
        )


def exposed_changes(old: Document, new: Document) -> list[ExposedChange]:
    """Every group that both have, the one with the highest lower end of the difference first."""
    before = {(_key(row), size): part for row in judged_rows(old) for size, part in _parts(row)}
    pairs = [
        (row, before[_key(row), size], part)
        for row in judged_rows(new)
        for size, part in _parts(row)
        if (_key(row), size) in before
    ]
    level = level_among(len(pairs))
    found = [
        ExposedChange(
            row.attacker, row.knows, row.matcher, was, now, difference(_wider(was, level), _wider(now, level))
        )
        for row, was, now in pairs
    ]
    return sorted(found, key=lambda change: -change.difference.low)


def failing_now(old: Document, new: Document) -> list[str]:
    """Attackers whose most exposed surely exceed the new verdict's limit and did not before, by name."""
    if new.verdict is None or not new.verdict.limit:  # no limit is 0; a document may say so
        return []
    limit, chance = new.verdict.limit, new.verdict.attempt_probability or 1.0

    def failing(document: Document) -> dict[_Key, Attacker]:
        groups = groups_among(judged_rows(document), "worst")
        rows = [group.attacker for group in groups if not group.everybody and group.decision(limit, chance) == "FAIL"]
        return {_key(row): row for row in rows if isinstance(row, Attacker)}

    both = set(map(_key, judged_rows(old)))
    gone = failing(old)
    return [_named(row.attacker, row.matcher) for key, row in failing(new).items() if key in both and key not in gone]


def told(changes: Sequence[ExposedChange], failing: Sequence[str]) -> list[tuple[str, str]]:
    """What is to be known of the most exposed: in a few words, and in a sentence."""
    found = []
    if changes and changes[0].difference.low > 0.0:
        found.append(("more of the most exposed are re-identified", changes[0].sentence))
    if failing:
        names = listed(list(dict.fromkeys(failing)))
        sentence = f"The most exposed exceed the limit now, and did not surely before: those by {names}."
        found.append((f"the most exposed by {names} exceed the limit now", sentence))
    return found


def _named(attacker: str, matcher: str | None) -> str:
    name = NAMES[attacker].removeprefix("... ")
    return name if matcher in (None, "fused", "points") else f"{name} ({matcher})"


def _key(row: Attacker) -> _Key:
    return row.attacker, row.matcher, row.points, row.time_resolution, row.item_resolution


def _parts(row: Attacker) -> list[tuple[float, TailGroup]]:
    """The groups by all of an attacker's evidence, which stand last and rise, by their share or for the 20 people 0."""
    found: list[TailGroup] = []
    for part in reversed(row.tail):
        if found and part.people >= found[-1].people:
            break
        found.append(part)
    return [
        (0.0 if part.people == LEAST_PEOPLE else min(TAIL, key=lambda share: abs(share - part.share)), part)
        for part in found
        if part.share < 1.0 and part.people >= LEAST_PEOPLE
    ]


def _wider(part: TailGroup, level: float) -> ShareInterval:
    return share_interval(part.reidentified.value, part.people, level)
