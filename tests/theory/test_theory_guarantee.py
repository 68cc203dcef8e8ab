"""One value that holds every promise: consistent with the parts, sane over the whole range, honest on small cases."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import (
    assignments,
    hashed_matrix,
    information_bits,
    linear_tables,
    random_conditional,
    random_law,
    response_matrix,
    steady,
    success,
    worst_success,
)

from entropie.errors import InvalidParameter
from entropie.theory import local_hashing, paper, randomized_response, worst_case
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import ChannelParameters, certified_alpha_bits, certified_success, error_of, guarantee

RR = ChannelParameters("rr", 4, 1.3)
GLH = ChannelParameters("glh", 4, 1.3, 3, 5, 0.2)


def test_collision_probability_of_the_example() -> None:
    tables = linear_tables(5, 3, 4)
    assert (tables[:, 0] == tables[:, 1]).mean() == pytest.approx(GLH.collision_probability)


@pytest.mark.parametrize("channel", [RR, GLH])
def test_one_report_is_what_the_parts_say(channel: ChannelParameters) -> None:
    found = guarantee(channel, Crowd(100))
    k, g, epsilon = channel.domain_size, channel.hash_size, channel.epsilon
    assert found.alpha_bits_paper == paper.alpha_bits(100, k, epsilon, g)
    assert found.bayes_error_paper == paper.bayes_error(found.alpha_bits_paper, 100)
    if g is None:
        assert found.alpha_bits == randomized_response.alpha_bits(100, k, epsilon)
        assert found.bayes_error == pytest.approx(1 - randomized_response.success(100, k, epsilon), abs=1e-15)
        assert found.max_leakage_bits == worst_case.max_leakage_bits(100, k, epsilon)
        assert found.alpha_bits_ideal_hash is None
    else:
        assert found.alpha_bits == local_hashing.alpha_bits(100, k, g, epsilon, 0.2)
        assert found.alpha_bits_ideal_hash == local_hashing.alpha_bits_ideal(100, k, g, epsilon)
        assert found.bayes_error_ideal_hash == 1 - local_hashing.success_ideal(100, k, g, epsilon)
        assert found.max_leakage_bits == worst_case.max_leakage_bits_hash(100, k, g, epsilon)


@pytest.mark.parametrize("channel", [RR, GLH])
def test_lists_and_several_reports_reach_every_field(channel: ChannelParameters) -> None:
    users, t, guesses, prior_max = 100, 3, 4, 0.02
    found, single = (
        guarantee(channel, Crowd(users, t, guesses, prior_max)),
        guarantee(channel, Crowd(users, 1, 1, prior_max)),
    )
    assert (found.users, found.reports_per_user, found.list_size, found.prior_max) == (users, t, guesses, prior_max)
    assert found.bayes_error == error_of(certified_success(channel, Crowd(users, t, 1, prior_max)))
    assert (
        found.list_error
        == error_of(certified_success(channel, Crowd(users, t, guesses, prior_max)))
        < found.bayes_error
    )
    for name in ("alpha_bits_paper", "alpha_bits_ldp", "alpha_bits_ldp_tight", "per_user_bits"):
        assert getattr(found, name) == pytest.approx(t * getattr(single, name)), name
    assert found.alpha_bits == certified_alpha_bits(channel, Crowd(users, t)) > single.alpha_bits
    assert found.contraction == single.contraction
    w = math.exp(t * channel.epsilon)
    assert found.posterior_max == pytest.approx(w * prior_max / (w * prior_max + 1 - prior_max))


@pytest.mark.parametrize("users", [1, 2, 3, 5])
@pytest.mark.parametrize("guesses", [1, 2])
def test_no_attacker_exceeds_what_is_certified(users: int, guesses: int) -> None:
    rng = np.random.default_rng(users)
    for channel, Q in ((RR, response_matrix(4, 1.3)), (GLH, hashed_matrix(linear_tables(5, 3, 4), 3, 1.3))):
        uniform_prior = np.full(users, 1 / users)
        assert worst_success(Q, uniform_prior, guesses) <= certified_success(channel, Crowd(users, 1, guesses)) * (
            1 + 1e-9
        )
        for _ in range(4):
            prior = random_law(rng, users)
            certified = certified_success(channel, Crowd(users, 1, guesses, float(prior.max())))
            assert worst_success(Q, prior, guesses) <= certified * (1 + 1e-9)


def test_bound_by_information_helps_where_buckets_are_shared() -> None:
    """Many users to a bucket: Fano with the certified information may promise more than counting buckets."""
    channel = ChannelParameters("glh", 10**6, 3.0, 10**6, None, 0.9)
    direct = local_hashing.success(2, 10**6, 10**6, 3.0)
    assert certified_success(channel, Crowd(2)) <= direct


@steady(150)
@given(
    st.integers(1, 10**12),
    st.integers(2, 10**18),
    st.one_of(st.just(0.0), st.floats(1e-6, 700.0), st.just(math.inf)),
    st.one_of(st.none(), st.integers(2, 10**18)),
    st.integers(1, 1000),
    st.integers(1, 10**6),
    st.floats(0.0, 1.0),
)
def test_sane_over_the_whole_range(
    users: int, items: int, epsilon: float, g: int | None, reports: int, guesses: int, share: float
) -> None:
    c = None if g is None else share / g
    found = guarantee(ChannelParameters("x", items, epsilon, g, None, c), Crowd(users, reports, guesses))
    cap = math.log2(users)
    for name in ("alpha_bits", "max_leakage_bits"):
        assert 0.0 <= getattr(found, name) <= cap + 1e-12, name
    for name in ("bayes_error", "bayes_error_paper", "bayes_error_fano", "list_error", "contraction", "posterior_max"):
        assert 0.0 <= getattr(found, name) <= 1.0, name
    assert found.alpha_bits <= found.max_leakage_bits * (1 + 1e-9) + 1e-12
    assert found.alpha_bits <= found.alpha_bits_ldp_tight * (1 + 1e-12)
    assert found.alpha_bits_ldp_tight <= found.alpha_bits_ldp * (1 + 1e-12)
    assert found.alpha_bits <= found.alpha_bits_paper * (1 + 1e-12)
    assert found.per_user_bits >= 0.0
    assert found.bayes_error <= 1 - 1 / users + 1e-12
    assert found.list_error <= found.bayes_error + 1e-15
    assert found.bayes_error >= found.bayes_error_fano - 3e-12
    assert found.bayes_error >= found.bayes_error_paper - 1e-12
    if g is not None:
        assert found.alpha_bits_ideal_hash is not None
        assert found.bayes_error_ideal_hash is not None
        assert 0.0 <= found.alpha_bits_ideal_hash <= cap + 1e-12
        assert 0.0 <= found.bayes_error_ideal_hash <= 1.0
    json.dumps(found.to_json(), allow_nan=False)


@steady(60)
@given(st.integers(0, 2**32), st.integers(1, 5), st.floats(0.0, 5.0))
def test_every_promise_about_random_users(seed: int, users: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    prior, laws = random_law(rng, users), random_conditional(rng, users, 3) @ response_matrix(3, epsilon)
    found = guarantee(ChannelParameters("rr", 3, epsilon), Crowd(users, prior_max=float(prior.max())))
    assert information_bits(prior, laws) <= found.alpha_bits + 1e-13
    right = success(prior, laws)
    for name in ("bayes_error", "bayes_error_paper", "bayes_error_fano"):
        assert 1 - right >= getattr(found, name) - 1e-7, name
    assert (prior[:, None] * laws / (prior @ laws)).max() <= found.posterior_max * (1 + 1e-9)


def test_prior_tightens_the_worst_case_only_downwards() -> None:
    plain, skewed = guarantee(RR, Crowd(100)), guarantee(RR, Crowd(100, prior_max=0.2))
    assert skewed.bayes_error < plain.bayes_error
    assert skewed.bayes_error_paper <= plain.bayes_error_paper
    assert skewed.alpha_bits == plain.alpha_bits


def test_theta_follows_from_epsilon_unless_told() -> None:
    w = math.exp(1.3)
    assert RR.theta == pytest.approx((w - 1) / (4 + w - 1))
    assert GLH.theta == pytest.approx((w - 1) / (3 + w - 1))
    assert ChannelParameters("mixed", 4, 1.3, theta=0.1).theta == 0.1
    assert (RR.answers, GLH.answers) == (4, 3)


def test_json_has_the_documented_keys_and_no_infinity() -> None:
    plain = guarantee(ChannelParameters("rr", 10, math.inf), Crowd(100)).to_json()
    assert plain["per_user_bits"] is None
    assert plain["mechanism"]["epsilon"] is None
    documented = {
        "mechanism", "users", "reports_per_user", "alpha_bits", "alpha_bits_paper", "alpha_bits_ldp", "bayes_error",
        "bayes_error_paper", "bayes_error_fano", "list_error", "max_leakage_bits", "per_user_bits", "contraction",
        "posterior_max", "all_reports",
    }  # fmt: skip
    assert documented <= set(plain)
    assert set(plain["mechanism"]) == {
        "kind", "domain_size", "hash_size", "prime", "collision_probability", "epsilon", "theta",
    }  # fmt: skip
    hashed = guarantee(GLH, Crowd(100)).to_json()
    assert documented | {"alpha_bits_ideal_hash", "bayes_error_ideal_hash"} <= set(hashed)
    assert "alpha_bits_ideal_hash" not in plain


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"users": 0}, "users"),
        ({"users": 1.5}, "users"),
        ({"users": 10, "reports": 0}, "reports"),
        ({"users": 10, "list_size": 0}, "list"),
        ({"users": 10, "prior_max": 0.05}, "prior_max"),
        ({"users": 10, "prior_max": math.nan}, "prior_max"),
    ],
)
def test_bad_numbers_are_named(arguments: dict, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        Crowd(**arguments)


def test_assignments_cover_everything() -> None:
    """The oracle itself: all k^n of them, none twice."""
    assert len({tuple(f) for f in assignments(3, 4)}) == 64
