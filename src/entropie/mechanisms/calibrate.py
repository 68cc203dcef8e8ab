"""The setting that guarantees a wanted Bayes error, what it costs, and what the paper's bound would have asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from entropie.document.base import Part, Sha256, Share, Unlimited
from entropie.errors import InvalidParameter, Unreachable
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.parameters import Parameters, parameters_id, to_document
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.notebook import html_table
from entropie.theory import checks, paper
from entropie.theory.calibration import hash_size_for, largest_theta
from entropie.theory.guarantee import ChannelParameters, Guarantee, certified_success
from entropie.theory.loss import CountingRates, detectable_share
from entropie.theory.special import epsilon_of

MechanismName = Literal["rr", "glh", "auto"]
Calibrated = RandomizedResponse | LocalHashing


class ExpectedLoss(Part, frozen=True):
    """What the estimates will be good for, one report per user counted; null where infinite.

    l2_sum              expected sum of squared errors over the whole domain
    rare_item_sd        standard error of the share of an item that hardly anybody has
    share_1pct_sd       standard error of the share of an item that 1 % of the reports are about
    detectable_share    smallest estimate that stands out from noise (exact, Bonferroni, 5 %)
    """

    l2_sum: Unlimited
    rare_item_sd: Unlimited
    share_1pct_sd: Unlimited
    detectable_share: Unlimited

    @classmethod
    def of(cls, rates: CountingRates, domain_size: int, reports: int) -> ExpectedLoss:
        """The loss of estimates from this many reports."""
        return cls(
            l2_sum=rates.l2_sum(domain_size, reports),
            rare_item_sd=rates.l2(0.0, reports) ** 0.5,
            share_1pct_sd=rates.l2(0.01, reports) ** 0.5,
            detectable_share=detectable_share(rates, reports, domain_size),
        )


class PaperSetting(Part, frozen=True):
    """What the paper's own bound allows for the same target; null where it guarantees nothing."""

    epsilon: Unlimited
    theta: Share
    l2_sum: Unlimited


class Pseudonyms(Part, frozen=True):
    """What pseudonyms alone guarantee."""

    information_bits: float
    bayes_error: Share
    bayes_error_paper: Share


class Setting(Part, frozen=True):
    """A setting that guarantees the same, and what it costs."""

    guarantee: Guarantee
    expected_loss: ExpectedLoss


class CalibrationDocument(Part, frozen=True):
    """The goal is reached."""

    bayes_error_wanted: Share
    noise_needed: bool
    pseudonymisation: Pseudonyms
    parameters: Parameters
    parameters_id: Annotated[Sha256, Meta(description="SHA-256 of the canonical parameter document.")]
    guarantee: Guarantee
    expected_loss: ExpectedLoss
    paper: PaperSetting | None
    alternatives: list[Setting]


class UnreachableDocument(Part, frozen=True):
    """No mechanism reaches the goal; the exit code is 1."""

    bayes_error_wanted: Share
    reachable: Annotated[bool, Meta(extra_json_schema={"const": False})]
    reason: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """A mechanism that guarantees the same and was not chosen."""

    mechanism: Calibrated
    guarantee: Guarantee
    expected_loss: ExpectedLoss


@dataclass(frozen=True, slots=True)
class Calibration:
    """The outcome: a mechanism, its guarantee, its expected loss, and the alternatives it was chosen from."""

    bayes_error_wanted: float
    mechanism: Calibrated
    guarantee: Guarantee
    expected_loss: ExpectedLoss
    paper: PaperSetting | None
    pseudonymisation: Guarantee
    alternatives: tuple[Alternative, ...]

    @property
    def noise_needed(self) -> bool:
        """Whether pseudonymisation alone falls short of the target."""
        return self.mechanism.theta < 1.0

    def to_json(self) -> dict[str, Any]:
        """The document of `calibrate`; what is infinite becomes None."""
        bare = self.pseudonymisation
        return CalibrationDocument(
            bayes_error_wanted=self.bayes_error_wanted,
            noise_needed=self.noise_needed,
            pseudonymisation=Pseudonyms(bare.alpha_bits, bare.bayes_error, bare.bayes_error_paper),
            parameters=json.loads(to_document(self.mechanism)),
            parameters_id=parameters_id(self.mechanism),
            guarantee=self.guarantee,
            expected_loss=self.expected_loss,
            paper=self.paper,
            alternatives=[Setting(other.guarantee, other.expected_loss) for other in self.alternatives],
        ).to_json()

    def _repr_html_(self) -> str:
        loss = msgspec.structs.asdict(self.expected_loss)
        return self.guarantee._repr_html_() + html_table("expected loss", ("measure", "value"), loss.items())


