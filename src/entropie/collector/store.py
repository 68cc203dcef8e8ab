"""What a collector keeps, and what every store does in the same way: SQLite in one file, or PostgreSQL.

Kept are how often each cell was reported, a keyed hash of 64 bits of each nonce for as long as the collection is open,
and how many records came in each hour. No report, no order of reports, no address and no time finer than an hour.

At every moment, and after every crash, of every collection:

    sum of the counts of its cells = reports accepted = nonces seen

Where the collection is closed its nonces and their key are gone, and the number of nonces seen stays.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.collector import document
from entropie.errors import EntropieError, InvalidInput, OutputFailed, extra_needed

KEY_BYTES = 16
HASH_BYTES = 8
POSTGRES = ("postgresql://", "postgres://")


class StoreFull(OutputFailed):
    """The disk of the store is full; nothing was counted, and what is there is intact."""


class StoreBusy(EntropieError):
    """The store cannot be reached or changed just now; nothing was counted."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The records of one request: hashes of their nonces and their cells, and how many more were invalid."""

    collection: str
    hashes: Sequence[int]
    cells: Sequence[int]
    invalid: int = 0


@dataclass(frozen=True, slots=True)
class Added:
    """What became of the records of one batch, or of all since a collection was created."""

    accepted: int
    duplicate: int
    invalid: int


@dataclass(frozen=True, slots=True)
class Held:
    """A collection in a store: its document, the key of its nonces while it is open, none once it is closed."""

    id: str
    document: bytes
    key: bytes | None

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self.key is None

    @property
    def shown(self) -> str:
        """The id as a sentence names it: a damaged store may hold anything in its place."""
        return self.id if re.fullmatch("[0-9a-f]{64}", self.id) else "without an id"


