"""Intervals and significance: coverage and false alarms computed exactly from the binomial law, not sampled."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator
from functools import cache
from statistics import NormalDist
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from entropie.errors import InvalidParameter
from entropie.estimation import estimates
from entropie.estimation.estimates import Estimates
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.theory.loss import CountingRates
from entropie.theory.special import exact_interval

Floats = NDArray[np.float64]
Z = NormalDist().inv_cdf(0.975)
SIZES = [50, 200, 10_000]
MECHANISMS: dict[str, Any] = {
    "identity": Identity(10),
    "rr": RandomizedResponse(domain_size=10, epsilon=2.0),
    "blh": LocalHashing.binary(domain_size=100, epsilon=1.0),
    "olh": LocalHashing.optimal(domain_size=100, epsilon=2.0),
    "glh": LocalHashing(domain_size=100, hash_size=1000, epsilon=8.0),
}
SHARES = [0.0, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0]


@cache
def ways_to_choose(trials: int) -> tuple[Floats, Floats]:
    """0, 1, ..., n and the logarithms of n choose each of them."""
    counts = np.arange(trials + 1.0)
    return counts, np.concatenate([[0.0], np.cumsum(np.log((trials - counts[:-1]) / (counts[:-1] + 1.0)))])


def binomial(trials: int, probability: float) -> Floats:
    """All probabilities of Bin(trials, probability), by logarithms."""
    counts, ways = ways_to_choose(trials)
    if probability in (0.0, 1.0):
        return np.where(counts == trials * probability, 1.0, 0.0)
    return np.exp(ways + counts * math.log(probability) + (trials - counts) * math.log1p(-probability))


def every_count(mechanism: Any, reports: int) -> Estimates:
    """An estimate for every count that can occur."""
    return Estimates(np.arange(reports + 1), reports, mechanism.rates, mechanism.domain_size)


def coverage(mechanism: Any, reports: int, shares: Any, level: float = 0.95) -> Floats:
    """Probability that the interval holds the true share, people being drawn from a population with that share."""
    low, high = every_count(mechanism, reports).intervals(level)
    rates = mechanism.rates
    return np.array(
        [binomial(reports, p * rates.mu + (1 - p) * rates.nu)[(low <= p) & (p <= high)].sum() for p in shares]
    )


def coverage_among_reporters(mechanism: Any, reports: int) -> Floats:
    """The same when 0, 1, ... or all of those who reported hold the item: two binomial counts added."""
    low, high = every_count(mechanism, reports).intervals()
    rates = mechanism.rates
    covered = []
    for holders in range(reports + 1):
        law = np.convolve(binomial(holders, rates.mu), binomial(reports - holders, rates.nu))
        share = holders / reports
        covered.append(law[(low <= share) & (share <= high)].sum())
    return np.array(covered)


POISSON_FLOOR = math.exp(-(1 + Z * Z / 2 - Z * math.sqrt(1 + Z * Z / 4)))
"""The worst of Wilson's interval alone for rare events: just below the lower limit for one event, only zero covers.

That limit solves (1 - m)^2 = z^2 m, and zero has probability exp(-m) = 0.838 there.
"""


@pytest.mark.parametrize("reports", SIZES)
@pytest.mark.parametrize("name", MECHANISMS)
def test_coverage_of_the_95_per_cent_interval(name: str, reports: int) -> None:
    """Nowhere below 0.92, rare items included; on average over shares at least the level, up to one per cent.

    At a share of exactly 0 or 1 the cut to [0, 1] leaves one side to miss on: then the level is kept there.
    """
    mechanism = MECHANISMS[name]
    covered = coverage(mechanism, reports, np.linspace(0.0, 1.0, 401 if reports < 1000 else 101))
    assert covered[1:-1].mean() > 0.94
    assert covered.min() > 0.92
    assert coverage(mechanism, reports, SHARES).min() > 0.92
    assert coverage(mechanism, reports, np.geomspace(0.01, 10.0, 60) / reports).min() > 0.92  # rare items
    assert min(covered[0], covered[-1]) >= 0.95


def test_wilson_alone_would_miss_rare_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: without the exact ends the same assertion fails, at 84 %."""
    rare = np.geomspace(0.05, 0.3, 60) / 10_000
    assert coverage(MECHANISMS["identity"], 10_000, rare).min() > 0.95
    monkeypatch.setattr(estimates, "FEW", 0)
    worst = coverage(MECHANISMS["identity"], 10_000, rare).min()
    assert worst == pytest.approx(POISSON_FLOOR, abs=0.006)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(1, 400), st.data(), st.floats(0.5, 0.999))
