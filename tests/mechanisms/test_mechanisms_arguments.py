"""Every argument that breaks a rule is answered with one of the package's own exceptions and one clear sentence."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from entropie.errors import EntropieError, InvalidInput, InvalidParameter, ParametersMismatch
from entropie.mechanisms.choice import ChosenReports, RandomChoice
from entropie.mechanisms.hashing import HashFamily
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import HashedReports, LocalHashing
from entropie.mechanisms.parameters import to_document
from entropie.mechanisms.randomized_response import RandomizedResponse

RR = RandomizedResponse(domain_size=5, epsilon=1.0)
GLH = LocalHashing(domain_size=5, hash_size=3, epsilon=1.0)
BOTH = RandomChoice([RR, GLH], [0.5, 0.5])
NAN, INF = math.nan, math.inf


def sentence(call: Callable[[], Any], error: type[EntropieError], says: str) -> None:
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    assert text.endswith(".")
    assert "\n" not in text
    assert says in text


def shown(value: object) -> str:
    """A name for a case that is the same in every process."""
    return repr(value).split(" at 0x")[0]


NOT_A_SIZE = [0, 1, -5, 2.5, NAN, INF, -INF, True, None, "x", [5], 10**18 + 1, 1e19, 1j, np.array([5, 6])]


@pytest.mark.parametrize("size", NOT_A_SIZE, ids=shown)
def test_sizes(size: Any) -> None:
    for name, call in {
        "domain_size": [
            lambda: RandomizedResponse(domain_size=size, epsilon=1.0),
            lambda: RandomizedResponse.from_theta(domain_size=size, theta=0.5),
            lambda: LocalHashing(domain_size=size, hash_size=3, epsilon=1.0),
            lambda: LocalHashing.from_theta(domain_size=size, hash_size=3, theta=0.5),
            lambda: LocalHashing.binary(domain_size=size, epsilon=1.0),
            lambda: LocalHashing.optimal(domain_size=size, epsilon=1.0),
            lambda: Identity(size),
        ],
        "hash_size": [
            lambda: LocalHashing.from_theta(domain_size=5, hash_size=size, theta=0.5),
            *([] if size is None else [lambda: LocalHashing(domain_size=5, hash_size=size, epsilon=1.0)]),  # the best
            lambda: HashFamily(7, size),
        ],
    }.items():
        for one in call:
            sentence(one, InvalidParameter, name)


@pytest.mark.parametrize("epsilon", [-1e-9, -1.0, -INF, NAN, None, "x", 1j, [1.0], 10**400], ids=lambda v: repr(v)[:9])
def test_epsilon(epsilon: Any) -> None:
    for call in (
        lambda: RandomizedResponse(domain_size=5, epsilon=epsilon),
        lambda: LocalHashing(domain_size=5, hash_size=3, epsilon=epsilon),
        lambda: LocalHashing.binary(domain_size=5, epsilon=epsilon),
        lambda: LocalHashing.optimal(domain_size=5, epsilon=epsilon),
    ):
        sentence(call, InvalidParameter, "`epsilon`")


def test_epsilon_beyond_the_largest_hash_size() -> None:
    sentence(lambda: LocalHashing.optimal(domain_size=5, epsilon=41.5), InvalidParameter, "`epsilon`")
    sentence(lambda: LocalHashing.optimal(domain_size=5, epsilon=INF), InvalidParameter, "`epsilon`")


NOT_A_PROBABILITY = [
    -1e-300, 1.0000000000000002, 2, -1, NAN, INF, -INF, None, "x", 1j, [0.5], 10**400,
    Fraction(3, 2), Fraction(2**64 + 1, 2**64), Fraction(-1, 2**70),
]  # fmt: skip


@pytest.mark.parametrize("theta", NOT_A_PROBABILITY, ids=lambda v: repr(v)[:24])
def test_theta(theta: Any) -> None:
    for call in (
        lambda: RandomizedResponse.from_theta(domain_size=5, theta=theta),
        lambda: LocalHashing.from_theta(domain_size=5, hash_size=3, theta=theta),
    ):
        sentence(call, InvalidParameter, "`theta`")


@pytest.mark.parametrize("both", [{"epsilon": 1.0, "theta": 0.5}, {"theta": 0.5}, {}])
def test_epsilon_and_theta_are_never_given_together(both: dict[str, float]) -> None:
    """A programming error, so Python's own: the constructor knows epsilon alone, `from_theta` theta alone."""
    with pytest.raises(TypeError):
        RandomizedResponse(domain_size=5, **both)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        LocalHashing(domain_size=5, hash_size=3, **both)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "prime",
    [0, 1, 4, 9, 3, -7, 7.5, NAN, INF, "x", [7], True, 2**62 + 135, 2**61 + 1, 3215031751, 101.5],
    ids=shown,
)
def test_prime(prime: Any) -> None:
    """Not a prime number, below the domain (3 < 5), or beyond 2^62."""
    sentence(lambda: LocalHashing(domain_size=5, hash_size=2, epsilon=1.0, prime=prime), InvalidParameter, "`prime`")
    if prime != 3:
        sentence(lambda: HashFamily(prime, 2), InvalidParameter, "`prime`")


