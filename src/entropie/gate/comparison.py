"""Two assessments side by side: did the risk rise, and how sure is that?

The difference of two shares, or of two amounts of bits, gets the interval of Newcombe (1998), called MOVER since: with
d = new - old,

    low  = d - sqrt((new - new.low)^2 + (old.high - old)^2)
    high = d + sqrt((new.high - new)^2 + (old - old.low)^2).

It needs nothing but the two intervals and takes the two results for independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from entropie.gate import documents
from entropie.gate.documents import Document
from entropie.gate.words import percent, plain_percent, points
from entropie.measures.intervals import Interval
from entropie.theory import checks

__all__ = ["SCHEMA", "Comparison", "Outcome", "Side", "compare", "difference"]

SCHEMA = "entropie.comparison/1"
Outcome = Literal["risen", "fallen", "not risen", "undecided"]
"""risen: the whole interval is above the tolerance; fallen: the whole interval is below zero; not risen: no part of the
interval is above the tolerance; undecided: the interval lies on both sides of it."""


@dataclass(frozen=True, slots=True)
class Side:
    """What is compared of one assessment."""

    source: str | None
    sha256: str | None
    date: str | None
    users: int
    events: int
    matcher: str
    risk: Interval
    pse_bits: Interval
    resolvable_bits: float
    pie_bits: float

    @classmethod
    def of(cls, document: Document) -> Side:
        """Read it out of an assessment's document."""
        index = documents.strongest(document)
        facts = documents.entry(document, "input")
        return cls(
            source=facts.get("source"),
            sha256=facts.get("sha256"),
            date=document.get("provenance", {}).get("date"),
            users=int(documents.number(document, "users")),
            events=int(documents.number(document, "events")),
            matcher=str(documents.entry(document, "attacks", index, "matcher")),
            risk=documents.average_risk(document),
            pse_bits=documents.interval(document, "attacks", index, "pse_bits"),
            resolvable_bits=documents.number(document, "attacks", index, "pse_bits", "resolvable"),
            pie_bits=documents.number(document, "pie_bits"),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "source": self.source,
            "sha256": self.sha256,
            "date": self.date,
            "users": self.users,
            "events": self.events,
            "matcher": self.matcher,
            "identification_risk": self.risk.to_json(),
            "pse_bits": self.pse_bits.to_json(),
            "pie_bits": self.pie_bits,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """New minus old: shares of people named rightly, and bits."""

    old: Side
    new: Side
    tolerance: float
    risk_difference: Interval
    pse_bits_difference: Interval
    pie_bits_difference: float
    outcome: Outcome
    sentence: str
    assumption: str
    warnings: tuple[str, ...]

    def exit_code(self, strict: bool = False) -> int:
        """1 the risk has risen; 3 undecided, where that is asked for; else 0."""
        if self.outcome == "risen":
            return 1
        return 3 if strict and self.outcome == "undecided" else 0

    def to_json(self) -> dict[str, Any]:
        """The documented object of `entropie compare`."""
        risk = self.risk_difference
        return {
            "schema": SCHEMA,
            "old": self.old.to_json(),
            "new": self.new.to_json(),
            "same_input": _same_input(self.old, self.new),
            "tolerance_error": self.tolerance,
            "risk_difference": risk.to_json(),
            "error_difference": {"value": 0.0 - risk.value, "low": 0.0 - risk.high, "high": 0.0 - risk.low},
            "pse_bits_difference": self.pse_bits_difference.to_json(),
            "pie_bits_difference": self.pie_bits_difference,
            "outcome": self.outcome,
            "sentence": self.sentence,
            "assumption": self.assumption,
            "warnings": list(self.warnings),
        }


def compare(old: Document, new: Document, tolerance: float = 0.0) -> Comparison:
    """Compare two assessments' documents; a rise of the risk up to `tolerance` (a share of people) is put up with."""
    rule = "a share of people from 0 to below 1"
    checks.real_number("tolerance_error", tolerance, rule, 0.0, math.nextafter(1.0, 0.0))
    before, after = Side.of(old), Side.of(new)
    risk = difference(before.risk, after.risk)
    outcome = _outcome(risk, tolerance)
    return Comparison(
        old=before,
        new=after,
        tolerance=tolerance,
        risk_difference=risk,
        pse_bits_difference=difference(before.pse_bits, after.pse_bits),
        pie_bits_difference=after.pie_bits - before.pie_bits,
        outcome=outcome,
        sentence=_sentence(before, after, risk, outcome, tolerance),
        assumption=_assumption(before, after),
        warnings=tuple(_warnings(old, new, before, after)),
    )


def difference(old: Interval, new: Interval) -> Interval:
    """New minus old with the interval of the module's docstring.

    An end on the wrong side of its own value counts as no uncertainty on that side.
    """
    value = new.value - old.value
    below = math.hypot(max(0.0, new.value - new.low), max(0.0, old.high - old.value))
    above = math.hypot(max(0.0, new.high - new.value), max(0.0, old.value - old.low))
    return Interval(value, value - below, value + above)


def _outcome(risk: Interval, tolerance: float) -> Outcome:
    if risk.low > tolerance:
        return "risen"
    if risk.high < 0.0:
        return "fallen"
    return "not risen" if risk.high <= tolerance else "undecided"


def _sentence(old: Side, new: Side, risk: Interval, outcome: Outcome, tolerance: float) -> str:
    shown = f"{points(risk.value)} (95 % interval {risk.low * 100:+.2f} to {risk.high * 100:+.2f})"
    moved = (
        f"The share of people named rightly went from {percent(old.risk.value)} to {percent(new.risk.value)}: {shown}."
    )
    bound = f"the {plain_percent(tolerance)} of people put up with" if tolerance else "zero"
    verdicts = {
        "risen": f"The risk has risen: the whole interval is above {bound}.",
        "fallen": "The risk has fallen: the whole interval is below zero.",
        "not risen": f"No rise: no part of the interval is above {bound}.",
        "undecided": f"No rise shown, and none ruled out: the interval lies on both sides of {bound}.",
    }
    return f"{moved} {verdicts[outcome]}"


def _same_input(old: Side, new: Side) -> bool:
    return old.sha256 is not None and old.sha256 == new.sha256


def _assumption(old: Side, new: Side) -> str:
    base = "The intervals of the differences take the two results for independent"
    if _same_input(old, new):
        return (
            f"{base}. Both are of the same input, so of the same people: results on the same people mostly rise and "
            f"fall together, and then these intervals are wider than need be."
        )
    return (
        f"{base}, as they are for different people. Where many people are in both inputs, the results mostly rise and "
        f"fall together, and then these intervals are wider than need be."
    )


_SPLIT = {
    "rule": "how events are divided into known and attacked",
    "knowledge": "what the attacker knows",
    "train_events": "the number of events the attacker knows",
    "target_events": "the number of events attacked",
}
_INPUT = {
    "min_events": "the least number of events of a person",
    "min_rating": "the lowest rating kept",
    "sampled_users": "the number of people sampled",
}


def _warnings(old: Document, new: Document, before: Side, after: Side) -> list[str]:
    """One sentence for everything that makes the two hard to compare."""
    found = []
    for section, names in (("split", _SPLIT), ("input", _INPUT)):
        for name, meaning in names.items():
            was, now = (document.get(section, {}).get(name) for document in (old, new))
            if was != now:
                found.append(
                    f"Not the same attack: {meaning} differs ({section}.{name} {_said(was)}, now {_said(now)})."
                )
    matchers = [sorted(attack["matcher"] for attack in document["attacks"]) for document in (old, new)]
    if matchers[0] != matchers[1]:
        found.append(
            f"Not the same attack: the matchers differ ({', '.join(matchers[0])}; now {', '.join(matchers[1])})."
        )
    if before.users != after.users:
        harder = "harder" if after.users > before.users else "easier"
        found.append(
            f"The number of people differs ({before.users:,}, now {after.users:,}): naming one of them became {harder} "
            f"for that reason alone."
        )
    for side, when in ((before, "old"), (after, "new")):
        if side.pse_bits.value > side.resolvable_bits:
            found.append(
                f"The {when} assessment's bits are beyond the {side.resolvable_bits:.2f} bits its data can show; the "
                f"difference of bits says little."
            )
    return found


def _said(value: object) -> str:
    return "not set" if value is None else str(value)
