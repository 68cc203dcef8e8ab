"""Everything that is guaranteed about one mechanism and a number of users, in one value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from entropie.document.base import AtLeastOne, Count, Part, Share, Unlimited
from entropie.document.ledger import AllReports as AllReports
from entropie.document.ledger import SpentAlone
from entropie.notebook import html_table
from entropie.theory import (
    any_mechanism,
    composition,
    everybody,
    fano,
    local_hashing,
    paper,
    randomized_response,
    repeated,
    worst_case,
)
from entropie.theory.crowd import Crowd
from entropie.theory.special import theta_of
from entropie.words import digits, percent, plural

_ROUNDING = 1.0 + 1e-12
"""Raises what floating-point sums and bisections find, so that it is a bound in spite of their rounding."""


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
    """What holds for every joint distribution of users and data, by what leaks.

    `all_reports` is about an attacker who holds the whole store; everything else about one who sees one user's reports
    alone. Information is in bits per user (for all their reports together), errors are shares of wrong identifications.

    alpha_bits             certified bound on I(U;Y), exact for randomized response where there are no more users than
                           items, or one report
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
    all_reports            the same when all users' reports leak
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
    all_reports: AllReports
    alpha_bits_ideal_hash: float | None = None
    bayes_error_ideal_hash: float | None = None

    def __repr__(self) -> str:
        channel, store = self.mechanism, self.all_reports
        people, items = plural(self.users, "person", "people"), plural(channel.domain_size, "item")
        each = f"{people}, {items}, {plural(self.reports_per_user, 'report')} each"
        return in_lines(f"Guarantee of {channel.kind} with epsilon {digits(channel.epsilon, 4)}: {each}", store, self)

    def _repr_html_(self) -> str:
        channel, reports = self.mechanism, plural(self.reports_per_user, "report")
        people = plural(self.users, "person", "people")
        caption = f"{channel.kind}, {channel.domain_size:,} items, {people}, {reports} of each"
        rows = [
            ("alpha_bits", self.all_reports.alpha_bits, self.alpha_bits),
            ("bayes_error", self.all_reports.bayes_error, self.bayes_error),
            ("posterior_max", self.all_reports.posterior_max, self.posterior_max),
            ("alpha_bits_paper", "", self.alpha_bits_paper),
            ("bayes_error_paper", "", self.bayes_error_paper),
            ("epsilon", channel.epsilon, channel.epsilon),
            ("theta", channel.theta, channel.theta),
        ]
        return html_table(caption, ("guarantee", "all reports leak", "one person's alone"), rows)


def in_lines(head: str, store: AllReports, alone: Guarantee | SpentAlone) -> str:
    """What a guarantee says of itself: a head, and a line for each leak."""
    leaks = {"all reports leak": store, "one person's alone": alone}
    return "\n".join(
        [
            head,
            *(
                f"  {leaked}: at most {percent(1.0 - what.bayes_error)} of people re-identified, certainty at most "
                f"{percent(what.posterior_max)}"
                for leaked, what in leaks.items()
            ),
        ]
    )


def certified_success(channel: ChannelParameters, crowd: Crowd, truth: Fraction | None = None) -> Fraction:
    """The chance of naming whose reports leaked that no attacker exceeds; `truth` is theta to its last digit.

    Exact for one report by randomized response; otherwise the smaller of a direct bound and Fano's inequality.
    """
    theta = Fraction(channel.theta) if truth is None else truth
    k, g = channel.domain_size, channel.hash_size
    if theta == 0:  # without rounding: pure noise is what a goal at chance asks for
        return min(Fraction(1), crowd.guesses)
    if crowd.reports == 1:
        direct = _one_report(channel, crowd, theta)
        if g is None and (crowd.prior_max is None or crowd.list_size == 1):
            return direct
    else:
        direct = _several_reports(channel, crowd, float(theta))
        if g is None and crowd.prior_max is None and repeated.is_exact(crowd.users, k, crowd.reports):
            return direct
    bits = certified_alpha_bits(channel, crowd)
    return min(direct, raised(fano.success(bits, crowd.users, crowd.prior_max, crowd.list_size)))


def _one_report(channel: ChannelParameters, crowd: Crowd, theta: Fraction) -> Fraction:
    """theta min(1, b L p) + (1-theta) L p, b = min(n, k, g); with a prior and one guess, randomized response's own."""
    k, g = channel.domain_size, channel.hash_size
    if g is None and crowd.prior_max is not None and crowd.list_size == 1:
        return raised(randomized_response.success_with_prior_max(crowd.users, crowd.prior_max, k, channel.epsilon))
    buckets, guesses = min(crowd.users, k, channel.answers), min(Fraction(1), crowd.guesses)
    return theta * min(Fraction(1), buckets * guesses) + (1 - theta) * guesses