@pytest.mark.parametrize(
    "made",
    [
        lambda: RandomizedResponse(domain_size=1000.0, epsilon=1.0),  # type: ignore[arg-type]
        lambda: LocalHashing(domain_size=1e3, hash_size=np.int8(16), epsilon=np.float32(1)),  # type: ignore[arg-type]
        lambda: LocalHashing(domain_size=100, hash_size=16, epsilon=1, prime=np.int64(101)),  # type: ignore[arg-type]
        lambda: LocalHashing(domain_size=100, hash_size=16, epsilon=1, prime=101.0),  # type: ignore[arg-type]
        lambda: Identity(1000.0),  # type: ignore[arg-type]
        lambda: Identity(np.int64(1000)),  # type: ignore[arg-type]
    ],
    ids=["rr float", "glh float", "prime numpy", "prime float", "identity float", "identity numpy"],
)
def test_a_whole_number_of_another_type_is_kept_as_an_integer_or_refused(made: Callable[[], Any]) -> None:
    """Never kept as it came: the document would say "1000.0", which no collector reads."""
    try:
        mechanism = made()
    except InvalidParameter:
        return
    kept = [mechanism.domain_size, *(vars_of(mechanism))]
    assert [type(number) for number in kept] == [int] * len(kept)
    assert "." not in to_document(mechanism).replace("entropie.parameters", "")


def vars_of(mechanism: Any) -> list[Any]:
    return [mechanism.hash_size, mechanism.family.prime] if isinstance(mechanism, LocalHashing) else []


NOT_A_VALUE = [-1, 5, 2**64, -(2**70), 1.0, NAN, None, "1", True, [1], np.int64(5), np.float64(1.0)]


@pytest.mark.parametrize("value", NOT_A_VALUE, ids=shown)
@pytest.mark.parametrize("mechanism", [RR, GLH, BOTH, Identity(5)], ids=lambda m: m.kind)
def test_one_value(mechanism: Any, value: Any) -> None:
    sentence(lambda: mechanism.obfuscate(value), InvalidParameter, "`value`")


NOT_VALUES = [
    [0, 5], [-1, 0], [0, 2**64], [2**63, -1], [-(2**70)], [0.0, 1.0], [NAN], [None], ["1"], [True], 3, None, "12",
    [[0, 1], [2, 3]], [[0], [1, 2]], np.array([5], np.uint8), np.array([-1], np.int8), np.array([0], "M8[s]"),
    {0: 1}, object(),
]  # fmt: skip


@pytest.mark.parametrize("values", NOT_VALUES, ids=shown)
@pytest.mark.parametrize("mechanism", [RR, GLH, BOTH, Identity(5)], ids=lambda m: m.kind)
def test_many_values(mechanism: Any, values: Any) -> None:
    sentence(lambda: mechanism.obfuscate_many(values), InvalidInput, "")
    sentence(lambda: mechanism.simulate(values, np.random.default_rng(1)), InvalidInput, "")


