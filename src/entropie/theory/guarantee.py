"""Everything that is guaranteed about one mechanism and a number of users, in one value."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from entropie.document.base import AtLeastOne, Count, Part, Share, Unlimited
from entropie.notebook import html_table
from entropie.theory import (
    any_mechanism,
    checks,
    composition,
    fano,
    local_hashing,
    paper,
    randomized_response,
    worst_case,
)
from entropie.theory.special import theta_of
from entropie.words import plural


class ChannelParameters(Part, frozen=True):
    """The numbers of a mechanism that a guarantee depends on; hash_size and prime are null without hashing.

    `theta` follows from epsilon unless the mechanism is a mixture, which names its own.
    """

    kind: str
    domain_size: AtLeastOne
    epsilon: Annotated[Unlimited, Meta(description="Privacy budget, natural logarithm; null where infinite.")]
    hash_size: int | None = None
    prime: int | None = None
    collision_probability: float | None = None
    theta: Annotated[float, Meta(description="Probability of the truth.")] = -1.0

    def __post_init__(self) -> None:
        if self.theta < 0.0:
            msgspec.structs.force_setattr(self, "theta", theta_of(self.epsilon, self.answers))

    @property
    def answers(self) -> int:
        """How many different answers a lie is drawn from: k or g."""
        return self.hash_size or self.domain_size


class Guarantee(Part, frozen=True, omit_defaults=True):
    """What holds for every joint distribution of users and data, and every attacker who sees one user's reports alone.

    Information is in bits per user (for all their reports together), errors are shares of wrong identifications.

    alpha_bits             certified bound on I(U;Y), exact for one report by randomized response
    alpha_bits_paper       the paper's theorem, t theta min{log n, log k}
    alpha_bits_ldp         the paper's proposition for any epsilon-LDP mechanism, times t
    alpha_bits_ldp_tight   the best possible bound that knows only epsilon, times t
    bayes_error            certified: no attacker has a lower error rate on average
    bayes_error_paper      from alpha_bits_paper by the paper's form of Fano's inequality
    bayes_error_fano       from alpha_bits by Fano's inequality solved numerically
    list_error             certified error of an attacker who may name `list_size` people
    max_leakage_bits       order-infinity information
    per_user_bits          worst information about a single user over users and priors (infinite without noise)
    posterior_max          largest probability that a user's reports can give them, from prior_max (or 1/n) before
    contraction            eta of I(U;Y) <= eta I(U;X), for one report
    *_ideal_hash           local hashing only: exact value if the hash were ideal
    """

    mechanism: ChannelParameters
    users: Count
    reports_per_user: AtLeastOne
    list_size: AtLeastOne
    prior_max: Share | None
    alpha_bits: Unlimited
    alpha_bits_paper: Unlimited
    alpha_bits_ldp: Unlimited
    alpha_bits_ldp_tight: Unlimited
    bayes_error: Share
    bayes_error_paper: Share
    bayes_error_fano: Share
    list_error: Share
    max_leakage_bits: Unlimited
    per_user_bits: Unlimited
    posterior_max: Share
    contraction: Share
    alpha_bits_ideal_hash: float | None = None
    bayes_error_ideal_hash: float | None = None

    def _repr_html_(self) -> str:
        channel = self.mechanism
        caption = (
            f"{channel.kind}, {channel.domain_size:,} items, {plural(self.users, 'person', 'people')}, "
            f"{plural(self.reports_per_user, 'report')} of one person leaked alone"
        )
        names = (
            "alpha_bits",
            "alpha_bits_paper",
            "bayes_error",
            "bayes_error_paper",
            "max_leakage_bits",
            "contraction",
        )
        rows = [("epsilon", channel.epsilon), ("theta", channel.theta)]
        return html_table(caption, ("guarantee", "value"), rows + [(name, getattr(self, name)) for name in names])


def certified_success(
    channel: ChannelParameters, users: int, reports: int = 1, list_size: int = 1, prior_max: float | None = None
) -> float:
    """Probability of naming the user with `list_size` guesses that no attacker exceeds.

    The smaller of the direct bound, which is exact for one report by randomized response, and Fano's inequality.
    """
    direct = _direct_success(channel, users, reports, list_size, prior_max)
    by_fano = fano.success(certified_alpha_bits(channel, users, reports), users, prior_max, list_size)
    return min(direct, by_fano)


def _direct_success(
    channel: ChannelParameters, users: int, reports: int, list_size: int, prior_max: float | None
) -> float:
    k, g, eps = channel.domain_size, channel.hash_size, channel.epsilon
    if reports > 1:
        answers = min(channel.answers, k)
        return composition.success(channel.theta, answers, users, reports, list_size, prior_max or 0.0)
    if g is not None:
        if prior_max is not None:
            return local_hashing.success_with_prior_max(users, prior_max, k, g, eps, list_size)
        return local_hashing.success(users, k, g, eps, list_size)
    if prior_max is None:
        return randomized_response.success(users, k, eps, list_size)
    if list_size == 1:
        return randomized_response.success_with_prior_max(users, prior_max, k, eps)
    return local_hashing.success_with_prior_max(users, prior_max, k, k, eps, list_size)


def certified_alpha_bits(channel: ChannelParameters, users: int, reports: int = 1) -> float:
    """Bound on I(U;Y) over all reports of a user; exact for one report by randomized response."""
    k, g, eps = channel.domain_size, channel.hash_size, channel.epsilon
    if g is None:
        single = randomized_response.alpha_bits(users, k, eps)
    else:
        single = local_hashing.alpha_bits(users, k, g, eps, channel.collision_probability or 0.0)
    return composition.alpha_bits(single, channel.theta, min(channel.answers, k), users, reports)


def guarantee(
    channel: ChannelParameters,
    users: int,
    reports: int = 1,
    list_size: int = 1,
    prior_max: float | None = None,
) -> Guarantee:
    """Collect every guarantee of `channel` for this many users."""
    users = checks.whole_number("users", users)
    reports = checks.whole_number("reports", reports)
    list_size = checks.whole_number("list", list_size)
    if prior_max is not None:
        prior_max = checks.prior_max_value(prior_max, users)
    k, g, eps = channel.domain_size, channel.hash_size, channel.epsilon
    alpha = certified_alpha_bits(channel, users, reports)
    alpha_paper = paper.alpha_bits_composed(paper.alpha_bits(users, k, eps, g), reports)
    if g is None:
        leaked = worst_case.max_leakage_bits(users, k, eps)
        per_user = randomized_response.per_user_bits(k, eps)
        contraction = randomized_response.contraction(k, eps)
    else:
        collision = channel.collision_probability or 0.0
        leaked = worst_case.max_leakage_bits_hash(users, k, g, eps)
        per_user = local_hashing.per_user_bits(g, eps, collision)
        contraction = local_hashing.contraction(g, eps, collision)
    return Guarantee(
        mechanism=channel,
        users=users,
        reports_per_user=reports,
        list_size=list_size,
        prior_max=prior_max,
        alpha_bits=alpha,
        alpha_bits_paper=alpha_paper,
        alpha_bits_ldp=reports * paper.alpha_bits_ldp(users, k, eps),
        alpha_bits_ldp_tight=reports * any_mechanism.alpha_bits(users, k, eps),
        bayes_error=1.0 - certified_success(channel, users, reports, 1, prior_max),
        bayes_error_paper=paper.bayes_error(alpha_paper, users, prior_max),
        bayes_error_fano=fano.bayes_error(alpha, users, prior_max),
        list_error=1.0 - certified_success(channel, users, reports, list_size, prior_max),
        max_leakage_bits=worst_case.composed_bits(leaked, users, reports),
        per_user_bits=reports * per_user,
        posterior_max=any_mechanism.posterior_max(users, eps, reports, prior_max),
        contraction=contraction,
        alpha_bits_ideal_hash=None if g is None else _ideal_alpha_bits(channel, users, reports),
        bayes_error_ideal_hash=_ideal_bayes_error(channel, users, reports, prior_max),
    )


def _ideal_alpha_bits(channel: ChannelParameters, users: int, reports: int) -> float:
    k, g, eps = channel.domain_size, channel.answers, channel.epsilon
    single = local_hashing.alpha_bits_ideal(users, k, g, eps)
    return composition.alpha_bits(single, channel.theta, min(g, k), users, reports)


def _ideal_bayes_error(channel: ChannelParameters, users: int, reports: int, prior_max: float | None) -> float | None:
    """Exact for one report and equally likely users; otherwise a bound."""
    k, g, eps = channel.domain_size, channel.hash_size, channel.epsilon
    if g is None:
        return None
    if reports == 1 and prior_max is None:
        return 1.0 - local_hashing.success_ideal(users, k, g, eps)
    bound = certified_success(channel, users, reports, 1, prior_max)
    return 1.0 - min(bound, fano.success(_ideal_alpha_bits(channel, users, reports), users, prior_max))
