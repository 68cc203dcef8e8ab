"""Events on their way to a release: what each will say, whether it stays, and under which pseudonym.

A mitigation looks at all events, block by block, and then makes one draft of a block from another; it decides nothing
but that. What is released of a draft has an order of its own (pseudonym, time, item), so that rows that are equal in
these stand in an order that says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.attack.chance import content_hashes
from entropie.data.arrow import values_of
from entropie.data.coarsen import user_of_each
from entropie.data.encode import as_numbers
from entropie.data.event_columns import event_numbers
from entropie.data.traces import Traces
from entropie.words import plural

_ROOM = 2
EXACT, GONE = 1, 0
"""What `Draft.unit` says of times as they are, and of times that are not released."""


def ranked(values: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
    """The different values, rising, and of each value its rank among them: by a table where they lie close together.

    That is what `np.unique` says too, which sorts: several times the time and memory.
    """
    if not values.size:
        return np.unique(values), np.empty(0, np.int64)
    least = int(values.min())
    reach = int(values.max()) - least + 1
    if reach > _ROOM * values.size:
        found, ranks = np.unique(values, return_inverse=True)
        return found, ranks.reshape(-1)
    there = np.zeros(reach, np.bool_)
    place = values - least
    there[place] = True
    ranks = np.cumsum(there, dtype=np.uint32 if reach < 2**32 else np.int64)
    return np.flatnonzero(there) + least, ranks[place].astype(np.int64) - 1


def numbered(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The place of each hash in their order; equal ones stand as they come."""
    order = np.argsort(hashes, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    return places


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """What mitigations start from: events as read, of everybody or of a block of people.

    item_ids     names of items, as text
    people       who did each event
    keys         of each person their number among `everybody`, by what they did: chance does not depend on names
    columns      further columns, one value per event
    coordinates  the columns of latitude and longitude
    """

    traces: Traces
    item_ids: pa.Array
    columns: dict[str, pa.Array]
    coordinates: tuple[str, str] | None
    people: NDArray[np.int64]
    keys: NDArray[np.int64]
    everybody: int
    seed: int

    @classmethod
    def of(
        cls, traces: Traces, item_ids: pa.Array, columns: dict[str, pa.Array], coordinates: tuple[str, str] | None,
        seed: int,
    ) -> Material:  # fmt: skip
        """Number people by what they did."""
        popular = np.bincount(traces.items, minlength=traces.domain_size)
        keys = numbered(content_hashes(traces, traces, popular, popular))
        names = item_ids.cast(pa.large_string())
        return cls(traces, names, columns, coordinates, user_of_each(traces), keys, traces.users, seed)

    @property
    def timed(self) -> bool:
        """Whether times are known, and not the order alone."""
        return self.traces.times is not None

    @property
    def longest(self) -> int:
        """The most events that anybody has."""
        return int(np.diff(self.traces.offsets).max(initial=0))

    def some(self, events: int) -> Material:
        """About so many events: those of people drawn by what they did, all where there are no more."""
        if self.traces.events <= events:
            return self
        people = np.flatnonzero(self.keys <= events / self.traces.events * self.traces.users)
        places = pa.array(event_numbers(self.traces, people))
        columns = {name: values.take(places) for name, values in self.columns.items()}
        return Material.of(self.traces.take(people), self.item_ids, columns, self.coordinates, self.seed)

    def draft(self) -> Draft:
        """The events as they are."""
        items = self.traces.items.astype(np.int64)
        everything = np.ones(self.traces.events, np.bool_)
        return Draft(self, items, self.item_ids, self.traces.times, EXACT, True, everything, self.people)


Change = Callable[["Draft"], "Draft"]
"""What is done to every block."""


class Tally(Protocol):
    """What is counted of all events, some people at a time: here, or in many places that are merged.

    Nobody is in two drafts. An empty tally may be sent away; what was `found` there comes back.
    """

    def add(self, draft: Draft) -> None:
        """Take in some people."""

    @property
    def found(self) -> Any:
        """What was counted, to be merged elsewhere."""

    def merge(self, found: Any) -> None:
        """Take in what another one found of later people."""


_Tally = TypeVar("_Tally", bound=Tally)


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The drafts of all events, a block of people at a time, as often as they are asked for.

    events   at most so many there are in all
    """

    drafts: Callable[[], Iterator[Draft]]
    people: int
    events: int

    @classmethod
    def of(cls, draft: Draft) -> Blocks:
        """A draft of everybody."""
        return cls(lambda: iter((draft,)), draft.material.everybody, draft.labels.size)

    def __iter__(self) -> Iterator[Draft]:
        return self.drafts()

    @property
    def example(self) -> Draft:
        """One of the drafts, for what they all have alike: names, seed, whether there are times."""
        return next(self.drafts())

    @property
    def names(self) -> pa.Array:
        """The names behind the labels, which all blocks share."""
        return self.example.names

    def changed(self, change: Change) -> Blocks:
        """The same with every block changed."""
        return replace(self, drafts=lambda: map(change, self))

    def tallied(self, tally: _Tally) -> _Tally:
        """The same tally with every draft in it."""
        for draft in self:
            tally.add(draft)
        return tally


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """What is to be released of each event.

    labels, names   the number of what stands for its item, and the names behind the numbers
    times, unit     its time and how many seconds that stands for: 1 as it is, 0 where it is not released
    ordered         whether the order of a pseudonym's events is released; always where times are
    kept            whether it is released
    pieces          the number of its pseudonym; no pseudonym is of two people
    notes           what should be known
    """

    material: Material
    labels: NDArray[np.int64]
    names: pa.Array
    times: NDArray[np.int64] | None
    unit: int
    ordered: bool
    kept: NDArray[np.bool_]
    pieces: NDArray[np.int64]
    notes: tuple[str, ...] = ()

    def labelled(self, labels: NDArray[np.int64], names: pa.Array, note: str | None = None) -> Draft:
        """Other labels instead of the items."""
        notes = self.notes if note is None else (*self.notes, note)
        return replace(self, labels=labels, names=names.cast(pa.large_string()), notes=notes)

    def without(self, dropped: NDArray[np.bool_]) -> Draft:
        """Some events not released."""
        return replace(self, kept=self.kept & ~dropped)

    def cut(self, parts: NDArray[np.int64]) -> Draft:
        """Another pseudonym for every part of a pseudonym's events."""
        found, part = ranked(parts)
        return replace(self, pieces=ranked(self.pieces * found.size + part)[1])

    def coded(self) -> tuple[NDArray[np.int64], pa.Array]:
        """Labels by the rank of their names, as whoever reads the release numbers them, and the names in that order."""
        used, dense = ranked(self.labels)
        names = as_numbers(self.names.take(pa.array(used)))
        order = values_of(pc.array_sort_indices(names))
        ranks = np.empty(order.size, np.int64)
        ranks[order] = np.arange(order.size)
        return ranks[dense], names.take(pa.array(order))

    def in_order(self, codes: NDArray[np.int64], by: NDArray[np.int64]) -> NDArray[np.int64]:
        """Events by owner (a person or a pseudonym), then as they are released: by time and item, or as they came."""
        if self.times is not None:
            return np.lexsort((codes, self.times, by))
        return np.argsort(by, kind="stable") if self.ordered else np.lexsort((codes, by))

    def released(self) -> tuple[Traces, pa.Array, NDArray[np.int64]]:
        """What everybody can read: a trace per pseudonym that has an event, names of items, whose each pseudonym is."""
        codes, names = self.coded()
        order = self.in_order(codes, self.pieces)
        order = order[self.kept[order]]
        begins = np.flatnonzero(np.diff(self.pieces[order], prepend=-1))
        used, dense = ranked(codes[order])
        offsets = np.append(begins, order.size)
        times = None if self.times is None else self.times[order]
        traces = Traces(offsets, dense.astype(np.uint32), used.size, times)
        return traces, names.take(pa.array(used)), self.material.people[order[begins]]

    @property
    def note(self) -> str | None:
        """What should be known, in sentences."""
        people = np.unique(self.material.people[self.kept]).size
        gone = self.material.traces.users - people
        left = f"{plural(gone, 'person', 'people')} {'has' if gone == 1 else 'have'} no event left."
        return " ".join([*self.notes, *([left] if gone else [])]) or None
