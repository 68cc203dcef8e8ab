"""The document of an assessment, `assessment.json`: typed once, read once, written once.

Documents travel as plain values (`dict`), as JSON has them; `typed` checks one and gives its parts by name. The JSON
Schema comes from these types.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from entropie.contents import read_bytes
from entropie.document.base import (
    AtLeastOne,
    Count,
    Input,
    Part,
    Provenance,
    Share,
    Size,
    converted,
    json_text,
    parsed,
)
from entropie.document.measured import Attack, BitsInterval, MostExposed, ScoreBits, ShareInterval
from entropie.document.protection import FrontierPoint, ProtectionGoal, ProtectionRow
from entropie.document.verdict import Declared, Verdict
from entropie.errors import InvalidInput, printable

SCHEMA = "entropie.assessment/1"
Day = Annotated[str, Meta(pattern=r"^-?[0-9]{4,}-[0-9]{2}-[0-9]{2}$")]
FILE = "assessment.json"
_FOLDERS_LISTED = 10
_AGAIN = "make it anew with `entropie assess`"


class Headline(Part, frozen=True):
    """The strongest attacker in scope; the interval allows for the choice among all of them."""

    attacker: str
    knows: str
    people: Annotated[AtLeastOne, Meta(description="People attacked.")]
    identification_error: ShareInterval
    most_exposed: MostExposed
    chosen_among: AtLeastOne
    null_identification_error: Annotated[
        Share | None, Meta(description="The least error of all attacks on the control.")
    ]

    @property
    def risk(self) -> ShareInterval:
        """Share of people re-identified."""
        return self.identification_error.complement


class ConvergencePoint(Part, frozen=True):
    """Bits of so many people."""

    users: Count
    pse_bits: ScoreBits


class Convergence(Part, frozen=True):
    """Bits against number of people."""

    points: list[ConvergencePoint]
    slope_bits_per_doubling: BitsInterval
    tolerance_bits: float
    settled: bool | None
    limited: bool


class KnownEvents(Part, frozen=True):
    """The attack with so many events known; train_events is null for all of them."""

    train_events: AtLeastOne | None
    matcher: str
    identification_error: ShareInterval | None
    matchers_tried: Annotated[AtLeastOne, Meta(description="The interval allows for the choice among so many.")]
    pse_bits: ScoreBits


class WithinGuesses(Part, frozen=True):
    """The attacker may name k people."""

    k: AtLeastOne
    error: Share


class TailGroup(Part, frozen=True):
    """The people whose match is clearest: this share of them, at least 20 people, or all. The interval is its own."""

    share: Share
    people: AtLeastOne
    reidentified: ShareInterval
    alike: Annotated[
        AtLeastOne, Meta(description="Clearest by how far the best so many candidates stand ahead of the others.")
    ] = 1


class LookAlikes(Part, frozen=True):
    """How often the id named is the right one or one that points back at it, and how often that is by chance."""

    guesses: AtLeastOne
    found: ShareInterval
    chance: Share


class Attacker(Part, frozen=True):
    """One attacker by what it knows; intervals are over people, each by itself."""

    attacker: Literal["points", "profile", "crowd", "joint", "known-file", "reports"]
    knows: str
    points: Annotated[AtLeastOne | None, Meta(description="Random events known of the released trace.")]
    time_resolution: str | None
    item_resolution: str | None
    matcher: Annotated[str | None, Meta(description="How traces are compared; `fused`: by all evidence together.")]
    people: Annotated[AtLeastOne, Meta(description="Candidates.")]
    targets: Annotated[AtLeastOne, Meta(description="People attacked.")]
    reidentified: ShareInterval
    unicity: Annotated[ShareInterval | None, Meta(description="Share of people who are the only candidate.")]
    control: Annotated[ShareInterval | None, Meta(description="Identities shuffled; null where skipped.")]
    top_k: list[WithinGuesses]
    tail: list[TailGroup]
    failed: Annotated[bool, Meta(description="Significantly worse than guessing: the model is wrong.")]
    look_alikes: Annotated[LookAlikes | None, Meta(description="Ids that behave as one; null where not looked for.")]
    in_scope: Annotated[bool, Meta(description="Whether it is judged.")]
    seconds: Size


NAMES = {
    "points": "known events",
    "profile": "earlier behaviour",
    "crowd": "... against all traces",
    "joint": "... matched one-to-one",
    "known-file": "the attacker's own file",
    "reports": "knows the mechanism",
}
"""What people call the attackers."""


def leading(rows: Sequence[Any]) -> list[int]:
    """The row that speaks for each attacker, in the order of `NAMES`: the strongest; of points four, finest first.

    Rows are those of a document or of findings.
    """
    places = []
    for name in NAMES:
        mine = [place for place, row in enumerate(rows) if row.attacker == name]
        if name == "points":
            mine = [place for place in mine if rows[place].points == 4][:1]
        places += sorted(mine, key=lambda place: -rows[place].reidentified.value)[:1]
    return places


class ProjectionFit(Part, frozen=True):
    """How likely strangers beat people: Beta(a, b) for the share `informed`; and what parts of the crowd predict."""

    a: Size
    b: Size
    informed: Annotated[Share, Meta(description="The others' ranks are uniform: the scores say nothing of them.")]
    half_sample_predicted: Size
    eighth_sample_predicted: Size
    half_sample_found: Annotated[Share, Meta(description="What was found among all; both must come close to it.")]
    good: bool


class Projection(Part, frozen=True):
    """The share re-identified among more people than are at hand."""

    population: AtLeastOne
    attacker: Annotated[str | None, Meta(description="Who in scope may re-identify most among so many.")]
    knows: str | None
    reidentified: Annotated[ShareInterval | None, Meta(description="null where it cannot be told.")]
    fit: ProjectionFit | None
    reason: Annotated[str | None, Meta(description="Why nothing is projected.")]
    judged: Annotated[bool, Meta(description="Whether the verdict rests on it.")] = False

    @property
    def most(self) -> float:
        """The upper end; above every share where it cannot be told."""
        return 2.0 if self.reidentified is None else self.reidentified.high


class Item(Part, frozen=True):
    """An item that enough people have to be named; bits are its part of pie_bits."""

    item: str
    people: Annotated[int, Meta(ge=10)]
    share_of_events: Share
    bits: float
    bits_per_event: Annotated[Size, Meta(description="What one event at this item says about who did it.")]


class ItemSum(Part, frozen=True):
    """Several items together; bits are their part of pie_bits."""

    items: Count
    share_of_events: Share
    bits: float


class IdentifyingItems(Part, frozen=True):
    """Each item's part of pie_bits; items of fewer people than smallest_group are not named."""

    smallest_group: Count
    shown: list[Item]
    other: ItemSum
    rare: ItemSum


