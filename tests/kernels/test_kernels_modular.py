"""Arithmetic modulo P and the items behind a hash value, against Python integers that never overflow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from entropie.kernels.modular import first_visit, hash_value, hash_values, multiply, preimages, visit_interval

BIGGEST = 2**62 - 57  # the largest prime below 2^62
PRIMES = [2, 3, 5, 7, 13, 101, 251, 65537, 2**31 - 1, 4294967291, 4294967311, 2**61 - 1, BIGGEST]
U = np.uint64
EXACT = settings(derandomize=True, deadline=None, max_examples=200)


def hashed(a: int, b: int, x: int, prime: int, hash_size: int) -> int:
    return (a * x + b) % prime % hash_size


def inverse_of(hash_size: int, prime: int) -> int:
    return pow(hash_size, -1, prime) if hash_size < prime else 1


def found_items(
    a: int, b: int, y: int, prime: int, hash_size: int, domain_size: int, room: int
) -> tuple[int, list[int]]:
    out = np.empty(room, U)
    inverse = U(inverse_of(hash_size, prime))
    found = int(preimages(U(a), U(b), U(y), U(prime), U(hash_size), inverse, U(domain_size), out))
    return found, [int(x) for x in out[:found]]


@st.composite
def products(draw: st.DrawFn) -> tuple[int, int, int]:
    """Any modulus up to 2^62, prime or not, and factors that lean towards its ends."""
    modulus = draw(st.one_of(st.sampled_from(PRIMES), st.integers(2, 2**62), st.integers(2**62 - 1000, 2**62)))
    factor = st.one_of(
        st.integers(0, modulus - 1),
        st.integers(max(0, modulus - 3), modulus - 1),
        st.sampled_from([2**31 - 1, 2**31, 2**32 - 1, 2**53 - 1, 2**53 + 1, 2**61]).map(lambda v: v % modulus),
    )
    return draw(factor), draw(factor), modulus


@settings(EXACT, max_examples=800)
@given(products())
@example((BIGGEST - 1, BIGGEST - 1, BIGGEST))
@example((2**62 - 1, 2**62 - 1, 2**62))
@example((2**32 - 1, 2**32 - 1, 2**32))
@example((2**32, 2**32, 2**32 + 1))
def test_multiply_is_the_product_of_python_integers(case: tuple[int, int, int]) -> None:
    a, b, modulus = case
    assert int(multiply(U(a), U(b), U(modulus))) == a * b % modulus


def test_multiply_over_many_random_products() -> None:
    """100 000 products at the largest prime, where the rounded quotient is least certain."""
    rng = np.random.default_rng(20)
    a = rng.integers(0, BIGGEST, 100_000, dtype=U)
    x = rng.integers(0, BIGGEST, 100_000, dtype=U)
    got = hash_values(a, np.zeros_like(a), x, U(BIGGEST), U(BIGGEST))
    assert [int(v) for v in got] == [int(i) * int(j) % BIGGEST for i, j in zip(a, x, strict=True)]


def test_multiply_where_the_quotient_is_almost_whole() -> None:
    """a c just below, at or just above a multiple of P: the quotient in floating point is off by one either way."""
    rng = np.random.default_rng(21)
    for prime in (4294967311, 2**53 + 5, 2**61 - 1, BIGGEST, 2**62):
        for _ in range(4000):
            c = int(rng.integers(1, 2**31))
            a = int(rng.integers(1, c + 1)) * prime // c + int(rng.integers(-1, 2))
            a = min(max(a, 0), prime - 1)
            for b in (c, (c << 31) % prime):
                assert int(multiply(U(a), U(b), U(prime))) == a * b % prime, (a, b, prime)


@st.composite
def functions(draw: st.DrawFn) -> tuple[int, int, int, int, int]:
    """(a, b, y, P, g) with g from 2 to P itself, and y at the ends of both kinds of remainder class."""
    prime = draw(st.sampled_from(PRIMES))
    hash_size = draw(
        st.one_of(
            st.integers(2, prime),
            st.integers(2, min(prime, 40)),
            st.sampled_from([prime, max(2, prime - 1), max(2, prime // 2), prime // 2 + 1, max(2, prime // 3)]),
            st.sampled_from([2**32 - 1, 2**32, 2**32 + 15, 2**40]).map(lambda g: min(g, prime)),
        )
    )
    a = draw(st.one_of(st.integers(1, prime - 1), st.sampled_from([1, prime - 1, max(1, prime // 2)])))
    b = draw(st.one_of(st.integers(0, prime - 1), st.sampled_from([0, prime - 1])))
    rest = prime % hash_size
    edges = [y % hash_size for y in (0, rest - 1, rest, rest + 1, hash_size - 1)]
    y = draw(st.one_of(st.integers(0, hash_size - 1), st.sampled_from(edges)))
    return a, b, y, prime, hash_size


@EXACT
@given(functions(), st.integers(0, 2**62))
def test_hash_value(function: tuple[int, int, int, int, int], x: int) -> None:
    a, b, _, prime, hash_size = function
    x %= prime
    want = hashed(a, b, x, prime, hash_size)
    assert int(hash_value(U(a), U(b), U(x), U(prime), U(hash_size))) == want
    columns = (np.array([v, v], U) for v in (a, b, x))
    assert [int(v) for v in hash_values(*columns, U(prime), U(hash_size))] == [want, want]


@EXACT
@given(functions(), st.lists(st.integers(0, 2**62), min_size=1, max_size=20))
def test_visit_interval_is_the_same_condition(function: tuple[int, int, int, int, int], items: list[int]) -> None:
    a, b, y, prime, hash_size = function
    numbers = (U(v) for v in (a, b, y, prime, hash_size, inverse_of(hash_size, prime)))
    step, start, length = (int(v) for v in visit_interval(*numbers))
    assert length == len(range(y, prime, hash_size))
    for x in (item % prime for item in items):
        assert ((step * x + start) % prime < length) == (hashed(a, b, x, prime, hash_size) == y)


@pytest.mark.parametrize("prime", [2, 3, 5, 7, 11, 13, 31])
def test_first_visit_and_returns_over_every_rotation(prime: int) -> None:
    """All rotations, starts and interval lengths of a small circle: the first visit, and every return."""
    for step in range(1, prime):
        for length in range(1, (prime + 1) // 2 + 1):
            orbit = [step * x % prime for x in range(2 * prime)]
            for start in range(prime):
                visits = [x for x in range(prime) if (start + orbit[x]) % prime < length]
                x, t, right_time, right, left_time, left = (
                    int(v) for v in first_visit(U(step), U(start), U(length), U(prime))
                )
                assert x == visits[0]
                assert t == (start + step * x) % prime
                if length == 1:
                    continue
                walked = [x]
                while len(walked) < length:
                    if t + right < length:
                        x, t = x + right_time, t + right
                    elif t >= left:
                        x, t = x + left_time, t - left
                    else:
                        x, t = x + right_time + left_time, t + right - left
                    walked.append(x)
                assert walked == visits


@EXACT
@given(functions(), st.integers(1, 400), st.integers(0, 3))
def test_preimages_of_the_first_items(function: tuple[int, int, int, int, int], size: int, room: int) -> None:
    """The first k items by testing each of them: k below g, k below P, and k = P where P is small."""
    a, b, y, prime, hash_size = function
    domain_size = min(size, prime)
    want = [x for x in range(domain_size) if hashed(a, b, x, prime, hash_size) == y]
    assert found_items(a, b, y, prime, hash_size, domain_size, domain_size) == (len(want), want)
    found, written = found_items(a, b, y, prime, hash_size, domain_size, min(room, len(want)))
    assert (found, written) == (len(want), want[:room])


@EXACT
@given(functions())
def test_preimages_over_the_whole_circle(function: tuple[int, int, int, int, int]) -> None:
    """k = P up to 2^62: exactly a^-1 (v - b) mod P for v = y, y+g, y+2g, ...."""
    a, b, y, prime, hash_size = function
    values = range(y, prime, hash_size)
    if len(values) > 2000:
        return
    back = pow(a, -1, prime)
    want = sorted(back * (v - b) % prime for v in values)
    assert found_items(a, b, y, prime, hash_size, prime, len(want)) == (len(want), want)


@pytest.mark.parametrize("prime", [2, 3, 5, 7, 11, 13])
def test_preimages_of_every_function_of_a_small_family(prime: int) -> None:
    for hash_size in range(2, prime + 1):
        for a in range(1, prime):
            for b in range(prime):
                values = [hashed(a, b, x, prime, hash_size) for x in range(prime)]
                for y in range(hash_size):
                    want = [x for x in range(prime) if values[x] == y]
                    assert found_items(a, b, y, prime, hash_size, prime, prime) == (len(want), want)
