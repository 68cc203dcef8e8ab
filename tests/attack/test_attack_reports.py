"""Reports of real mechanisms under attack: never above what is promised, and close to it where data are worst."""

from __future__ import annotations

import numpy as np
import pytest

from entropie.attack.reports import attack_reports
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter
from entropie.mechanisms.choice import RandomChoice
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse

USERS = 2000
MECHANISMS = [
    RandomizedResponse.from_theta(domain_size=USERS, theta=0.3),
    LocalHashing.from_theta(domain_size=USERS, hash_size=50_000, theta=0.3),
    LocalHashing.from_theta(domain_size=USERS, hash_size=100, theta=0.9),
    Identity(USERS),
]


def worst_case() -> Traces:
    """Every user has an item of her own: the data for which the promise is exact."""
    return Traces(np.arange(USERS + 1), np.arange(USERS, dtype=np.uint32), USERS)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["rr", "glh many", "glh few", "identity"])
def test_the_promise_holds_and_is_met_by_the_worst_data(mechanism):
    train = worst_case()
    reports = mechanism.simulate(np.arange(USERS), np.random.default_rng(3))
    right = float(attack_reports(mechanism, train, reports).credit.mean())
    promised = 1.0 - mechanism.guarantee(users=USERS).bayes_error
    deviation = np.sqrt(promised * (1.0 - promised) / USERS) + 1e-9
    assert right < promised + 5 * deviation  # z = 5
    if not isinstance(mechanism, LocalHashing) or mechanism.hash_size > USERS:
        assert right > promised - 5 * deviation  # power: an attack that found less would be noticed


def test_several_reports_of_each_user():
    mechanism = RandomizedResponse.from_theta(domain_size=USERS, theta=0.3)
    offsets = np.arange(USERS + 1) * 3
    reports = mechanism.simulate(np.repeat(np.arange(USERS), 3), np.random.default_rng(4))
    right = float(attack_reports(mechanism, worst_case(), reports, offsets).credit.mean())
    assert right < 1.0 - mechanism.guarantee(users=USERS, reports=3).bayes_error + 5 * np.sqrt(0.25 / USERS)
    # named for sure with two or three truths, one time in three with one: 3 0.3^2 0.7 + 0.3^3 + 3 0.3 0.7^2 / 3
    assert right == pytest.approx(0.363, abs=5 * np.sqrt(0.363 * 0.637 / USERS))  # z = 5


def test_a_random_choice_is_refused():
    plain = Identity(USERS)
    with pytest.raises(InvalidParameter, match="items or hashes of items"):
        attack_reports(RandomChoice([plain, plain], [0.5, 0.5]), worst_case(), None)
