"""One assessment before one limit: the decision, the number it rests on, and what else it rests on, in sentences."""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass
from functools import cached_property

from entropie.document.measured import ShareInterval
from entropie.document.verdict import AppliedWaiver, Decision, Declared, Measure, Outcome, Profile, Verdict
from entropie.gate.groups import LEAST_PEOPLE, WORSE, Group, among_population, worst
from entropie.gate.people import people_needed
from entropie.gate.profiles import OWN
from entropie.gate.subject import Subject
from entropie.gate.waiver import Waiver
from entropie.words import count, interval, percent, plural, stated


@dataclass(frozen=True)
class Case:
    """An assessment, a limit, and which risk is held against it; one of so many `searched` for a PASS."""

    subject: Subject
    profile: Profile
    measure: Measure
    declared: Declared
    searched: int = 1

    def verdict(self, waiver: Waiver | None, accepted: bool, today: datetime.date) -> Verdict:
        """Decide, and say what that rests on: first whatever narrows the assessment."""
        applied = None if waiver is None else self._waiver(waiver, accepted, today)
        return Verdict(
            decision=self.decision,
            headline=self._headline(applied),
            sentence=self._sentence(),
            rests_on=[*self.limits, *self.unsettled, *filter(None, (*self._statements(), _waived(applied)))],
            limits=self.limits,
            limits_accepted=accepted,
            unsettled=self.unsettled,
            profile=self.profile,
            measure=self.measure,
            attacker=self.group.attacker.attacker,
            knows=self.group.attacker.knows,
            whom=self.whom,
            people=self.group.people,
            share=self.group.share,
            measured_risk=self.group.risk,
            attempt_probability=self.declared.attempt_probability,
            judged_risk=self.judged,
            limit=self.profile.limit,
            people_needed=self.needed,
            without_declaration=self.without,
            on_most_exposed=self.exposed,
            waiver=applied,
            goal=self.goal,
        )

    @cached_property
    def groups(self) -> list[Group]:
        """Everybody who is looked at."""
        return self._groups(self.measure)

    def _groups(self, measure: Measure) -> list[Group]:
        found = self.subject.groups(measure, self.searched)
        return among_population(found, self.subject.projection) if self.declared.judge_population else found

    @cached_property
    def group(self) -> Group:
        """Whose number is judged."""
        return worst(self.groups, self.bound, self.chance)

    @property
    def bound(self) -> float:
        """What the number is held against: where it is exact, one in the group that the limit is rounded from."""
        return self.profile.exact_limit if self.subject.exact else self.profile.limit

    @property
    def chance(self) -> float:
        """Probability of an attempt."""
        given = self.declared.attempt_probability
        return 1.0 if given is None else given

    @cached_property
    def limits(self) -> list[str]:
        """What narrows the assessment, the judgement first."""
        own = self._attempt_limit(), self._population_limit(), self._average_limit()
        return [*filter(None, own), *self.subject.limits(self.declared)]

    @cached_property
    def unsettled(self) -> list[str]:
        """Why no number within the limit is enough."""
        return list(self.subject.unsettled(self.profile.limit / self.chance, self.declared))

    @cached_property
    def decision(self) -> Decision:
        """What is decided: doubts and limits take a PASS away and nothing else."""
        outcome = self.group.decision(self.bound, self.chance)
        if outcome != "PASS":
            return outcome
        if self.unsettled:
            return "INCONCLUSIVE"
        return "PASS (limited)" if self.limits else "PASS"

    @property
    def whom(self) -> str:
        """Whom the number is about."""
        return self.group.whom

    @property
    def judged(self) -> ShareInterval:
        """The number judged."""
        return self.group.risk.times(self.chance)

    @cached_property
    def exposed(self) -> Outcome | None:
        """What would be decided on the most exposed, where the average is judged."""
        if self.measure == "worst":
            return None
        groups = self._groups("worst")
        return worst(groups, self.bound, self.chance).decision(self.bound, self.chance)

    @property
    def without(self) -> Outcome | None:
        """What would be decided had no probability of an attempt and no population to judge been declared."""
        if self.declared.attempt_probability is None and not self.declared.judge_population:
            return None
        return worst(self.subject.groups(self.measure, 1), self.bound).decision(self.bound)

    @property
    def goal(self) -> str | None:
        """What a table must be generalised to, where it does not meet the limit."""
        if not self.group.exact or self.group.risk.value <= self.bound / self.chance:
            return None
        if self.measure == "average":
            return f"--average {stated(self.bound / self.chance)}".replace("\N{NO-BREAK SPACE}", "")
        return f"--k {math.ceil(self.chance / self.bound - 1e-9)}"

    @property
    def needed(self) -> int | None:
        """How many people would have to be assessed; a group needs so many in it."""
        if (
            self.group.exact
            or self._fewer_or_more()
            or self.group.decision(self.profile.limit, self.chance) != "INCONCLUSIVE"
        ):
            return None
        inside = people_needed(self.group.risk.value, self.profile.limit / self.chance, self.group.level)
        if inside is None:
            return None
        # A share such as 0.1 is not exact: 39 people in a tenth are 390 and not 391.
        return max(LEAST_PEOPLE, math.ceil(inside / self.group.share - 1e-6))

    def _fewer_or_more(self) -> bool:
        """Whether the number is projected or a bound, so that no number of people alone would decide."""
        return self.group.population is not None or self.group.at_most

    def _percent(self, share: float) -> str:
        return percent(share, beside=self.profile.limit)

    def _headline(self, waiver: AppliedWaiver | None) -> str:
        """The first line that anybody reads."""
        waived = f" (waived until {waiver.expires})" if waiver is not None and waiver.applies else ""
        name = self.profile.title if self.profile.name == OWN else self.profile.name
        limit = f"{name} limit {stated(self.profile.limit)}"
        risk, ends = self._percent(self.judged.value), interval(self.judged, beside=self.profile.limit)
        sure = "everybody was counted" if self.group.exact else f"95 % confidence interval {ends}"
        attacked = f"the {plural(self.group.people, 'person', 'people')} attacked"
        whom = attacked if self.group.everybody and self.group.population is None else self.whom
        knows = self.group.attacker.knows
        comma = "," if "," in knows and not self.group.exact else ""  # a list of columns needs none
        found = f"an attacker who knows {knows}{comma} re-identifies {risk} of {whom}"
        given = "" if self.declared.attempt_probability is None else ", with the attempt probability declared"
        given += "" if self.group.population is None else ", projected"
        doubt = f", but {_brief(self.unsettled[0])}" if self.unsettled and self.decision == "INCONCLUSIVE" else ""
        return f"{self.decision}{waived}   {limit}: {found} ({sure}){given}{doubt}"

    def _sentence(self) -> str:
        """The decision and the end of the interval that it rests on."""
        risk = self.judged
        limit = f"the limit of {stated(self.profile.limit)} ({self.profile.title})"
        declared = self.declared.attempt_probability is not None
        name = f"the risk of {self.whom}, with the declaration," if declared else f"the risk of {self.whom}"
        if self.group.exact:
            side = "within" if risk.value <= self.bound else "above"
            rounded = f"; one in {self.profile.smallest_group} is what its source asks for"
            given = rounded if self.profile.limit < risk.value <= self.bound else ""
            open_ = f", but {_brief(self.unsettled[0])}" if self.decision == "INCONCLUSIVE" else ""
            return f"{self.decision}: {name} is {self._percent(risk.value)}, {side} {limit}{given}{open_}."
        if risk.low > self.profile.limit and self.decision == "FAIL":
            return f"FAIL: {name} is at least {self._percent(risk.low)}, above {limit}."
        if risk.high <= self.profile.limit:
            open_ = f", but {_brief(self.unsettled[0])}" if self.decision == "INCONCLUSIVE" else ""
            return f"{self.decision}: {name} is at most {self._percent(risk.high)}, within {limit}{open_}."
        return f"{self.decision}: {name} lies between {interval(risk).replace(' to ', ' and ')}, and so does {limit}."

    def _attempt_limit(self) -> str | None:
        chance = self.declared.attempt_probability
        if chance is None or chance >= 1.0:
            return None
        return (
            f"An attempt probability of {stated(chance)} was declared, not measured: the number judged is "
            f"{self._percent(self.group.risk.value)} times {stated(chance)}. Without it: {self.without}."
        )

    def _population_limit(self) -> str | None:
        if not self.declared.judge_population:
            return None
        judged = f"The risk among {count(self.declared.population or 0)} people was declared to be judged, not measured"
        if self.group.population is None:
            return f"{judged}. Without it: {self.without}."
        at_hand = self.group.attacker
        return (
            f"{judged}: {self._percent(self.group.risk.value)} is projected, where "
            f"{self._percent(at_hand.reidentified.value)} were found among {count(at_hand.people)}. Without it: "
            f"{self.without}."
        )

    def _average_limit(self) -> str | None:
        if self.measure == "worst" or self.profile.speaks_of == "average":
            return None
        return (
            "The average was judged, and the limit is for the risk of any one person. On the most exposed people: "
            f"{self.exposed}."
        )

    def _statements(self) -> list[str | None]:
        return [
            self._exposed_statement(),
            self._needed_statement(),
            self._measured_statement(),
            None if self.goal is None else f"Enough would be: entropie generalise {self.goal}.",
            self._mismatch_statement(),
            *self.subject.told(self.declared),
        ]

    def _exposed_statement(self) -> str | None:
        """What the average hides, where the limit is for the average."""
        if self.exposed is None or self.profile.speaks_of == "maximum":
            return None
        mine = self.group.decision(self.bound, self.chance)
        if WORSE.index(self.exposed) <= WORSE.index(mine):
            return None
        return f"{mine} on average only. On the most exposed people: {self.exposed}."

    def _needed_statement(self) -> str | None:
        if self.group.decision(self.profile.limit, self.chance) != "INCONCLUSIVE":
            return None
        if self.group.too_few or self.group.exact or self._fewer_or_more():
            return None
        if self.needed is None:
            return "The measured share is so close to the limit that no number of people would decide."
        goal = "PASS" if self.judged.value <= self.profile.limit else "FAIL"
        return (
            f"If the share stays at {self._percent(self.group.risk.value)}, about {count(self.needed)} people are "
            f"needed to decide ({goal}): {count(self.needed - self.group.attacker.targets)} more than were assessed."
        )

    def _measured_statement(self) -> str:
        group, risk = self.group, self.group.risk
        if group.exact:
            whom = f"the {plural(group.people, 'person', 'people')}" if group.everybody else group.whom
            return f"Counted: {self._percent(risk.value)} of {whom} are re-identified."
        if group.population is not None:
            return (
                f"Projected to {count(group.population)} people from the ranks of {count(group.people)}: "
                f"{self._percent(risk.value)} (95 % CI {interval(risk, beside=self.profile.limit)})."
            )
        shown = f"{self._percent(risk.value)} (95 % CI {interval(risk, beside=self.profile.limit)})"
        alike = group.everybody and self.measure == "worst"
        looked = f"{'' if alike else 'the worst of '}{plural(len(self.groups), 'group')} looked at"
        found = f" ({looked})" if len(self.groups) > 1 else ""
        who = f"the {plural(group.people, 'person', 'people')} attacked"
        if not group.everybody:
            who = f"the {plural(group.people, 'person', 'people')} whose match is clearest"
        none = " No group stands out as more exposed." if alike else ""
        return f"Measured: {shown} of {who} are re-identified{found}.{none}"

    def _mismatch_statement(self) -> str | None:
        """Say where what was judged is not what the limit is for."""
        if self.profile.speaks_of == "average" and self.measure == "worst":
            return "The limit is for the average; the most exposed were judged, which is stricter."
        if self.measure == "worst" and not self.group.exact:
            return (
                "The limit is for the risk of any one person; the most exposed group is the nearest an attack can "
                "measure, and single people may be at greater risk."
            )
        return None

    def _waiver(self, waiver: Waiver, accepted: bool, today: datetime.date) -> AppliedWaiver:
        hindrance: str | None = "A waiver was given and is not needed."
        if self.decision != "PASS" and not (self.decision == "PASS (limited)" and accepted):
            hindrance = waiver.hindrance(self.profile, self.subject.sha256, today)
        return AppliedWaiver(waiver.reason, waiver.expires, waiver.granted_by, hindrance is None, hindrance)


def _waived(waiver: AppliedWaiver | None) -> str | None:
    if waiver is None or waiver.reason_without_effect is not None:
        return None if waiver is None else waiver.reason_without_effect
    return f"Waived until {waiver.expires} by {waiver.granted_by}: {waiver.reason.strip().rstrip('.')}."


def _brief(sentence: str) -> str:
    """A sentence up to its reasons and remedies, as the end of another."""
    return re.split(r"[:;.]", sentence[:1].lower() + sentence[1:], maxsplit=1)[0]
