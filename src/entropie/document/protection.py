"""Ways to hand over the data side by side: what is guaranteed, what an attack still gets, what counts remain."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from entropie.document.base import AtLeastOne, Count, Part, Share, Size
from entropie.document.ledger import AllReports
from entropie.document.measured import ScoreBits, ShareInterval


class Mechanism(Part, frozen=True):
    """What obfuscates; epsilon is null where infinite, hash values without hashing."""

    kind: Literal["rr", "glh"]
    domain_size: AtLeastOne
    hash_size: int | None
    prime: int | None
    collision_probability: Size | None
    epsilon: Size | None
    theta: Share


class ProtectionGuarantee(Part, frozen=True):
    """What is proved whatever the attacker knows: of one person's reports leaked alone, and of `all_reports`."""

    bayes_error: Share
    alpha_bits: float | None
    list_size: Count
    list_error: Share
    posterior_max: Share
    assumes: str
    all_reports: AllReports


class ProtectionAttack(Part, frozen=True):
    """What our own attack got."""

    matcher: str
    identification_error: ShareInterval
    pse_bits: ScoreBits | None


class RelativeError(Part, frozen=True):
    """Mean relative error of the estimated shares of the most frequent items: 0.1 is 10 %.

    low, high   where it lies in 95 % of further collections
    of_all      against all attacked events of these people instead of those that are sent
    """

    relative_error: Size
    low: Size
    high: Size
    items: Count
    relative_error_unbiased: Size
    relative_error_thresholded: Annotated[Size, Meta(description="With estimates within the noise set to 0.")]
    of_all: Size


class Distribution(Part, frozen=True):
    """Summed absolute and squared errors over all items: unbiased, as a distribution, with small estimates set to 0."""

    l1: Size
    l1_consistent: Size
    l1_thresholded: Size
    l2: Size
    l2_consistent: Size
    l2_thresholded: Size
    expected_l2: Size
    trivial_l2: Annotated[Size, Meta(description="The better of two estimates without data: all zero, all equal.")]


class Utility(Part, frozen=True):
    """What remains of the distribution of items."""

    top_20: RelativeError
    top_100: RelativeError
    estimate: Annotated[
        Literal["exact", "unbiased", "consistent"],
        Meta(description="Which estimates the relative errors are of: those that come closer to the top 20."),
    ]
    distribution: Distribution
    trivial_top_20: Annotated[Size, Meta(description="Relative error of the better of two estimates without data.")]
    useful: Annotated[
        bool, Meta(description="Frequent items are off by at most half, and no estimate without data is as good.")
    ]
    repetitions: Count


class ProtectionRow(Part, frozen=True):
    """One way to hand over the data."""

    name: Literal["as it is", "pseudonyms alone", "randomized response", "local hashing"]
    mechanism: Mechanism | None
    reports_per_user: Count
    sends: Annotated[str, Meta(description="What each person hands over.")]
    events_sent: Count
    guarantee: ProtectionGuarantee | None
    attack: ProtectionAttack
    utility: Utility
    recommended: Annotated[bool, Meta(description="At most one row; none where no setting keeps useful counts.")]
    sentence: str
    known_events: Annotated[
        ProtectionAttack | None,
        Meta(description="What an attacker gets who knows events that are sent themselves; null where out of scope."),
    ] = None


class ProtectionGoal(Part, frozen=True):
    """The wanted error rate, and the paper's rule: where one event says little about its person, no noise is needed.

    pie_bits           I(U;X): what one event, drawn from its person's history, says about the person
    error_from_pie     what Fano's inequality makes of these bits (t times as many for t events)
    error_known_all    the exact error of an attacker who knows everybody's habits, for such an event (one only)
    error_of_any_data  what holds for all data of this size: 1 - k/n, where there are fewer items than people
    error_measured     lower end of the interval of the attack on pseudonyms, by earlier behaviour or by known events
    basis              which of these meets the goal without noise; null where none does
    """

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
    not_run: Annotated[
        list[str], Meta(description="Attackers in scope that were not run on what is sent with noise or in part.")
    ] = field(default_factory=list)

    def bound_is_beaten(self, error: float) -> bool:
        """Whether an attack on the first events does better than any attack can on events drawn at random."""
        return error < max(self.error_from_pie, self.error_known_all or 0.0) - 1e-9


class FrontierPoint(Part, frozen=True):
    """The best setting of one mechanism at one guaranteed error."""

    mechanism: Literal["rr", "glh"]
    wanted_error: Share
    bayes_error: Share
    list_error: Annotated[Share, Meta(description="Guaranteed error rate of an attacker with several guesses.")]
    attack_error: ShareInterval
    relative_error_top_20: Size
    relative_error_top_20_low: Size
    relative_error_top_20_high: Size
    epsilon: Size | None
    hash_size: int | None
    useful: Annotated[bool, Meta(description="Whether counts are worth having.")]
    recommended: bool
