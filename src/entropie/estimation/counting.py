"""From reports to supports: which kernel counts them fastest, on how many threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from entropie.errors import interruptible
from entropie.estimation.counts import LARGEST_TABLE
from entropie.estimation.parallel import in_parallel

if TYPE_CHECKING:
    from collections.abc import Callable

    Words = NDArray[np.uint64]
    Supports = NDArray[np.uint32]

SWEEP_HASH_SIZE = 6
"""Up to this many hash values a vectorised test of every item is faster than walking from hit to hit."""
ITEM_TESTS_PER_REPORT = 64
"""A list of so many items is tested item by item; longer ones are picked from a count of the whole domain."""
REPORTS_PER_TASK = 1 << 17
_PAGE_COUNTERS = 1024


def words(column: Words) -> Words:
    """Numbers of reports as every kernel takes them; each other layout of an array would be compiled for itself."""
    fixed = np.ascontiguousarray(column, np.uint64)[:]
    fixed.flags.writeable = False
    return fixed


@interruptible
def value_supports(values: NDArray[np.uint64], domain_size: int, items: Words | None) -> Supports:
    """How many reports name each item."""
    if items is None:
        from entropie.kernels.counting import count_values

        supports = _zeros(domain_size)
        count_values(words(values), supports)
        return supports
    place = np.searchsorted(items, values)
    place[place == len(items)] = 0
    found = items[place] == values
    return np.bincount(place[found], minlength=len(items)).astype(np.uint32)


def _zeros(size: int) -> Supports:
    """Counters at zero, their memory fetched by all cores at once: fresh pages cost more than counting does."""
    supports = np.zeros(size, np.uint32)

    def touch(part: slice) -> None:
        supports[part][::_PAGE_COUNTERS] = 0

    in_parallel(touch, size, 1 << 20)
    return supports


@interruptible
def hashed_supports(
    reports: tuple[Words, Words, Words],
    prime: int,
    hash_size: int,
    domain_size: int,
    items: Words | None,
    threads: int | None = None,
) -> Supports:
    """How many reports (a, b, y) each item x supports: h(x) = y."""
    a, b, y = map(words, reports)
    reports = (a, b, y)
    if items is None:
        return _whole_domain(reports, prime, hash_size, domain_size, threads)
    last = int(items[-1])
    if len(items) <= max(ITEM_TESTS_PER_REPORT, domain_size // hash_size) or last >= LARGEST_TABLE:
        return _listed(reports, prime, hash_size, words(items), threads)
    supports = _whole_domain(reports, prime, hash_size, last + 1, threads)
    return supports[items]


def _whole_domain(
    reports: tuple[Words, Words, Words], prime: int, hash_size: int, domain_size: int, threads: int | None
) -> Supports:
    from entropie.kernels.counting import count_hashed, count_hashed_sweep

    inverse = pow(hash_size, -1, prime) if hash_size < prime else 1
    kernel = count_hashed_sweep if hash_size <= SWEEP_HASH_SIZE and prime < 2**31 else count_hashed
    numbers = (np.uint64(prime), np.uint64(hash_size), np.uint64(inverse))

    def count(a: Words, b: Words, y: Words, supports: Supports) -> None:
        kernel(a, b, y, *numbers, supports)

    return _in_threads(count, reports, domain_size, threads)


def _listed(
    reports: tuple[Words, Words, Words], prime: int, hash_size: int, items: Words, threads: int | None
) -> Supports:
    from entropie.kernels.counting import count_hashed_items

    def count(a: Words, b: Words, y: Words, supports: Supports) -> None:
        count_hashed_items(a, b, y, np.uint64(prime), np.uint64(hash_size), items, supports)

    return _in_threads(count, reports, len(items), threads)


def _in_threads(
    count: Callable[[Words, Words, Words, Supports], None],
    reports: tuple[Words, Words, Words],
    size: int,
    threads: int | None,
) -> Supports:
    """Give every thread its own counters and an equal share of the reports, then add the counters."""

    def share(part: slice) -> Supports:
        supports = np.zeros(size, np.uint32)
        for begin in range(part.start, part.stop, REPORTS_PER_TASK):
            task = slice(begin, min(begin + REPORTS_PER_TASK, part.stop))
            count(reports[0][task], reports[1][task], reports[2][task], supports)
        return supports

    first, *rest = in_parallel(share, len(reports[0]), 1024, threads)
    for supports in rest:
        first += supports
    return first
