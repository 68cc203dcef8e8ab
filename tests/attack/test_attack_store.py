"""All reports in one hand: the attack is the posterior over every order, meets the bound where that is attained, and
never exceeds it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from entropie.attack import senders
from entropie.attack.senders import senders_of
from entropie.attack.store import attack_store
from entropie.errors import EntropieError, InvalidInput
from entropie.mechanisms.choice import RandomChoice
from entropie.mechanisms.erasure import Erasure
from entropie.mechanisms.hadamard import HadamardResponse
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse

RR = RandomizedResponse(domain_size=3, epsilon=1.0)


def batch(mechanism, places):
    """These of the possible reports, as one batch."""
    columns = mechanism.columns_of(mechanism.possible_reports())
    return mechanism.reports_of(tuple(column[list(places)] for column in columns))


def over_all_stores(mechanism, data, linked=True):
    """(success, bits, certainty) of the attack, averaged over every outcome of everybody's reports."""
    Q, items = mechanism.matrix(), np.asarray(data).ravel()
    success = bits = certainty = 0.0
    for places in itertools.product(range(Q.shape[1]), repeat=len(items)):
        chance = math.prod(Q[x, y] for x, y in zip(items, places, strict=True))
        if chance > 0.0:
            found = attack_store(mechanism, data, batch(mechanism, places), linked=linked)
            assert found.exact
            success += chance * found.reidentified
            bits += chance * found.information_bits
            certainty = max(certainty, found.certainty)
    return success, bits, certainty


def by_orders(mechanism, data, linked=True):
    """The same by the definition: every order of the store, the posterior of the sender of the first entry."""
    Q, items = mechanism.matrix(), np.asarray(data)
    n, t = items.shape
    sends = [(u, tuple(items[u])) for u in range(n)] if linked else [(u, (x,)) for u in range(n) for x in items[u]]
    answers = list(itertools.product(range(Q.shape[1]), repeat=t if linked else 1))
    success = left = certainty = 0.0
    for store in itertools.product(answers, repeat=len(sends)):
        weights = np.zeros(n)
        for order in itertools.permutations(sends):
            weights[order[0][0]] += math.prod(
                Q[x, y] for (_, own), entry in zip(order, store, strict=True) for x, y in zip(own, entry, strict=True)
            )
        weights /= math.factorial(len(sends))
        seen = weights.sum()
        if seen > 0.0:
            success += weights.max()
            certainty = max(certainty, weights.max() / seen)
            left -= sum(one * math.log2(one / seen) for one in weights if one > 0.0)
    return success, math.log2(n) - left, certainty


SMALL = [
    (RR, [[0], [1]], True),
    (RR, [[0], [1], [1]], True),
    (RandomizedResponse(domain_size=2, epsilon=2.0), [[0, 1], [1, 1]], True),
    (RandomizedResponse(domain_size=2, epsilon=2.0), [[0, 1], [1, 1]], False),
    (Erasure.from_theta(domain_size=2, theta=0.4), [[0, 0], [1, 1]], False),
    (HadamardResponse(domain_size=3, epsilon=1.5), [[0], [1], [2]], True),
    (LocalHashing(domain_size=2, hash_size=2, epsilon=1.0, prime=2), [[0], [1], [1]], True),
]


@pytest.mark.parametrize(("mechanism", "data", "linked"), SMALL)
def test_it_is_the_posterior_over_every_order(mechanism, data, linked):
    attacked = over_all_stores(mechanism, data, linked)
    assert attacked == pytest.approx(by_orders(mechanism, data, linked), rel=1e-9)
    bound = mechanism.guarantee(users=len(data), reports=len(data[0]), linked=linked).all_reports
    assert attacked[0] <= 1.0 - bound.bayes_error + 1e-12
    assert attacked[1] <= bound.alpha_bits + 1e-9
    assert attacked[2] <= bound.posterior_max + 1e-12


def test_two_people_three_items():
    """The figures of the guarantee's worst case: error .279 where one report alone has .318; certainty .8808."""
    success, _, certainty = over_all_stores(RR, [0, 1])
    assert success == pytest.approx(0.7207, abs=5e-5)
    assert certainty == pytest.approx(math.exp(2.0) / (math.exp(2.0) + 1.0), rel=1e-9)
    assert certainty == pytest.approx(0.8808, abs=5e-5)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_bounds_are_attained(n):
    """Success by an erasure with different data for all; certainty where all others have and report one item."""
    theta = 0.4
    success, _, _ = over_all_stores(Erasure.from_theta(domain_size=n, theta=theta), np.arange(n))
    assert success == pytest.approx(theta + (1 - theta**n) / n, rel=1e-9)
    for mechanism in (RandomizedResponse(domain_size=2, epsilon=1.0), RR):
        told = attack_store(mechanism, [0] + [1] * (n - 1), np.array([0] + [1] * (n - 1), np.uint64))
        assert told.certainty == pytest.approx(math.exp(2.0) / (math.exp(2.0) + n - 1), rel=1e-9)


