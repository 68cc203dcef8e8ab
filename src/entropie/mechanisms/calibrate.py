"""The setting that guarantees a wanted error rate and certainty at the least loss, and what each limit costs."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from numpy.typing import ArrayLike

from entropie.document.base import Part, Sha256, Share, Unlimited
from entropie.errors import InvalidParameter, Unreachable, option
from entropie.mechanisms.design import ENOUGH, Sketch, best, best_of_each
from entropie.mechanisms.families import KINDS, Calibrated, Family, Hashing, Response, Subsets, largest_domain
from entropie.mechanisms.goal import Goal, Limit, Scope
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.parameters import Parameters, parameters_id, to_document
from entropie.notebook import html_table
from entropie.theory import checks, paper
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import Guarantee
from entropie.theory.loss import CountingRates, detectable_share
from entropie.theory.weights import LossWeights
from entropie.words import digits, percent

MechanismName = Literal["rr", "glh", "subset", "hadamard", "unary", "auto"]
_CERTAINTIES = (0.1, 0.5, 0.9, 0.99, 1.0)


class ExpectedLoss(Part, frozen=True):
    """What the estimates will be good for, one report per user counted; null where infinite.

    loss                what was made small: expected squared errors, summed over the items that count
    l2_sum              the same summed over the whole domain
    rare_item_sd        standard error of the share of an item that hardly anybody has
    share_1pct_sd       standard error of the share of an item that 1 % of the reports are about
    detectable_share    smallest estimate that stands out from noise (exact, Bonferroni, 5 %)
    """

    loss: Unlimited
    l2_sum: Unlimited
    rare_item_sd: Unlimited
    share_1pct_sd: Unlimited
    detectable_share: Unlimited

    @classmethod
    def of(cls, rates: CountingRates, goal: Goal) -> ExpectedLoss:
        """The loss of estimates from one report of everybody."""
        domain_size, reports = goal.domain_size, goal.crowd.users
        return cls(
            loss=goal.counted.loss(rates, reports),
            l2_sum=rates.l2_sum(domain_size, reports),
            rare_item_sd=rates.l2(0.0, reports) ** 0.5,
            share_1pct_sd=rates.l2(0.01, reports) ** 0.5,
            detectable_share=detectable_share(rates, reports, domain_size),
        )


class Counted(Part, frozen=True):
    """The items whose squared errors are added up, and their share of all reports."""

    items: int
    mass: Share


class PaperSetting(Part, frozen=True):
    """What the paper's own bound allows for the same target; null where it guarantees nothing."""

    epsilon: Unlimited
    theta: Share
    loss: Unlimited


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
    """The best setting for another limit on certainty or another scope, to about 1 %; sizes are null where unused."""

    certainty: Share
    scope: Scope
    kind: str
    hash_size: int | None
    subset_size: int | None
    epsilon: Unlimited
    theta: Share
    loss: Unlimited

    @classmethod
    def of(cls, certainty: float, scope: Scope, found: Sketch) -> TradeOff:
        """The setting that was found for these."""
        family = found.family
        hashed = family.size if isinstance(family, Hashing) else None
        held = family.size if isinstance(family, Subsets) else None
        return cls(certainty, scope, family.kind, hashed, held, found.epsilon, found.theta, found.loss)


class LimitCosts(Part, frozen=True):
    """By what factor the squared error would fall without a limit, all others kept; 1 where it is not set."""

    certainty: Unlimited
    bayes_error: Unlimited
    all_reports: Annotated[Unlimited, Meta(description="If one person's reports leaked alone at worst.")]
    epsilon: Unlimited
    report_bits: Unlimited


class CalibrationDocument(Part, frozen=True):
    """The goal is reached."""

    bayes_error_wanted: Share
    certainty_wanted: Share
    scope: Annotated[Scope, Meta(description="What leaks: all reports, or one person's alone.")]
    weights: Counted
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