def test_the_exact_interval_is_that_of_the_beta_distribution(trials: int, data: st.DataObject, level: float) -> None:
    """Its ends solve I_low(c, n-c+1) = I_(1-high)(n-c, c+1) = (1-level)/2, by 30 digits of mpmath."""
    count = data.draw(st.integers(0, trials))
    low, high = exact_interval(count, trials, level)
    assert (low == 0.0) == (count == 0)
    assert (high == 1.0) == (count == trials)
    if count:
        assert float(upper_tail(count, trials, low)) == pytest.approx((1 - level) / 2, rel=1e-9)
    if count < trials:
        assert float(upper_tail(trials - count, trials, 1.0 - high)) == pytest.approx((1 - level) / 2, rel=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99, 0.999])
def test_coverage_at_other_levels(level: float) -> None:
    mechanism = MECHANISMS["rr"]
    covered = coverage(mechanism, 200, np.linspace(0.005, 0.995, 199), level)
    assert level - 0.01 < covered.mean() < level + 0.1 * (1 - level) + 0.01
    assert covered.min() > level - 6 * math.sqrt(level * (1 - level) / 200)


@pytest.mark.parametrize("reports", [50, 200])
@pytest.mark.parametrize("name", ["rr", "blh", "olh", "glh"])
def test_coverage_of_the_share_among_those_who_reported(name: str, reports: int) -> None:
    """Less is random then (who reports is given), so the interval covers more often; it never covers less than 0.92."""
    mechanism = MECHANISMS[name]
    covered = coverage_among_reporters(mechanism, reports)
    assert covered.mean() >= 0.95
    assert covered.min() > 0.92


def test_an_interval_that_is_too_narrow_would_be_noticed() -> None:
    """Power: a mechanism whose theta is 10 % off, or the plain normal interval for rare events, misses the floor."""
    mechanism = MECHANISMS["rr"]
    other = RandomizedResponse.from_theta(domain_size=10, theta=1.1 * mechanism.theta)
    low, high = every_count(mechanism, 10_000).intervals()
    law = binomial(10_000, 0.5 * other.rates.mu + 0.5 * other.rates.nu)
    assert law[(low <= 0.5) & (high >= 0.5)].sum() < 0.92
    counts = np.arange(51) / 50
    half = Z * np.sqrt(counts * (1 - counts) / 50)
    assert binomial(50, 0.02)[(counts - half <= 0.02) & (counts + half >= 0.02)].sum() < POISSON_FLOOR - 0.005


def test_wilsons_interval_solves_its_equation() -> None:
    """The ends are the rates r at which the observed share lies exactly z sqrt(r(1-r)/n) away."""
    rates = CountingRates(mu=0.6, nu=0.2, gain=0.4, mu_off=0.4)
    counts = np.array([22, 25, 30, 40, 50])  # none of them few
    low, high = Estimates(counts, 100, rates, 5).intervals(0.95)
    for end in (low, high):
        inside = (end > 0.0) & (end < 1.0)
        assert inside.any()
        rate = end[inside] * 0.4 + 0.2
        assert (counts[inside] / 100 - rate) ** 2 == pytest.approx(Z * Z * rate * (1 - rate) / 100, rel=1e-9)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.integers(1, 100), st.floats(0.01, 0.98), st.sampled_from(list(MECHANISMS)))
