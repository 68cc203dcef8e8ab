"""Two assessments side by side: did the risk rise, and how sure is that?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import field

from entropie.document import Document, typed
from entropie.document.assessment import Attacker
from entropie.document.base import Count, Part
from entropie.document.measured import BitsInterval, ShareInterval
from entropie.document.verdict import Verdict
from entropie.gate.difference import Difference, difference
from entropie.gate.exposed_comparison import ExposedChange, exposed_changes, failing_now, told
from entropie.theory import checks
from entropie.words import count, percent, points, stated

SCHEMA: Literal["entropie.comparison/1"] = "entropie.comparison/1"
Outcome = Literal["risen", "fallen", "not risen", "undecided", "unchanged", "not comparable"]
"""risen: the whole interval is above the tolerance; fallen: the whole interval is below zero; not risen: no part of the
interval is above the tolerance; undecided: the interval lies on both sides of it; unchanged: the same results of the
same input; not comparable: another attack was made."""


class Side(Part, frozen=True):
    """What is compared of one assessment: its risk, and the people and events that attackers in scope cover."""

    source: str | None
    sha256: str | None
    date: str
    users: Count
    events: Count
    matcher: str
    risk: ShareInterval = field(name="identification_risk")
    pse_bits: BitsInterval
    pse_bits_over: bool = field(name="pse_bits_are_lower_bound")
    pie_bits: float

    @classmethod
    def of(cls, document: Document) -> Side:
        """Read it out of an assessment's document."""
        read, covered = document.input, document.assessed
        more = covered > document.users  # those with few events are attacked by known events alone
        return cls(
            source=document.input.source,
            sha256=document.input.sha256,
            date=document.provenance.date.isoformat(),
            users=max(covered, document.users),
            events=read.events if more and read.events is not None else document.events,
            matcher=document.best.matcher,
            risk=document.headline.risk,
            pse_bits=document.best.pse_bits.shown,
            pse_bits_over=document.best.pse_bits.over,
            pie_bits=document.pie_bits,
        )


class Comparison(Part, frozen=True):
    """New minus old: shares of people re-identified, and bits.

    tolerance             largest rise of the risk that is accepted, a share of people
    risk_level            what the interval of the risk's difference is: '95 %', or 'at least 95 %'
    pse_bits_difference   null where either side's bits are more than its data can show
    most_exposed          the most exposed people of attackers that both have; the surest rise first
    most_exposed_failing  attackers whose most exposed exceed the new verdict's limit now and did not surely before
    newly_failed          whether the new verdict is FAIL and the old one was not
    """

    schema: Literal["entropie.comparison/1"]
    old: Side
    new: Side
    same_input: bool
    tolerance: float = field(name="tolerance_error")
    risk_difference: Difference
    risk_level: Literal["95 %", "at least 95 %"]
    error_difference: Difference
    pse_bits_difference: Difference | None
    pie_bits_difference: float
    most_exposed: list[ExposedChange]
    most_exposed_failing: list[str]
    outcome: Outcome
    newly_failed: bool
    sentence: str
    assumption: str
    warnings: list[str]

    def __repr__(self) -> str:
        sides = f"{count(self.old.users)} people before, {count(self.new.users)} now"
        return "\n".join([f"Comparison of {sides}: {self.outcome}", f"  {self.sentence}"])

    def exit_code(self, strict: bool = False) -> int:
        """1 the risk has risen or a limit fails now; 3 undecided or not comparable, where that is asked for; else 0."""
        if self.outcome == "risen" or self.newly_failed:
            return 1
        return 3 if strict and self.outcome in ("undecided", "not comparable") else 0


def tolerated(tolerance: float | str) -> float:
    """A rise to accept; refuses what is no share of people, or all of them."""
    rule = "a share of people from 0 to below 1"
    share = checks.share_value("tolerance_error", tolerance, rule)
    return checks.real_number("tolerance_error", share, rule, 0.0, math.nextafter(1.0, 0.0))


def turned(old: Verdict | None, new: Verdict | None) -> str | None:
    """That the verdict is another one now."""
    if old is None or new is None or old.decision == new.decision:
        return None
    return f"the verdict was {old.decision} and is {new.decision} now"


def fails_now(old: Verdict | None, new: Verdict | None) -> bool:
    """Whether a verdict that was no FAIL, or a waived one, is one now: whatever became of the average."""
    failed, fails = (
        verdict is not None and verdict.decision == "FAIL" and not verdict.waived for verdict in (old, new)
    )
    return old is not None and fails and not failed


def grown(old: int, new: int) -> tuple[str, str]:
    """That the number of people differs: in a few words, and in a sentence."""
    counts = f"the number of people differs ({count(old)}, now {count(new)})"
    harder = "harder" if new > old else "easier"
    return counts, f"T{counts[1:]}: for that reason alone it became {harder} to re-identify one of them."


