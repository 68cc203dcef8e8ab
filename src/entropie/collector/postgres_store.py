"""A store in PostgreSQL, which several service processes share: the same tables as in SQLite, in a schema of their own.

Whoever counts for a collection first locks its row, so that two processes count one after the other, and `close` waits
for both. The database's own log is on its disk before `add` returns. Its commits, for the mark (mark.py), are all
records and collections that there ever were: a number that only grows, and that no process has to wait for.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from entropie.collector import document
from entropie.collector.mark import Mark, rolled_back
from entropie.collector.store import (
    KEY_BYTES,
    Added,
    Batch,
    Cells,
    Held,
    Hour,
    StoreBusy,
    StoreFull,
    Totals,
    this_hour,
    unbalanced,
)
from entropie.errors import InvalidInput

Link = psycopg.Connection[Any]

VERSION = 1
_SCHEMA = """
CREATE SCHEMA IF NOT EXISTS entropie_collector;
CREATE TABLE IF NOT EXISTS facts(name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE IF NOT EXISTS collections(
    place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, document bytea NOT NULL, key bytea,
    seen bigint NOT NULL DEFAULT 0, accepted bigint NOT NULL DEFAULT 0, duplicate bigint NOT NULL DEFAULT 0,
    invalid bigint NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS cells(
    place bigint NOT NULL, cell bigint NOT NULL, count bigint NOT NULL, PRIMARY KEY(place, cell));
CREATE TABLE IF NOT EXISTS hours(
    place bigint NOT NULL, hour bigint NOT NULL, accepted bigint NOT NULL, duplicate bigint NOT NULL,
    invalid bigint NOT NULL, PRIMARY KEY(place, hour));
"""
_NAME = "in PostgreSQL"
_FULL = "53100"
_MAKING = 0x656E7470  # the lock of whoever makes the tables


class PostgresStore:
    """The store behind a URL."""

    def __init__(self, url: str, mark: Path | None = None, *, make: bool = True) -> None:
        """`make`: also where there is none, and write the mark; else it is only looked at."""
        self._url, self._mark_path = url, mark
        self._lock = threading.Lock()
        self._own: Link | None = None
        self._mark: Mark | None = None
        self._sound = False
        if not make:
            return
        if mark is not None:
            self._mark = Mark(mark, _NAME)
        try:
            self._make()
            found = self.problems()
            if found:
                raise InvalidInput(" ".join(found))
            self._sound = True  # a store that was refused must not change its mark
            if self._mark is not None:
                self._keep_mark(now=True)
        except BaseException:
            self.end()
            raise

    def _make(self) -> None:
        with self._changing() as change:
            change.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
            change.execute(_SCHEMA)
            facts = [("version", str(VERSION)), ("store", secrets.token_hex(16))]
            change.cursor().executemany("INSERT INTO facts VALUES(%s, %s) ON CONFLICT DO NOTHING", facts)

    def _connected(self) -> Link:
        return psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=10,
            options="-c search_path=entropie_collector -c synchronous_commit=on -c lock_timeout=10s",
        )

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Link]:
        """One transaction, on the disk when the block ends; undone where anything fails."""
        with self._lock:
            try:
                if self._own is None or self._own.closed:
                    self._own = self._connected()
                with self._own.transaction():
                    yield self._own
            except psycopg.Error as problem:
                raise _refusal(problem) from None
            if self._sound and self._mark is not None and self._mark.due:
                self._keep_mark()

    def _keep_mark(self, *, now: bool = False) -> None:
        """What was asked for is on the disk, whatever becomes of the mark."""
        assert self._own is not None
        assert self._mark is not None
        with contextlib.suppress(psycopg.Error):
            self._mark.keep(*_commits(self._own), now=now)

    @contextlib.contextmanager
    def _read(self) -> Iterator[Link]:
        """One state of the store, whatever is counted meanwhile."""
        try:
            with contextlib.closing(self._connected()) as connection, connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                yield connection
        except psycopg.Error as problem:
            raise _refusal(problem) from None

    def collections(self) -> list[Held]:
        """All collections, in the order of their ids."""
        with self._read() as read:
            return _held(read)

    def find(self, collection: str) -> Held | None:
        """One collection, if it is here."""
        with self._read() as read:
            row = read.execute("SELECT id, document, key FROM collections WHERE id = %s", (collection,)).fetchone()
        return None if row is None else Held(*row)

    def create(self, content: bytes) -> bool:
        """Add a collection, on the disk when this returns; False where it is here already."""
        collection, key = document.read(content).id, secrets.token_bytes(KEY_BYTES)
        with self._changing() as change:
            row = change.execute(
                "INSERT INTO collections(id, document, key) VALUES(%s, %s, %s) ON CONFLICT DO NOTHING RETURNING place",
                (collection, content, key),
            ).fetchone()
            if row is not None:
                change.execute(f"CREATE TABLE nonces_{int(row[0])}(hash bigint PRIMARY KEY)")
            return row is not None

    def close(self, collection: str) -> None:
        """Take no more reports for it, and drop its nonces and their key."""
        with self._changing() as change:
            for place in _open_places(change, [collection]).values():
                nonces = f"nonces_{place}"
                change.execute(
                    f"UPDATE collections SET key = NULL, seen = (SELECT COUNT(*) FROM {nonces}) WHERE place = %s",
                    (place,),
                )
                change.execute(f"DROP TABLE {nonces}")

    def add(self, batches: Sequence[Batch]) -> list[Added | None]:
        """Count batches, all or none, on the disk when this returns; None for one whose collection takes nothing."""
        with self._changing() as change:
            places = _open_places(change, sorted({batch.collection for batch in batches}))
            new = {
                collection: _new_nonces(change, place, [one for one in batches if one.collection == collection])
                for collection, place in places.items()
            }
            tally: Counter[tuple[int, int]] = Counter()
            sums: dict[int, list[int]] = {place: [0, 0, 0] for place in places.values()}
            answers: list[Added | None] = []
            for batch in batches:
                if batch.collection not in places:
                    answers.append(None)
                    continue
                place, left, accepted = places[batch.collection], new[batch.collection], 0
                for nonce, cell in zip(batch.hashes, batch.cells, strict=True):
                    if nonce in left:
                        left.discard(nonce)
                        tally[place, cell] += 1
                        accepted += 1
                answer = Added(accepted, len(batch.hashes) - accepted, batch.invalid)
                for which, number in enumerate((answer.accepted, answer.duplicate, answer.invalid)):
                    sums[place][which] += number
                answers.append(answer)
            _write(change, tally, sums)
        return answers

    def counts(self, collection: str) -> Cells:
        """How often each cell was reported."""
        with self._read() as read:
            return _counts(read, collection)

    def totals(self, collection: str) -> Totals:
        """Records since the collection was created."""
        with self._read() as read:
            return _totals(read, collection)

    def seen(self, collection: str) -> int:
        """Different nonces that were seen, counted one by one while the collection is open."""
        with self._read() as read:
            return _seen(read, collection)

    def hourly(self, collection: str) -> list[Hour]:
        """Records by the hour, from the first hour with any."""
        with self._read() as read:
            rows = read.execute(
                "SELECT hour, h.accepted, h.duplicate, h.invalid FROM hours h JOIN collections USING(place) "
                "WHERE id = %s ORDER BY hour",
                (collection,),
            )
            return [Hour(*row) for row in rows]

    def note(self, name: str, value: str | None = None) -> str | None:
        """A short text that the service keeps under a name, and its new value where one is given."""
        name = f"note {name}"
        if value is not None:
            with self._changing() as change:
                change.execute(
                    "INSERT INTO facts VALUES(%s, %s) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
                    (name, value),
                )
        with self._read() as read:
            row = read.execute("SELECT value FROM facts WHERE name = %s", (name,)).fetchone()
        return None if row is None else str(row[0])

    def problems(self) -> list[str]:
        """Sentences on what does not add up; none where the store is sound."""
        with self._read() as read:
            row = read.execute("SELECT to_regclass('facts')").fetchone()
            if row is None or row[0] is None:
                return ["There is no store in this database; `entropie serve` makes one."]
            version = read.execute("SELECT value FROM facts WHERE name = 'version'").fetchone()
            if version is None or version[0] != str(VERSION):
                return [f"The store in PostgreSQL has another version than {VERSION}; update this program."]
            behind = [] if self._mark_path is None else rolled_back(_NAME, self._mark_path, *_commits(read))
            return behind + [
                sentence
                for held in _held(read)
                for sentence in unbalanced(held, _counts(read, held.id), _totals(read, held.id), _seen(read, held.id))
            ]

    def end(self) -> None:
        """Let go of the store."""
        if self._own is not None:
            if self._sound and self._mark is not None and not self._own.closed:
                self._keep_mark(now=True)
            self._own.close()
        if self._mark is not None:
            self._mark.end()
            self._mark = None


def _refusal(problem: Exception) -> StoreFull | StoreBusy:
    """What a reader may know: the text of the database's own errors may hold its address and values."""
    state = getattr(problem, "sqlstate", None)
    if state == _FULL:
        return StoreFull("The disk of the store in PostgreSQL is full; nothing was counted.")
    why = f"error {state}" if state else "it cannot be reached"
    return StoreBusy(f"The store in PostgreSQL cannot be used just now ({why}).")


def _commits(read: Link) -> tuple[str, int]:
    """The store's own name, and a number that grows with everything that is counted, created or closed."""
    row = read.execute(
        "SELECT (SELECT value FROM facts WHERE name = 'store'), "
        "COALESCE(SUM(2 + (key IS NULL)::int + accepted + duplicate + invalid), 0) FROM collections"
    ).fetchone()
    assert row is not None
    return str(row[0]), int(row[1])


def _held(read: Link) -> list[Held]:
    return [Held(*row) for row in read.execute('SELECT id, document, key FROM collections ORDER BY id COLLATE "C"')]


def _open_places(change: Link, collections: list[str]) -> dict[str, int]:
    """Where the collections are that take reports; each row is locked, in one order for all processes."""
    rows = change.execute(
        "SELECT id, place FROM collections WHERE id = ANY(%s) AND key IS NOT NULL ORDER BY place FOR UPDATE",
        (collections,),
    )
    return {str(name): int(place) for name, place in rows}


def _new_nonces(change: Link, place: int, batches: list[Batch]) -> set[int]:
    """The nonces of these batches that were not there; they are now."""
    insert = f"INSERT INTO nonces_{place} SELECT DISTINCT unnest(%s::bigint[]) ON CONFLICT DO NOTHING RETURNING hash"
    hashes = [nonce for batch in batches for nonce in batch.hashes]
    return {int(nonce) for (nonce,) in change.execute(insert, (hashes,))} if hashes else set()


def _write(change: Link, tally: Counter[tuple[int, int]], sums: dict[int, list[int]]) -> None:
    if tally:
        places, cells = zip(*tally, strict=True)
        change.execute(
            "INSERT INTO cells AS c SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) "
            "ON CONFLICT(place, cell) DO UPDATE SET count = c.count + excluded.count",
            (list(places), list(cells), list(tally.values())),
        )
    for place, numbers in sums.items():
        change.execute(
            "UPDATE collections SET accepted = accepted + %s, duplicate = duplicate + %s, invalid = invalid + %s "
            "WHERE place = %s",
            (*numbers, place),
        )
        change.execute(
            "INSERT INTO hours AS h VALUES(%s, %s, %s, %s, %s) ON CONFLICT(place, hour) DO UPDATE SET accepted = "
            "h.accepted + excluded.accepted, duplicate = h.duplicate + excluded.duplicate, "
            "invalid = h.invalid + excluded.invalid",
            (place, this_hour(), *numbers),
        )


def _counts(read: Link, collection: str) -> Cells:
    sought = "SELECT cell, count FROM cells JOIN collections USING(place) WHERE id = %s ORDER BY cell"
    rows = np.array(read.execute(sought, (collection,)).fetchall(), np.int64).reshape(-1, 2)
    return Cells(rows[:, 0], rows[:, 1])


def _totals(read: Link, collection: str) -> Totals:
    row = read.execute("SELECT accepted, duplicate, invalid FROM collections WHERE id = %s", (collection,)).fetchone()
    return Totals(*(row or (0, 0, 0)))


def _seen(read: Link, collection: str) -> int:
    row = read.execute("SELECT place, key IS NULL, seen FROM collections WHERE id = %s", (collection,)).fetchone()
    if row is None or row[1]:
        return 0 if row is None else int(row[2])
    counted = read.execute(f"SELECT COUNT(*) FROM nonces_{int(row[0])}").fetchone()
    return 0 if counted is None else int(counted[0])
