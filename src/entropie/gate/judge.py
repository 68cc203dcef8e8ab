"""The gate: a measured risk held against a named limit, judged at the ends of its interval and not at the point.

PASS: even the upper end of the 95 % interval is within the limit, for every attacker in scope and every group of people
that stands out. PASS (limited): the same, and something narrows the assessment; the exit code is 0 only where that was
accepted. FAIL: even a lower end is above the limit. INCONCLUSIVE: the limit lies inside an interval, or people, ids or
models leave it open.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from entropie.document import Document
from entropie.document.verdict import Decision, Declared, Measure, Profile, Verdict
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.gate.case import Case
from entropie.gate.profiles import own_profile, profile_named
from entropie.gate.subject import Subject, subject_of
from entropie.gate.waiver import Waiver, read_waiver
from entropie.mitigate.attribute_risk import AttributeRisk, document_of
from entropie.request import Limits
from entropie.theory import checks
from entropie.words import count

EXIT_CODES: dict[Decision, int] = {"PASS": 0, "PASS (limited)": 3, "FAIL": 1, "INCONCLUSIVE": 3}
NOTHING_DECLARED = Declared(None, None, None, None)


@dataclass(frozen=True, slots=True)
class Gate:
    """What the risk is judged against, read and checked before any work begins.

    profile   the limit; None: nothing is judged
    measure   which risk is judged; None: the one that the profile speaks of
    review    when to look again; None: in a year, or on the last day of a waiver that holds
    accepted  whether a limited PASS is enough
    """

    profile: Profile | None = None
    measure: Measure | None = None
    declared: Declared = NOTHING_DECLARED
    waiver: Waiver | None = None
    review: datetime.date | None = None
    accepted: bool = False

    @classmethod
    def of(cls, limits: Limits) -> Gate:
        """Check what was asked for and read the waiver."""
        profile = _profile(limits)
        if profile is None and (limits.waiver is not None or limits.fail_on is not None or limits.accept_limited):
            raise InvalidParameter(
                f"{option('fail_on')}, {option('waiver')} and {option('accept_limited')} need a limit: name one with "
                f"{option('profile')} or {option('limit')}."
            )
        if limits.judge_population and (profile is None or limits.population is None):
            raise InvalidParameter(
                f"{option('judge_population')} needs {option('population')} and a limit: name one with "
                f"{option('profile')} or {option('limit')}."
            )
        if limits.review_date is not None and limits.review_date < _today():
            raise InvalidParameter.of("review_date", f"today ({_today()}) or later", limits.review_date.isoformat())
        return cls(
            profile=profile,
            measure=limits.fail_on,
            declared=_declared(limits),
            waiver=None if limits.waiver is None else read_waiver(limits.waiver),
            review=limits.review_date,
            accepted=limits.accept_limited,
        )

    def check_people(self, people: int) -> None:
        """Refuse a declared population smaller than the people it must contain."""
        population = self.declared.population
        if population is not None and population < people:
            raise InvalidInput(
                f"The declared population of {count(population)} is smaller than the {count(people)} people in the "
                f"data; it must contain them all."
            )

    def applied(self, document: dict[str, Any], today: datetime.date | None = None) -> dict[str, Any]:
        """The plain document with `declared`, `verdict` and `review`; the verdict is None without a limit."""
        whole = document_of(document)
        subject = subject_of(whole)
        self.check_people(subject.people)
        today = today or _today()
        verdict = self.judge(whole, today)
        projection = document.get("projection")
        if projection is not None:
            judged = verdict is not None and self.declared.judge_population
            document = {**document, "projection": {**projection, "judged": judged}}
        return {
            **document,
            "declared": self.declared.to_json(),
            "verdict": None if verdict is None else verdict.to_json(),
            "review": {"date": self._review(subject, verdict).isoformat()},
        }

    def judge(
        self, document: Document | AttributeRisk, today: datetime.date | None = None, searched: int = 1
    ) -> Verdict | None:
        """Hold an assessment against the limit; `searched` of them were looked at for one that passes."""
        if self.profile is None:
            return None
        measure = self.measure or self.profile.measure
        return Case(subject_of(document), self.profile, measure, self.declared, searched).verdict(
            self.waiver, self.accepted, today or _today()
        )

    def _review(self, subject: Subject, verdict: Verdict | None) -> datetime.date:
        if self.review is not None:
            return self.review
        later = _year_later(subject.date)
        if verdict is not None and verdict.waiver is not None and verdict.waiver.applies:
            return min(later, verdict.waiver.expires)
        return later


def exit_code(verdict: Mapping[str, Any] | None) -> int:
    """0 the limit is met or waived, or there is none; 1 it is not met; 3 the data cannot tell, or a PASS is limited and
    that was not accepted.
    """
    if verdict is None or (verdict["waiver"] is not None and verdict["waiver"]["applies"]):
        return 0
    decision: Decision = verdict["decision"]
    return 0 if decision == "PASS (limited)" and verdict["limits_accepted"] else EXIT_CODES[decision]


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


def _year_later(day: datetime.date) -> datetime.date:
    try:
        return day.replace(year=day.year + 1)
    except ValueError:  # the 29th of February
        return day.replace(year=day.year + 1, day=28)


def _profile(limits: Limits) -> Profile | None:
    name, limit, title = limits.profile, limits.limit, limits.limit_name
    if name is not None and (limit is not None or title is not None):
        raise InvalidParameter(
            f"Give either {option('profile')}, or {option('limit')} with {option('limit_name')}, not both."
        )
    if name is not None:
        return profile_named(name)
    if limit is None and title is None:
        return None
    measure = limits.fail_on
    if limit is None or title is None or measure is None:
        parts = {"limit": limit, "limit_name": title, "fail_on": measure}
        missing = ", ".join(option(part) for part, value in parts.items() if value is None)
        share = f"; {option('limit')} is a share, {limit:g} is not" if limit is not None and not 0 < limit < 1 else ""
        raise InvalidParameter(
            f"A limit of your own is given by three options, such as {option('limit')} 10% {option('limit_name')} "
            f"'our policy' {option('fail_on')} worst (or average); missing: {missing}{share}."
        )
    return own_profile(limit, title, measure)


def _declared(limits: Limits) -> Declared:
    for name in ("attacker", "context"):
        value = getattr(limits, name)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise InvalidParameter.of(name, "a text that is not empty", value)
    chance, population = limits.attempt_probability, limits.population
    if population is not None:
        population = checks.whole_number("population", population, at_least=2)
    if chance is not None:
        least = math.nextafter(0.0, 1.0)  # zero would make every risk nothing
        chance = checks.real_number("attempt_probability", chance, "a probability above 0 and up to 1", least, 1.0)
    return Declared(
        limits.attacker,
        population,
        limits.context,
        chance,
        limits.not_released,
        limits.one_id_per_person,
        limits.judge_population,
        limits.made_by_mechanism,
    )