@pytest.mark.parametrize("reports", NOT_VALUES, ids=shown)
@pytest.mark.parametrize("mechanism", [RR, Identity(5)], ids=lambda m: m.kind)
def test_reports_of_items(mechanism: Any, reports: Any) -> None:
    sentence(lambda: mechanism.count(reports), InvalidInput, "")
    sentence(lambda: mechanism.estimate(reports), InvalidInput, "")


GOOD = (np.array([1, 4]), np.array([0, 3]), np.array([0, 2]))


@pytest.mark.parametrize(
    "reports",
    [
        ([0, 4], [0, 3], [0, 2]),  # a = 0 is no function of the family
        ([1, 5], [0, 3], [0, 2]),  # a = P
        ([1, 4], [0, 5], [0, 2]),  # b = P
        ([1, 4], [0, 3], [0, 3]),  # y = g
        ([1, -4], [0, 3], [0, 2]),
        ([1, 4], [0, 3], [0.0, 2.0]),
        ([1, 4], [0, 3], [0]),
        ([1, 4], [0, 3, 1], [0, 2]),
        GOOD[:2],
        (*GOOD, GOOD[0]),
        (),
        None,
        7,
        [[1, 4], [0, 3], [[0], [2]]],
    ],
    ids=shown,
)
def test_hashed_reports(reports: Any) -> None:
    sentence(lambda: GLH.count(reports), InvalidInput, "")


def test_chosen_reports() -> None:
    good = BOTH.simulate([0, 1, 2, 3, 4], np.random.default_rng(1))
    for parts in (good.parts[:1], (*good.parts, good.parts[0]), (), good.parts[::-1]):
        sentence(lambda parts=parts: BOTH.count(ChosenReports(good.choice, parts)), InvalidInput, "")


@pytest.mark.parametrize(
    "items", [[], [5], [-1], [0.0], ["1"], [True], 3, [[0, 1]], [[0], [1, 2]], [2**64], [None]], ids=shown
)
@pytest.mark.parametrize("mechanism", [RR, GLH, BOTH, Identity(5)], ids=lambda m: m.kind)
def test_items(mechanism: Any, items: Any) -> None:
    reports = mechanism.simulate([0, 1], np.random.default_rng(1))
    sentence(lambda: mechanism.count(reports, items=items), InvalidParameter, "`items`")
    sentence(lambda: mechanism.estimate(reports, items=items), InvalidParameter, "`items`")


@pytest.mark.parametrize(
    ("parts", "weights"),
    [
        ([], []),
        ([RR], []),
        ([RR, RR], [1.0]),
        ([RR, RR], [0.5, 0.6]),
        ([RR, RR], [-0.5, 1.5]),
        ([RR, RR], [NAN, 1.0]),
        ([RR, RR], [INF, 1.0]),
        ([RR, RR], [None, 1.0]),
        ([RR, RR], ["x", 1.0]),
        ([RR, RR], ["0.5", [0.5]]),
        ([RR, Identity(6)], [0.5, 0.5]),
        ([RR, BOTH], [0.5, 0.5]),
        ([RR, 1], [0.5, 0.5]),
        ([RR, RR], 1.0),
    ],
    ids=lambda v: repr(v)[:30],
)
def test_parts_and_weights(parts: Any, weights: Any) -> None:
    sentence(lambda: RandomChoice(parts, weights), InvalidParameter, "Parameter")


@pytest.mark.parametrize("mechanism", [RR, GLH, BOTH, Identity(5)], ids=lambda m: m.kind)
def test_counts_of_other_parameters(mechanism: Any) -> None:
    other = RandomizedResponse(domain_size=5, epsilon=1.0000001).count([0, 1])
    reports = mechanism.simulate([0, 1], np.random.default_rng(1))
    sentence(lambda: mechanism.count(reports, into=other), ParametersMismatch, "parameters")


@pytest.mark.parametrize("mechanism", [RR, GLH, BOTH, Identity(5)], ids=lambda m: m.kind)
def test_other_items_than_the_earlier_counts(mechanism: Any) -> None:
    """`into` says what is counted; another list of items cannot be counted into it, and must not be ignored."""
    reports = mechanism.simulate([0, 1], np.random.default_rng(1))
    for earlier, items in ((None, [1]), ([1], [2]), ([1], [1, 2])):
        counts = mechanism.count(reports, items=earlier)
        sentence(
            lambda counts=counts, items=items: mechanism.count(reports, into=counts, items=items), InvalidInput, "items"
        )
    same = mechanism.count(reports, items=[2, 1])
    assert mechanism.count(reports, into=same, items=[1, 2]).reports == 4


