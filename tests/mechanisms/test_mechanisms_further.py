"""Hadamard response and erasure: their whole law as a matrix, and every guarantee against it."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from entropie.errors import InvalidParameter
from entropie.mechanisms.erasure import Erasure
from entropie.mechanisms.hadamard import HadamardResponse, walsh_hadamard
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mechanisms.registry import make_mechanism
from entropie.theory import channel

HADAMARD = HadamardResponse(domain_size=5, epsilon=1.2)
ERASURE = Erasure.from_theta(domain_size=4, theta=0.3)


def hadamard_matrix(k: int, epsilon: float) -> np.ndarray:
    """w for answers whose row of Sylvester's matrix has +1, 1 for the others."""
    H = np.ones((1, 1))
    while len(H) <= k:
        H = np.block([[H, H], [H, -H]])
    Q = np.where(H[1 : k + 1] > 0, math.exp(epsilon), 1.0)
    return Q / Q.sum(axis=1, keepdims=True)


def erasure_matrix(k: int, theta: float) -> np.ndarray:
    return np.hstack([theta * np.eye(k), np.full((k, 1), 1 - theta)])


CASES = [(HADAMARD, hadamard_matrix(5, 1.2)), (ERASURE, erasure_matrix(4, 0.3))]


@pytest.mark.parametrize(("mechanism", "Q"), CASES, ids=["hadamard", "erasure"])
def test_reports_follow_the_matrix(mechanism, Q: np.ndarray) -> None:
    """Every answer of every item, within five deviations; a theta a tenth larger would be noticed."""
    draws, rng = 40_000, np.random.default_rng(3)
    for item, law in enumerate(Q):
        seen = Counter(mechanism.simulate(np.full(draws, item), rng).tolist())
        for answer, p in enumerate(law):
            assert abs(seen[answer] - draws * p) <= 5 * math.sqrt(draws * p * (1 - p)) + 1e-9
    assert mechanism.epsilon == pytest.approx(channel.epsilon(Q), rel=1e-12)
    assert channel.doeblin_theta(Q) <= mechanism.theta + 1e-12


@pytest.mark.parametrize("users", [1, 2, 3, 4, 9])
@pytest.mark.parametrize(("mechanism", "Q"), CASES, ids=["hadamard", "erasure"])
def test_no_data_break_the_guarantee(mechanism, Q: np.ndarray, users: int) -> None:
    """Every set of rows that people can have: success, information, contraction and certainty."""
    found = mechanism.guarantee(users=users)
    rows = [
        list(some) for size in range(1, min(users, len(Q)) + 1) for some in itertools.combinations(range(len(Q)), size)
    ]
    right = max(Q[some].max(axis=0).sum() for some in rows) / users
    assert 1 - right >= found.bayes_error - 1e-12
    assert max(channel.capacity(Q[some], 1e-4).low_bits for some in rows) <= found.alpha_bits + 1e-9
    assert channel.contraction(Q).low <= found.contraction + 1e-12
    worst = max(
        np.where(a > 0, a * np.log2(np.where(a > 0, a, 1) / np.where(b > 0, b, 1)), 0.0).sum()
        for a, b in itertools.permutations(Q, 2)
    )
    assert worst <= found.per_user_bits
    if users >= len(Q) and mechanism is ERASURE:
        assert 1 - right == pytest.approx(found.bayes_error, abs=1e-12)
        assert found.alpha_bits == pytest.approx(0.3 * 2, rel=1e-9)
        assert found.posterior_max == 1.0


def test_two_reports_stay_within_the_bounds() -> None:
    for mechanism, Q in CASES:
        pairs = np.kron(Q, Q)
        for users in (2, 3):
            found = mechanism.guarantee(users=users, reports=2)
            codes = np.random.default_rng(users).integers(0, len(pairs), (200, users))
            assert max(pairs[code].max(axis=0).sum() / users for code in codes) <= 1 - found.bayes_error + 1e-12


def test_transform_is_the_definition() -> None:
    values = np.random.default_rng(0).integers(0, 9, 16)
    for x in range(16):
        signs = np.array([(-1) ** bin(x & y).count("1") for y in range(16)])
        assert walsh_hadamard(values)[x] == signs @ values


def test_limits_are_named() -> None:
    with pytest.raises(InvalidParameter, match="at most 268435455"):
        HadamardResponse(domain_size=1 << 28, epsilon=1.0)
    with pytest.raises(InvalidParameter, match="absent for erasure"):
        make_mechanism("erasure", domain_size=5, epsilon=1.0)
    assert Erasure.from_theta(domain_size=5, theta=0.0).epsilon == 0.0


def test_figures_of_the_document() -> None:
    """docs/choosing.md: the squared errors at epsilon 1 and 1,000 items."""
    kinds = (HadamardResponse, RandomizedResponse, LocalHashing)
    hadamard, response, hashing = (kind(domain_size=1000, epsilon=1.0).rates.l2_sum(1000, 10**6) for kind in kinds)
    assert round(hadamard / hashing, 1) == 1.3
    assert round(response / hashing) == 92
