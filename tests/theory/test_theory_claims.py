"""Sentences of docs/guarantees.md that no other test is about."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import steady

from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse


@steady(60)
@given(st.integers(2, 10**12), st.integers(2, 10**12), st.floats(0.0, 1.0))
def test_all_reports_of_randomized_response_re_identify_hardly_more(users: int, items: int, theta: float) -> None:
    found = RandomizedResponse.from_theta(domain_size=items, theta=theta).guarantee(users=users)
    more = found.bayes_error - found.all_reports.bayes_error
    assert -1e-15 <= more <= 1 / users + 1e-15


def test_few_hash_values_hide_nobody_from_who_holds_all_reports() -> None:
    """By all orders of a store: two hash values, five people with different items, no lies. One report alone is right with 2/5.
    Who holds all reports knows who can have sent which, and is right more often.
    """
    mechanism = LocalHashing(domain_size=5, hash_size=2, prime=5, epsilon=50.0)
    people, rng = np.arange(5), np.random.default_rng(3)
    alone, together, rounds = 0.0, 0.0, 400
    for _ in range(rounds):
        reports = mechanism.simulate(people, rng)
        fits = mechanism.likelihoods(reports) > 1e-6 * mechanism.likelihoods(reports).max()
        alone += float((1 / fits.sum(axis=1)).mean())
        orders = [
            order for order in itertools.permutations(range(5)) if all(fits[row, who] for row, who in enumerate(order))
        ]
        chances = np.zeros((5, 5))
        for order in orders:
            chances[np.arange(5), order] += 1 / len(orders)
        together += float(chances.max(axis=1).mean())
    stated = mechanism.guarantee(users=5)
    allowed = 5 * 0.5 / math.sqrt(rounds * 5)  # five standard errors of a mean of numbers from 0 to 1
    assert alone / rounds <= 1 - stated.bayes_error + allowed
    assert together / rounds > 1 - stated.bayes_error + allowed  # more than any attacker gets of one report
    assert together / rounds <= 1 - stated.all_reports.bayes_error
    large = LocalHashing.from_theta(domain_size=10**6, hash_size=100, theta=0.9).guarantee(users=10**6)
    assert large.bayes_error > 0.999
    assert large.all_reports.bayes_error < 0.75


@steady(60)
@given(st.integers(2, 10**9), st.integers(2, 10**9), st.floats(0.01, 20.0), st.integers(2, 10**6))
def test_all_reports_tell_at_most_one_and_a_half_bits_more(users: int, items: int, epsilon: float, g: int) -> None:
    for mechanism in (
        RandomizedResponse(domain_size=items, epsilon=epsilon),
        LocalHashing(domain_size=items, hash_size=g, epsilon=epsilon),
    ):
        found = mechanism.guarantee(users=users)
        assert found.all_reports.alpha_bits <= found.alpha_bits + 1 / math.log(2.0)


def test_a_hash_function_that_is_kept_links_its_reports() -> None:
    """Two people draw the same function with probability 1/(P(P-1)); else it names the device."""
    mechanism = LocalHashing(domain_size=100, hash_size=8, epsilon=1.0)
    rng = np.random.default_rng(2)
    kept = mechanism.simulate(np.arange(50), rng)
    again = mechanism.simulate(rng.integers(0, 100, 50), rng)  # other items, other answers, the function of before
    functions = [tuple(map(int, pair)) for pair in zip(kept.a, kept.b, strict=True)]
    assert len(set(functions)) == 50
    found = [functions.index((int(a), int(b))) for a, b in zip(kept.a, kept.b, strict=True)]
    assert found == list(range(50))
    fresh = {(int(a), int(b)) for a, b in zip(again.a, again.b, strict=True)}
    assert len(fresh & set(functions)) <= 2  # newly drawn ones meet by chance alone
    same = Fraction(1, mechanism.prime * (mechanism.prime - 1))
    assert float(50 * 50 * same) == pytest.approx(0.245, abs=0.01)
