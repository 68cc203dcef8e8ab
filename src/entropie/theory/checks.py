"""Rules for the numbers every guarantee speaks of, checked once at the public edge."""

from __future__ import annotations

import math
from collections.abc import Iterable

from entropie.errors import InvalidParameter
from entropie.quantities import read_count, read_share

LARGEST_SIZE = 10**18
"""Users, items and hash values are counted up to here; beyond it 64-bit reports no longer hold them."""


def whole_number(name: str, value: object, at_least: int = 1, at_most: int = LARGEST_SIZE) -> int:
    """Return `value`, which may be text such as 1.4M, as an int, or say which rule it breaks."""
    rule = f"a whole number from {at_least} to {at_most}"
    if isinstance(value, bool):
        raise InvalidParameter.of(name, rule, value)
    try:
        number = read_count(value) if isinstance(value, str) else int(value)  # type: ignore[call-overload]
        same = number == value or isinstance(value, str)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter.of(name, rule, value) from None
    if not same or not at_least <= number <= at_most:
        raise InvalidParameter.of(name, rule, value)
    return int(number)


def real_number(name: str, value: object, rule: str, low: float, high: float) -> float:
    """Return `value` as a float in [low, high], or say which rule it breaks (NaN breaks every rule)."""
    if isinstance(value, (bool, str, bytes)):
        raise InvalidParameter.of(name, rule, value)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter.of(name, rule, value) from None
    if not low <= number <= high:
        raise InvalidParameter.of(name, rule, value)
    return number


def share_value(name: str, value: object, rule: str) -> float:
    """Return a share from 0 to 1, which may be text such as 10%, or say which rule it breaks."""
    try:
        number = read_share(value) if isinstance(value, str) else value
    except ValueError:
        raise InvalidParameter.of(name, rule, value) from None
    return real_number(name, number, rule, 0.0, 1.0)


def epsilon_value(value: object) -> float:
    """Check a privacy budget: 0 is pure noise, infinity is no noise at all."""
    return real_number("epsilon", value, "a number of at least 0", 0.0, math.inf)


def theta_value(value: object) -> float:
    """Check a probability of telling the truth."""
    return share_value("theta", value, "a probability from 0 to 1")


def bayes_error_value(value: object) -> float:
    """Check a wanted share of wrong identifications."""
    return share_value("bayes_error", value, "a share from 0 to 1")


def prior_max_value(value: object, users: int) -> float:
    """Check the probability of the likeliest user: no smaller than 1/users, which is the uniform case."""
    number = share_value("prior_max", value, f"a probability from 1/users = {1 / users:.6g} to 1")
    if number * users < 1.0 - 1e-12:
        raise InvalidParameter.of("prior_max", f"a probability from 1/users = {1 / users:.6g} to 1", value)
    return number


def distribution(name: str, values: Iterable[float]) -> list[float]:
    """Check a probability vector: no negative entry, sum 1 (to 1e-9)."""
    entries = [float(value) for value in values]
    if not entries or not all(0.0 <= entry <= 1.0 for entry in entries):
        raise InvalidParameter(f"Parameter `{name}` must be a non-empty list of probabilities.")
    total = math.fsum(entries)
    if abs(total - 1.0) > 1e-9:
        raise InvalidParameter(f"Parameter `{name}` must sum to 1, got a sum of {total!r} instead.")
    return entries