def _several_reports(channel: ChannelParameters, crowd: Crowd, theta: float) -> Fraction:
    """The exact value over b answers for at most b people, and E min(1, L b^S p).

    A prior is worst where as many people as possible have the largest probability; one more stands for the rest. Among
    more people nobody is named more often than among some of them, drawn at random and told to the attacker.
    """
    b, t = channel.answers, crowd.reports
    prior = crowd.prior_max or 0.0
    bound = composition.success(theta, min(b, channel.domain_size), crowd.users, t, crowd.list_size, prior)
    people = crowd.users if crowd.prior_max is None else min(crowd.users, math.ceil(1.0 / crowd.prior_max))
    fewer = min(people, b)
    if repeated.is_exact(fewer, b, t):
        share = float(people * crowd.best_guess)
        bound = min(bound, share * repeated.success(fewer, b, theta, t, crowd.list_size))
    return raised(bound)


def certified_alpha_bits(channel: ChannelParameters, crowd: Crowd) -> float:
    """Bound on I(U;Y) over all reports of a user; exact for randomized response with one report or n <= k."""
    k, g, eps, n, t = channel.domain_size, channel.hash_size, channel.epsilon, crowd.users, crowd.reports
    if g is None:
        single = randomized_response.alpha_bits(n, k, eps)
    else:
        single = local_hashing.alpha_bits(n, k, g, eps, channel.collision_probability or 0.0)
    bound = composition.alpha_bits(single, channel.theta, min(channel.answers, k), n, t)
    if t > 1 and repeated.is_exact(n, channel.answers, t):
        return min(bound, repeated.alpha_bits(n, channel.answers, eps, t))
    return bound


def entry_bits(channel: ChannelParameters, crowd: Crowd, alpha: float) -> float:
    """Bound on the information in one entry of a store: all reports of a person, `alpha`, or a single one."""
    return alpha if crowd.linked else certified_alpha_bits(channel, replace(crowd, reports=1))


def all_reports(crowd: Crowd, domain_size: int, theta: Fraction, epsilon: float, alone_bits: float) -> AllReports:
    """What holds when all reports leak, for any mechanism with this Doeblin constant and this epsilon.

    `alone_bits` bounds the information in one entry that leaks alone.
    """
    bits = everybody.alpha_bits(crowd, domain_size, float(theta), alone_bits)

    def error(guesses: int) -> float:
        by_fano = raised(fano.success(bits, crowd.users, crowd.prior_max, guesses))
        return error_of(min(everybody.success(replace(crowd, list_size=guesses), domain_size, theta), by_fano))

    return AllReports(
        linked=crowd.linked,
        alpha_bits=bits,
        bayes_error=error(1),
        list_error=error(crowd.list_size),
        posterior_max=everybody.posterior_max(crowd, epsilon),
    )


def raised(bound: float) -> Fraction:
    """A floating-point value as a bound."""
    return Fraction(min(1.0, bound * _ROUNDING))


def error_of(success: Fraction) -> float:
    """1 - success, rounded once."""
    return float(1 - success)


def guarantee(channel: ChannelParameters, crowd: Crowd, truth: Fraction | None = None) -> Guarantee:
    """Collect every guarantee of `channel`; `truth` is its theta to the last digit."""
    n, t = crowd.users, crowd.reports
    theta = Fraction(channel.theta) if truth is None else truth
    k, g, eps = channel.domain_size, channel.hash_size, channel.epsilon
    alpha = certified_alpha_bits(channel, crowd)
    alpha_paper = paper.alpha_bits_composed(paper.alpha_bits(n, k, eps, g), t)
    if g is None:
        leaked = worst_case.max_leakage_bits(n, k, eps)
        per_user = randomized_response.per_user_bits(k, eps)
        contraction = randomized_response.contraction(k, eps)
    else:
        collision = channel.collision_probability or 0.0
        leaked = worst_case.max_leakage_bits_hash(n, k, g, eps)
        per_user = local_hashing.per_user_bits(g, eps, collision)
        contraction = local_hashing.contraction(g, eps, collision)
    return Guarantee(
        **_common(channel, crowd, alpha, alpha_paper, lambda asked: certified_success(channel, asked, theta)),
        max_leakage_bits=worst_case.composed_bits(leaked, n, t),
        per_user_bits=t * per_user,
        contraction=contraction,
        all_reports=all_reports(crowd, k, theta, eps, entry_bits(channel, crowd, alpha)),
        alpha_bits_ideal_hash=None if g is None else _ideal_alpha_bits(channel, crowd),
        bayes_error_ideal_hash=None if g is None else _ideal_bayes_error(channel, crowd, theta),
    )


