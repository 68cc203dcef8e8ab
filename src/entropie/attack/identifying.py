"""Which items give people away: each item's part of the information that one event carries about its person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import item_rows
from entropie.data.traces import Traces

__all__ = ["SHOWN_ITEMS", "SMALLEST_GROUP", "IdentifyingItem", "IdentifyingItems", "ItemSum", "identifying_items"]

SMALLEST_GROUP = 10
"""An item that fewer people have is not named: its name could be the very thing that identifies them."""

SHOWN_ITEMS = 20


@dataclass(frozen=True, slots=True)
class IdentifyingItem:
    """An item that enough people have to be named."""

    code: int
    people: int
    share_of_events: float
    bits: float  # its part of I(U;X)
    bits_per_event: float  # what one event at this item says about who did it


@dataclass(frozen=True, slots=True)
class ItemSum:
    """Several items taken together."""

    items: int
    share_of_events: float
    bits: float

    def to_json(self) -> dict[str, float | int]:
        """Plain values, keys as in assessment.json."""
        return {"items": self.items, "share_of_events": self.share_of_events, "bits": self.bits}


@dataclass(frozen=True, slots=True)
class IdentifyingItems:
    """Items whose events say most about a person, those too rare to be named, and the others; bits sum to I(U;X)."""

    shown: tuple[IdentifyingItem, ...]
    other: ItemSum
    rare: ItemSum

    def to_json(self, name: Callable[[int], str]) -> dict[str, Any]:
        """Plain values, keys as in assessment.json; `name` gives the name of an item code."""
        return {
            "smallest_group": SMALLEST_GROUP,
            "shown": [
                {
                    "item": name(item.code),
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


def identifying_items(traces: Traces, *, shown: int = SHOWN_ITEMS) -> IdentifyingItems:
    """Split I(U;X) of one event of a person drawn at random over the items.

    With n people and pi_u(x) the share of item x in u's events, item x carries
    (1/n) sum_u pi_u(x) log2(pi_u(x) / p(x)), where p(x) is the mean of pi_u(x). Every part is at least 0. Divided by
    p(x) it is D(U given x || U), what one event at x says. Items are shown by that, and where equal by their part.
    """
    counts = item_rows(traces)
    rows = np.diff(counts.offsets)
    active = int(np.count_nonzero(rows))
    shares = counts.weights / np.repeat(counts.totals(), rows)
    domain = traces.domain_size
    mean = np.bincount(counts.features, weights=shares, minlength=domain) / active
    parts = shares * np.log2(shares / mean[counts.features])
    bits = np.maximum(np.bincount(counts.features, weights=parts, minlength=domain) / active, 0.0)
    people = np.bincount(counts.features, minlength=domain)
    events = np.bincount(traces.items, minlength=domain) / traces.events
    rare = people < SMALLEST_GROUP
    per_event = np.divide(bits, mean, out=np.zeros(domain), where=mean > 0.0)
    ranked = np.lexsort((np.arange(domain), -bits, -per_event.round(9)))
    named = ranked[~rare[ranked]]
    return IdentifyingItems(
        tuple(
            IdentifyingItem(
                int(code), int(people[code]), float(events[code]), float(bits[code]), float(per_event[code])
            )
            for code in named[:shown]
        ),
        _sum(named[shown:], events, bits),
        _sum(np.flatnonzero(rare & (people > 0)), events, bits),
    )


def _sum(codes: NDArray[np.int64], events: NDArray[np.float64], bits: NDArray[np.float64]) -> ItemSum:
    return ItemSum(int(codes.size), float(events[codes].sum()), float(bits[codes].sum()))