class Window(Part, frozen=True):
    """The attack on one window of time; `to` is the first day or minute no longer in it."""

    begins: str = field(name="from")
    ends: str = field(name="to")
    users: Count
    events: Count
    complete: Annotated[bool, Meta(description="false where the data end before the window does.")]
    identification_error: ShareInterval | None
    pse_bits: ScoreBits | None
    matcher: str | None
    reason: Annotated[str | None, Meta(description="Why it was not attacked; null where it was.")]
    attacker: Annotated[str | None, Meta(description="The strongest attacker in scope, whose error it is.")] = None
    knows: str | None = None
    attackers_run: Annotated[list[str], Meta(description="The attackers in scope.")] = field(default_factory=list)

    def __post_init__(self) -> None:
        for moment in (self.begins, self.ends):
            datetime.datetime.fromisoformat(moment)


class SplitFacts(Struct, frozen=True):
    """How traces were split into what the attacker knows and what is attacked."""

    converge: bool
    rule: Literal["date", "halves", "history"] | None = None
    cut: Annotated[Day | None, Meta(description="First day attacked, under rule date.")] = None
    knowledge: Literal["partial", "maximum"] | None = None
    train_events: int | None = None
    target_events: int | None = None
    dropped_users: Count = 0


class Review(Part, frozen=True):
    """When to look again."""

    date: datetime.date


