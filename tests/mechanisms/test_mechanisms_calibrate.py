"""Calibration: the most truth that keeps the promise, by closed forms worked out by hand."""

from __future__ import annotations

import functools
import json
import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.errors import InvalidParameter, Unreachable
from entropie.mechanisms.calibrate import Calibration
from entropie.mechanisms.calibrate import calibrate as calibrate_for
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.parameters import from_document, parameters_id
from entropie.mechanisms.randomized_response import RandomizedResponse

calibrate = functools.partial(calibrate_for, certainty=1.0, scope="alone")


def theta_by_hand(users: int, answers: int, bayes_error: float) -> float:
    """V = (theta b + 1 - theta)/n = 1 - beta solved for theta, with b = min(n, k) or min(n, k, g)."""
    b = min(users, answers)
    return min(1.0, ((1.0 - bayes_error) * users - 1.0) / (b - 1))


def next_theta(result: Calibration) -> Fraction:
    return Fraction(result.mechanism.theta_numerator + 1, 2**64)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.integers(2, 10**9), st.integers(2, 10**9), st.integers(2, 10**9), st.floats(0.0, 0.999))
def test_the_largest_theta_that_keeps_the_promise(users: int, domain_size: int, hash_size: int, share: float) -> None:
    wanted = share * (1.0 - 1.0 / users)  # guessing alone errs with 1 - 1/n
    response = calibrate(users=users, domain_size=domain_size, bayes_error=wanted, mechanism="rr")
    assert response.mechanism.theta == pytest.approx(theta_by_hand(users, domain_size, wanted), rel=1e-9, abs=1e-15)
    hashing = calibrate(users=users, domain_size=domain_size, bayes_error=wanted, mechanism="glh", hash_size=hash_size)
    by_hand = theta_by_hand(users, min(domain_size, hash_size), wanted)
    assert hashing.mechanism.theta >= by_hand * (1 - 1e-9) - 1e-15  # collisions may allow more
    assert hashing.mechanism.theta == 1.0 or not hashing.goal.met(hashing.mechanism.with_theta(next_theta(hashing)))
    for result, kind in ((response, RandomizedResponse), (hashing, LocalHashing)):
        assert isinstance(result.mechanism, kind)
        assert result.guarantee.bayes_error >= wanted - 1e-12
    assert response.noise_needed == (response.mechanism.theta_numerator < 2**64)


def test_the_papers_setting() -> None:
    """n = 1370637, k = 10500393: a value computed apart, theta .0309 for an error of .9691."""
    users, domain_size = 1_370_637, 10_500_393
    result = calibrate(users=users, domain_size=domain_size, bayes_error=0.9691, mechanism="rr")
    assert result.mechanism.theta == pytest.approx(0.0309, abs=5e-5)
    assert result.mechanism.epsilon == pytest.approx(12.72, abs=0.01)
    assert result.guarantee.bayes_error >= 0.9691 - 1e-12
    log_n = math.log2(users)
    assert 1 - 1 / log_n < 0.9691
    assert result.paper is None  # the printed bound promises no more than 1 - 1/log n, even for pure noise
    looser = calibrate(users=users, domain_size=domain_size, bayes_error=0.9, mechanism="rr")
    assert looser.paper is not None
    assert looser.paper.theta == pytest.approx((0.1 * log_n - 1) / log_n, rel=1e-9)
    assert looser.paper.theta < looser.mechanism.theta
    assert looser.paper.loss > looser.expected_loss.loss


def test_pseudonymisation_alone_may_be_enough() -> None:
    result = calibrate(users=10**8, domain_size=5, bayes_error=0.875)
    assert not result.noise_needed
    assert result.mechanism.theta == 1.0
    assert result.pseudonymisation.bayes_error == pytest.approx(1 - 5e-8, rel=1e-12)  # one of five values, 1e8 people
    assert result.pseudonymisation.alpha_bits == pytest.approx(math.log2(5), rel=1e-12)
    assert calibrate(users=100, domain_size=50, bayes_error=0.6).noise_needed


