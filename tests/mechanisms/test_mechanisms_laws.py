"""The law of many reports, sampled: seeded simulation by a G test, the system's randomness by Chernoff's bound.

Each test has a power check: the same assertion fails for a mechanism whose theta is 10 % off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from entropie.mechanisms.choice import RandomChoice
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import HashedReports, LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mechanisms.randomness import SimulationSource

FALSE_ALARM = 1e-9
"""Probability that a test of unseeded randomness fails by chance: below this, by Chernoff and the union bound."""
Floats = NDArray[np.float64]


def g_test(counts: NDArray[np.int64], law: Floats) -> float:
    """p-value of the likelihood-ratio test; every cell expects hundreds of reports, so that chi-square holds."""
    expected = law * counts.sum()
    assert expected.min() > 200
    seen = counts > 0
    statistic = 2.0 * float((counts[seen] * np.log(counts[seen] / expected[seen])).sum())
    return float(mpmath.gammainc((len(law) - 1) / 2, statistic / 2, regularized=True))


def surely_another_law(counts: NDArray[np.int64], law: Floats) -> bool:
    """Whether some cell is further off than has probability 1e-9 in all.

    Chernoff: Pr(share of n beyond s, on either side of p) <= exp(-n D(s||p)) each, for every n, not only large ones.
    """
    total = int(counts.sum())
    limit = math.log(2 * len(law) / FALSE_ALARM)
    return any(total * divergence(count / total, p) > limit for count, p in zip(counts.tolist(), law, strict=True))


def divergence(s: float, p: float) -> float:
    """D(Bernoulli(s) || Bernoulli(p)) in nats."""
    return sum(u * math.log(u / v) for u, v in ((s, p), (1 - s, 1 - p)) if u > 0)


def response_law(size: int, theta: float, value: int) -> Floats:
    law = np.full(size, (1 - theta) / size)
    law[value] += theta
    return law


def hashing_law(mechanism: LocalHashing, theta: float, value: int) -> Floats:
    """Over all (a, b, y), in that order."""
    prime, size = mechanism.family.prime, mechanism.hash_size
    return np.concatenate(
        [
            response_law(size, theta, (a * value + b) % prime % size) / (prime * (prime - 1))
            for a in range(1, prime)
            for b in range(prime)
        ]
    )


def cells(mechanism: LocalHashing, reports: HashedReports) -> NDArray[np.int64]:
    prime, size = mechanism.family.prime, mechanism.hash_size
    a, b, y = (column.astype(np.int64) for column in reports)
    return np.bincount(((a - 1) * prime + b) * size + y, minlength=(prime - 1) * prime * size)


def response(epsilon: float, factor: float = 1.0) -> RandomizedResponse:
    """Randomized response over 6 items at this epsilon, its theta off by a factor."""
    theta = RandomizedResponse(domain_size=6, epsilon=epsilon).theta
    return RandomizedResponse.from_theta(domain_size=6, theta=factor * theta)


def hashing(epsilon: float, factor: float = 1.0) -> LocalHashing:
    """Local hashing of 7 items to 3 values with P = 7, its theta off by a factor."""
    theta = LocalHashing(domain_size=7, hash_size=3, epsilon=epsilon).theta
    return LocalHashing.from_theta(domain_size=7, hash_size=3, theta=factor * theta)


def response_counts(reports: Any) -> NDArray[np.int64]:
    return np.bincount(np.asarray(reports, np.int64), minlength=6)


def test_simulated_randomized_response_has_the_stated_law() -> None:
    """For every value; p-values of a right mechanism are uniform, so 1e-6 is not reached by these six fixed seeds."""
    right, wrong = response(1.0), response(1.0, 1.1)
    for value in range(6):
        law = response_law(6, right.theta, value)
        values = np.full(200_000, value)
        counts = response_counts(right.simulate(values, np.random.default_rng(value)))
        assert g_test(counts, law) > 1e-6
        counts = response_counts(wrong.simulate(values, np.random.default_rng(value)))
        assert g_test(counts, law) < 1e-6


def test_simulated_local_hashing_has_the_stated_law() -> None:
    """All 126 outcomes (a, b, y): the function is uniform, the answer right, and both are independent."""
    right, wrong = hashing(2.0), hashing(2.0, 0.9)
    for value in (0, 3, 6):
        law = hashing_law(right, right.theta, value)
        values = np.full(500_000, value)
        assert g_test(cells(right, right.simulate(values, np.random.default_rng(value))), law) > 1e-6
        assert g_test(cells(wrong, wrong.simulate(values, np.random.default_rng(value))), law) < 1e-6


@pytest.mark.parametrize(("hash_size", "prime"), [(2**33, None), (1000, 2**61 - 1), (2**40, 2**61 - 1), (10**18, None)])
def test_simulated_local_hashing_with_large_numbers(hash_size: int, prime: int | None) -> None:
    """Too many outcomes to count: how often the answer is the hash of the value, and that lies and functions spread."""
    epsilon = math.log(hash_size)  # theta is about one half
    mechanism = LocalHashing(domain_size=1000, hash_size=hash_size, epsilon=epsilon, prime=prime)
    wrong = LocalHashing.from_theta(domain_size=1000, hash_size=hash_size, theta=0.9 * mechanism.theta, prime=prime)
    p, n = mechanism.family.prime, 40_000
    truth = mechanism.theta + (1 - mechanism.theta) / hash_size
    law = np.array([truth, 1 - truth])

    def told(made: LocalHashing) -> tuple[NDArray[np.int64], list[tuple[int, int, int]]]:
        reports = made.simulate(np.full(n, 997), np.random.default_rng(11))
        rows = [(int(a), int(b), int(y)) for a, b, y in zip(*reports, strict=True)]
        hits = sum((a * 997 + b) % p % hash_size == y for a, b, y in rows)
        return np.array([hits, n - hits]), rows

    counts, rows = told(mechanism)
    assert g_test(counts, law) > 1e-6
    assert g_test(told(wrong)[0], law) < 1e-6
    assert all(1 <= a < p and 0 <= b < p and 0 <= y < hash_size for a, b, y in rows)
    lies = [y for a, b, y in rows if (a * 997 + b) % p % hash_size != y]
    for column, bound in (([a - 1 for a, _, _ in rows], p - 1), ([b for _, b, _ in rows], p), (lies, hash_size)):
        tenths = np.bincount([10 * v // bound for v in column], minlength=10)
        assert g_test(tenths, np.full(10, 0.1)) > 1e-6


def test_simulation_repeats_with_its_seed_and_not_otherwise() -> None:
    values = np.arange(1000) % 6
    for mechanism in (response(1.0), hashing(1.0)):
        first, again, other = (np.array(mechanism.simulate(values, np.random.default_rng(s))) for s in (1, 1, 2))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)


def each(obfuscate: Callable[[int], Any]) -> Callable[[NDArray[np.int64]], list[Any]]:
    return lambda values: [obfuscate(int(value)) for value in values]


@pytest.mark.parametrize("one_by_one", [True, False], ids=["obfuscate", "obfuscate_many"])
def test_randomized_response_with_the_systems_randomness(one_by_one: bool) -> None:
    """False alarm below 1e-9. At 10 % off one cell's divergence is 0.004 nats: 20 000 reports give 80 against 23."""
    right, wrong = response(2.0), response(2.0, 0.9)
    values = np.full(20_000, 4)
    law = response_law(6, right.theta, 4)

    def counts(mechanism: RandomizedResponse) -> NDArray[np.int64]:
        draw = each(mechanism.obfuscate) if one_by_one else mechanism.obfuscate_many
        return response_counts(draw(values))

    assert not surely_another_law(counts(right), law)
    assert surely_another_law(counts(wrong), law)


