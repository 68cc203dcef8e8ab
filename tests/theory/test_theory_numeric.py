"""Every formula over its whole range against 120 digits: epsilon to 700 and beyond, 10^12 users, sizes to 10^18."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import theory_precise as precise
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import steady
from theory_precise import log2, mp, relative_error

from entropie.theory import any_mechanism, local_hashing, loss, paper, randomized_response, special, worst_case

RANGE: dict[str, list] = {
    "users": [1, 2, 3, 1000, 1370637, 10**12],
    "items": [2, 3, 1000, 10500393, 10**18],
    "g": [2, 3, 64, 10**5, 10**9, 10**18],
    "epsilon": [0.0, 1e-6, 1e-3, 0.03, 0.5, 1.0, 5.0, 12.72, 30.0, 100.0, 350.0, 700.0, 705.0, 800.0, math.inf],
    "order": [1.0, 1.0 + 1e-9, 1.01, 2.0, 50.0, 1e6, math.inf],
    "theta": [0.0, 1e-24, 1e-6, 0.3, 0.999999, 1.0],
    "probability": [0.0, 1e-6, 0.3, 1.0],
    "reports": [1, 2, 50, 10**6],
    "guesses": [1, 2, 1000, 10**9],
    "share": [0.0, 0.5, 1.0],
}


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(lambda x: min(high, max(low, math.exp(x))))


WHOLE = st.floats(0.0, 18.0).map(lambda x: max(2, int(10**x)))
DRAWN: dict[str, st.SearchStrategy] = {
    "users": st.floats(0.0, 12.0).map(lambda x: int(10**x)),
    "items": WHOLE,
    "g": WHOLE,
    "epsilon": log_uniform(1e-6, 700.0),
    "order": log_uniform(1e-9, 1e6).map(lambda x: 1.0 + x),
    "theta": log_uniform(1e-24, 1.0),
    "probability": st.floats(0.0, 1.0),
    "reports": st.integers(1, 10**6),
    "guesses": st.floats(0.0, 12.0).map(lambda x: int(10**x)),
    "share": st.floats(0.0, 1.0),
}


@dataclass(frozen=True)
class Quantity:
    """A public function, what it should be, and the parameters both take."""

    over: str
    call: Callable
    true: Callable
    tolerance: float = 1e-11

    def error(self, values: tuple) -> float:
        return relative_error(self.call(*values), self.true(*values))


def rr_variance(p: float, users: int, items: int, epsilon: float):
    return precise.variance(p, users, items, epsilon, mp.mpf(0))


def glh_variance(p: float, users: int, g: int, epsilon: float):
    return precise.variance(p, users, g, epsilon, mp.mpf(1) / g)


def prior_of(users: int, share: float) -> float:
    """From 1/n (share 0) to 1 (share 1) on a logarithmic scale."""
    return min(1.0, (1.0 / users) ** (1.0 - share))


def exact_certified_bits(users: int, items: int, g: int, epsilon: float, share: float):
    m = min(users, items)
    return min(
        (1 - mp.mpf(share / g)) * precise.information_bits(g, m, epsilon),
        precise.information_bits(g, min(m, g), epsilon),
    )


def exact_prior_success(users: int, items: int, g: int, epsilon: float, share: float, guesses: int):
    theta, p = precise.theta(epsilon, g), mp.mpf(prior_of(users, share))
    named = min(guesses, users) * p
    return theta * min(mp.mpf(1), min(users, items, g) * named) + precise.lie(epsilon, g) * min(mp.mpf(1), named)


def exact_posterior(users: int, epsilon: float, reports: int):
    if math.isinf(epsilon):
        return mp.mpf(1)
    w = mp.exp(mp.mpf(epsilon) * reports)
    return w / (w + users - 1)


def exact_tanh(epsilon: float):
    return mp.mpf(1) if math.isinf(epsilon) else mp.tanh(mp.mpf(epsilon) / 2)


def exact_epsilon(theta: float, size: int):
    return mp.inf if theta == 1.0 else mp.log1p(size * mp.mpf(theta) / (1 - mp.mpf(theta)))


def exact_per_user(size: int, epsilon: float, kept=1):
    if math.isinf(epsilon):
        return mp.inf
    return kept * precise.theta(epsilon, size) * mp.mpf(epsilon) / mp.ln2


def exact_ldp_paper(users: int, items: int, epsilon: float):
    cap = log2(mp.mpf(min(users, items)))
    return cap if math.isinf(epsilon) else min(mp.mpf(epsilon) / mp.ln2, mp.mpf(epsilon) ** 2 / mp.ln2, cap)


def exact_rates_sum(users: int, items: int, epsilon: float):
    one = rr_variance(1.0, users, items, epsilon)
    return one + (items - 1) * rr_variance(0.0, users, items, epsilon)


QUANTITIES = {
    "theta_of": Quantity("epsilon items", special.theta_of, precise.theta),
    "lie_probability": Quantity("epsilon items", special.lie_probability, precise.lie),
    "epsilon_of": Quantity("theta items", special.epsilon_of, exact_epsilon),
    "rr.alpha_bits": Quantity(
        "users items epsilon",
        randomized_response.alpha_bits,
        lambda n, k, e: precise.information_bits(k, min(n, k), e),
    ),
    "rr.success": Quantity(
        "users items epsilon guesses",
        randomized_response.success,
        lambda n, k, e, guesses: precise.success(n, k, k, e, guesses),
    ),
    "rr.success_with_prior_max": Quantity(
        "users share items epsilon",
        lambda n, s, k, e: randomized_response.success_with_prior_max(n, prior_of(n, s), k, e),
        lambda n, s, k, e: precise.success_with_prior_max(n, prior_of(n, s), k, e),
    ),
    "rr.contraction": Quantity(
        "items epsilon", randomized_response.contraction, lambda k, e: precise.theta(e, k) * exact_tanh(e)
    ),
    "rr.per_user_bits": Quantity("items epsilon", randomized_response.per_user_bits, exact_per_user),
    "glh.alpha_bits": Quantity(
        "users items g epsilon share",
        lambda n, k, g, e, s: local_hashing.alpha_bits(n, k, g, e, s / g),
        exact_certified_bits,
    ),
    "glh.success": Quantity(
        "users items g epsilon guesses",
        local_hashing.success,
        lambda n, k, g, e, guesses: precise.success(n, g, min(n, k, g), e, guesses),
    ),
    "glh.success_ideal": Quantity(
        "users items g epsilon",
        local_hashing.success_ideal,
        lambda n, k, g, e: (precise.lie(e, g) + precise.theta(e, g) * precise.filled(min(n, k), g)) / n,
    ),
    "glh.filled_buckets": Quantity("users g", local_hashing.filled_buckets, precise.filled),
    "glh.success_with_prior_max": Quantity(
        "users items g epsilon share guesses",
        lambda n, k, g, e, s, guesses: local_hashing.success_with_prior_max(n, prior_of(n, s), k, g, e, guesses),
        exact_prior_success,
    ),
    "glh.contraction": Quantity(
        "g epsilon share",
        lambda g, e, s: local_hashing.contraction(g, e, s / g),
        lambda g, e, s: (1 - mp.mpf(s / g)) * precise.theta(e, g) * exact_tanh(e),
    ),
    "glh.per_user_bits": Quantity(
        "g epsilon share",
        lambda g, e, s: local_hashing.per_user_bits(g, e, s / g),
        lambda g, e, s: exact_per_user(g, e, 1 - mp.mpf(s / g)),
    ),
    "any.alpha_bits": Quantity("users items epsilon", any_mechanism.alpha_bits, precise.ldp_bits),
    "any.contraction": Quantity("epsilon", any_mechanism.contraction, lambda e: exact_tanh(e) ** 2),
    "any.posterior_max": Quantity("users epsilon reports", any_mechanism.posterior_max, exact_posterior),
    "paper.alpha_bits_ldp": Quantity("users items epsilon", paper.alpha_bits_ldp, exact_ldp_paper),
    "paper.alpha_bits": Quantity(
        "users items epsilon",
        paper.alpha_bits,
        lambda n, k, e: precise.theta(e, k) * log2(mp.mpf(min(n, k))),
    ),
    "paper.alpha_bits hashed": Quantity(
        "users items epsilon g",
        paper.alpha_bits,
        lambda n, k, e, g: precise.theta(e, g) * log2(mp.mpf(min(n, k))),
    ),
    "paper.mi_ldp_bits": Quantity(
        "items epsilon", paper.mi_ldp_bits, lambda k, e: precise.theta(e, k) * log2(mp.mpf(k))
    ),
    "worst.max_leakage_bits": Quantity(
        "users items epsilon",
        worst_case.max_leakage_bits,
        lambda n, k, e: log2(1 + precise.theta(e, k) * (min(n, k) - 1)),
    ),
    "worst.max_leakage_bits_hash": Quantity(
        "users items g epsilon",
        worst_case.max_leakage_bits_hash,
        lambda n, k, g, e: log2(1 + precise.theta(e, g) * (min(n, k, g) - 1)),
    ),
    "worst.order_pie_bits": Quantity(
        "users items epsilon order",
        worst_case.order_pie_bits,
        lambda n, k, e, a: precise.sibson_bits(k, min(n, k), e, a),
    ),
    "loss.randomized_response_l2": Quantity(
        "probability users items epsilon", loss.randomized_response_l2, rr_variance
    ),
    "loss.local_hashing_l2": Quantity("probability users g epsilon", loss.local_hashing_l2, glh_variance),
    "loss.rates rr": Quantity(
        "probability users items epsilon",
        lambda p, n, k, e: loss.randomized_response_rates(k, e).l2(p, n),
        rr_variance,
    ),
    "loss.rates glh": Quantity(
        "probability users g epsilon share",
        lambda p, n, g, e, s: loss.local_hashing_rates(g, e, s / g).l2(p, n),
        lambda p, n, g, e, s: precise.variance(p, n, g, e, mp.mpf(s / g)),
    ),
    "loss.l2_sum": Quantity(
        "users items epsilon",
        lambda n, k, e: loss.randomized_response_rates(k, e).l2_sum(k, n),
        exact_rates_sum,
    ),
    "loss.local_hashing_l2_limit": Quantity(
        "probability users theta",
        loss.local_hashing_l2_limit,
        lambda p, n, t: mp.inf if t == 0 else mp.mpf(p) * (1 - mp.mpf(t)) / (n * mp.mpf(t)),
    ),
}

GRID_LIMIT = 1500
"""Points of the whole grid that one test looks at, evenly spread when there are more."""


def grid(quantity: Quantity) -> list[tuple]:
    points = list(itertools.product(*(RANGE[name] for name in quantity.over.split())))
    return points[:: max(1, len(points) // GRID_LIMIT)]


@pytest.mark.parametrize("name", QUANTITIES)
def test_whole_range(name: str) -> None:
    quantity = QUANTITIES[name]
    wrong = []
    for values in grid(quantity):
        try:
            error = quantity.error(values)
        except (ArithmeticError, ValueError) as problem:
            wrong.append((values, repr(problem)))
            continue
        if error > quantity.tolerance:
            wrong.append((values, quantity.call(*values), mp.nstr(quantity.true(*values), 12)))
    assert not wrong, f"{len(wrong)} points, the first: {wrong[:5]}"


@pytest.mark.parametrize("name", QUANTITIES)
def test_anywhere_in_the_range(name: str) -> None:
    quantity = QUANTITIES[name]

    @steady(40)
    @given(st.tuples(*(DRAWN[part] for part in quantity.over.split())))
    def check(values: tuple) -> None:
        assert quantity.error(values) <= quantity.tolerance

    check()


# --- means over an ideal hash ---------------------------------------------------------------------------------

IDEAL = [
    # inputs, hash size: every count, a few counts, a normal-looking mass, an almost empty and a huge table
    *[(m, g) for m in (1, 2, 3, 20, 200) for g in (2, 3, 1000, 10**18)],
    (2000, 2),
    (2000, 7),
    (1370637, 1000),
    (1370637, 2),
    (1370637, 10**8),
    (10**12, 2),
    (10**12, 10**5),
    (10**12, 10**8),
    (10**12, 4 * 10**9),
    (10**12, 10**12),
    (10**12, 10**18),
]
BUDGETS = [1e-6, 1e-2, 1.0, 12.72, 100.0, 700.0, 750.0, math.inf]


def long_sum(inputs: int, g: int) -> bool:
    """The precise mean runs over hundreds of counts: a few settings must do."""
    return 50 < inputs / g <= 3000


@pytest.mark.parametrize(("inputs", "g"), IDEAL)
def test_ideal_hash_information(inputs: int, g: int) -> None:
    for epsilon in BUDGETS if not long_sum(inputs, g) else [12.72, math.inf]:
        got = local_hashing.alpha_bits_ideal(inputs, 10**18, g, epsilon)
        assert relative_error(got, precise.ideal_bits(inputs, 10**18, g, epsilon)) < 1e-10, epsilon


@pytest.mark.parametrize(("inputs", "g"), [(4000, 2), (30000, 12)])
def test_both_ways_to_a_precise_mean_agree(inputs: int, g: int) -> None:
    """The moments used for huge tables give what the sum term by term gives."""
    series = precise._x_log_x_series(mp.mpf(1) / g, precise.LAST_MOMENT)
    by_moments = mp.fsum(c * mu for c, mu in zip(series, precise.share_moments(inputs, g), strict=True))
    assert abs(by_moments / precise._direct_mean(precise._x_log_x, inputs, g) - 1) < 1e-30


def test_the_best_two_valued_ratio() -> None:
    """The tight bound is the largest -ln s + v (1 - 1/s): found again by search, not by its derivative."""
    for epsilon in (0.01, 1.0, 20.0):
        w = math.exp(epsilon)

        def nats(p: float, w: float = w, epsilon: float = epsilon) -> float:
            return -math.log1p(p * (w - 1)) + p * w * epsilon / (1 + p * (w - 1))

        best = (
            max(nats(i / 10**4) for i in range(10**4))
            if epsilon < 5
            else max(nats(math.exp(-i / 500)) for i in range(10**4))
        )
        assert any_mechanism.alpha_bits(10**18, 10**18, epsilon) == pytest.approx(best / math.log(2), rel=1e-4)


@pytest.mark.parametrize("order", [1.0 + 1e-9, 1.5, 10.0, 1e9])
@pytest.mark.parametrize("prior_max", [1e-12, 0.1, 1.0])
def test_success_from_order(order: float, prior_max: float) -> None:
    for bits in (0.0, 1e-9, 3.0, 40.0):
        share = (mp.mpf(order) - 1) / mp.mpf(order)
        true = min(mp.mpf(1), (mp.mpf(prior_max) * mp.mpf(2) ** mp.mpf(bits)) ** share)
        assert relative_error(worst_case.success_from_order(bits, order, prior_max), true) < 1e-12