@pytest.mark.parametrize(
    ("users", "domain_size", "bayes_error"),
    [(1_000, 100, 0.9), (10**6, 10**5, 0.9), (1_000, 200, 0.8), (10**4, 100, 0.99)],
)
def test_no_noise_where_pseudonyms_give_exactly_what_is_wanted(
    users: int, domain_size: int, bayes_error: float
) -> None:
    result = calibrate(users=users, domain_size=domain_size, bayes_error=bayes_error)
    assert not result.noise_needed
    assert result.guarantee.bayes_error >= bayes_error


def test_auto_takes_the_smallest_loss_and_names_the_others() -> None:
    """Of those within 1 % of the least loss the smallest report."""
    for users, domain_size, wanted in ((1_370_637, 10_500_393, 0.9), (1000, 20, 0.99), (10**6, 1000, 0.9999)):
        result = calibrate(users=users, domain_size=domain_size, bayes_error=wanted)
        assert len(result.alternatives) == (3 if domain_size > 65536 else 4)
        for alternative in result.alternatives:
            other, loss = alternative.mechanism, alternative.expected_loss
            assert alternative.guarantee.list_error >= wanted
            assert type(other) is not type(result.mechanism)
            assert result.expected_loss.loss <= loss.loss * 1.01
            assert loss.loss > result.expected_loss.loss or other.report_bits >= result.mechanism.report_bits
            assert loss.l2_sum == other.rates.l2_sum(domain_size, users)


@pytest.mark.parametrize("mechanism", ["rr", "glh"])
@pytest.mark.parametrize(
    "kind", [{"list_size": 5}, {"reports": 3}, {"prior_max": 0.02}, {"reports": 2, "list_size": 3}]
)
def test_lists_several_reports_and_priors(mechanism: Any, kind: dict[str, Any]) -> None:
    """The promise is kept, for the whole list if there is one; more guesses, reports or prior never allow more."""
    plain = calibrate(users=1000, domain_size=200, bayes_error=0.9, mechanism=mechanism)
    result = calibrate(users=1000, domain_size=200, bayes_error=0.9, mechanism=mechanism, **kind)
    assert result.guarantee.list_error >= 0.9 - 1e-12
    assert 0.0 < result.mechanism.theta <= plain.mechanism.theta
    more = type(result.mechanism).from_theta(
        **{"domain_size": 200, "theta": min(1.0, 1.01 * result.mechanism.theta)}
        | ({"hash_size": result.mechanism.hash_size} if isinstance(result.mechanism, LocalHashing) else {})
    )
    # one per cent more truth breaks it, where some is left: few hash values need no lies
    assert result.mechanism.theta == 1.0 or more.guarantee(users=1000, **kind).list_error < 0.9


