"""Two assessments of tables with one row per person, side by side: did the risk rise?

Everybody was counted in both, so that the differences are exact for these people and have no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from entropie.document.base import Count, Part, Share
from entropie.document.measured import ShareInterval
from entropie.gate.comparison import Outcome, fails_now, grown, tolerated, turned
from entropie.gate.difference import Difference, difference
from entropie.mitigate.attribute_risk import AttributeRisk
from entropie.words import count, listed, percent, points, stated


class TableSide(Part, frozen=True):
    """What is compared of one assessment.

    identification_risk   share of people re-identified by whoever knows all columns named
    highest_risk          that of the people in the smallest groups
    """

    source: str
    sha256: str | None
    date: str
    people: Count
    columns: list[str]
    identification_risk: ShareInterval
    highest_risk: Share
    bits: float

    @classmethod
    def of(cls, document: AttributeRisk) -> TableSide:
        """Read it out of an assessment."""
        return cls(
            source=document.input.name,
            sha256=document.input.sha256,
            date=document.provenance.date.isoformat(),
            people=document.people,
            columns=[column.name for column in document.columns],
            identification_risk=document.exposed[-1].reidentified,
            highest_risk=document.exposed[0].reidentified.value,
            bits=document.together.bits,
        )


class TableComparison(Part, frozen=True):
    """New minus old: shares of people re-identified, on average and in the smallest groups, and bits.

    tolerance_error   largest rise of either share that is accepted
    outcome           risen: either is above the tolerance; fallen: neither rose and one fell
    newly_failed      whether the new verdict is FAIL and the old one was not
    """

    schema: Literal["entropie.table-comparison/1"]
    old: TableSide
    new: TableSide
    same_input: bool
    tolerance_error: float
    risk_difference: Difference
    highest_difference: float
    bits_difference: float
    outcome: Outcome
    newly_failed: bool
    sentence: str
    assumption: str
    warnings: list[str]

    def __repr__(self) -> str:
        sides = f"{count(self.old.people)} people before, {count(self.new.people)} now"
        return "\n".join([f"Comparison of {sides}: {self.outcome}", f"  {self.sentence}"])

    def exit_code(self, strict: bool = False) -> int:
        """1 the risk has risen or a limit fails now, else 0; nothing is left open, and `strict` changes nothing."""
        return 1 if self.outcome == "risen" or self.newly_failed else 0


def compare(old: AttributeRisk, new: AttributeRisk, given: float | str = 0.0) -> TableComparison:
    """Compare two assessments; a rise of the risk by up to this share is accepted."""
    tolerance = tolerated(given)
    before, after = TableSide.of(old), TableSide.of(new)
    average = difference(before.identification_risk, after.identification_risk)
    highest = after.highest_risk - before.highest_risk
    same_input = before.sha256 is not None and before.sha256 == after.sha256
    same = same_input and old.together == new.together
    outcome = _outcome((average.value, highest), tolerance, same)
    told = _warnings(old, new)
    return TableComparison(
        schema="entropie.table-comparison/1",
        old=before,
        new=after,
        same_input=same_input,
        tolerance_error=tolerance,
        risk_difference=average,
        highest_difference=highest,
        bits_difference=after.bits - before.bits,
        outcome=outcome,
        newly_failed=fails_now(old.verdict, new.verdict),
        sentence=_sentence(before, after, outcome, tolerance),
        assumption="Everybody in both tables was counted: the differences are exact for these people.",
        warnings=told,
    )


def _outcome(rises: Sequence[float], tolerance: float, same: bool) -> Outcome:
    if same:
        return "unchanged"
    if max(rises) > tolerance:
        return "risen"
    return "fallen" if max(rises) <= 0.0 and min(rises) < 0.0 else "not risen"


def _sentence(old: TableSide, new: TableSide, outcome: Outcome, tolerance: float) -> str:
    before, after = old.identification_risk.value, new.identification_risk.value
    if outcome == "unchanged":
        return f"Unchanged: the same columns of the same table; {percent(before)} of people are re-identified in both."
    bound = f"the accepted {stated(tolerance)} of people" if tolerance else "zero"
    meaning = {
        "risen": f"The risk has risen by more than {bound}.",
        "fallen": "The risk has fallen.",
        "not risen": f"No rise by more than {bound}.",
    }[outcome]
    return (
        f"{percent(after)} of people are re-identified, before {percent(before)} ({points(after - before)}); in the "
        f"smallest groups {percent(new.highest_risk)}, before {percent(old.highest_risk)} "
        f"({points(new.highest_risk - old.highest_risk)}). {meaning}"
    )


def _warnings(old: AttributeRisk, new: AttributeRisk) -> list[str]:
    """What is to be known before relying on the difference."""
    warnings = []
    if other := turned(old.verdict, new.verdict):
        warnings.append(f"T{other[1:]}.")
    was, now = ([column.name for column in document.columns] for document in (old, new))
    if was != now:
        warnings.append(f"Read with care: the columns differ ({listed(was)}; now {listed(now)}).")
    if old.people != new.people:
        warnings.append(grown(old.people, new.people)[1])
    return warnings