@dataclass(frozen=True, slots=True)
class Hour:
    """Records of one hour, which is counted from 1970 in UTC."""

    hour: int
    accepted: int
    duplicate: int
    invalid: int


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells that were reported, rising, and how often each was."""

    cells: NDArray[np.int64]
    counts: NDArray[np.int64]


class Store(ABC):
    """A store that is open, whose tables are the same in every database. `add` is called by one thread at a time,
    everything else by any thread. Statements mark parameters with `?`.
    """

    _HASH = "bigint"
    """The type of a key of 64 bits."""

    @abstractmethod
    def _changing(self) -> AbstractContextManager[Any]:
        """One transaction, on the disk when the block ends; undone where anything fails."""

    @abstractmethod
    def _read(self) -> AbstractContextManager[Any]:
        """One state of the store, whatever is counted meanwhile."""

    @abstractmethod
    def _open_places(self, change: Any, collections: list[str]) -> dict[str, int]:
        """Where those of these collections are that take reports, for whoever is about to change them."""

    @abstractmethod
    def _newcomers(self, change: Any, place: int, nonces: Iterable[int]) -> Callable[[int], bool]:
        """Says of nonces, asked one by one in this order, which had not come before."""

    @abstractmethod
    def _add_cells(self, change: Any, rows: Collection[tuple[int, int, int]]) -> None:
        """Add places, cells and how often they came to what is counted."""

    @abstractmethod
    def problems(self) -> list[str]:
        """Sentences on what does not add up; none where the store is sound."""

    @abstractmethod
    def end(self) -> None:
        """Let go of the store."""

    def collections(self) -> list[Held]:
        """All collections, in the order of their ids."""
        with self._read() as read:
            return held_in(read)

    def find(self, collection: str) -> Held | None:
        """One collection, if it is here."""
        with self._read() as read:
            row = read.execute("SELECT id, document, key FROM collections WHERE id = ?", (collection,)).fetchone()
        return None if row is None else Held(*row)

    def create(self, content: bytes) -> bool:
        """Add a collection, on the disk when this returns; False where it is here already."""
        row = document.read(content).id, content, secrets.token_bytes(KEY_BYTES)
        with self._changing() as change:
            if not add_collection(change, *row):
                return False
            (place,) = self._open_places(change, [row[0]]).values()
            change.execute(f"CREATE TABLE nonces_{place}(hash {self._HASH} PRIMARY KEY)")
            return True

    def close(self, collection: str) -> None:
        """Take no more reports for it, and drop its nonces and their key."""
        with self._changing() as change:
            for place in self._open_places(change, [collection]).values():
                seen = f"(SELECT COUNT(*) FROM nonces_{place})"
                change.execute(f"UPDATE collections SET key = NULL, seen = {seen} WHERE place = ?", (place,))
                change.execute(f"DROP TABLE nonces_{place}")

    def add(self, batches: Sequence[Batch]) -> list[Added | None]:
        """Count batches, all or none, on the disk when this returns; None for one whose collection takes nothing."""
        with self._changing() as change:
            places = self._open_places(change, sorted({batch.collection for batch in batches}))
            new = {}
            for name, place in places.items():
                nonces = [nonce for batch in batches if batch.collection == name for nonce in batch.hashes]
                new[place] = self._newcomers(change, place, nonces)
            tally: Counter[tuple[int, int]] = Counter()
            sums = {place: [0, 0, 0] for place in places.values()}
            answers: list[Added | None] = []
            for batch in batches:
                if batch.collection not in places:
                    answers.append(None)
                    continue
                place = places[batch.collection]
                is_new = new[place]
                cells = [cell for nonce, cell in zip(batch.hashes, batch.cells, strict=True) if is_new(nonce)]
                tally.update((place, cell) for cell in cells)
                numbers = len(cells), len(batch.hashes) - len(cells), batch.invalid
                sums[place] = [old + more for old, more in zip(sums[place], numbers, strict=True)]
                answers.append(Added(*numbers))
            self._add_cells(change, [(*where, number) for where, number in tally.items()])
            hour = this_hour()
            for place, counted in sums.items():
                add_records(change, place, [Hour(hour, *counted)])
        return answers

    def counts(self, collection: str) -> Cells:
        """How often each cell was reported."""
        with self._read() as read:
            return counts_in(read, collection)

    def totals(self, collection: str) -> Added:
        """Records since the collection was created."""
        with self._read() as read:
            return totals_in(read, collection)

    def seen(self, collection: str) -> int:
        """Different nonces that were seen, counted one by one while the collection is open."""
        with self._read() as read:
            return seen_in(read, collection)

    def hourly(self, collection: str) -> list[Hour]:
        """Records by the hour, from the first hour with any."""
        with self._read() as read:
            rows = read.execute(
                "SELECT hour, h.accepted, h.duplicate, h.invalid FROM hours h JOIN collections USING(place) "
                "WHERE id = ? ORDER BY hour",
                (collection,),
            )
            return [Hour(*whole(row)) for row in rows]

    def note(self, name: str, value: str | None = None) -> str | None:
        """A short text that the service keeps under a name, and its new value where one is given."""
        name = f"note {name}"
        if value is not None:
            with self._changing() as change:
                insert = "INSERT INTO facts VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value"
                change.execute(insert, (name, value))
        with self._read() as read:
            row = read.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])


def add_collection(change: Any, collection: str, content: bytes, key: bytes | None) -> bool:
    """Add a collection without reports; False where it is here already."""
    insert = (
        "INSERT INTO collections(id, document, key, seen, accepted, duplicate, invalid) VALUES(?, ?, ?, 0, 0, 0, 0) "
        "ON CONFLICT DO NOTHING"
    )
    return bool(change.execute(insert, (collection, content, key)).rowcount)


def add_records(change: Any, place: int, hours: Iterable[Hour]) -> None:
    """Add records, by the hour and to those of the whole collection."""
    for one in hours:
        numbers = one.accepted, one.duplicate, one.invalid
        change.execute(
            "UPDATE collections SET accepted = accepted + ?, duplicate = duplicate + ?, invalid = invalid + ? "
            "WHERE place = ?",
            (*numbers, place),
        )
        change.execute(
            "INSERT INTO hours AS h VALUES(?, ?, ?, ?, ?) ON CONFLICT(place, hour) DO UPDATE SET accepted = "
            "h.accepted + excluded.accepted, duplicate = h.duplicate + excluded.duplicate, "
            "invalid = h.invalid + excluded.invalid",
            (place, one.hour, *numbers),
        )


def held_in(read: Any) -> list[Held]:
    """All collections, in the order of their ids."""
    rows = read.execute("SELECT id, document, key FROM collections").fetchall()
    return sorted((Held(*row) for row in rows), key=lambda held: held.id)


def counts_in(read: Any, collection: str) -> Cells:
    """How often each cell was reported."""
    sought = "SELECT cell, count FROM cells JOIN collections USING(place) WHERE id = ? ORDER BY cell"
    rows = np.array(read.execute(sought, (collection,)).fetchall(), np.int64).reshape(-1, 2)
    return Cells(rows[:, 0], rows[:, 1])


def totals_in(read: Any, collection: str) -> Added:
    """Records since the collection was created."""
    row = read.execute("SELECT accepted, duplicate, invalid FROM collections WHERE id = ?", (collection,)).fetchone()
    return Added(*whole(row or (0, 0, 0)))


def whole(row: Sequence[Any]) -> Sequence[int]:
    """The numbers of a row; a TypeError where damage has put something else in the place of one."""
    if any(type(value) is not int for value in row):
        raise TypeError
    return row


def seen_in(read: Any, collection: str) -> int:
    """Different nonces that were seen."""
    row = read.execute("SELECT place, key IS NULL, seen FROM collections WHERE id = ?", (collection,)).fetchone()
    if row is None or row[1]:
        return 0 if row is None else int(row[2])
    return int(read.execute(f"SELECT COUNT(*) FROM nonces_{row[0]}").fetchone()[0])


def open_store(where: str, mark: Path | None = None, *, make: bool = True) -> Store:
    """Open the store in this file or behind this URL; it is made where there is none, and checked where there is.

    The high-water mark of a file lies beside it; that of a database is the file `mark`, where one is named.
    Without `make` a store in a database is only looked at.
    """
    if where.startswith(POSTGRES):
        try:
            from entropie.collector.postgres_store import PostgresStore
        except ImportError:
            raise extra_needed("PostgreSQL needs", "collector") from None
        return PostgresStore(where, mark, make=make)
    if mark is not None:
        raise InvalidInput("A store in a file has its mark beside it; name one (--mark) for PostgreSQL alone.")
    from entropie.collector.sqlite_store import SqliteStore

    return SqliteStore(where)


def hashed(key: bytes, nonces: Iterable[bytes]) -> list[int]:
    """Nonces as the store knows them: signed integers of 64 bits that nobody without the key can make."""
    make, order = hashlib.blake2b, int.from_bytes
    return [order(make(nonce, digest_size=HASH_BYTES, key=key).digest(), "big", signed=True) for nonce in nonces]


def this_hour() -> int:
    """Hours since 1970."""
    return int(time.time() // 3600)


def unbalanced(held: Held, cells: Cells, totals: Added, seen: int) -> list[str]:
    """The sentence on a collection whose numbers differ that must not, or whose cells are none."""
    if len(cells.cells) and (int(cells.cells[0]) < 0 or int(cells.cells[-1]) >= document.read(held.document).cells):
        return [f"Collection {held.shown}: reports are counted in cells that it does not have."]
    counted = int(cells.counts.sum())
    if counted == totals.accepted == seen and (len(cells.counts) == 0 or int(cells.counts.min()) > 0):
        return []
    accepted = totals.accepted if isinstance(totals.accepted, int) else "no number"  # a damaged file may hold anything
    numbers = f"{counted} reports in its cells, {accepted} accepted and {seen} nonces seen"
    return [f"Collection {held.shown}: {numbers}; the three must be equal."]
