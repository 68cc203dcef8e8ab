"""Expected squared error of the estimated distribution, and the threshold below which an estimate is only noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from entropie.theory import checks
from entropie.theory.special import LARGE_EPSILON, binomial_upper_tail, lie_probability, theta_of


@dataclass(frozen=True, slots=True)
class CountingRates:
    """How often a report supports an item: `mu` if it is the true one, `nu` if it is another; `gain` = mu - nu.

    The estimate (count/n - nu)/gain is unbiased. `gain` and `mu_off` = 1 - mu are kept apart because their
    differences lose digits where theta is tiny or close to 1.
    """

    mu: float
    nu: float
    gain: float
    mu_off: float

    def l2(self, probability: float, users: int) -> float:
        """Variance of one estimate: [p mu(1-mu) + (1-p) nu(1-nu)] / (n gain^2)."""
        spread = probability * self.mu * self.mu_off + (1.0 - probability) * self.nu * (1.0 - self.nu)
        return math.inf if self.gain == 0.0 else spread / self.gain / self.gain / users

    def l2_sum(self, domain_size: int, users: int) -> float:
        """The same summed over all k items; it does not depend on the distribution, whose sum is 1."""
        spread = self.mu * self.mu_off + (domain_size - 1) * self.nu * (1.0 - self.nu)
        return math.inf if self.gain == 0.0 else spread / self.gain / self.gain / users


def randomized_response_rates(domain_size: int, epsilon: float) -> CountingRates:
    """Mu = w/Z, nu = 1/Z."""
    theta, lie = theta_of(epsilon, domain_size), lie_probability(epsilon, domain_size)
    nu = lie / domain_size
    return CountingRates(mu=theta + nu, nu=nu, gain=theta, mu_off=lie * (domain_size - 1) / domain_size)


def local_hashing_rates(hash_size: int, epsilon: float, collision: float) -> CountingRates:
    """Mu = w/Zg, nu = (1-theta)/g + theta c: unbiased for the family in use, whose collision probability is c."""
    theta, lie = theta_of(epsilon, hash_size), lie_probability(epsilon, hash_size)
    return CountingRates(
        mu=theta + lie / hash_size,
        nu=lie / hash_size + theta * collision,
        gain=theta * (1.0 - collision),
        mu_off=lie * (hash_size - 1) / hash_size,
    )


def randomized_response_l2(probability: float, users: int, domain_size: int, epsilon: float) -> float:
    """The paper's form: (k+w-2)/(n(w-1)^2) + p (k-2)/(n(w-1)); equal to the variance above."""
    epsilon = checks.epsilon_value(epsilon)
    if epsilon == 0.0 or epsilon > LARGE_EPSILON:
        return math.inf if epsilon == 0.0 else 0.0
    lift = math.expm1(epsilon)
    return ((domain_size + lift - 1) / lift + probability * (domain_size - 2)) / lift / users


def local_hashing_l2(probability: float, users: int, hash_size: int, epsilon: float) -> float:
    """The paper's form for a universal family, c = 1/g.

    Zg^2/(n(w-1)^2(g-1)) + p (g^2-2g-w+1)/(n(w-1)(g-1)).
    """
    epsilon = checks.epsilon_value(epsilon)
    if epsilon == 0.0:
        return math.inf
    if epsilon > LARGE_EPSILON:
        return (1.0 - probability) / (hash_size - 1) / users
    lift = math.expm1(epsilon)
    # the same, sorted into terms that are never negative
    rare = ((hash_size + lift) / lift) ** 2
    own = (hash_size / lift) * hash_size * ((1.0 + lift) / lift)
    return ((1.0 - probability) * rare + probability * own) / (hash_size - 1) / users


def local_hashing_l2_limit(probability: float, users: int, theta: float) -> float:
    """What the loss tends to as g grows at fixed theta: p (1-theta)/(n theta)."""
    return math.inf if theta == 0.0 else probability * (1.0 - theta) / theta / users


def significant_count(rates: CountingRates, users: int, domain_size: int, level: float = 0.05) -> int:
    """Smallest support count that an item nobody has reaches with probability at most level/k (Bonferroni).

    Exact binomial tail of Bin(n, nu): the normal threshold below is far too low where n nu is small.
    """
    allowed = checks.real_number("level", level, "a share between 0 and 1", 1e-300, 1.0 - 1e-12) / domain_size
    mean = users * rates.nu
    if mean <= 0.0:
        return 1
    count = max(1, math.floor(mean))
    step = max(1, math.ceil(math.sqrt(mean)))
    while binomial_upper_tail(count + step, users, rates.nu) > allowed:
        count += step
    while step > 1:  # the answer lies in (count, count + step]
        half = step // 2
        if binomial_upper_tail(count + half, users, rates.nu) > allowed:
            count, step = count + half, step - half
        else:
            step = half
    return count if count == 1 and binomial_upper_tail(1, users, rates.nu) <= allowed else count + 1


def detectable_share(rates: CountingRates, users: int, domain_size: int, level: float = 0.05) -> float:
    """The smallest estimate that `significant_count` lets stand out; infinite where reports say nothing."""
    if rates.gain <= 0.0:
        return math.inf
    return (significant_count(rates, users, domain_size, level) / users - rates.nu) / rates.gain


def significance_threshold(rates: CountingRates, users: int, domain_size: int, level: float = 0.05) -> float:
    """The paper's Phi^-1(1 - level/k) sd: a normal approximation of where an absent item stays with Bonferroni.

    sd is the standard error of an absent item (p = 0).
    """
    level = checks.real_number("level", level, "a share between 0 and 1", 1e-300, 1.0 - 1e-12)
    deviations = -NormalDist().inv_cdf(level / domain_size)
    return deviations * math.sqrt(rates.l2(0.0, users))
