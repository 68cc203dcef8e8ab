"""Broader items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.coarsen import grid_labels
from entropie.data.event_columns import categories, category_labels, numbers, sorted_values
from entropie.data.grid import MapGrid
from entropie.errors import InvalidInput
from entropie.mitigate.draft import Blocks, Change, Draft
from entropie.mitigate.hierarchy import Hierarchy
from entropie.mitigate.kind import COLUMN, LEVEL, SIZE, WHOLE, Declarations, less
from entropie.words import plural

kind = Declarations("items")
OTHER = "(other)"


@kind(
    WHOLE,
    "N,...",
    "Keep the N most frequent items, merge the others.",
    title="top {} items",
    action="keep the {} most frequent items and merge the others into one",
    strength=less,
    tried=lambda material: (10**power for power in range(10) if 10**power < material.traces.domain_size),
    unlike={1: ("top item", "keep the most frequent item and merge the others into one")},
)
def top(blocks: Blocks, count: int) -> Change:
    """The most frequent items stay, all others become one; of equally frequent ones those first by code stay."""
    names = blocks.names
    events = blocks.tallied(Events(len(names))).counts
    stays = np.sort(np.argsort(-events, kind="stable")[:count])
    group = np.full(events.size, stays.size)
    group[stays] = np.arange(stays.size)
    other = pa.array([_unused(names)], pa.large_string())
    return _grouped(group, pa.concat_arrays([names.take(pa.array(stays)), other]))


@kind(
    COLUMN,
    "C",
    "Release this column instead of the item.",
    title="column {}",
    action="release the column {} instead of the item",
    strength=lambda column: 0.0,
    columns=lambda column: (column,),
)
def category(blocks: Blocks, column: str) -> Change:
    """The value of another column instead of the item."""
    found = sorted_values([categories(draft.material.columns[column]) for draft in blocks])

    def label(draft: Draft) -> NDArray[np.int64]:
        return category_labels(draft.material.columns[column], found)

    return _relabelled(blocks, label, found.to_pylist(), "no category")


@kind(
    SIZE,
    "SIZE,...",
    "Release map cells of this size, such as 500m.",
    title="map cells of {}",
    action="release map cells of {} instead of the item",
    strength=lambda size: MapGrid.parse(size).step,
    tried=lambda material: ("500m", "2km") if material.coordinates is not None else (),
    on_map=True,
)
def grid(blocks: Blocks, size: str) -> Change:
    """The map cell instead of the item."""
    cut = MapGrid.parse(size)

    def cells(draft: Draft) -> NDArray[np.int64]:
        columns = draft.material.columns
        latitude, longitude = (numbers(columns[name]) for name in draft.material.coordinates or ())
        return grid_labels(latitude, longitude, cut)

    found = np.unique(np.concatenate([np.unique(cells(draft)) for draft in blocks]))
    found = found[found >= 0]

    def label(draft: Draft) -> NDArray[np.int64]:
        cell = cells(draft)
        return np.where(cell < 0, -1, np.searchsorted(found, cell))

    return _relabelled(blocks, label, found.tolist(), "no place on the Earth")


@kind(
    WHOLE,
    "N,...",
    "Release the first N characters of the item.",
    title="first {} characters",
    action="release only the first {} characters of the item",
    strength=less,
)
def prefix(blocks: Blocks, length: int) -> Change:
    """The first characters of the item."""
    return _named(pc.utf8_slice_codeunits(blocks.names, 0, length))


@kind(
    LEVEL,
    "FILE:L",
    "Release level L of groups in a file.",
    title="groups of {}",
    action="release the groups of {} instead of the item",
    strength=lambda level: 0.0,
)
def hierarchy(blocks: Blocks, setting: str) -> Change:
    """The group that a file names for each item."""
    return _named(Hierarchy.read(setting).groups(blocks.names))


class Events:
    """How many events of each label are released."""

    def __init__(self, labels: int) -> None:
        self.counts = np.zeros(labels, np.int64)

    def add(self, draft: Draft) -> None:
        """Count those of a draft."""
        self.counts += np.bincount(draft.labels[draft.kept], minlength=self.counts.size)

    @property
    def found(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The labels that are released, and how many events of each."""
        labels = np.flatnonzero(self.counts)
        return labels, self.counts[labels]

    def merge(self, found: tuple[NDArray[np.int64], NDArray[np.int64]]) -> None:
        """Add those of other people."""
        self.counts[found[0]] += found[1]


def _named(texts: pa.Array) -> Change:
    """Items whose group has the same name become one."""
    encoded = texts.dictionary_encode()
    return _grouped(np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64), encoded.dictionary)


def _grouped(group: NDArray[np.int64], names: pa.Array) -> Change:
    """Items of a group become one."""
    return lambda draft: draft.labelled(group[draft.labels], names)


def _relabelled(blocks: Blocks, label: Callable[[Draft], NDArray[np.int64]], values: list[Any], missing: str) -> Change:
    """Labels instead of items; says what is odd about them: events without one, items with several."""
    without = events = 0
    size = len(values) + 1
    pairs = np.empty(0, np.int64)
    for draft in blocks:
        labels = label(draft)
        events, without = events + labels.size, without + int(np.count_nonzero(labels < 0))
        pairs = np.union1d(pairs, draft.labels * size + labels + 1)
    if without == events:
        raise InvalidInput(f"All {without:,} events have {missing}; name another column.")
    notes = [f"{plural(without, 'event')} without a value ({missing}) count as one item."] if without else []
    if pairs.size > np.unique(pairs // size).size:
        notes.append("Some items have several values, so this may reveal more than the item.")
    names = pa.array([f"({missing})", *map(str, values)], pa.large_string())
    note = " ".join(notes) or None
    return lambda draft: draft.labelled(label(draft) + 1, names, note)


def _unused(names: pa.Array) -> str:
    """What merged items are called: no item is called that."""
    name = OTHER
    while pc.index(names, pa.scalar(name, names.type)).as_py() >= 0:
        name += "_"
    return name