@pytest.mark.parametrize(("entries", "people"), [((1, 1, 1, 1), (1, 1, 1, 1)), ((2, 1, 3), (3, 3)), ((6,), (2, 3, 1))])
def test_permanents_by_permutations(entries, people):
    L = np.random.default_rng(len(people)).random((len(entries), len(people))) ** 3
    rows, columns = (np.repeat(np.arange(len(counts)), counts) for counts in (entries, people))
    expected = np.zeros_like(L)
    for order in itertools.permutations(columns):
        np.add.at(expected, (rows, np.array(order)), L[rows, np.array(order)].prod())
    found = senders_of(L, np.array(entries), np.array(people))
    assert found.exact
    assert np.allclose(found.chances, expected / expected.sum(axis=1, keepdims=True), rtol=1e-10)


@pytest.mark.parametrize("spread", [1, 3])
def test_belief_propagation_comes_close(spread, monkeypatch):
    """Nearer than Sinkhorn's scaling does, which is what the same graph gives without leaving oneself out."""
    n = 12
    L, ones = np.random.default_rng(spread).random((n, n)) ** spread, np.ones(n, np.int64)
    exact = senders_of(L, ones, ones)
    monkeypatch.setattr(senders, "MOST_STATES", 0)
    near = senders_of(L, ones, ones)
    assert exact.exact
    assert not near.exact
    scaled = L.copy()
    for _ in range(2000):
        scaled /= scaled.sum(axis=0)
        scaled /= scaled.sum(axis=1, keepdims=True)
    assert np.abs(near.chances - exact.chances).max() < 0.03
    assert np.abs(near.chances - exact.chances).max() < np.abs(scaled - exact.chances).max()


LARGE = [
    (RandomizedResponse(domain_size=400, epsilon=6.0), 400),
    (RandomizedResponse(domain_size=20, epsilon=3.0), 300),
    (LocalHashing(domain_size=400, hash_size=300, epsilon=6.0), 400),
    (Erasure.from_theta(domain_size=400, theta=0.5), 400),
    (Identity(400), 400),
]


@pytest.mark.parametrize(("mechanism", "n"), LARGE, ids=lambda value: getattr(value, "kind", str(value)))
def test_a_large_store_stays_within_the_bound(mechanism, n):
    """z = 5 of a share of n entries; entries of a store are hardly dependent. An attacker without evidence has 1/n."""
    rng = np.random.default_rng(9)
    data = np.arange(n) % mechanism.domain_size
    reports = mechanism.simulate(data, rng)
    found = attack_store(mechanism, data, reports)
    bound = mechanism.guarantee(users=n).all_reports
    slack = 5 * math.sqrt(0.25 / n)
    assert found.reidentified <= 1.0 - bound.bayes_error + slack
    assert found.expected == pytest.approx(found.reidentified, abs=slack)
    assert found.certainty <= bound.posterior_max + 1e-9
    assert found.information_bits <= bound.alpha_bits + 1e-6
    alone = float(mechanism.success_alone(n))
    assert found.reidentified >= (alone if mechanism.alone_is_exact else 0.6 * alone) - slack  # it has power
    other = mechanism.domain_size - 1 - data  # what it knows is about others
    if mechanism.epsilon < math.inf:
        assert attack_store(mechanism, other, reports).reidentified < 1 / n + slack


def test_the_order_of_a_store_is_not_used():
    """Renaming people and shuffling the store changes nothing but the order of what is found."""
    mechanism, rng = RandomizedResponse(domain_size=6, epsilon=2.0), np.random.default_rng(1)
    data = rng.integers(0, 6, 40)
    reports = mechanism.simulate(data, rng)
    order = rng.permutation(40)
    one, other = attack_store(mechanism, data, reports), attack_store(mechanism, data[order], reports[order])
    assert one.expected == pytest.approx(other.expected, rel=1e-12)
    assert one.reidentified == pytest.approx(other.reidentified, rel=1e-12)


def test_many_reports_of_each_do_not_underflow():
    """300 reports of probability 1e-3 and less: everybody is known by then."""
    mechanism, data = RandomizedResponse(domain_size=1000, epsilon=4.0), np.repeat(np.arange(8)[:, None], 300, axis=1)
    found = attack_store(mechanism, data, mechanism.simulate(data.ravel(), np.random.default_rng(3)))
    assert found.reidentified == 1.0
    assert found.information_bits == pytest.approx(3.0, abs=1e-3)


def test_a_random_choice_is_attacked_too():
    plain = RandomChoice([Identity(5), RandomizedResponse(domain_size=5, epsilon=0.0)], [0.5, 0.5])
    found = attack_store(plain, np.arange(5), plain.simulate(np.arange(5), np.random.default_rng(2)))
    assert found.certainty == pytest.approx(1.0)
    assert found.reidentified <= 1.0


def test_what_does_not_fit_is_refused():
    with pytest.raises(InvalidInput, match="one report for each of 2"):
        attack_store(RR, [0, 1], np.array([0], np.uint64))
    with pytest.raises(InvalidInput, match="cannot come from"):
        attack_store(Identity(3), [0, 1], np.array([0, 2], np.uint64))
    with pytest.raises(InvalidInput, match="cannot come from"):
        attack_store(Identity(3), [0, 1, 1], np.array([0, 0, 1], np.uint64))
    for wrong in ([], [[[0]]], [0, 3], [0.5, 1.0]):
        with pytest.raises(EntropieError):
            attack_store(RR, wrong, np.array([0, 1], np.uint64))
    many = 6000
    with pytest.raises(InvalidInput, match="attack fewer people"):
        attack_store(Identity(many), np.arange(many), np.arange(many, dtype=np.uint64))