def calibrate(
    *,
    users: int,
    domain_size: int,
    bayes_error: float,
    mechanism: MechanismName = "auto",
    hash_size: int | None = None,
    reports: int = 1,
    list_size: int = 1,
    prior_max: float | None = None,
) -> Calibration:
    """The mechanism with the most truth whose certified error stays at `bayes_error` or above.

    With `list_size` the guarantee is about an attacker with that many guesses, with `reports` about that many reports
    per user. "auto" takes the smaller expected loss summed over the domain.
    """
    users = checks.whole_number("users", users)
    domain_size = checks.whole_number("domain", domain_size, at_least=2)
    reports, list_size = checks.whole_number("reports", reports), checks.whole_number("list", list_size)
    if mechanism not in ("rr", "glh", "auto"):
        raise InvalidParameter.of("mechanism", "rr, glh or auto", mechanism)
    if hash_size is not None:
        hash_size = checks.whole_number("hash_size", hash_size, at_least=2)
        if mechanism == "rr":
            raise InvalidParameter.of("hash_size", "absent for randomized response, which does not hash", hash_size)

    def success(theta: float, answers: int | None) -> float:
        channel = ChannelParameters("", domain_size, epsilon_of(theta, answers or domain_size), answers, theta=theta)
        return certified_success(channel, users, reports, list_size, prior_max)

    def guaranteed(by: Calibrated | Identity) -> Guarantee:
        return by.guarantee(users=users, reports=reports, list_size=list_size, prior_max=prior_max)

    made: list[Calibrated] = []
    if mechanism in ("rr", "auto"):
        theta = largest_theta(lambda t: success(t, None), bayes_error)
        made.append(RandomizedResponse.from_theta(domain_size=domain_size, theta=theta))
    if mechanism in ("glh", "auto"):
        g = hash_size or hash_size_for(largest_theta(lambda t: success(t, None), bayes_error), domain_size)
        theta = largest_theta(lambda t: success(t, g), bayes_error)
        made.append(LocalHashing.from_theta(domain_size=domain_size, hash_size=g, theta=theta))
    priced = sorted(
        ((choice, ExpectedLoss.of(choice.rates, domain_size, users)) for choice in made),
        key=lambda pair: pair[1].l2_sum,
    )
    best, loss = priced[0]
    return Calibration(
        bayes_error_wanted=float(bayes_error),
        mechanism=best,
        guarantee=guaranteed(best),
        expected_loss=loss,
        paper=_paper_setting(best, users, bayes_error, reports, prior_max),
        pseudonymisation=guaranteed(Identity(domain_size)),
        alternatives=tuple(Alternative(other, guaranteed(other), cost) for other, cost in priced[1:]),
    )


def _paper_setting(
    best: Calibrated, users: int, bayes_error: float, reports: int, prior_max: float | None
) -> PaperSetting | None:
    """The same kind of mechanism at the theta that the paper's t theta min{log n, log k} and Fano allow."""
    try:
        alpha = paper.alpha_bits_for(bayes_error, users, prior_max) / reports
    except Unreachable:
        return None
    theta = paper.theta_for(alpha, users, best.domain_size)
    same = best.with_theta(theta)
    return PaperSetting(same.epsilon, same.theta, same.rates.l2_sum(best.domain_size, users))
