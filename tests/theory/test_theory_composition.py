"""Several reports of one user: exact small cases never pass the bounds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import (
    capacities,
    hashed_matrix,
    information_bits,
    linear_tables,
    quickest_step,
    random_law,
    repeated,
    repetition_code,
    response_matrix,
    steady,
    success,
    uniform,
    worst_success,
)
from theory_precise import composed_bits, composed_success, relative_error, theta

from entropie.theory import composition, local_hashing, randomized_response
from entropie.theory.guarantee import ChannelParameters, certified_alpha_bits, certified_success

SMALL = [(2, 2, 2), (2, 3, 2), (3, 3, 2), (2, 2, 4), (3, 4, 2), (2, 3, 3)]
"""Users, items (no fewer), reports."""


def code_words(n: int, k: int, t: int) -> np.ndarray:
    """Every set of n different t-tuples of items, as rows of the repeated channel."""
    return np.array(list(itertools.combinations(range(k**t), n)))


@pytest.mark.parametrize("epsilon", [0.3, 1.5, 4.0])
@pytest.mark.parametrize(("n", "k", "t"), SMALL)
def test_repetition_code_is_enumerated_right(n: int, k: int, t: int, epsilon: float) -> None:
    """The count patterns used below give what the whole channel gives."""
    rows = [sum(u * k**j for j in range(t)) for u in range(n)]
    laws = repeated(response_matrix(k, epsilon), t)[rows]
    bits, right = repetition_code(n, k, epsilon, t)
    assert bits == pytest.approx(information_bits(uniform(n), laws), rel=1e-10)
    assert right == pytest.approx(success(uniform(n), laws), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.3, 1.5, 4.0])
@pytest.mark.parametrize(("n", "k", "t"), [*SMALL, (3, 2, 2), (4, 2, 2), (4, 2, 3)])
def test_no_code_exceeds_the_bounds(n: int, k: int, t: int, epsilon: float) -> None:
    channel = repeated(response_matrix(k, epsilon), t)
    channels = channel[code_words(n, k, t)]
    low, high = capacities(channels, rounds=300, step=min(3.0, quickest_step(t * epsilon)), gap=1e-7)
    bound = certified_alpha_bits(ChannelParameters("rr", k, epsilon), n, t)
    assert low.max() <= bound + 1e-12
    assert np.median(high) <= bound + 1e-6
    certified = certified_success(ChannelParameters("rr", k, epsilon), n, t)
    assert max(success(uniform(n), laws) for laws in channels) <= certified * (1 + 1e-12)
    if n <= k:
        bits, right = repetition_code(n, k, epsilon, t)
        assert bits <= bound * (1 + 1e-12)
        assert right <= certified * (1 + 1e-12)


@pytest.mark.parametrize("guesses", [1, 2])
def test_lists_and_priors_stay_within_the_bound(guesses: int) -> None:
    n, k, t, epsilon = 3, 2, 2, 1.2
    channel = repeated(response_matrix(k, epsilon), t)
    rr = ChannelParameters("rr", k, epsilon)
    assert worst_success(channel, uniform(n), guesses) <= certified_success(rr, n, t, guesses) * (1 + 1e-12)
    for seed in range(5):
        prior = random_law(np.random.default_rng(seed), n)
        bound = certified_success(rr, n, t, guesses, float(prior.max()))
        assert worst_success(channel, prior, guesses) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("users", [2, 3])
def test_hashed_reports_stay_within_the_bounds(users: int, epsilon: float) -> None:
    prime, g, k, t = 3, 2, 3, 2
    channel = repeated(hashed_matrix(linear_tables(prime, g, k), g, epsilon), t)
    channels = channel[code_words(users, k, t)]
    glh = ChannelParameters("glh", k, epsilon, g, prime, 1 / 3)
    low, _ = capacities(channels, rounds=100, gap=1e-7)
    assert low.max() <= certified_alpha_bits(glh, users, t) + 1e-12
    reached = max(success(uniform(users), laws) for laws in channels)
    assert reached <= certified_success(glh, users, t) * (1 + 1e-12)


@steady(200)
@given(st.integers(1, 10**12), st.integers(2, 10**12), st.integers(2, 10**12), st.floats(1e-6, 300.0), st.floats(0, 1))
def test_one_report_keeps_its_own_value(users: int, items: int, g: int, epsilon: float, share: float) -> None:
    rr, c = ChannelParameters("rr", items, epsilon), share / g
    glh = ChannelParameters("glh", items, epsilon, g, None, c)
    plain = randomized_response.alpha_bits(users, items, epsilon)
    assert certified_alpha_bits(rr, users) == pytest.approx(plain, rel=1e-14)
    hashed = local_hashing.alpha_bits(users, items, g, epsilon, c)
    assert certified_alpha_bits(glh, users) == pytest.approx(hashed, rel=1e-14)
    # the success bound loses nothing at one report
    single = composition.success(rr.theta, items, users, 1)
    assert single == pytest.approx(randomized_response.success(users, items, epsilon), rel=1e-12)


@steady(150)
@given(st.integers(1, 10**12), st.integers(2, 10**18), st.floats(1e-6, 40.0), st.integers(1, 200))
def test_more_reports_never_promise_more(users: int, items: int, epsilon: float, t: int) -> None:
    rr = ChannelParameters("rr", items, epsilon)
    assert certified_success(rr, users, t) <= certified_success(rr, users, t + 1) * (1 + 1e-12)
    assert certified_alpha_bits(rr, users, t) <= certified_alpha_bits(rr, users, t + 1) * (1 + 1e-12)
    assert certified_alpha_bits(rr, users, t) <= math.log2(users)
    assert certified_success(rr, users, t) <= 1.0


USERS, ITEMS, TRUTH = 1370637, 10500393, 0.0309
BUDGET = math.log1p(ITEMS * TRUTH / (1 - TRUTH))
PRINTED = [(2, 1.021, 0.0569), (10, 4.607, 0.1708), (50, 14.71, 0.5107)]


@pytest.mark.parametrize(("t", "bits", "right"), PRINTED)
def test_bounds_are_above_the_printed_exact_values(t: int, bits: float, right: float) -> None:
    rr = ChannelParameters("rr", ITEMS, BUDGET)
    assert rr.theta == pytest.approx(TRUTH, rel=1e-12)
    assert bits <= certified_alpha_bits(rr, USERS, t) <= 1.2 * bits
    assert right <= certified_success(rr, USERS, t) <= 1.6 * right
    assert certified_success(rr, USERS, t) == pytest.approx(1 - (1 - rr.theta) ** t * (1 - 1 / USERS), rel=1e-12)


@pytest.mark.parametrize(("t", "bits", "right"), PRINTED[:2])
def test_printed_exact_values(t: int, bits: float, right: float) -> None:
    exact_bits, exact_right = repetition_code(USERS, ITEMS, BUDGET, t)
    assert exact_bits == pytest.approx(bits, abs=6e-4)
    assert exact_right == pytest.approx(right, abs=6e-5)


@pytest.mark.parametrize("t", [1, 2, 3, 10, 50, 1000, 10**6, 10**9])
@pytest.mark.parametrize("truth", [0.0, 1e-24, 1e-9, 1e-3, 0.0309, 0.5, 0.999999, 1.0])
def test_bounds_digit_by_digit(truth: float, t: int) -> None:
    for users in (1, 2, 1000, 1370637, 10**12):
        for answers in (1, 2, 3, 1000, 10**18):
            got = composition.success(truth, answers, users, t)
            assert relative_error(got, composed_success(truth, answers, users, t)) < 1e-11, (users, answers)
            got = composition.alpha_bits(0.7, truth, answers, users, t)
            assert relative_error(got, composed_bits(0.7, truth, answers, users, t)) < 1e-11, (users, answers)


@pytest.mark.parametrize(("guesses", "prior_max"), [(10, 0.0), (1, 0.01), (7, 0.01), (200, 0.01), (10**13, 0.0)])
def test_lists_and_priors_digit_by_digit(guesses: int, prior_max: float) -> None:
    for truth in (1e-6, 0.0309, 0.9):
        for t in (1, 2, 20):
            for answers in (2, 1000):
                got = composition.success(truth, answers, 10**6, t, guesses, prior_max)
                true = composed_success(truth, answers, 10**6, t, guesses, prior_max or None)
                assert relative_error(got, true) < 1e-12


def test_pure_noise_reveals_nothing_however_often() -> None:
    rr = ChannelParameters("rr", 10, 0.0)
    assert certified_success(rr, 100, 3) == pytest.approx(0.01, rel=1e-15)
    assert certified_alpha_bits(rr, 100, 3) == 0.0
    assert float(theta(0.0, 10)) == 0.0
