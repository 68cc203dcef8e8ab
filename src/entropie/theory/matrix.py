"""Everything that is guaranteed about a mechanism given as a matrix, in one value."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from msgspec import Meta
from numpy.typing import ArrayLike

from entropie.document.base import AtLeastOne, Count, Part, Share, Unlimited
from entropie.notebook import html_table
from entropie.theory import any_mechanism, channel, composition, fano
from entropie.theory.channel import Between as Between
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import AllReports, all_reports, error_of, raised

TOLERANCE_BITS = 1e-6


class MatrixGuarantee(Part, frozen=True):
    """What a mechanism with this matrix guarantees; the ends of a range are both certified.

    alpha_bits           largest information in one report about its sender, over all data of n people
    alpha_bits_composed  bound for all reports of a person
    bayes_error          least error rate of an attacker with one report, over all data of n people
    list_error           certified error for `list_size` guesses after all reports of a person
    capacity_bits        largest information about the item
    bayes_capacity       factor by which a report raises the best chance of guessing the item
    theta                one minus the sum over answers of the smallest probability (Doeblin)
    dobrushin            largest total variation distance of two rows
    contraction          eta of I(U;Y) <= eta I(U;X), best possible
    order_2_bits         order-2 information (Sibson) about the item
    """

    inputs: AtLeastOne
    outputs: AtLeastOne
    users: Count
    reports_per_user: AtLeastOne
    list_size: AtLeastOne
    prior_max: Share | None
    epsilon: Annotated[Unlimited, Meta(description="Privacy budget, natural logarithm; null where infinite.")]
    theta: Share
    alpha_bits: Between
    alpha_bits_composed: Unlimited
    bayes_error: Between
    list_error: Share
    posterior_max: Share
    all_reports: AllReports
    capacity_bits: Between
    bayes_capacity: Unlimited
    order_2_bits: Between
    dobrushin: Share
    contraction: Between

    def _repr_html_(self) -> str:
        rows = [
            ("alpha_bits", self.alpha_bits.low, self.alpha_bits.high),
            ("bayes_error", self.bayes_error.low, self.bayes_error.high),
            ("capacity_bits", self.capacity_bits.low, self.capacity_bits.high),
            ("contraction", self.contraction.low, self.contraction.high),
            ("epsilon", self.epsilon, self.epsilon),
            ("theta", self.theta, self.theta),
        ]
        return html_table(f"matrix, {self.inputs:,} x {self.outputs:,}", ("guarantee", "at least", "at most"), rows)


def matrix_guarantee(matrix: ArrayLike, crowd: Crowd) -> MatrixGuarantee:
    """Collect what holds for a mechanism with this matrix: rows are items, columns answers."""
    Q = channel.checked_matrix(matrix)
    k, n, t = len(Q), crowd.users, crowd.reports
    theta, budget = channel.doeblin_theta(Q), channel.epsilon(Q)
    whole = channel.capacity(Q, TOLERANCE_BITS)
    alpha = channel.alpha_bits(Q, n, TOLERANCE_BITS, whole)
    named = channel.success(Q, n)
    composed = composition.alpha_bits(alpha.high, theta, k, n, t)
    entry = composed if crowd.linked else alpha.high
    return MatrixGuarantee(
        inputs=k,
        outputs=Q.shape[1],
        users=n,
        reports_per_user=t,
        list_size=crowd.list_size,
        prior_max=crowd.prior_max,
        epsilon=budget,
        theta=theta,
        alpha_bits=alpha,
        alpha_bits_composed=composed,
        bayes_error=Between(1.0 - named.high, 1.0 - named.low),
        list_error=error_of(_success(crowd, k, theta, composed, named.high)),
        posterior_max=any_mechanism.posterior_max(n, budget, t, crowd.prior_max),
        all_reports=all_reports(crowd, k, Fraction(theta), budget, entry),
        capacity_bits=Between(whole.low_bits, whole.high_bits),
        bayes_capacity=float(Q.max(axis=0).sum()),
        order_2_bits=channel.order_capacity_bits(Q, 2.0),
        dobrushin=min(1.0, channel.dobrushin(Q)),
        contraction=channel.contraction(Q),
    )


def _success(crowd: Crowd, domain_size: int, theta: float, bits: float, single: float) -> Fraction:
    """The smallest of what theta, the information, and for one guess and report the matrix itself allow."""
    n, t, prior = crowd.users, crowd.reports, crowd.prior_max
    direct = composition.success(theta, domain_size, n, t, crowd.list_size, prior or 0.0)
    bounds = [direct, fano.success(bits, n, prior, crowd.list_size)]
    if t == 1 and prior is None:
        bounds.append(crowd.list_size * single)  # each guess is right with at most this
    return raised(min(bounds))
