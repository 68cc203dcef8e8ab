"""Audits: what attackers reach meets what is stated, and a mechanism a tenth off is caught by each of them.

The contract runs an audit for every mechanism; here is what an audit must be able to find.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from entropie.attack.audit import DEVIATIONS, Measured, audit
from entropie.errors import InvalidParameter
from entropie.mechanisms.erasure import Erasure
from entropie.mechanisms.hadamard import HadamardResponse
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mechanisms.subset_selection import SubsetSelection
from entropie.mechanisms.unary_encoding import UnaryEncoding

RR = RandomizedResponse(domain_size=7, epsilon=2.0)


def leaking(stated: Mechanism, drawn: Mechanism) -> Mechanism:
    """States one mechanism in every way and draws by another."""

    class Leaking(type(stated)):
        __slots__ = ()

        def draw(self, values, source):
            return drawn.draw(values, source)

    made = Leaking.__new__(Leaking)
    for field in dataclasses.fields(stated):
        object.__setattr__(made, field.name, getattr(stated, field.name))
    return made


OFF = [
    (RR, RR.with_theta(1.1 * RR.theta)),
    (
        LocalHashing(domain_size=7, hash_size=4, epsilon=2.0),
        LocalHashing.from_theta(
            domain_size=7, hash_size=4, theta=1.1 * LocalHashing(domain_size=7, hash_size=4, epsilon=2.0).theta
        ),
    ),
    (HadamardResponse(domain_size=7, epsilon=2.0), HadamardResponse(domain_size=7, epsilon=2.2)),
    (
        SubsetSelection(domain_size=7, subset_size=2, epsilon=2.0),
        SubsetSelection(domain_size=7, subset_size=2, epsilon=2.2),
    ),
    (UnaryEncoding(domain_size=5, epsilon=2.0), UnaryEncoding(domain_size=5, epsilon=2.2)),
]


@pytest.mark.parametrize(("stated", "drawn"), OFF, ids=[stated.kind for stated, _ in OFF])
def test_a_tenth_too_much_truth_is_proven(stated, drawn):
    """By the budget, whatever the mechanism; the same reports of the right one prove nearly all of it, and no more."""
    right = audit(leaking(stated, stated), reports=30_000, rng=np.random.default_rng(1))
    wrong = audit(leaking(stated, drawn), reports=30_000, rng=np.random.default_rng(1))
    assert right.holds
    assert stated.epsilon - 0.25 < right.epsilon.value <= stated.epsilon
    assert wrong.epsilon.value > stated.epsilon
    assert not wrong.holds


def test_each_attacker_catches_it():
    """Alone and without knowing the mechanism; with all reports an erasure, whose bound is attained."""
    wrong = audit(leaking(RR, RR.with_theta(1.1 * RR.theta)), reports=30_000, rng=np.random.default_rng(2))
    assert not wrong.alone.holds
    assert not wrong.black_box.holds
    stated = Erasure.from_theta(domain_size=10, theta=0.5)
    right = audit(stated, reports=30_000, rng=np.random.default_rng(2)).all_reports
    assert abs(right.value - right.stated) < DEVIATIONS * right.deviation
    assert right.stated == pytest.approx(0.5 + (1 - 0.5**10) / 10)
    wrong = audit(leaking(stated, stated.with_theta(0.55)), reports=30_000, rng=np.random.default_rng(2))
    assert not wrong.all_reports.holds


def test_too_little_truth_is_not_met():
    """No privacy is lost, but the worst case is not reached: what is stated and what is drawn are not the same."""
    found = audit(leaking(RR, RR.with_theta(0.9 * RR.theta)), reports=30_000, rng=np.random.default_rng(3))
    assert found.holds
    assert not found.alone.meets


def test_one_who_knows_nothing_finds_what_the_stated_law_hides():
    """A report that depends on the item where the law says that it is noise: only the black box looks there."""

    class Marked(RandomizedResponse):
        __slots__ = ()

        def draw(self, values, source):
            noise = source.below(self.domain_size // 2, len(values))
            return np.asarray(2 * noise + values % 2, np.uint64)  # says which half the item is in, never the item

    made = Marked(domain_size=8, epsilon=0.1)
    found = audit(made, users=8, reports=20_000, rng=np.random.default_rng(5))
    assert not found.black_box.holds


@pytest.mark.parametrize(
    "made",
    [
        RandomizedResponse(domain_size=6, epsilon=1.5),
        LocalHashing(domain_size=6, hash_size=3, epsilon=2.0),
        SubsetSelection(domain_size=6, subset_size=2, epsilon=1.5),
        UnaryEncoding(domain_size=6, epsilon=2.0),
        HadamardResponse(domain_size=6, epsilon=2.0),
        Erasure.from_theta(domain_size=6, theta=0.4),
    ],
    ids=lambda made: made.kind,
)
def test_the_black_box_comes_close_to_the_best_there_is(made):
    """An estimate of it from reports alone: nine tenths of what the likeliest person gains over a guess, and no more."""
    found = audit(made, users=6, reports=20_000, rng=np.random.default_rng(6))
    best, chance = found.alone.value, 1 / 6
    assert found.black_box.holds
    assert found.black_box.value - chance >= 0.9 * (best - chance) - 3 * found.black_box.deviation
    assert best - chance > 10 * found.black_box.deviation


def test_the_systems_randomness_is_the_default():
    found = audit(RR, reports=5000)
    assert found.holds
    assert found.reports == 5000
    assert 0.0 < found.epsilon.value < 2.0


def test_limits_are_named():
    with pytest.raises(InvalidParameter, match="at most 4096 for an audit"):
        audit(RandomizedResponse(domain_size=5000, epsilon=1.0))
    for wrong in ({"users": 1}, {"users": 1001}, {"reports": 10}):
        with pytest.raises(InvalidParameter):
            audit(RR, **wrong)


def test_pure_noise_and_plain_items():
    noise = audit(RandomizedResponse(domain_size=5, epsilon=0.0), reports=2000, rng=np.random.default_rng(6))
    assert noise.holds
    assert noise.epsilon.value == 0.0
    plain = audit(RandomizedResponse.from_theta(domain_size=5, theta=1.0), reports=2000, rng=np.random.default_rng(6))
    assert plain.holds
    assert plain.alone.value == pytest.approx(0.5)
    assert math.isinf(plain.epsilon.stated)


def test_a_measurement_allows_for_chance_and_no_more():
    assert Measured(0.549, 0.01, 0.5, sharp=True).meets
    assert not Measured(0.551, 0.01, 0.5, sharp=True).holds
    assert not Measured(0.449, 0.01, 0.5, sharp=True).meets
    assert Measured(0.1, 0.01, 0.5, sharp=False).meets


def test_large_reports_are_asked_for_less_often(monkeypatch):
    """2,048 bits have chances below every number; only their ratios count."""
    monkeypatch.setattr("entropie.attack.audit._MOST_BITS", 1 << 21)
    found = audit(UnaryEncoding(domain_size=2048, epsilon=2.0), users=20, reports=10**6, rng=np.random.default_rng(7))
    assert found.reports == 2**21 // 2048
    assert found.alone.meets
    assert found.epsilon.value > 1.0
    large = SubsetSelection(domain_size=1200, subset_size=300, epsilon=2.0)
    found = audit(large, users=20, reports=1000, rng=np.random.default_rng(7))
    assert found.alone.meets
    assert found.holds