def compare(old: dict[str, Any], new: dict[str, Any], given: float | str = 0.0) -> Comparison:
    """Compare two assessments' plain documents; a rise of the risk by up to this share is accepted."""
    tolerance = tolerated(given)
    pair = _Pair(typed(old), typed(new), same=_results(old) == _results(new))
    before, after = Side.of(pair.old), Side.of(pair.new)
    risk = Difference(0.0, 0.0, 0.0) if pair.same else difference(before.risk, after.risk)
    hindrances = pair.hindrances()
    outcome: Outcome = _outcome(risk, tolerance)
    if pair.same:
        outcome = "unchanged"
    elif hindrances:
        outcome = "not comparable"
    caveats = pair.caveats(outcome)
    return Comparison(
        schema=SCHEMA,
        old=before,
        new=after,
        same_input=pair.same_input,
        tolerance=tolerance,
        risk_difference=risk,
        risk_level=pair.level,
        error_difference=Difference(0.0 - risk.value, 0.0 - risk.high, 0.0 - risk.low),
        pse_bits_difference=_bits_difference(before, after, pair.same),
        pie_bits_difference=after.pie_bits - before.pie_bits,
        most_exposed=pair.exposed,
        most_exposed_failing=pair.failing,
        outcome=outcome,
        newly_failed=fails_now(pair.old.verdict, pair.new.verdict),
        sentence=pair.sentence(risk, outcome, tolerance, [*hindrances, *caveats]),
        assumption=pair.assumption,
        warnings=[warning.sentence for warning in (*hindrances, *caveats)],
    )


def _outcome(risk: Difference, tolerance: float) -> Outcome:
    if risk.low > tolerance:
        return "risen"
    if risk.high < 0.0:
        return "fallen"
    return "not risen" if risk.high <= tolerance else "undecided"


def _bits_difference(old: Side, new: Side, same: bool) -> Difference | None:
    if same:
        return Difference(0.0, 0.0, 0.0)
    return None if old.pse_bits_over or new.pse_bits_over else difference(old.pse_bits, new.pse_bits)


def _results(document: Mapping[str, Any]) -> dict[str, Any]:
    """What makes two assessments the same: what was assessed, how, and with which results; not when or from where."""
    facts = {name: value for name, value in document["input"].items() if name != "source"}
    facts["columns"] = {role: found["column"] for role, found in facts.get("columns", {}).items()}  # guessed or named
    kept = ("split", "users", "items", "events", "attacks", "strongest", "headline", "pie_bits")
    return {"input": facts, **{name: document[name] for name in kept}}


@dataclass(frozen=True, slots=True)
class _Warning:
    """What makes two assessments hard to compare: in a few words where it is about the risk, and in a sentence."""

    topic: str | None
    sentence: str


