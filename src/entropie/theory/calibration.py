"""From a wanted guarantee back to the setting: one generic inversion, and the choice of a hash size."""

from __future__ import annotations

import math
from collections.abc import Callable

from entropie.errors import Unreachable, option
from entropie.theory import checks
from entropie.theory.special import largest_where

HASH_NOISE_SHARE = 0.01
"""A hash size is chosen so that collisions and lies add at most this share to the loss that no hash size avoids."""


def largest_theta(success: Callable[[float], float], bayes_error: float) -> float:
    """The largest theta in [0, 1] at which an attacker's error, one minus the success that rises with theta, is wanted.

    The error is compared as it is printed: 1 - 0.1 is 0.9, while 0.1 is above 1 - 0.9 by the rounding of computers.
    """
    wanted = checks.bayes_error_value(bayes_error)
    at_zero = success(0.0)
    if at_zero > (1.0 - wanted) * (1.0 + 1e-12):
        raise Unreachable(
            f"An error rate of {wanted:.10g} cannot be guaranteed: by chance alone it is {1.0 - at_zero:.10g} at most; "
            f"lower {option('bayes_error')}, or have more people."
        )
    return largest_where(lambda theta: 1.0 - success(theta) >= wanted, 0.0, 1.0)


def hash_size_for(theta: float, domain_size: int) -> int:
    """The smallest round hash size whose noise adds at most `HASH_NOISE_SHARE` to the summed loss (1-theta)/(n theta).

    An absent item has variance about (1-theta)/(g n theta^2); k of them stay within the share when g is at least
    k/(share theta).
    """
    needed = domain_size / (HASH_NOISE_SHARE * theta) if theta > 0.0 else math.inf
    if needed >= checks.LARGEST_SIZE:
        return checks.LARGEST_SIZE
    return int(min(checks.LARGEST_SIZE, 10 ** math.ceil(math.log10(max(needed, 2.0)))))
