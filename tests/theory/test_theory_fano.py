"""Fano's inequality: solved to the end, and never above the true error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import information_bits, random_conditional, random_law, steady, success, uniform
from theory_precise import fano_success, relative_error

from entropie.theory import fano, paper

SEEDS = st.integers(0, 2**32)


@pytest.mark.parametrize("users", [1, 2, 3, 100, 1370637, 10**12])
@pytest.mark.parametrize("bits", [0.0, 1e-12, 1e-6, 0.01, 0.5, 1.0, 6.0, 19.0, 39.0, 100.0])
def test_uniform_users_against_a_direct_solution(users: int, bits: float) -> None:
    solved = fano_success(bits, 1.0 / users)
    assert relative_error(fano.success(bits, users), solved) < 1e-11
    assert fano.bayes_error(bits, users) == pytest.approx(float(1 - solved), rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("prior_max", [1e-6, 0.01, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("bits", [0.0, 1e-9, 0.01, 1.0, 6.0, 30.0])
def test_general_prior_against_a_direct_solution(bits: float, prior_max: float) -> None:
    assert relative_error(fano.success(bits, 10**6, prior_max), fano_success(bits, prior_max)) < 1e-11


@pytest.mark.parametrize("guesses", [2, 10, 99, 100, 10**6])
@pytest.mark.parametrize("bits", [0.0, 0.01, 1.0, 6.0])
def test_lists_against_a_direct_solution(bits: float, guesses: int) -> None:
    assert relative_error(fano.success(bits, 100, None, guesses), fano_success(bits, min(1.0, guesses / 100))) < 1e-11


@steady(200)
@given(SEEDS, st.integers(1, 7), st.integers(1, 7), st.integers(1, 3))
def test_never_above_the_true_error(seed: int, users: int, outputs: int, guesses: int) -> None:
    rng = np.random.default_rng(seed)
    laws = random_conditional(rng, users, outputs)
    bits = information_bits(uniform(users), laws)
    reached = success(uniform(users), laws, guesses)
    assert reached <= fano.success(bits + 1e-14, users, None, guesses) * (1 + 1e-7)
    prior = random_law(rng, users)
    bits = information_bits(prior, laws)
    reached = success(prior, laws, guesses)
    assert reached <= fano.success(bits + 1e-14, users, float(prior.max()), guesses) * (1 + 1e-7)
    assert 1.0 - success(prior, laws) >= fano.bayes_error(bits + 1e-14, users, float(prior.max())) - 1e-7
    assert 1.0 - success(prior, laws) >= paper.bayes_error(bits, users, float(prior.max())) - 1e-12


def test_attained_by_a_symmetric_channel() -> None:
    """Uniform users, right with probability s and else evenly wrong: Fano without loss."""
    n, s = 6, 0.7
    laws = np.full((n, n), (1 - s) / (n - 1))
    np.fill_diagonal(laws, s)
    assert fano.success(information_bits(uniform(n), laws), n) == pytest.approx(s, rel=1e-12)


@steady(200)
@given(st.integers(2, 10**12), st.floats(0.0, 45.0))
def test_at_least_as_good_as_the_paper(users: int, bits: float) -> None:
    assert fano.bayes_error(bits, users) >= paper.bayes_error(bits, users) - 1e-15
    prior_max = min(1.0, 3.0 / users)
    assert fano.bayes_error(bits, users, prior_max) >= paper.bayes_error(bits, users, prior_max) - 1e-15


@steady(50)
@given(st.integers(1, 10**12), st.floats(0.0, 45.0))
def test_uniform_prior_gives_the_uniform_form(users: int, bits: float) -> None:
    assert fano.success(bits, users, 1.0 / users) == fano.success(bits, users)


def test_ends() -> None:
    assert fano.success(0.0, 4) == pytest.approx(0.25, rel=1e-15)
    assert fano.bayes_error(0.0, 4) == pytest.approx(0.75, rel=1e-15)
    assert fano.bayes_error(2.0, 4) == pytest.approx(0.0, abs=1e-12)
    assert fano.success(math.inf, 4) == 1.0
    assert fano.success(0.0, 1) == 1.0
