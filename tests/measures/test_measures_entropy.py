"""Entropy of classes: exact for the people, and an interval that holds the population's whatever the law."""

from __future__ import annotations

import math

import numpy as np
import pytest

from entropie.measures.entropy import entropy


def bits(shares: np.ndarray) -> float:
    shares = shares[shares > 0]
    return float(-(shares @ np.log2(shares)))


def zipf(exponent: float, values: int = 100_000) -> np.ndarray:
    shares = np.arange(1, values + 1) ** -exponent
    return shares / shares.sum()


def geometric(share: float) -> np.ndarray:
    shares = share * (1 - share) ** np.arange(int(40 / share))
    return shares / shares.sum()


def rounded_income(step: float) -> np.ndarray:
    edges = np.arange(step / 2, 800_000, step)
    below = np.array([0.5 * (1 + math.erf(math.log(edge / 30_000) / 0.6 / math.sqrt(2))) for edge in edges])
    shares = np.diff(np.concatenate(([0.0], below)))
    return shares / shares.sum()


LAWS = {
    "uniform": np.full(1000, 1e-3),
    "geometric": geometric(0.01),
    "zipf 1.2": zipf(1.2),
    "zipf 2": zipf(2.0),
    "income": rounded_income(500.0),
    "mixture": np.concatenate((np.full(10, 0.05), np.full(5000, 1e-4))),
}
RUNS = 40


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("people", [1000, 5000])
def test_holds_the_entropy_of_the_law(law, people):
    truth, rng = bits(LAWS[law]), np.random.default_rng(people)
    held = 0
    for _ in range(RUNS):
        drawn = rng.multinomial(people, LAWS[law])
        _, low, high = entropy(drawn[drawn > 0], people)
        held += low <= truth and (high is None or truth <= high)
    assert held >= 0.9 * RUNS - 2.33 * math.sqrt(RUNS * 0.09)  # 1 % if the coverage were 90 %


def test_values_not_seen_are_what_the_interval_was_missing():
    """Power: without the terms beyond the sample, the upper end lies below the truth nearly always."""
    law, people, rng = rounded_income(150.0), 5000, np.random.default_rng(3)
    truth, missing = bits(law), 0
    for _ in range(RUNS):
        drawn = rng.multinomial(people, law)
        sizes = drawn[drawn > 0]
        exact, low, high = entropy(sizes, people)
        assert 0.005 < np.count_nonzero(sizes == 1) / people < 0.05  # few are alone, so that there must be an end
        assert high is not None
        lacking = (sizes.size - 1) / (2 * people * math.log(2))  # Miller and Madow alone
        missing += exact + lacking + (exact + lacking - low) < truth
        assert low <= truth <= high + 0.05
    assert missing > RUNS / 2


@pytest.mark.parametrize("law", ["uniform", "zipf 1.2", "income", "mixture"])
@pytest.mark.parametrize("people", [1000, 9000])
def test_a_sample_of_a_finite_population(law, people):
    population, rng, held, widths = 10_000, np.random.default_rng(people), 0, []
    for _ in range(RUNS):
        everybody = rng.multinomial(population, LAWS[law])
        everybody = everybody[everybody > 0]
        truth = bits(everybody / population)
        drawn = rng.multivariate_hypergeometric(everybody, people, method="marginals")
        _, low, high = entropy(drawn[drawn > 0], people, population)
        held += low <= truth <= high
        widths.append(high - low)
    assert held >= 0.9 * RUNS - 2.33 * math.sqrt(RUNS * 0.09)
    if people == 9000:
        assert max(widths) < 0.3


def test_the_whole_population_leaves_nothing_open():
    sizes = np.array([1, 1, 2, 6])
    exact, low, high = entropy(sizes, 10, 10)
    assert low == high == exact == pytest.approx(bits(sizes / 10))
    assert entropy(np.ones(64, np.int64), 64, 640)[2] == pytest.approx(math.log2(640))  # never above log2 N
    assert entropy(np.ones(64, np.int64), 64)[2] is None