class About(Part, frozen=True):
    """Who answers for the assessment."""

    title: str | None
    organisation: str | None
    author: str | None
    purpose: str | None
    recipient: str | None
    data_version: str | None


class Document(Part, frozen=True):
    """How identifiable the people behind some events are."""

    schema: Literal["entropie.assessment/1"]
    input: Input
    split: SplitFacts
    users: Annotated[int, Meta(ge=2)]
    items: Count
    events: Count
    attacks: Annotated[list[Attack], Meta(min_length=1)]
    guessing_error: Annotated[Share, Meta(description="Error of guessing: 1 - 1/users.")]
    name_bits: Annotated[float, Meta(description="log2(users).")]
    pie_bits: Annotated[float, Meta(description="Information of one event, exact for these data.")]
    pie_null_bits: Annotated[float, Meta(description="The same with all events shuffled: chance alone.")]
    strongest: Annotated[Count, Meta(description="Index of the attack that counts.")]
    headline: Headline
    convergence: Convergence | None
    by_known_events: Annotated[list[KnownEvents], Meta(description="Fewer events known, and last all of them.")]
    attackers: list[Attacker]
    identifying_items: IdentifyingItems
    protection: list[ProtectionRow]
    declared: Declared | None
    verdict: Annotated[Verdict | None, Meta(description="null where no limit was named.")]
    review: Review | None
    provenance: Provenance
    about: About = About(None, None, None, None, None, None)
    protection_goal: ProtectionGoal | None = None
    frontier: list[FrontierPoint] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    projection: Annotated[Projection | None, Meta(description="null where no population was declared.")] = None

    def __post_init__(self) -> None:
        if self.strongest >= len(self.attacks):
            raise ValueError(f"`strongest` is {self.strongest}, and there is no such attack")

    @property
    def assessed(self) -> int:
        """People whom an attacker in scope covers."""
        return max((row.people for row in self.attackers if row.in_scope), default=0)

    @property
    def best(self) -> Attack:
        """The attack that counts."""
        return self.attacks[self.strongest]


def typed(document: Any) -> Document:
    """A plain document, checked whole, with its parts by name."""
    return _assessment(document, "The document")


def file_of(place: str | os.PathLike[str]) -> Path:
    """The file of an assessment: itself, or the one in the folder that `assess --out` wrote."""
    path = Path(place)
    if not path.is_dir():
        return path
    if not (path / FILE).is_file():
        inside = sorted(printable(found.parent.name) for found in path.glob(f"*/{FILE}"))
        others = ", ".join(inside[:_FOLDERS_LISTED]) + (", ..." if len(inside) > _FOLDERS_LISTED else "")
        remedy = f"name one of the folders in it: {others}" if inside else "make one with `entropie assess --out`"
        raise InvalidInput(f"Folder {printable(str(path))} holds no {FILE}; {remedy}.")
    return path / FILE


def read(place: str | os.PathLike[str]) -> dict[str, Any]:
    """The plain document of an assessment on file, or in the folder it was written to; checked whole."""
    path = file_of(place)
    name = f"Assessment {printable(str(path))}"
    values: dict[str, Any] = parsed(read_bytes(path, name, "make one with `entropie assess`"), name, _AGAIN)
    _assessment(values, name)
    return values


def text_of(document: dict[str, Any]) -> str:
    """Check a plain document; the text of its file."""
    typed(document)
    return json_text(document)


def _assessment(document: Any, name: str) -> Document:
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise InvalidInput(f"{name} must have the schema {SCHEMA}, got {schema!r:.60} instead; {_AGAIN}.")
    return converted(document, Document, name, _AGAIN)