@pytest.mark.parametrize(
    "made",
    [RandomizedResponse.from_theta(domain_size=5, theta=0.0), LocalHashing(domain_size=5, hash_size=3, epsilon=0.0)],
    ids=lambda m: m.kind,
)
def test_nothing_is_estimated_from_pure_noise(made: Any) -> None:
    sentence(lambda: made.estimate(made.simulate([0, 1], np.random.default_rng(1))), InvalidParameter, "noise")


@pytest.mark.parametrize("mechanism", [RR, GLH, BOTH, Identity(5)], ids=lambda m: m.kind)
def test_no_reports(mechanism: Any) -> None:
    """An empty batch is a batch; only an estimate needs a report."""
    none = mechanism.simulate([], np.random.default_rng(1))
    assert mechanism.count(none).reports == 0
    assert mechanism.count(mechanism.obfuscate_many([])).counts.tolist() == [0] * 5
    sentence(lambda: mechanism.estimate(none), InvalidInput, "no reports")


@pytest.mark.parametrize("mechanism", [RandomizedResponse, LocalHashing, Identity])
def test_a_domain_too_large_to_count_needs_a_list_of_items(mechanism: Any) -> None:
    made = {
        RandomizedResponse: lambda: RandomizedResponse(domain_size=10**18, epsilon=40.0),
        LocalHashing: lambda: LocalHashing(domain_size=10**18, hash_size=2**40, epsilon=40.0),
        Identity: lambda: Identity(10**18),
    }[mechanism]()
    values = np.array([10**18 - 1, 0, 10**18 - 1], np.uint64)
    reports = made.simulate(values, np.random.default_rng(1))
    sentence(lambda: made.count(reports), InvalidParameter, "`items`")
    assert made.count(reports, items=[0, 10**18 - 1]).reports == 3


@pytest.mark.parametrize("mechanism", [RR, GLH, BOTH, Identity(5)], ids=lambda m: m.kind)
@pytest.mark.parametrize(
    "wrong", [{"users": 0}, {"users": 1.5}, {"users": NAN}, {"users": 9, "reports": 0}, {"users": 9, "list_size": 0},
              {"users": 9, "prior_max": 0.01}, {"users": 9, "prior_max": NAN}, {"users": 9, "prior_max": 2}], ids=shown,
)  # fmt: skip
def test_guarantee_arguments(mechanism: Any, wrong: dict[str, Any]) -> None:
    sentence(lambda: mechanism.guarantee(**wrong), InvalidParameter, "Parameter")


@pytest.mark.parametrize("mechanism", [RR, GLH, BOTH, Identity(5)], ids=lambda m: m.kind)
def test_mechanisms_are_frozen_values(mechanism: Any) -> None:
    for field in dataclasses.fields(mechanism):
        with pytest.raises(AttributeError):
            setattr(mechanism, field.name, 7)
    assert hash(mechanism) == hash(mechanism)


@pytest.mark.parametrize(
    ("a", "b", "y", "size"),
    [(0, 0, 0, 5), (-1, 0, 0, 5), (5, 0, 0, 5), (1, -1, 0, 5), (1, 5, 0, 5), (1, 0, -1, 5), (1, 0, 3, 5), (1, 0, 0, 6),
     (1, 0, 0, -1), (2**64, 0, 0, 5), (1.5, 0, 0, 5)],
)  # fmt: skip
def test_preimages_of_what_is_no_function_of_the_family(a: Any, b: Any, y: Any, size: Any) -> None:
    sentence(lambda: HashFamily(5, 3).preimages(a, b, y, size), InvalidParameter, "")


def test_reports_of_every_integer_type_are_counted() -> None:
    for kind in (np.uint8, np.int8, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        assert RR.count(np.array([0, 1, 1, 4], kind)).counts.tolist() == [1, 2, 0, 0, 1]
        assert GLH.count(HashedReports(*(np.array(column, kind) for column in GOOD))).reports == 2
