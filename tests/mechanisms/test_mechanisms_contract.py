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
from entropie.mechanisms.noise_response import NoiseResponse
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mechanisms.subset_selection import SubsetSelection
from entropie.mechanisms.unary_encoding import UnaryEncoding
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
    SubsetSelection(domain_size=7, epsilon=1.0, subset_size=3),
    UnaryEncoding(domain_size=5, epsilon=1.5),
    NoiseResponse(noise=[0.4, 0.3, 0.15, 0.1, 0.05], epsilon=2.0),
    Identity(5),
    RandomChoice((RR, RandomizedResponse(domain_size=7, epsilon=1.0)), (0.3, 0.7)),
):
    _name = f"Test{type(_made).__name__}"
    globals()[_name] = type(_name, (MechanismContract,), {"mechanism": _made})


class TestRappor(MechanismContract):
    mechanism = UnaryEncoding(domain_size=4, epsilon=2.0, symmetric=1)


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
    "broken", ["test_estimates_are_unbiased", "test_the_worst_case_is_that_of_the_law", "test_the_law_is_a_law"]
)
def test_a_tenth_too_much_truth_is_noticed(broken: str) -> None:
    contract = MechanismContract()
    contract.mechanism = Boastful(domain_size=7, epsilon=3.0)
    with pytest.raises(AssertionError):
        getattr(contract, broken)()
