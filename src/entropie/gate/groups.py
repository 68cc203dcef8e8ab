"""The people a verdict looks at: the most exposed of every attacker in scope, and which of them decide.

Looking for the worst of many groups finds one by chance, too. So all groups of all attackers in scope share the 5 % of
doubt (Bonferroni): the intervals hold together. A group decides by its interval:

    FAIL           the lower end is above the limit
    PASS           the upper end is within the limit
    INCONCLUSIVE   else

A part of the people that is too small to be shown within the limit at a quarter of it cannot be asked to. It leaves the
verdict open where the share re-identified is above the limit, or is more than chance explains and may, by its plain
interval, be above twice the limit. All people together always have to show it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from entropie.document import Document
from entropie.document.assessment import Attacker, Projection
from entropie.document.measured import ShareInterval
from entropie.document.verdict import Measure, Outcome
from entropie.measures.best import level_among
from entropie.measures.intervals import LEVEL, normal_quantile, share_interval
from entropie.words import count, percent, plural

LEAST_PEOPLE = 20
"""Fewer people than this decide nothing."""

WORSE: tuple[Outcome, ...] = ("PASS", "INCONCLUSIVE", "FAIL")
_TOLERATED, _EASY = 2.0, 4.0
_SURE = level_among(1000)  # more groups than any assessment has
_MANY = 10.0  # people expected to be re-identified from which on Wilson's lower end holds


class Who(Protocol):
    """An attacker, as the gate sees one."""

    @property
    def attacker(self) -> str:
        """The name of its kind."""

    @property
    def knows(self) -> str:
        """What it knows, in a few words."""

    @property
    def people(self) -> int:
        """Candidates."""

    @property
    def targets(self) -> int:
        """People attacked."""

    @property
    def reidentified(self) -> ShareInterval:
        """The share of them re-identified."""


@dataclass(frozen=True, slots=True)
class Group:
    """Some people of one attacker: the share of them re-identified, its plain interval, and the one that allows for
    the search over all groups.

    population   among how many people the share is projected; None where it is the measured one
    at_most      measured among fewer people than are judged: there the risk is no lower, so that it never fails
    exact        everybody was counted: the share is no estimate, of however few people
    """

    attacker: Who
    share: float
    people: int
    plain: ShareInterval
    risk: ShareInterval
    level: float
    population: int | None = None
    at_most: bool = False
    exact: bool = False

    def decision(self, limit: float, chance: float = 1.0) -> Outcome:
        """Hold it against the limit; `chance` is the probability of an attempt."""
        risk = self.risk.times(chance)
        if self.too_few:
            return "INCONCLUSIVE"
        if self.exact:
            return "PASS" if risk.value <= limit else "FAIL"
        if risk.low > limit and (self.people * limit >= _MANY * chance or self._more_than(limit / chance)):
            return "INCONCLUSIVE" if self.at_most else "FAIL"
        if risk.high <= limit:
            return "PASS"
        if self.everybody or share_interval(limit / chance / _EASY, self.people, self.level).high * chance <= limit:
            return "INCONCLUSIVE"
        doubled = self.plain.high * chance > _TOLERATED * limit
        above = risk.value > limit or (doubled and self._more_than(1.0 / self.attacker.people))
        return "INCONCLUSIVE" if above else "PASS"

    def _more_than(self, share: float) -> bool:
        """Whether as many would hardly ever be re-identified in any of the groups if each of them were with that
        probability: the binomial distribution itself, where Wilson's interval promises too much.
        """
        found = math.floor(self.plain.value * self.people + 0.5)
        return found > 0 and _at_least(found, self.people, share) < (1.0 - self.level) / 2.0

    @property
    def whom(self) -> str:
        """Whom the share is about."""
        if self.population is not None:
            return f"people among the {count(self.population)} declared"
        if self.exact and not self.everybody:
            size, who = round(1.0 / self.plain.value), plural(self.people, "person", "people")
            return f"the {who} {'who share their values with nobody' if size == 1 else f'in groups of {count(size)}'}"
        return "people" if self.everybody else f"the most exposed {percent(self.share)} of people"

    @property
    def too_few(self) -> bool:
        """Whether they are so few that nothing is decided."""
        return (self.attacker.targets if self.exact else self.people) < LEAST_PEOPLE

    @property
    def everybody(self) -> bool:
        """Whether it is all people attacked."""
        return self.share >= 1.0


def groups_of(document: Document, measure: Measure, searched: int = 1) -> list[Group]:
    """Every group that is judged: the tail of each attacker in scope, or all people of each for the average.

    An attacker of fewer than 20 people is passed over where there is another; the limits of the verdict tell. So many
    assessments were `searched` for one that passes: all of their groups share the doubt.
    """
    rows = judged_rows(document) or document.attackers
    return groups_among(rows, measure, searched)


def surely_above(rows: Sequence[Attacker], measure: Measure, limit: float, chance: float = 1.0) -> bool:
    """Whether some attackers decide by themselves that the limit is not met, whatever others achieve."""
    some = [
        replace(group, level=_SURE, risk=_wider(group.plain, group.people, _SURE))
        for group in groups_among(rows, measure)
    ]
    return any(group.decision(limit, chance) == "FAIL" for group in some)


def groups_among(rows: Sequence[Attacker], measure: Measure, searched: int = 1) -> list[Group]:
    """The groups of these attackers."""
    enough = [row for row in rows if row.targets >= LEAST_PEOPLE]
    found = [
        (row, part.share, part.people, part.reidentified)
        for row in enough or rows
        for part in row.tail
        if part.share >= 1.0 or (measure == "worst" and part.people >= LEAST_PEOPLE)
    ]
    level = level_among(len(found) * searched)
    return [
        Group(row, share, people, plain, _wider(plain, people, level), level) for row, share, people, plain in found
    ]


def among_population(groups: Sequence[Group], projection: Projection | None) -> list[Group]:
    """The same groups judged among the population declared.

    All people are judged by the projection. A part of them has none: its risk among fewer people is no lower, so it
    passes by that or is left open. So is everybody where nothing could be projected.
    """
    parts = [replace(group, at_most=True) for group in groups]
    if projection is None or projection.reidentified is None:
        return parts
    found = projection.reidentified
    all_people = [group for group in groups if group.everybody]
    named = [group for group in all_people if group.attacker.attacker == projection.attacker]
    who = max(named or all_people, key=lambda group: (group.attacker.knows == projection.knows, group.risk.value))
    wider = normal_quantile(0.5 + who.level / 2.0) / normal_quantile(0.5 + LEVEL / 2.0)
    low, high = (found.value + wider * (end - found.value) for end in (found.low, found.high))
    risk = ShareInterval(found.value, max(0.0, low), min(1.0, high))
    judged = replace(who, plain=found, risk=risk, population=projection.population)
    return [judged, *(part for part in parts if not part.everybody)]


def judged_rows(document: Document) -> list[Attacker]:
    """The attackers in scope."""
    return [row for row in document.attackers if row.in_scope]


def takes_for_reports(document: Document) -> bool:
    """Whether events of the release are taken to be known to nobody, as they would be noise of a mechanism."""
    judged = {row.attacker for row in judged_rows(document)}
    return "reports" in judged and "points" not in judged


def worst(groups: Sequence[Group], limit: float, chance: float = 1.0) -> Group:
    """The group that counts: of those with the worst decision the one with the highest risk; one that can be within
    the limit stands before one that is too small to.
    """

    def rank(group: Group) -> tuple[int, bool, float, float]:
        decision = group.decision(limit, chance)
        shown = decision != "PASS" or group.risk.high * chance <= limit
        return WORSE.index(decision), shown, group.risk.value, group.risk.low

    return max(groups, key=rank)


def _wider(plain: ShareInterval, people: int, level: float) -> ShareInterval:
    ends = share_interval(plain.value, people, level)
    return ShareInterval(plain.value, ends.low, ends.high)


def _at_least(found: int, people: int, share: float) -> float:
    """Probability that at least so many of the people are re-identified, each with probability `share`."""
    odds = share / (1.0 - share)
    first = math.lgamma(people + 1) - math.lgamma(found + 1) - math.lgamma(people - found + 1)
    term = math.exp(first + found * math.log(share) + (people - found) * math.log1p(-share))
    total, number = term, found
    while number < people and term > total * 1e-12:
        term *= (people - number) / (number + 1) * odds
        number += 1
        total += term
    return total
