"""Every mechanism that is built in passes the contract that one from outside must pass; one that lies does not."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest

from entropie.mechanisms.choice import RandomChoice
from entropie.mechanisms.erasure import Erasure
from entropie.mechanisms.hadamard import HadamardResponse
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.testing import MechanismContract
from entropie.theory.loss import CountingRates

RR = RandomizedResponse(domain_size=7, epsilon=2.0)
GLH = LocalHashing(domain_size=11, hash_size=4, epsilon=2.0)
HADAMARD = HadamardResponse(domain_size=11, epsilon=1.5)
ERASURE = Erasure.from_theta(domain_size=7, theta=0.3)
for _made in (
    RR,
    GLH,
    HADAMARD,
    ERASURE,
    Identity(5),
    RandomChoice((RR, RandomizedResponse(domain_size=7, epsilon=1.0)), (0.3, 0.7)),
):
    _name = f"Test{type(_made).__name__}"
    globals()[_name] = type(_name, (MechanismContract,), {"mechanism": _made})


@dataclass(frozen=True, slots=True, init=False)
class Boastful(RandomizedResponse):
    """States the privacy and the rates of a tenth less truth than it tells."""

    @property
    def epsilon(self) -> float:
        return RandomizedResponse.from_theta(domain_size=self.domain_size, theta=0.9 * self.theta).epsilon

    @property
    def truth(self) -> Fraction:
        return RandomizedResponse.from_theta(domain_size=self.domain_size, theta=0.9 * self.theta).truth

    @property
    def rates(self) -> CountingRates:
        return RandomizedResponse.from_theta(domain_size=self.domain_size, theta=0.9 * self.theta).rates


@pytest.mark.parametrize(
    "broken", ["test_supports_occur_at_the_stated_rates", "test_no_attacker_does_better_than_guaranteed"]
)
def test_a_tenth_too_much_truth_is_noticed(broken: str) -> None:
    contract = MechanismContract()
    contract.mechanism = Boastful(domain_size=7, epsilon=3.0)
    with pytest.raises(AssertionError):
        getattr(contract, broken)()
