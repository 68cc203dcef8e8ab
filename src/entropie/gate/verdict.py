"""The verdict: a measured risk held against a named limit, judged at the end of its interval and not at the point.

    PASS            even the upper end of the 95 % interval is within the limit
    FAIL            even the lower end is above it
    INCONCLUSIVE    the limit lies inside the interval: the data cannot tell

What is held against the limit is the measured risk, times the probability of an attempt where one was declared. A
decision that stands or falls with a choice of the user's (that probability; the average judged where the limit is for
the maximum) says so first.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from typing import Any, Literal

from entropie.gate import documents
from entropie.gate.declared import NOTHING_DECLARED, Declared
from entropie.gate.documents import Document
from entropie.gate.people import assessed_sentence, people_needed
from entropie.gate.profiles import OWN, Measure, Profile
from entropie.gate.waiver import Waiver
from entropie.gate.words import between, percent, plain_percent
from entropie.measures.intervals import Interval

__all__ = ["EXIT_CODES", "Decision", "Verdict", "decide", "judge"]

Decision = Literal["PASS", "FAIL", "INCONCLUSIVE"]
EXIT_CODES: dict[Decision, int] = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3}
_WORSE: tuple[Decision, ...] = ("PASS", "INCONCLUSIVE", "FAIL")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was decided, against which limit, on which measure, and in words.

    measured_risk    share of people named rightly: of all assessed ('average') or of the most exposed ('worst')
    combined_risk    the same times the declared probability of an attempt; this is what is judged
    people_needed    where the data cannot tell: how many people could, if the share stays the same
    hindrance        why a waiver that was given has no effect
    waived           a waiver holds: the decision stands, the exit code is 0
    """

    decision: Decision
    profile: Profile
    measure: Measure
    measured_risk: Interval
    attempt_probability: float | None
    combined_risk: Interval
    people_needed: int | None
    sentence: str
    waiver: Waiver | None
    hindrance: str | None

    @property
    def waived(self) -> bool:
        """Whether a waiver holds."""
        return self.waiver is not None and self.hindrance is None

    @property
    def exit_code(self) -> int:
        """0 the limit is met or waived, 1 it is not met, 3 the data cannot tell."""
        return 0 if self.waived else EXIT_CODES[self.decision]

    def to_json(self) -> dict[str, Any]:
        """The documented object `verdict`."""
        return {
            "decision": self.decision,
            "profile": self.profile.to_json(),
            "measure": self.measure,
            "measured_risk": self.measured_risk.to_json(),
            "attempt_probability": self.attempt_probability,
            "combined_risk": self.combined_risk.to_json(),
            "limit": self.profile.limit,
            "people_needed": self.people_needed,
            "sentence": self.sentence,
            "waiver": None if self.waiver is None else self.waiver.to_json(self.waived, self.hindrance),
        }


def judge(
    document: Document,
    profile: Profile,
    measure: Measure | None = None,
    declared: Declared = NOTHING_DECLARED,
    waiver: Waiver | None = None,
    *,
    today: datetime.date,
) -> Verdict:
    """Hold an assessment against a profile; without a measure, the one the profile speaks of."""
    measure = measure or profile.measure
    measured = _measured(document, measure)
    chance = declared.attempt_probability
    combined = measured if chance is None else _scaled(measured, chance)
    decision = decide(combined, profile.limit)
    needed = _people_needed(document, measure, measured, profile.limit, chance) if decision == "INCONCLUSIVE" else None
    hindrance = None
    if waiver is not None:
        hindrance = _hindrance(waiver, decision, profile, document, today)
    reasons = _only_because(document, profile, measure, measured, chance)
    sentences = [
        *(f"{'Also ' if i else ''}{decision} only because {reason}." for i, reason in enumerate(reasons)),
        _decision_sentence(decision, combined, profile, chance, led=bool(reasons)),
        _needed_sentence(document, measured, profile.limit, chance, needed) if decision == "INCONCLUSIVE" else None,
        _obfuscated_sentence(document),
        assessed_sentence(document),
        _measured_sentence(document, measure, measured),
        _declared_sentence(chance, combined),
        _mismatch_sentence(profile, measure),
        _waiver_sentence(waiver, hindrance),
    ]
    said = " ".join(filter(None, sentences))
    return Verdict(decision, profile, measure, measured, chance, combined, needed, said, waiver, hindrance)


def decide(risk: Interval, limit: float) -> Decision:
    """Compare both ends of the interval with the limit; a risk that equals the limit is within it."""
    if risk.high <= limit:
        return "PASS"
    return "FAIL" if risk.low > limit else "INCONCLUSIVE"


def _scaled(risk: Interval, chance: float) -> Interval:
    return Interval(risk.value * chance, risk.low * chance, risk.high * chance)


def _measured(document: Document, measure: Measure) -> Interval:
    return documents.average_risk(document) if measure == "average" else documents.most_exposed(document).right


