"""From a wanted error back to the setting: it keeps the promise, and a little more truth would break it."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import steady
from theory_precise import composed_bits, composed_success, fano_success, information_bits, mp

from entropie.errors import EntropieError, InvalidParameter, Unreachable
from entropie.mechanisms.calibrate import Calibration, calibrate
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.theory import checks
from entropie.theory.calibration import HASH_NOISE_SHARE, hash_size_for, largest_theta

# --- the generic inversion, with fakes ------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_largest_theta_of_a_line(wanted: float) -> None:
    found = largest_theta(lambda theta: 0.01 + 0.99 * theta, wanted)
    assert found == pytest.approx(1.0 if wanted == 0.0 else (1 - wanted - 0.01) / 0.99, abs=1e-12)
    assert 0.01 + 0.99 * found <= 1.0 - wanted + 1e-15


def test_no_noise_where_none_is_needed() -> None:
    assert largest_theta(lambda theta: 0.01 + 0.2 * theta, 0.7) == 1.0


def test_a_target_below_guessing_is_refused_in_words() -> None:
    with pytest.raises(Unreachable, match="by chance alone"):
        largest_theta(lambda theta: 0.2 + 0.8 * theta, 0.9)


@pytest.mark.parametrize("wanted", [-0.1, 1.1, math.nan])
def test_a_target_is_a_share(wanted: float) -> None:
    with pytest.raises(InvalidParameter, match="bayes_error"):
        largest_theta(lambda theta: theta, wanted)


@steady(200)
@given(st.floats(1e-12, 1.0), st.integers(2, 10**18))
def test_hash_size_keeps_its_noise_within_the_share(theta: float, items: int) -> None:
    g = hash_size_for(theta, items)
    assert 2 <= g <= checks.LARGEST_SIZE
    assert math.log10(g) == pytest.approx(round(math.log10(g)))
    if g < checks.LARGEST_SIZE:
        noise = items * (1 - theta) / (g * theta**2)  # k absent items, times n
        assert noise <= HASH_NOISE_SHARE * (1 - theta) / theta * (1 + 1e-9)
        assert g / 10 < items / (HASH_NOISE_SHARE * theta) * (1 + 1e-9)  # and no larger round number was taken


def test_hash_size_without_truth() -> None:
    assert hash_size_for(0.0, 5) == checks.LARGEST_SIZE


# --- the whole way --------------------------------------------------------------------------------------------


def bound(result: Calibration, truth, reports: int, guesses: int, prior_max: float | None):
    """The certified success at another theta of the same mechanism, from the formulas of the theory sheet."""
    mechanism, n = result.mechanism, result.guarantee.users
    k = mechanism.domain_size
    answers = mechanism.hash_size if isinstance(mechanism, LocalHashing) else k
    used = min(answers, k, n)
    p = mp.mpf(1) / n if prior_max is None else mp.mpf(prior_max)
    named = min(mp.mpf(1), min(guesses, n) * p)
    if reports > 1:
        return composed_success(truth, min(answers, k), n, reports, guesses, prior_max)
    return truth * min(mp.mpf(1), used * named) + (1 - truth) * named


CASES = [
    # users, items, error, mechanism, hash size, reports, list, prior_max
    (1370637, 10500393, 0.9, "rr", None, 1, 1, None),
    (1370637, 10500393, 0.9, "glh", None, 1, 1, None),
    (1370637, 10500393, 0.9, "auto", None, 1, 1, None),
    (1370637, 10500393, 0.9, "glh", 1000, 1, 1, None),
    (1000, 50, 0.97, "rr", None, 1, 1, None),
    (1000, 50, 0.97, "glh", 7, 1, 1, None),
    (1000, 50, 0.9, "rr", None, 1, 10, None),
    (1000, 5000, 0.5, "auto", None, 1, 3, None),
    (1000, 5000, 0.9, "rr", None, 3, 1, None),
    (1000, 5000, 0.9, "glh", None, 3, 1, None),
    (1000, 5000, 0.8, "glh", 10, 5, 4, None),
    (10**6, 1000, 0.9, "rr", None, 50, 1, None),
    (1000, 50, 0.5, "glh", 30, 1, 1, 0.1),
    (1000, 50, 0.5, "auto", None, 2, 2, 0.05),
    (10**12, 10**18, 0.999, "rr", None, 1, 1, None),
    (10**12, 10**17, 0.999, "glh", 10**6, 1, 1, None),
    (2, 2, 0.25, "rr", None, 1, 1, None),
]


@pytest.mark.parametrize(("users", "items", "error", "name", "g", "reports", "guesses", "prior_max"), CASES)
def test_promise_is_kept_and_used_up(
    users: int, items: int, error: float, name: str, g: int | None, reports: int, guesses: int, prior_max: float | None
) -> None:
    result = calibrate(
        users=users, domain_size=items, bayes_error=error, mechanism=name, hash_size=g,
        reports=reports, list_size=guesses, prior_max=prior_max,
    )  # fmt: skip
    promised = result.guarantee.list_error if guesses > 1 else result.guarantee.bayes_error
    assert promised >= error - 1e-13
    assert result.guarantee.bayes_error >= result.guarantee.list_error
    truth = result.mechanism.theta
    exact = mp.mpf(result.mechanism.theta_numerator) / 2**64
    direct = bound(result, exact, reports, guesses, prior_max)
    by_fano = fano_success_at(result, truth, reports, guesses, prior_max)
    assert min(direct, by_fano) <= 1 - mp.mpf(error) + mp.mpf(10) ** -13
    if truth < 1.0:
        more = min(1.0, truth * (1 + 1e-7) + 1e-12)
        worse = min(
            bound(result, mp.mpf(more), reports, guesses, prior_max),
            fano_success_at(result, more, reports, guesses, prior_max),
        )
        assert worse > 1 - mp.mpf(error)


def fano_success_at(result: Calibration, truth: float, reports: int, guesses: int, prior_max: float | None):
    """What the information at another theta allows, with no collision counted on."""
    mechanism, n = result.mechanism, result.guarantee.users
    k = mechanism.domain_size
    answers = mechanism.hash_size if isinstance(mechanism, LocalHashing) else k
    epsilon = math.inf if truth >= 1 else math.log1p(answers * truth / (1 - truth))
    single = information_bits(answers, min(n, k, answers), epsilon)
    bits = composed_bits(single, truth, min(answers, k), n, reports)
    start = min(1.0, guesses * (1.0 / n if prior_max is None else prior_max))
    return fano_success(bits, start)


def test_the_exact_promise_of_randomized_response_in_rationals() -> None:
    for users, items, error in [
        (1370637, 10500393, Fraction(9, 10)),
        (1000, 50, Fraction(97, 100)),
        (7, 3, Fraction(3, 5)),
    ]:
        result = calibrate(users=users, domain_size=items, bayes_error=float(error), mechanism="rr")
        truth = Fraction(result.mechanism.theta_numerator, 2**64)
        success = truth * min(1, Fraction(items, users)) + (1 - truth) / users
        assert 1 - success >= error - Fraction(1, 10**15)
        more = truth + Fraction(1, 10**14)
        assert 1 - (more * min(1, Fraction(items, users)) + (1 - more) / users) < error


@steady(60)
@given(st.integers(2, 10**12), st.integers(2, 10**12), st.floats(0.01, 0.99), st.integers(1, 20), st.integers(1, 5))
def test_promise_is_kept_everywhere(users: int, items: int, share: float, reports: int, guesses: int) -> None:
    error = share * (1.0 - min(guesses, users) / users)
    result = calibrate(
        users=users, domain_size=items, bayes_error=error, mechanism="rr", reports=reports, list_size=guesses
    )
    promised = result.guarantee.list_error
    assert promised >= error - 1e-12
    assert result.noise_needed == (result.mechanism.theta < 1.0)


def test_auto_takes_the_smaller_loss() -> None:
    result = calibrate(users=1370637, domain_size=10500393, bayes_error=0.9)
    (other,) = result.alternatives
    assert result.expected_loss.l2_sum <= other.expected_loss.l2_sum
    assert {type(result.mechanism), type(other.mechanism)} == {RandomizedResponse, LocalHashing}


def test_the_paper_asks_for_more_noise() -> None:
    result = calibrate(users=1370637, domain_size=10500393, bayes_error=0.9, mechanism="rr")
    assert result.paper is not None
    assert result.paper.theta < result.mechanism.theta
    assert result.paper.l2_sum > result.expected_loss.l2_sum
    # theta = ((1-b) log n - 1)/log n
    assert result.paper.theta == pytest.approx(0.1 - 1 / math.log2(1370637), rel=1e-9)
    assert calibrate(users=1370637, domain_size=10500393, bayes_error=0.96, mechanism="rr").paper is None


def test_no_noise_needed() -> None:
    result = calibrate(users=10**8, domain_size=5, bayes_error=0.8, mechanism="rr")
    assert not result.noise_needed
    assert result.mechanism.theta == 1.0
    assert result.guarantee.bayes_error == pytest.approx(1 - 5e-8)
    assert round(result.pseudonymisation.bayes_error_paper, 3) == 0.875


@pytest.mark.parametrize(
    "arguments",
    [
        {"users": 10, "domain_size": 10, "bayes_error": 0.95},
        {"users": 10, "domain_size": 10, "bayes_error": 1.5},
        {"users": 10, "domain_size": 1, "bayes_error": 0.5},
        {"users": 0, "domain_size": 10, "bayes_error": 0.5},
        {"users": 10, "domain_size": 10, "bayes_error": 0.5, "mechanism": "other"},
        {"users": 10, "domain_size": 10, "bayes_error": 0.5, "mechanism": "rr", "hash_size": 3},
        {"users": 10, "domain_size": 10, "bayes_error": 0.5, "prior_max": 0.01},
        {"users": 10, "domain_size": 10, "bayes_error": 0.5, "prior_max": 0.9},
        {"users": 10, "domain_size": 10, "bayes_error": 0.5, "list_size": 9},
        {"users": 10, "domain_size": 10, "bayes_error": 0.5, "reports": 0},
        {"users": 1, "domain_size": 10, "bayes_error": 0.5},
    ],
)
def test_what_cannot_be_is_refused_in_words(arguments: dict) -> None:
    with pytest.raises(EntropieError):
        calibrate(**arguments)


@pytest.mark.parametrize("prior_max", [None, 1.0])
def test_a_target_of_no_error_is_always_met(prior_max: float | None) -> None:
    result = calibrate(users=10, domain_size=10, bayes_error=0.0, mechanism="rr", prior_max=prior_max)
    assert result.mechanism.theta == 1.0
