"""Which items give people away: each item's part of the information that one event carries about its person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import item_rows
from entropie.data.traces import Traces
from entropie.document.assessment import ItemSum
from entropie.errors import InvalidInput

SMALLEST_GROUP = 10
"""An item that fewer people have is not named: its name could be the very thing that identifies them."""

SHOWN_ITEMS = 20
LONGEST_NAME = 80
_HALF = 30


@dataclass(frozen=True, slots=True)
class IdentifyingItem:
    """An item that enough people have to be named."""

    code: int
    people: int
    share_of_events: float
    bits: float  # its part of I(U;X)
    bits_per_event: float  # what one event at this item says about who did it


@dataclass(frozen=True, slots=True)
class IdentifyingItems:
    """Items whose events say most about a person, those too rare to be named, and the others; bits sum to I(U;X)."""

    shown: tuple[IdentifyingItem, ...]
    other: ItemSum
    rare: ItemSum
    bits: float  # of all items: I(U;X)

    def to_json(self, name: Callable[[int], str]) -> dict[str, Any]:
        """Plain values, keys as in assessment.json; `name` gives the name of an item code."""
        return {
            "smallest_group": SMALLEST_GROUP,
            "shown": [
                {
                    "item": _shortened(name(item.code)),
                    "people": item.people,
                    "share_of_events": item.share_of_events,
                    "bits": item.bits,
                    "bits_per_event": item.bits_per_event,
                }
                for item in self.shown
            ],
            "other": self.other.to_json(),
            "rare": self.rare.to_json(),
        }


@dataclass(frozen=True, slots=True)
class _Exact:
    """Items, events and bits of several items; bits in whole numbers of 2^-60, so that any order gives the same."""

    items: int = 0
    events: int = 0
    units: int = 0

    @classmethod
    def of(cls, events: NDArray[np.int64], bits: NDArray[np.float64]) -> _Exact:
        """Add up items; bits are below 2^32 and items too, so that each half of the sum fits in 62 bits."""
        scaled = bits * 2.0**_HALF
        whole = np.floor(scaled)
        rest = np.rint((scaled - whole) * 2.0**_HALF)
        units = (int(whole.astype(np.int64).sum()) << _HALF) + int(rest.astype(np.int64).sum())
        return cls(int(bits.size), int(events.sum()), units)

    def __add__(self, other: _Exact) -> _Exact:
        return _Exact(self.items + other.items, self.events + other.events, self.units + other.units)

    @property
    def bits(self) -> float:
        """The sum of bits, rounded once."""
        return self.units / (1 << 2 * _HALF)

    def share(self, all_events: int) -> ItemSum:
        """As it is shown."""
        return ItemSum(self.items, self.events / all_events, self.bits)


class _Items(NamedTuple):
    """Some items, one number each."""

    codes: NDArray[np.int64]
    people: NDArray[np.int64]
    events: NDArray[np.int64]
    mean: NDArray[np.float64]
    bits: NDArray[np.float64]

    def take(self, places: NDArray[np.integer] | NDArray[np.bool_]) -> _Items:
        columns: list[Any] = [column[places] for column in self]
        return _Items(*columns)

    def joined(self, more: _Items) -> _Items:
        return _Items(*(np.concatenate(columns) for columns in zip(self, more, strict=True)))

    @property
    def per_event(self) -> NDArray[np.float64]:
        return np.divide(self.bits, self.mean, out=np.zeros(self.bits.size), where=self.mean > 0.0)

    def sum(self) -> _Exact:
        return _Exact.of(self.events, self.bits)


@dataclass(frozen=True, slots=True, eq=False)
class ItemSummary:
    """What is shown of some items, before all are known: the best that may be named, and sums of the rest.

    Summaries of disjoint items merge, in any order to the same.
    """

    named: _Items  # best first
    other: _Exact
    rare: _Exact
    all_events: int
    limit: int

    def merge(self, another: ItemSummary) -> ItemSummary:
        """Join with the summary of other items."""
        named = self.named.joined(another.named)
        return _ranked(named, self.other + another.other, self.rare + another.rare, self.all_events, self.limit)

    def result(self) -> IdentifyingItems:
        """What is shown once all items are in."""
        named = self.named
        columns = (named.codes, named.people, named.events, named.bits, named.per_event)
        return IdentifyingItems(
            tuple(
                IdentifyingItem(code, people, events / self.all_events, bits, each)
                for code, people, events, bits, each in zip(*(column.tolist() for column in columns), strict=True)
            ),
            self.other.share(self.all_events),
            self.rare.share(self.all_events),
            (named.sum() + self.other + self.rare).bits,
        )


def identifying_items(traces: Traces, *, shown: int = SHOWN_ITEMS) -> IdentifyingItems:
    """Split I(U;X) of one event of a person drawn at random over the items.

    With n people and pi_u(x) the share of item x in u's events, item x carries
    (1/n) sum_u pi_u(x) log2(pi_u(x) / p(x)), where p(x) is the mean of pi_u(x). Every part is at least 0. Divided by
    p(x) it is D(U given x || U), what one event at x says. Items are shown by that, and where equal by their part.
    """
    counts = item_rows(traces)
    rows = np.diff(counts.offsets)
    active = int(np.count_nonzero(rows))
    if not active:
        raise InvalidInput("The information of an event needs at least one event, got none.")
    lengths = np.repeat(counts.totals(), rows)
    parts = item_parts(counts.features, counts.weights, lengths, active, traces.domain_size)
    return summary_of(np.arange(traces.domain_size), *parts, traces.events, shown=shown).result()


def item_parts(
    items: NDArray[np.integer],
    counts: NDArray[np.float64],
    lengths: NDArray[np.float64],
    active: int,
    domain_size: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """People, events, mean share and bits of items, from one entry per person and item in the order of people.

    An entry has the item (below `domain_size`), the person's events at it and all their events. Items may be dealt with
    in parts, as long as all entries of an item are in one; `active` counts everybody who has events.
    """
    shares = counts / lengths
    mean = np.bincount(items, weights=shares, minlength=domain_size) / active
    parts = shares * np.log2(shares / mean[items])
    bits = np.maximum(np.bincount(items, weights=parts, minlength=domain_size) / active, 0.0)
    people = np.bincount(items, minlength=domain_size)
    events = np.bincount(items, weights=counts, minlength=domain_size).astype(np.int64)
    return people, events, mean, bits


def summary_of(
    codes: NDArray[np.int64],
    people: NDArray[np.int64],
    events: NDArray[np.int64],
    mean: NDArray[np.float64],
    bits: NDArray[np.float64],
    all_events: int,
    *,
    shown: int = SHOWN_ITEMS,
) -> ItemSummary:
    """Summarise some items, given by `item_parts`; `all_events` are those of everybody at all items."""
    items = _Items(codes, people, events, mean, bits)
    rare = items.take((people > 0) & (people < SMALLEST_GROUP)).sum()
    return _ranked(items.take(people >= SMALLEST_GROUP), _Exact(), rare, all_events, shown)


def _ranked(named: _Items, other: _Exact, rare: _Exact, all_events: int, limit: int) -> ItemSummary:
    """Keep the best by bits per event, then by bits, then by code; those beyond `limit` join the others."""
    order = np.lexsort((named.codes, -named.bits, -named.per_event.round(9)))
    left = named.take(order[limit:]).sum()
    return ItemSummary(named.take(order[:limit]), other + left, rare, all_events, limit)


def _shortened(name: str) -> str:
    """An item's name as it goes into documents: one line, not endless."""
    line = " ".join(name.split())
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "\N{HORIZONTAL ELLIPSIS}"