def _common(
    channel: ChannelParameters,
    crowd: Crowd,
    alpha: float,
    alpha_paper: float,
    success: Callable[[Crowd], Fraction],
) -> dict[str, Any]:
    """What follows in one way for all mechanisms from two bounds on the information and the chance of success."""
    n, t, prior_max, k, eps = crowd.users, crowd.reports, crowd.prior_max, channel.domain_size, channel.epsilon
    return {
        "mechanism": channel,
        "users": n,
        "reports_per_user": t,
        "list_size": crowd.list_size,
        "prior_max": prior_max,
        "alpha_bits": alpha,
        "alpha_bits_paper": alpha_paper,
        "alpha_bits_ldp": t * paper.alpha_bits_ldp(n, k, eps),
        "alpha_bits_ldp_tight": t * any_mechanism.alpha_bits(n, k, eps),
        "bayes_error": error_of(success(replace(crowd, list_size=1))),
        "bayes_error_paper": paper.bayes_error(alpha_paper, n, prior_max),
        "bayes_error_fano": fano.bayes_error(alpha, n, prior_max),
        "list_error": error_of(success(crowd)),
        "posterior_max": any_mechanism.posterior_max(n, eps, t, prior_max),
    }


def noisy_guarantee(
    crowd: Crowd, channel: ChannelParameters, truth: Fraction, factor: float, single_bits: float
) -> Guarantee:
    """For a mechanism that is noise but for probability theta, of any shape.

    A report that is no noise raises the best guess by `factor` at most (the sum over answers of the largest probability
    that an item gives it), and one report tells `single_bits` at most. Everything else follows from these and epsilon:
    D(P||Q) <= the sum of both directions <= 2 theta epsilon, and <= epsilon tanh(epsilon/2).
    """
    n, t, k, eps = crowd.users, crowd.reports, channel.domain_size, channel.epsilon
    theta, factor = float(truth), min(factor, float(min(n, k)))
    alpha = noisy_alpha_bits(crowd, k, theta, factor, single_bits)
    alpha_paper = t * theta * math.log2(min(n, k))

    tanh = math.tanh(eps / 2.0)
    return Guarantee(
        **_common(channel, crowd, alpha, alpha_paper, lambda asked: noisy_success(asked, truth, factor, alpha)),
        max_leakage_bits=min(math.log2(n), t * math.log2(1.0 + theta * (factor - 1.0))),
        per_user_bits=0.0 if theta == 0.0 else t * min(2.0 * theta, tanh) * eps / math.log(2.0),
        contraction=min(theta, tanh * tanh),
        all_reports=all_reports(crowd, k, truth, eps, alpha if crowd.linked else single_bits),
    )


def noisy_alpha_bits(crowd: Crowd, domain_size: int, theta: float, factor: float, single_bits: float) -> float:
    """What all reports of a person that leak alone tell about them, for such a mechanism."""
    least = min(single_bits, theta * math.log2(min(crowd.users, domain_size)))
    return composition.alpha_bits(least, theta, factor, crowd.users, crowd.reports)


def noisy_success(crowd: Crowd, truth: Fraction, factor: float, alpha: float) -> Fraction:
    """The chance of naming whose reports leaked: the smaller of the direct bound and Fano's inequality for `alpha`."""
    guesses = min(Fraction(1), crowd.guesses)
    if truth == 0:
        return guesses
    direct = truth * min(Fraction(1), Fraction(factor) * guesses) + (1 - truth) * guesses
    if crowd.reports > 1:
        prior = crowd.prior_max or 0.0
        direct = raised(composition.success(float(truth), factor, crowd.users, crowd.reports, crowd.list_size, prior))
    return min(direct, raised(fano.success(alpha, crowd.users, crowd.prior_max, crowd.list_size)))


def _ideal_alpha_bits(channel: ChannelParameters, crowd: Crowd) -> float:
    """Exact for one report; otherwise a bound."""
    k, g, eps = channel.domain_size, channel.answers, channel.epsilon
    single = local_hashing.alpha_bits_ideal(crowd.users, k, g, eps)
    bound = composition.alpha_bits(single, channel.theta, min(g, k), crowd.users, crowd.reports)
    if crowd.reports > 1 and repeated.is_exact(crowd.users, g, crowd.reports):
        return min(bound, repeated.alpha_bits(crowd.users, g, eps, crowd.reports))
    return bound


def _ideal_bayes_error(channel: ChannelParameters, crowd: Crowd, theta: Fraction) -> float:
    """Exact for equally likely users and one report, or no more users than items; otherwise a bound."""
    k, g, n, t = channel.domain_size, channel.answers, crowd.users, crowd.reports
    if crowd.prior_max is None and t == 1:
        return 1.0 - local_hashing.success_ideal(n, k, g, channel.epsilon)
    if crowd.prior_max is None and n <= k and t <= repeated.MOST_REPORTS:
        return 1.0 - repeated.success_ideal_hash(n, g, float(theta), t)
    any_family = msgspec.structs.replace(channel, collision_probability=None)
    bound = certified_success(any_family, replace(crowd, list_size=1), theta)
    return error_of(min(bound, raised(fano.success(_ideal_alpha_bits(channel, crowd), n, crowd.prior_max))))
