"""Randomized response: closed forms against every assignment of items to a few users."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import (
    assignments,
    capacities,
    information_bits,
    quickest_step,
    random_conditional,
    random_law,
    response_matrix,
    steady,
    subsets,
    success,
    uniform,
    worst_success,
)

from entropie.errors import InvalidParameter
from entropie.theory import randomized_response

SIZES = [(1, 3), (2, 4), (3, 4), (2, 2), (3, 3), (4, 4), (3, 2), (4, 3), (5, 2)]
"""Users and items: fewer, as many, and more users than items."""
BUDGETS = [0.1, 1.0, 4.0]


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize(("users", "items"), SIZES)
def test_alpha_is_the_largest_capacity_over_all_assignments(users: int, items: int, epsilon: float) -> None:
    channels = response_matrix(items, epsilon)[assignments(users, items)]
    low, high = capacities(channels, quickest_step(epsilon))
    claimed = randomized_response.alpha_bits(users, items, epsilon)
    assert low.max() == pytest.approx(claimed, rel=1e-8, abs=1e-15)
    assert high.max() <= claimed + 1e-8  # no prior on users does better under any assignment


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize(("users", "items"), SIZES)
def test_alpha_is_the_largest_capacity_over_all_sets_of_inputs(users: int, items: int, epsilon: float) -> None:
    Q = response_matrix(items, epsilon)
    best = max(capacities(Q[rows], quickest_step(epsilon))[1].max() for rows in subsets(users, items))
    assert best == pytest.approx(randomized_response.alpha_bits(users, items, epsilon), rel=1e-9, abs=1e-15)


@steady(200)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(2, 6), st.floats(1e-3, 8.0))
def test_alpha_is_never_exceeded_by_random_users(seed: int, users: int, items: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    laws = random_conditional(rng, users, items) @ response_matrix(items, epsilon)
    bits = information_bits(random_law(rng, users), laws)
    assert bits <= randomized_response.alpha_bits(users, items, epsilon) + 1e-14


@pytest.mark.parametrize("epsilon", [0.0, *BUDGETS])
@pytest.mark.parametrize(("users", "items"), SIZES)
def test_success_is_the_worst_over_all_assignments(users: int, items: int, epsilon: float) -> None:
    Q = response_matrix(items, epsilon)
    for guesses in range(1, users + 2):
        worst = worst_success(Q, uniform(users), guesses)
        claimed = randomized_response.success(users, items, epsilon, guesses)
        assert claimed == pytest.approx(worst, rel=1e-13), guesses


@steady(150)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(2, 5), st.floats(0.0, 8.0), st.integers(1, 3))
def test_success_is_never_exceeded_by_random_users(
    seed: int, users: int, items: int, epsilon: float, guesses: int
) -> None:
    laws = random_conditional(np.random.default_rng(seed), users, items) @ response_matrix(items, epsilon)
    reached = success(uniform(users), laws, guesses)
    assert reached <= randomized_response.success(users, items, epsilon, guesses) * (1 + 1e-12)


@steady(60)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(2, 4), st.floats(0.0, 6.0))
def test_success_with_prior_is_the_worst_over_all_assignments(
    seed: int, users: int, items: int, epsilon: float
) -> None:
    prior = random_law(np.random.default_rng(seed), users)
    worst = worst_success(response_matrix(items, epsilon), prior)
    assert randomized_response.success_with_prior(prior, items, epsilon) == pytest.approx(worst, rel=1e-12)


@steady(100)
@given(st.integers(1, 300), st.integers(2, 300), st.floats(0.0, 50.0))
def test_uniform_prior_gives_the_uniform_form(users: int, items: int, epsilon: float) -> None:
    plain = randomized_response.success(users, items, epsilon)
    assert randomized_response.success_with_prior([1 / users] * users, items, epsilon) == pytest.approx(
        plain, rel=1e-12
    )
    assert randomized_response.success_with_prior_max(users, 1 / users, items, epsilon) == pytest.approx(
        plain, rel=1e-12
    )


def extreme_prior(users: int, largest: float) -> np.ndarray:
    """As many users as possible at the maximum, one with the rest."""
    full = math.floor(1.0 / largest + 1e-12)
    rest = [max(0.0, 1.0 - full * largest)] + [0.0] * users
    return np.array(([largest] * full + rest)[:users])


def random_prior(rng: np.random.Generator, users: int, largest: float) -> np.ndarray:
    """A prior whose maximum is `largest`: a mixture of rearranged extreme priors that share their first place."""
    tails = [rng.permutation(extreme_prior(users, largest)[1:]) for _ in range(3)]
    return np.concatenate([[largest], random_law(rng, 3) @ np.array(tails)])


@pytest.mark.parametrize("largest", [0.25, 0.3, 0.5, 0.7, 1.0])
@pytest.mark.parametrize(("users", "items"), [(4, 2), (4, 3), (4, 4), (5, 6)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_success_with_prior_max_is_attained_and_never_exceeded(
    users: int, items: int, largest: float, epsilon: float
) -> None:
    Q = response_matrix(items, epsilon)
    claimed = randomized_response.success_with_prior_max(users, largest, items, epsilon)
    chosen = distinct_assignments(users, items)
    rng = np.random.default_rng(7)

    def worst(prior: np.ndarray) -> float:
        return max(success(prior, Q[list(f)]) for f in chosen)

    assert worst(extreme_prior(users, largest)) == pytest.approx(claimed, rel=1e-12)
    for _ in range(10):
        assert worst(random_prior(rng, users, largest)) <= claimed * (1 + 1e-12)


def distinct_assignments(users: int, items: int) -> list[tuple[int, ...]]:
    """Assignments up to renaming of items: user u takes an item used before or the next new one."""
    found = [(0,)]
    for _ in range(users - 1):
        found = [(*f, x) for f in found for x in range(min(max(f) + 2, items))]
    return found


def test_more_truth_and_more_guesses_help_the_attacker() -> None:
    values = [randomized_response.success(1000, 50, epsilon) for epsilon in (0.0, 0.5, 1.0, 5.0, 20.0, math.inf)]
    assert values == sorted(values)
    assert values[0] == pytest.approx(1 / 1000)
    assert values[-1] == pytest.approx(50 / 1000)
    lists = [randomized_response.success(1000, 50, 2.0, guesses) for guesses in (1, 2, 10, 100, 1000, 5000)]
    assert lists == sorted(lists)
    assert lists[-1] == pytest.approx(1.0)


def test_a_truth_telling_mechanism_keeps_a_share_theta_of_the_success() -> None:
    """Data-dependent: success = theta V(U|X) + (1-theta)/n for uniform users, an equality."""
    rng = np.random.default_rng(3)
    users, items, epsilon = 5, 4, 1.7
    laws = random_conditional(rng, users, items)
    without = success(uniform(users), laws)
    theta = (math.exp(epsilon) - 1) / (items + math.exp(epsilon) - 1)
    reached = success(uniform(users), laws @ response_matrix(items, epsilon))
    assert reached == pytest.approx(theta * without + (1 - theta) / users, rel=1e-13)


@pytest.mark.parametrize("prior", [[], [0.5, 0.6], [0.5, -0.5, 1.0], [math.nan, 1.0], [0.3, 0.3]])
def test_a_prior_must_be_a_distribution(prior: list[float]) -> None:
    with pytest.raises(InvalidParameter, match="prior"):
        randomized_response.success_with_prior(prior, 3, 1.0)


@pytest.mark.parametrize("largest", [0.1, -0.1, 1.1, math.nan])
def test_the_largest_probability_must_be_possible(largest: float) -> None:
    with pytest.raises(InvalidParameter, match="prior_max"):
        randomized_response.success_with_prior_max(5, largest, 3, 1.0)
