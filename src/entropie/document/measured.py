"""What is measured on scores: intervals, bits, error rates, and how the risk is spread over people."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from msgspec import Meta, field

from entropie.document.base import AtLeastOne, Count, Part, Share, Size


class Interval(Part, frozen=True):
    """An estimate and the ends of its 95 % interval, in the unit of the name it is stored under."""

    value: float
    low: float
    high: float

    @property
    def complement(self) -> Self:
        """Risk from error, or error from risk: one minus it, the ends changed over."""
        return type(self)(1.0 - self.value, 1.0 - self.high, 1.0 - self.low)


class ShareInterval(Interval, frozen=True):
    """A share from 0 to 1 and the ends of its 95 % interval."""

    value: Share
    low: Share
    high: Share

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("the ends of an interval are the wrong way round")

    def times(self, factor: float) -> ShareInterval:
        """Value and ends times a factor from 0 to 1."""
        return ShareInterval(self.value * factor, self.low * factor, self.high * factor)


class BitsInterval(Interval, frozen=True):
    """An amount of information in bits and the ends of its 95 % interval."""


class ScoreBits(Interval, frozen=True):
    """Bits that scores carry about who a person is, in an unlimited population, with its 95 % interval."""

    resolvable: Annotated[float, Meta(description="The most these data can show; a greater value is a lower bound.")]
    unmatched_genuine_share: Annotated[
        Share,
        Meta(description="Share of genuine scores where no impostor's lies; for them the bits are a lower bound."),
    ]
    at_least: Annotated[
        bool, Meta(description="One-sided: the bits are at least `low`, and may be more than `high`.")
    ] = False

    @property
    def over(self) -> bool:
        """Whether they are more than the data can show."""
        return self.value > self.resolvable

    @property
    def shown(self) -> BitsInterval:
        """No more than the data can show."""
        return BitsInterval(*(min(end, self.resolvable) for end in (self.value, self.low, self.high)))


class EqualErrorRate(ShareInterval, frozen=True):
    """The error rate of a threshold that accepts strangers as often as it rejects people."""

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

    def __post_init__(self) -> None:
        if len({end is None for end in (self.frr, self.low, self.high)}) > 1:
            raise ValueError("a rate and its interval are null together or not at all")


class ScoreHistograms(Part, frozen=True):
    """How the scores of the same person and of strangers are spread, in bins between the edges."""

    edges: list[float]
    genuine: list[Share]
    impostor: list[Share]

    def __post_init__(self) -> None:
        if not len(self.edges) - 1 == len(self.genuine) == len(self.impostor) > 0:
            raise ValueError("a histogram has one share of each kind between two edges")


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
    """The group at the highest risk that an attacker in scope can pick out, or everybody (share 1); its interval allows
    for the search over groups and attackers.
    """

    attacker: str


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


class Measured(Part, frozen=True):
    """Everything measured on one set of scores; null where only pooled scores are known."""

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


class Attack(Measured, frozen=True):
    """One matcher on all pairs of people."""

    matcher: str
    knowledge: Literal["partial", "maximum"]
    null_baseline: Annotated[Control | None, Meta(description="The control; null where skipped.")]
    seconds: Size


class Scores(Measured, frozen=True):
    """The scores of another matcher, and what was excluded of them."""

    failed_comparisons: Annotated[Count, Meta(description="Whatever was done with them.")]
    probes_without_genuine: Annotated[Count, Meta(description="Compared with others only: nobody to identify.")]
