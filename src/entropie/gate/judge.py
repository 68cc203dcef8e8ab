"""The gate: a measured risk held against a named limit, judged at the ends of its interval and not at the point.

    PASS            even the upper end of the 95 % interval is within the limit
    FAIL            even the lower end is above it
    INCONCLUSIVE    the limit lies inside the interval: the data cannot tell

The number judged is the measured risk, times the probability of an attempt where one was declared. A decision that
stands or falls with a choice of the user's (that probability; the average judged where the limit is for the maximum)
says so first.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from entropie.document import Document, typed
from entropie.document.measured import MostExposed, ShareInterval
from entropie.document.verdict import AppliedWaiver, Decision, Declared, Measure, Profile, Verdict
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.gate.people import (
    assessed_statement,
    headline_level,
    known_events,
    limited_statement,
    people_needed,
)
from entropie.gate.profiles import OWN, own_profile, profile_named
from entropie.gate.waiver import Waiver, read_waiver
from entropie.request import Limits
from entropie.theory import checks
from entropie.words import count, interval, percent, plural, stated

EXIT_CODES: dict[Decision, int] = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3}
_WORSE: tuple[Decision, ...] = ("PASS", "INCONCLUSIVE", "FAIL")
NOTHING_DECLARED = Declared(None, None, None, None)


@dataclass(frozen=True, slots=True)
class Gate:
    """What the risk is judged against, read and checked before any work begins.

    profile   the limit; None: nothing is judged
    measure   which risk is judged; None: the one that the profile speaks of
    review    when to look again; None: in a year, or on the last day of a waiver that holds
    """

    profile: Profile | None = None
    measure: Measure | None = None
    declared: Declared = NOTHING_DECLARED
    waiver: Waiver | None = None
    review: datetime.date | None = None

    @classmethod
    def of(cls, limits: Limits) -> Gate:
        """Check what was asked for and read the waiver."""
        profile = _profile(limits)
        if profile is None and (limits.waiver is not None or limits.fail_on is not None):
            raise InvalidParameter(
                f"{option('fail_on')} and {option('waiver')} need a limit: name one with {option('profile')} or "
                f"{option('limit')}."
            )
        if limits.review_date is not None and limits.review_date < _today():
            raise InvalidParameter.of("review_date", f"today ({_today()}) or later", limits.review_date.isoformat())
        return cls(
            profile=profile,
            measure=limits.fail_on,
            declared=_declared(limits),
            waiver=None if limits.waiver is None else read_waiver(limits.waiver),
            review=limits.review_date,
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
        whole = typed(document)
        self.check_people(max(whole.users, whole.input.users or 0))
        today = today or _today()
        verdict = self.judge(whole, today)
        return {
            **document,
            "declared": self.declared.to_json(),
            "verdict": None if verdict is None else verdict.to_json(),
            "review": {"date": self._review(whole, verdict).isoformat()},
        }

    def judge(self, document: Document, today: datetime.date | None = None) -> Verdict | None:
        """Hold an assessment against the limit."""
        if self.profile is None:
            return None
        measure = self.measure or self.profile.measure
        return _Case(document, self.profile, measure, self.declared.attempt_probability).verdict(
            self.waiver, today or _today()
        )

    def _review(self, document: Document, verdict: Verdict | None) -> datetime.date:
        if self.review is not None:
            return self.review
        later = _year_later(document.provenance.date.astimezone(datetime.UTC).date())
        if verdict is not None and verdict.waiver is not None and verdict.waiver.applies:
            return min(later, verdict.waiver.expires)
        return later


def decide(risk: ShareInterval, limit: float) -> Decision:
    """Compare both ends of the interval with the limit; a risk that equals the limit is within it."""
    if risk.high <= limit:
        return "PASS"
    return "FAIL" if risk.low > limit else "INCONCLUSIVE"


def exit_code(verdict: Mapping[str, Any] | None) -> int:
    """0 the limit is met or waived, or there is none; 1 it is not met; 3 the data cannot tell."""
    if verdict is None or (verdict["waiver"] is not None and verdict["waiver"]["applies"]):
        return 0
    decision: Decision = verdict["decision"]
    return EXIT_CODES[decision]


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
    return Declared(limits.attacker, population, limits.context, chance)


@dataclass(frozen=True, slots=True)
class _Case:
    """One assessment before one limit."""

    document: Document
    profile: Profile
    measure: Measure
    chance: float | None

    def verdict(self, waiver: Waiver | None, today: datetime.date) -> Verdict:
        decision = self.decision
        applied = None if waiver is None else self._waiver(waiver, today)
        return Verdict(
            decision=decision,
            headline=self._headline(applied),
            sentence=self._sentence(),
            rests_on=[text for text in (*self._statements(), _waiver_statement(applied)) if text],
            profile=self.profile,
            measure=self.measure,
            whom=self.whom,
            people=self.group.people,
            share=self.group.share,
            measured_risk=self.group.right,
            attempt_probability=self.chance,
            judged_risk=self.judged,
            limit=self.profile.limit,
            people_needed=self.needed,
            without_declaration=None if self.chance is None else decide(self.group.right, self.profile.limit),
            on_most_exposed=self.on_most_exposed,
            waiver=applied,
        )

    @property
    def group(self) -> MostExposed:
        """Whom the number is about; everybody where the average is judged or no group stands out."""
        head = self.document.headline
        if self.measure == "worst":
            return head.most_exposed
        return MostExposed(share=1.0, people=self.document.users, right=head.risk, matcher=head.matcher)

    @property
    def whom(self) -> str:
        share = self.group.share
        return "people" if share >= 1.0 else f"the most exposed {percent(share)} of people"

    @property
    def judged(self) -> ShareInterval:
        return self._times(self.group.right)

    @property
    def decision(self) -> Decision:
        return decide(self.judged, self.profile.limit)

    @property
    def on_most_exposed(self) -> Decision | None:
        if self.measure != "average":
            return None
        return decide(self._times(self.document.headline.most_exposed.right), self.profile.limit)

    @property
    def needed(self) -> int | None:
        """How many people would have to be assessed; a group needs so many in it."""
        if self.decision != "INCONCLUSIVE":
            return None
        limit = self.profile.limit if self.chance is None else self.profile.limit / self.chance
        inside = people_needed(self.group.right.value, limit, headline_level(self.document))
        # A share such as 0.1 is not exact: 39 people in a tenth are 390 and not 391.
        return None if inside is None else math.ceil(inside / self.group.share - 1e-6)

    def _times(self, risk: ShareInterval) -> ShareInterval:
        return risk if self.chance is None else risk.times(self.chance)

    def _percent(self, share: float) -> str:
        return percent(share, beside=self.profile.limit)

    def _headline(self, waiver: AppliedWaiver | None) -> str:
        """The first line that anybody reads."""
        waived = f" (waived until {waiver.expires})" if waiver is not None and waiver.applies else ""
        name = self.profile.title if self.profile.name == OWN else self.profile.name
        risk, ends = self._percent(self.judged.value), interval(self.judged, beside=self.profile.limit)
        whom = self.whom if self.group.share < 1.0 else f"the {plural(self.group.people, 'person', 'people')} assessed"
        given = "" if self.chance is None else f", with an attempt probability of {stated(self.chance)} declared"
        limit = f"{name} limit {stated(self.profile.limit)}"
        only = "only " if limited_statement(self.document.split) else ""
        attacker = f"an attacker who knows {only}{known_events(self.document.split)}"
        found = f"{attacker} re-identifies {risk} of {whom} (95 % confidence interval {ends})"
        return f"{self.decision}{waived}   {limit}: {found}{given}"

    def _sentence(self) -> str:
        """The decision and the end of the interval that it rests on."""
        risk = self.judged
        limit = f"the limit of {stated(self.profile.limit)} ({self.profile.title})"
        name = f"the risk of {self.whom}" if self.chance is None else f"the risk of {self.whom}, with the declaration,"
        if self.decision == "PASS":
            return f"PASS: {name} is at most {self._percent(risk.high)}, within {limit}."
        if self.decision == "FAIL":
            return f"FAIL: {name} is at least {self._percent(risk.low)}, above {limit}."
        return f"INCONCLUSIVE: {name} lies between {interval(risk).replace(' to ', ' and ')}, and so does {limit}."

    def _statements(self) -> list[str | None]:
        return [
            *self._only_because(),
            limited_statement(self.document.split),
            self._needed_statement(),
            self._obfuscated_statement(),
            self._measured_statement(),
            self._declared_statement(),
            self._mismatch_statement(),
            assessed_statement(self.document),
        ]

    def _only_because(self) -> list[str]:
        """What the user chose and the decision would be a worse one without."""
        reasons = []
        without = decide(self.group.right, self.profile.limit)
        if self.chance is not None and without != self.decision:
            reasons.append(
                f"{self.decision} only because an attempt probability of {stated(self.chance)} was declared; without "
                f"it: {without}."
            )
        exposed = self.on_most_exposed
        if exposed is not None and _WORSE.index(exposed) > _WORSE.index(self.decision):
            anyone = "; the limit is for the risk of any one person" if self.profile.speaks_of == "maximum" else ""
            reasons.append(
                f"{self.decision} only because the average was judged{anyone}. On the most exposed people: {exposed}."
            )
        return reasons

    def _needed_statement(self) -> str | None:
        if self.decision != "INCONCLUSIVE":
            return None
        if self.needed is None:
            return "The measured share is so close to the limit that no number of people would decide."
        goal = "PASS" if self.judged.value <= self.profile.limit else "FAIL"
        more = self.needed - self.document.users
        return (
            f"If the share stays at {self._percent(self.group.right.value)}, about {count(self.needed)} people are "
            f"needed to decide ({goal}): {count(more)} more than were assessed."
        )

    def _obfuscated_statement(self) -> str | None:
        if not self.document.input.obfuscated or any(row.attacker == "reports" for row in self.document.attackers):
            return None
        return (
            "The risk is understated: these data are reports of a mechanism, which the attack does not know. "
            "`entropie guarantee` says what holds against every attacker."
        )

    def _measured_statement(self) -> str:
        group, risk = self.group, self.group.right
        shown = f"{self._percent(risk.value)} (95 % CI {interval(risk, beside=self.profile.limit)})"
        if group.share < 1.0:
            who = f"the {plural(group.people, 'person', 'people')} whose match is clearest"
            return f"Measured: the strongest attacker re-identifies {shown} of {who}."
        everybody = f"the {plural(group.people, 'person', 'people')} assessed"
        alike = " No group stands out as more exposed." if self.measure == "worst" else ""
        return f"Measured: the strongest attacker re-identifies {shown} of {everybody}.{alike}"

    def _declared_statement(self) -> str | None:
        if self.chance is None:
            return None
        return (
            f"Declared, not measured: an attempt is made with probability {stated(self.chance)}. The number judged is "
            f"{self._percent(self.group.right.value)} times {stated(self.chance)}."
        )

    def _mismatch_statement(self) -> str | None:
        """Say where what was judged is not what the limit is for."""
        if self.profile.speaks_of == "maximum" and self.measure == "average":
            return "The limit is for the risk of any one person; the average judged can be far below it."
        if self.profile.speaks_of == "average" and self.measure == "worst":
            return "The limit is for the average; the most exposed were judged, which is stricter."
        if self.measure == "worst":
            return (
                "The limit is for the risk of any one person; the most exposed group is the nearest an attack can "
                "measure, and single people may be at greater risk."
            )
        return None

    def _waiver(self, waiver: Waiver, today: datetime.date) -> AppliedWaiver:
        hindrance: str | None = "A waiver was given and is not needed."
        if self.decision != "PASS":
            hindrance = waiver.hindrance(self.profile, self.document.input.sha256, today)
        return AppliedWaiver(waiver.reason, waiver.expires, waiver.granted_by, hindrance is None, hindrance)


def _waiver_statement(waiver: AppliedWaiver | None) -> str | None:
    if waiver is None or waiver.reason_without_effect is not None:
        return None if waiver is None else waiver.reason_without_effect
    return f"Waived until {waiver.expires} by {waiver.granted_by}: {waiver.reason.strip().rstrip('.')}."
