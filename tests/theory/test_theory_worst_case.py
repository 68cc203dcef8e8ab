"""Order-a PIE from its definition, up to maximal leakage."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import (
    assignments,
    hashed_matrix,
    linear_tables,
    random_conditional,
    random_law,
    repeated,
    response_matrix,
    sibson_bits,
    sibson_ceiling_bits,
    steady,
    success,
    uniform,
)

from entropie.errors import InvalidParameter
from entropie.theory import randomized_response, worst_case

ORDERS = [1.1, 1.5, 2.0, 5.0, 40.0, math.inf]
SIZES = [(1, 3), (2, 4), (3, 3), (4, 3), (5, 2)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize(("users", "items"), SIZES)
def test_randomized_response_is_the_definition_at_uniform_inputs(
    users: int, items: int, epsilon: float, order: float
) -> None:
    m = min(users, items)
    Q = response_matrix(items, epsilon)[:m]
    claimed = worst_case.order_pie_bits(users, items, epsilon, order)
    assert claimed == pytest.approx(sibson_bits(uniform(m), Q, order), rel=1e-9, abs=1e-13)
    if not math.isinf(order):  # and no prior on these inputs has more
        assert sibson_ceiling_bits(uniform(m), Q, order) <= claimed + 1e-13


@steady(150)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(2, 5), st.floats(0.01, 6.0), st.sampled_from(ORDERS))
def test_no_random_prior_exceeds_it(seed: int, users: int, items: int, epsilon: float, order: float) -> None:
    rng = np.random.default_rng(seed)
    claimed = worst_case.order_pie_bits(users, items, epsilon, order)
    prior, Q = random_law(rng, users), response_matrix(items, epsilon)
    assert sibson_bits(prior, Q[rng.integers(0, items, users)], order) <= claimed + 1e-12
    assert sibson_bits(prior, random_conditional(rng, users, items) @ Q, order) <= claimed + 1e-12


@pytest.mark.parametrize("order", [1.5, 3.0])
@pytest.mark.parametrize(("users", "items"), [(2, 3), (3, 3), (3, 2)])
def test_optimised_over_priors_of_every_assignment(users: int, items: int, order: float) -> None:
    """A fine grid of priors under every f: [n] -> [k] reaches the claimed value and nothing passes it."""
    Q, epsilon, steps = response_matrix(items, 1.4), 1.4, 12
    grid = [np.array(c) / steps for c in np.ndindex(*[steps + 1] * users) if sum(c) == steps]
    best = max(sibson_bits(p, Q[f], order) for f in assignments(users, items) for p in grid)
    claimed = worst_case.order_pie_bits(users, items, epsilon, order)
    assert best <= claimed + 1e-12
    assert best == pytest.approx(claimed, rel=1e-12)  # 12 steps hold 1/2 and 1/3


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize(("users", "items"), [(3, 4), (1000, 70), (10**6, 10**7)])
def test_between_pie_and_maximal_leakage(users: int, items: int, epsilon: float) -> None:
    orders = [1.0, 1.0 + 1e-9, 1.01, 1.5, 2.0, 4.0, 64.0, 1e4, 1e9, 1e16, math.inf]
    plain = [worst_case.order_pie_bits(users, items, epsilon, a) for a in orders]
    assert all(low <= high * (1 + 1e-12) for low, high in pairwise(plain))
    assert plain[0] == randomized_response.alpha_bits(users, items, epsilon)
    assert plain[1] == pytest.approx(plain[0], rel=1e-6)
    assert plain[-1] == worst_case.max_leakage_bits(users, items, epsilon)
    assert plain[-2] == pytest.approx(plain[-1], rel=1e-6)


@pytest.mark.parametrize(("prime", "g", "items"), [(5, 2, 4), (5, 3, 5), (7, 5, 3)])
def test_certified_leakage_of_the_family_in_use(prime: int, g: int, items: int) -> None:
    for epsilon in (0.0, 0.3, 2.0):
        Q = hashed_matrix(linear_tables(prime, g, items), g, epsilon)
        for users in (1, 2, 3):
            leaked = max(sibson_bits(uniform(users), Q[f], math.inf) for f in assignments(users, items))
            assert leaked <= worst_case.max_leakage_bits_hash(users, items, g, epsilon) + 1e-12


@steady(200)
@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(2, 5), st.floats(0.0, 6.0), st.floats(1.0, 50.0))
def test_success_bound_is_never_exceeded(seed: int, users: int, items: int, epsilon: float, order: float) -> None:
    rng = np.random.default_rng(seed)
    prior = random_law(rng, users)
    laws = random_conditional(rng, users, items) @ response_matrix(items, epsilon)
    bits = worst_case.order_pie_bits(users, items, epsilon, order)
    bound = worst_case.success_from_order(bits, order, float(prior.max()))
    assert success(prior, laws) <= bound * (1 + 1e-12)
    if order > 1.01:  # also from the information these very users give
        bound = worst_case.success_from_order(sibson_bits(prior, laws, order), order, float(prior.max()))
        assert success(prior, laws) <= bound * (1 + 1e-10)


@steady(100)
@given(st.integers(1, 10**12), st.integers(2, 10**18), st.floats(0.0, 60.0))
def test_leakage_gives_the_exact_success_of_uniform_users(users: int, items: int, epsilon: float) -> None:
    leaked = worst_case.max_leakage_bits(users, items, epsilon)
    reached = randomized_response.success(users, items, epsilon)
    assert worst_case.success_from_order(leaked, math.inf, 1.0 / users) == pytest.approx(reached, rel=1e-12)


@pytest.mark.parametrize("order", [1.5, 3.0, math.inf])
def test_composed_bound_is_never_exceeded(order: float) -> None:
    users, items, epsilon, t = 3, 2, 0.8, 2
    channel = repeated(response_matrix(items, epsilon), t)
    single = worst_case.order_pie_bits(users, items, epsilon, order)
    bound = worst_case.composed_bits(single, users, t)
    rng = np.random.default_rng(5)
    for f in assignments(users, items**t):
        for prior in [uniform(users), random_law(rng, users)]:
            assert sibson_bits(prior, channel[f], order) <= bound + 1e-12
    assert worst_case.composed_bits(single, users, 10**6) == math.log2(users)


@pytest.mark.parametrize("order", [0.5, 0.0, -1.0, math.nan])
def test_orders_below_one_are_refused(order: float) -> None:
    for call in (
        lambda: worst_case.order_pie_bits(3, 3, 1.0, order),
        lambda: worst_case.success_from_order(1.0, order, 0.5),
    ):
        with pytest.raises(InvalidParameter, match="order"):
            call()


def test_order_one_promises_no_success_bound() -> None:
    assert worst_case.success_from_order(0.0, 1.0, 0.1) == 1.0
