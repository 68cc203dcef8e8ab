"""Reports that a mechanism made fit its parameters; others, and too few, do not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from entropie.data.fitting import HARDLY, Sent, _fewer, _more, doubts
from entropie.data.reports import LinkedReports
from entropie.data.traces import Traces
from entropie.errors import InvalidInput
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.randomized_response import RandomizedResponse

PEOPLE, EVENTS, ITEMS = 150, 12, 60


def habits(seed: int = 1, people: int = PEOPLE, items: int = ITEMS) -> np.ndarray:
    """Everybody at three places of their own choice."""
    rng = np.random.default_rng(seed)
    return np.take_along_axis(rng.integers(0, items, (people, 3)), rng.integers(0, 3, (people, EVENTS)), 1)


def sent(mechanism: Mechanism, reports: Any, known: np.ndarray, timed: bool = False) -> Sent:
    """Equally many reports of everybody, in columns, and what is known of them."""
    people = known.shape[0]
    columns = mechanism.columns_of(reports)
    linked = LinkedReports(
        pa.array(np.arange(people)), np.arange(people + 1) * (len(columns[0]) // people), tuple(columns)
    )
    traces = Traces(np.arange(people + 1) * known.shape[1], known.ravel().astype(np.uint32), mechanism.domain_size)
    return Sent(mechanism, linked, np.arange(people), traces, timed)


MECHANISMS = [RandomizedResponse.from_theta(domain_size=ITEMS, theta=theta) for theta in (0.0001, 0.1, 0.3, 0.5)] + [
    LocalHashing.from_theta(domain_size=ITEMS, hash_size=8, theta=theta) for theta in (0.0001, 0.3)
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_reports_of_the_mechanism_fit(mechanism: Mechanism, seed: int) -> None:
    """Of people with habits, of people who all do the same, and of people who never do anything twice."""
    never = np.stack([np.random.default_rng(one).permutation(ITEMS)[:EVENTS] for one in range(PEOPLE)])
    for truth in (habits(seed), np.full((PEOPLE, EVENTS), 7), never):
        reports = mechanism.simulate(truth.ravel(), np.random.default_rng(seed))
        assert doubts(sent(mechanism, reports, truth)) == []


@pytest.mark.parametrize("told", [0.2, 0.3])
def test_reports_with_more_truth_than_the_document_says_do_not(told: float) -> None:
    """The document says 0.1; the tests would fail here if they had no power."""
    truth, said = habits(), RandomizedResponse.from_theta(domain_size=ITEMS, theta=0.1)
    made = RandomizedResponse.from_theta(domain_size=ITEMS, theta=told).simulate(
        truth.ravel(), np.random.default_rng(2)
    )
    assert "cannot be what the parameters say" in doubts(sent(said, made, truth))[0]


def walks(kind: str) -> np.ndarray:
    """Plain data in which every item is as common as in noise, and two events in a row agree as often."""
    rng = np.random.default_rng(4)
    first = rng.integers(0, ITEMS, (PEOPLE, 1))
    if kind == "one way":  # to the next item of a ring, and seldom back to the same
        return (first + np.arange(EVENTS) // 2 * 7 + np.arange(EVENTS) % 2 * (3 * first)) % ITEMS
    if kind == "in company":
        return np.repeat(rng.integers(0, ITEMS, (PEOPLE // 2, EVENTS)), 2, axis=0)
    return np.tile(rng.integers(0, ITEMS, (PEOPLE, 1, EVENTS)), (1, 2, 1)).reshape(PEOPLE, 2 * EVENTS)  # a round, twice


@pytest.mark.parametrize("kind", ["one way", "in company", "a round"])
def test_an_order_that_noise_would_break(kind: str) -> None:
    """Noise of the same size in the same order fits: nothing but the order speaks against these."""
    mechanism, truth = RandomizedResponse.from_theta(domain_size=ITEMS, theta=1e-4), walks(kind)
    elsewhere = np.random.default_rng(5).integers(0, ITEMS, truth.shape)
    found = doubts(sent(mechanism, truth.ravel().astype(np.uint64), elsewhere))
    assert "cannot be what the parameters say (r" in found[0]
    noisy = mechanism.simulate(truth.ravel(), np.random.default_rng(6))
    assert doubts(sent(mechanism, noisy, elsewhere)) == []


def test_hash_functions_must_be_drawn() -> None:
    mechanism = LocalHashing.from_theta(domain_size=ITEMS, hash_size=8, theta=0.1)
    truth = habits()
    a, b, y = mechanism.simulate(truth.ravel(), np.random.default_rng(3))
    for forged in ((np.full_like(a, 3), b, y), (a, b // 2, y), (a, b, np.zeros_like(y))):
        assert "cannot be" in doubts(sent(mechanism, forged, truth))[0]
    whole = mechanism.family.values(a, b, truth.ravel().astype(np.uint64))
    assert "known of their senders" in doubts(sent(mechanism, (a, b, whole), truth))[0]
    with pytest.raises(InvalidInput, match="`a` must be at least 1, got 0"):
        doubts(sent(mechanism, (a * 0, b, y), truth))


def test_too_few_reports_true_ones_and_times_are_no_proof() -> None:
    small = RandomizedResponse.from_theta(domain_size=ITEMS, theta=0.01)
    truth = habits(people=12)
    few = sent(small, small.simulate(truth.ravel(), np.random.default_rng(1)), truth)
    assert doubts(few) == [
        "The reports are too few to show that they hold noise: known events are judged, too, as for plain data."
    ]
    true = RandomizedResponse.from_theta(domain_size=ITEMS, theta=0.9)
    many = habits()
    assert (
        "of the reports are true" in doubts(sent(true, true.simulate(many.ravel(), np.random.default_rng(1)), many))[0]
    )
    timed = sent(small, small.simulate(many.ravel(), np.random.default_rng(1)), many, timed=True)
    assert "bear times" in doubts(timed)[0]
    # so large a domain that no value comes twice, with or without noise
    vast = RandomizedResponse.from_theta(domain_size=2**31, theta=1e-9)
    assert "too few" in doubts(sent(vast, vast.simulate(many.ravel(), np.random.default_rng(1)), many))[0]


def test_the_bound_holds_and_has_power() -> None:
    """Chernoff's bound against sums of binomial probabilities: never below them, and not a power of ten above."""
    for n, p in ((500, 0.1), (300, 0.5), (2000, 0.01)):
        chances = [
            math.exp(
                math.lgamma(n + 1)
                - math.lgamma(k + 1)
                - math.lgamma(n - k + 1)
                + k * math.log(p)
                + (n - k) * math.log1p(-p)
            )
            for k in range(n + 1)
        ]
        most = next(k for k in range(int(n * p), n + 1) if _more(k, n, p))
        assert 1e-13 < sum(chances[most:]) < HARDLY
        if n * p > 40:
            least = next(k for k in range(int(n * p), -1, -1) if _fewer(k, n, p, HARDLY))
            assert 1e-13 < sum(chances[: least + 1]) < HARDLY
    assert not _more(0, 0, 0.1)
    assert _more(1, 10, 0.0)
