"""When replacing names is enough."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import assignments, steady, success, uniform, worst_success

from entropie.errors import InvalidParameter
from entropie.theory.need import noise_needed


def test_a_hundred_million_people_and_five_values() -> None:
    plain = noise_needed(10**8, 5, 0.8)
    assert round(plain.bayes_error_paper, 3) == 0.875
    assert plain.bayes_error == pytest.approx(1 - 5e-8)
    assert plain.information_bits == pytest.approx(math.log2(5))
    assert not plain.needed
    skewed = noise_needed(10**8, 5, 0.96, prior_max=0.01)
    assert round(skewed.bayes_error_paper, 3) == 0.5
    assert skewed.bayes_error == pytest.approx(0.95)
    assert skewed.needed


@pytest.mark.parametrize(("users", "items"), [(2, 3), (3, 3), (4, 2), (5, 3)])
def test_exact_error_is_the_worst_over_all_assignments(users: int, items: int) -> None:
    found = noise_needed(users, items, 0.5)
    assert 1.0 - found.bayes_error == pytest.approx(worst_success(np.eye(items), uniform(users)), abs=1e-15)


@steady(100)
@given(st.integers(1, 6), st.integers(2, 4), st.integers(0, 2**32), st.floats(0.0, 1.0))
def test_a_prior_never_breaks_the_promise(users: int, items: int, seed: int, wanted: float) -> None:
    prior = np.random.default_rng(seed).dirichlet(np.ones(users))
    found = noise_needed(users, items, wanted, prior_max=float(prior.max()))
    worst = max(success(prior, np.eye(items)[f]) for f in assignments(users, items))
    assert 1.0 - worst >= found.bayes_error - 1e-12
    assert 1.0 - worst >= found.bayes_error_paper - 1e-12
    assert found.needed == (max(found.bayes_error, found.bayes_error_paper) < wanted)


def test_known_information_counts() -> None:
    assert noise_needed(1000, 10**6, 0.5, information_bits=0.2).information_bits == 0.2
    assert noise_needed(1000, 10**6, 0.5, information_bits=0.2).needed is False
    assert noise_needed(1000, 10**6, 0.5).needed is True
    assert noise_needed(1000, 4, 0.5, information_bits=99.0).information_bits == 2.0


def test_bad_numbers_are_named() -> None:
    with pytest.raises(InvalidParameter, match="bayes_error"):
        noise_needed(10, 10, 2.0)
    with pytest.raises(InvalidParameter, match="prior_max"):
        noise_needed(10, 10, 0.5, prior_max=0.01)