@pytest.mark.parametrize("one_by_one", [True, False], ids=["obfuscate", "obfuscate_many"])
def test_local_hashing_with_the_systems_randomness(one_by_one: bool) -> None:
    """False alarm below 2e-9: 126 cells, and the share of truthful answers, which has the power."""
    right, wrong = hashing(2.0), hashing(2.0, 0.9)
    values = np.full(20_000, 5)
    law = hashing_law(right, right.theta, 5)
    truthful = law > law.min() * 1.5
    share = np.array([law[truthful].sum(), law[~truthful].sum()])

    def counts(mechanism: LocalHashing) -> NDArray[np.int64]:
        if not one_by_one:
            return cells(mechanism, mechanism.obfuscate_many(values))
        rows = np.array(each(mechanism.obfuscate)(values))
        return cells(mechanism, HashedReports(*rows.T))

    for mechanism, another in ((right, False), (wrong, True)):
        seen = counts(mechanism)
        told = np.array([seen[truthful].sum(), seen[~truthful].sum()])
        assert surely_another_law(told, share) == another
        if not another:
            assert not surely_another_law(seen, law)


def test_a_choice_uses_each_part_as_often_as_stated() -> None:
    weights = [0.2, 0.0, 0.5, 0.3]
    parts = [response(1.0), Identity(6), Identity(6), RandomizedResponse(domain_size=6, epsilon=0.0)]
    mechanism = RandomChoice(parts, weights)
    values = np.full(100_000, 3)
    reports = mechanism.simulate(values, np.random.default_rng(2))
    counts = np.bincount(reports.choice.astype(np.int64), minlength=4)
    assert counts[1] == 0
    assert g_test(counts[[0, 2, 3]], np.array([0.2, 0.5, 0.3])) > 1e-6
    assert g_test(counts[[0, 2, 3]], np.array([0.22, 0.49, 0.29])) < 1e-6
    assert [len(part) for part in reports.parts] == counts.tolist()
    assert g_test(response_counts(reports.parts[0]), response_law(6, parts[0].theta, 3)) > 1e-6
    assert set(reports.parts[2].tolist()) == {3}


