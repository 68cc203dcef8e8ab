"""Capacity of a matrix: channels whose capacity is known, and a certificate that holds for all."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import (
    budget_of,
    information_bits,
    random_channel,
    random_conditional,
    random_law,
    response_matrix,
    steady,
    uniform,
    worst_success,
)

from entropie.errors import InvalidParameter
from entropie.theory import channel, randomized_response


def entropy_bits(p: float) -> float:
    return 0.0 if p in (0.0, 1.0) else -p * math.log2(p) - (1 - p) * math.log2(1 - p)


KNOWN = [
    *[([[1 - p, p], [p, 1 - p]], 1 - entropy_bits(p)) for p in (0.0, 0.01, 0.2, 0.5, 0.9)],  # binary symmetric
    *[([[1 - p, p, 0], [0, p, 1 - p]], 1 - p) for p in (0.0, 0.3, 0.9)],  # binary erasure
    *[([[1, 0], [p, 1 - p]], math.log2(1 + (1 - p) * p ** (p / (1 - p)))) for p in (0.1, 0.5, 0.9)],  # Z
    (np.eye(5), math.log2(5)),
    ([[1.0]], 0.0),
    ([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0.25, 0.25, 0.25, 0.25]], 1.0),  # the third input is useless
]


@pytest.mark.parametrize(("matrix", "bits"), KNOWN)
def test_known_capacities(matrix: list, bits: float) -> None:
    found = channel.capacity(matrix)
    assert found.low_bits <= bits + 1e-12
    assert found.high_bits >= bits - 1e-12
    assert found.high_bits - found.low_bits <= 1.0001e-9
    assert found.inputs.sum() == pytest.approx(1.0)
    assert information_bits(found.inputs, np.asarray(matrix, float)) == pytest.approx(found.low_bits, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("items", [2, 3, 20])
def test_randomized_response_as_a_matrix(items: int, epsilon: float) -> None:
    Q = response_matrix(items, epsilon)
    exact = randomized_response.alpha_bits(10**6, items, epsilon)
    found = channel.capacity(Q)
    assert found.low_bits == pytest.approx(exact, rel=1e-9, abs=1e-13)
    assert found.high_bits == pytest.approx(exact, rel=1e-9, abs=1e-13)
    assert channel.success(Q, 1000) == pytest.approx(randomized_response.success(1000, items, epsilon), rel=1e-13)
    theta = (math.exp(epsilon) - 1) / (items + math.exp(epsilon) - 1)
    assert channel.doeblin_theta(Q) == pytest.approx(theta, rel=1e-12)
    assert channel.epsilon(Q) == pytest.approx(epsilon, rel=1e-12)


@steady(60)
@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(2, 6), st.floats(0.1, 4.0))
def test_certificate_and_inherited_bounds(seed: int, items: int, outputs: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    Q = random_channel(rng, items, outputs, spread)
    found = channel.capacity(Q, tolerance_bits=1e-6, max_rounds=3000)
    assert found.low_bits <= found.high_bits + 1e-15
    for users in (1, 2, 6):
        prior, laws = random_law(rng, users), random_conditional(rng, users, items) @ Q
        bits = information_bits(prior, laws)
        assert bits <= found.high_bits + 1e-13
        assert bits <= channel.doeblin_theta(Q) * math.log2(min(users, items)) + 1e-13
    assert channel.epsilon(Q) == pytest.approx(budget_of(Q), rel=1e-12)
    assert channel.success(Q, items) == pytest.approx(Q.max(axis=0).sum() / items, rel=1e-13)


def test_success_is_the_worst_over_all_assignments() -> None:
    Q = random_channel(np.random.default_rng(1), 3, 4, 2.0)
    for users in (3, 4, 5):
        assert channel.success(Q, users) == pytest.approx(worst_success(Q, uniform(users)), rel=1e-13)


def test_few_rounds_still_certify() -> None:
    Q = random_channel(np.random.default_rng(2), 4, 5, 3.0)
    rough, fine = channel.capacity(Q, max_rounds=2), channel.capacity(Q)
    assert rough.low_bits <= fine.low_bits <= fine.high_bits <= rough.high_bits


def test_answers_that_never_come_and_answers_that_tell_all() -> None:
    assert channel.epsilon([[1.0, 0.0], [0.5, 0.5]]) == math.inf
    assert channel.epsilon([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]) == 0.0
    assert channel.doeblin_theta([[0.3, 0.7], [0.3, 0.7]]) == 0.0
    assert channel.doeblin_theta(np.eye(3)) == 1.0
    assert channel.capacity([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]).high_bits == 0.0


@pytest.mark.parametrize(
    "matrix", [[], [0.5, 0.5], [[0.5, 0.6]], [[1.5, -0.5]], [[math.nan, 1.0]], np.zeros((0, 3)), np.ones((2, 2, 2))]
)
def test_a_matrix_must_have_rows_of_probabilities(matrix: list) -> None:
    for call in (channel.capacity, channel.doeblin_theta, channel.epsilon, lambda m: channel.success(m, 5)):
        with pytest.raises(InvalidParameter, match="matrix"):
            call(matrix)


def test_fewer_users_than_rows_have_no_exact_success() -> None:
    with pytest.raises(InvalidParameter, match="users"):
        channel.success(np.eye(3), 2)
