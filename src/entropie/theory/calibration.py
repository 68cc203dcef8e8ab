"""From a wanted guarantee back to the setting: one generic inversion."""

from __future__ import annotations

from collections.abc import Callable

from entropie.errors import Unreachable, option
from entropie.theory import checks
from entropie.theory.special import largest_where


def largest_theta(success: Callable[[float], float], bayes_error: float) -> float:
    """The largest theta in [0, 1] at which an attacker's error, one minus the success that rises with theta, is wanted.

    The error is compared as it is printed: 1 - 0.1 is 0.9, while 0.1 is above 1 - 0.9 by the rounding of computers.
    """
    wanted = checks.bayes_error_value(bayes_error)
    at_zero = success(0.0)
    if at_zero > (1.0 - wanted) * (1.0 + 1e-12):
        raise beyond_chance(wanted, 1.0 - at_zero)
    return largest_where(lambda theta: 1.0 - success(theta) >= wanted, 0.0, 1.0)


def beyond_chance(wanted: float, chance: float) -> Unreachable:
    """Why an error rate cannot be guaranteed that even guessing does not have."""
    return Unreachable(
        f"An error rate of {wanted:.10g} cannot be guaranteed: by chance alone it is {chance:.10g} at most; "
        f"lower {option('bayes_error')}, or have more people."
    )
