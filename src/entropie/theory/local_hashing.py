"""Local hashing to g values: exact values for an ideal hash, certified bounds for any family of hash functions.

An ideal hash maps every item independently and uniformly. The family in use is described by its collision
probability c alone (see `entropie.mechanisms.hashing`), and the bounds here hold for every such family.
"""

from __future__ import annotations

import math

from entropie.theory.randomized_response import psi_gap_over
from entropie.theory.special import (
    LARGE_EPSILON,
    LN2,
    binomial_expectation,
    lie_probability,
    psi,
    theta_of,
)


def alpha_bits(users: int, domain_size: int, hash_size: int, epsilon: float, collision: float) -> float:
    """Certified bound for a family with collision probability c.

    The smaller of (1-c) [psi(w-1) - m psi((w-1)/m)] and psi(w-1) - b psi((w-1)/b), b = min(m, g), over Zg ln 2.
    """
    m = min(users, domain_size)
    return min(
        (1.0 - collision) * psi_gap_over(hash_size, m, epsilon),
        psi_gap_over(hash_size, min(m, hash_size), epsilon),
    )


def alpha_bits_ideal(users: int, domain_size: int, hash_size: int, epsilon: float) -> float:
    """Exact for an ideal hash: [psi(w-1) - g E psi((w-1) N/m)] / (Zg ln 2), N ~ Bin(m, 1/g)."""
    m = min(users, domain_size)
    if m == 1:
        return 0.0
    if epsilon > LARGE_EPSILON:
        entropy = binomial_expectation(lambda count: _x_log_x(count / m), m, 1.0 / hash_size)
        return -hash_size * entropy / LN2
    lift = math.expm1(epsilon)
    hidden = hash_size * binomial_expectation(lambda count: psi(lift * (count / m)), m, 1.0 / hash_size)
    return max(0.0, (psi(lift) - hidden) / (hash_size + lift) / LN2)


def success(users: int, domain_size: int, hash_size: int, epsilon: float, list_size: int = 1) -> float:
    """Certified worst-case success of L guesses, any hash family: theta min(1, bL/n) + (1-theta) L/n, b = min(m, g)."""
    theta, lie = theta_of(epsilon, hash_size), lie_probability(epsilon, hash_size)
    guesses, buckets = min(list_size, users), min(users, domain_size, hash_size)
    return theta * min(1.0, buckets * guesses / users) + lie * guesses / users


def success_ideal(users: int, domain_size: int, hash_size: int, epsilon: float) -> float:
    """Exact for an ideal hash: [(1-theta) + theta g (1-(1-1/g)^m)] / n."""
    m = min(users, domain_size)
    return (lie_probability(epsilon, hash_size) + theta_of(epsilon, hash_size) * filled_buckets(m, hash_size)) / users


def filled_buckets(inputs: int, hash_size: int) -> float:
    """Expected number of hash values taken by m items under an ideal hash: g (1-(1-1/g)^m)."""
    return -hash_size * math.expm1(inputs * math.log1p(-1.0 / hash_size))


def success_with_prior_max(
    users: int, prior_max: float, domain_size: int, hash_size: int, epsilon: float, list_size: int = 1
) -> float:
    """Certified success when the likeliest user has probability `prior_max`: theta min(1, bL p_1) + (1-theta) L p_1."""
    theta, lie = theta_of(epsilon, hash_size), lie_probability(epsilon, hash_size)
    guesses, buckets = min(list_size, users), min(users, domain_size, hash_size)
    return theta * min(1.0, buckets * guesses * prior_max) + lie * min(1.0, guesses * prior_max)


def contraction(hash_size: int, epsilon: float, collision: float) -> float:
    """The eta of I(U;Y) <= eta I(U;X): (1-c) theta tanh(eps/2)."""
    return (1.0 - collision) * theta_of(epsilon, hash_size) * math.tanh(epsilon / 2.0)


def per_user_bits(hash_size: int, epsilon: float, collision: float) -> float:
    """Worst D(p(Y|u) || p(Y)) over users and priors: (1-c) theta eps log e."""
    return (1.0 - collision) * theta_of(epsilon, hash_size) * epsilon / LN2


def _x_log_x(x: float) -> float:
    return x * math.log(x) if x > 0.0 else 0.0
