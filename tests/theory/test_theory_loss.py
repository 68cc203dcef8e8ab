"""Expected squared error: the paper's forms, the variance of the estimator report by report, and thresholds."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import linear_tables, response_matrix, steady
from theory_precise import mp, normal_quantile, relative_error

from entropie.errors import InvalidParameter
from entropie.theory import loss, special
from entropie.theory.special import epsilon_of


@steady(200)
@given(st.floats(0, 1), st.integers(1, 10**12), st.integers(2, 10**18), st.floats(1e-6, 600.0))
def test_rates_give_the_paper_form_of_randomized_response(p: float, users: int, items: int, epsilon: float) -> None:
    plain = loss.randomized_response_l2(p, users, items, epsilon)
    assert loss.randomized_response_rates(items, epsilon).l2(p, users) == pytest.approx(plain, rel=1e-11)


@steady(200)
@given(st.floats(0, 0.9), st.integers(1, 10**12), st.integers(2, 10**18), st.floats(1e-6, 600.0))
def test_rates_give_the_paper_form_of_local_hashing(p: float, users: int, g: int, epsilon: float) -> None:
    plain = loss.local_hashing_l2(p, users, g, epsilon)
    assert loss.local_hashing_rates(g, epsilon, 1.0 / g).l2(p, users) == pytest.approx(plain, rel=1e-11)


# --- the estimator itself, over every possible set of reports ------------------------------------------------


def moments(supports: list[tuple[float, ...]], masses: list[float], mu: float, nu: float, n: int) -> tuple:
    """Mean and variance of the estimate (count/n - nu)/(mu - nu) of each item."""
    estimates = (np.array(supports) / n - nu) / (mu - nu)
    mean = np.array(masses) @ estimates
    return mean, np.array(masses) @ (estimates - mean) ** 2


@pytest.mark.parametrize("epsilon", [0.4, 2.5])
def test_randomized_response_over_every_outcome(epsilon: float) -> None:
    values, items = [0, 0, 1], 3
    Q, n = response_matrix(items, epsilon), 3
    outcomes = list(itertools.product(range(items), repeat=n))
    masses = [math.prod(Q[x, y] for x, y in zip(values, ys, strict=True)) for ys in outcomes]
    supports = [tuple(ys.count(x) for x in range(items)) for ys in outcomes]
    rates = loss.randomized_response_rates(items, epsilon)
    mean, variance = moments(supports, masses, rates.mu, rates.nu, n)
    truth = [values.count(x) / n for x in range(items)]
    assert mean == pytest.approx(truth, abs=1e-12)
    assert variance == pytest.approx([rates.l2(p, n) for p in truth], rel=1e-12)
    assert variance.sum() == pytest.approx(rates.l2_sum(items, n), rel=1e-12)


@pytest.mark.parametrize(("prime", "g", "items"), [(3, 2, 3), (3, 3, 2), (5, 2, 2)])
def test_local_hashing_over_every_outcome(prime: int, g: int, items: int) -> None:
    epsilon, values = 1.1, [0, 1, 1] if prime == 3 else [0, 1]
    tables, Q, n = linear_tables(prime, g, items), response_matrix(g, epsilon), len(values)
    single = [(table, y) for table in tables for y in range(g)]
    chance = [[Q[table[x], y] / len(tables) for table, y in single] for x in values]
    support = [tuple(float(table[x] == y) for x in range(items)) for table, y in single]
    outcomes = list(itertools.product(range(len(single)), repeat=n))
    masses = [math.prod(chance[i][r] for i, r in enumerate(picked)) for picked in outcomes]
    supports = [tuple(map(sum, zip(*(support[r] for r in picked), strict=True))) for picked in outcomes]
    c = float((tables[:, 0] == tables[:, 1]).mean())
    rates = loss.local_hashing_rates(g, epsilon, c)
    mean, variance = moments(supports, masses, rates.mu, rates.nu, n)
    truth = [values.count(x) / n for x in range(items)]
    assert mean == pytest.approx(truth, abs=1e-12)
    assert variance == pytest.approx([rates.l2(p, n) for p in truth], rel=1e-12)
    assert variance.sum() == pytest.approx(rates.l2_sum(items, n), rel=1e-12)
    assert rates.gain == pytest.approx(rates.mu - rates.nu, rel=1e-13)
    assert rates.mu_off == pytest.approx(1 - rates.mu, rel=1e-13)


@steady(100)
@given(st.integers(0, 2**32), st.integers(2, 8), st.floats(0.01, 8.0), st.floats(0.0, 1.0))
def test_the_sum_does_not_depend_on_the_distribution(seed: int, items: int, epsilon: float, share: float) -> None:
    law = np.random.default_rng(seed).dirichlet(np.ones(items))
    for rates in (loss.randomized_response_rates(items, epsilon), loss.local_hashing_rates(7, epsilon, share / 7)):
        summed = math.fsum(rates.l2(float(p), 1000) for p in law)
        assert summed == pytest.approx(rates.l2_sum(items, 1000), rel=1e-12)


# --- shape ----------------------------------------------------------------------------------------------------


@steady(200)
@given(st.floats(1e-4, 0.9999), st.floats(0.0, 1.0), st.integers(2, 10**9))
def test_at_fixed_theta_more_hash_values_never_hurt(theta: float, p: float, g: int) -> None:
    def at(size: int) -> float:
        return loss.local_hashing_l2(p, 1000, size, epsilon_of(theta, size))

    assert at(g + 1) <= at(g) * (1 + 1e-9)
    assert at(2 * g) <= at(g) * (1 + 1e-9)
    assert loss.local_hashing_l2_limit(p, 1000, theta) <= at(10**17) * (1 + 1e-9)


@pytest.mark.parametrize("theta", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("p", [0.05, 1.0])
def test_limit_of_many_hash_values(theta: float, p: float) -> None:
    far = loss.local_hashing_l2(p, 1000, 10**15, epsilon_of(theta, 10**15))
    assert far == pytest.approx(loss.local_hashing_l2_limit(p, 1000, theta), rel=1e-6)
    assert loss.local_hashing_l2_limit(p, 1000, theta) == pytest.approx(p * (1 - theta) / (1000 * theta))


def test_ends_of_the_budget() -> None:
    """Pure noise says nothing; no noise leaves collisions alone."""
    assert loss.randomized_response_l2(0.1, 100, 10, 0.0) == math.inf
    assert loss.local_hashing_l2(0.1, 100, 10, 0.0) == math.inf
    assert loss.randomized_response_l2(0.1, 100, 10, math.inf) == 0.0
    assert loss.local_hashing_l2(0.1, 100, 10, math.inf) == pytest.approx(0.9 / 100 / 9)
    assert loss.randomized_response_rates(10, 0.0).l2(0.1, 100) == math.inf
    assert loss.randomized_response_rates(10, math.inf).l2(0.1, 100) == 0.0
    assert loss.local_hashing_l2_limit(0.1, 100, 0.0) == math.inf


@pytest.mark.parametrize("epsilon", [-1.0, math.nan])
def test_a_budget_is_a_number_of_at_least_zero(epsilon: float) -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        loss.randomized_response_l2(0.1, 100, 10, epsilon)
    with pytest.raises(InvalidParameter, match="epsilon"):
        loss.local_hashing_l2(0.1, 100, 10, epsilon)


# --- thresholds -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.05, 1e-6])
@pytest.mark.parametrize("items", [2, 100, 10500393, 10**18])
def test_threshold_against_the_precise_quantile(items: int, level: float) -> None:
    quantile = normal_quantile(level / items)
    for rates in (loss.randomized_response_rates(items, 5.0), loss.local_hashing_rates(100, 2.0, 0.01)):
        nu, gain = mp.mpf(rates.nu), mp.mpf(rates.gain)
        deviation = mp.sqrt(nu * (1 - nu) / 1000) / gain
        got = loss.significance_threshold(rates, 1000, items, level)
        assert relative_error(got, quantile * deviation) < 1e-9


def binomial_tail(first: int, n: int, probability: float):
    p = mp.mpf(probability)
    below = mp.fsum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(first))
    return 1 - below


@pytest.mark.parametrize(
    ("users", "items", "epsilon"), [(50, 10, 1.0), (200, 3, 0.5), (1000, 1000, 5.0), (300, 10**6, 9.0)]
)
@pytest.mark.parametrize("level", [0.05, 1e-4])
def test_significant_count_is_the_smallest(users: int, items: int, epsilon: float, level: float) -> None:
    for rates in (
        loss.randomized_response_rates(items, epsilon),
        loss.local_hashing_rates(16, epsilon, 1 / 16),
        loss.local_hashing_rates(10**15, 20.0, 1e-17),
    ):
        count = loss.significant_count(rates, users, items, level)
        assert binomial_tail(count, users, rates.nu) <= level / items
        assert count == 1 or binomial_tail(count - 1, users, rates.nu) > level / items


def test_an_absent_item_without_noise_is_never_counted() -> None:
    assert loss.significant_count(loss.randomized_response_rates(10, math.inf), 100, 10) == 1


def test_significant_count_of_many_reports_is_near_the_normal_one() -> None:
    rates, users, items = loss.randomized_response_rates(2, 1.0), 10**6, 10**4
    z = NormalDist().inv_cdf(1 - 0.05 / items)
    near = users * rates.nu + z * math.sqrt(users * rates.nu * (1 - rates.nu))
    assert loss.significant_count(rates, users, items) == pytest.approx(near, abs=10)


def test_significant_count_stays_cheap_for_many_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """The range goes to 10^12 users; a tail summed count by count would take minutes there."""
    calls = 0
    original = special.binomial_pmf

    def counted(*arguments) -> float:
        nonlocal calls
        calls += 1
        assert calls < 200_000, "more than 200 000 probabilities for one threshold"
        return original(*arguments)

    monkeypatch.setattr(special, "binomial_pmf", counted)
    rates = loss.randomized_response_rates(2, 1.0)
    count = loss.significant_count(rates, 10**12, 2)
    near = 10**12 * rates.nu + NormalDist().inv_cdf(0.975) * math.sqrt(10**12 * rates.nu * (1 - rates.nu))
    assert count == pytest.approx(near, rel=1e-9)
