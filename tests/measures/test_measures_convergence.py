from __future__ import annotations

import math

import numpy as np
import pytest

from entropie.errors import InvalidParameter
from entropie.measures.convergence import convergence, doubling_sizes
from entropie.measures.law import ScoreLaw


def normal_attack(users: int, rng: np.random.Generator, growth: float = 0.0) -> ScoreLaw:
    """Bits that do not depend on the users, or grow by `growth` nats per doubling."""
    mu = math.sqrt(2 * (1.0 + growth * math.log2(users / 100)))
    return ScoreLaw.from_scores(rng.normal(mu, 1, users), rng.normal(0, 1, min(users * (users - 1), 200_000)))


def test_sizes_double() -> None:
    assert doubling_sizes(1511) == (188, 377, 755, 1511)
    assert doubling_sizes(150) == (150,)
    assert doubling_sizes(20, smallest=5) == (5, 10, 20)


def test_bits_that_settle_are_seen_to_settle() -> None:
    found = convergence(normal_attack, doubling_sizes(6400), seed=1, repeats=4, replicates=100)
    assert found.settled is True
    assert abs(found.slope_bits_per_doubling.value) < 0.1
    assert not found.limited
    assert [point.users for point in found.points] == [size for size in doubling_sizes(6400)[:-1] for _ in range(4)] + [
        6400
    ]
    assert all(abs(point.pse_bits.value - 1 / math.log(2)) < 1.5 for point in found.points)


def test_bits_that_grow_are_refuted() -> None:
    found = convergence(
        lambda users, rng: normal_attack(users, rng, growth=0.3),
        doubling_sizes(6400),
        seed=1,
        repeats=4,
        replicates=100,
    )
    assert found.settled is False
    assert found.slope_bits_per_doubling.value == pytest.approx(0.3 / math.log(2), abs=0.1)


def test_too_little_data_is_left_open() -> None:
    found = convergence(normal_attack, (40, 80), seed=2, repeats=1, replicates=100)
    assert found.settled is None


def test_resolution_limits_are_flagged() -> None:
    far = convergence(lambda users, rng: ScoreLaw.weighted([0.0], [users**2], [1.0] * users), (100, 200), seed=0)
    assert far.limited
    assert far.slope_bits_per_doubling.value == pytest.approx(
        2.0
    )  # log2(m/3) rises by two bits per doubling: not a finding


def test_the_same_seed_gives_the_same_points() -> None:
    first, second = (convergence(normal_attack, (100, 200), seed=7, replicates=50) for _ in range(2))
    assert first == second


def test_bad_requests_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="sizes"):
        convergence(normal_attack, (100, 100), seed=0)
    with pytest.raises(InvalidParameter, match="repeats"):
        convergence(normal_attack, (100, 200), seed=0, repeats=0)
