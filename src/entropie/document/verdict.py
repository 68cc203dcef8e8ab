"""A risk held against a limit: what is declared, which limit, which waiver, and the decision."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from msgspec import Meta

from entropie.document.base import AtLeastOne, Part, Share
from entropie.document.measured import ShareInterval

Outcome = Literal["PASS", "FAIL", "INCONCLUSIVE"]
"""What numbers say."""

Decision = Literal["PASS", "PASS (limited)", "FAIL", "INCONCLUSIVE"]
"""What is decided. A PASS that rests on less than the whole assessment is another value, so that whoever compares with
PASS does not take the one for the other."""

Measure = Literal["average", "worst"]


class Declared(Part, frozen=True):
    """What the user states and no data can show; null where nothing is stated."""

    attacker: str | None
    population: Annotated[int, Meta(ge=2)] | None
    context: str | None
    attempt_probability: Annotated[float, Meta(gt=0, le=1)] | None
    excluded_not_released: Annotated[bool, Meta(description="Who and what was left out will not be released.")] = False
    one_id_per_person: Annotated[bool, Meta(description="No two ids are of the same person.")] = False
    judge_population: Annotated[bool, Meta(description="The risk among the population declared is judged.")] = False
    made_by_mechanism: Annotated[bool, Meta(description="Reports were made by the mechanism of their parameters.")] = (
        False
    )


class Profile(Part, frozen=True):
    """A named limit."""

    name: str
    title: str
    limit: Annotated[float, Meta(gt=0, lt=1)]
    speaks_of: Annotated[
        Literal["average", "maximum"], Meta(description="The risk it is for: of all people, or of any one person.")
    ]
    source: str
    note: Annotated[str, Meta(description="What to know before using it.")]
    smallest_group: Annotated[
        AtLeastOne | None, Meta(description="The group that the limit is rounded from: one in so many meets it.")
    ] = None

    @property
    def measure(self) -> Measure:
        """The measure that comes closest to what the profile speaks of."""
        return "average" if self.speaks_of == "average" else "worst"

    @property
    def exact_limit(self) -> float:
        """The limit of a risk that is known and not measured: 0.09 stands for one in 11, which is a little more."""
        return max(self.limit, 1.0 / self.smallest_group) if self.smallest_group else self.limit


class AppliedWaiver(Part, frozen=True):
    """Who waives the limit, why and until when, and whether that holds here."""

    reason: str
    expires: datetime.date
    granted_by: str
    applies: bool
    reason_without_effect: str | None


class Verdict(Part, frozen=True):
    """A risk held against a limit.

    limits                what narrows the assessment, in sentences; with any of them a PASS is limited
    limits_accepted       whether a limited PASS was declared to be enough: the exit code is 0, else 3
    unsettled             why there is no PASS although the number judged is within the limit, in sentences
    attacker, knows       the attacker whose number is judged, and what they know
    whom                  whom the number judged is about, with how many `people`, the `share` of those assessed
    judged_risk           the number judged: measured_risk times the declared probability of an attempt, if any
    people_needed         where the data cannot tell: how many people could, if the share stays the same
    without_declaration   the decision without the declared probability of an attempt
    on_most_exposed       the decision on the most exposed, where the average was judged
    """

    decision: Decision
    headline: str
    sentence: str
    rests_on: list[str]
    limits: list[str]
    limits_accepted: bool
    unsettled: list[str]
    profile: Profile
    measure: Measure
    attacker: str
    knows: str
    whom: str
    people: AtLeastOne
    share: Share
    measured_risk: ShareInterval
    attempt_probability: Annotated[float, Meta(gt=0, le=1)] | None
    judged_risk: ShareInterval
    limit: Share
    people_needed: AtLeastOne | None
    without_declaration: Outcome | None
    on_most_exposed: Outcome | None
    waiver: AppliedWaiver | None
    goal: Annotated[
        str | None, Meta(description="Of a table: what `entropie generalise` must reach, as its options have it.")
    ] = None

    @property
    def waived(self) -> bool:
        """Whether a waiver holds."""
        return self.waiver is not None and self.waiver.applies