def test_intervals_are_inside_0_and_1_grow_with_the_level_and_hold_the_estimate(
    n: int, level: float, name: str
) -> None:
    made = every_count(MECHANISMS[name], n)
    low, high = made.intervals(level)
    wide_low, wide_high = made.intervals(level + 0.01)
    assert np.all((low >= 0.0) & (low <= high) & (high <= 1.0))
    assert np.all((wide_low <= low + 1e-12) & (high <= wide_high + 1e-12))
    estimate = np.clip(made.probabilities, 0.0, 1.0)
    assert np.all((low <= estimate + 1e-12) & (estimate <= high + 1e-12))


# -- Significance ------------------------------------------------------------------------------------------------------


def upper_tail(count: int, trials: int, probability: float) -> mpmath.mpf:
    """Pr(Bin >= count) by the regularised incomplete beta function, 30 digits."""
    with mpmath.workdps(30):
        if count <= 0:
            return mpmath.mpf(1)
        if count > trials:
            return mpmath.mpf(0)
        return mpmath.betainc(count, trials - count + 1, 0, mpmath.mpf(probability), regularized=True)


def smallest_significant(trials: int, probability: float, allowed: float) -> int:
    """Doubling and halving on the exact tail."""
    low, high = 0, 1
    while upper_tail(high, trials, probability) > allowed:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if upper_tail(middle, trials, probability) > allowed else (low, middle)
    return high


SIGNIFICANCE = {
    "rr-dense": (RandomizedResponse(domain_size=200, epsilon=3.0), 100_000),
    "rr-sparse": (RandomizedResponse(domain_size=200, epsilon=3.0), 300),
    "blh": (LocalHashing.binary(domain_size=1000, epsilon=1.0), 1000),
    "olh": (LocalHashing.optimal(domain_size=1000, epsilon=3.0), 2000),
    "glh-hits-are-rare": (LocalHashing(domain_size=1000, hash_size=10**6, epsilon=14.0), 5000),
    "glh-one-hit-proves": (LocalHashing(domain_size=1000, hash_size=10**15, epsilon=35.0), 5000),
    "glh-one-report": (LocalHashing(domain_size=1000, hash_size=4, epsilon=1.0), 1),
}


@pytest.mark.parametrize("name", SIGNIFICANCE)
@pytest.mark.parametrize("level", [0.05, 0.001, 0.5])
def test_what_stands_out_is_exact(name: str, level: float) -> None:
    """The smallest count that an item nobody holds reaches with probability at most level/k, and not one less."""
    mechanism, reports = SIGNIFICANCE[name]
    k = mechanism.domain_size
    count = smallest_significant(reports, mechanism.rates.nu, level / k)
    made = Estimates(np.array([max(0, count - 1), count, count + 1]), reports, mechanism.rates, k)
    assert made.stands_out(level).tolist() == [False, True, True]
    share = (count / reports - mechanism.rates.nu) / mechanism.rates.gain
    assert made.detectable_share(level) == pytest.approx(share, rel=1e-12)


def test_identity_every_item_seen_stands_out() -> None:
    assert Identity(4).estimate([0, 0, 3]).stands_out().tolist() == [True, False, False, True]


@pytest.mark.parametrize("name", SIGNIFICANCE)
def test_the_papers_threshold_is_its_formula(name: str) -> None:
    mechanism, reports = SIGNIFICANCE[name]
    k, rates = mechanism.domain_size, mechanism.rates
    made = every_count(mechanism, reports)
    with mpmath.workdps(30):
        quantile = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(0.05) / k)
    want = float(quantile) * math.sqrt(rates.nu * (1 - rates.nu) / reports) / rates.gain
    assert made.threshold() == pytest.approx(want, rel=1e-9)
    kept = made.significant()
    below = made.probabilities < made.threshold()
    assert np.all(kept[below] == 0.0)
    assert np.array_equal(kept[~below], made.probabilities[~below])  # nothing is renormalised


