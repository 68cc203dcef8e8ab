"""One mitigation and its setting: what it does to what is known and what is released, and what that costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie import words
from entropie.data.coarsen import (
    TIME_UNITS,
    coarsen_time,
    grid_labels,
    keep_top_items,
    last_events,
    merge_items,
    prefix_groups,
    replace_items,
    thin,
    time_units,
    user_of_each,
)
from entropie.data.event_columns import category_labels, numbers
from entropie.data.grid import MapGrid
from entropie.data.split import Split, first_events, split_traces
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.theory import checks

__all__ = ["Cost", "Kind", "Material", "Mitigation", "apply", "information_lost", "order_lost"]

Kind = Literal["top", "category", "grid", "prefix", "time_unit", "first", "last", "thin"]
Measure = Literal["item information", "order", "events"]
ITEM_KINDS = ("top", "category", "grid", "prefix")


_NAMES: dict[Kind, str] = {
    "top": "top {} items",
    "category": "column {}",
    "grid": "map cells of {}",
    "prefix": "first {} characters",
    "time_unit": "times to the {}",
    "first": "first {} events",
    "last": "last {} events",
    "thin": "random {}",
}
_ACTIONS: dict[Kind, str] = {
    "top": "keep the {} most frequent items and merge the others into one",
    "category": "release the column {} instead of the item",
    "grid": "release map cells of {} instead of the item",
    "prefix": "release only the first {} characters of the item",
    "time_unit": "round times to the {} and drop the order within",
    "first": "release only the first {} events of each person",
    "last": "release only the last {} events of each person",
    "thin": "release a random {} of the events",
}


@dataclass(frozen=True, slots=True)
class Mitigation:
    """One way to make data safer, and how far to go.

    top          a number: the most frequent items stay, all others become one item
    category     a column: its value replaces the item
    grid         a size such as 500m: the map cell replaces the item
    prefix       a number: items with the same first characters become one
    time_unit    hour, day or week: times are rounded down, and the order within is lost
    first, last  a number: so many of each person's released events stay
    thin         a probability: each released event stays with it
    """

    kind: Kind
    setting: int | float | str

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InvalidParameter.of("mitigation", f"one of {', '.join(get_args(Kind))}", self.kind)
        if self.kind in ("top", "prefix", "first", "last"):
            checks.whole_number(self.kind, self.setting, at_least=1, at_most=2**31)
        elif self.kind == "thin":
            share = checks.real_number("thin", self.setting, "a share above 0 and below 1", 0.0, 1.0)
            if not 0.0 < share < 1.0:
                raise InvalidParameter.of("thin", "a share above 0 and below 1", self.setting)
        elif self.kind == "time_unit" and self.setting not in TIME_UNITS:
            raise InvalidParameter.of("time_unit", f"one of {', '.join(TIME_UNITS)}", self.setting)
        elif self.kind == "grid":
            MapGrid.parse(str(self.setting))
        elif self.kind == "category" and not (isinstance(self.setting, str) and self.setting):
            raise InvalidParameter.of("category", "the name of a column", self.setting)

    @property
    def name(self) -> str:
        """It in two or three words, for tables."""
        return _NAMES[self.kind].format(self._value)

    @property
    def action(self) -> str:
        """What to do, as the beginning of a sentence."""
        return _ACTIONS[self.kind].format(self._value)

    @property
    def measure(self) -> Measure:
        """What its cost is a share of."""
        if self.kind in ITEM_KINDS:
            return "item information"
        return "order" if self.kind == "time_unit" else "events"

    @property
    def _value(self) -> str:
        if self.kind == "thin":
            return words.stated(float(self.setting))
        return words.count(self.setting) if isinstance(self.setting, int) else str(self.setting)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a mitigation takes away, as a share of what there was."""

    share: float
    measure: Measure


@dataclass(frozen=True, slots=True)
class Material:
    """What mitigations work on.

    traces   all events of the people attacked
    split    the same, cut into what the attacker knows (train) and what is released (target)
    columns  further columns, one value per event of the traces
    keys     one number per person that thinning goes by
    """

    traces: Traces
    split: Split
    item_ids: pa.Array
    columns: dict[str, pa.Array]
    coordinates: tuple[str, str] | None
    keys: NDArray[np.int64]
    seed: int


