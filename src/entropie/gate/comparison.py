"""Two assessments side by side: did the risk rise, and how sure is that?

The difference of two shares, or of two amounts of bits, gets the interval of Newcombe (1998), called MOVER since: with
d = new - old,

    low  = d - sqrt((new - new.low)^2 + (old.high - old)^2)
    high = d + sqrt((new.high - new)^2 + (old - old.low)^2).

It needs nothing but the two intervals and takes the two results for independent. Where an interval is wider than a
95 % one because it allows for the choice among several attacks, so is that of the difference: at least 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from entropie.gate import documents
from entropie.gate.documents import Document
from entropie.gate.words import percent, plain_percent, points
from entropie.measures.intervals import Interval
from entropie.theory import checks

__all__ = ["SCHEMA", "Comparison", "Outcome", "Side", "compare", "difference"]

SCHEMA = "entropie.comparison/1"
Outcome = Literal["risen", "fallen", "not risen", "undecided", "unchanged", "not comparable"]
"""risen: the whole interval is above the tolerance; fallen: the whole interval is below zero; not risen: no part of the
interval is above the tolerance; undecided: the interval lies on both sides of it; unchanged: the same results of the
same input; not comparable: another attack was made."""


@dataclass(frozen=True, slots=True)
class Side:
    """What is compared of one assessment."""

    source: str | None
    sha256: str | None
    date: str | None
    users: int
    events: int
    matcher: str
    chosen_among: int
    risk: Interval
    pse_bits: Interval
    pse_bits_over: bool
    pie_bits: float

    @classmethod
    def of(cls, document: Document) -> Side:
        """Read it out of an assessment's document."""
        index = documents.strongest(document)
        bits = documents.score_bits(document)
        facts = documents.entry(document, "input")
        return cls(
            source=facts.get("source"),
            sha256=facts.get("sha256"),
            date=document.get("provenance", {}).get("date"),
            users=int(documents.number(document, "users")),
            events=int(documents.number(document, "events")),
            matcher=str(documents.entry(document, "attacks", index, "matcher")),
            chosen_among=int(documents.number(document, "headline", "chosen_among")),
            risk=documents.average_risk(document),
            pse_bits=bits.shown,
            pse_bits_over=bits.over,
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
            "pse_bits_are_lower_bound": self.pse_bits_over,
            "pie_bits": self.pie_bits,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """New minus old: shares of people named rightly, and bits.

    risk_level            what the interval of the risk's difference is: '95 %', or 'at least 95 %'
    pse_bits_difference   None where either side's bits are more than its data can show
    """

    old: Side
    new: Side
    tolerance: float
    risk_difference: Interval
    risk_level: str
    pse_bits_difference: Interval | None
    pie_bits_difference: float
    outcome: Outcome
    sentence: str
    assumption: str
    warnings: tuple[str, ...]

    def exit_code(self, strict: bool = False) -> int:
        """1 the risk has risen; 3 undecided or not comparable, where that is asked for; else 0."""
        if self.outcome == "risen":
            return 1
        return 3 if strict and self.outcome in ("undecided", "not comparable") else 0

    def to_json(self) -> dict[str, Any]:
        """The documented object of `entropie compare`."""
        risk, bits = self.risk_difference, self.pse_bits_difference
        return {
            "schema": SCHEMA,
            "old": self.old.to_json(),
            "new": self.new.to_json(),
            "same_input": _same_input(self.old, self.new),
            "tolerance_error": self.tolerance,
            "risk_difference": risk.to_json(),
            "risk_level": self.risk_level,
            "error_difference": {"value": 0.0 - risk.value, "low": 0.0 - risk.high, "high": 0.0 - risk.low},
            "pse_bits_difference": None if bits is None else bits.to_json(),
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
    same = _results(old) == _results(new)
    risk = Interval(0.0, 0.0, 0.0) if same else difference(before.risk, after.risk)
    level = "at least 95 %" if max(before.chosen_among, after.chosen_among) > 1 else "95 %"
    hindrances, caveats = _hindrances(old, new), _caveats(old, new, before, after, same)
    outcome = _outcome(risk, tolerance)
    if same:
        outcome = "unchanged"
    elif hindrances:
        outcome = "not comparable"
    return Comparison(
        old=before,
        new=after,
        tolerance=tolerance,
        risk_difference=risk,
        risk_level=level,
        pse_bits_difference=_bits_difference(before, after, same),
        pie_bits_difference=after.pie_bits - before.pie_bits,
        outcome=outcome,
        sentence=_sentence(before, after, risk, level, outcome, tolerance, [*hindrances, *caveats]),
        assumption=_assumption(before, after, same),
        warnings=tuple(warning.sentence for warning in (*hindrances, *caveats)),
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


def _bits_difference(old: Side, new: Side, same: bool) -> Interval | None:
    if same:
        return Interval(0.0, 0.0, 0.0)
    return None if old.pse_bits_over or new.pse_bits_over else difference(old.pse_bits, new.pse_bits)


def _results(document: Document) -> dict[str, Any]:
    """What makes two assessments the same: what was assessed, how, and with which results; not when or from where."""
    facts = {name: value for name, value in documents.entry(document, "input").items() if name != "source"}
    kept = ("split", "users", "items", "events", "attacks", "strongest", "headline", "pie_bits")
    return {"input": facts, **{name: document.get(name) for name in kept}}


def _sentence(
    old: Side,
    new: Side,
    risk: Interval,
    level: str,
    outcome: Outcome,
    tolerance: float,
    warnings: Sequence[_Warning],
) -> str:
    if outcome == "unchanged":
        told = [warning.sentence for warning in warnings]
        unchanged = f"The share of people named rightly is {percent(old.risk.value)} in both."
        return " ".join([*told, "Unchanged: both are the same results of the same input.", unchanged])
    shown = f"{points(risk.value)} ({level} interval {risk.low * 100:+.2f} to {risk.high * 100:+.2f})"
    moved = (
        f"The share of people named rightly went from {percent(old.risk.value)} to {percent(new.risk.value)}: {shown}."
    )
    bound = f"the {plain_percent(tolerance)} of people put up with" if tolerance else "zero"
    verdicts = {
        "risen": f"The risk has risen: the whole interval is above {bound}.",
        "fallen": "The risk has fallen: the whole interval is below zero.",
        "not risen": f"No rise: no part of the interval is above {bound}.",
        "undecided": f"No rise shown, and none ruled out: the interval lies on both sides of {bound}.",
        "not comparable": "Whether the risk rose cannot be told from two different attacks.",
    }
    topics = "; ".join(warning.topic for warning in warnings if warning.topic)
    begin = "Not comparable: " if outcome == "not comparable" else "Read with care: "
    return f"{begin + topics + '. ' if topics else ''}{moved} {verdicts[outcome]}"


def _same_input(old: Side, new: Side) -> bool:
    return old.sha256 is not None and old.sha256 == new.sha256


def _assumption(old: Side, new: Side, same: bool) -> str:
    if same:
        return "The same people were attacked in the same way, so that the difference is zero and has no interval."
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


@dataclass(frozen=True, slots=True)
class _Warning:
    """What makes two assessments hard to compare: in a few words where it is about the risk, and in a sentence."""

    topic: str | None
    sentence: str


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
_MECHANISM = (
    "the attack does not know the mechanism and understates the risk; what the mechanism promises is told by "
    "`entropie guarantee`"
)


def _hindrances(old: Document, new: Document) -> list[_Warning]:
    """What makes them two different attacks, so that no difference of theirs is a change of the data's risk."""
    found = _differing(old, new, "split", _SPLIT)
    if documents.obfuscated(old) != documents.obfuscated(new):
        which = "old" if documents.obfuscated(old) else "new"
        found.append(
            _Warning(
                f"only the {which} data are reports of a mechanism, and the attack on them understates the risk",
                f"Not the same attack: only the {which} data are reports of a mechanism; {_MECHANISM}.",
            )
        )
    return found


def _caveats(old: Document, new: Document, before: Side, after: Side, same: bool) -> list[_Warning]:
    """What is to be known before relying on the difference."""
    found = []
    if documents.obfuscated(old) and documents.obfuscated(new):
        found.append(
            _Warning(
                "both are reports of a mechanism, and the attack on them understates the risk",
                f"Both data are reports of a mechanism; {_MECHANISM}.",
            )
        )
    found += _differing(old, new, "input", _INPUT)
    matchers = [sorted(attack["matcher"] for attack in document["attacks"]) for document in (old, new)]
    if matchers[0] != matchers[1]:
        shown = f"{', '.join(matchers[0])}; now {', '.join(matchers[1])}"
        found.append(_Warning("the matchers differ", f"Not the same attack: the matchers differ ({shown})."))
    if before.users != after.users:
        harder = "harder" if after.users > before.users else "easier"
        counts = f"the number of people differs ({before.users:,}, now {after.users:,})"
        found.append(_Warning(counts, f"T{counts[1:]}: naming one of them became {harder} for that reason alone."))
    over = [when for when, side in (("old", before), ("new", after)) if side.pse_bits_over]
    if over and not same:
        found.append(
            _Warning(
                None,
                f"The scores of the {' and the '.join(over)} assessment carry more bits than its data can show: the "
                f"bits are a lower bound, and their difference cannot be told.",
            )
        )
    return found


def _differing(old: Document, new: Document, section: str, names: Mapping[str, str]) -> list[_Warning]:
    found = []
    for name, meaning in names.items():
        was, now = (document.get(section, {}).get(name) for document in (old, new))
        if was != now:
            shown = f"{meaning} differs ({section}.{name} {_said(was)}, now {_said(now)})"
            found.append(_Warning(f"{meaning} differs", f"Not the same attack: {shown}."))
    return found


def _said(value: object) -> str:
    return "not set" if value is None else str(value)
