"""Estimates: unbiased, with the variance and the standard error they state.

Exactly on small cases, by summing over every possible report; at five standard deviations with fixed seeds elsewhere.
Each statistical test has a power check: the same assertion fails for an estimator that is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from entropie.estimation.estimates import Estimates, estimate
from entropie.mechanisms.choice import RandomChoice
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.theory.loss import CountingRates

ONE = 2**64
DEVIATIONS = 5.0
Floats = NDArray[np.float64]


def support_rates(mechanism: Any) -> tuple[Fraction, Fraction]:
    """(mu, nu) from T, g and P by the definitions: how often a report supports its own item, and another one."""
    if isinstance(mechanism, Identity):
        return Fraction(1), Fraction(0)
    if isinstance(mechanism, RandomChoice):
        weights = [Fraction(numerator, ONE) for numerator in mechanism.weight_numerators]
        rates = [support_rates(part) for part in mechanism.parts]
        mu, nu = (sum(w * r[i] for w, r in zip(weights, rates, strict=True)) for i in (0, 1))
        return Fraction(mu), Fraction(nu)
    theta = Fraction(mechanism.theta_numerator, ONE)
    if isinstance(mechanism, RandomizedResponse):
        noise = (1 - theta) / mechanism.domain_size
        return theta + noise, noise
    size, prime = mechanism.hash_size, mechanism.family.prime
    q, r = divmod(prime, size)
    together = Fraction(r * (q + 1) * q + (size - r) * q * (q - 1), prime * (prime - 1))
    return theta + (1 - theta) / size, (1 - theta) / size + theta * together


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(domain_size=4, epsilon=1.0),
        LocalHashing(domain_size=4, hash_size=2, epsilon=1.0),
        LocalHashing(domain_size=4, hash_size=3, epsilon=2.0),
        LocalHashing(domain_size=3, hash_size=5, epsilon=1.0),
        LocalHashing(domain_size=4, hash_size=3, epsilon=1.0, prime=11),
    ],
    ids=["rr", "blh", "glh", "glh-wide", "glh-other-prime"],
)
def test_exactly_unbiased_over_every_report(mechanism: Any) -> None:
    """Sum over all reports of their exact probability times the estimate each gives alone: the indicator of the value.

    An estimate is linear in the counts, so this is the bias for any number of reports. In floating point, 1e-12.
    """
    theta, k = Fraction(mechanism.theta_numerator, ONE), mechanism.domain_size
    for value in range(k):
        mean = np.zeros(k)
        if isinstance(mechanism, RandomizedResponse):
            for y in range(k):
                mass = (1 - theta) / k + theta * (y == value)
                mean += float(mass) * mechanism.estimate([y]).probabilities
        else:
            prime, size = mechanism.family.prime, mechanism.hash_size
            for a in range(1, prime):
                for b in range(prime):
                    for y in range(size):
                        truth = (a * value + b) % prime % size == y
                        mass = ((1 - theta) / size + theta * truth) / (prime * (prime - 1))
                        mean += float(mass) * mechanism.estimate(([a], [b], [y])).probabilities
        assert mean == pytest.approx(np.eye(k)[value], abs=1e-12)


@dataclass(frozen=True)
class Trial:
    """Estimates of one fixed population, made anew many times."""

    mechanism: Any
    truth: Floats
    reports: int
    estimates: Floats  # repetitions x items
    squared_errors: Floats  # the squares of the standard errors stated


def run(mechanism: Any, seed: int, reports: int = 2000, repetitions: int = 300, rates: Any = None) -> Trial:
    k = mechanism.domain_size
    shares = 1.0 / np.arange(1, k + 1)
    shares[k // 2 :] = 0.0  # the second half of the items occurs nowhere
    holders = np.floor(reports * shares / shares.sum()).astype(int)
    holders[0] += reports - holders.sum()
    values = np.repeat(np.arange(k), holders)
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(repetitions):
        counts = mechanism.count(mechanism.simulate(values, rng))
        made.append(estimate(counts, rates or mechanism.rates))
    return Trial(
        mechanism,
        holders / reports,
        reports,
        np.array([one.probabilities for one in made]),
        np.array([one.standard_errors**2 for one in made]),
    )


def stated_variance(trial: Trial) -> Floats:
    """[p mu(1-mu) + (1-p) nu(1-nu)] / (n (mu-nu)^2) for a population that stays the same."""
    mu, nu = support_rates(trial.mechanism)
    own, other = mu * (1 - mu), nu * (1 - nu)
    scale = trial.reports * (mu - nu) ** 2
    return trial.truth * float(own / scale) + (1 - trial.truth) * float(other / scale)


def fourth_cumulant(trial: Trial) -> Floats:
    """Of an estimate: a sum of independent indicators, each adding q(1-q)(1-6q(1-q))."""
    own, other = (q * (1 - q) for q in support_rates(trial.mechanism))
    mu, nu = support_rates(trial.mechanism)
    scale = trial.reports**3 * (mu - nu) ** 4
    parts = [float(v * (1 - 6 * v) / scale) for v in (own, other)]
    return trial.truth * parts[0] + (1 - trial.truth) * parts[1]


def bias_in_deviations(trial: Trial) -> float:
    """The largest bias over all items, in standard deviations of the mean."""
    deviation = np.sqrt(stated_variance(trial) / len(trial.estimates))
    return float(np.max(np.abs(trial.estimates.mean(axis=0) - trial.truth) / deviation))


def variance_in_deviations(trial: Trial, spread: Floats) -> float:
    """The largest difference between observed and stated variance, in standard deviations of the former."""
    repetitions = len(spread)
    stated = stated_variance(trial)
    deviation = np.sqrt(fourth_cumulant(trial) / repetitions + 2 * stated**2 / (repetitions - 1))
    return float(np.max(np.abs(spread.var(axis=0, ddof=1) - stated) / deviation))


MECHANISMS = {
    "rr": RandomizedResponse(domain_size=8, epsilon=1.0),
    "rr-many-items": RandomizedResponse(domain_size=1000, epsilon=6.0),
    "blh": LocalHashing.binary(domain_size=20, epsilon=1.0),
    "olh": LocalHashing.optimal(domain_size=20, epsilon=2.0),
    "glh-prime-equals-hash-size": LocalHashing(domain_size=100, hash_size=101, epsilon=4.0),
    "glh-prime-near-hash-size": LocalHashing(domain_size=90, hash_size=101, epsilon=4.0, prime=103),
    "glh-beyond-32-bits": LocalHashing(domain_size=50, hash_size=2**33, epsilon=22.0),
    "glh-large-prime": LocalHashing(domain_size=50, hash_size=16, epsilon=2.0, prime=2**61 - 1),
    "glh-large-prime-and-hash": LocalHashing(domain_size=50, hash_size=2**40, epsilon=28.0, prime=2**61 - 1),
    "choice": RandomChoice(
        [
            RandomizedResponse(domain_size=8, epsilon=2.0),
            LocalHashing(domain_size=8, hash_size=3, epsilon=2.0),
            Identity(8),
        ],
        [0.4, 0.5, 0.1],
    ),
}


@cache
def trial_of(name: str) -> Trial:
    return run(MECHANISMS[name], seed=sum(name.encode()))


@pytest.mark.parametrize("name", MECHANISMS)
def test_bias_and_variance(name: str) -> None:
    trial = trial_of(name)
    assert bias_in_deviations(trial) < DEVIATIONS
    assert variance_in_deviations(trial, trial.estimates) < DEVIATIONS


@pytest.mark.parametrize("name", MECHANISMS)
def test_standard_errors_are_the_spread_of_the_estimates(name: str) -> None:
    """Their square is linear in the estimate, so its mean is the variance exactly, where no estimate is cut at 0.

    The mean of the squares is far more certain than the observed variance, so that one decides the tolerance.
    """
    trial = trial_of(name)
    deviation = np.sqrt(stated_variance(trial))
    safe = (trial.truth > 6 * deviation) & (trial.truth < 1 - 6 * deviation)
    assert safe.any()
    stated = stated_variance(trial)[safe]
    slope = np.abs(stated_slope(trial)) * deviation[safe] / np.sqrt(len(trial.estimates))
    assert np.all(np.abs(trial.squared_errors.mean(axis=0)[safe] - stated) <= DEVIATIONS * slope + 1e-12 * stated)


def stated_slope(trial: Trial) -> float:
    """How the variance grows with p."""
    mu, nu = support_rates(trial.mechanism)
    return float((mu * (1 - mu) - nu * (1 - nu)) / (trial.reports * (mu - nu) ** 2))


@pytest.mark.parametrize("hash_size", [101, 97])
def test_the_printed_nu_is_far_off_where_the_prime_is_close_to_the_hash_size(hash_size: int) -> None:
    """Power: nu = 1/g instead of the rate of the family in use fails the same test."""
    mechanism = LocalHashing(domain_size=90, hash_size=hash_size, epsilon=4.0, prime=101)
    right = mechanism.rates
    naive = CountingRates(mu=right.mu, nu=1 / hash_size, gain=right.mu - 1 / hash_size, mu_off=right.mu_off)
    good, bad = run(mechanism, seed=7), run(mechanism, seed=7, rates=naive)
    assert bias_in_deviations(good) < DEVIATIONS < bias_in_deviations(bad)


def test_where_the_prime_is_the_hash_size_the_printed_nu_gives_a_sum_of_zero() -> None:
    """P = g = k: every report supports exactly one item, so both sums are certain: 1, and 0 with nu = 1/g."""
    mechanism = LocalHashing(domain_size=101, hash_size=101, epsilon=4.0)
    right = mechanism.rates
    naive = CountingRates(mu=right.mu, nu=1 / 101, gain=right.mu - 1 / 101, mu_off=right.mu_off)
    good, bad = run(mechanism, seed=8, repetitions=2), run(mechanism, seed=8, repetitions=2, rates=naive)
    assert good.estimates.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    assert bad.estimates.sum(axis=1) == pytest.approx(0.0, abs=1e-9)


def test_a_theta_ten_per_cent_off_is_noticed_in_bias_and_in_variance() -> None:
    """Power: reports made with another theta, estimated with the stated rates.

    The share of the first item shrinks by a tenth of its distance from 1/k; the spread of 3000 repetitions is known to
    2.6 %, and a theta 10 % smaller makes it larger by 1/0.81, 23 %.
    """
    right = RandomizedResponse(domain_size=8, epsilon=1.0)
    wrong = RandomizedResponse.from_theta(domain_size=8, theta=0.9 * right.theta)
    stated = run(right, seed=3, reports=200, repetitions=3000)
    assert bias_in_deviations(stated) < DEVIATIONS
    assert variance_in_deviations(stated, stated.estimates) < DEVIATIONS
    biased = run(wrong, seed=3, reports=200, repetitions=3000, rates=right.rates)
    assert bias_in_deviations(Trial(right, biased.truth, 200, biased.estimates, biased.squared_errors)) > DEVIATIONS
    rescaled = run(wrong, seed=3, reports=200, repetitions=3000)
    assert variance_in_deviations(stated, rescaled.estimates) > DEVIATIONS


@pytest.mark.parametrize("name", ["rr", "rr-many-items"])
def test_estimates_of_randomized_response_sum_to_one_exactly(name: str) -> None:
    assert trial_of(name).estimates.sum(axis=1) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("name", [name for name in MECHANISMS if not name.startswith("rr")])
def test_estimates_sum_to_about_one(name: str) -> None:
    trial = trial_of(name)
    sums = trial.estimates.sum(axis=1)
    assert abs(sums.mean() - 1.0) < DEVIATIONS * sums.std(ddof=1) / np.sqrt(len(sums))


def test_the_identity_gives_the_shares_themselves() -> None:
    made = Identity(4).estimate([0, 0, 1, 3, 3, 3])
    assert made.probabilities.tolist() == pytest.approx([2 / 6, 1 / 6, 0.0, 3 / 6])
    assert made.standard_errors == pytest.approx(np.zeros(4))  # nothing is random in what was sent


def test_estimates_and_standard_errors_by_hand() -> None:
    """n = 100, mu = 0.5, nu = 0.1: counts 0, 10, 30, 50, 100."""
    rates = CountingRates(mu=0.5, nu=0.1, gain=0.4, mu_off=0.5)
    made = Estimates(np.array([0, 10, 30, 50, 100]), 100, rates, 5)
    assert made.probabilities == pytest.approx([-0.25, 0.0, 0.5, 1.0, 2.25])
    want = [np.sqrt((p * 0.25 + (1 - p) * 0.09) / 100) / 0.4 for p in (0.0, 0.0, 0.5, 1.0, 1.0)]
    assert made.standard_errors == pytest.approx(want)


@pytest.mark.parametrize("name", ["rr", "olh", "glh-beyond-32-bits", "choice"])
def test_a_list_of_items_gives_the_same_estimates(name: str) -> None:
    mechanism: Any = MECHANISMS[name]
    reports = mechanism.simulate(np.arange(500) % mechanism.domain_size, np.random.default_rng(9))
    whole, some = mechanism.estimate(reports), mechanism.estimate(reports, items=[5, 0, 7])
    assert some.items.tolist() == [0, 5, 7]
    assert some.probabilities == pytest.approx(whole.probabilities[[0, 5, 7]], rel=1e-15)
    assert some.domain_size == whole.domain_size == mechanism.domain_size


def test_many_items_in_parallel_blocks() -> None:
    """Enough items that estimating is shared between cores: every one is filled in, once."""
    counts = np.random.default_rng(1).integers(0, 1000, 1_200_003).astype(np.uint32)
    rates = CountingRates(mu=0.5, nu=0.1, gain=0.4, mu_off=0.5)
    made = Estimates(counts, 1000, rates, len(counts)).probabilities
    assert np.allclose(made, (counts / 1000 - 0.1) / 0.4, rtol=0, atol=1e-12)
