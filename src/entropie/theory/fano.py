"""Fano's inequality solved to the end, instead of its usual relaxation.

Guessing right is a yes-no function of (U, Y): under the true law it happens with probability s, under
independence with at most p_max. Data processing gives d(s || p_max) <= I(U;Y); the largest such s bounds every
attacker. For uniform U this is Fano's inequality without loss.
"""

from __future__ import annotations

from entropie.theory import checks
from entropie.theory.special import binary_divergence_bits, largest_where


def success(information_bits: float, users: int, prior_max: float | None = None, list_size: int = 1) -> float:
    """Largest probability that one of L guesses names the user, with `information_bits` to go by."""
    users = checks.whole_number("users", users)
    start = list_size * (1.0 / users if prior_max is None else checks.prior_max_value(prior_max, users))
    if start >= 1.0:
        return 1.0
    return largest_where(lambda s: binary_divergence_bits(s, start) <= information_bits, start, 1.0)


def bayes_error(information_bits: float, users: int, prior_max: float | None = None) -> float:
    """Smallest Bayes error that `information_bits` allow."""
    return 1.0 - success(information_bits, users, prior_max)
