"""When replacing names is enough: what is guaranteed without any noise."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import assignments, steady, success, uniform, worst_success

from entropie.mechanisms.calibrate import calibrate as calibrate_for
from entropie.mechanisms.identity import Identity

calibrate = functools.partial(calibrate_for, certainty=1.0, scope="alone")


def test_a_hundred_million_people_and_five_values() -> None:
    plain = Identity(5).guarantee(users=10**8)
    assert round(plain.bayes_error_paper, 3) == 0.875
    assert plain.bayes_error == pytest.approx(1 - 5e-8)
    assert plain.alpha_bits == pytest.approx(math.log2(5))
    assert not calibrate(users=10**8, domain_size=5, bayes_error=0.8).noise_needed
    skewed = Identity(5).guarantee(users=10**8, prior_max=0.01)
    assert round(skewed.bayes_error_paper, 3) == 0.5
    assert skewed.bayes_error == pytest.approx(0.95)
    assert calibrate(users=10**8, domain_size=5, bayes_error=0.96, prior_max=0.01).noise_needed


@pytest.mark.parametrize(("users", "items"), [(2, 3), (3, 3), (4, 2), (5, 3)])
def test_exact_error_is_the_worst_over_all_assignments(users: int, items: int) -> None:
    found = Identity(items).guarantee(users=users)
    assert 1.0 - found.bayes_error == pytest.approx(worst_success(np.eye(items), uniform(users)), abs=1e-15)


@steady(100)
@given(st.integers(1, 6), st.integers(2, 4), st.integers(0, 2**32))
def test_a_prior_never_breaks_the_promise(users: int, items: int, seed: int) -> None:
    prior = np.random.default_rng(seed).dirichlet(np.ones(users))
    found = Identity(items).guarantee(users=users, prior_max=float(prior.max()))
    worst = max(success(prior, np.eye(items)[f]) for f in assignments(users, items))
    assert 1.0 - worst >= found.bayes_error - 1e-12
    assert 1.0 - worst >= found.bayes_error_paper - 1e-12
