"""Primes for the hash family: against trial division, known large primes and the numbers that fool weaker tests."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.mechanisms.hashing import is_prime, next_prime


def divides_nothing(number: int) -> bool:
    """Trial division by every odd number up to the root."""
    if number < 4:
        return number in (2, 3)
    return number % 2 == 1 and all(number % d for d in range(3, math.isqrt(number) + 1, 2))


def test_is_prime_against_trial_division() -> None:
    assert [n for n in range(-5, 20_000) if is_prime(n)] == [n for n in range(20_000) if divides_nothing(n)]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(2, 10**10))
def test_is_prime_of_larger_numbers(number: int) -> None:
    assert is_prime(number) == divides_nothing(number)


LARGE_PRIMES = [
    2**31 - 1,
    4294967291,  # the largest below 2^32
    4294967311,  # the smallest above
    2**61 - 1,
    2**62 - 57,
    10**18 + 3,
    10**18 + 9,
    2**64 - 59,
    2**80 - 65,
]


@pytest.mark.parametrize("number", LARGE_PRIMES)
def test_known_large_primes(number: int) -> None:
    assert is_prime(number)


@pytest.mark.parametrize(
    "number",
    [
        561, 1105, 1729, 41041, 825265, 321197185,  # Carmichael: every base says prime to Fermat's test
        2047, 1373653, 25326001, 3215031751,  # least strong pseudoprimes to the bases 2; 2,3; 2,3,5; 2,3,5,7
        2152302898747, 3474749660383, 341550071728321,  # ... up to 11; 13; 17 and 19
        3825123056546413051,  # ... up to 23, 29 and 31
        318665857834031151167461,  # ... up to 37
        (2**31 - 1) ** 2,
        (2**31 - 1) * 4294967291,
        2**61 + 1,
        2**62 - 1,
        10**18 + 7,
    ],
)  # fmt: skip
def test_numbers_that_only_look_prime(number: int) -> None:
    assert not is_prime(number)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(-10, 10**9))
def test_next_prime_is_the_first_one(number: int) -> None:
    candidate = max(2, number)
    while not divides_nothing(candidate):
        candidate += 1
    assert next_prime(number) == candidate


@pytest.mark.parametrize(
    ("number", "prime"),
    [
        (10**8, 100_000_007),
        (10_500_393, 10_500_421),
        (2**32, 4294967311),
        (2**61 - 1, 2**61 - 1),
        (2**61, 2**61 + 15),
        (10**18, 10**18 + 3),
        (2**62 - 60, 2**62 - 57),
    ],
)
def test_next_prime_of_large_numbers(number: int, prime: int) -> None:
    assert next_prime(number) == prime
