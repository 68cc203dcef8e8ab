"""The counting kernels, against loops over items and reports that share no code with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from entropie.kernels import counting
from entropie.kernels.counting import (
    count_hashed,
    count_hashed_items,
    count_hashed_sweep,
    count_values,
    scale_counts,
)

PRIMES = [2, 3, 5, 13, 101, 251, 65537, 2**31 - 1, 4294967311, 2**61 - 1, 2**62 - 57]
U = np.uint64
EXACT = settings(derandomize=True, deadline=None, max_examples=250)
Reports = list[tuple[int, int, int]]


def oracle(reports: Reports, prime: int, hash_size: int, items: list[int]) -> list[int]:
    """How many reports each item supports, one test at a time."""
    return [sum((a * x + b) % prime % hash_size == y for a, b, y in reports) for x in items]


def columns(reports: Reports) -> tuple[NDArray[np.uint64], ...]:
    return tuple(np.array([report[i] for report in reports], U) for i in range(3))


def whole_domain(kernel: Callable[..., None], reports: Reports, prime: int, hash_size: int, domain_size: int) -> Any:
    inverse = pow(hash_size, -1, prime) if hash_size < prime else 1
    counts = np.zeros(domain_size, np.uint32)
    kernel(*columns(reports), U(prime), U(hash_size), U(inverse), counts)
    return counts


def fast_oracle(reports: Reports, prime: int, hash_size: int, domain_size: int) -> NDArray[np.int64]:
    """The same as `oracle` in numpy, for P below 2^31, where nothing overflows 64 bits."""
    x = np.arange(domain_size, dtype=np.int64)
    counts = np.zeros(domain_size, np.int64)
    for a, b, y in reports:
        counts += (a * x + b) % prime % hash_size == y
    return counts


def random_reports(seed: int, size: int, prime: int, hash_size: int) -> Reports:
    rng = np.random.default_rng(seed)
    return [
        (int(rng.integers(1, prime)), int(rng.integers(0, prime)), int(rng.integers(0, hash_size))) for _ in range(size)
    ]


@st.composite
def batches(draw: st.DrawFn, primes: list[int] = PRIMES, largest: int = 2**62) -> tuple[Reports, int, int, int]:
    """(reports, P, g, k) with few reports; k may equal P, g may exceed k, 2^32, or equal P."""
    prime = draw(st.sampled_from(primes))
    hash_size = draw(
        st.one_of(
            st.integers(2, min(prime, largest)),
            st.integers(2, min(prime, largest, 12)),
            st.sampled_from([prime, max(2, prime - 1), prime // 2 + 1, 2**32 + 15]).map(
                lambda g: max(2, min(g, prime, largest))
            ),
        )
    )
    report = st.tuples(st.integers(1, prime - 1), st.integers(0, prime - 1), st.integers(0, hash_size - 1))
    reports = draw(st.lists(report, max_size=6))
    domain_size = draw(st.one_of(st.integers(1, min(prime, 300)), st.just(min(prime, 300))))
    return reports, prime, hash_size, domain_size


def test_count_values_adds_to_what_is_there() -> None:
    values = np.random.default_rng(1).integers(0, 7, 1000, dtype=np.uint32)
    counts = np.full(8, 5, np.int64)
    count_values(values, counts)
    seen = Counter(values.tolist())
    assert counts.tolist() == [5 + seen[v] for v in range(8)]


@EXACT
@given(batches())
def test_count_hashed(case: tuple[Reports, int, int, int]) -> None:
    reports, prime, hash_size, domain_size = case
    want = oracle(reports, prime, hash_size, list(range(domain_size)))
    assert whole_domain(count_hashed, reports, prime, hash_size, domain_size).tolist() == want


@EXACT
@given(batches(primes=[2, 3, 5, 13, 101, 251, 65537, 2**31 - 1], largest=6))
def test_count_hashed_sweep(case: tuple[Reports, int, int, int]) -> None:
    reports, prime, hash_size, domain_size = case
    want = oracle(reports, prime, hash_size, list(range(domain_size)))
    assert whole_domain(count_hashed_sweep, reports, prime, hash_size, domain_size).tolist() == want


@EXACT
@given(batches(), st.lists(st.integers(0, 2**62), max_size=20))
def test_count_hashed_items(case: tuple[Reports, int, int, int], items: list[int]) -> None:
    """Any items of the domain, also far ones, in any order and repeated."""
    reports, prime, hash_size, _ = case
    items = [x % prime for x in items]
    counts = np.zeros(len(items), np.uint32)
    count_hashed_items(*columns(reports), U(prime), U(hash_size), np.array(items, U), counts)
    assert counts.tolist() == oracle(reports, prime, hash_size, items)


@pytest.mark.parametrize("prime", [2, 3, 5, 7, 11])
def test_every_report_of_a_small_family(prime: int) -> None:
    for hash_size in range(2, prime + 1):
        reports = [(a, b, y) for a in range(1, prime) for b in range(prime) for y in range(hash_size)]
        for domain_size in range(1, prime + 1):
            want = oracle(reports, prime, hash_size, list(range(domain_size)))
            assert whole_domain(count_hashed, reports, prime, hash_size, domain_size).tolist() == want
            assert whole_domain(count_hashed_sweep, reports, prime, hash_size, domain_size).tolist() == want


@pytest.mark.parametrize(
    ("domain_size", "hash_size"),
    [
        (200_003, 2),
        (200_003, 700),  # three blocks of the default size
        (200_003, 9001),  # a block is eight times the hash size
        (200_003, 200_003),  # one preimage at most
        (counting.BLOCK, 5),
        (counting.BLOCK + 1, 5),
        (2 * counting.BLOCK - 1, 31),
    ],
)
def test_count_hashed_walks_through_many_blocks(domain_size: int, hash_size: int) -> None:
    prime = 200_003
    reports = random_reports(domain_size + hash_size, 40, prime, hash_size)
    want = fast_oracle(reports, prime, hash_size, domain_size)
    assert np.array_equal(whole_domain(count_hashed, reports, prime, hash_size, domain_size), want)


@pytest.mark.parametrize("hash_size", [2, 3, 16, 101])
def test_count_hashed_with_more_reports_than_a_batch(hash_size: int) -> None:
    prime = 101
    reports = random_reports(hash_size, 2 * counting.BATCH + 3, prime, hash_size)
    a, b, y = (column.astype(np.int64) for column in columns(reports))
    want = [int(((a * x + b) % prime % hash_size == y).sum()) for x in range(90)]
    assert whole_domain(count_hashed, reports, prime, hash_size, 90).tolist() == want


@pytest.mark.parametrize("prime", [20_011, 2**31 - 1])
@pytest.mark.parametrize("domain_size", [1, 127, 128, 129, counting.SWEEP_BLOCK, counting.SWEEP_BLOCK + 1, 20_000])
def test_sweep_over_lanes_and_blocks(prime: int, domain_size: int) -> None:
    for hash_size in (2, 3, 6):
        reports = random_reports(domain_size, 25, prime, hash_size)
        want = fast_oracle(reports, prime, hash_size, domain_size)
        assert np.array_equal(whole_domain(count_hashed_sweep, reports, prime, hash_size, domain_size), want)


def test_counts_are_added_to_what_is_there() -> None:
    prime, hash_size = 101, 5
    reports = random_reports(3, 50, prime, hash_size)
    inverse = pow(hash_size, -1, prime)
    once = oracle(reports, prime, hash_size, list(range(60)))
    for kernel in (count_hashed, count_hashed_sweep):
        counts = np.full(60, 7, np.uint32)
        kernel(*columns(reports), U(prime), U(hash_size), U(inverse), counts)
        kernel(*columns(reports), U(prime), U(hash_size), U(inverse), counts)
        assert counts.tolist() == [7 + 2 * c for c in once]


@pytest.mark.parametrize("kind", [np.uint32, np.int64])
def test_scale_counts(kind: type) -> None:
    counts = np.array([0, 1, 7, 2**31], kind)
    out = np.empty(4)
    scale_counts(counts, 0.25, 1.5, out)
    assert out.tolist() == [0.25 * int(count) - 1.5 for count in counts]