@dataclass(frozen=True, slots=True, repr=False)
class Calibration:
    """The outcome: a mechanism, its guarantee, its expected loss, the alternatives, and what the limits cost."""

    goal: Goal
    mechanism: Calibrated
    guarantee: Guarantee
    expected_loss: ExpectedLoss
    decided_by: Limit | None
    """The limit that the next step of truth breaks; None without noise."""
    paper: PaperSetting | None
    pseudonymisation: Guarantee
    alternatives: tuple[Alternative, ...]
    kinds: tuple[str, ...]
    hash_size: int | None

    @property
    def noise_needed(self) -> bool:
        """Whether pseudonymisation alone falls short of the goal."""
        plain = Response(self.goal.domain_size)
        return not self.goal.met(plain.at(plain.steps))

    def sketch(self, **other: Any) -> Sketch | None:
        """The best setting for another goal, by closed forms; None where none fits."""
        found = best_of_each(replace(self.goal, **other), self.kinds, self.hash_size)
        return best(found) if found else None

    @property
    def trade_off(self) -> list[TradeOff]:
        """The least loss for other limits on certainty, by what leaks; all else kept."""
        scopes: tuple[Scope, ...] = ("all", "alone") if self.goal.scope == "all" else ("alone",)
        known = self.goal.certainty_at(0.0)
        limits = sorted({c for c in (*_CERTAINTIES, self.goal.certainty) if c >= known})
        tried = ((limit, leaks, self.sketch(certainty=limit, scope=leaks)) for leaks in scopes for limit in limits)
        return [TradeOff.of(limit, leaks, one) for limit, leaks, one in tried if one is not None]

    @property
    def limit_costs(self) -> LimitCosts:
        """The loss beside that of the best setting without each limit."""
        with_all = self.sketch()

        def saved(**without: Any) -> float:
            free = self.sketch(**without)
            if free is None or with_all is None or free.loss >= with_all.loss:  # both may be nothing, or unlimited
                return 1.0
            return with_all.loss / free.loss if free.loss > 0.0 else math.inf

        return LimitCosts(
            certainty=saved(certainty=1.0),
            bayes_error=saved(bayes_error=0.0),
            all_reports=saved(scope="alone"),
            epsilon=saved(max_epsilon=math.inf),
            report_bits=saved(max_report_bits=math.inf),
        )

    def to_json(self) -> dict[str, Any]:
        """The document of `calibrate`; what is infinite becomes None."""
        bare, counted = self.pseudonymisation, self.goal.counted
        return CalibrationDocument(
            bayes_error_wanted=self.goal.bayes_error,
            certainty_wanted=self.goal.certainty,
            scope=self.goal.scope,
            weights=Counted(counted.items, counted.mass),
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

    def __repr__(self) -> str:
        needed = "" if self.noise_needed else " (not needed: pseudonyms alone are enough)"
        error = percent(min(1.0, self.expected_loss.share_1pct_sd))
        return "\n".join(
            [
                f"Calibration: {self.mechanism.title}, epsilon {digits(self.mechanism.epsilon, 4)}{needed}",
                f"  a share of 1 % has a standard error of {error}",
                repr(self.guarantee),
            ]
        )

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
    max_epsilon: float | None = None,
    max_report_bits: float | None = None,
    top: int | None = None,
    zipf: float | None = None,
    shares: ArrayLike | None = None,
) -> Calibration:
    """The mechanism with the least expected loss that keeps an error rate and a certainty about every person.

    Its certified error rate, for `list_size` guesses after `reports` reports of each person, is at least `bayes_error`;
    nobody becomes more certain about one person than `certainty` in any outcome. `scope` says of whom: whoever holds
    "all" reports, or sees one person's "alone". `certainty=1` asks for averages alone, as the paper does. The loss is
    the squared error summed over all items, or over the `top` most frequent ones of a distribution: Zipf's with
    exponent `zipf`, 1 unless told, or that of `shares` (counts or shares, one per item).
    """
    if mechanism not in (*KINDS, "auto"):
        raise InvalidParameter.of("mechanism", f"{', '.join(KINDS)} or auto", mechanism)
    goal = Goal(
        Crowd(users, reports, list_size, prior_max, linked),
        domain_size,
        bayes_error,
        certainty,
        scope,
        math.inf if max_epsilon is None else max_epsilon,
        math.inf if max_report_bits is None else max_report_bits,
        _weights(domain_size, top, zipf, shares),
    )
    return design(goal, KINDS if mechanism == "auto" else (mechanism,), hash_size)


