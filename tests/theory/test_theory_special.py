"""The small functions everything is made of, digit by digit."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import steady
from theory_precise import binary_divergence_bits, mp, relative_error

from entropie.theory import special

TINY_AND_HUGE = [s * 10.0**e for e in range(-18, 305, 7) for s in (1.0, 3.7)]


def precise_psi(a: float):
    a = mp.mpf(a)
    return (1 + a) * mp.log(1 + a) - a if a > -1 else mp.mpf(1)


@pytest.mark.parametrize("a", [*TINY_AND_HUGE, 0.0299999, 0.03, 0.0300001, *[-x for x in TINY_AND_HUGE if x < 1], -1.0])
def test_psi(a: float) -> None:
    assert relative_error(special.psi(a), precise_psi(a)) < 1e-13


@steady(300)
@given(st.one_of(st.floats(-1.0, 1.0), st.floats(1.0, 1e300)))
def test_psi_anywhere(a: float) -> None:
    if abs(a) > 1e-40 or a == 0.0:  # 120 digits hold no smaller one
        assert relative_error(special.psi(a), precise_psi(a)) < 1e-13


@steady(300)
@given(st.floats(0.0, 1.0), st.floats(1e-18, 0.9999))
def test_binary_divergence(p: float, q: float) -> None:
    true = binary_divergence_bits(p, q)
    # p - q itself is only known to the spacing of floating-point numbers near the larger one
    spacing = max(p, q) * 2.0**-52 / abs(p - q) if p != q else 0.0
    assert relative_error(special.binary_divergence_bits(p, q), true) < 1e-12 + 4 * spacing


@pytest.mark.parametrize(
    ("p", "q", "bits"), [(1, 1, 0), (0, 0, 0), (0.5, 0, math.inf), (0.5, 1, math.inf), (1, 0.25, 2)]
)
def test_binary_divergence_at_the_ends(p: float, q: float, bits: float) -> None:
    assert special.binary_divergence_bits(p, q) == pytest.approx(bits)


@steady(300)
@given(st.floats(0.0, 0.999999), st.integers(2, 10**18))
def test_epsilon_and_theta_undo_each_other(theta: float, size: int) -> None:
    epsilon = special.epsilon_of(theta, size)
    assert special.theta_of(epsilon, size) == pytest.approx(theta, rel=1e-11)
    assert special.lie_probability(epsilon, size) == pytest.approx(1 - theta, rel=1e-9)


def test_theta_at_the_ends() -> None:
    assert special.theta_of(0.0, 5) == 0.0
    assert special.theta_of(math.inf, 5) == 1.0
    assert special.lie_probability(0.0, 5) == 1.0
    assert special.lie_probability(math.inf, 5) == 0.0
    assert special.epsilon_of(1.0, 5) == math.inf
    assert special.epsilon_of(0.0, 5) == 0.0


# --- binomial -------------------------------------------------------------------------------------------------


def precise_pmf(count: int, trials: int, probability: float):
    p = mp.mpf(probability)
    rest = trials - count
    ways = mp.exp(mp.loggamma(trials + 1) - mp.loggamma(count + 1) - mp.loggamma(rest + 1))
    return ways * p**count * (1 - p) ** rest


@pytest.mark.parametrize("probability", [1e-18, 1e-12, 1e-3, 0.3, 0.5, 0.97])
@pytest.mark.parametrize("trials", [1, 2, 17, 400, 10**6, 10**12])
def test_binomial_probabilities(trials: int, probability: float) -> None:
    mean = trials * probability
    spread = math.sqrt(mean * (1 - probability))
    for z in (-8, -1, 0, 1, 8):
        for count in {0, 1, min(2, trials), trials, min(trials, max(0, round(mean + z * spread)))}:
            true = precise_pmf(count, trials, probability)
            # the float probability fixes the tilt only to one part in 2^53 of the mean
            tolerance = 1e-13 + abs(count - mean) * 2.0**-52 + abs(float(mp.log(true))) * 2.0**-51
            assert relative_error(special.binomial_pmf(count, trials, probability), true) < tolerance, count


def test_impossible_counts_have_no_probability() -> None:
    assert special.binomial_pmf(-1, 5, 0.5) == 0.0
    assert special.binomial_pmf(6, 5, 0.5) == 0.0
    assert [special.binomial_pmf(c, 2, 1.0) for c in range(3)] == [0.0, 0.0, 1.0]
    assert [special.binomial_pmf(c, 2, 0.0) for c in range(3)] == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("trials", [1, 3, 50, 5000, 10**6, 10**9, 10**12])
@pytest.mark.parametrize("hash_size", [2, 3, 50, 10**4, 10**9, 10**18])
def test_points_reproduce_the_moments(trials: int, hash_size: int) -> None:
    p = 1.0 / hash_size
    points = list(special.binomial_points(trials, p))
    assert len(points) < 1500
    assert math.fsum(w for _, w in points) == pytest.approx(1.0, rel=1e-13)
    mean = math.fsum(w * c for c, w in points)
    assert mean == pytest.approx(trials * p, rel=1e-12)
    variance = math.fsum(w * (c - trials * p) ** 2 for c, w in points)
    assert variance == pytest.approx(trials * p * (1 - p), rel=1e-9)
    third = special.binomial_expectation(lambda c: (c - trials * p) ** 3, trials, p)
    assert third == pytest.approx(trials * p * (1 - p) * (1 - 2 * p), rel=1e-6, abs=1e-6 * variance**1.5)


@pytest.mark.parametrize(("trials", "probability"), [(1, 0.3), (10, 0.2), (60, 0.9), (300, 0.01), (40, 1e-9)])
def test_upper_tail(trials: int, probability: float) -> None:
    masses = [precise_pmf(c, trials, probability) for c in range(trials + 1)]
    for first in range(-1, trials + 2):
        true = mp.fsum(masses[max(first, 0) :])
        assert relative_error(special.binomial_upper_tail(first, trials, probability), true) < 1e-11, first


@pytest.mark.parametrize("mean", [1e-6, 0.3, 1.0, 40.0, 900.0])
@pytest.mark.parametrize("trials", [2000, 10**6, 10**9, 10**12])
def test_upper_tail_of_many_trials(trials: int, mean: float) -> None:
    """Rare events among many: 1 - probability must not be what the answer is made of."""
    probability = mean / trials
    p = mp.mpf(probability)
    mass, below, first = (1 - p) ** trials, mp.mpf(0), 0
    while first < mean + 12 * math.sqrt(mean) + 3 and first <= trials:
        if first < 3 or first % 7 == 0:
            true = 1 - below
            got = special.binomial_upper_tail(first, trials, probability)
            assert relative_error(got, true) < 1e-11, first
        below += mass
        mass *= (trials - first) * p / ((first + 1) * (1 - p))
        first += 1


@pytest.mark.parametrize(("trials", "probability"), [(10**12, 1e-3), (10**9, 0.2689), (10**9, 0.5), (10**10, 0.9)])
def test_upper_tail_far_from_term_by_term(trials: int, probability: float) -> None:
    """Many trials against Cornish and Fisher's normal expansion, whose error is of the order 1/variance."""
    mean, spread = trials * probability, math.sqrt(trials * probability * (1 - probability))
    skew = (1 - 2 * probability) / spread
    for z in (-3.0, -0.1, 0.0, 0.1, 2.0, 5.0):
        first = round(mean + z * spread)
        x = (first - 0.5 - mean) / spread
        x -= skew * (x * x - 1) / 6
        true = 0.5 * math.erfc(x / math.sqrt(2))
        assert special.binomial_upper_tail(first, trials, probability) == pytest.approx(true, rel=1e-7)


# --- inversion, with fakes ------------------------------------------------------------------------------------


def test_largest_where_finds_the_last_number_that_holds() -> None:
    tried = []

    def holds(x: float) -> bool:
        tried.append(x)
        return x * x <= 2.0

    found = special.largest_where(holds, 0.0, 10.0)
    assert holds(found)
    assert not holds(math.nextafter(found, math.inf))
    assert len(tried) < 100


def test_largest_where_at_the_ends() -> None:
    assert special.largest_where(lambda x: True, 0.0, 3.0) == 3.0
    assert special.largest_where(lambda x: x <= 0.0, 0.0, 3.0) == 0.0
    assert special.largest_where(lambda x: x <= 1e-300, 0.0, 1.0) == 1e-300
