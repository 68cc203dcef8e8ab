"""Capacity of a matrix: channels whose capacity is known, and a certificate that holds for all."""

from __future__ import annotations

import itertools
import json
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import (
    budget_of,
    capacities,
    divergences_bits,
    information_bits,
    normalised,
    random_channel,
    random_conditional,
    random_law,
    response_matrix,
    sibson_bits,
    steady,
    uniform,
    worst_success,
)

from entropie.errors import InvalidParameter
from entropie.theory import channel, randomized_response, worst_case
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import ChannelParameters, guarantee
from entropie.theory.matrix import matrix_guarantee


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
    assert channel.success(Q, 1000).high == pytest.approx(randomized_response.success(1000, items, epsilon), rel=1e-13)
    theta = (math.exp(epsilon) - 1) / (items + math.exp(epsilon) - 1)
    assert channel.doeblin_theta(Q) == pytest.approx(theta, rel=1e-12)
    assert channel.epsilon(Q) == pytest.approx(epsilon, rel=1e-12)


@steady(60)
@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(2, 6), st.floats(0.1, 4.0))
def test_certificate_and_inherited_bounds(seed: int, items: int, outputs: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    Q = random_channel(rng, items, outputs, spread)
    found = channel.capacity(Q, tolerance_bits=1e-6)
    assert found.gap_bits <= 1e-6
    assert found.low_bits <= found.high_bits + 1e-15
    for users in (1, 2, 6):
        prior, laws = random_law(rng, users), random_conditional(rng, users, items) @ Q
        bits = information_bits(prior, laws)
        assert bits <= found.high_bits + 1e-13
        assert bits <= channel.doeblin_theta(Q) * math.log2(min(users, items)) + 1e-13
    assert channel.epsilon(Q) == pytest.approx(budget_of(Q), rel=1e-12)
    assert channel.success(Q, items).low == pytest.approx(Q.max(axis=0).sum() / items, rel=1e-13)


def test_success_is_the_worst_over_all_assignments() -> None:
    Q = random_channel(np.random.default_rng(1), 3, 4, 2.0)
    for users in (3, 4, 5):
        found = channel.success(Q, users)
        assert found.low == found.high == pytest.approx(worst_success(Q, uniform(users)), rel=1e-13)


@steady(12)
@given(st.integers(0, 2**32), st.integers(3, 6), st.integers(2, 6), st.floats(0.3, 4.0), st.integers(1, 4))
def test_fewer_people_than_items(seed: int, items: int, outputs: int, spread: float, users: int) -> None:
    """Every choice of rows: the largest capacity and the largest success are what branch and bound finds."""
    Q = random_channel(np.random.default_rng(seed), items, outputs, spread)
    users = min(users, items - 1)
    chosen = [list(rows) for rows in itertools.combinations(range(items), users)]
    low, high = capacities(Q[chosen], rounds=1000, gap=1e-5)
    found = channel.alpha_bits(Q, users, 1e-7)
    assert low.max() <= found.high + 1e-12
    assert found.low <= high.max() + 1e-12
    assert found.high - found.low <= 3e-7
    right = max(Q[rows].max(axis=0).sum() for rows in chosen) / users
    named = channel.success(Q, users)
    assert named.low == pytest.approx(right, rel=1e-12)
    assert named.high == pytest.approx(right, rel=1e-9)


def test_where_branch_and_bound_ends_early_both_ends_hold() -> None:
    """Forty items for twenty people: too many choices, and still what is attained and what is not exceeded."""
    Q = random_channel(np.random.default_rng(3), 40, 12, 3.0)
    found, named = channel.alpha_bits(Q, 5, 1e-4), channel.success(Q, 20)
    rng = np.random.default_rng(4)
    for _ in range(50):
        rows = rng.choice(40, 5, replace=False)
        assert capacities(Q[rows][None], rounds=200)[0][0] <= found.high
        assert Q[rng.choice(40, 20, replace=False)].max(axis=0).sum() / 20 <= named.high + 1e-12
    assert found.low <= found.high <= math.log2(5)
    assert named.low <= named.high


def test_choices_that_can_be_counted_are_exact() -> None:
    """Five of twenty rows: 15,504 choices."""
    Q = random_channel(np.random.default_rng(8), 20, 30, 0.3)
    found = channel.success(Q, 5)
    assert found.low == found.high
    best = max(Q[list(rows)].max(axis=0).sum() for rows in itertools.combinations(range(20), 5))
    assert found.high == pytest.approx(best / 5, rel=1e-12)


def test_few_of_many_rows_take_seconds() -> None:
    """Only few nodes of the search are opened; both ends hold."""
    Q = np.random.default_rng(9).dirichlet(np.full(250, 0.3), size=250)
    begun = time.process_time()
    found, named = channel.alpha_bits(Q, 12, 1e-4), channel.success(Q, 12)
    assert time.process_time() - begun < 10.0
    rows = np.random.default_rng(4).choice(250, 12, replace=False)
    assert capacities(Q[rows][None], rounds=200)[0][0] <= found.high <= math.log2(12)
    assert Q[rows].max(axis=0).sum() / 12 <= named.high
    assert 1.0 < found.low <= found.high
    assert named.low <= named.high


@pytest.mark.parametrize("kind", ["many inputs tie", "a chain", "a row of its own", "almost alike"])
def test_stubborn_channels_reach_the_gap(kind: str) -> None:
    """Where inputs nearly tie Blahut-Arimoto crawls; the certificate closes all the same, and is one."""
    rng, grid = np.random.default_rng(6), np.linspace(0, 1, 60)
    Q = {
        "many inputs tie": normalised(rng.gamma(0.3, size=(60, 45))),
        "a chain": normalised(np.exp(-80 * (grid[:, None] - grid[None, :]) ** 2)),
        "a row of its own": normalised(np.eye(60) * 0.3 + rng.gamma(0.2, size=(60, 60))),
        "almost alike": normalised(1 + 0.01 * rng.uniform(-1, 1, (60, 50))),
    }[kind]
    found = channel.capacity(Q, 1e-7)
    assert found.gap_bits <= 1e-7
    D = divergences_bits(Q, found.inputs @ Q)
    assert found.inputs.min() >= 0.0
    assert found.inputs.sum() == pytest.approx(1.0, abs=1e-12)
    assert float(found.inputs @ D) == pytest.approx(found.low_bits, abs=1e-10)
    low, high = capacities(Q[None], step=1.0, rounds=300)
    assert low[0] <= found.high_bits + 1e-10
    assert found.low_bits <= high[0] + 1e-10


@pytest.mark.parametrize("seed", range(5))
def test_what_qif_finds_where_it_is_installed(seed: int) -> None:
    """Capacity, Bayes capacity and success by another package (`pip install qif`)."""
    measure = pytest.importorskip("qif").measure
    rng = np.random.default_rng(seed)
    Q = random_channel(rng, 4, 6, 2.0)
    found = channel.capacity(Q)
    assert found.low_bits - 1e-6 <= measure.shannon.add_capacity(Q)[0] <= found.high_bits + 1e-6
    best = measure.bayes_vuln.posterior(np.full(4, 0.25), Q)
    assert channel.success(Q, 4).high == pytest.approx(best, rel=1e-9)
    order = channel.order_capacity_bits(Q, math.inf)
    assert 2.0**order.high == pytest.approx(measure.bayes_vuln.mult_capacity(Q), rel=1e-9)
    assert measure.bayes_vuln.mult_capacity(Q) > 1.01  # power


def test_a_thousand_by_a_thousand_in_ten_seconds() -> None:
    Q = normalised(np.random.default_rng(0).uniform(0.5, 1.5, (1000, 1000)))
    begun = time.process_time()
    assert channel.capacity(Q, 1e-6).gap_bits <= 1e-6
    assert time.process_time() - begun < 10.0


@pytest.mark.parametrize(("items", "epsilon"), [(2, 1.0), (3, 0.3), (5, 2.0), (12, 4.0)])
def test_contraction_of_randomized_response(items: int, epsilon: float) -> None:
    found = channel.contraction(response_matrix(items, epsilon))
    exact = randomized_response.contraction(items, epsilon)
    assert found.low == pytest.approx(exact, rel=1e-9)
    assert found.high == pytest.approx(exact, rel=1e-9)


@steady(15)
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(2, 5), st.floats(0.3, 4.0))
def test_no_information_is_kept_beyond_the_contraction(seed: int, items: int, outputs: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    Q = random_channel(rng, items, outputs, spread)
    eta = channel.contraction(Q)
    assert eta.low <= eta.high <= channel.dobrushin(Q) + 1e-12
    assert channel.dobrushin(Q) <= channel.doeblin_theta(Q) + 1e-12
    assert channel.dobrushin(Q) == pytest.approx(
        max(np.abs(a - b).sum() / 2 for a, b in itertools.combinations(Q, 2)), rel=1e-12
    )
    for _ in range(10):
        prior, laws = random_law(rng, 3), random_conditional(rng, 3, items)
        assert information_bits(prior, laws @ Q) <= eta.high * information_bits(prior, laws) + 1e-12
    # two people who differ a little, on the two rows and the mixture that attain it
    attained = max(pair_contraction(a, b) for a, b in itertools.permutations(Q, 2))
    assert attained == pytest.approx(eta.low, rel=2e-2)
    assert attained <= eta.high * (1 + 1e-3)


def pair_contraction(a: np.ndarray, b: np.ndarray) -> float:
    """Information kept about a small shift between two rows, over mixtures on a grid."""
    kept = 0.0
    for share in np.linspace(0.02, 0.98, 49):
        around = np.array([[share + 1e-3, 1 - share - 1e-3], [share - 1e-3, 1 - share + 1e-3]])
        whole = information_bits(uniform(2), around)
        kept = max(kept, information_bits(uniform(2), around @ np.array([a, b])) / whole)
    return kept


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0, math.inf])
def test_order_capacity_is_never_exceeded(order: float) -> None:
    rng = np.random.default_rng(5)
    Q = random_channel(rng, 5, 6, 2.0)
    found = channel.order_capacity_bits(Q, order)
    assert found.high - found.low <= 1e-6
    for _ in range(30):
        assert sibson_bits(random_law(rng, 5), Q, order) <= found.high + 1e-12
    rr = response_matrix(6, 1.2)
    known = worst_case.order_pie_bits(10**6, 6, 1.2, order)
    assert channel.order_capacity_bits(rr, order).low == pytest.approx(known, abs=2e-6)


