"""Randomized response over k items: the exact supremum of I(U;Y) and the exact worst-case success of an attacker.

I(U;Y) is convex in p(X|U), so the worst case gives every user one fixed item; what remains is the capacity of
the channel restricted to m = min(n, k) inputs, and by symmetry the uniform law on them attains it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from entropie.theory import checks
from entropie.theory.special import LARGE_EPSILON, LN2, lie_probability, psi, theta_of


def alpha_bits(users: int, domain_size: int, epsilon: float) -> float:
    """Exact sup of I(U;Y) over all joint laws: [psi(w-1) - m psi((w-1)/m)] / (Z ln 2)."""
    m = min(users, domain_size)
    return psi_gap_over(domain_size, m, epsilon)


def psi_gap_over(size: int, inputs: int, epsilon: float) -> float:
    """[psi(w-1) - m psi((w-1)/m)] / ((size+w-1) ln 2) for m inputs: bits of one report over `size` answers."""
    if inputs <= 1:
        return 0.0
    if epsilon > LARGE_EPSILON:
        return math.log2(inputs)
    lift = math.expm1(epsilon)
    return (psi(lift) - inputs * psi(lift / inputs)) / (size + lift) / LN2


def success(users: int, domain_size: int, epsilon: float, list_size: int = 1) -> float:
    """Exact worst-case success of L guesses, users equally likely: theta min(1, kL/n) + (1-theta) L/n."""
    theta, lie = theta_of(epsilon, domain_size), lie_probability(epsilon, domain_size)
    guesses = min(list_size, users)
    return theta * min(1.0, domain_size * guesses / users) + lie * guesses / users


def success_with_prior(prior: Iterable[float], domain_size: int, epsilon: float) -> float:
    """Exact worst-case success for users drawn with these probabilities.

    V = (1/Z) [sum over the m likeliest of max(w p_i, p_1) + (k-m) p_1].
    """
    likeliest = sorted(checks.distribution("prior", prior), reverse=True)
    m = min(len(likeliest), domain_size)
    return _prior_sum(((p, 1) for p in likeliest[:m]), likeliest[0], domain_size - m, domain_size, epsilon)


def success_with_prior_max(users: int, prior_max: float, domain_size: int, epsilon: float) -> float:
    """The same, worst over every prior whose largest probability is `prior_max`.

    The sum is convex in the probabilities, so its maximum gives as many users as possible exactly `prior_max`.
    """
    prior_max = checks.prior_max_value(prior_max, users)
    full = min(users, int(1.0 / prior_max * (1.0 + 1e-12)))
    rest = max(0.0, 1.0 - full * prior_max)
    m = min(users, domain_size)
    groups = [(prior_max, min(full, m))]
    if m > full:
        groups.append((rest, 1))
        groups.append((0.0, m - full - 1))
    return min(1.0, _prior_sum(groups, prior_max, domain_size - m, domain_size, epsilon))


def _prior_sum(
    groups: Iterable[tuple[float, int]], largest: float, unused: int, domain_size: int, epsilon: float
) -> float:
    """(1/Z) [sum of max(w p, p_1) over (p, how many) + unused p_1], with both parts divided by Z first."""
    lie = lie_probability(epsilon, domain_size) / domain_size  # 1/Z
    truth = theta_of(epsilon, domain_size) + lie  # w/Z
    hits = math.fsum(count * max(truth * p, lie * largest) for p, count in groups)
    return hits + unused * lie * largest


def contraction(domain_size: int, epsilon: float) -> float:
    """The eta of I(U;Y) <= eta I(U;X): theta tanh(eps/2)."""
    return theta_of(epsilon, domain_size) * math.tanh(epsilon / 2.0)


def per_user_bits(domain_size: int, epsilon: float) -> float:
    """Worst D(p(Y|u) || p(Y)) over users and priors: theta eps log e."""
    return theta_of(epsilon, domain_size) * epsilon / LN2
