"""Prime numbers for the hash family."""

from __future__ import annotations

# Miller-Rabin with these bases is a proof, not a test, for every number below 3.3e24 (Sorenson & Webster 2015).
_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)


def is_prime(number: int) -> bool:
    """Whether `number` < 3.3e24 is prime."""
    if number < 2:
        return False
    for base in _BASES:
        if number % base == 0:
            return number == base
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(_passes(number, base, odd, twos) for base in _BASES)


def _passes(number: int, base: int, odd: int, twos: int) -> bool:
    power = pow(base, odd, number)
    if power in (1, number - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % number
        if power == number - 1:
            return True
    return False


def next_prime(number: int) -> int:
    """The smallest prime that is at least `number`."""
    candidate = max(2, number)
    while not is_prime(candidate):
        candidate += 1
    return candidate
