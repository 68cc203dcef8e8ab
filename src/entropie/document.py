"""The document of an assessment, `assessment.json`: typed once, read once, written once.

Documents travel as plain values (`dict`), as JSON has them; `typed` checks one and gives its parts by name. The JSON
Schema comes from these types.
"""

from __future__ import annotations

import datetime
import json
import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from entropie.atomic import write_file
from entropie.errors import InvalidInput

__all__ = ["SCHEMA", "Document", "converted", "plain", "read", "schema_of", "text_of", "typed", "write"]

SCHEMA = "entropie.assessment/1"
_AGAIN = "make it anew with `entropie assess`"

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]
AtLeastOne = Annotated[int, Meta(ge=1)]
Size = Annotated[float, Meta(ge=0)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Decision = Literal["PASS", "FAIL", "INCONCLUSIVE"]
Measure = Literal["average", "worst"]


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a document; it has the keys named here and no others."""


class ShareInterval(Part, frozen=True):
    """A share from 0 to 1 and the ends of its 95 % interval."""

    value: Share
    low: Share
    high: Share

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("the ends of an interval are the wrong way round")

    @property
    def complement(self) -> ShareInterval:
        """Risk from error, or error from risk: one minus it, the ends changed over."""
        return ShareInterval(1.0 - self.value, 1.0 - self.high, 1.0 - self.low)

    def times(self, factor: float) -> ShareInterval:
        """Value and ends times a factor from 0 to 1."""
        return ShareInterval(self.value * factor, self.low * factor, self.high * factor)


class BitsInterval(Part, frozen=True):
    """An amount of information in bits and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


class ScoreBits(Part, frozen=True):
    """Bits that scores carry about who a person is, in an unlimited population, with its 95 % interval."""

    value: float
    low: float
    high: float
    resolvable: Annotated[float, Meta(description="The most these data can show; a greater value is a lower bound.")]
    unmatched_genuine_share: Annotated[
        Share,
        Meta(description="Share of genuine scores where no impostor's lies; for them the bits are a lower bound."),
    ]

    @property
    def over(self) -> bool:
        """Whether they are more than the data can show."""
        return self.value > self.resolvable

    @property
    def shown(self) -> BitsInterval:
        """No more than the data can show."""
        return BitsInterval(*(min(end, self.resolvable) for end in (self.value, self.low, self.high)))


class EqualErrorRate(Part, frozen=True):
    """The error rate of a threshold that accepts strangers as often as it rejects people."""

    value: Share
    low: Share
    high: Share
    far: Share
    frr: Share
    interpolated: Share


class Guess(Part, frozen=True):
    """The attacker may name k people."""

    k: AtLeastOne
    error: Share
    low: Share
    high: Share


class RejectRate(Part, frozen=True):
    """People rejected where so many strangers are accepted; null with too few people to tell."""

    far: Share
    frr: Share | None
    low: Share | None
    high: Share | None


class ScoreHistograms(Part, frozen=True):
    """How the scores of the same person and of strangers are spread, in bins between the edges."""

    edges: list[float]
    genuine: list[Share]
    impostor: list[Share]


class ExposureGroup(Part, frozen=True):
    """People in order of how clear their match is, clearest first: from one share of them to another."""

    begins: Share = field(name="from")
    ends: Share = field(name="to")
    people: AtLeastOne
    right: ShareInterval


class Group(Part, frozen=True):
    """The people with the clearest match of one attack."""

    share: Share
    people: AtLeastOne
    right: ShareInterval


class MostExposed(Group, frozen=True):
    """The group at the highest risk that an attacker can pick out: the most exposed tenth of some attack, or everybody
    (share 1); its interval allows for the choice among the attacks.
    """

    matcher: str


class Exposure(Part, frozen=True):
    """How the risk is spread over people."""

    groups: Annotated[list[ExposureGroup], Meta(min_length=1)]
    most_exposed: Group


class PaperBits(Part, frozen=True):
    """The paper's nearest-neighbour estimate in bits, which depends on the jitter added."""

    value: float
    jitter: float
    seed: Count


class Control(Part, frozen=True):
    """The same attack with identities shuffled, where there is nothing to find."""

    identification_error: ShareInterval | None
    pse_bits: ScoreBits
    pse_finite_bits: BitsInterval
    equal_error_rate: EqualErrorRate


class Attack(Part, frozen=True):
    """One matcher on all pairs of people."""

    matcher: str
    knowledge: Literal["partial", "maximum"]
    users: Annotated[Count, Meta(description="Candidates for each target.")]
    targets: Annotated[Count, Meta(description="Traces attacked.")]
    impostors: Annotated[Count, Meta(description="Comparisons of different people.")]
    identification_error: ShareInterval | None
    guessing_error: Annotated[Share, Meta(description="Error of guessing: 1 - 1/users.")]
    lift: Annotated[float | None, Meta(description="How many times as many are re-identified as by chance.")]
    top_k: list[Guess]
    pse_bits: ScoreBits
    pse_finite_bits: Annotated[BitsInterval, Meta(description="Among as many people as there are.")]
    pse_paper_bits: PaperBits | None
    equal_error_rate: EqualErrorRate
    det: Annotated[
        list[tuple[Share, Share]], Meta(description="[share of impostors accepted, share of genuine rejected].")
    ]
    det_band: Annotated[
        list[tuple[Share, Share]], Meta(description="95 % interval of the genuine rejected, at the points of det.")
    ]
    frr_at_far: list[RejectRate]
    laws: ScoreHistograms
    rank_curve: Annotated[
        list[tuple[AtLeastOne, Share]], Meta(description="[k, share whose right person is among the k best].")
    ]
    exposure: Exposure | None
    null_baseline: Annotated[Control | None, Meta(description="The control; null where skipped.")]
    seconds: Size


class Headline(Part, frozen=True):
    """The strongest attack; its interval allows for the choice among all attacks."""

    matcher: str
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


class AttackerLevel(Part, frozen=True):
    """An attacker who knows less or more than the one assessed."""

    level: Literal["weak", "medium", "strong"]
    knows: str
    matcher: str
    identification_error: ShareInterval | None
    matchers_tried: Annotated[AtLeastOne, Meta(description="The interval allows for the choice among so many.")]


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


class Mechanism(Part, frozen=True):
    """What obfuscates; epsilon is null where infinite, hash values without hashing."""

    kind: Literal["rr", "glh"]
    domain_size: AtLeastOne
    hash_size: int | None
    prime: int | None
    collision_probability: Size | None
    epsilon: Size | None
    theta: Share


class Guarantee(Part, frozen=True):
    """What is proved whatever the attacker knows."""

    bayes_error: Share
    alpha_bits: float | None
    list_size: Count
    list_error: Share
    posterior_max: Share
    assumes: str


class ProtectionAttack(Part, frozen=True):
    """What our own attack got."""

    matcher: str
    identification_error: ShareInterval
    pse_bits: ScoreBits | None


class RelativeError(Part, frozen=True):
    """Mean relative error of the estimated shares of the most frequent items: 0.1 is 10 %."""

    relative_error: Size
    low: Size
    high: Size
    items: Count
    relative_error_thresholded: Annotated[Size, Meta(description="With estimates within the noise set to 0.")]


class Distribution(Part, frozen=True):
    """Summed absolute and squared errors over all items."""

    l1: Size
    l2: Size
    l1_thresholded: Size
    l2_thresholded: Size
    expected_l2: Size
    trivial_l2: Annotated[Size, Meta(description="The better of two estimates without data: all zero, all equal.")]


class Utility(Part, frozen=True):
    """What remains of the distribution of items."""

    top_20: RelativeError
    top_100: RelativeError
    distribution: Distribution
    trivial_top_20: Annotated[Size, Meta(description="Relative error of the better of two estimates without data.")]
    useful: Annotated[
        bool, Meta(description="Frequent items are off by at most half, and no estimate without data is as good.")
    ]
    repetitions: Count


class Protection(Part, frozen=True):
    """One way to hand over the data."""

    name: Literal["as it is", "pseudonyms alone", "randomized response", "local hashing"]
    mechanism: Mechanism | None
    reports_per_user: Count
    sends: Annotated[str, Meta(description="What each person hands over.")]
    events_sent: Count
    guarantee: Guarantee | None
    attack: ProtectionAttack
    utility: Utility | None
    recommended: Annotated[bool, Meta(description="At most one row; none where no setting keeps useful counts.")]
    sentence: str


class ProtectionGoal(Part, frozen=True):
    """Whether pseudonyms alone reach the wanted error, and what is advised."""

    bayes_error: Share
    pie_bits: float
    error_from_pie: Share
    error_known_all: Share | None
    error_of_any_data: Share
    error_measured: Share
    basis: Literal["all data", "these data", "measured", None]
    noise_needed: bool
    sentence: Annotated[str, Meta(description="Whether noise is needed.")]
    details: Annotated[str, Meta(description="Why: bits of one event, bounds, what is sent.")]
    recommendation: Annotated[
        str, Meta(description="Which row to take; or that no setting keeps useful counts, and what would help.")
    ]


class FrontierPoint(Part, frozen=True):
    """The best setting of one mechanism at one guaranteed error."""

    mechanism: Literal["rr", "glh"]
    wanted_error: Share
    bayes_error: Share
    attack_error: ShareInterval
    relative_error_top_20: Size
    relative_error_top_20_low: Size
    relative_error_top_20_high: Size
    epsilon: Size | None
    hash_size: int | None
    useful: Annotated[bool, Meta(description="Whether counts are worth having.")]
    recommended: bool


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


class Column(Part, frozen=True):
    """The column of a role, and how it was found."""

    column: str | None
    how: str


class Input(Struct, frozen=True):
    """What was read and what was excluded; empty for traces in memory."""

    source: str | None = None
    sha256: Sha256 | None = None
    rows: Count | None = None
    events: Count | None = None
    users: Count | None = None
    items: Count | None = None
    dropped: Annotated[dict[str, Count], Meta(description="Rows excluded, by reason.")] = {}
    duplicates: Count | None = None
    columns: dict[str, Column] = {}
    time_format: str | None = None
    order_only: bool = False
    min_events: Count | None = None
    dropped_users: Count = 0
    dropped_events: Count = 0
    sampled_users: Count | None = None
    obfuscated: Annotated[bool, Meta(description="The rows are reports of a mechanism.")] = False


class SplitFacts(Struct, frozen=True):
    """How traces were split into what the attacker knows and what is attacked."""

    converge: bool
    rule: Literal["halves", "history"] | None = None
    knowledge: Literal["partial", "maximum"] | None = None
    train_events: int | None = None
    target_events: int | None = None
    dropped_users: Count = 0


class Declared(Part, frozen=True):
    """What the user states and no data can show; null where nothing is stated."""

    attacker: str | None
    population: Annotated[int, Meta(ge=2)] | None
    context: str | None
    attempt_probability: Annotated[float, Meta(gt=0, le=1)] | None


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

    @property
    def measure(self) -> Measure:
        """The measure that comes closest to what the profile speaks of."""
        return "average" if self.speaks_of == "average" else "worst"


class AppliedWaiver(Part, frozen=True):
    """Who waives the limit, why and until when, and whether that holds here."""

    reason: str
    expires: datetime.date
    granted_by: str
    applies: bool
    reason_without_effect: str | None


class Verdict(Part, frozen=True):
    """A risk held against a limit.

    whom                  whom the number judged is about, with how many `people`, the `share` of those assessed
    judged_risk           the number judged: measured_risk times the declared probability of an attempt, if any
    people_needed         where the data cannot tell: how many people could, if the share stays the same
    without_declaration   the decision without the declared probability of an attempt
    on_most_exposed       the decision on the most exposed, where the limit is for them and the average was judged
    """

    decision: Decision
    headline: str
    sentence: str
    rests_on: list[str]
    profile: Profile
    measure: Measure
    whom: str
    people: AtLeastOne
    share: Share
    measured_risk: ShareInterval
    attempt_probability: Annotated[float, Meta(gt=0, le=1)] | None
    judged_risk: ShareInterval
    limit: Share
    people_needed: AtLeastOne | None
    without_declaration: Decision | None
    on_most_exposed: Decision | None
    waiver: AppliedWaiver | None

    @property
    def waived(self) -> bool:
        """Whether a waiver holds."""
        return self.waiver is not None and self.waiver.applies


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


class Provenance(Part, frozen=True):
    """How to make the document again."""

    version: str
    python: str
    date: Annotated[datetime.datetime, Meta(tz=True)]
    command: str | None
    seed: Count
    replicates: Count
    seconds: Size


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
    attacker_levels: list[AttackerLevel]
    identifying_items: IdentifyingItems
    protection: list[Protection]
    declared: Declared | None
    verdict: Annotated[Verdict | None, Meta(description="null where no limit was named.")]
    review: Review | None
    provenance: Provenance
    about: About = About(None, None, None, None, None, None)
    protection_goal: ProtectionGoal | None = None
    frontier: list[FrontierPoint] = []
    windows: list[Window] = []

    def __post_init__(self) -> None:
        if self.strongest >= len(self.attacks):
            raise ValueError(f"`strongest` is {self.strongest}, and there is no such attack")

    @property
    def best(self) -> Attack:
        """The attack that counts."""
        return self.attacks[self.strongest]


Typed = TypeVar("Typed")


def typed(document: Any) -> Document:
    """A plain document, checked whole, with its parts by name."""
    return _assessment(document, "The document")


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The plain document of an assessment on file, checked whole."""
    name = f"Assessment {path}"
    try:
        found = msgspec.json.decode(Path(path).read_bytes())
    except FileNotFoundError:
        raise InvalidInput(f"{name} does not exist; make one with `entropie assess`.") from None
    except (IsADirectoryError, PermissionError):
        raise InvalidInput(f"{name} cannot be read; name the file assessment.json.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InvalidInput(f"{name} is not whole JSON (damaged or cut off); {_AGAIN}.") from None
    _assessment(found, name)
    checked: dict[str, Any] = found
    return checked


def write(path: str | os.PathLike[str], document: dict[str, Any]) -> None:
    """Check a plain document and write it; the file appears whole or not at all."""
    write_file(path, text_of(document))


def text_of(document: dict[str, Any]) -> str:
    """Check a plain document; the text of its file."""
    typed(document)
    try:
        return json.dumps(document, indent=1, allow_nan=False) + "\n"
    except ValueError:
        raise InvalidInput("The document holds NaN or an infinite number, which JSON cannot; write null.") from None


def converted(value: Any, kind: type[Typed], what: str, remedy: str) -> Typed:
    """A plain value as a type, or one sentence that says where it is wrong."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as problem:
        text, _, place = str(problem).partition(" - at ")
        place = re.sub(r"^`\$\.?|`$", "", place)
        where = f" at `{place}`" if place else ""
        raise InvalidInput(f"{what} is wrong{where}: {text[:1].lower()}{text[1:]}; {remedy}.") from None


def plain(part: Struct) -> dict[str, Any]:
    """A part as JSON has it."""
    values: dict[str, Any] = msgspec.to_builtins(part)
    return values


def schema_of(kind: type[Struct]) -> dict[str, Any]:
    """The JSON Schema of a document's type."""
    return msgspec.json.schema(kind)


def _assessment(document: Any, name: str) -> Document:
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise InvalidInput(f"{name} must have the schema {SCHEMA}, got {schema!r} instead; {_AGAIN}.")
    try:
        return converted(document, Document, name, _AGAIN)
    except RecursionError:  # pragma: no cover - a type nests no deeper than a few levels
        raise InvalidInput(f"{name} is nested too deeply; {_AGAIN}.") from None
