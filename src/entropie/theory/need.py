"""Is noise needed at all? I(U;Y) <= min{I(U;X), I(X;Y)}: few possible values hide many people by themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from entropie.theory import checks, paper


@dataclass(frozen=True, slots=True)
class NoiseNeed:
    """What replacing names by pseudonyms guarantees without any noise.

    information_bits  what one datum can say about its user: I(U;X) if known, else log min(n, k)
    bayes_error       exact worst case over all data of this shape: 1 - min(n,k)/n (uniform users)
    bayes_error_paper the paper's bound from `information_bits`
    needed            whether the wanted error is out of reach without noise
    """

    information_bits: float
    bayes_error: float
    bayes_error_paper: float
    needed: bool


def noise_needed(
    users: int,
    domain_size: int,
    bayes_error: float,
    information_bits: float | None = None,
    prior_max: float | None = None,
) -> NoiseNeed:
    """Compare the guarantee of pseudonymisation alone with the wanted Bayes error."""
    users = checks.whole_number("users", users)
    domain_size = checks.whole_number("domain_size", domain_size)
    wanted = checks.bayes_error_value(bayes_error)
    m = min(users, domain_size)
    bits = math.log2(m) if information_bits is None else min(information_bits, math.log2(m))
    by_paper = paper.bayes_error(bits, users, prior_max)
    largest = 1.0 / users if prior_max is None else checks.prior_max_value(prior_max, users)
    exact = max(0.0, 1.0 - m * largest)
    return NoiseNeed(bits, exact, by_paper, needed=max(exact, by_paper) < wanted)
