"""Worst-case notions: order-a PIE (Sibson's mutual information) up to maximal leakage.

I_a(U;Y) = a/(a-1) log sum_y (sum_u p_u p(y|u)^a)^(1/a); order 1 is PIE, order infinity is maximal leakage.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

from entropie.errors import InvalidParameter
from entropie.theory import checks, randomized_response
from entropie.theory.special import LARGE_EPSILON, LN2, theta_of

# Near order 1 and for small budgets the quantity is a difference of numbers equal to fifty digits and more.
_CONTEXT = decimal.Context(prec=100, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def order_pie_bits(users: int, domain_size: int, epsilon: float, order: float) -> float:
    """Randomized response, exact sup over priors: a/(a-1) log{ [m ((w^a+m-1)/m)^(1/a) + k - m] / Z }."""
    m = min(users, domain_size)
    if _checked_order(order) == 1.0:
        return randomized_response.alpha_bits(users, domain_size, epsilon)
    if math.isinf(order) or epsilon > LARGE_EPSILON:
        return max_leakage_bits(users, domain_size, epsilon)
    with decimal.localcontext(_CONTEXT):
        excess = m * _excess(Decimal(1) / m, epsilon, order) / (domain_size + _lift(epsilon, 1.0))
        return _order_bits(excess, order)


def max_leakage_bits(users: int, domain_size: int, epsilon: float) -> float:
    """Order infinity, randomized response: log(theta m + 1 - theta)."""
    return _leakage(theta_of(epsilon, domain_size), min(users, domain_size))


def max_leakage_bits_hash(users: int, domain_size: int, hash_size: int, epsilon: float) -> float:
    """Order infinity, certified for any hash family: log(theta min(m, g) + 1 - theta)."""
    return _leakage(theta_of(epsilon, hash_size), min(users, domain_size, hash_size))


def success_from_order(order_bits: float, order: float, prior_max: float) -> float:
    """Bound on an attacker's success by order-a PIE: (p_1 2^(I_a))^((a-1)/a); exact at infinity for uniform users."""
    if _checked_order(order) == 1.0:
        return 1.0
    share = 1.0 if math.isinf(order) else (order - 1.0) / order
    return min(1.0, float(2.0 ** (share * (math.log2(prior_max) + order_bits))))


def composed_bits(order_bits: float, users: int, reports: int) -> float:
    """T reports: at most min(t C_a, log n)."""
    return min(checks.whole_number("reports", reports) * order_bits, math.log2(users))


def _leakage(theta: float, answers: float) -> float:
    return max(0.0, math.log1p(theta * (answers - 1.0)) / LN2)


def _lift(epsilon: float, order: float) -> Decimal:
    """w^a - 1."""
    return (Decimal(epsilon) * Decimal(order)).exp() - 1


def _excess(share: Decimal, epsilon: float, order: float) -> Decimal:
    """(1 + (w^a-1) s)^(1/a) - (1 + (w-1) s) >= 0: what order a adds over order 1, whose mean is known exactly."""
    if share == 0:
        return Decimal(0)
    root = ((1 + _lift(epsilon, order) * share).ln() / Decimal(order)).exp()
    return root - (1 + _lift(epsilon, 1.0) * share)


def _order_bits(excess: Decimal, order: float) -> float:
    """a/(a-1) log2(1 + excess)."""
    return max(0.0, float(Decimal(order) / (Decimal(order) - 1) * (1 + excess).ln() / Decimal(2).ln()))


def _checked_order(order: float) -> float:
    if not order >= 1.0:
        raise InvalidParameter.of("order", "a number of at least 1 (infinity is maximal leakage)", order)
    return order
