"""Different mechanisms one after the other: what the reports of one person tell together.

Proofs. I(U;Y) is convex in the law of all data given the person, so that worst data are fixed by the person; given them
the reports are independent, and the bits of the mechanisms add up. So does maximal leakage, which bounds success. A
report of mechanism j that is no noise multiplies the best guess by b_j at most, so that with S_j ~ Bin(t_j, theta_j)
L guesses are right with E min(1, L p prod b_j^S_j), and the bits are at most E min(log n, sum S_j log b_j). Epsilons
add up, also where a mechanism is chosen after seeing earlier reports. For whoever holds all reports an entry is noise
with probability prod (1-theta_j)^t_j (`everybody`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from entropie.theory import any_mechanism, everybody, fano
from entropie.theory.crowd import Crowd
from entropie.theory.everybody import Sent
from entropie.theory.guarantee import AllReports, Guarantee, error_of, raised
from entropie.theory.special import LN2, binomial_pmf

_CELLS = 2048
"""Bits revealed are counted in this many steps up to log n, each report's rounded up."""


@dataclass(frozen=True, slots=True)
class Share:
    """The part of one mechanism: what it guarantees for one report and for all of its own, and its theta exactly."""

    theta: Fraction
    single: Guarantee
    all_of_them: Guarantee

    @property
    def reports(self) -> int:
        """How many reports of each person."""
        return self.all_of_them.reports_per_user

    @property
    def sent(self) -> Sent:
        """What a store holds of it."""
        return Sent(self.theta, self.single.mechanism.domain_size, self.reports)

    @property
    def revealed_bits(self) -> float:
        """log2 b: by what a report that is no noise multiplies the best guess, at most."""
        theta, leaked = float(self.theta), math.expm1(self.single.max_leakage_bits * LN2)
        return 0.0 if theta == 0.0 else math.log2(1.0 + leaked / theta * (1.0 + 1e-12))


@dataclass(frozen=True, slots=True)
class Together:
    """What holds for all reports of a person: alone as a bound on bits, errors and certainty, and in a store."""

    epsilon: float
    alpha_bits: float
    bayes_error: float
    list_error: float
    posterior_max: float
    all_reports: AllReports


def together(shares: Sequence[Share], crowd: Crowd) -> Together:
    """What the reports of several mechanisms tell together; the mechanism's own values where there is one."""
    epsilon = math.fsum(_spent(share) for share in shares)
    if len(shares) == 1:
        own = shares[0].all_of_them
        return Together(epsilon, own.alpha_bits, own.bayes_error, own.list_error, own.posterior_max, own.all_reports)
    law, bits = _revealed(shares, crowd.users)
    added = math.fsum(share.all_of_them.alpha_bits for share in shares)
    alpha = min(math.log2(crowd.users), added, float(law @ bits))

    def error(guesses: int) -> float:
        start = float(replace(crowd, list_size=guesses).guesses)
        leaked = math.fsum(share.all_of_them.max_leakage_bits for share in shares)
        direct = float(law @ np.minimum(1.0, start * np.exp2(bits)))
        bounds = (direct, start * 2.0 ** min(leaked, 100.0), fano.success(alpha, crowd.users, crowd.prior_max, guesses))
        return error_of(raised(min(bounds)))

    return Together(
        epsilon=epsilon,
        alpha_bits=alpha,
        bayes_error=error(1),
        list_error=error(crowd.list_size),
        posterior_max=any_mechanism.posterior_max(crowd.users, epsilon, 1, crowd.prior_max),
        all_reports=_unlinked(shares) if shares and not crowd.linked else _linked(shares, crowd, epsilon, alpha),
    )


def _spent(share: Share) -> float:
    return share.reports * share.single.mechanism.epsilon


def _revealed(shares: Sequence[Share], users: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The law of sum S_j log2 b_j, each report's bits rounded up to a cell; the last cell is log2 n and more."""
    cap = math.log2(users)
    law = np.zeros(_CELLS + 1)
    law[0] = 1.0
    for share in shares:
        step = math.ceil(share.revealed_bits / cap * _CELLS) if cap > 0.0 else 0
        if step:
            law = _after(law, step, share.reports, float(share.theta))
    return law, np.linspace(0.0, cap, _CELLS + 1)


def _after(law: NDArray[np.float64], step: int, reports: int, theta: float) -> NDArray[np.float64]:
    """The law after these reports, each of which adds `step` cells with probability theta."""
    found, seen = np.zeros_like(law), 0.0
    for truths in range(min(reports, _CELLS // step) + 1):
        mass, moved = binomial_pmf(truths, reports, theta), truths * step
        seen += mass
        found[moved:] += mass * law[: len(law) - moved]
        found[-1] += mass * law[len(law) - moved :].sum() if moved else 0.0
    found[-1] += max(0.0, 1.0 - seen) * law.sum()
    return found


def _linked(shares: Sequence[Share], crowd: Crowd, epsilon: float, alone_bits: float) -> AllReports:
    """An entry is all reports of a person."""
    sent = [share.sent for share in shares]
    bits = everybody.alpha_bits_of(crowd, sent, alone_bits)

    def error(guesses: int) -> float:
        by_fano = raised(fano.success(bits, crowd.users, crowd.prior_max, guesses))
        return error_of(min(everybody.success_of(replace(crowd, list_size=guesses), sent), by_fano))

    return AllReports(
        linked=crowd.linked,
        alpha_bits=bits,
        bayes_error=error(1),
        list_error=error(crowd.list_size),
        posterior_max=any_mechanism.posterior_max(crowd.users, epsilon, 2, crowd.prior_max),
    )


def _unlinked(shares: Sequence[Share]) -> AllReports:
    """An entry is one report, in a store of its mechanism (of all its reports, or of one round): the worst counts."""
    stores = [given.all_reports for share in shares for given in (share.single, share.all_of_them)]
    return AllReports(
        linked=False,
        alpha_bits=max(store.alpha_bits for store in stores),
        bayes_error=min(store.bayes_error for store in stores),
        list_error=min(store.list_error for store in stores),
        posterior_max=max(store.posterior_max for store in stores),
    )
