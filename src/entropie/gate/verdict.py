"""The verdict: a measured risk held against a named limit, judged at the end of its interval and not at the point.

    PASS            even the upper end of the 95 % interval is within the limit
    FAIL            even the lower end is above it
    INCONCLUSIVE    the limit lies inside the interval: the data cannot tell

What is held against the limit is the measured risk, times the probability of an attempt where one was declared.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Literal

from entropie.gate import documents
from entropie.gate.declared import NOTHING_DECLARED, Declared
from entropie.gate.documents import Document
from entropie.gate.profiles import Measure, Profile
from entropie.gate.waiver import Waiver
from entropie.gate.words import between, percent, plain_percent
from entropie.measures.intervals import Interval

__all__ = ["EXIT_CODES", "Decision", "Verdict", "decide", "judge"]

Decision = Literal["PASS", "FAIL", "INCONCLUSIVE"]
EXIT_CODES: dict[Decision, int] = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was decided, against which limit, on which measure, and in words.

    measured_risk    share of people named rightly: of all ('average') or of the most exposed ('worst')
    combined_risk    the same times the declared probability of an attempt; this is what is judged
    waived           a waiver holds: the decision stands, the exit code is 0
    """

    decision: Decision
    profile: Profile
    measure: Measure
    measured_risk: Interval
    attempt_probability: float | None
    combined_risk: Interval
    sentence: str
    waiver: Waiver | None
    waived: bool

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
            "sentence": self.sentence,
            "waiver": None if self.waiver is None else self.waiver.to_json(self.waived),
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
    measured = documents.average_risk(document) if measure == "average" else documents.worst_risk(document)
    chance = declared.attempt_probability
    combined = measured if chance is None else _scaled(measured, chance)
    decision = decide(combined, profile.limit)
    hindrance = None
    if waiver is not None and decision != "PASS":
        hindrance = waiver.hindrance(profile, document.get("input", {}).get("sha256"), today)
    waived = waiver is not None and decision != "PASS" and hindrance is None
    sentences = [
        _decision_sentence(decision, combined, profile, chance),
        _measured_sentence(document, measure, measured),
        _declared_sentence(chance, combined, decision, decide(measured, profile.limit)),
        _mismatch_sentence(profile, measure),
        _waiver_sentence(waiver, decision, hindrance),
    ]
    said = " ".join(filter(None, sentences))
    return Verdict(decision, profile, measure, measured, chance, combined, said, waiver, waived)


def decide(risk: Interval, limit: float) -> Decision:
    """Compare both ends of the interval with the limit; a risk that equals the limit is within it."""
    if risk.high <= limit:
        return "PASS"
    return "FAIL" if risk.low > limit else "INCONCLUSIVE"


def _scaled(risk: Interval, chance: float) -> Interval:
    return Interval(risk.value * chance, risk.low * chance, risk.high * chance)


def _decision_sentence(decision: Decision, risk: Interval, profile: Profile, chance: float | None) -> str:
    name = "risk" if chance is None else "combined risk"
    limit = f"the limit of {plain_percent(profile.limit)} ({profile.title})"
    if decision == "PASS":
        return f"PASS: the {name} is at most {percent(risk.high)}, the upper end of its 95 % interval, within {limit}."
    if decision == "FAIL":
        return f"FAIL: the {name} is at least {percent(risk.low)}, the lower end of its 95 % interval, above {limit}."
    return (
        f"INCONCLUSIVE: the {name} lies between {percent(risk.low)} and {percent(risk.high)} (95 % interval), and so "
        f"does {limit}; assess more people to tell."
    )


def _measured_sentence(document: Document, measure: Measure, risk: Interval) -> str:
    if measure == "average":
        return (
            f"Measured: the strongest attack names {percent(risk.value)} of people rightly (95 % interval "
            f"{between(risk)}), on average over all people."
        )
    exposed = ("attacks", documents.strongest(document), "exposure", "most_exposed")
    people, share = documents.number(document, *exposed, "people"), documents.number(document, *exposed, "share")
    return (
        f"Measured: of the {people:,.0f} people whom the strongest attack is surest about "
        f"({percent(share)} of all), it names {percent(risk.value)} rightly (95 % interval {between(risk)})."
    )


def _declared_sentence(
    chance: float | None, combined: Interval, decision: Decision, undeclared: Decision
) -> str | None:
    if chance is None:
        return None
    sentence = (
        f"Declared: somebody tries with probability {plain_percent(chance)}, which makes a combined risk of "
        f"{percent(combined.value)} ({between(combined)}); the declaration is the user's, no data show it."
    )
    return sentence if decision == undeclared else f"{sentence} Without it the decision would be {undeclared}."


def _mismatch_sentence(profile: Profile, measure: Measure) -> str | None:
    """Say where what was judged is not what the profile speaks of."""
    if profile.speaks_of == "maximum" and measure == "average":
        return (
            "The profile speaks of the maximum, the risk of any one person; judged was the average over all people, "
            "which can be far below it."
        )
    if profile.speaks_of == "average" and measure == "worst":
        return "The profile speaks of the average over all people; judged were the most exposed, which is stricter."
    if measure == "worst":
        return (
            "The profile speaks of the maximum, the risk of any one person; the share of the most exposed is the "
            "nearest an attack can measure, and single people may be at greater risk."
        )
    return None


def _waiver_sentence(waiver: Waiver | None, decision: Decision, hindrance: str | None) -> str | None:
    if waiver is None:
        return None
    if decision == "PASS":
        return "A waiver was given and is not needed."
    return hindrance or f"Waived until {waiver.expires} by {waiver.granted_by}: {waiver.reason.strip().rstrip('.')}."
