"""What the attacker knows of everybody: counts that add up over blocks of people, and traces as sets of items.

Training and targets count alike where no identity is needed: how many hold an item, which items go together.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import item_rows
from entropie.attack.profile.habits import (
    DAYS,
    GAPS,
    HOURS,
    RETURNS,
    SLOTS,
    USUAL,
    Level,
    bins_of,
    events_after,
    smoothed_hours,
    steps_back,
)
from entropie.attack.profile.occasional import Occasional
from entropie.data.traces import Traces, in_blocks
from entropie.kernels.features import feature_postings
from entropie.kernels.profile_records import Company

RECENCY = 0.1
"""A training event with a events after it weighs 1/(1 + RECENCY a)."""

RARITIES = 10
"""Bins of log2 of how many hold an item, the last without end."""

VISITS = 100
"""Of the traces that hold an item at most so many are looked at for what goes with it."""

LONGEST = 10_000
"""Traces with more items say nothing of what goes together, and of what is known of a person so many items are looked
at: without an end one person with a million events would be looked at whole beside every target.
"""

SHRINK, MIX = 10.0, 0.8
"""Evidence of company is shrunk by so much reach, and its odds are mixed with those of chance."""

_UNITS = 2**24  # weights are summed in whole numbers of 1/_UNITS: the same sum in any order
_SEEN = 0.1  # events given to every bin beforehand, so that none is impossible


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Sums over some traces, in whole numbers."""

    holders: NDArray[np.int64]  # per item: traces that hold it
    reach: NDArray[np.int64]  # per item: sum over its traces of 1/sqrt(items) times other items, in units
    weights: NDArray[np.int64]  # per item: weights of training events, in units
    slots: NDArray[np.int64]  # the same per slot, hour, gap and return
    hours: NDArray[np.int64]
    gaps: NDArray[np.int64]
    returns: NDArray[np.int64]
    days: NDArray[np.int64]  # whole days by how many events they have, in units
    back: NDArray[np.int64]  # one number: times before the one that precedes them, targets' too


@dataclass(frozen=True, slots=True, eq=False)
class Everybody:
    """What follows from the tally of all: shares of everything over everybody."""

    timed: bool
    holders: NDArray[np.int64]
    popularity: NDArray[np.float64]  # per item: share of the pairs (trace, item)
    reach: NDArray[np.float64]
    slots: NDArray[np.float64]
    hours: NDArray[np.float64]  # smoothed
    gaps: NDArray[np.float64]
    returns: NDArray[np.float64]
    days: NDArray[np.float64]  # empty where times do not tell days apart
    rarity_bins: NDArray[np.int64]  # per item
    rarities: NDArray[np.float64]
    item_categories: NDArray[np.int64] | None
    categories: NDArray[np.float64]  # empty without categories
    level: Level = USUAL  # of the hours
    occasional: Occasional = field(default_factory=Occasional)

    @property
    def habits(self) -> list[NDArray[np.float64]]:
        """The shares of every kind of habit, in the order of the columns of profiles; empty where not looked at."""
        timed = [self.hours, self.gaps] if self.timed else [np.zeros(0)] * 2
        return [*timed, self.returns, self.days, *self.occasional.parts]


def known_tally(train: Traces, timed: bool, level: Level = USUAL) -> Tally:
    """What the training of some people adds, hours at a level."""
    bins = bins_of(train, timed, level)
    units = np.rint(_UNITS / (1.0 + RECENCY * events_after(train)))
    nothing = np.full(train.events, -1, np.int64)
    holders, reach = _held(train)
    return Tally(
        holders=holders,
        reach=reach,
        weights=_sums(train.items.astype(np.int64), units, train.domain_size),
        slots=_sums(nothing if bins.slots is None else bins.slots, units, SLOTS),
        hours=_sums(nothing if bins.hours is None else bins.hours, units, HOURS[level]),
        gaps=_sums(nothing if bins.gaps is None else bins.gaps, units, GAPS),
        returns=_sums(bins.returns, units, RETURNS),
        days=_sums(nothing if bins.days is None else bins.days, np.full(train.events, float(_UNITS)), DAYS),
        back=np.array([steps_back(train)]),
    )


def asked_tally(target: Traces, level: Level = USUAL) -> Tally:
    """What some targets add: how many hold an item and what goes together, which needs no identity."""
    holders, reach = _held(target)
    sizes = (target.domain_size, SLOTS, HOURS[level], GAPS, RETURNS, DAYS)
    rest = [*(np.zeros(size, np.int64) for size in sizes), np.array([steps_back(target)])]
    return Tally(holders, reach, *rest)


