"""From a wanted error back to the setting: it keeps the promise, and a little more truth would break it."""

from __future__ import annotations

import functools
import math
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import repetition_code, steady
from theory_precise import composed_bits, composed_success, fano_success, information_bits, mp

from entropie.errors import EntropieError, InvalidParameter, Unreachable
from entropie.mechanisms.calibrate import Calibration
from entropie.mechanisms.calibrate import calibrate as calibrate_for
from entropie.mechanisms.families import Hashing
from entropie.mechanisms.goal import Goal
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.theory import everybody
from entropie.theory.calibration import largest_theta
from entropie.theory.crowd import Crowd

calibrate = functools.partial(calibrate_for, certainty=1.0, scope="alone")
"""One person's reports leaked alone, on average: the paper's question."""

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
        found = composed_success(truth, min(answers, k), n, reports, guesses, prior_max)
        if guesses == 1 and prior_max is None:  # of more people than answers, some who are told to the attacker
            epsilon = float(mp.log(1 + answers * truth / (1 - truth)))
            found = min(found, mp.mpf(repetition_code(min(n, answers), answers, epsilon, reports)[1]))
        return found
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
    (10**6, 1000, 0.9, "rr", None, 20, 1, None),
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
    assert min(direct, by_fano) <= 1 - mp.mpf(error) + mp.mpf(10) ** -12
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


def next_of(mechanism: RandomizedResponse | LocalHashing) -> RandomizedResponse | LocalHashing:
    """With the next probability of the truth that a device can draw."""
    return mechanism.with_theta(Fraction(mechanism.theta_numerator + 1, 2**64))


@steady(80)
@given(
    st.integers(2, 10**9),
    st.integers(2, 10**9),
    st.floats(0.01, 0.99),
    st.floats(0.01, 1.0),
    st.integers(1, 4),
    st.integers(1, 5),
    st.sampled_from(["all", "alone"]),
    st.sampled_from(["rr", "glh"]),
)
def test_the_next_setting_breaks_a_limit(
    users: int, items: int, share: float, room: float, t: int, guesses: int, scope: str, kind: str
) -> None:
    """Not one in 2^64 more truth keeps every limit, and none is broken as printed."""
    error = share * (1.0 - min(guesses, users) / users)
    certainty = 1 / users + room * (1 - 1 / users)
    g = None if kind == "rr" else 2 + items % 1000
    result = calibrate_for(
        users=users, domain_size=items, bayes_error=error, certainty=certainty, scope=scope, mechanism=kind,
        hash_size=g, reports=t, list_size=guesses,
    )  # fmt: skip

    def kept(mechanism: RandomizedResponse | LocalHashing) -> bool:
        found = mechanism.guarantee(users=users, reports=t, list_size=guesses)
        about = found.all_reports if scope == "all" else found
        return about.list_error >= error and about.posterior_max <= certainty

    assert kept(result.mechanism)
    if result.mechanism.theta_numerator < 2**64:
        assert not result.goal.met(next_of(result.mechanism))


@pytest.mark.parametrize("scope", ["all", "alone"])
@pytest.mark.parametrize(("users", "items", "error"), [(1000, 5000, 0.9), (1370637, 10500393, 0.92), (7, 3, 0.6)])
def test_one_report_is_inverted_without_rounding(users: int, items: int, error: float, scope: str) -> None:
    """In rationals: theta m/n + (1 - theta)/n alone, (1 - theta^n)/n for the second term with all reports."""
    result = calibrate(users=users, domain_size=items, bayes_error=error, mechanism="rr", scope=scope)

    def error_at(numerator: int):
        with mp.workdps(80):
            theta = mp.mpf(numerator) / 2**64
            noise = 1 - theta if scope == "alone" else 1 - theta**users
            return 1 - theta * min(users, items) / mp.mpf(users) - noise / users

    found = result.mechanism.theta_numerator
    assert error_at(found) >= mp.mpf(str(error)) > error_at(found + 1)


