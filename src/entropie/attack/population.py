"""What a matcher must know of everybody: a few statistics that are gathered block by block and add up exactly.

A row of a user or of a target is a function of one person's events and of this. So people may be matched in blocks of
any size, with items numbered anew in each as long as their order is kept, and every row comes out the same to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import FeatureRows, item_rows
from entropie.attack.pitman_yor import PitmanYor, choose_settings, hour_shares, hour_sums
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter

__all__ = ["Population", "choose_smoothing", "item_counts", "smoothing_from", "smoothing_terms"]

_SMOOTHINGS = 2.0 ** (np.arange(-8, 81) / 4)
_UNINFORMED_SMOOTHING = 32.0
_OWN_BITS = 24
_BY_ITEM = ("tfidf", "bayes", "pitman_yor")
"""The matchers that weigh an item by how common it is."""


@dataclass(frozen=True, slots=True)
class Population:
    """Statistics of the training of everybody. The arrays have one number per item code, or none where not needed.

    A block of people may have them cut to its own items; `all_holders` and `all_events` are of all items even so.
    """

    users: int
    holders: NDArray[np.int64]  # people who have the item in training
    events: NDArray[np.int64]  # training events at the item
    all_holders: int
    all_events: int
    smoothing: float | None = None  # lambda of bayes
    settings: PitmanYor | None = None
    hours: NDArray[np.float64] | None = None  # share of everybody's faded events per slot; None: hours do not count

    def __post_init__(self) -> None:
        if self.smoothing is not None and not (self.smoothing > 0 and np.isfinite(self.smoothing)):
            raise InvalidParameter.of("smoothing", "a positive number", self.smoothing)

    @classmethod
    def of(cls, name: str, train: Traces, target: Traces, *, smoothing: float | None = None) -> Population:
        """Gather what the matcher `name` needs; `smoothing` is chosen from the training unless given."""
        if name not in _BY_ITEM:
            return cls(train.users, np.empty(0, np.int64), np.empty(0, np.int64), 0, 0)
        counts = item_rows(train)
        holders, events = counts.holders(), _events(counts)
        settings = hours = None
        if name == "bayes" and smoothing is None:
            smoothing = smoothing_from(*_terms(counts, events), train.events)
        if name == "pitman_yor":
            settings = choose_settings(train, target)
            timed = train.times is not None and target.times is not None
            if timed and settings.uses_hours:
                hours = hour_shares(hour_sums(train, settings.recency))
        return cls(train.users, holders, events, int(holders.sum()), train.events, smoothing, settings, hours)

    def cut(self, items: NDArray[np.integer]) -> Population:
        """The same with the arrays cut to some items, in the order named."""
        if not self.holders.size:
            return self
        return Population(
            self.users,
            self.holders[items],
            self.events[items],
            self.all_holders,
            self.all_events,
            self.smoothing,
            self.settings,
            self.hours,
        )


def item_counts(train: Traces) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Items that some people have, their events and how many people have each; sums over blocks are those of all."""
    counts = item_rows(train)
    holders = counts.holders()
    items = np.flatnonzero(holders)
    return items, _events(counts)[items], holders[items]


def smoothing_terms(
    train: Traces, events: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """What `smoothing_from` needs of some people: pairs of (item's events, own count) and how often each occurs,
    numbers of events per person and how many people have each.

    `events` counts everybody's training events at each item.
    """
    return _terms(item_rows(train), events)


def smoothing_from(
    pairs: NDArray[np.int64],
    times: NDArray[np.int64],
    sizes: NDArray[np.int64],
    users: NDArray[np.int64],
    all_events: int,
) -> float:
    """Choose lambda by the likelihood of each training event given the user's others.

    Maximises sum c ln((c - 1 + lambda p(x)) / (N - 1 + lambda)) over quarter octaves. The terms of all blocks may
    follow one another in any order. Gathered by (count, item total) and by N they are few: the cost hardly grows with
    the data, and the order of users does not matter.
    """
    pairs, times = _summed(pairs, times)
    sizes, users = _summed(sizes, users)
    own, total = pairs & (2**_OWN_BITS - 1), pairs >> _OWN_BITS
    sizes, users = sizes[sizes > 0], users[sizes > 0]
    if sizes.size == 0 or sizes[-1] == 1:
        return _UNINFORMED_SMOOTHING
    gains = [
        float(np.sum(times * own * np.log(own - 1 + smoothing * (total / all_events))))
        - float(np.sum(users * sizes * np.log(sizes - 1 + smoothing)))
        for smoothing in _SMOOTHINGS
    ]
    return float(_SMOOTHINGS[int(np.argmax(gains))])


def choose_smoothing(train: Traces) -> float:
    """The same from all training traces at once."""
    counts = item_rows(train)
    return smoothing_from(*_terms(counts, _events(counts)), train.events)


def _terms(
    counts: FeatureRows, events: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    own = np.minimum(counts.weights.astype(np.int64), 2**_OWN_BITS - 1)
    pairs, times = np.unique((events[counts.features] << _OWN_BITS) | own, return_counts=True)
    sizes, users = np.unique(counts.totals().astype(np.int64), return_counts=True)
    return pairs, times, sizes, users


def _events(counts: FeatureRows) -> NDArray[np.int64]:
    """Events at each item."""
    return np.bincount(counts.features, counts.weights, counts.feature_count).astype(np.int64)


def _summed(keys: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Add up the counts of equal keys; keys come out sorted."""
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if keys.size else np.empty(0, np.int64)
    return keys[starts], np.add.reduceat(counts, starts) if keys.size else counts
