"""The probability of telling the truth as an integer T of T/2^64: rounded down, exactly, from theta or from epsilon."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.probability import epsilon_of_numerator, happens, numerator_of_epsilon, numerator_of_theta
from entropie.mechanisms.randomized_response import RandomizedResponse

ONE = 2**64
EPSILONS = [float(e) for e in np.geomspace(1e-6, 700.0, 60)] + [1e-6, 0.1, 1.0, 10.0, 12.72, 44.0, 45.0, 90.0, 700.0]
SIZES = [2, 3, 5, 10, 133, 1000, 2**31, 10_500_393, 2**32 + 15, 10**12, 10**18]
EXACT = settings(derandomize=True, deadline=None, max_examples=300)
sizes = st.one_of(st.sampled_from(SIZES), st.integers(2, 10**18))
budgets = st.one_of(st.floats(1e-6, 700.0), st.floats(1e-6, 3.0))


def floor_of_theta(epsilon: float, size: int) -> int:
    """floor(2^64 (w-1)/(size+w-1)) with 80 digits, taken from the lie's side, where nothing cancels for large w."""
    with mpmath.workdps(80):
        lie = mpmath.mpf(size) / (size + mpmath.expm1(mpmath.mpf(epsilon)))
        return ONE - int(mpmath.ceil(ONE * lie))


def kept_epsilon(numerator: int, size: int) -> mpmath.mpf:
    with mpmath.workdps(80):
        return mpmath.log(1 + mpmath.mpf(size) * numerator / (ONE - numerator))


@EXACT
@given(st.floats(0.0, 1.0))
@example(5e-324)
@example(2.0**-64)
@example(math.nextafter(2.0**-64, 0.0))
@example(math.nextafter(1.0, 0.0))
@example(0.1)
def test_theta_is_rounded_down_exactly(theta: float) -> None:
    exact = Fraction(theta) * ONE
    numerator = numerator_of_theta(theta)
    assert numerator <= exact < numerator + 1
    assert RandomizedResponse.from_theta(domain_size=9, theta=theta).theta_numerator == numerator
    assert LocalHashing.from_theta(domain_size=9, hash_size=4, theta=theta).theta_numerator == numerator


@EXACT
@given(st.fractions(0, 1))
@example(Fraction(1, 3))
@example(Fraction(ONE - 1, ONE))
def test_theta_as_a_fraction(theta: Fraction) -> None:
    numerator = numerator_of_theta(theta)
    assert Fraction(numerator, ONE) <= theta < Fraction(numerator + 1, ONE)


@pytest.mark.parametrize("size", SIZES)
def test_from_epsilon_over_the_whole_range(size: int) -> None:
    for epsilon in EPSILONS:
        want = floor_of_theta(epsilon, size)
        assert numerator_of_epsilon(epsilon, size) == want, epsilon
        assert RandomizedResponse(domain_size=size, epsilon=epsilon).theta_numerator == want
        assert LocalHashing(domain_size=7, hash_size=size, epsilon=epsilon).theta_numerator == want


@EXACT
@given(budgets, sizes)
def test_from_epsilon_against_eighty_digits(epsilon: float, size: int) -> None:
    assert numerator_of_epsilon(epsilon, size) == floor_of_theta(epsilon, size)


@EXACT
@given(budgets, sizes)
def test_the_budget_really_kept_is_never_above_the_one_asked_for(epsilon: float, size: int) -> None:
    numerator = numerator_of_epsilon(epsilon, size)
    assert kept_epsilon(numerator, size) <= epsilon
    assert epsilon_of_numerator(numerator, size) == pytest.approx(float(kept_epsilon(numerator, size)), rel=2**-51)
    assert mpmath.mpf(epsilon_of_numerator(numerator, size)) <= kept_epsilon(numerator, size)  # rounded down


@EXACT
@given(budgets, sizes)
@example(0.06224343699999223, 3)
@example(0.4453116486726472, 133)
@example(0.46835293751742163, 10)
def test_the_budget_stated_is_never_above_the_one_asked_for(epsilon: float, size: int) -> None:
    """The number itself as the mechanism states it: rounding to a double keeps the order, if it is done once."""
    assert RandomizedResponse(domain_size=size, epsilon=epsilon).epsilon <= epsilon
    assert LocalHashing(domain_size=7, hash_size=size, epsilon=epsilon).epsilon <= epsilon


@EXACT
@given(budgets, sizes)
def test_rounding_down_costs_less_than_one_step(epsilon: float, size: int) -> None:
    """T + 1 would break the promise: no budget is given away."""
    numerator = numerator_of_epsilon(epsilon, size)
    if numerator < ONE - 1:
        assert kept_epsilon(numerator + 1, size) > epsilon


