"""Several reports of one user, correlated in any way: bounds that hold for randomized response and local hashing.

Each report tells the truth with probability theta, independently. Given which of the t reports were truthful, the
others carry nothing, so S ~ Bin(t, theta) truthful reports over b answers reveal one of at most b^S outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from entropie.theory.special import binomial_pmf, binomial_upper_tail


def alpha_bits(single: float, theta: float, answers: float, users: int, reports: int) -> float:
    """min{ t alpha_1, log n, E min(log n, S log b) } for `single` = alpha_1 and `answers` = b."""
    cap = math.log2(users)
    if reports == 1:
        return min(single, cap)
    revealed = _saturating_mean(lambda s: s * math.log2(answers), cap, theta, reports)
    return min(reports * single, cap, revealed)


def success(
    theta: float, answers: float, users: int, reports: int, list_size: int = 1, prior_max: float = 0.0
) -> float:
    """E min(1, L b^S p_1): best possible success of L guesses after t reports (p_1 = 1/n for uniform users)."""
    largest = prior_max or 1.0 / users
    base = min(1.0, min(list_size, users) * largest)
    return _saturating_mean(lambda s: base * float(answers) ** s, 1.0, theta, reports)


def _saturating_mean(value: Callable[[int], float], cap: float, theta: float, reports: int) -> float:
    """E min(cap, value(S)) for increasing value, S ~ Bin(reports, theta), summed from the small end.

    Terms below the cap are few (value grows at least by one bit per truthful report); the rest is a tail.
    """
    below = 0
    total = 0.0
    seen = 0.0
    while below <= reports and below <= 64 and value(below) < cap:
        mass = binomial_pmf(below, reports, theta)
        total += mass * value(below)
        seen += mass
        below += 1
    if below > reports:
        return total
    if value(below) < cap:  # one possible answer only: nothing is ever revealed
        return total + max(0.0, 1.0 - seen) * value(below)
    return total + cap * binomial_upper_tail(below, reports, theta)
