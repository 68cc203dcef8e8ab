"""The hash family: universal, with the collision probability it states, by counting all functions of small families."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.mechanisms.hashing import LARGE_PRIME, HashFamily

SMALL_PRIMES = [2, 3, 5, 7, 11, 13]
PRIMES = [*SMALL_PRIMES, 101, 65537, 4294967311, 2**61 - 1, 2**62 - 57]


@pytest.mark.parametrize("prime", SMALL_PRIMES)
def test_universal_by_full_enumeration(prime: int) -> None:
    """Every pair of distinct items, every g: the share of functions that collide is exactly c, and at most 1/g."""
    functions = [(a, b) for a in range(1, prime) for b in range(prime)]
    for hash_size in range(2, prime + 1):
        collision = HashFamily(prime, hash_size).collision_probability
        hashes = [[(a * x + b) % prime % hash_size for a, b in functions] for x in range(prime)]
        for x, other in combinations(range(prime), 2):
            same = sum(u == v for u, v in zip(hashes[x], hashes[other], strict=True))
            assert Fraction(same, len(functions)) == collision
        assert collision <= Fraction(1, hash_size)


@pytest.mark.parametrize("prime", SMALL_PRIMES)
def test_value_is_the_formula_for_every_function(prime: int) -> None:
    for hash_size in range(2, prime + 1):
        family = HashFamily(prime, hash_size)
        every = [(a, b, x) for a in range(1, prime) for b in range(prime) for x in range(prime)]
        want = [(a * x + b) % prime % hash_size for a, b, x in every]
        assert [family.value(*one) for one in every] == want
        columns = (np.array(column, np.uint64) for column in zip(*every, strict=True))
        assert family.values(*columns).tolist() == want


def test_collision_probability_where_the_prime_is_close_to_the_hash_size() -> None:
    """P = g: none at all; P = g + 2: only v and v + 101 fall together, v = 0 and 1; a large P: 1/g, as in the paper."""
    assert HashFamily(101, 101).collision_probability == 0
    assert HashFamily(103, 101).collision_probability == Fraction(1 * (103 + 2 - 101), 103 * 102)
    assert float(HashFamily(LARGE_PRIME, 1000).collision_probability) == pytest.approx(1e-3, rel=1e-12)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.sampled_from(PRIMES), st.integers(2, 2**62))
def test_collision_probability_by_counting_remainders(prime: int, hash_size: int) -> None:
    """q+1 residues in each of r classes and q in each other: pairs of distinct residues that fall together."""
    hash_size = 2 + hash_size % (prime - 1)
    quotient, rest = divmod(prime, hash_size)
    pairs = rest * (quotient + 1) * quotient + (hash_size - rest) * quotient * (quotient - 1)
    assert HashFamily(prime, hash_size).collision_probability == Fraction(pairs, prime * (prime - 1))


def test_each_item_meets_each_residue_equally_often() -> None:
    """(a x + b) mod P is uniform: a single item's hash says nothing but its class size."""
    family = HashFamily(7, 3)
    for x in range(7):
        seen = Counter(family.value(a, b, x) for a in range(1, 7) for b in range(7))
        assert seen == {0: 18, 1: 12, 2: 12}


@pytest.mark.parametrize(
    ("domain_size", "hash_size", "prime"),
    [(1000, 16, 1009), (16, 1000, 1009), (101, 101, 101), (2, 2, 2), (10**18, 2, 10**18 + 3), (9, 2**32, 4294967311)],
)
def test_smallest_family_holds_domain_and_hash_values(domain_size: int, hash_size: int, prime: int) -> None:
    assert HashFamily.smallest(domain_size, hash_size) == HashFamily(prime, hash_size)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    st.sampled_from(PRIMES),
    st.integers(2, 2**62),
    st.integers(0, 2**62),
    st.integers(0, 2**62),
    st.integers(0, 2**62),
    st.integers(1, 300),
)
def test_preimages_by_testing_every_item(prime: int, hash_size: int, a: int, b: int, y: int, size: int) -> None:
    hash_size = 2 + hash_size % (prime - 1)
    a, b, y, size = 1 + a % (prime - 1), b % prime, y % hash_size, min(size, prime)
    want = [x for x in range(size) if (a * x + b) % prime % hash_size == y]
    found = HashFamily(prime, hash_size).preimages(a, b, y, size)
    assert found.dtype == np.uint64
    assert found.tolist() == want


def test_preimages_beyond_the_room_first_made() -> None:
    """a = g sends the first P/g items to one value: many more than k/g of them."""
    family = HashFamily(LARGE_PRIME, 1000)
    assert family.preimages(1000, 7, 7, 5000).tolist() == list(range(5000))
    assert family.preimages(1000, 7, 8, 5000).tolist() == []
