"""The setting that guarantees a wanted error rate and certainty at the least loss, and what each limit costs."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from entropie.document.base import Part, Sha256, Share, Unlimited
from entropie.errors import InvalidParameter, Unreachable
from entropie.mechanisms import design
from entropie.mechanisms.design import Calibrated, Goal, Scope
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.parameters import Parameters, parameters_id, to_document
from entropie.notebook import html_table
from entropie.theory import checks, paper
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import Guarantee
from entropie.theory.loss import CountingRates, detectable_share

MechanismName = Literal["rr", "glh", "auto"]
Limit = Literal["certainty", "error"]
_CERTAINTIES = (0.1, 0.5, 0.9, 0.99, 1.0)


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


class TradeOff(Part, frozen=True):
    """The best setting for another limit on certainty, to about 1 %; hash_size is null for randomized response."""

    certainty: Share
    hash_size: int | None
    epsilon: Unlimited
    theta: Share
    l2_sum: Unlimited


class LimitCosts(Part, frozen=True):
    """By what factor the squared error would fall without a limit, all others kept."""

    certainty: Unlimited
    bayes_error: Unlimited
    all_reports: Annotated[Unlimited, Meta(description="If one person's reports leaked alone at worst.")]


class CalibrationDocument(Part, frozen=True):
    """The goal is reached."""

    bayes_error_wanted: Share
    certainty_wanted: Share
    scope: Annotated[Scope, Meta(description="What leaks: all reports, or one person's alone.")]
    noise_needed: bool
    decided_by: Annotated[Limit | None, Meta(description="The limit that the setting reaches.")]
    pseudonymisation: Pseudonyms
    parameters: Parameters
    parameters_id: Annotated[Sha256, Meta(description="SHA-256 of the canonical parameter document.")]
    guarantee: Guarantee
    expected_loss: ExpectedLoss
    paper: PaperSetting | None
    alternatives: list[Setting]
    trade_off: list[TradeOff]
    limit_costs: LimitCosts


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
    """The outcome: a mechanism, its guarantee, its expected loss, the alternatives, and what the limits cost."""

    goal: Goal
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

    @property
    def decided_by(self) -> Limit | None:
        """The limit that a little more truth would break; None without noise."""
        if not self.noise_needed:
            return None
        free = replace(self.goal, certainty=1.0)
        more = self.mechanism.with_theta(min(1.0, self.mechanism.theta * (1.0 + 1e-6)))
        return "certainty" if free.met(more) else "error"

    @property
    def trade_off(self) -> list[TradeOff]:
        """The least loss for other limits on certainty, all else kept."""
        known = self.goal.certainty_at(0.0)
        limits = sorted({c for c in (*_CERTAINTIES, self.goal.certainty) if c >= known})
        sketches = [(limit, design.sketch(replace(self.goal, certainty=limit))) for limit in limits]
        return [TradeOff(limit, one.hash_size, one.epsilon, one.theta, one.loss) for limit, one in sketches]

    @property
    def limit_costs(self) -> LimitCosts:
        """The loss beside that of the best setting without each limit."""
        with_all = design.sketch(self.goal).loss

        def saved(**without: Any) -> float:
            least = design.sketch(replace(self.goal, **without)).loss
            if least == with_all:  # also where both are nothing, or without limit
                return 1.0
            return with_all / least if least > 0.0 else math.inf

        return LimitCosts(saved(certainty=1.0), saved(bayes_error=0.0), saved(scope="alone"))

    def to_json(self) -> dict[str, Any]:
        """The document of `calibrate`; what is infinite becomes None."""
        bare = self.pseudonymisation
        return CalibrationDocument(
            bayes_error_wanted=self.goal.bayes_error,
            certainty_wanted=self.goal.certainty,
            scope=self.goal.scope,
            noise_needed=self.noise_needed,
            decided_by=self.decided_by,
            pseudonymisation=Pseudonyms(bare.alpha_bits, bare.bayes_error, bare.bayes_error_paper),
            parameters=json.loads(to_document(self.mechanism)),
            parameters_id=parameters_id(self.mechanism),
            guarantee=self.guarantee,
            expected_loss=self.expected_loss,
            paper=self.paper,
            alternatives=[Setting(other.guarantee, other.expected_loss) for other in self.alternatives],
            trade_off=self.trade_off,
            limit_costs=self.limit_costs,
        ).to_json()

    def _repr_html_(self) -> str:
        loss = msgspec.structs.asdict(self.expected_loss)
        return self.guarantee._repr_html_() + html_table("expected loss", ("measure", "value"), loss.items())


def calibrate(
    *,
    users: int,
    domain_size: int,
    bayes_error: float,
    certainty: float = 0.5,
    scope: Scope = "all",
    mechanism: MechanismName = "auto",
    hash_size: int | None = None,
    reports: int = 1,
    list_size: int = 1,
    prior_max: float | None = None,
    linked: bool = True,
) -> Calibration:
    """The mechanism with the least expected loss that keeps an error rate and a certainty about every person.

    Its certified error rate, for `list_size` guesses after `reports` reports of each person, is at least `bayes_error`;
    nobody becomes more certain about one person than `certainty` in any outcome. `scope` says of whom: whoever holds
    "all" reports, or sees one person's "alone". `certainty=1` asks for averages alone, as the paper does.
    """
    crowd = Crowd(users, reports, list_size, prior_max, linked)
    domain_size = checks.whole_number("domain", domain_size, at_least=2)
    if scope not in ("all", "alone"):
        raise InvalidParameter.of("scope", "all or alone", scope)
    if mechanism not in ("rr", "glh", "auto"):
        raise InvalidParameter.of("mechanism", "rr, glh or auto", mechanism)
    if hash_size is not None:
        hash_size = checks.whole_number("hash_size", hash_size, at_least=2)
        if mechanism == "rr":
            raise InvalidParameter.of("hash_size", "absent for randomized response, which does not hash", hash_size)
    limit = checks.real_number("certainty", certainty, "a probability from 0 to 1", 0.0, 1.0)
    goal = Goal(crowd, domain_size, checks.bayes_error_value(bayes_error), limit, scope)
    goal.check()
    made: list[Calibrated] = []
    if mechanism in ("rr", "auto"):
        made.append(design.response(goal))
    if mechanism in ("glh", "auto"):
        made.append(design.hashing(goal, hash_size or design.best_hash_size(goal)))
    priced = sorted(
        ((choice, ExpectedLoss.of(choice.rates, domain_size, crowd.users)) for choice in made),
        key=lambda pair: pair[1].l2_sum,
    )
    best, loss = priced[0]
    return Calibration(
        goal=goal,
        mechanism=best,
        guarantee=best.guarantee_for(crowd),
        expected_loss=loss,
        paper=_paper_setting(best, goal),
        pseudonymisation=Identity(domain_size).guarantee_for(crowd),
        alternatives=tuple(Alternative(other, other.guarantee_for(crowd), cost) for other, cost in priced[1:]),
    )


def _paper_setting(best: Calibrated, goal: Goal) -> PaperSetting | None:
    """The same kind of mechanism at the theta that the paper's t theta min{log n, log k} and Fano allow."""
    crowd = goal.crowd
    try:
        alpha = paper.alpha_bits_for(goal.bayes_error, crowd.users, crowd.prior_max) / crowd.reports
    except Unreachable:
        return None
    same = best.with_theta(paper.theta_for(alpha, crowd.users, best.domain_size))
    return PaperSetting(same.epsilon, same.theta, same.rates.l2_sum(best.domain_size, crowd.users))