def design(goal: Goal, kinds: tuple[str, ...] = KINDS, hash_size: int | None = None) -> Calibration:
    """The same for a goal as one value, over mechanisms of these kinds; `hash_size` fixes that of local hashing."""
    if hash_size is not None:
        hash_size = checks.whole_number("hash_size", hash_size, at_least=2)
        if "glh" not in kinds:
            raise InvalidParameter.of("hash_size", f"absent for {' or '.join(kinds)}, which does not hash", hash_size)
    goal.check()
    crowd = goal.crowd
    sketches = best_of_each(goal, kinds, hash_size)
    if not sketches:
        raise _nothing_fits(goal, kinds)
    steps = [(one.family, goal.largest_step(one.family)) for one in sketches]
    made = [(family, step, family.at(step)) for family, step in steps]
    losses = [ExpectedLoss.of(one.rates, goal) for _, _, one in made]
    order = _ranked([loss.loss for loss in losses], [one.report_bits for _, _, one in made])
    family, step, chosen = made[order[0]]
    others = [(made[i][2], losses[i]) for i in order[1:]]
    return Calibration(
        goal=goal,
        mechanism=chosen,
        guarantee=chosen.guarantee_for(crowd),
        expected_loss=losses[order[0]],
        decided_by=None if step == family.steps else goal.broken(family.at(step + 1)),
        paper=_paper_setting(family, goal),
        pseudonymisation=Identity(goal.domain_size).guarantee_for(crowd),
        alternatives=tuple(Alternative(other, other.guarantee_for(crowd), cost) for other, cost in others),
        kinds=kinds,
        hash_size=hash_size,
    )


def _ranked(losses: list[float], sizes: list[float]) -> list[int]:
    """The smallest report among those whose loss is hardly above the least, then all others by their loss."""
    least = min(losses)
    first = min((i for i, loss in enumerate(losses) if loss <= least * ENOUGH), key=lambda i: sizes[i])
    return [first, *sorted((i for i in range(len(losses)) if i != first), key=lambda i: losses[i])]


def _weights(domain_size: int, top: int | None, zipf: float | None, shares: ArrayLike | None) -> LossWeights | None:
    """Whose squared errors count; None for all items."""
    if zipf is not None and shares is not None:
        raise InvalidParameter(f"Give {option('zipf')} or {option('shares')}, not both.")
    if top is None:
        if zipf is not None or shares is not None:
            name = option("zipf" if shares is None else "shares")
            raise InvalidParameter(
                f"Give {option('top')} with {name}: summed over all items the squared error is the same for every "
                "distribution."
            )
        return None
    size = checks.whole_number("domain", domain_size, at_least=2)
    if shares is not None:
        return LossWeights.of_shares(shares, size, top)
    return LossWeights.zipf(size, top, 1.0 if zipf is None else zipf)


def _nothing_fits(goal: Goal, kinds: tuple[str, ...]) -> Exception:
    """Why no mechanism of these kinds is left."""
    if goal.domain_size > max(largest_domain(kind) for kind in kinds):
        most = int(max(largest_domain(kind) for kind in kinds))
        return InvalidParameter.of("domain", f"at most {most} for {' or '.join(kinds)}", goal.domain_size)
    of_any_size = best_of_each(replace(goal, max_report_bits=math.inf), kinds)
    smallest = math.ceil(min(one.family.at(0).report_bits for one in of_any_size))
    return Unreachable(
        f"No report of at most {goal.max_report_bits:.10g} bits is about {goal.domain_size} items; "
        f"raise {option('max_report_bits')} to {smallest}."
    )


def _paper_setting(family: Family, goal: Goal) -> PaperSetting | None:
    """The same kind of mechanism at the theta that the paper's t theta min{log n, log k} and Fano allow."""
    crowd = goal.crowd
    try:
        alpha = paper.alpha_bits_for(goal.bayes_error, crowd.users, crowd.prior_max) / crowd.reports
    except Unreachable:
        return None
    same = family.near(paper.theta_for(alpha, crowd.users, goal.domain_size))
    return PaperSetting(same.epsilon, same.theta, goal.counted.loss(same.rates, crowd.users))