def false_alarms(mechanism: Any, reports: int, repetitions: int, seed: int, exact: bool) -> NDArray[np.int64]:
    """How many items that nobody holds are taken for real, each time anew. Everybody holds item 0."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(repetitions):
        made = mechanism.estimate(mechanism.simulate(np.zeros(reports, int), rng))
        passed = made.stands_out() if exact else made.significant() > 0.0
        found.append(int(passed[1:].sum()))
    return np.array(found)


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "paper"])
@pytest.mark.parametrize(
    ("mechanism", "reports"),
    [
        (RandomizedResponse(domain_size=200, epsilon=1.0), 5000),
        (LocalHashing(domain_size=200, hash_size=8, epsilon=2.0), 1000),
        (LocalHashing(domain_size=200, hash_size=20_000, epsilon=10.0), 1000),
    ],
    ids=["rr", "glh", "glh-sparse"],
)
def test_family_wise_false_alarms(mechanism: Any, reports: int, exact: bool) -> None:
    """Simulated against exact: the mean number of false alarms is (k-1) times one item's binomial tail.

    Runs are independent, their number of false alarms is within a few per cent of Poisson, so the mean of R runs has
    deviation sqrt(mean/R). The exact count keeps the family below the level; the paper's normal threshold does not
    where counts are small, which is said in its docstring and shown here.
    """
    k, rates, repetitions = mechanism.domain_size, mechanism.rates, 1500
    counts = np.arange(reports + 1)
    made = Estimates(counts, reports, rates, k)
    passing = made.stands_out() if exact else made.significant() > 0.0
    first = int(counts[passing][0])
    expected = (k - 1) * float(upper_tail(first, reports, rates.nu))
    found = false_alarms(mechanism, reports, repetitions, 5, exact)
    tolerance = 5.0 * math.sqrt(max(expected, 1 / repetitions) / repetitions)
    assert abs(found.mean() - expected) < tolerance
    family_wise = float((found > 0).mean())
    if exact:
        assert expected <= 0.05
        assert family_wise <= 0.05 + tolerance
    else:
        assert expected > 0.05  # the normal tail is thinner than the binomial one
        assert family_wise <= expected + tolerance
    if not exact and reports * rates.nu < 1:
        assert family_wise > 0.5  # every chance hit passes


def test_power_of_the_false_alarm_test() -> None:
    """With nu 10 % too small, the exact count would let through several times as many as it states."""
    mechanism = RandomizedResponse(domain_size=200, epsilon=1.0)
    rates = mechanism.rates
    wrong = CountingRates(mu=rates.mu, nu=0.9 * rates.nu, gain=rates.mu - 0.9 * rates.nu, mu_off=rates.mu_off)
    first = int(np.flatnonzero(Estimates(np.arange(50_001), 50_000, wrong, 200).stands_out())[0])
    assert 199 * float(upper_tail(first, 50_000, rates.nu)) > 0.5


NOT_A_LEVEL = [0.0, 1.0, -0.1, 1.5, math.nan, None, "x"]


@pytest.fixture
def ends_soon() -> Iterator[None]:
    """A level that sends a search off for ever counts as a failure, not as a long run."""

    def give_up(*_: object) -> None:
        raise TimeoutError("no answer within two seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, 2.0)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("ends_soon")
@pytest.mark.parametrize("level", NOT_A_LEVEL, ids=repr)
@pytest.mark.parametrize("method", ["intervals", "threshold", "significant", "stands_out", "detectable_share"])
def test_levels_outside_0_and_1_are_refused(method: str, level: Any) -> None:
    made = every_count(MECHANISMS["rr"], 50)
    with pytest.raises(InvalidParameter, match=r"`level`.*\.$"):
        getattr(made, method)(level)
