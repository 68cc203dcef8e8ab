"""From reports to supports: the same counts whatever the kernel, the number of threads and the list of items."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from entropie.estimation.counting import hashed_supports, value_supports
from entropie.mechanisms.local_hashing import LocalHashing

LARGE_PRIME = 2**61 - 1
Reports = tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]


def oracle(reports: Reports, prime: int, hash_size: int, items: list[int]) -> list[int]:
    rows = [(int(a), int(b), int(y)) for a, b, y in zip(*reports, strict=True)]
    return [sum((a * x + b) % prime % hash_size == y for a, b, y in rows) for x in items]


def random_reports(seed: int, size: int, prime: int, hash_size: int) -> Reports:
    rng = np.random.default_rng(seed)
    u = np.uint64
    return rng.integers(1, prime, size, u), rng.integers(0, prime, size, u), rng.integers(0, hash_size, size, u)


CASES = [
    (101, 2, 101), (101, 6, 90), (101, 7, 90), (101, 101, 101), (2**31 - 1, 3, 90), (4294967311, 3, 90),
    (LARGE_PRIME, 2, 60), (LARGE_PRIME, 2**33, 60), (LARGE_PRIME, 10**18, 60),
]  # fmt: skip


@pytest.mark.parametrize(("prime", "hash_size", "domain_size"), CASES)
def test_whole_domain_and_lists_of_items(prime: int, hash_size: int, domain_size: int) -> None:
    """Sweep and walk, each side of the switch between them; short lists tested item by item, long ones picked."""
    reports = random_reports(prime % 1000, 120, prime, hash_size)
    want = oracle(reports, prime, hash_size, list(range(domain_size)))
    assert hashed_supports(reports, prime, hash_size, domain_size, None).tolist() == want
    for items in ([0], [domain_size - 1], [1, 5, 7], list(range(domain_size)), list(range(0, domain_size, 2))):
        chosen = np.array(items, np.uint64)
        assert hashed_supports(reports, prime, hash_size, domain_size, chosen).tolist() == [want[x] for x in items]


@pytest.mark.parametrize("hash_size", [2, 6, 7, 50, 997])
@pytest.mark.parametrize("listed", [0, 10, 500])
def test_threads_do_not_change_the_counts(hash_size: int, listed: int) -> None:
    """More threads than shares of 1024 reports, shares of unequal size, and threads left to the machine."""
    prime, domain_size, total = 997, 900, 8 * 1024 + 5
    reports = random_reports(hash_size, total, prime, hash_size)
    items = np.arange(listed, dtype=np.uint64) if listed else None
    alone = hashed_supports(reports, prime, hash_size, domain_size, items, threads=1)
    a, b, y = (column.astype(np.int64) for column in reports)
    want = [int(((a * x + b) % prime % hash_size == y).sum()) for x in range(len(alone))]
    assert alone.tolist() == want
    for threads in (2, 3, 7, 64, None):
        assert np.array_equal(hashed_supports(reports, prime, hash_size, domain_size, items, threads=threads), alone)


def test_no_reports() -> None:
    empty = np.empty(0, np.uint64)
    assert hashed_supports((empty, empty, empty), 101, 7, 50, None).tolist() == [0] * 50
    assert hashed_supports((empty, empty, empty), 101, 7, 50, np.arange(3, dtype=np.uint64)).tolist() == [0] * 3


@pytest.mark.parametrize("listed", [3, 64, 65, 200])
def test_items_of_a_domain_too_large_to_count(listed: int) -> None:
    """A list is the way to count where a table of the whole domain cannot be held: its length must not matter."""
    domain_size = 10**18
    mechanism = LocalHashing(domain_size=domain_size, hash_size=10**18, epsilon=60.0)
    items = np.arange(listed, dtype=np.uint64) * np.uint64(domain_size // listed)
    reports = mechanism.simulate(items[:3], np.random.default_rng(1))
    want = oracle(tuple(reports), mechanism.family.prime, mechanism.hash_size, [int(x) for x in items])
    assert mechanism.count(reports, items=items).counts.tolist() == want


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 30), max_size=60), st.sets(st.integers(0, 30), min_size=1))
def test_value_supports(values: list[int], items: set[int]) -> None:
    codes, chosen = np.array(values, np.uint64), np.array(sorted(items), np.uint64)
    assert value_supports(codes, 31, None).tolist() == [values.count(x) for x in range(31)]
    assert value_supports(codes, 31, chosen).tolist() == [values.count(x) for x in sorted(items)]
