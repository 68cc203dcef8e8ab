"""The figures the paper prints, its slips, and inverses that undo its bounds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import steady

from entropie.errors import InvalidParameter, Unreachable
from entropie.theory import fano, paper, randomized_response
from entropie.theory.special import epsilon_of, theta_of

USERS, ITEMS = 1370637, 10500393


def digits(value: float, count: int) -> float:
    """Rounded to `count` significant digits."""
    return float(f"{value:.{count - 1}e}")


@pytest.mark.parametrize(("epsilon", "printed"), [(0.1, 0.014), (1.0, 1.4), (10.0, 14.0)])
def test_printed_alpha_of_any_ldp_mechanism(epsilon: float, printed: float) -> None:
    assert digits(paper.alpha_bits_ldp(USERS, ITEMS, epsilon), 2) == printed


@pytest.mark.parametrize(("epsilon", "printed"), [(0.1, 2.0e-7), (1.0, 3.3e-6), (10.0, 0.043)])
def test_printed_alpha_of_randomized_response(epsilon: float, printed: float) -> None:
    assert digits(paper.alpha_bits(USERS, ITEMS, epsilon), 2) == printed


TABLE = [  # epsilon (12.72 in the third row, which is set by theta), theta, alpha paper and exact, error paper and exact
    (1.0, 1.64e-7, 3.34e-6, 1.37e-7, 0.9509, 0.999999),
    (10.0, 2.09e-3, 0.0427, 0.0272, 0.9489, 0.9979),
    (epsilon_of(0.0309, ITEMS), 0.0309, 0.630, 0.517, 0.9200, 0.9691),
    (16.0, 0.4584, 9.344, 9.044, 0.4926, 0.5416),
]


def agrees(value: float, printed: float, decimals: int | None = None) -> bool:
    """To the digits printed (3 significant ones for small numbers)."""
    return round(value, decimals) == printed if decimals is not None else digits(value, 3) == printed


@pytest.mark.parametrize(("epsilon", "theta", "alpha", "exact", "error", "exact_error"), TABLE)
def test_check_table(
    epsilon: float, theta: float, alpha: float, exact: float, error: float, exact_error: float
) -> None:
    small = epsilon < 15
    assert agrees(theta_of(epsilon, ITEMS), theta, None if small else 4)
    assert agrees(paper.alpha_bits(USERS, ITEMS, epsilon), alpha, None if small else 3)
    assert agrees(randomized_response.alpha_bits(USERS, ITEMS, epsilon), exact, None if small else 3)
    assert agrees(paper.bayes_error(paper.alpha_bits(USERS, ITEMS, epsilon), USERS), error, 4)
    worst = 1.0 - randomized_response.success(USERS, ITEMS, epsilon)
    assert agrees(worst, exact_error, 6 if exact_error == 0.999999 else 4)


def test_pseudonymisation_alone() -> None:
    assert round(paper.bayes_error(math.log2(5), 10**8), 3) == 0.875
    assert round(paper.bayes_error(math.log2(5), 10**8, 0.01), 3) == 0.5


def test_slip_nats_printed_as_bits() -> None:
    """A million users: alpha < 2.07 (6.21) for an error of 0.8 (0.5) is in nats."""
    for wanted, bits, nats in ((0.8, 2.986, 2.07), (0.5, 8.966, 6.21)):
        alpha = paper.alpha_bits_for(wanted, 10**6)
        assert round(alpha, 3) == bits
        assert round(alpha * math.log(2), 2) == nats


def test_slip_half_the_truth_does_not_guarantee_half_the_errors() -> None:
    assert round(paper.bayes_error(0.5 * math.log2(USERS), USERS), 3) == 0.451
    epsilon = epsilon_of(0.5, ITEMS)
    assert round(paper.bayes_error(paper.alpha_bits(USERS, ITEMS, epsilon), USERS), 3) == 0.451
    assert round(1.0 - randomized_response.success(USERS, ITEMS, epsilon), 7) == 0.4999996


def test_slip_sign_of_the_general_prior() -> None:
    """1 + (I+1)/log p_1: with the printed minus sign the bound would exceed 1."""
    assert paper.bayes_error(1.0, 1000, 0.01) == pytest.approx(1 + 2.0 / math.log2(0.01))
    assert 0.0 < paper.bayes_error(1.0, 1000, 0.01) < 1.0


def test_several_reports_and_mutual_information_privacy() -> None:
    single = paper.alpha_bits(USERS, ITEMS, 10.0)
    assert paper.alpha_bits_composed(single, 7) == pytest.approx(7 * single)
    assert paper.mi_ldp_bits(ITEMS, 10.0) == pytest.approx(theta_of(10.0, ITEMS) * math.log2(ITEMS))
    assert paper.mi_ldp_bits(ITEMS, 10.0, 1000) == pytest.approx(theta_of(10.0, 1000) * math.log2(ITEMS))


@steady(200)
@given(st.integers(1, 10**12), st.integers(2, 10**18), st.floats(1e-6, 700.0))
def test_exact_value_is_within_the_theorem(users: int, items: int, epsilon: float) -> None:
    exact = randomized_response.alpha_bits(users, items, epsilon)
    assert exact <= paper.alpha_bits(users, items, epsilon) * (1 + 1e-12)
    worst = 1.0 - randomized_response.success(users, items, epsilon)
    assert worst >= paper.bayes_error(exact, users) - 1e-12
    assert worst >= fano.bayes_error(exact, users) - 1e-12


# --- inverses -------------------------------------------------------------------------------------------------


@steady(200)
@given(st.integers(4, 10**12), st.floats(0.0, 0.999999))
def test_information_for_an_error(users: int, share: float) -> None:
    wanted = share * (1.0 - 1.0 / math.log2(users))
    alpha = paper.alpha_bits_for(wanted, users)
    assert paper.bayes_error(alpha, users) == pytest.approx(wanted, abs=1e-14)
    assert paper.bayes_error(alpha + 1e-9, users) < wanted or wanted < 1e-9


@steady(200)
@given(st.integers(4, 10**12), st.floats(0.0, 0.999999), st.floats(0.0, 1.0))
def test_information_for_an_error_under_a_prior(users: int, share: float, spread: float) -> None:
    prior_max = users**-spread / 2.1 if users**-spread / 2.1 > 1 / users else 1 / users
    bits = -math.log2(prior_max)
    wanted = share * (1.0 - 1.0 / bits) if bits > 1 else 0.0
    alpha = paper.alpha_bits_for(wanted, users, prior_max)
    assert paper.bayes_error(alpha, users, prior_max) == pytest.approx(wanted, abs=1e-14)


@steady(200)
@given(st.integers(2, 10**12), st.integers(2, 10**18), st.floats(0.0, 1.0))
def test_theta_for_an_information(users: int, items: int, share: float) -> None:
    alpha = share * math.log2(min(users, items))
    theta = paper.theta_for(alpha, users, items)
    assert theta * math.log2(min(users, items)) == pytest.approx(alpha, rel=1e-14)
    assert paper.theta_for(100.0, users, items) == 1.0


@steady(300)
@given(
    st.integers(8, 10**12),
    st.integers(2, 10**18),
    st.floats(0.0, 0.999999),
    st.one_of(st.none(), st.integers(2, 10**18)),
    st.booleans(),
)
def test_epsilon_for_an_error(users: int, items: int, share: float, g: int | None, skewed: bool) -> None:
    prior_max = 2.5 / users if skewed else None
    bits = -math.log2(prior_max) if prior_max else math.log2(users)
    wanted = share * (1.0 - 1.0 / bits)
    epsilon = paper.epsilon_for(wanted, users, items, g, prior_max)
    reached = paper.bayes_error(paper.alpha_bits(users, items, epsilon, g), users, prior_max)
    if math.isinf(epsilon):  # no noise is needed
        assert reached >= wanted
    else:
        assert reached == pytest.approx(wanted, abs=1e-12)
        more = paper.alpha_bits(users, items, epsilon + 1e-6, g)
        assert paper.bayes_error(more, users, prior_max) <= wanted + 1e-12


@pytest.mark.parametrize("prior_max", [None, 0.6, 1.0])
def test_an_error_beyond_the_bound_is_refused_in_words(prior_max: float | None) -> None:
    with pytest.raises(Unreachable, match="exact bound"):
        paper.alpha_bits_for(0.95, 100, prior_max)


def test_one_user_is_always_known() -> None:
    assert paper.bayes_error(0.0, 1) == 0.0
    assert paper.bayes_error(0.0, 5, 1.0) == 0.0
    with pytest.raises(Unreachable):
        paper.alpha_bits_for(0.5, 1)


@steady(100)
@given(st.integers(2, 10**12), st.floats(0.0, 40.0))
def test_uniform_prior_gives_the_uniform_form(users: int, bits: float) -> None:
    assert paper.bayes_error(bits, users, 1.0 / users) == pytest.approx(paper.bayes_error(bits, users), abs=1e-14)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: paper.alpha_bits(0, 5, 1.0), "users"),
        (lambda: paper.alpha_bits(5, 2.5, 1.0), "domain_size"),
        (lambda: paper.alpha_bits_ldp(5, 5, -1.0), "epsilon"),
        (lambda: paper.bayes_error(1.0, 10, 0.05), "prior_max"),
        (lambda: paper.alpha_bits_for(1.5, 10), "bayes_error"),
        (lambda: paper.alpha_bits_composed(1.0, 0), "reports"),
    ],
)
def test_bad_numbers_are_named(call, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        call()
