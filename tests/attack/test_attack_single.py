"""One event per target: the same as the general attack, and information against the definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from attack_oracles import SEEDS, assert_outcome, random_traces, rows_of, same_outcome, traces_of
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.matchers import matcher
from entropie.attack.mechanism import randomized_response
from entropie.attack.scoring import attack
from entropie.attack.single import attack_single, pie_bits
from entropie.errors import InvalidInput, InvalidParameter


@given(
    SEEDS,
    st.integers(1, 25),
    st.integers(0, 8),
    st.integers(1, 12),
    st.sampled_from([1.0, 0.4, 1e-3]),
    st.integers(1, 30),
)
@settings(max_examples=80, deadline=None)
def test_same_as_the_general_attack(
    seed: int, users: int, longest: int, domain: int, theta: float, candidates: int
) -> None:
    rng = np.random.default_rng(seed)
    train, target = random_traces(rng, users, longest, domain), random_traces(rng, users, 1, domain)
    found = attack_single(train, target, theta=theta, candidates=candidates)
    matching = matcher("visit")(train, target) if theta == 1 else randomized_response(train, target, theta=theta)
    assert same_outcome(found, attack(matching, candidates=candidates))
    share = np.array([[row.count(x) / max(len(row), 1) for x in range(domain)] for row in rows_of(train)])
    gain = (
        np.log(np.where(share > 0, share, 1e-8) / 1e-8)
        if theta == 1
        else np.log1p(theta * domain * share / (1 - theta))
    )
    want = np.array([gain[:, row[0]] if row else np.zeros(users) for row in rows_of(target)])
    assert_outcome(found, want, candidates)


@given(SEEDS, st.integers(1, 25), st.integers(1, 9), st.integers(2, 12), st.sampled_from([2, 3, 5, 9]))
@settings(max_examples=60, deadline=None)
def test_same_as_the_general_attack_on_a_coarse_grid(
    seed: int, users: int, longest: int, domain: int, max_values: int
) -> None:
    rng = np.random.default_rng(seed)
    train, target = random_traces(rng, users, longest, domain), random_traces(rng, users, 1, domain)
    found = attack_single(train, target, max_values=max_values)
    zero = np.zeros(1, np.int64)
    assert same_outcome(found, attack(matcher("visit")(train, target), max_values=max_values, atoms=zero))


def test_scores_near_the_best_of_one_event() -> None:
    # So strong a lie that the weights fall within 1e-9 of each other and of 0, which those who lack the item score.
    train = traces_of([[0], [0, 1], [0, 0, 1], [1], [0, 1, 1], [2]], 3)
    target = traces_of([[0], [1], [0], [2], [1], []], 3)
    for theta in (1e-10, 3e-10, 1e-9):
        matching = randomized_response(train, target, theta=theta)
        for candidates in (1, 6):
            found = attack_single(train, target, theta=theta, candidates=candidates)
            assert same_outcome(found, attack(matching, candidates=candidates))
    assert attack_single(train, target, theta=1e-10).ties.tolist() == [6] * 6
    assert attack_single(train, target, theta=1e-9).ties.tolist() == [1, 1, 1, 1, 1, 6]


def dense_information_bits(shares: np.ndarray, theta: float) -> float:
    law = theta * shares + (1 - theta) / shares.shape[1]
    mean = law.mean(axis=0)
    terms = [q * math.log2(q / m) for row in law for q, m in zip(row, mean, strict=True) if q > 0]
    return math.fsum(terms) / shares.shape[0]


@given(SEEDS, st.integers(1, 15), st.integers(1, 10), st.integers(1, 10), st.sampled_from([1.0, 0.9, 0.3, 0.01, 0.0]))
@settings(max_examples=80, deadline=None)
def test_information_is_the_definition(seed: int, users: int, longest: int, domain: int, theta: float) -> None:
    traces = random_traces(np.random.default_rng(seed), users, longest, domain, shortest=1)
    shares = np.array([[row.count(x) / len(row) for x in range(domain)] for row in rows_of(traces)])
    assert pie_bits(traces, theta=theta) == pytest.approx(dense_information_bits(shares, theta), abs=1e-14, rel=1e-9)


def test_information_known_in_closed_form() -> None:
    everyone_alone = traces_of([[i] * 3 for i in range(64)], 64)
    assert pie_bits(everyone_alone) == pytest.approx(6.0, abs=1e-12)
    everyone_alike = traces_of([[0, 1]] * 64, 2)
    assert pie_bits(everyone_alike) == 0.0
    pairs = traces_of([[i // 2] for i in range(64)], 32)
    assert pie_bits(pairs) == pytest.approx(5.0, abs=1e-12)
    # Randomized response of n = k people with distinct data: its capacity with m = n = k.
    theta, k = 1e-6, 64
    w = 1 + theta * k / (1 - theta)
    psi = lambda a: (1 + a) * math.log1p(a) - a if abs(a) > 1e-4 else a * a / 2 - a**3 / 6 + a**4 / 12  # noqa: E731
    capacity = (psi(w - 1) - k * psi((w - 1) / k)) / ((k + w - 1) * math.log(2))
    assert pie_bits(everyone_alone, theta=theta) == pytest.approx(capacity, rel=1e-9)


def test_users_without_events_are_left_out() -> None:
    some = traces_of([[0], [], [1]], 2)
    assert pie_bits(some) == pytest.approx(1.0, abs=1e-12)


def test_refusals() -> None:
    one = traces_of([[0], [1]], 2)
    with pytest.raises(InvalidInput, match="one event per target, got up to 2"):
        attack_single(one, traces_of([[0, 1], [1]], 2))
    with pytest.raises(InvalidParameter, match="`theta` must be between 0 and 1"):
        pie_bits(one, theta=1.5)
    with pytest.raises(InvalidParameter, match="`theta` must be above 0"):
        attack_single(one, one, theta=0.0)
    with pytest.raises(InvalidInput, match="at least one event"):
        pie_bits(traces_of([[], []], 2))
    with pytest.raises(InvalidParameter, match="`candidates`"):
        attack_single(one, one, candidates=0)
