"""What a collector keeps, and the few functions that every store has: SQLite in one file, or PostgreSQL.

Kept are how often each cell was reported, a keyed hash of 64 bits of each nonce for as long as the collection is open,
and how many records came in each hour. No report, no order of reports, no address and no time finer than an hour.

At every moment, and after every crash, of every collection:

    sum of the counts of its cells = reports accepted = nonces seen

Where the collection is closed its nonces and their key are gone, and the number of nonces seen stays.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from entropie.collector import document
from entropie.errors import EntropieError, InvalidInput, OutputFailed

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
    """What became of the records of one batch."""

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


@dataclass(frozen=True, slots=True)
class Totals:
    """Records of a collection since it was created."""

    accepted: int
    duplicate: int
    invalid: int


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


class Store(Protocol):
    """A store that is open. `add` is called by one thread at a time, everything else by any thread."""

    def collections(self) -> list[Held]:
        """All collections, in the order of their ids."""

    def find(self, collection: str) -> Held | None:
        """One collection, if it is here."""

    def create(self, document: bytes) -> bool:
        """Add a collection, on the disk when this returns; False where it is here already."""

    def close(self, collection: str) -> None:
        """Take no more reports for it, and drop its nonces and their key."""

    def add(self, batches: Sequence[Batch]) -> list[Added | None]:
        """Count batches, all or none, on the disk when this returns; None for one whose collection takes nothing."""

    def counts(self, collection: str) -> Cells:
        """How often each cell was reported."""

    def totals(self, collection: str) -> Totals:
        """Records since the collection was created."""

    def seen(self, collection: str) -> int:
        """Different nonces that were seen, counted one by one while the collection is open."""

    def hourly(self, collection: str) -> list[Hour]:
        """Records by the hour, from the first hour with any."""

    def note(self, name: str, value: str | None = None) -> str | None:
        """A short text that the service keeps under a name, and its new value where one is given."""

    def problems(self) -> list[str]:
        """Sentences on what does not add up; none where the store is sound."""

    def end(self) -> None:
        """Let go of the store."""


def open_store(where: str, mark: Path | None = None, *, make: bool = True) -> Store:
    """Open the store in this file or behind this URL; it is made where there is none, and checked where there is.

    The high-water mark of a file lies beside it; that of a database is the file `mark`, where one is named.
    Without `make` a store in a database is only looked at.
    """
    if where.startswith(POSTGRES):
        try:
            from entropie.collector.postgres_store import PostgresStore
        except ImportError:
            raise InvalidInput(
                "PostgreSQL needs the extra `collector`; run: pip install 'entropie[collector]'"
            ) from None
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


def unbalanced(held: Held, cells: Cells, totals: Totals, seen: int) -> list[str]:
    """The sentence on a collection whose numbers differ that must not, or whose cells are none."""
    if len(cells.cells) and (int(cells.cells[0]) < 0 or int(cells.cells[-1]) >= document.read(held.document).cells):
        return [f"Collection {held.id}: reports are counted in cells that it does not have."]
    counted = int(cells.counts.sum())
    if counted == totals.accepted == seen and (len(cells.counts) == 0 or int(cells.counts.min()) > 0):
        return []
    numbers = f"{counted} reports in its cells, {totals.accepted} accepted and {seen} nonces seen"
    return [f"Collection {held.id}: {numbers}; the three must be equal."]
