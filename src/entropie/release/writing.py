"""What is released, on its way to its file: put aside by pseudonym, written pseudonym after pseudonym.

Pseudonyms are random numbers of the operating system and stand in their own order, which says nothing; the rows of each
stand by time and item, or as they came where only their order is released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import values_of
from entropie.data.encode import as_numbers
from entropie.data.events import IngestReport
from entropie.data.spill import Rows, Spill
from entropie.kernels.traces import sort_users
from entropie.mitigate.draft import Draft, ranked

_BATCH_ROWS = 1 << 17
_PART_BITS = np.uint64(56)
_DAY = 86_400
_MOST_KEYS = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """Some rows of the file.

    pseudonyms, people   a row's pseudonym, and the number of the person behind it
    begins               rows with which a pseudonym begins in the file
    places               of the row among those of its pseudonym, from 1
    """

    pseudonyms: NDArray[np.uint64]
    people: NDArray[np.uint32]
    begins: NDArray[np.int64]
    items: NDArray[np.uint32]
    places: NDArray[np.int64]
    times: NDArray[np.int64] | None

    def columns(self, names: pa.Array) -> dict[str, pa.Array]:
        """As the file has them, by role."""
        found = {
            "user": hexadecimal(self.pseudonyms),
            "item": names.take(pa.array(self.items)),
            "order": pa.array(self.places),
        }
        return found if self.times is None else {**found, "time": moments(self.times)}


class Count:
    """How much is released: drafts of some people are added, counts of others merged."""

    def __init__(self, example: Draft) -> None:
        self.used = np.zeros(len(example.names), np.bool_)
        self.events = self.people = self.pseudonyms = self.largest = 0

    @property
    def items(self) -> int:
        """How many different ones."""
        return int(np.count_nonzero(self.used))

    def add(self, draft: Draft) -> None:
        """Count some people."""
        kept = np.flatnonzero(draft.kept)
        self.used[draft.labels[kept]] = True
        self.events += kept.size
        self.people += int(np.count_nonzero(np.bincount(draft.material.people[kept])))
        found, piece = ranked(draft.pieces[kept])
        self.pseudonyms += found.size
        self.largest = max(self.largest, int(np.bincount(piece).max(initial=0)))

    @property
    def found(self) -> tuple[NDArray[np.bool_], int, int, int, int]:
        """All of it."""
        return self.used, self.events, self.people, self.pseudonyms, self.largest

    def merge(self, found: tuple[NDArray[np.bool_], int, int, int, int]) -> None:
        """Add the counts of other people."""
        used, events, people, pseudonyms, largest = found
        self.used |= used
        self.events += events
        self.people += people
        self.pseudonyms += pseudonyms
        self.largest = max(self.largest, largest)


def row_columns(example: Draft) -> np.dtype[Any]:
    """What a row on its way to the file holds."""
    columns = [("word", "<u8"), ("person", "<u4"), ("label", "<u4")]
    return np.dtype(columns + ([] if example.times is None else [("time", "<i8")]))


Draw = Callable[[NDArray[np.int64]], NDArray[np.uint64]]
"""A pseudonym for each of these, given by the number of the person behind it: a different one even for the same."""


def rows_of(draft: Draft, draw: Draw) -> Rows:
    """What is released of some people."""
    kept = np.flatnonzero(draft.kept)
    found, piece = ranked(draft.pieces[kept])
    people = draft.material.keys[draft.material.people[kept]]
    owners = np.empty(found.size, np.int64)
    owners[piece] = people
    rows = np.empty(kept.size, row_columns(draft))
    rows["word"] = draw(owners)[piece]
    rows["person"] = people
    rows["label"] = draft.labels[kept]
    if draft.times is not None:
        rows["time"] = draft.times[kept]
    return rows


class Release:
    """Takes drafts of blocks of people, and gives back rows in the order of the file; counts what passes."""

    def __init__(self, draft: Draft, folder: Path, room: int, chance: Words) -> None:
        self._example, self._chance = draft, chance
        self._spill = Spill(row_columns(draft), folder, room)
        self.count = Count(draft)

    def __enter__(self) -> Release:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spill.__exit__(kind, problem, trace)

    def add(self, draft: Draft) -> None:
        """Put aside what is released of some people."""
        rows = rows_of(draft, self._words)
        self.count.add(draft)
        self._spill.add(parts_of(rows), rows)

    def _words(self, owners: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Different random numbers."""
        while True:
            drawn = self._chance.words(owners.size)
            if np.unique(drawn).size == owners.size:
                return drawn

    def rows(self, most: int) -> Iterator[tuple[Written, float]]:
        """All rows, some at a time, of at most so many that are held, and the share that is done."""
        sorting = Sorting.of(self._example, self.count.used, self._chance)
        done = 0
        for first, last in self._spill.ranges(most):
            for part in sorting.sorted(self._spill.read(first, last)):
                done += part.items.size
                yield part, done / max(1, self.count.events)


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """What is released, wherever it was made, ready to be written.

    report       what was read
    example      a draft, for what all have alike
    rows         all rows in the order of the file, some at a time, and the share that is done
    ids, owners  of people: their ids, and the place there of the person with each number; empty where no key is kept
    """

    report: IngestReport
    example: Draft
    count: Count
    rows: Iterator[tuple[Written, float]]
    ids: pa.Array
    owners: NDArray[np.int64]


