"""Local hashing: the real family and the ideal hash as complete channels, function by function."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import (
    all_tables,
    assignments,
    capacities,
    hashed_matrix,
    information_bits,
    linear_tables,
    quickest_step,
    random_conditional,
    random_law,
    steady,
    success,
    uniform,
    worst_success,
)

from entropie.mechanisms.hashing import HashFamily
from entropie.theory import local_hashing, randomized_response

PRIMES = [2, 3, 5, 7, 11, 13]


def enumerated_collision(prime: int, g: int) -> Fraction:
    """Share of functions under which a pair collides; the same for every pair, which is checked."""
    tables = linear_tables(prime, g, prime)
    shares = {
        Fraction(int((tables[:, x] == tables[:, z]).sum()), len(tables))
        for x, z in itertools.combinations(range(prime), 2)
    }
    assert len(shares) == 1
    return shares.pop()


@pytest.mark.parametrize("prime", PRIMES)
def test_collision_probability_by_full_enumeration(prime: int) -> None:
    for g in range(2, prime + 1):
        q, r = divmod(prime, g)
        found = enumerated_collision(prime, g)
        assert found == Fraction(q * (prime + r - g), prime * (prime - 1))
        assert HashFamily(prime, g).collision_probability == found
        assert found <= Fraction(1, g)  # the family is universal


FAMILIES = [(5, 2, 4), (5, 3, 5), (7, 3, 4), (7, 5, 3), (5, 5, 4)]
"""Prime, hash size, items."""


@pytest.mark.parametrize("epsilon", [0.2, 1.5, 5.0])
@pytest.mark.parametrize(("prime", "g", "items"), FAMILIES)
@pytest.mark.parametrize("users", [2, 3, 5])
def test_certified_alpha_is_never_exceeded(prime: int, g: int, items: int, users: int, epsilon: float) -> None:
    Q = hashed_matrix(linear_tables(prime, g, items), g, epsilon)
    inputs = min(users, items)  # more users than items add nothing: two with one item are one to the attacker
    rows = np.array(list(itertools.combinations(range(items), inputs)))
    low, high = capacities(Q[rows], quickest_step(epsilon), gap=1e-9)
    certified = local_hashing.alpha_bits(users, items, g, epsilon, float(enumerated_collision(prime, g)))
    assert high.max() <= certified + 1e-9
    assert low.max() >= 0.5 * certified  # and it is a bound worth having


@pytest.mark.parametrize(("users", "items"), [(3, 2), (4, 3)])
def test_certified_alpha_is_never_exceeded_by_any_assignment(users: int, items: int) -> None:
    epsilon, prime, g = 1.5, 5, 3
    Q = hashed_matrix(linear_tables(prime, g, items), g, epsilon)
    _, high = capacities(Q[assignments(users, items)], quickest_step(epsilon), gap=1e-9)
    assert (
        high.max() <= local_hashing.alpha_bits(users, items, g, epsilon, float(enumerated_collision(prime, g))) + 1e-9
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.5, 5.0])
@pytest.mark.parametrize(("prime", "g", "items"), FAMILIES)
@pytest.mark.parametrize("users", [2, 4])
def test_certified_success_is_never_exceeded(prime: int, g: int, items: int, users: int, epsilon: float) -> None:
    Q = hashed_matrix(linear_tables(prime, g, items), g, epsilon)
    prior = random_law(np.random.default_rng(users), users)
    for guesses in range(1, users + 1):
        certified = local_hashing.success(users, items, g, epsilon, guesses)
        assert worst_success(Q, uniform(users), guesses) <= certified * (1 + 1e-12)
        certified = local_hashing.success_with_prior_max(users, prior.max(), items, g, epsilon, guesses)
        assert worst_success(Q, prior, guesses) <= certified * (1 + 1e-12)


@steady(100)
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from(FAMILIES), st.floats(1e-2, 6.0))
def test_certified_bounds_hold_for_random_users(
    seed: int, users: int, family: tuple[int, int, int], epsilon: float
) -> None:
    prime, g, items = family
    rng = np.random.default_rng(seed)
    laws = random_conditional(rng, users, items) @ hashed_matrix(linear_tables(prime, g, items), g, epsilon)
    c = float(enumerated_collision(prime, g))
    assert (
        information_bits(random_law(rng, users), laws) <= local_hashing.alpha_bits(users, items, g, epsilon, c) + 1e-14
    )
    assert success(uniform(users), laws) <= local_hashing.success(users, items, g, epsilon) * (1 + 1e-12)


IDEAL = [(2, 2), (2, 4), (3, 3), (4, 2), (5, 2), (3, 4)]
"""Hash size, items."""


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
@pytest.mark.parametrize(("g", "items"), IDEAL)
def test_ideal_hash_over_every_function(g: int, items: int, epsilon: float) -> None:
    Q = hashed_matrix(all_tables(g, items), g, epsilon)
    for users in range(1, items + 3):
        m = min(users, items)
        bits = information_bits(uniform(m), Q[:m])
        claimed = local_hashing.alpha_bits_ideal(users, items, g, epsilon)
        assert claimed == pytest.approx(bits, rel=1e-10, abs=1e-15)
        reached = Q[:m].max(axis=0).sum() / users
        assert local_hashing.success_ideal(users, items, g, epsilon) == pytest.approx(reached, rel=1e-13)


@pytest.mark.parametrize(("g", "items"), [(2, 3), (3, 3), (2, 4)])
def test_ideal_hash_values_are_the_worst_case(g: int, items: int) -> None:
    epsilon = 1.3
    Q = hashed_matrix(all_tables(g, items), g, epsilon)
    for users in (2, 3, 4):
        _, high = capacities(Q[assignments(users, items)], quickest_step(epsilon), gap=1e-9)
        assert high.max() == pytest.approx(local_hashing.alpha_bits_ideal(users, items, g, epsilon), rel=1e-7)
        worst = worst_success(Q, uniform(users))
        assert local_hashing.success_ideal(users, items, g, epsilon) == pytest.approx(worst, rel=1e-13)


@pytest.mark.parametrize(("g", "items"), IDEAL)
def test_ideal_hash_without_noise(g: int, items: int) -> None:
    """Infinite epsilon: what remains hidden is who shares a bucket."""
    counts = [np.bincount(table, minlength=g) / items for table in all_tables(g, items)]
    entropy = np.mean([-sum(q * math.log2(q) for q in shares if q > 0) for shares in counts])
    assert local_hashing.alpha_bits_ideal(items, items, g, math.inf) == pytest.approx(entropy, rel=1e-12)
    buckets = np.mean([np.count_nonzero(shares) for shares in counts])
    assert local_hashing.filled_buckets(items, g) == pytest.approx(buckets, rel=1e-13)


@steady(200)
@given(st.integers(1, 10**6), st.integers(2, 10**6), st.integers(2, 10**6), st.floats(1e-3, 30.0), st.floats(0.0, 1.0))
def test_order_of_the_bounds(users: int, items: int, g: int, epsilon: float, share: float) -> None:
    """Collisions and few buckets only help; an ideal hash stays within what is certified for c = 1/g."""
    c = share / g
    certified = local_hashing.alpha_bits(users, items, g, epsilon, c)
    assert certified <= local_hashing.alpha_bits(users, items, g, epsilon, 0.0)
    assert certified <= math.log2(min(users, items, g)) + 1e-12
    if min(users, items) <= 2000:
        ideal = local_hashing.alpha_bits_ideal(users, items, g, epsilon)
        assert ideal <= local_hashing.alpha_bits(users, items, g, epsilon, 1.0 / g) * (1 + 1e-9)
    assert local_hashing.success_ideal(users, items, g, epsilon) <= local_hashing.success(users, items, g, epsilon) * (
        1 + 1e-12
    )


def test_many_buckets_without_collisions_are_randomized_response() -> None:
    for users, items, epsilon in [(3, 5, 1.0), (1000, 70, 3.0), (10**6, 10**6, 10.0)]:
        plain = randomized_response.alpha_bits(users, items, epsilon)
        assert local_hashing.alpha_bits(users, items, items, epsilon, 0.0) == pytest.approx(plain, rel=1e-13)
        plain = randomized_response.success(users, items, epsilon)
        assert local_hashing.success(users, items, items, epsilon) == pytest.approx(plain, rel=1e-13)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
@pytest.mark.parametrize(("prime", "g"), [(13, 5), (5, 4), (101, 10)])
def test_collisions_take_their_share_of_the_certified_bits(prime: int, g: int, epsilon: float) -> None:
    """(1-c) times what a hash without collisions tells of two items: nothing is left where all collide."""
    collision = float(HashFamily(prime, g).collision_probability)
    none = local_hashing.alpha_bits(50, 2, g, epsilon, 0.0)
    assert local_hashing.alpha_bits(50, 2, g, epsilon, collision) == pytest.approx((1.0 - collision) * none, rel=1e-12)
    assert local_hashing.alpha_bits(50, 2, g, epsilon, 1.0) == 0.0 < none