def test_the_certainty_that_is_asked_for() -> None:
    """All reports leak: w^2/(w^2 + n - 1); one report alone: w/(w + n - 1)."""
    for scope, power in (("all", 2), ("alone", 1)):
        found = calibrate_for(users=10**6, domain_size=1000, bayes_error=0.5, mechanism="rr", scope=scope)
        w = math.exp(found.mechanism.epsilon) ** power
        assert w / (w + 10**6 - 1) == pytest.approx(0.5, abs=1e-12)
        assert found.decided_by == "certainty"
    with pytest.raises(Unreachable, match=r"without any report it is 0\.1 already"):
        calibrate_for(users=10, domain_size=10, bayes_error=0.5, certainty=0.05)


def test_settings_of_the_issue() -> None:
    """n = 1370637, k = 10500393, error 92 %: values computed apart, to their printed digits."""
    people = {"users": 1370637, "domain_size": 10500393, "bayes_error": 0.92}
    careful = calibrate_for(**people, scope="alone")
    assert isinstance(careful.mechanism, LocalHashing)
    assert 0.8e5 < careful.mechanism.hash_size < 1.6e5
    assert careful.expected_loss.l2_sum == pytest.approx(7.5e-5, rel=0.02)
    response = next(other for other in careful.alternatives if isinstance(other.mechanism, RandomizedResponse))
    assert response.expected_loss.l2_sum == pytest.approx(1.13e-4, rel=0.01)
    paper = calibrate(**people)
    assert paper.mechanism.hash_size >= 10**9  # larger g is better, at fixed theta
    assert paper.guarantee.posterior_max > 0.998
    assert paper.decided_by == "error"
    costs = careful.limit_costs
    assert costs.certainty == pytest.approx(careful.expected_loss.l2_sum / paper.expected_loss.l2_sum, rel=0.02)
    assert [row.certainty for row in careful.trade_off] == [0.1, 0.5, 0.9, 0.99, 1.0]
    losses = [row.loss for row in careful.trade_off]
    assert losses == sorted(losses, reverse=True)


def test_several_reports_are_inverted_exactly() -> None:
    """The bound by the number of true reports alone would allow a theta that is much smaller."""
    found = calibrate(users=1370637, domain_size=10500393, bayes_error=0.5, mechanism="rr", reports=50)
    by_bound = 1 - (0.5 / (1 - 1 / 1370637)) ** (1 / 50)
    assert found.mechanism.theta > 1.7 * by_bound
    assert found.guarantee.bayes_error >= 0.5


def test_a_goal_that_only_information_reaches() -> None:
    """Few hash values: the oracle of all reports allows less truth than the information in one of them does."""
    goal = Goal(Crowd(10**6), 10**6, 0.5, certainty=1.0)
    found = goal.largest(Hashing(10**6, 16))
    assert found.theta > 0.9
    assert everybody.success(goal.crowd, 10**6, found.truth) > 0.5
    assert found.guarantee(users=10**6).all_reports.bayes_error >= 0.5


def test_less_than_two_seconds() -> None:
    begun = time.process_time()
    for more in ({}, {"reports": 100, "scope": "alone"}, {"certainty": 1.0, "list_size": 10}):
        calibrate_for(users=1370637, domain_size=10500393, bayes_error=0.92, **more).to_json()
    assert time.process_time() - begun < 6.0


def test_auto_takes_the_smaller_loss() -> None:
    result = calibrate(users=1370637, domain_size=10500393, bayes_error=0.9)
    kinds = [result.mechanism.kind, *(other.mechanism.kind for other in result.alternatives)]
    assert sorted(kinds) == ["glh", "hadamard", "rr", "subset"]  # unary encoding has too many bits
    for other in result.alternatives:
        assert result.expected_loss.loss <= other.expected_loss.loss * 1.01


def test_the_paper_asks_for_more_noise() -> None:
    result = calibrate(users=1370637, domain_size=10500393, bayes_error=0.9, mechanism="rr")
    assert result.paper is not None
    assert result.paper.theta < result.mechanism.theta
    assert result.paper.loss > result.expected_loss.loss
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