def test_ends_of_the_range() -> None:
    assert numerator_of_theta(0.0) == numerator_of_epsilon(0.0, 5) == 0
    assert numerator_of_theta(1.0) == numerator_of_theta(1) == numerator_of_epsilon(math.inf, 5) == ONE
    for epsilon in (700.0, 701.0, 1e6, 1e308):  # a finite budget is never no noise at all
        assert numerator_of_epsilon(epsilon, 2) == ONE - 1
    assert epsilon_of_numerator(0, 5) == 0.0
    assert epsilon_of_numerator(ONE, 5) == math.inf


@pytest.mark.parametrize("numerator", [0, 1, 2**63, ONE - 1, ONE])
def test_words_below_the_numerator_and_no_others(numerator: int) -> None:
    words = sorted({w for w in (0, 1, numerator - 2, numerator - 1, numerator, numerator + 1, ONE - 1) if 0 <= w < ONE})
    assert happens(numerator, np.array(words, np.uint64)).tolist() == [w < numerator for w in words]


@EXACT
@given(st.integers(1, ONE), sizes)
@example(1, 10**18)
@example(ONE - 1, 10**18)
@example(ONE - 1, 2)
@example(ONE, 2)
def test_estimators_use_the_numerator(numerator: int, size: int) -> None:
    """Rates follow from T/2^64, not from the epsilon asked for.

    They pass through epsilon, at most 86 here; half an ulp of it is 86 2^-53 = 1e-14, which e^epsilon turns into a
    relative error, so 5e-14 leaves room for a handful of further roundings.
    """
    theta = Fraction(numerator, ONE)
    rates = RandomizedResponse.from_theta(domain_size=size, theta=theta).rates
    nu = (1 - theta) / size
    for got, want in ((rates.mu, theta + nu), (rates.nu, nu), (rates.gain, theta), (rates.mu_off, 1 - theta - nu)):
        assert got == pytest.approx(float(want), rel=5e-14, abs=0.0)


@EXACT
@given(st.integers(1, ONE), st.integers(2, 10**6), st.sampled_from([None, 2**61 - 1]))
@example(ONE - 1, 101, None)
def test_local_hashing_rates_use_numerator_and_collisions(numerator: int, size: int, prime: int | None) -> None:
    mechanism = LocalHashing.from_theta(domain_size=2, hash_size=size, theta=Fraction(numerator, ONE), prime=prime)
    theta, p = Fraction(numerator, ONE), mechanism.family.prime
    quotient, rest = divmod(p, size)
    c = Fraction(quotient * (p + rest - size), p * (p - 1))
    mu, nu = theta + (1 - theta) / size, (1 - theta) / size + theta * c
    rates = mechanism.rates
    for got, want in ((rates.mu, mu), (rates.nu, nu), (rates.gain, theta * (1 - c)), (rates.mu_off, 1 - mu)):
        assert got == pytest.approx(float(want), rel=5e-14, abs=0.0)


def test_truth_always_and_never() -> None:
    values = np.arange(50) % 7
    rng = np.random.default_rng(1)
    always = RandomizedResponse.from_theta(domain_size=7, theta=1.0)
    assert always.epsilon == math.inf
    assert always.simulate(values, rng).tolist() == always.obfuscate_many(values).tolist() == values.tolist()
    assert [always.obfuscate(int(v)) for v in values] == values.tolist()
    hashed = LocalHashing.from_theta(domain_size=7, hash_size=5, theta=1.0)
    for a, b, y in [hashed.obfuscate(3) for _ in range(50)]:
        assert y == (3 * a + b) % 7 % 5
    never = RandomizedResponse.from_theta(domain_size=7, theta=0.0)
    assert never.epsilon == 0.0
    again = [never.simulate([v] * 100, np.random.default_rng(5)).tolist() for v in range(7)]
    assert all(reports == again[0] for reports in again)  # the value leaves no trace


def test_blh_and_olh_are_settings() -> None:
    assert LocalHashing.binary(domain_size=100, epsilon=2.0) == LocalHashing(domain_size=100, hash_size=2, epsilon=2.0)
    assert LocalHashing.optimal(domain_size=100, epsilon=2.0).hash_size == 8  # e^2 + 1 = 8.389
    assert LocalHashing.optimal(domain_size=100, epsilon=0.0).hash_size == 2
    assert LocalHashing.optimal(domain_size=100, epsilon=41.0).hash_size == round(math.exp(41.0) + 1)
