"""A random choice between mechanisms: its weights, its averages, and what it never does."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from entropie.errors import InvalidInput
from entropie.mechanisms.choice import ChosenReport, ChosenReports, RandomChoice
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import HashedReports, LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse

ONE = 2**64
RR = RandomizedResponse(domain_size=5, epsilon=1.0)
GLH = LocalHashing(domain_size=5, hash_size=3, epsilon=2.0)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6).filter(any))
@example([1, 2])
@example([0, 1, 2])
@example([1, 2, 0])
def test_weights_are_kept_to_within_rounding(shares: list[int]) -> None:
    weights = [Fraction(share, sum(shares)) for share in shares]
    mechanism = RandomChoice([RR] * len(weights), weights)
    assert sum(mechanism.weight_numerators) == ONE
    for numerator, weight in zip(mechanism.weight_numerators, weights, strict=True):
        assert abs(Fraction(numerator, ONE) - weight) < Fraction(len(weights), ONE)
        assert (numerator == 0) == (weight == 0)


@pytest.mark.parametrize("weights", [(Fraction(1, 3), Fraction(2, 3), 0), (0.1, 0.9, 0.0), (0.7, 0.3, 0)])
def test_a_part_without_weight_is_never_used(weights: tuple[float, ...]) -> None:
    """What rounding leaves over must not go to a part that was given nothing: here it would tell the truth."""
    mechanism = RandomChoice([RR, RR, Identity(5)], weights)
    assert mechanism.weight_numerators[2] == 0
    assert mechanism.epsilon == RR.epsilon


def test_averages_over_the_parts() -> None:
    mechanism = RandomChoice([RR, GLH], [0.25, 0.75])
    assert mechanism.weights == (0.25, 0.75)
    assert mechanism.domain_size == 5
    assert mechanism.theta == pytest.approx(0.25 * RR.theta + 0.75 * GLH.theta, rel=1e-15)
    assert mechanism.epsilon == max(RR.epsilon, GLH.epsilon)
    for name in ("mu", "nu", "gain", "mu_off"):
        want = 0.25 * getattr(RR.rates, name) + 0.75 * getattr(GLH.rates, name)
        assert getattr(mechanism.rates, name) == pytest.approx(want, rel=1e-15)
    assert RandomChoice([RR, Identity(5)], [0.5, 0.5]).epsilon == math.inf
    assert RandomChoice([RR, Identity(5)], [1.0, 0.0]).epsilon == RR.epsilon


def test_guarantee_is_the_average_of_the_parts() -> None:
    both = RandomChoice([RR, GLH], [0.25, 0.75]).guarantee(users=1000)
    parts = [RR.guarantee(users=1000), GLH.guarantee(users=1000)]
    for name in ("alpha_bits", "bayes_error", "contraction"):
        want = 0.25 * getattr(parts[0], name) + 0.75 * getattr(parts[1], name)
        assert getattr(both, name) == pytest.approx(want, rel=1e-12)


def test_one_report_names_its_part() -> None:
    for part, report_type in ((RR, int), (GLH, tuple)):
        report = RandomChoice([part], [1.0]).obfuscate(2)
        assert isinstance(report, ChosenReport)
        assert report.choice == 0
        assert isinstance(report.report, report_type)


def test_counts_are_the_sum_over_the_parts() -> None:
    mechanism = RandomChoice([RR, GLH, Identity(5)], [0.3, 0.3, 0.4])
    reports = mechanism.simulate(np.arange(500) % 5, np.random.default_rng(3))
    parts = [part.count(own) for part, own in zip(mechanism.parts, reports.parts, strict=True)]
    counts = mechanism.count(reports)
    assert counts.reports == 500
    assert counts.counts.tolist() == sum(part.counts for part in parts).tolist()
    assert mechanism.count(reports, items=[1, 4]).counts.tolist() == counts.counts[[1, 4]].tolist()


def test_a_bad_part_leaves_the_counts_as_they_were() -> None:
    """Counts that grew by the good half of a refused batch would be wrong for ever after."""
    mechanism = RandomChoice([RR, GLH], [0.5, 0.5])
    reports = mechanism.simulate(np.arange(50) % 5, np.random.default_rng(3))
    counts = mechanism.count(reports)
    before = counts.counts.tolist(), counts.reports
    bad = ChosenReports(
        reports.choice, (reports.parts[0], HashedReports(np.zeros(1, int), np.ones(1, int), np.ones(1, int)))
    )
    with pytest.raises(InvalidInput):
        mechanism.count(bad, into=counts)
    assert (counts.counts.tolist(), counts.reports) == before