def apply(mitigation: Mitigation, material: Material) -> tuple[Split, Cost, str | None]:
    """Apply one mitigation: what is attacked then, what it costs, and what should be said about it.

    Items and times are coarsened on both sides: an attacker coarsens what they know to compare it. Events are cut or
    thinned in the release alone: what the attacker knows does not shrink with it.
    """
    before = material.split.target
    if mitigation.kind in ITEM_KINDS:
        coarse, note = _with_other_items(mitigation, material)
        split = split_traces(coarse)
        return split, Cost(information_lost(before.items, split.target.items), mitigation.measure), note
    train = material.split.train
    if mitigation.kind == "time_unit":
        unit = mitigation.setting
        target = coarsen_time(before, unit)  # type: ignore[arg-type]
        cost = order_lost(before, time_units(before, unit))  # type: ignore[arg-type]
        train = coarsen_time(train, unit)  # type: ignore[arg-type]
    else:
        target = _fewer_events(mitigation, before, material)
        cost = 1.0 - target.events / before.events
    empty = int(np.count_nonzero(np.diff(target.offsets) == 0))
    have = "has" if empty == 1 else "have"
    note = f"{words.plural(empty, 'person', 'people')} {have} no event left." if empty else None
    return Split(train, target, material.split.users, 0), Cost(cost, mitigation.measure), note


def _fewer_events(mitigation: Mitigation, released: Traces, material: Material) -> Traces:
    if mitigation.kind == "first":
        return first_events(released, int(mitigation.setting))
    if mitigation.kind == "last":
        return last_events(released, int(mitigation.setting))
    return thin(released, float(mitigation.setting), seed=material.seed, keys=material.keys)


def _with_other_items(mitigation: Mitigation, material: Material) -> tuple[Traces, str | None]:
    traces = material.traces
    if mitigation.kind == "top":
        return keep_top_items(traces, int(mitigation.setting)), None
    if mitigation.kind == "prefix":
        return merge_items(traces, prefix_groups(material.item_ids, int(mitigation.setting))), None
    if mitigation.kind == "category":
        labels = category_labels(material.columns[str(mitigation.setting)])
        missing = "no category"
    else:
        if material.coordinates is None:
            raise InvalidInput(
                f"A grid needs coordinates; name their columns with {option('latitude')} and {option('longitude')}."
            )
        latitude, longitude = (numbers(material.columns[name]) for name in material.coordinates)
        labels = grid_labels(latitude, longitude, MapGrid.parse(str(mitigation.setting)))
        missing = "no place on the Earth"
    return replace_items(traces, labels), _labels_note(traces, labels, missing)


def _labels_note(traces: Traces, labels: NDArray[np.int64], missing: str) -> str | None:
    """Say what is odd about labels: events without one, items with several."""
    notes = []
    without = int(np.count_nonzero(labels < 0))
    if without == labels.size:
        raise InvalidInput(f"All {without:,} events have {missing}; name another column.")
    if without:
        notes.append(f"{words.plural(without, 'event')} without a value ({missing}) count as one item.")
    if information_lost(labels, traces.items) > 1e-12:
        notes.append("Some items have several values, so this may reveal more than the item.")
    return " ".join(notes) or None


def information_lost(before: NDArray[np.generic], after: NDArray[np.generic]) -> float:
    """Share of the information about an event's item that is lost: H(before | after) / H(before).

    Where `after` is made from `before`, this is 1 - H(after)/H(before).
    """
    whole = _entropy_bits(before)
    if whole <= 0.0:
        return 0.0
    pairs = np.unique(before, return_inverse=True)[1].astype(np.uint64) << np.uint64(32)
    pairs |= np.unique(after, return_inverse=True)[1].astype(np.uint64)
    lost = _entropy_bits(pairs) - _entropy_bits(after)
    return min(1.0, lost / whole) if lost > 1e-12 else 0.0


def order_lost(traces: Traces, units: NDArray[np.int64]) -> float:
    """Share of consecutive events of a person that lie in the same unit and are of different items."""
    same_user = np.diff(user_of_each(traces)) == 0
    pairs = int(np.count_nonzero(same_user))
    lost = same_user & (np.diff(units) == 0) & (traces.items[1:] != traces.items[:-1])
    return int(np.count_nonzero(lost)) / pairs if pairs else 0.0


def _entropy_bits(values: NDArray[np.generic]) -> float:
    """Entropy of the empirical distribution, in bits."""
    if values.size == 0:
        return 0.0
    counts = np.unique(values, return_counts=True)[1]
    return math.log2(values.size) - float(np.sum(counts * np.log2(counts))) / values.size
