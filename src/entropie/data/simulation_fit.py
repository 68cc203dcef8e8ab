"""What a simulation is held against real data by: how events spread over people and items, and how they repeat."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.data.traces import Traces
from entropie.errors import InvalidInput

CURVE = (0.01, 0.05, 0.10, 0.20, 0.50)
"""Where the popularity curve is read: the most popular 1 %, 5 %, ... of items."""

_BLOCK_USERS = 20_000
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class FitTable:
    """Statistics of some traces. Means are over people unless said otherwise.

    popularity            share of all events at the most popular 1, 5, 10, 20 and 50 % of items (`CURVE`)
    new_share             distinct items by events of a person, mean
    repeated_transitions  share of all steps from an item to the next that the same person made before
    same_item_again       share of all steps that stay at the item
    favourite_share       share of a person's events at their most frequent item, mean
    same_hour_share       share of returns within one hour of the day of the last visit, by the clock's full hours;
                          None without times
    """

    users: int
    items: int
    events: int
    events_per_user: float
    median_events_per_user: float
    distinct_per_user: float
    new_share: float
    favourite_share: float
    users_per_item: float
    repeated_transitions: float
    same_item_again: float
    largest_item_share: float
    popularity: tuple[float, ...]
    same_hour_share: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The same as one JSON object."""
        document = dataclasses.asdict(self)
        document["popularity"] = [
            {"top_share_of_items": top, "share_of_events": share}
            for top, share in zip(CURVE, self.popularity, strict=True)
        ]
        return document


def fit_table(traces: Traces) -> FitTable:
    """Compute the statistics, some thousand people at a time."""
    lengths = np.diff(traces.offsets)
    if traces.users == 0 or lengths.min() < 2:
        raise InvalidInput("Statistics of a simulation need people with at least 2 events each.")
    counts = np.sort(np.bincount(traces.items, minlength=traces.domain_size))[::-1]
    counts = counts[counts > 0]
    distinct = np.zeros(traces.users, np.int64)
    favourite = np.zeros(traces.users, np.int64)
    repeated = same = returns = same_hour = 0
    for first in range(0, traces.users, _BLOCK_USERS):
        last = min(first + _BLOCK_USERS, traces.users)
        block = _Block.of(traces, first, last)
        distinct[first:last], favourite[first:last] = block.distinct_and_favourite()
        repeated += block.repeated_transitions()
        same += block.same_item_again()
        if traces.times is not None:
            back, near = block.returns(traces.times[traces.offsets[first] : traces.offsets[last]])
            returns, same_hour = returns + back, same_hour + near
    steps = traces.events - traces.users
    return FitTable(
        users=traces.users,
        items=counts.size,
        events=traces.events,
        events_per_user=float(lengths.mean()),
        median_events_per_user=float(np.median(lengths)),
        distinct_per_user=float(distinct.mean()),
        new_share=float((distinct / lengths).mean()),
        favourite_share=float((favourite / lengths).mean()),
        users_per_item=float(distinct.sum() / counts.size),
        repeated_transitions=repeated / steps,
        same_item_again=same / steps,
        largest_item_share=float(counts[0] / traces.events),
        popularity=tuple(float(counts[: math.ceil(top * counts.size)].sum() / traces.events) for top in CURVE),
        same_hour_share=same_hour / returns if returns else None,
    )


@dataclass(frozen=True, slots=True)
class _Block:
    """Events of some people, with a number for every pair of person and item."""

    owners: NDArray[np.int64]
    pair_owners: NDArray[np.int64]
    pair_counts: NDArray[np.int64]
    pairs: NDArray[np.int64]  # per event
    users: int

    @classmethod
    def of(cls, traces: Traces, first: int, last: int) -> _Block:
        low, high = traces.offsets[first], traces.offsets[last]
        owners = np.repeat(np.arange(last - first), np.diff(traces.offsets[first : last + 1]))
        codes = owners * traces.domain_size + traces.items[low:high]
        unique, pairs, counts = np.unique(codes, return_inverse=True, return_counts=True)
        return cls(owners, unique // traces.domain_size, counts, pairs, last - first)

    def distinct_and_favourite(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        most = np.zeros(self.users, np.int64)
        np.maximum.at(most, self.pair_owners, self.pair_counts)
        return np.bincount(self.pair_owners, minlength=self.users), most

    def repeated_transitions(self) -> int:
        steps = np.flatnonzero(self.owners[1:] == self.owners[:-1])
        codes = self.pairs[steps] * self.pair_counts.size + self.pairs[steps + 1]
        return steps.size - np.unique(codes).size

    def same_item_again(self) -> int:
        return int(np.count_nonzero(self.pairs[1:] == self.pairs[:-1]))

    def returns(self, times: NDArray[np.int64]) -> tuple[int, int]:
        """How many events are at an item visited before; how many of them within one hour of the last visit there."""
        order = np.argsort(self.pairs, kind="stable")
        again = self.pairs[order[1:]] == self.pairs[order[:-1]]
        hours = times % _DAY_SECONDS // 3600
        apart = np.abs(hours[order[1:]] - hours[order[:-1]])[again]
        return apart.size, int(np.count_nonzero(np.minimum(apart, 24 - apart) <= 1))
