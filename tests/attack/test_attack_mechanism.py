"""Attacks that know the mechanism: the likelihood of every report, by trying every item."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from attack_oracles import SEEDS, assert_outcome, random_traces, rows_of, same_outcome, traces_of
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.mechanism import HashedTargets, attack_hashed, randomized_response
from entropie.attack.scoring import attack
from entropie.attack.single import attack_single
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter

THETAS = st.sampled_from([0.05, 0.5, 0.99])


@given(SEEDS, st.integers(1, 15), st.integers(1, 12), THETAS)
@settings(max_examples=40, deadline=None)
def test_randomized_response(seed: int, users: int, domain: int, theta: float) -> None:
    rng = np.random.default_rng(seed)
    train, reports = random_traces(rng, users, 8, domain, 1), random_traces(rng, users, 5, domain)

    def score(row: list[int], sent: list[int]) -> float:
        counts = Counter(row)
        chances = [theta * counts[y] / len(row) + (1 - theta) / domain for y in sent]
        return math.fsum(math.log(chance) - math.log((1 - theta) / domain) for chance in chances)

    want = np.array([[score(row, sent) for row in rows_of(train)] for sent in rows_of(reports)])
    assert_outcome(attack(randomized_response(train, reports, theta=theta)), want)


def hashed_reports(
    rng: np.random.Generator, users: int, longest: int, domain: int, family: tuple[int, int], theta: float
) -> HashedTargets:
    hash_size, prime = family
    offsets = np.concatenate(([0], np.cumsum(rng.integers(0, longest + 1, users))))
    draw = lambda low, high: rng.integers(low, high, offsets[-1], dtype=np.uint64)  # noqa: E731
    return HashedTargets(offsets, draw(1, prime), draw(0, prime), draw(0, hash_size), domain, hash_size, prime, theta)


def hashed_scores(train: Traces, reports: HashedTargets) -> np.ndarray:
    scores = np.zeros((train.users, train.users))
    for j in range(train.users):
        for r in range(int(reports.offsets[j]), int(reports.offsets[j + 1])):
            a, b, y = int(reports.a[r]), int(reports.b[r]), int(reports.y[r])
            for i, row in enumerate(rows_of(train)):
                hits = sum((a * x + b) % reports.prime % reports.hash_size == y for x in row)
                share = hits / len(row) if row else 0.0
                if reports.theta == 1:
                    scores[j, i] += math.log(share / 1e-8) if share else 0.0
                else:
                    lie = (1 - reports.theta) / reports.hash_size
                    scores[j, i] += math.log((reports.theta * share + lie) / lie)
    return scores


@given(
    SEEDS,
    st.integers(1, 12),
    st.integers(2, 11),
    st.sampled_from([(2, 11), (3, 13), (5, 31), (11, 11), (50, 53), (1000, 2**61 - 1)]),
    st.sampled_from([0.05, 0.5, 0.99, 1.0]),
)
@settings(max_examples=80, deadline=None)
def test_local_hashing(seed: int, users: int, domain: int, family: tuple[int, int], theta: float) -> None:
    rng = np.random.default_rng(seed)
    train = random_traces(rng, users, 8, domain)
    reports = hashed_reports(rng, users, 4, domain, family, theta)
    want = hashed_scores(train, reports)
    with pytest.MonkeyPatch.context() as patch:  # gather postings report by report, however few the hits
        patch.setattr("entropie.attack.mechanism._FEW_HITS", math.inf)  # and as items, however many
        assert_outcome(attack_hashed(train, reports), want)
        patch.setattr("entropie.attack.mechanism._FEW_HITS", 0)
        found = attack_hashed(train, reports, threads=1)
        assert_outcome(found, want)
        assert same_outcome(found, attack_hashed(train, reports, threads=2))


def test_few_items_in_use_of_a_large_domain() -> None:
    # 20 items of a million: hashing those is cheaper than enumerating half a million preimages.
    rng = np.random.default_rng(4)
    train = random_traces(rng, 10, 6, 20, 1)
    train = Traces(train.offsets, train.items * np.uint32(40_000), 1_000_000)
    reports = hashed_reports(rng, 10, 3, 1_000_000, (2, 1_000_003), 0.5)
    assert_outcome(attack_hashed(train, reports), hashed_scores(train, reports))


def test_blocks_of_hashed_reports_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(9)
    train = random_traces(rng, 60, 10, 40, 1)
    reports = hashed_reports(rng, 60, 3, 40, (4, 41), 0.7)
    monkeypatch.setattr("entropie.attack.mechanism._FEW_HITS", 0)
    whole = attack_hashed(train, reports)
    monkeypatch.setattr("entropie.attack.mechanism._BLOCK_POSTINGS", 200)
    assert same_outcome(whole, attack_hashed(train, reports, threads=2))


def test_no_hashing_to_speak_of_is_no_hashing() -> None:
    # a = 1, b = 0, g = P > k: the hash is the item itself.
    rng = np.random.default_rng(5)
    train, target = random_traces(rng, 40, 9, 30, 1), random_traces(rng, 40, 1, 30, 1)
    one, zero = np.ones(40, np.uint64), np.zeros(40, np.uint64)
    reports = HashedTargets(target.offsets, one, zero, target.items.astype(np.uint64), 30, 31, 31, 1.0)
    assert same_outcome(attack_hashed(train, reports), attack_single(train, target))


def test_refusals() -> None:
    offsets, column = np.array([0, 1]), np.ones(1, np.uint64)
    good = {"offsets": offsets, "a": column, "b": column, "y": column}
    good |= {"domain_size": 5, "hash_size": 3, "prime": 5, "theta": 0.5}
    HashedTargets(**good)
    for change, message in [
        ({"theta": 0.0}, "`theta` must be above 0"),
        ({"y": column * 3}, "y < hash_size"),
        ({"a": column * 0}, "1 <= a"),
        ({"b": np.ones(2, np.uint64)}, "as many a as b and y"),
        ({"offsets": np.array([0, 2])}, "must run from 0"),
    ]:
        with pytest.raises((InvalidInput, InvalidParameter), match=message):
            HashedTargets(**{**good, **change})
    train = traces_of([[0], [1]], 5)
    with pytest.raises(InvalidInput, match="2 users and 1 targets"):
        attack_hashed(train, HashedTargets(**good))
    with pytest.raises(InvalidInput, match="got 4 and 5 items"):
        attack_hashed(traces_of([[0]], 4), HashedTargets(**good))
    with pytest.raises(InvalidParameter, match="`candidates`"):
        attack_hashed(traces_of([[0]], 5), HashedTargets(**good), candidates=0)
