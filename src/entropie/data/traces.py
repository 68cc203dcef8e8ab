"""The one shape of events that the rest of the package works on: flat arrays cut by offsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidInput, InvalidParameter
from entropie.kernels.traces import copy_runs

BLOCK_USERS = 1 << 17


@dataclass(frozen=True, slots=True)
class Traces:
    """Every user's events in time order: one flat array cut by offsets.

    User u did items[offsets[u]:offsets[u + 1]]. A user may have no events.
    """

    offsets: NDArray[np.int64]  # users + 1
    items: NDArray[np.uint32]  # item codes 0..domain_size-1
    domain_size: int
    times: NDArray[np.int64] | None = None  # seconds since the epoch; None = only the order is known

    def __post_init__(self) -> None:
        _check_array("offsets", self.offsets, np.int64)
        _check_array("items", self.items, np.uint32)
        if self.offsets.size == 0 or self.offsets[0] != 0 or self.offsets[-1] != self.items.size:
            raise InvalidInput(
                f"Array `offsets` must begin with 0 and end with the number of items, {self.items.size}, "
                f"got {self.offsets[:1].tolist()} ... {self.offsets[-1:].tolist()} instead."
            )
        if np.any(self.offsets[1:] < self.offsets[:-1]):
            raise InvalidInput("Array `offsets` must not decrease; some user would have fewer than 0 events.")
        if not 0 <= self.domain_size <= 2**32:
            raise InvalidParameter.of("domain_size", "between 0 and 2^32", self.domain_size)
        if self.items.size and int(self.items.max()) >= self.domain_size:
            raise InvalidInput(
                f"Array `items` must stay below domain_size = {self.domain_size}, got {int(self.items.max())} instead."
            )
        if self.times is not None:
            _check_array("times", self.times, np.int64)
            if self.times.size != self.items.size:
                raise InvalidInput(
                    f"Array `times` must have one value per item, {self.items.size}, got {self.times.size} instead."
                )

    @property
    def users(self) -> int:
        """Number of users, with or without events."""
        return self.offsets.size - 1

    @property
    def events(self) -> int:
        """Number of events of all users."""
        return self.items.size

    def take(self, users: NDArray[np.integer]) -> Traces:
        """Keep the named users, in the order named; item codes stay as they are."""
        users = np.asarray(users, dtype=np.int64)
        if users.size and not 0 <= users.min() <= users.max() < self.users:
            raise InvalidParameter.of("users", f"between 0 and {self.users - 1}", users.tolist()[:5])
        starts = self.offsets[users]
        return cut_runs(self, starts, self.offsets[users + 1] - starts)


def in_blocks(traces: Traces, most: int = BLOCK_USERS) -> Iterator[Traces]:
    """The traces of so many users at a time: what is made from them needs several times their room."""
    if traces.users <= most:
        yield traces
        return
    for begin in range(0, traces.users, most):
        yield traces.take(np.arange(begin, min(begin + most, traces.users)))


def dense(traces: Traces) -> tuple[Traces, NDArray[np.uint32]]:
    """Number the items that occur, in their order; returns the codes behind the numbers."""
    codes, local = np.unique(traces.items, return_inverse=True)
    return Traces(traces.offsets, local.astype(np.uint32), codes.size, traces.times), codes


def cut_runs(traces: Traces, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Traces:
    """Make traces of the runs of events that begin at `starts`: what taking and splitting have in common."""
    offsets = np.zeros(starts.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    items = np.empty(offsets[-1], np.uint32)
    copy_runs(traces.items, starts, offsets, items)
    times = None
    if traces.times is not None:
        times = np.empty(offsets[-1], np.int64)
        copy_runs(traces.times, starts, offsets, times)
    return Traces(offsets, items, traces.domain_size, times)


def ragged(offsets: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Offsets of the named rows in the order named, and where their entries stand now."""
    lengths = np.diff(offsets)[rows]
    taken = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    return taken, np.repeat(offsets[rows] - taken[:-1], lengths) + np.arange(taken[-1])


def _check_array(name: str, array: NDArray[np.generic], dtype: type[np.generic]) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
        found = f"{array.dtype} with {array.ndim} axes" if isinstance(array, np.ndarray) else type(array)
        raise InvalidInput(f"Array `{name}` must be flat and of type {dtype.__name__}, got {found} instead.")
    if not array.flags.c_contiguous:
        raise InvalidInput(f"Array `{name}` must be contiguous; pass numpy.ascontiguousarray(...).")
