"""What noise does to any joint law: contraction, information per user, posteriors, and the limits of epsilon-LDP."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import (
    budget_of,
    capacities,
    divergences_bits,
    hashed_matrix,
    information_bits,
    linear_tables,
    quickest_step,
    random_channel,
    random_conditional,
    random_law,
    repeated,
    response_matrix,
    steady,
)

from entropie.errors import InvalidParameter
from entropie.theory import any_mechanism, channel, local_hashing, randomized_response

SEEDS = st.integers(0, 2**32)
FAMILIES = [(5, 2, 4), (5, 3, 5), (7, 3, 4), (5, 5, 4)]
"""Prime, hash size, items."""


def collision(prime: int, g: int) -> float:
    tables = linear_tables(prime, g, 2)
    return float((tables[:, 0] == tables[:, 1]).mean())


def weakly_dependent(items: int, tilt: float) -> np.ndarray:
    """Two users who lean a little towards one of two items: the pair that loses least."""
    laws = np.zeros((2, items))
    laws[0, :2] = 0.5 + tilt, 0.5 - tilt
    laws[1, :2] = 0.5 - tilt, 0.5 + tilt
    return laws


@steady(200)
@given(SEEDS, st.integers(2, 5), st.integers(2, 6), st.floats(1e-2, 8.0))
def test_randomized_response_contracts(seed: int, users: int, items: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    prior, laws = random_law(rng, users), random_conditional(rng, users, items)
    before = information_bits(prior, laws)
    after = information_bits(prior, laws @ response_matrix(items, epsilon))
    assert after <= randomized_response.contraction(items, epsilon) * before + 1e-14


@steady(120)
@given(SEEDS, st.integers(2, 5), st.sampled_from(FAMILIES), st.floats(1e-2, 8.0))
def test_local_hashing_contracts(seed: int, users: int, family: tuple[int, int, int], epsilon: float) -> None:
    prime, g, items = family
    rng = np.random.default_rng(seed)
    prior, laws = random_law(rng, users), random_conditional(rng, users, items)
    after = information_bits(prior, laws @ hashed_matrix(linear_tables(prime, g, items), g, epsilon))
    eta = local_hashing.contraction(g, epsilon, collision(prime, g))
    assert after <= eta * information_bits(prior, laws) + 1e-14


@steady(200)
@given(SEEDS, st.integers(2, 5), st.integers(2, 5), st.integers(2, 6), st.floats(0.05, 4.0))
def test_any_mechanism_contracts(seed: int, users: int, items: int, outputs: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    Q = random_channel(rng, items, outputs, spread)
    prior, laws = random_law(rng, users), random_conditional(rng, users, items)
    before, after = information_bits(prior, laws), information_bits(prior, laws @ Q)
    assert after <= any_mechanism.contraction(budget_of(Q)) * before + 1e-14
    assert after <= channel.doeblin_theta(Q) * before + 1e-14


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_contraction_is_tight(epsilon: float) -> None:
    laws, prior = weakly_dependent(5, 1e-3), np.array([0.5, 0.5])
    before = information_bits(prior, laws)
    after = information_bits(prior, laws @ response_matrix(5, epsilon))
    assert after == pytest.approx(randomized_response.contraction(5, epsilon) * before, rel=1e-4)
    after = information_bits(prior, laws @ hashed_matrix(linear_tables(5, 3, 5), 3, epsilon))
    assert after == pytest.approx(local_hashing.contraction(3, epsilon, collision(5, 3)) * before, rel=1e-4)
    laws = weakly_dependent(2, 1e-3)
    after = information_bits(prior, laws @ response_matrix(2, epsilon))
    assert after == pytest.approx(any_mechanism.contraction(epsilon) * before, rel=1e-4)


@steady(150)
@given(SEEDS, st.integers(2, 5), st.integers(2, 5), st.floats(0.0, 6.0))
def test_per_user_information_is_never_exceeded(seed: int, users: int, items: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    prior, laws = random_law(rng, users), random_conditional(rng, users, items)
    reports = laws @ response_matrix(items, epsilon)
    worst = divergences_bits(reports, prior @ reports)[prior > 0].max()
    assert worst <= randomized_response.per_user_bits(items, epsilon) + 1e-13
    if epsilon > 0 and items <= 5:
        reports = laws @ hashed_matrix(linear_tables(5, 3, items), 3, epsilon)
        worst = divergences_bits(reports, prior @ reports)[prior > 0].max()
        assert worst <= local_hashing.per_user_bits(3, epsilon, collision(5, 3)) + 1e-13


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_per_user_information_is_approached_by_a_rare_user(epsilon: float) -> None:
    """One user in a million has an item of her own."""
    prior = np.array([1e-6, 1 - 1e-6])
    Q = response_matrix(4, epsilon)[:2]
    assert divergences_bits(Q, prior @ Q)[0] == pytest.approx(randomized_response.per_user_bits(4, epsilon), rel=1e-4)
    Q = hashed_matrix(linear_tables(5, 3, 2), 3, epsilon)
    reached = divergences_bits(Q, prior @ Q)[0]
    assert reached == pytest.approx(local_hashing.per_user_bits(3, epsilon, collision(5, 3)), rel=1e-4)


def test_per_user_information_adds_up() -> None:
    epsilon, t = 1.1, 3
    single, several = response_matrix(3, epsilon), repeated(response_matrix(3, epsilon), t)
    prior = np.array([1e-6, 1 - 1e-6])
    rows = several[[0, len(several) - 1]]
    reached = divergences_bits(rows, prior @ rows)[0]
    assert reached == pytest.approx(t * randomized_response.per_user_bits(3, epsilon), rel=1e-3)
    assert reached <= t * divergences_bits(single[:1], single[1])[0]


@steady(150)
@given(SEEDS, st.integers(1, 6), st.integers(2, 6), st.floats(0.0, 4.0), st.integers(1, 2))
def test_posterior_is_never_exceeded(seed: int, users: int, outputs: int, spread: float, t: int) -> None:
    rng = np.random.default_rng(seed)
    Q = random_channel(rng, users, outputs, spread) if users > 1 else np.ones((1, outputs)) / outputs
    epsilon = budget_of(Q) if users > 1 else 0.0
    rows = repeated(Q, t)[[sum(u * users**j for j in range(t)) for u in range(users)]]
    largest = (rows / rows.sum(axis=0)).max()
    assert largest <= any_mechanism.posterior_max(users, epsilon, t) * (1 + 1e-12)
    prior = random_law(rng, users)
    joint = prior[:, None] * rows
    bound = any_mechanism.posterior_max(users, epsilon, t, float(prior.max()))
    assert (joint / joint.sum(axis=0)).max() <= bound * (1 + 1e-12)


@pytest.mark.parametrize("users", [2, 3, 5])
def test_posterior_is_attained(users: int) -> None:
    """Randomized response with an item for each user and none left over."""
    epsilon = 1.3
    Q = response_matrix(users, epsilon)
    assert (Q / Q.sum(axis=0)).max() == pytest.approx(any_mechanism.posterior_max(users, epsilon), rel=1e-13)
    w = math.exp(epsilon)
    assert any_mechanism.posterior_max(users, epsilon) == pytest.approx(w / (w + users - 1), rel=1e-13)
    assert any_mechanism.posterior_max(users, epsilon, 4) == pytest.approx(w**4 / (w**4 + users - 1), rel=1e-13)


@steady(120)
@given(SEEDS, st.integers(2, 6), st.integers(2, 7), st.floats(0.05, 5.0))
def test_tight_ldp_bound_is_never_exceeded(seed: int, items: int, outputs: int, spread: float) -> None:
    Q = random_channel(np.random.default_rng(seed), items, outputs, spread)
    epsilon = budget_of(Q)
    low, _ = capacities(Q[None], quickest_step(epsilon), rounds=400)
    assert low[0] <= any_mechanism.alpha_bits(items, items, epsilon) + 1e-13


def subset_selection(items: int, size: int, epsilon: float) -> np.ndarray:
    """Report a set of `size` items, e^eps times likelier when the true one is in it."""
    sets = list(itertools.combinations(range(items), size))
    weights = np.array([[math.exp(epsilon) if x in chosen else 1.0 for chosen in sets] for x in range(items)])
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("epsilon", "items", "size"), [(0.1, 8, 4), (1.0, 9, 3), (2.0, 9, 2), (3.0, 9, 1)])
def test_tight_ldp_bound_is_approached(epsilon: float, items: int, size: int) -> None:
    Q = subset_selection(items, size, epsilon)
    assert budget_of(Q[:2]) == pytest.approx(epsilon)
    reached = information_bits(np.full(items, 1 / items), Q)
    bound = any_mechanism.alpha_bits(items, items, epsilon)
    assert 0.99 * bound <= reached <= bound * (1 + 1e-12)


@steady(100)
@given(st.integers(1, 10**12), st.integers(2, 10**18), st.floats(1e-6, 700.0))
def test_tight_ldp_bound_improves_on_the_paper_and_covers_the_mechanisms(
    users: int, items: int, epsilon: float
) -> None:
    tight = any_mechanism.alpha_bits(users, items, epsilon)
    loose = min(epsilon / math.log(2), epsilon**2 / math.log(2), math.log2(users), math.log2(items))
    assert tight <= loose * (1 + 1e-12)
    assert randomized_response.alpha_bits(users, items, epsilon) <= tight * (1 + 1e-12)
    assert randomized_response.contraction(items, epsilon) <= any_mechanism.contraction(epsilon) * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, "much"])
def test_a_budget_is_a_number_of_at_least_zero(epsilon: float) -> None:
    for call in (
        lambda: any_mechanism.alpha_bits(10, 10, epsilon),
        lambda: any_mechanism.contraction(epsilon),
        lambda: any_mechanism.posterior_max(10, epsilon),
    ):
        with pytest.raises(InvalidParameter, match="epsilon"):
            call()