def test_one_matrix_with_all_it_guarantees() -> None:
    """Randomized response as a table of numbers guarantees what randomized response does."""
    Q, crowd = response_matrix(6, 1.2), Crowd(50, list_size=2)
    found, known = matrix_guarantee(Q, crowd), guarantee(ChannelParameters("rr", 6, 1.2), crowd)
    assert found.alpha_bits.low == pytest.approx(known.alpha_bits, abs=1e-6)
    assert found.bayes_error.low == pytest.approx(known.bayes_error, abs=1e-12)
    assert found.list_error == pytest.approx(known.list_error, abs=1e-9)
    assert found.all_reports.bayes_error == pytest.approx(known.all_reports.bayes_error, abs=1e-9)
    assert found.all_reports.posterior_max == pytest.approx(known.all_reports.posterior_max, rel=1e-9)
    assert found.epsilon == pytest.approx(1.2)
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["inputs"] == 6
    several = matrix_guarantee(Q, Crowd(50, reports=3))
    assert several.list_error < found.bayes_error.low
    assert several.alpha_bits_composed > found.alpha_bits.high


def test_answers_that_never_come_and_answers_that_tell_all() -> None:
    assert channel.epsilon([[1.0, 0.0], [0.5, 0.5]]) == math.inf
    assert channel.epsilon([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]) == 0.0
    assert channel.doeblin_theta([[0.3, 0.7], [0.3, 0.7]]) == 0.0
    assert channel.doeblin_theta(np.eye(3)) == 1.0
    assert channel.capacity([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]).high_bits == 0.0
    slow = [[0.45, 0.45, 0.1], [0.3, 0.6, 0.1], [0.0, 0.9, 0.1]]
    padded = np.insert(slow, 1, 0.0, axis=1)
    assert channel.capacity(padded, 1e-11).low_bits == pytest.approx(channel.capacity(slow, 1e-11).low_bits, rel=1e-12)


@pytest.mark.parametrize(
    "matrix", [[], [0.5, 0.5], [[0.5, 0.6]], [[1.5, -0.5]], [[math.nan, 1.0]], np.zeros((0, 3)), np.ones((2, 2, 2))]
)
def test_a_matrix_must_have_rows_of_probabilities(matrix: list) -> None:
    for call in (channel.capacity, channel.doeblin_theta, channel.epsilon, lambda m: channel.success(m, 5)):
        with pytest.raises(InvalidParameter, match="matrix"):
            call(matrix)
