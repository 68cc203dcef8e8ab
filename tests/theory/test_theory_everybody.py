"""All reports in one hand: every store, every order and every assignment of small cases; bounds hold, and are attained."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from theory_oracles import hashed_matrix, linear_tables, random_channel, response_matrix, steady

from entropie.theory import channel, everybody
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import ChannelParameters, guarantee


def store_oracle(Q: np.ndarray, data: np.ndarray, prior: np.ndarray, guesses: int, linked: bool) -> tuple:
    """(success, bits, certainty) about the sender of the first entry, by going through every store and every order.

    `data[u, j]` is what person u reports in their j-th report. Linked: the store is an order of people, each with all
    their reports in turn; else an order of single reports. The first entry is a person's with their prior, the others
    follow in every order.
    """
    n, t = data.shape
    entries = (
        [[(u, j) for j in range(t)] for u in range(n)] if linked else [[(u, j)] for u in range(n) for j in range(t)]
    )
    share = 1 if linked else t
    laws = []
    for entry in entries:
        law = np.ones(1)
        for u, j in entry:
            law = np.multiply.outer(law, Q[data[u, j]]).ravel()
        laws.append(law)
    joint = np.zeros((n, len(laws[0]) ** len(entries)))
    for order in itertools.permutations(range(len(entries))):
        sender = entries[order[0]][0][0]
        weight = prior[sender] / share / math.factorial(len(entries) - 1)
        store = np.ones(1)
        for place in order:
            store = np.multiply.outer(store, laws[place]).ravel()
        joint[sender] += weight * store
    seen = joint.sum(axis=0)
    posterior = joint[:, seen > 0] / seen[seen > 0]
    success = float(np.sort(joint, axis=0)[-guesses:].sum())
    safe = np.where(posterior > 0.0, posterior, 1.0)
    left = -float(((safe * np.log2(safe)).sum(axis=0) * seen[seen > 0]).sum())
    before = -float(sum(p * math.log2(p) for p in prior if p > 0))
    return success, before - left, float(posterior.max())


def erasure(k: int, theta: float) -> np.ndarray:
    """The datum with probability theta, else a sign that there is none."""
    return np.hstack([theta * np.eye(k), np.full((k, 1), 1.0 - theta)])


def bounds(crowd: Crowd, Q: np.ndarray) -> tuple[float, float, float]:
    theta, k = channel.doeblin_theta(Q), len(Q)
    alone = math.inf  # not used: the bound by the oracle alone
    return (
        float(everybody.success(crowd, k, Fraction(theta))),
        everybody.alpha_bits(crowd, k, theta, alone),
        everybody.posterior_max(crowd, channel.epsilon(Q)),
    )


def every_assignment(n: int, k: int, t: int) -> list[np.ndarray]:
    """Data of all people, up to the order of people."""
    tuples = list(itertools.product(range(k), repeat=t))
    return [np.array(chosen) for chosen in itertools.combinations_with_replacement(tuples, n)]


SMALL = [(2, 2, 1, 0.3), (2, 3, 1, 1.0), (3, 3, 1, 1.0), (3, 2, 1, 3.0), (4, 2, 1, 1.5), (2, 2, 2, 1.0), (3, 2, 2, 2.0)]
"""Users, items, reports, epsilon."""


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize(("n", "k", "t", "epsilon"), SMALL)
def test_no_store_tells_more(n: int, k: int, t: int, epsilon: float, linked: bool) -> None:
    Q = response_matrix(k, epsilon)
    even = np.full(n, 1.0 / n)
    for guesses in (1, 2):
        crowd = Crowd(n, t, guesses, linked=linked)
        found = guarantee(ChannelParameters("rr", k, epsilon), crowd).all_reports
        limits = bounds(crowd, Q)
        for data in every_assignment(n, k, t):
            success, bits, certainty = store_oracle(Q, data, even, guesses, linked)
            assert success <= limits[0] * (1 + 1e-12)
            assert bits <= limits[1] + 1e-12
            assert certainty <= limits[2] * (1 + 1e-12)
            assert 1 - success >= found.list_error - 1e-12
            assert bits <= found.alpha_bits + 1e-12
            assert certainty <= found.posterior_max * (1 + 1e-12)


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize(("n", "t"), [(2, 1), (3, 1), (2, 2)])
def test_no_store_of_hashed_reports_tells_more(n: int, t: int, linked: bool) -> None:
    """g = 2 buckets, three items: here reports of others do split a bucket, so that b = min(n, k) and not g counts."""
    epsilon, prime, g, k = 1.2, 3, 2, 3
    Q = hashed_matrix(linear_tables(prime, g, k)[::2], g, epsilon)
    Q = Q if t == 1 else hashed_matrix(linear_tables(prime, g, k)[[0, 3]], g, epsilon)
    found = guarantee(ChannelParameters("glh", k, epsilon, g, prime, None), Crowd(n, t, linked=linked)).all_reports
    for data in every_assignment(n, k, t):
        success, bits, certainty = store_oracle(Q, data, np.full(n, 1.0 / n), 1, linked)
        assert 1 - success >= found.bayes_error - 1e-12
        assert bits <= found.alpha_bits + 1e-12
        assert certainty <= found.posterior_max * (1 + 1e-12)


@example(10, 2, 0.9, 1.0, 3, False)
@example(1000, 30, 0.99, 1.0, 1, True)
@steady(50)
@given(st.integers(1, 10**9), st.integers(2, 1000), st.floats(0, 1), st.floats(0, 1), st.integers(1, 20), st.booleans())
def test_less_truth_never_tells_more(n: int, k: int, one: float, other: float, t: int, linked: bool) -> None:
    """Noise can be added to reports after they leaked."""
    crowd, low, high = Crowd(n, t, linked=linked), *sorted((one, other))
    errors = [everybody.success(crowd, k, Fraction(theta)) for theta in (low, high)]
    assert errors[0] <= errors[1] * (1 + Fraction(1, 10**12))
    told = [everybody.alpha_bits(crowd, k, theta, math.inf) for theta in (low, high)]
    assert told[0] <= told[1] + 1e-9


@steady(25)
@given(st.integers(0, 2**32), st.integers(2, 3), st.integers(1, 2), st.booleans(), st.floats(0.1, 3.0))
def test_any_mechanism_any_data_any_prior(seed: int, n: int, t: int, linked: bool, spread: float) -> None:
    rng = np.random.default_rng(seed)
    Q = random_channel(rng, 2, 2 if t == 2 else 3, spread)
    prior = rng.dirichlet(np.ones(n))
    crowd = Crowd(n, t, 1, float(prior.max()), linked)
    success, bits, certainty = store_oracle(Q, rng.integers(0, 2, (n, t)), prior, 1, linked)
    limits = bounds(crowd, Q)
    assert success <= limits[0] * (1 + 1e-12)
    assert bits <= limits[1] + 1e-12
    assert certainty <= limits[2] * (1 + 1e-12)


@pytest.mark.parametrize(("n", "t", "theta"), [(2, 1, 0.3), (3, 1, 0.6), (4, 1, 0.2), (2, 2, 0.4), (3, 2, 0.3)])
def test_an_erasure_attains_error_and_bits(n: int, t: int, theta: float) -> None:
    """It shows which reports are noise, so that the oracle of the proof tells nothing new."""
    data = np.repeat(np.arange(n)[:, None], t, axis=1)
    success, bits, _ = store_oracle(erasure(n, theta), data, np.full(n, 1 / n), 1, True)
    assert success == pytest.approx(float(everybody.success(Crowd(n, t), n, Fraction(theta))), rel=1e-12)
    assert bits == pytest.approx(everybody.alpha_bits(Crowd(n, t), n, theta, math.inf), rel=1e-12)
    f = 1 - (1 - theta) ** t
    assert success == pytest.approx(f + (1 - f**n) / n, rel=1e-12)


def test_single_entries_attain_the_bits() -> None:
    n, t, theta = 2, 2, 0.4
    data = np.repeat(np.arange(n)[:, None], t, axis=1)
    _, bits, _ = store_oracle(erasure(n, theta), data, np.full(n, 1 / n), 1, False)
    assert bits == pytest.approx(everybody.alpha_bits(Crowd(n, t, linked=False), n, theta, math.inf), rel=1e-12)


@pytest.mark.parametrize(("n", "t"), [(2, 1), (3, 1), (4, 1), (2, 2), (3, 2)])
def test_certainty_is_attained(n: int, t: int) -> None:
    """All others have one datum, and all reports are true."""
    epsilon, k = 1.0, 2
    data = np.array([[0] * t] + [[1] * t] * (n - 1))
    _, _, certainty = store_oracle(response_matrix(k, epsilon), data, np.full(n, 1 / n), 1, True)
    assert certainty == pytest.approx(everybody.posterior_max(Crowd(n, t), epsilon), rel=1e-12)
    w = math.exp(2 * t * epsilon)
    assert certainty == pytest.approx(w / (w + n - 1), rel=1e-12)


def test_two_people_three_items() -> None:
    """The case that shows that a guarantee about one report alone is none about a collector."""
    success, _, certainty = store_oracle(response_matrix(3, 1.0), np.array([[0], [1]]), np.full(2, 0.5), 1, True)
    found = guarantee(ChannelParameters("rr", 3, 1.0), Crowd(2))
    assert found.bayes_error == pytest.approx(0.318, abs=5e-4)
    assert 1 - success == pytest.approx(0.279, abs=5e-4)
    assert 1 - success < found.bayes_error
    assert found.all_reports.bayes_error <= 1 - success
    assert certainty == pytest.approx(0.8808, abs=5e-5)
    assert found.all_reports.posterior_max == pytest.approx(certainty, rel=1e-12)
    assert found.posterior_max == pytest.approx(0.7311, abs=5e-5)


def test_pseudonyms_alone_and_pure_noise() -> None:
    """Without noise everybody hides among those with the same datum; with nothing else, among all."""
    named = everybody.success(Crowd(100), 5, Fraction(1))
    assert named == Fraction(5, 100)
    assert everybody.alpha_bits(Crowd(100), 5, 1.0, math.inf) == pytest.approx(math.log2(5), rel=1e-12)
    assert everybody.success(Crowd(100), 5, Fraction(0)) == Fraction(1, 100)
    assert everybody.alpha_bits(Crowd(100), 5, 0.0, 0.0) == pytest.approx(0.0, abs=1e-12)


@steady(120)
@given(
    st.integers(1, 10**18),
    st.integers(2, 10**18),
    st.floats(0.0, 1.0),
    st.integers(1, 1000),
    st.integers(1, 10**6),
    st.booleans(),
)
def test_sane_over_the_whole_range(n: int, k: int, theta: float, t: int, guesses: int, linked: bool) -> None:
    crowd, exact = Crowd(n, t, guesses, linked=linked), Fraction(theta)
    success = everybody.success(crowd, k, exact)
    assert crowd.guesses * (1 - Fraction(1, 10**40)) <= success <= 1
    between, ends = everybody.success(crowd, k, (1 + exact) / 2), (success, everybody.success(crowd, k, Fraction(1)))
    assert between >= min(ends) * (1 - Fraction(1, 10**40))  # so what holds up to some theta holds below it, or at 1
    bits = everybody.alpha_bits(crowd, k, theta, math.inf)
    assert 0.0 <= bits <= math.log2(n)
    if linked:  # where reports are not linked, more of them also hide each other
        assert bits <= everybody.alpha_bits(Crowd(n, t + 1, guesses), k, theta, math.inf) + 1e-9
        alone = everybody.alpha_bits(Crowd(n, t, guesses, linked=False), k, theta, math.inf)
        assert alone <= bits + 1e-9
        assert everybody.success(Crowd(n, t, guesses, linked=False), k, exact) <= success + Fraction(1, 10**40)


@pytest.mark.parametrize("n", [2, 3, 10, 1000])
def test_orders_of_a_store(n: int) -> None:
    """log n - (1/n) log n!, and the same for single reports, from the factorials themselves."""
    from entropie.theory.special import log_factorial_gap

    assert log_factorial_gap(n) == pytest.approx(math.log(n) - math.log(math.factorial(n)) / n, rel=1e-11)
    t = 3
    orders = math.log(math.factorial(n * t)) - n * math.log(math.factorial(t))
    spare = log_factorial_gap(n * t) - log_factorial_gap(t)
    assert spare == pytest.approx(math.log(n) - orders / (n * t), rel=1e-10)
    assert log_factorial_gap(10**18) == pytest.approx(1.0, abs=1e-15)