def parts_of(rows: Rows) -> NDArray[np.uint8]:
    """The part that each row goes to, by its pseudonym: parts stand in the order of the file."""
    return (rows["word"] >> _PART_BITS).astype(np.uint8)


class Words(Protocol):
    """Where numbers come from that nobody can foresee."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """So many of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Sorting:
    """Puts all rows of some parts into the order of the file.

    ordered   whether rows stand as they came where no times are released
    ranks     the rank of every label that is used, by its name; None where that is the order of the labels
    """

    ordered: bool
    ranks: NDArray[np.uint32] | None
    chance: Words

    @classmethod
    def of(cls, example: Draft, used: NDArray[np.bool_], chance: Words) -> Sorting:
        """Rank the names of the labels that are used."""
        labels = np.flatnonzero(used)
        names = as_numbers(example.names.take(pa.array(labels)))
        if len(names) < 2 or pc.all(pc.less_equal(names[:-1], names[1:])).as_py():
            return cls(example.ordered, None, chance)
        ranks = np.zeros(used.size, np.uint32)
        ranks[labels[values_of(pc.array_sort_indices(names))]] = np.arange(labels.size)
        return cls(example.ordered, ranks, chance)

    def sorted(self, rows: Rows) -> Iterator[Written]:
        """The rows, some at a time."""
        rows = self._told_apart(rows)
        words, labels = np.ascontiguousarray(rows["word"]), np.ascontiguousarray(rows["label"])
        begins = np.flatnonzero(np.diff(words, prepend=~words[:1]))
        offsets = np.append(begins, rows.size)
        order = np.arange(rows.size, dtype=np.uint32)
        times = np.ascontiguousarray(rows["time"]) if "time" in (rows.dtype.names or ()) else None
        if times is not None or not self.ordered:
            keys = (labels if self.ranks is None else self.ranks[labels]).astype(np.int64)
            if times is not None:
                keys = _packed(times, keys)
            sort_users(offsets, order, keys, 0, begins.size)
        places = np.arange(rows.size) - np.repeat(begins, np.diff(offsets)) + 1
        for begin in range(0, rows.size, _BATCH_ROWS):
            part = slice(begin, begin + _BATCH_ROWS)
            at = order[part]
            when = None if times is None else times[at]
            first = np.flatnonzero(places[part] == 1)
            yield Written(words[part], rows["person"][part], first, labels[at], places[part], when)

    def _told_apart(self, rows: Rows) -> Rows:
        """The rows by pseudonym; where two people drew the same number, one of them draws again."""
        while True:
            rows = rows[np.argsort(rows["word"], kind="stable")]
            words, people = rows["word"], rows["person"]
            both = np.flatnonzero((words[1:] == words[:-1]) & (people[1:] != people[:-1]))
            if not both.size:
                return rows
            word, person = words[both[0]], people[both[0]]
            fresh = self.chance.words(1)[0] & ((np.uint64(1) << _PART_BITS) - np.uint64(1))
            words[(words == word) & (people == person)] = word >> _PART_BITS << _PART_BITS | fresh


def _packed(times: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number that is in the order of the time and then of the rank."""
    least, size = int(times.min()), int(ranks.max()) + 1
    if (int(times.max()) - least + 1) * size >= _MOST_KEYS:
        times, least = ranked(times)[1], 0
    return (times - least) * size + ranks


def hexadecimal(words: NDArray[np.uint64]) -> pa.Array:
    """Each number as 16 hexadecimal digits."""
    digits = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), np.uint16)
    return _texts(digits[words.astype(">u8").view(np.uint8)].view(np.uint8).reshape(-1, 16))


def moments(times: NDArray[np.int64]) -> pa.Array:
    """Seconds since 1970 in the form 2012-04-03T18:00:09Z: days and seconds of the day are written once each."""
    days, day = ranked(times // _DAY)
    dates = np.datetime_as_string(days.astype("datetime64[D]")).astype("S")
    if dates.dtype.itemsize != 10:  # a year of more than four digits, or before the year 0
        return pa.array(np.datetime_as_string(times.astype("datetime64[s]"), unit="s", timezone="UTC"))
    clock = np.datetime_as_string(np.arange(_DAY).astype("datetime64[s]"), timezone="UTC").astype("S20")
    parts = (dates.view(np.uint8).reshape(-1, 10)[day], clock.view(np.uint8).reshape(-1, 20)[:, 10:][times % _DAY])
    return _texts(np.concatenate(parts, axis=1))


def _texts(characters: NDArray[np.uint8]) -> pa.Array:
    """One text per row of characters."""
    rows, width = characters.shape
    ends = np.arange(0, (rows + 1) * width, width, dtype=np.int32)
    data = pa.py_buffer(np.ascontiguousarray(characters))
    return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(ends), data])