def upper_tail(count: int, trials: int, probability: float) -> float:
    """Pr(Bin(trials, probability) >= count), every term added."""
    with mpmath.workdps(30):
        p = mpmath.mpf(probability)
        terms = (mpmath.binomial(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(count))
        return float(1 - mpmath.fsum(terms))


def test_expected_loss_is_the_variance_of_the_estimates() -> None:
    result = calibrate(users=10_000, domain_size=100, bayes_error=0.995, mechanism="rr")
    theta, k, n = result.mechanism.theta, 100, 10_000
    assert theta == pytest.approx(49 / 99, rel=1e-9)
    mu, nu = theta + (1 - theta) / k, (1 - theta) / k
    loss = result.expected_loss
    assert loss.rare_item_sd == pytest.approx(math.sqrt(nu * (1 - nu) / n) / theta, rel=1e-9)
    assert loss.l2_sum == pytest.approx((mu * (1 - mu) + (k - 1) * nu * (1 - nu)) / n / theta**2, rel=1e-9)
    variance = (0.01 * mu * (1 - mu) + 0.99 * nu * (1 - nu)) / n / theta**2
    assert loss.share_1pct_sd == pytest.approx(math.sqrt(variance), rel=1e-9)
    count = round((loss.detectable_share * theta + nu) * n)
    assert loss.detectable_share == pytest.approx((count / n - nu) / theta, rel=1e-9)
    assert upper_tail(count, n, nu) <= 0.05 / k < upper_tail(count - 1, n, nu)


def test_json_is_plain() -> None:
    result = calibrate_for(users=1000, domain_size=200, bayes_error=0.9)
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert document["bayes_error_wanted"] == 0.9
    assert document["noise_needed"] is True
    assert document["expected_loss"]["l2_sum"] == result.expected_loss.l2_sum
    assert document["guarantee"]["bayes_error"] == result.guarantee.bayes_error
    assert document["pseudonymisation"]["bayes_error"] == result.pseudonymisation.bayes_error
    assert from_document(json.dumps(document["parameters"])) == result.mechanism
    assert document["parameters_id"] == parameters_id(result.mechanism)
    kinds = [
        document["parameters"]["kind"],
        *(one["guarantee"]["mechanism"]["kind"] for one in document["alternatives"]),
    ]
    assert sorted(kinds) == ["glh", "hadamard", "rr", "subset", "unary"]
    edge = calibrate_for(users=1000, domain_size=200, bayes_error=0.999)
    json.dumps(edge.to_json(), allow_nan=False)  # pure noise has an infinite loss, JSON has no infinity


NAN = math.nan


@pytest.mark.parametrize(
    "wrong",
    [
        {"users": 0}, {"users": 2.5}, {"users": NAN}, {"domain_size": 1}, {"domain_size": None},
        {"bayes_error": NAN}, {"bayes_error": -0.1}, {"bayes_error": 1.1}, {"bayes_error": "x"}, {"bayes_error": None},
        {"mechanism": "olh"}, {"mechanism": None}, {"mechanism": "rr", "hash_size": 16}, {"hash_size": 1},
        {"hash_size": 2.5}, {"reports": 0}, {"reports": NAN}, {"list_size": 0}, {"prior_max": NAN},
        {"prior_max": 1e-9}, {"prior_max": 2}, {"prior_max": "x"}, {"reports": 2, "prior_max": NAN},
        {"reports": 2, "prior_max": -1},
    ],
    ids=repr,
)  # fmt: skip
def test_arguments(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match=r"^Parameter `.*\.$"):
        calibrate(**{"users": 1000, "domain_size": 200, "bayes_error": 0.9, **wrong})


@pytest.mark.parametrize("wrong", [{"bayes_error": 1.0}, {"users": 1}, {"list_size": 200}, {"prior_max": 0.2}])
@pytest.mark.parametrize("mechanism", ["rr", "glh", "auto"])
def test_out_of_reach(wrong: dict[str, Any], mechanism: Any) -> None:
    """Guessing alone does better than was asked for."""
    with pytest.raises(Unreachable, match=r"\.$"):
        calibrate(**{"users": 1000, "domain_size": 200, "bayes_error": 0.9, "mechanism": mechanism, **wrong})


@pytest.mark.parametrize("mechanism", ["rr", "glh", "auto"])
def test_the_very_edge_leaves_pure_noise_or_says_so(mechanism: Any) -> None:
    """An error of exactly 1 - 1/n is that of guessing: theta is 0 up to rounding, and nothing divides by it."""
    result = calibrate(users=1000, domain_size=200, bayes_error=0.999, mechanism=mechanism)
    assert result.mechanism.theta < 1e-12


def test_a_result_prints_in_a_few_lines():
    found = calibrate(users=1_000, domain_size=100, bayes_error=0.9)
    lines = repr(found).splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) <= 100
    assert lines[1:4] == repr(found.guarantee).splitlines()
    assert "100 items, 1,000 people" in lines[1]