def _people_needed(
    document: Document, measure: Measure, measured: Interval, limit: float, chance: float | None
) -> int | None:
    """How many people would have to be assessed; a group needs so many in it."""
    limit_measured = limit if chance is None else limit / chance
    if measure == "average":
        return people_needed(measured.value, limit_measured, documents.headline_level(document))
    exposed = documents.most_exposed(document)
    inside = people_needed(measured.value, limit_measured, exposed.level)
    # A share such as 0.1 is not exact: 39 people in a tenth are 390 and not 391.
    return None if inside is None else math.ceil(inside / exposed.share - 1e-6)


def _hindrance(
    waiver: Waiver, decision: Decision, profile: Profile, document: Document, today: datetime.date
) -> str | None:
    if decision == "PASS":
        return "A waiver was given and is not needed."
    return waiver.hindrance(profile, document.get("input", {}).get("sha256"), today)


def _only_because(
    document: Document, profile: Profile, measure: Measure, measured: Interval, chance: float | None
) -> list[str]:
    """What the user chose and the decision would be a worse one without."""

    def decided(risk: Interval, chance: float | None) -> Decision:
        return decide(risk if chance is None else _scaled(risk, chance), profile.limit)

    made = decided(measured, chance)
    reasons = []
    if chance is not None and (without := decided(measured, None)) != made:
        reasons.append(f"an attempt probability of {plain_percent(chance)} was declared; without it {without}")
    if profile.speaks_of == "maximum" and measure == "average" and documents.tells_most_exposed(document):
        otherwise = decided(documents.most_exposed(document).right, chance)
        if _WORSE.index(otherwise) > _WORSE.index(made):
            reasons.append(
                f"the average was judged, though the profile speaks of the maximum; on the most exposed people "
                f"{otherwise}"
            )
    return reasons


def _decision_sentence(decision: Decision, risk: Interval, profile: Profile, chance: float | None, *, led: bool) -> str:
    begin = "The" if led else f"{decision}: the"
    name = "risk" if chance is None else "combined risk"
    limit = f"the limit of {plain_percent(profile.limit)} ({profile.shown})"
    if decision == "PASS":
        return f"{begin} {name} is at most {percent(risk.high)}, the upper end of its 95 % interval, within {limit}."
    if decision == "FAIL":
        return f"{begin} {name} is at least {percent(risk.low)}, the lower end of its 95 % interval, above {limit}."
    ends = f"between {percent(risk.low)} and {percent(risk.high)} (95 % interval)"
    return f"{begin} {name} lies {ends}, and so does {limit}."


def _needed_sentence(
    document: Document, measured: Interval, limit: float, chance: float | None, needed: int | None
) -> str:
    if needed is None:
        return "The measured share is so close to the limit that no number of people would tell."
    goal = "PASS" if measured.value * (1.0 if chance is None else chance) <= limit else "FAIL"
    more = needed - int(documents.number(document, "users"))
    return (
        f"If the share named rightly stays at {percent(measured.value)}, it takes about {needed:,} people to tell "
        f"({goal}), {more:,} more than were assessed."
    )


def _obfuscated_sentence(document: Document) -> str | None:
    if not documents.obfuscated(document):
        return None
    return (
        "Beware: these data are reports of a mechanism, and the attack does not know the mechanism, so it understates "
        "the risk; what the mechanism promises against every attacker is told by `entropie guarantee`."
    )


def _measured_sentence(document: Document, measure: Measure, risk: Interval) -> str:
    ends = f"(95 % interval {between(risk)})"
    average = f"the strongest attack names {percent(risk.value)} of the people assessed rightly {ends}."
    if measure == "average":
        return f"Measured: {average}"
    exposed = documents.most_exposed(document)
    if exposed.share >= 1.0:
        return f"Measured: no group of people stands out as more exposed than the others; {average}"
    return (
        f"Measured: of the {exposed.people:,} people whom the attack is surest about ({percent(exposed.share)} of the "
        f"people assessed; matcher {exposed.matcher}), it names {percent(risk.value)} rightly {ends}."
    )


def _declared_sentence(chance: float | None, combined: Interval) -> str | None:
    if chance is None:
        return None
    return (
        f"Declared: somebody tries with probability {plain_percent(chance)}, which makes a combined risk of "
        f"{percent(combined.value)} ({between(combined)}); the declaration is the user's, no data show it."
    )


def _mismatch_sentence(profile: Profile, measure: Measure) -> str | None:
    """Say where what was judged is not what the profile speaks of."""
    if profile.speaks_of == "maximum" and measure == "average":
        return (
            "The profile speaks of the maximum, the risk of any one person; judged was the average over the people "
            "assessed, which can be far below it."
        )
    if profile.speaks_of == "average" and measure == "worst":
        return "The profile speaks of the average; judged were the most exposed, which is stricter."
    if measure == "worst":
        which = (
            "The limit is for the most exposed people"
            if profile.name == OWN
            else (
                "The profile speaks of the maximum, the risk of any one person; the share of the most exposed is the "
                "nearest an attack can measure"
            )
        )
        return f"{which}, and single people may be at greater risk."
    return None


def _waiver_sentence(waiver: Waiver | None, hindrance: str | None) -> str | None:
    if waiver is None:
        return None
    return hindrance or f"Waived until {waiver.expires} by {waiver.granted_by}: {waiver.reason.strip().rstrip('.')}."
