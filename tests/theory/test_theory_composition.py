"""Several reports of one user: exact small cases never pass the bounds."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import (
    all_tables,
    capacities,
    hashed_matrix,
    information_bits,
    linear_tables,
    quickest_step,
    random_law,
    repetition_code,
    response_matrix,
    steady,
    success,
    uniform,
    worst_success,
)
from theory_oracles import repeated as of_several
from theory_precise import composed_bits, composed_success, mp, relative_error, theta

from entropie.theory import composition, local_hashing, randomized_response, repeated
from entropie.theory.crowd import Crowd
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
    laws = of_several(response_matrix(k, epsilon), t)[rows]
    bits, right = repetition_code(n, k, epsilon, t)
    assert bits == pytest.approx(information_bits(uniform(n), laws), rel=1e-10)
    assert right == pytest.approx(success(uniform(n), laws), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.3, 1.5, 4.0])
@pytest.mark.parametrize(("n", "k", "t"), [*SMALL, (3, 2, 2), (4, 2, 2), (4, 2, 3)])
def test_no_code_exceeds_the_bounds(n: int, k: int, t: int, epsilon: float) -> None:
    channel = of_several(response_matrix(k, epsilon), t)
    channels = channel[code_words(n, k, t)]
    low, high = capacities(channels, rounds=300, step=min(3.0, quickest_step(t * epsilon)), gap=1e-7)
    bound = certified_alpha_bits(ChannelParameters("rr", k, epsilon), Crowd(n, t))
    assert low.max() <= bound + 1e-12
    assert np.median(high) <= bound + 1e-6
    certified = certified_success(ChannelParameters("rr", k, epsilon), Crowd(n, t))
    assert max(success(uniform(n), laws) for laws in channels) <= certified * (1 + 1e-12)
    if n <= k:
        bits, right = repetition_code(n, k, epsilon, t)
        assert bits <= bound * (1 + 1e-12)
        assert right <= certified * (1 + 1e-12)


@pytest.mark.parametrize("guesses", [1, 2])
def test_lists_and_priors_stay_within_the_bound(guesses: int) -> None:
    n, k, t, epsilon = 3, 2, 2, 1.2
    channel = of_several(response_matrix(k, epsilon), t)
    rr = ChannelParameters("rr", k, epsilon)
    assert worst_success(channel, uniform(n), guesses) <= certified_success(rr, Crowd(n, t, guesses)) * (1 + 1e-12)
    for seed in range(5):
        prior = random_law(np.random.default_rng(seed), n)
        bound = certified_success(rr, Crowd(n, t, guesses, float(prior.max())))
        assert worst_success(channel, prior, guesses) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("users", [2, 3])
def test_hashed_reports_stay_within_the_bounds(users: int, epsilon: float) -> None:
    prime, g, k, t = 3, 2, 3, 2
    channel = of_several(hashed_matrix(linear_tables(prime, g, k), g, epsilon), t)
    channels = channel[code_words(users, k, t)]
    glh = ChannelParameters("glh", k, epsilon, g, prime, 1 / 3)
    low, _ = capacities(channels, rounds=100, gap=1e-7)
    assert low.max() <= certified_alpha_bits(glh, Crowd(users, t)) + 1e-12
    reached = max(success(uniform(users), laws) for laws in channels)
    assert reached <= certified_success(glh, Crowd(users, t)) * (1 + 1e-12)


@steady(200)
@given(st.integers(1, 10**12), st.integers(2, 10**12), st.integers(2, 10**12), st.floats(1e-6, 300.0), st.floats(0, 1))
def test_one_report_keeps_its_own_value(users: int, items: int, g: int, epsilon: float, share: float) -> None:
    rr, c = ChannelParameters("rr", items, epsilon), share / g
    glh = ChannelParameters("glh", items, epsilon, g, None, c)
    plain = randomized_response.alpha_bits(users, items, epsilon)
    assert certified_alpha_bits(rr, Crowd(users)) == pytest.approx(plain, rel=1e-14)
    hashed = local_hashing.alpha_bits(users, items, g, epsilon, c)
    assert certified_alpha_bits(glh, Crowd(users)) == pytest.approx(hashed, rel=1e-14)
    # the success bound loses nothing at one report
    single = composition.success(rr.theta, items, users, 1)
    assert single == pytest.approx(randomized_response.success(users, items, epsilon), rel=1e-12)


@steady(50)
@given(st.integers(1, 10**12), st.integers(2, 10**18), st.floats(1e-6, 40.0), st.integers(1, 200))
def test_more_reports_never_promise_more(users: int, items: int, epsilon: float, t: int) -> None:
    rr = ChannelParameters("rr", items, epsilon)
    assert certified_success(rr, Crowd(users, t)) <= certified_success(rr, Crowd(users, t + 1)) * (1 + 1e-12)
    assert certified_alpha_bits(rr, Crowd(users, t)) <= certified_alpha_bits(rr, Crowd(users, t + 1)) + 1e-10
    assert certified_alpha_bits(rr, Crowd(users, t)) <= math.log2(users)
    assert certified_success(rr, Crowd(users, t)) <= 1.0


@pytest.mark.parametrize("guesses", [1, 2])
@pytest.mark.parametrize(("n", "k", "t", "epsilon"), [(3, 2, 2, 1.0), (4, 2, 2, 3.0), (4, 3, 2, 2.0), (3, 2, 3, 2.0)])
def test_more_people_than_answers(n: int, k: int, t: int, epsilon: float, guesses: int) -> None:
    """No choice of data exceeds what is certified, and that is no more than for as many people as answers."""
    certified = float(certified_success(ChannelParameters("rr", k, epsilon), Crowd(n, t, guesses)))
    laws = of_several(response_matrix(k, epsilon), t)
    found = max(
        success(uniform(n), laws[list(words)], guesses)
        for words in itertools.combinations_with_replacement(range(k**t), n)
    )
    assert found <= certified * (1 + 1e-12)
    assert certified <= float(certified_success(ChannelParameters("rr", k, epsilon), Crowd(k, t, guesses))) * (1 + 1e-9)


USERS, ITEMS, TRUTH = 1370637, 10500393, 0.0309
BUDGET = math.log1p(ITEMS * TRUTH / (1 - TRUTH))
PRINTED = [(2, 1.021, 0.0569), (10, 4.607, 0.1708), (50, 14.71, 0.5107)]


@pytest.mark.parametrize(("t", "bits", "right"), PRINTED)
def test_printed_exact_values(t: int, bits: float, right: float) -> None:
    rr, crowd = ChannelParameters("rr", ITEMS, BUDGET), Crowd(USERS, t)
    assert rr.theta == pytest.approx(TRUTH, rel=1e-12)
    assert certified_alpha_bits(rr, crowd) == pytest.approx(bits, abs=6e-4 if t < 50 else 6e-3)
    assert certified_success(rr, crowd) == pytest.approx(right, abs=6e-5)
    glh = ChannelParameters("glh", 10**9, BUDGET, ITEMS, None, 0.0)  # hashed to as many values: the same bound
    assert certified_success(glh, crowd) == certified_success(rr, crowd)
    # the bound that knows only how many reports are true, and the paper's
    assert composition.success(rr.theta, ITEMS, USERS, t) == pytest.approx(1 - (1 - TRUTH) ** t, rel=1e-4)
    assert certified_success(rr, crowd) < composition.success(rr.theta, ITEMS, USERS, t)
    assert certified_alpha_bits(rr, crowd) < t * TRUTH * math.log2(USERS)


def test_a_hundred_reports_in_well_under_a_second() -> None:
    begun = time.process_time()
    assert 0.82 < certified_success(ChannelParameters("rr", ITEMS, BUDGET), Crowd(USERS, 100)) < 0.84
    assert 18.8 < certified_alpha_bits(ChannelParameters("rr", ITEMS, BUDGET), Crowd(USERS, 100)) < 18.9
    assert time.process_time() - begun < 1.0


EXACT = [(2, 2, 4), (3, 3, 3), (3, 7, 4), (4, 4, 5), (2, 9, 7), (9, 9, 6), (30, 40, 6)]
"""Users, items, reports; more people than reports and fewer take different ways."""


@pytest.mark.parametrize("epsilon", [0.2, 1.5, 6.0])
@pytest.mark.parametrize(("n", "k", "t"), EXACT)
def test_exact_values_are_those_of_all_count_patterns(n: int, k: int, t: int, epsilon: float) -> None:
    bits, right = repetition_code(n, k, epsilon, t)
    truth = ChannelParameters("rr", k, epsilon).theta
    assert repeated.alpha_bits(n, k, epsilon, t) == pytest.approx(bits, abs=1.1e-11)
    assert repeated.success(n, k, truth, t) == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("guesses", [1, 2, 3])
@pytest.mark.parametrize(("n", "k", "t"), [(3, 3, 2), (3, 4, 2), (2, 2, 4), (3, 3, 3)])
def test_lists_of_guesses_are_exact(n: int, k: int, t: int, guesses: int) -> None:
    """Over every answer, for everybody sending their own letter."""
    epsilon = 1.1
    laws = repeated_channel(k, epsilon, t)[[sum(u * k**j for j in range(t)) for u in range(n)]]
    truth = ChannelParameters("rr", k, epsilon).theta
    assert repeated.success(n, k, truth, t, guesses) == pytest.approx(success(uniform(n), laws, guesses), rel=1e-12)


def repeated_channel(k: int, epsilon: float, t: int) -> np.ndarray:
    return of_several(response_matrix(k, epsilon), t)


@pytest.mark.parametrize("guesses", [1, 2])
@pytest.mark.parametrize(("n", "k", "t"), [(2, 2, 2), (2, 3, 2), (3, 3, 2), (3, 4, 2), (2, 3, 3)])
def test_no_data_are_worse_than_a_letter_of_ones_own(n: int, k: int, t: int, guesses: int) -> None:
    """Every set of code words, and priors that are not even: the exchange of the proof, by enumeration."""
    epsilon = 1.3
    channel, rng = repeated_channel(k, epsilon, t), np.random.default_rng(n + k + t)
    own = channel[[sum(u * k**j for j in range(t)) for u in range(n)]]
    for prior in (uniform(n), rng.dirichlet(np.ones(n))):
        best, most = success(prior, own, guesses), information_bits(prior, own)
        for code in itertools.product(range(k**t), repeat=n) if k**t <= 9 else code_words(n, k, t):
            laws = channel[list(code)]
            assert success(prior, laws, guesses) <= best * (1 + 1e-12)
            assert information_bits(prior, laws) <= most + 1e-12


@pytest.mark.parametrize(("n", "k"), [(2, 2), (3, 3), (2, 3)])
def test_questions_that_follow_the_answers_gain_nothing(n: int, k: int) -> None:
    """After every first answer a collector asks what suits it best: every map of people to data, by enumeration."""
    epsilon, Q = 1.2, response_matrix(k, 1.2)
    maps = list(itertools.product(range(k), repeat=n))
    reached = 0.0
    for first in maps:
        total = 0.0
        for answer in range(k):
            posterior = uniform(n) * Q[list(first), answer]
            total += max(success(posterior, Q[list(second)]) for second in maps)
        reached = max(reached, total)
    truth = ChannelParameters("rr", k, epsilon).theta
    assert reached == pytest.approx(repeated.success(n, k, truth, 2), rel=1e-12)


def test_a_repeated_noisy_answer_is_one_report() -> None:
    """Memoised: the second answer is a copy of the first, so the pair tells what the first tells."""
    Q = response_matrix(4, 1.3)
    pairs = np.zeros((4, 16))
    pairs[:, [y * 4 + y for y in range(4)]] = Q
    one = certified_success(ChannelParameters("rr", 4, 1.3), Crowd(4))
    assert success(uniform(4), pairs) == pytest.approx(float(one), rel=1e-12)
    anew = of_several(Q, 2)[[0, 5, 10, 15]]
    assert information_bits(uniform(4), pairs) == pytest.approx(information_bits(uniform(4), Q), rel=1e-12)
    assert information_bits(uniform(4), anew) > 1.5 * information_bits(uniform(4), Q)


def test_who_sends_fewer_reports_is_covered_by_the_largest_number() -> None:
    """One report instead of two is two reports of which the second is noise for all."""
    Q, k = response_matrix(3, 1.3), 3
    fewer = np.kron(Q, np.full((1, k), 1 / k))
    both = certified_success(ChannelParameters("rr", k, 1.3), Crowd(3, 2))
    mixed = np.vstack([of_several(Q, 2)[0], fewer[1], fewer[2]])
    assert success(uniform(3), mixed) <= both


@pytest.mark.parametrize("guesses", [1, 2])
@pytest.mark.parametrize(("n", "k", "g", "t"), [(2, 2, 2, 2), (2, 2, 3, 2), (3, 3, 2, 1), (2, 2, 2, 3), (2, 3, 2, 2)])
def test_ideal_hash_over_every_function(n: int, k: int, g: int, t: int, guesses: int) -> None:
    epsilon = 1.4
    Q = of_several(hashed_matrix(all_tables(g, k), g, epsilon), t)
    laws = Q[[sum(u * k**j for j in range(t)) for u in range(n)]]
    truth = ChannelParameters("glh", k, epsilon, g).theta
    found = repeated.success_ideal_hash(n, g, truth, t, guesses)
    assert found == pytest.approx(success(uniform(n), laws, guesses), rel=1e-12)
    if guesses == 1 and n <= g:
        assert found <= certified_success(ChannelParameters("glh", k, epsilon, g), Crowd(n, t)) * (1 + 1e-12)


def test_ideal_hash_by_the_theory_sheet() -> None:
    """V_t = sum_a f1(a) [F(a)^n - F(a-1)^n] / (n f(a)), in 50 digits."""
    n, g, t, truth = 1000, 37, 6, 0.4
    lie = (1 - mp.mpf(truth)) / g
    own = [math.comb(t, a) * (truth + lie) ** a * (1 - truth - lie) ** (t - a) for a in range(t + 1)]
    law = [math.comb(t, a) * mp.mpf(1) / g**a * (1 - mp.mpf(1) / g) ** (t - a) for a in range(t + 1)]
    total, below = mp.mpf(0), mp.mpf(0)
    for a in range(t + 1):
        total += own[a] * ((below + law[a]) ** n - below**n) / (n * law[a])
        below += law[a]
    assert repeated.success_ideal_hash(n, g, truth, t) == pytest.approx(float(total), rel=1e-11)


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
    assert certified_success(rr, Crowd(100, 3)) == pytest.approx(0.01, rel=1e-15)
    assert certified_alpha_bits(rr, Crowd(100, 3)) == 0.0
    assert float(theta(0.0, 10)) == 0.0
