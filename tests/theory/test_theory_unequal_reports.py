"""People who send different numbers of reports: the bound of the largest number holds where fewer are filled up.

They are filled up by the same mechanism, asked about made-up items. Every choice of data and of numbers, by going through
all outcomes and orders. Noise alone would not do: it may show who had nothing to report.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from entropie.mechanisms.erasure import Erasure
from entropie.mechanisms.hadamard import HadamardResponse
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.noise_response import NoiseResponse
from entropie.mechanisms.randomized_response import RandomizedResponse

MECHANISMS = [
    RandomizedResponse(domain_size=2, epsilon=2.0),
    RandomizedResponse(domain_size=3, epsilon=1.0),
    NoiseResponse(noise=[0.7, 0.3], epsilon=2.0),
    Erasure.from_theta(domain_size=2, theta=0.4),
    HadamardResponse(domain_size=2, epsilon=1.5),
]


def made_up(Q: np.ndarray) -> np.ndarray:
    """A report about an item drawn at random."""
    return Q.mean(axis=0)


def noise_of(Q: np.ndarray) -> np.ndarray:
    """What all items have in common: a report that does not depend on the item."""
    return Q.min(axis=0) / Q.min(axis=0).sum()


def entry_law(Q: np.ndarray, items: tuple[int, ...], reports: int, filled: np.ndarray) -> np.ndarray:
    """The law of a person's reports about these items, filled up with reports of another law."""
    law = np.ones(1)
    for place in range(reports):
        law = np.multiply.outer(law, Q[items[place]] if place < len(items) else filled).ravel()
    return law


def crowds(k: int, n: int, most: int) -> list[tuple[tuple[int, ...], ...]]:
    """Data of n people, each with 0 to `most` reports, one of them with all."""
    each = [items for size in range(most + 1) for items in itertools.product(range(k), repeat=size)]
    return [crowd for crowd in itertools.combinations_with_replacement(each, n) if max(map(len, crowd)) == most]


def in_the_store(laws: list[np.ndarray]) -> tuple[float, float]:
    """Success and certainty about the sender of the first entry, over all stores and orders."""
    n, success, certainty = len(laws), 0.0, 0.0
    for store in itertools.product(range(len(laws[0])), repeat=n):
        weights = np.zeros(n)
        for order in itertools.permutations(range(n)):
            weights[order[0]] += math.prod(laws[who][entry] for who, entry in zip(order, store, strict=True))
        if weights.sum() > 0.0:
            success += weights.max() / math.factorial(n)
            certainty = max(certainty, weights.max() / weights.sum())
    return success, certainty


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda made: f"{made.kind}-{made.domain_size}")
@pytest.mark.parametrize("n", [2, 3])
def test_alone_the_largest_number_is_the_bound(mechanism: Mechanism, n: int) -> None:
    Q, found = mechanism.matrix(), mechanism.guarantee(users=n, reports=2)
    worst = 0.0
    for crowd in crowds(len(Q), n, 2):
        laws = np.array([entry_law(Q, items, 2, made_up(Q)) for items in crowd])
        named = float(laws.max(axis=0).sum()) / n
        assert named <= 1 - found.bayes_error + 1e-12
        worst = max(worst, named)
    assert worst > 1 / n + 0.1  # there is something to be found


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda made: f"{made.kind}-{made.domain_size}")
def test_with_all_reports_too(mechanism: Mechanism) -> None:
    Q, found = mechanism.matrix(), mechanism.guarantee(users=2, reports=2).all_reports
    single = mechanism.guarantee(users=2).all_reports
    surest = 0.0
    for crowd in crowds(len(Q), 2, 2):
        success, certainty = in_the_store([entry_law(Q, items, 2, made_up(Q)) for items in crowd])
        assert success <= 1 - found.bayes_error + 1e-12
        assert certainty <= found.posterior_max + 1e-12
        surest = max(surest, certainty)
    assert surest > single.posterior_max - 1e-12  # the smaller number would not be a bound, but where it is 1 already


def test_noise_alone_is_not_enough() -> None:
    """An erasure shows who had nothing to send. Of randomized response noise is a report about a made-up item."""
    mechanism = Erasure.from_theta(domain_size=2, theta=0.4)
    Q, found = mechanism.matrix(), mechanism.guarantee(users=3, reports=2)
    laws = np.array([entry_law(Q, items, 2, noise_of(Q)) for items in ((), (0, 0), (1, 1))])
    assert float(laws.max(axis=0).sum()) / 3 > 1 - found.bayes_error + 0.05
    for k in (2, 5):
        response = RandomizedResponse(domain_size=k, epsilon=1.0).matrix()
        assert np.allclose(noise_of(response), made_up(response))