# -- Audit: the budget that an observer can prove from reports, against the one stated ---------------------------------

DEVIATIONS = 5.0


def proven_log_ratio(hits: int, total: int, other_hits: int, other_total: int) -> float:
    """Lower confidence bound, at five standard deviations, of ln Pr(event | x) - ln Pr(event | x')."""
    variance = 1 / hits - 1 / total + 1 / other_hits - 1 / other_total
    return math.log(hits / total) - math.log(other_hits / other_total) - DEVIATIONS * math.sqrt(variance)


def audit_response(mechanism: RandomizedResponse, reports: int) -> float:
    """The most that any report proves about any pair of values."""
    size = mechanism.domain_size
    rng = np.random.default_rng(31)
    seen = [np.bincount(mechanism.simulate(np.full(reports, x), rng).astype(int), minlength=size) for x in range(size)]
    return max(
        proven_log_ratio(int(seen[x][y]), reports, int(seen[other][y]), reports)
        for x in range(size)
        for other in range(size)
        if other != x
        for y in range(size)
    )


def audit_hashing(mechanism: LocalHashing, reports: int) -> float:
    """Events "y is the hash of x and not that of x'": nothing separates x from x' better."""
    prime, size, domain_size = mechanism.family.prime, mechanism.hash_size, mechanism.domain_size
    rng = np.random.default_rng(32)
    supports = []
    for x in range(domain_size):
        a, b, y = (column.astype(np.int64) for column in mechanism.simulate(np.full(reports, x), rng))
        supports.append([(a * item + b) % prime % size == y for item in range(domain_size)])
    return max(
        proven_log_ratio(
            int((supports[x][x] & ~supports[x][other]).sum()),
            reports,
            int((supports[other][x] & ~supports[other][other]).sum()),
            reports,
        )
        for x in range(domain_size)
        for other in range(domain_size)
        if other != x
    )


AUDITS: list[tuple[Callable[[float], Any], Callable[[Any, int], float]]] = [
    (lambda epsilon: RandomizedResponse(domain_size=4, epsilon=epsilon), audit_response),
    (lambda epsilon: LocalHashing(domain_size=4, hash_size=3, epsilon=epsilon), audit_hashing),
    (lambda epsilon: LocalHashing(domain_size=4, hash_size=11, epsilon=epsilon), audit_hashing),
]


@pytest.mark.parametrize(("made", "audit"), AUDITS, ids=["rr", "glh-3", "glh-11"])
def test_empirical_epsilon(made: Callable[[float], Any], audit: Callable[[Any, int], float]) -> None:
    """No more than epsilon can be proven, and nearly all of it.

    The rarer event of each pair has probability at least (1-c)/(size+w-1) > 0.05 here, so of 300 000 reports more than
    15 000 show it: a standard deviation below 0.009, and two times five of them below 0.09. What is proven is therefore
    above epsilon - 0.09, and with a budget of 1.1 epsilon = epsilon + 0.2 more than epsilon is proven.
    """
    epsilon = 2.0
    proven = audit(made(epsilon), 300_000)
    assert epsilon - 0.09 < proven <= epsilon
    assert audit(made(1.1 * epsilon), 300_000) > epsilon


def test_long_simulations_do_not_depend_on_the_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 3 * 2**17 + 5
    drawn = []
    for cores in (1, 2, 5):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        source = SimulationSource(np.random.default_rng(9))
        drawn.append((source.below(1000, size), source.words(size)))
    for below, words in drawn[1:]:
        assert np.array_equal(below, drawn[0][0])
        assert np.array_equal(words, drawn[0][1])
    below, words = drawn[0]
    counts = np.bincount(below.astype(np.int64), minlength=1000)
    assert len(counts) == 1000
    # chi-square with 999 degrees of freedom, z = 5
    assert abs(((counts - size / 1000) ** 2 / (size / 1000)).sum() - 999) < 5 * np.sqrt(2 * 999)
    assert len(np.unique(words)) == size  # a repeated chunk would show here
