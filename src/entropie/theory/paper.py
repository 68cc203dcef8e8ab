"""The paper's bounds as printed (with the corrected sign), and their inverses.

Equations of Murakami & Takahashi, "Toward Evaluating Re-identification Risks in the Local Privacy Model",
Transactions on Data Privacy 14 (2021). All information is in bits.
"""

from __future__ import annotations

import math

from entropie.errors import Unreachable
from entropie.theory import checks
from entropie.theory.special import LN2, epsilon_of, theta_of

LOG2_E = 1.0 / LN2


def alpha_bits_ldp(users: int, domain_size: int, epsilon: float) -> float:
    """Any epsilon-LDP mechanism (the paper's proposition): min{eps log e, eps^2 log e, log n, log k}.

    >>> round(alpha_bits_ldp(1370637, 10500393, 0.1), 3)
    0.014
    """
    users, domain_size, epsilon = _checked(users, domain_size, epsilon)
    return min(epsilon * LOG2_E, epsilon * epsilon * LOG2_E, math.log2(users), math.log2(domain_size))


def alpha_bits(users: int, domain_size: int, epsilon: float, hash_size: int | None = None) -> float:
    """Randomized response, or local hashing when `hash_size` is given: theta min{log n, log k}.

    >>> round(alpha_bits(1370637, 10500393, 10.0), 3)
    0.043
    """
    users, domain_size, epsilon = _checked(users, domain_size, epsilon)
    return theta_of(epsilon, hash_size or domain_size) * math.log2(min(users, domain_size))


def alpha_bits_composed(alpha: float, reports: int) -> float:
    """T data of one user, whatever their correlations: t alpha."""
    return checks.whole_number("reports", reports) * alpha


def mi_ldp_bits(domain_size: int, epsilon: float, hash_size: int | None = None) -> float:
    """MI-LDP, I(X;Y) <= alpha: the bound above where every item may have its own user, theta log k."""
    return alpha_bits(domain_size, domain_size, epsilon, hash_size)


def bayes_error(information_bits: float, users: int, prior_max: float | None = None) -> float:
    """Lower bound on the Bayes error from I(U;Y) or alpha: 1 - (I+1)/log n, or 1 + (I+1)/log(1-beta_U).

    `prior_max` = 1 - beta_U is the probability of the likeliest user. Never below 0.

    >>> round(bayes_error(math.log2(5), 10**8), 3)
    0.875
    """
    users = checks.whole_number("users", users)
    bits = _prior_bits(users, prior_max)
    return max(0.0, 1.0 - (information_bits + 1.0) / bits) if bits > 0.0 else 0.0


def alpha_bits_for(bayes_error: float, users: int, prior_max: float | None = None) -> float:
    """Inverse of `bayes_error`: the information that still guarantees this error."""
    wanted = checks.bayes_error_value(bayes_error)
    users = checks.whole_number("users", users)
    prior_bits = _prior_bits(users, prior_max)
    bits = (1.0 - wanted) * prior_bits - 1.0
    if bits < 0.0:
        largest = max(0.0, 1.0 - 1.0 / prior_bits) if prior_bits > 0.0 else 0.0
        raise Unreachable(
            f"The paper's bound guarantees an error rate of at most {largest:.6g} for {users} people, got {wanted:.6g} "
            "instead; use the exact bound."
        )
    return bits


def theta_for(alpha: float, users: int, domain_size: int) -> float:
    """Inverse of `alpha_bits`: the truth probability with theta min{log n, log k} = alpha (1 when alpha is larger)."""
    bits = math.log2(min(users, domain_size))
    return 1.0 if alpha >= bits else alpha / bits


def epsilon_for(
    bayes_error: float,
    users: int,
    domain_size: int,
    hash_size: int | None = None,
    prior_max: float | None = None,
) -> float:
    """Wanted Bayes error -> alpha -> theta -> epsilon, by the paper's bounds; infinite when no noise is needed."""
    theta = theta_for(alpha_bits_for(bayes_error, users, prior_max), users, domain_size)
    return epsilon_of(theta, hash_size or domain_size)


def _prior_bits(users: int, prior_max: float | None) -> float:
    return math.log2(users) if prior_max is None else -math.log2(checks.prior_max_value(prior_max, users))


def _checked(users: int, domain_size: int, epsilon: float) -> tuple[int, int, float]:
    return (
        checks.whole_number("users", users),
        checks.whole_number("domain_size", domain_size),
        checks.epsilon_value(epsilon),
    )