_SPLIT = {
    "rule": "how events are split into known and attacked",
    "knowledge": "what the attacker knows",
    "train_events": "the number of events the attacker knows",
    "target_events": "the number of events attacked",
}
_INPUT = {
    "min_events": "the least number of events of a person",
}
_MECHANISM = "the attack does not know the mechanism and understates the risk; see `entropie guarantee`"


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two assessments; `same` where they are the same results of the same input."""

    old: Document
    new: Document
    same: bool

    @property
    def same_input(self) -> bool:
        return self.old.input.sha256 is not None and self.old.input.sha256 == self.new.input.sha256

    @property
    def exposed(self) -> list[ExposedChange]:
        return [] if self.same else exposed_changes(self.old, self.new)

    @property
    def failing(self) -> list[str]:
        return failing_now(self.old, self.new)

    @property
    def level(self) -> Literal["95 %", "at least 95 %"]:
        chosen_among = max(self.old.headline.chosen_among, self.new.headline.chosen_among)
        return "at least 95 %" if chosen_among > 1 else "95 %"

    @property
    def assumption(self) -> str:
        if self.same:
            return "The same people were attacked in the same way: the difference is zero and has no interval."
        wider = "results on the same people mostly rise and fall together, so these intervals are wider than necessary"
        if self.same_input and self.old.users == self.new.users:
            return f"The intervals take the two results for independent. Both are of the same people: {wider}."
        return f"The intervals take the two results for independent. Where many people are in both inputs, {wider}."

    def sentence(self, risk: Difference, outcome: Outcome, tolerance: float, warnings: Sequence[_Warning]) -> str:
        before, after = percent(self.old.headline.risk.value), percent(self.new.headline.risk.value)
        if outcome == "unchanged":
            unchanged = f"Unchanged: the same results of the same input; {before} of people are re-identified in both."
            return " ".join([*(warning.sentence for warning in warnings), unchanged])
        ends = f"{self.level} CI {points(risk.low).removesuffix(' points')} to {points(risk.high)}"
        moved = f"{after} of people are re-identified, before {before}: {points(risk.value)} ({ends})."
        bound = f"the accepted {stated(tolerance)} of people" if tolerance else "zero"
        meaning = {
            "risen": f"The risk has risen: the whole interval is above {bound}.",
            "fallen": "The risk has fallen: the whole interval is below zero.",
            "not risen": f"No rise: no part of the interval is above {bound}.",
            "undecided": f"No rise shown, and none ruled out: the interval lies on both sides of {bound}.",
            "not comparable": "Two different attacks do not show whether the risk rose.",
        }
        topics = "; ".join(warning.topic for warning in warnings if warning.topic)
        begin = "Not comparable: " if outcome == "not comparable" else "Read with care: "
        return f"{begin + topics + '. ' if topics else ''}{moved} {meaning[outcome]}"

    def hindrances(self) -> list[_Warning]:
        """What makes them two different attacks, so that no difference of theirs is a change of the data's risk."""
        warnings = _differing(self.old.split, self.new.split, "split", _SPLIT)
        if self.old.input.obfuscated != self.new.input.obfuscated:
            topic = f"only the {'old' if self.old.input.obfuscated else 'new'} data are reports of a mechanism"
            warnings.append(
                _Warning(f"{topic}, so their risk is understated", f"Not the same attack: {topic}; {_MECHANISM}.")
            )
        return warnings

    def caveats(self, outcome: Outcome) -> list[_Warning]:
        """What is to be known before relying on the difference."""
        old, new = self.old, self.new
        warnings = []
        if other := turned(old.verdict, new.verdict):
            warnings.append(_Warning(other, f"T{other[1:]}."))
        if outcome != "not comparable":
            warnings += [
                _Warning(None if outcome == "risen" else topic, sentence)  # a rise of all is no surprise among some
                for topic, sentence in told(self.exposed, self.failing)
            ]
        if old.input.obfuscated and new.input.obfuscated:
            topic = "both data are reports of a mechanism"
            warnings.append(_Warning(f"{topic}, so their risk is understated", f"{topic.capitalize()}; {_MECHANISM}."))
        warnings += _differing(old.input, new.input, "input", _INPUT, "Not the same choice of people")
        warnings += _unlike(old, new, same=self.same)
        covered, followed = (old.assessed, new.assessed), (old.users, new.users)
        before, now = covered if covered[0] != covered[1] else followed
        if before != now:
            warnings.append(_Warning(*grown(before, now)))
        over = [when for when, document in (("old", old), ("new", new)) if document.best.pse_bits.over]
        if over and not self.same:
            warnings.append(
                _Warning(
                    None,
                    f"The scores of the {' and the '.join(over)} assessment carry more bits than its data can show: "
                    f"the bits are a lower bound, and their difference is not known.",
                )
            )
        return warnings


def _unlike(old: Document, new: Document, *, same: bool) -> list[_Warning]:
    """What was not done alike: columns, attackers, and where the results differ the seed and the version too."""
    told: list[tuple[str, list[list[str]]]] = [
        (f"{role} columns", [[_column(document, role)] for document in (old, new)]) for role in ("user", "item", "time")
    ]
    judged: list[list[str]] = [
        sorted({row.attacker for row in document.attackers if row.in_scope}) for document in (old, new)
    ]
    run = [sorted(set(map(_attacker, document.attackers))) for document in (old, new)]
    told.append(("matchers", [sorted(attack.matcher for attack in document.attacks) for document in (old, new)]))
    told.append(("attackers judged", judged) if judged[0] != judged[1] else ("attackers run", run))
    if not same:
        told.append(("seeds", [[str(document.provenance.seed)] for document in (old, new)]))
        told.append(("versions of entropie", [[document.provenance.version] for document in (old, new)]))
    return [
        _Warning(
            f"the {what} differ",
            f"Read with care: the {what} differ ({', '.join(was) or 'none'}; now {', '.join(now) or 'none'}).",
        )
        for what, (was, now) in told
        if was != now
    ]


def _column(document: Document, role: str) -> str:
    found = document.input.columns.get(role)
    return "none" if found is None or found.column is None else found.column


def _attacker(row: Attacker) -> str:
    return row.attacker if row.points is None else f"{row.attacker} {row.points}"


def _differing(
    old: object, new: object, section: str, names: Mapping[str, str], begin: str = "Not the same attack"
) -> list[_Warning]:
    warnings = []
    for name, meaning in names.items():
        was, now = (getattr(part, name) for part in (old, new))
        if was != now:
            shown = f"{meaning} differs ({section}.{name} {_said(was)}, now {_said(now)})"
            warnings.append(_Warning(f"{meaning} differs", f"{begin}: {shown}."))
    return warnings


def _said(value: object) -> str:
    return "not set" if value is None else str(value)
