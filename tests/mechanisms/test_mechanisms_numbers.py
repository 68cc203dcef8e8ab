"""People who send different numbers of reports, which show: every store and order of small crowds, by going through them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from entropie.errors import EntropieError
from entropie.mechanisms.erasure import Erasure
from entropie.mechanisms.hadamard import HadamardResponse
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.noise_response import NoiseResponse
from entropie.mechanisms.numbers import numbers_guarantee
from entropie.mechanisms.randomized_response import RandomizedResponse

MECHANISMS = [
    RandomizedResponse(domain_size=2, epsilon=1.0),
    RandomizedResponse(domain_size=3, epsilon=3.0),
    NoiseResponse(noise=[0.8, 0.2], epsilon=2.0),
    HadamardResponse(domain_size=2, epsilon=1.5),
    Erasure.from_theta(domain_size=2, theta=0.6),
]
NAMES = [f"{made.kind}-{made.domain_size}" for made in MECHANISMS]
Joint = dict[tuple[int, ...], np.ndarray]


def crowds(k: int, numbers: list[int]) -> list[tuple[tuple[int, ...], ...]]:
    """Data of all people, person u with numbers[u] items; some of them where they are many."""
    every = list(itertools.product(*(itertools.product(range(k), repeat=sent) for sent in numbers)))
    return every if len(every) <= 40 else [every[at] for at in np.random.default_rng(1).choice(len(every), 40, False)]


def joint_of_linked(Q: np.ndarray, data: tuple[tuple[int, ...], ...]) -> Joint:
    """Pr(sender of the entry looked at, what the attacker sees): that entry, and all others in an order without sense."""
    n, found = len(data), {}
    laws = []
    for items in data:
        law = {(): 1.0}
        for item in items:
            law = {(*entry, y): chance * Q[item, y] for entry, chance in law.items() for y in range(Q.shape[1])}
        laws.append(law)
    for entries in itertools.product(*laws):
        chance = math.prod(law[entry] for law, entry in zip(laws, entries, strict=True))
        for who in range(n):
            rest = tuple(sorted(entries[other] for other in range(n) if other != who))
            found.setdefault((entries[who], rest), np.zeros(n))[who] += chance / n
    return found


def joint_of_single(Q: np.ndarray, data: tuple[tuple[int, ...], ...]) -> Joint:
    """The same where every report is an entry."""
    owner = [who for who, items in enumerate(data) for _ in items]
    items, found = [item for items in data for item in items], {}
    for reports in itertools.product(range(Q.shape[1]), repeat=len(items)):
        chance = math.prod(Q[item, report] for item, report in zip(items, reports, strict=True))
        for place, who in enumerate(owner):
            rest = tuple(sorted(reports[:place] + reports[place + 1 :]))
            found.setdefault((reports[place], rest), np.zeros(len(data)))[who] += chance / len(items)
    return found


def joint_alone(Q: np.ndarray, data: tuple[tuple[int, ...], ...]) -> Joint:
    """The same where one entry leaks and nothing else."""
    found: Joint = {}
    for who, items in enumerate(data):
        for entry in itertools.product(range(Q.shape[1]), repeat=len(items)):
            chance = math.prod(Q[item, report] for item, report in zip(items, entry, strict=True))
            found.setdefault(entry, np.zeros(len(data)))[who] += chance / len(data)
    return found


def measured(joint: Joint, guesses: int) -> tuple[float, float, float, float]:
    """Success of one guess and of several, certainty, and bits."""
    table = np.array([row for row in joint.values() if row.sum() > 0.0])
    falling, seen, prior = -np.sort(-table, axis=1), table.sum(axis=1, keepdims=True), table.sum(axis=0)
    safe = np.where(table > 0.0, table / seen / prior, 1.0)
    bits = float((table * np.log2(safe)).sum())
    return float(falling[:, 0].sum()), float(falling[:, :guesses].sum()), float((falling[:, :1] / seen).max()), bits


def holds(found: tuple[float, float, float, float], stated: object) -> None:
    one, several, certainty, bits = found
    assert one <= 1 - stated.bayes_error + 1e-12
    assert several <= 1 - stated.list_error + 1e-12
    assert certainty <= stated.posterior_max + 1e-12
    assert bits <= stated.alpha_bits + 1e-9


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=NAMES)
@pytest.mark.parametrize("numbers", [[1, 2], [1, 1, 2], [1, 2, 2], [1, 3]])
def test_no_store_tells_more(mechanism: Mechanism, numbers: list[int]) -> None:
    Q, counted = mechanism.matrix(), {sent: numbers.count(sent) for sent in set(numbers)}
    linked, single = (numbers_guarantee(mechanism, counted, 2, linked) for linked in (True, False))
    for data in crowds(len(Q), numbers):
        holds(measured(joint_alone(Q, data), 2), linked.alone)
        if Q.shape[1] ** sum(numbers) <= 1100:
            holds(measured(joint_of_linked(Q, data), 2), linked.all_reports)
            holds(measured(joint_of_single(Q, data), 2), single.all_reports)


def test_it_is_attained() -> None:
    """By randomized response alone, where people of each group have different data."""
    mechanism = RandomizedResponse(domain_size=3, epsilon=1.3)
    found = numbers_guarantee(mechanism, {1: 2, 2: 1}, 1).alone
    one, _, certainty, bits = measured(joint_alone(mechanism.matrix(), ((0,), (1,), (2, 2))), 1)
    assert 1 - one == pytest.approx(found.bayes_error, abs=1e-12)
    assert bits == pytest.approx(found.alpha_bits, abs=1e-9)
    assert certainty == found.posterior_max == 1.0


def test_certainty_of_single_entries_is_attained() -> None:
    """The one who has two reports has the rare item twice, the other's item is another: w^2 p/(w^2 p + 1 - p), p = 2/3."""
    mechanism = RandomizedResponse(domain_size=2, epsilon=1.0)
    found = numbers_guarantee(mechanism, {1: 1, 2: 1}, linked=False).all_reports.posterior_max
    _, _, certainty, _ = measured(joint_of_single(mechanism.matrix(), ((0, 0), (1,))), 1)
    w = math.exp(mechanism.epsilon)
    assert found == pytest.approx(2 * w**2 / (2 * w**2 + 1), rel=1e-12)
    assert certainty == pytest.approx(found, rel=1e-12)


def test_equal_numbers_are_the_usual_guarantee() -> None:
    for mechanism in (*MECHANISMS, LocalHashing(domain_size=50, hash_size=7, epsilon=2.0)):
        usual = mechanism.guarantee(users=30, reports=4, list_size=3)
        found = numbers_guarantee(mechanism, {4: 30}, 3)
        assert found.all_reports == usual.all_reports
        assert (found.alone.bayes_error, found.alone.posterior_max) == (usual.bayes_error, usual.posterior_max)
        assert (found.numbers_bits, found.groups[0].users) == (0.0, 30)
        assert found.numbers_bayes_error == pytest.approx(29 / 30)
        single = mechanism.guarantee(users=30, reports=4, list_size=3, linked=False).all_reports
        ours = numbers_guarantee(mechanism, {4: 30}, 3, linked=False).all_reports
        assert ours.bayes_error <= single.bayes_error + 1e-12
        assert ours.posterior_max >= single.posterior_max - 1e-12


@pytest.mark.parametrize("numbers", [{}, {0: 3}, {1: 0}, {1.5: 2}, {1: -1}])
def test_what_is_no_number_is_refused(numbers: dict[int, int]) -> None:
    with pytest.raises(EntropieError, match="must be"):
        numbers_guarantee(MECHANISMS[0], numbers)