def merge_tallies(parts: Iterable[Tally]) -> Tally:
    """The tally of all: any grouping and order gives the same."""
    return functools.reduce(_added, parts)


def _added(one: Tally, other: Tally) -> Tally:
    return Tally(*(getattr(one, part.name) + getattr(other, part.name) for part in fields(Tally)))


def everybody_from(
    tally: Tally, timed: bool, item_categories: NDArray[np.int64] | None = None, level: Level = USUAL
) -> Everybody:
    """Turn the tally of all training and all targets into shares; `level` is that of its hours."""
    rarity_bins = np.minimum(np.log2(np.maximum(tally.holders, 1)).astype(np.int64), RARITIES - 1)
    weights = tally.weights.astype(np.float64)
    by_category = np.zeros(0) if item_categories is None else _at_least(np.bincount(item_categories, weights))
    return Everybody(
        timed=timed,
        holders=tally.holders,
        popularity=np.maximum(tally.holders, 1) / max(int(tally.holders.sum()), 1),
        reach=tally.reach / _UNITS,
        slots=_at_least(tally.slots),
        hours=_at_least(smoothed_hours(tally.hours.astype(np.float64))),
        gaps=_at_least(tally.gaps),
        returns=_at_least(tally.returns),
        days=_at_least(tally.days) if timed and not tally.back.any() else np.zeros(0),
        rarity_bins=rarity_bins,
        rarities=_at_least(np.bincount(rarity_bins, weights, RARITIES)),
        item_categories=item_categories,
        categories=by_category,
        level=level,
    )


def company_of(known: Traces, asked: Traces, everybody: Everybody) -> Company:
    """Traces as sets of items, first those of known people, then the targets', and who holds each item.

    The traces of an item stand in the order of their fingerprints, so that a stride through them depends on no names.
    """
    first, second = item_rows(known), item_rows(asked)
    offsets = np.concatenate((first.offsets, second.offsets[1:] + first.offsets[-1]))
    items = np.concatenate((first.features, second.features))
    lengths = np.diff(offsets)
    prints = np.concatenate([fingerprints(traces, everybody) for traces in (known, asked)])
    starts, holders, _ = feature_postings(offsets, items, known.domain_size, np.argsort(prints, kind="stable"))
    categories = everybody.item_categories
    return Company(
        offsets=offsets,
        items=items,
        weights=np.where(lengths > LONGEST, 0.0, 1.0 / np.sqrt(np.maximum(lengths, 1))),
        starts=starts,
        holders=holders,
        reach=everybody.reach,
        popularity=everybody.popularity,
        rarity=everybody.rarity_bins,
        categories=np.zeros(0, np.int64) if categories is None else categories,
        category_count=everybody.categories.size,
        bounds=np.cumsum([0, *(shares.size for shares in everybody.habits)]).astype(np.int64),
        shares=np.concatenate(everybody.habits),
        visits=VISITS,
        shrink=SHRINK,
        mix=MIX,
    )


def fingerprints(traces: Traces, everybody: Everybody) -> NDArray[np.uint64]:
    """A hash of how popular the items of each trace are, one after the other: it depends on no name."""
    return np.concatenate([_fingerprints(some, everybody) for some in in_blocks(traces)])


def _fingerprints(traces: Traces, everybody: Everybody) -> NDArray[np.uint64]:
    words = everybody.holders.astype(np.uint64)[traces.items] * np.uint64(0x9E3779B97F4A7C15)
    places = np.arange(traces.events) - np.repeat(traces.offsets[:-1], np.diff(traces.offsets))
    words += (places.astype(np.uint64) + np.uint64(1)) * np.uint64(0xC2B2AE3D27D4EB4F)
    words = (words ^ (words >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    running = np.concatenate((np.zeros(1, np.uint64), np.cumsum(words ^ (words >> np.uint64(32)))))
    return np.asarray(running[traces.offsets[1:]] - running[traces.offsets[:-1]], np.uint64)


def _held(traces: Traces) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows = item_rows(traces)
    sizes = np.diff(rows.offsets)
    each = np.where(sizes > LONGEST, 0.0, np.rint(_UNITS * (sizes - 1) / np.sqrt(np.maximum(sizes, 1))))
    return rows.holders(), _sums(rows.features.astype(np.int64), np.repeat(each, sizes), traces.domain_size)


def _sums(places: NDArray[np.int64], units: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Sum whole numbers by place; a place below 0 counts nowhere."""
    there = places >= 0
    return np.bincount(places[there], units[there], size).astype(np.int64)


def _at_least(sums: NDArray[np.floating] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Shares of sums in units, none of them 0."""
    seen = sums + _SEEN * _UNITS
    return np.asarray(seen / seen.sum(), np.float64)
