"""What holds for every epsilon-LDP mechanism, whatever it does inside."""

from __future__ import annotations

import math

from entropie.theory import checks
from entropie.theory.special import LN2, psi


def alpha_bits(users: int, domain_size: int, epsilon: float) -> float:
    """The tight bound (v - 1 - ln v)/ln 2 with v = eps w/(w-1), capped by log n and log k."""
    users = checks.whole_number("users", users)
    domain_size = checks.whole_number("domain_size", domain_size)
    epsilon = checks.epsilon_value(epsilon)
    cap = math.log2(min(users, domain_size))
    if math.isinf(epsilon):
        return cap
    u = _v_minus_one(epsilon)
    # u - ln(1+u) written through psi, which keeps its digits where u is small
    return min(cap, (1.0 + u) * psi(-u / (1.0 + u)) / LN2)


def _v_minus_one(epsilon: float) -> float:
    """Eps/(1-e^-eps) - 1."""
    if epsilon < 0.1:  # Bernoulli numbers; the next term is below 1e-17 of the sum
        square = epsilon * epsilon
        return epsilon / 2 + square * (1 / 12 - square * (1 / 720 - square * (1 / 30240 - square / 1209600)))
    return epsilon / -math.expm1(-epsilon) - 1.0


def contraction(epsilon: float) -> float:
    """The eta of I(U;Y) <= eta I(U;X): tanh^2(eps/2)."""
    return math.tanh(checks.epsilon_value(epsilon) / 2.0) ** 2


def posterior_max(users: int, epsilon: float, reports: int = 1, prior_max: float | None = None) -> float:
    """Largest Pr(u|y) after t reports: w^t p/(w^t p + 1 - p) for a user of probability p, 1/n unless told."""
    users = checks.whole_number("users", users)
    budget = checks.epsilon_value(epsilon) * checks.whole_number("reports", reports)
    odds = users - 1.0 if prior_max is None else 1.0 / checks.prior_max_value(prior_max, users) - 1.0
    return 1.0 / (1.0 + odds * math.exp(-budget))
