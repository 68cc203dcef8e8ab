"""A store in PostgreSQL, which several service processes share: the same tables as in SQLite, in a schema of their own.

Whoever counts for a collection first locks its row, so that two processes count one after the other, and `close` waits
for both. The database's own log is on its disk before `add` returns. Its commits, for the mark (mark.py), are all
records and collections that there ever were: a number that only grows, and that no process has to wait for.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import psycopg

from entropie.collector.mark import Mark, rolled_back
from entropie.collector.store import Store, StoreBusy, StoreFull, counts_in, held_in, seen_in, totals_in, unbalanced
from entropie.errors import InvalidInput


class Link(psycopg.Connection[Any]):
    """A connection that takes statements as every store writes them."""

    def execute(self, query: Any, params: Any = None, **how: Any) -> psycopg.Cursor[Any]:
        """Run one statement; its parameters are marked with `?`."""
        return super().execute(query.replace("?", "%s"), params, **how)


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


class PostgresStore(Store):
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
            change.execute("SELECT pg_advisory_xact_lock(?)", (_MAKING,))
            change.execute(_SCHEMA)
            for fact in (("version", str(VERSION)), ("store", secrets.token_hex(16))):
                change.execute("INSERT INTO facts VALUES(?, ?) ON CONFLICT DO NOTHING", fact)

    def _connected(self) -> Link:
        return Link.connect(
            self._url,
            autocommit=True,
            connect_timeout=10,
            options="-c search_path=entropie_collector -c synchronous_commit=on -c lock_timeout=10s",
        )

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Link]:
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
        try:
            with contextlib.closing(self._connected()) as connection, connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                yield connection
        except psycopg.Error as problem:
            raise _refusal(problem) from None

    def _open_places(self, change: Link, collections: list[str]) -> dict[str, int]:
        """Each row is locked, in one order for all processes."""
        rows = change.execute(
            "SELECT id, place FROM collections WHERE id = ANY(?) AND key IS NOT NULL ORDER BY place FOR UPDATE",
            (collections,),
        )
        return dict(rows.fetchall())

    def _newcomers(self, change: Link, place: int, nonces: Iterable[int]) -> Callable[[int], bool]:
        sent = "SELECT DISTINCT unnest(?::bigint[])"
        insert = f"INSERT INTO nonces_{place} {sent} ON CONFLICT DO NOTHING RETURNING hash"
        new = {nonce for (nonce,) in change.execute(insert, (list(nonces),))}

        def comes(nonce: int) -> bool:
            known = nonce not in new
            new.discard(nonce)
            return not known

        return comes

    def _add_cells(self, change: Link, rows: Collection[tuple[int, int, int]]) -> None:
        if rows:
            change.execute(
                "INSERT INTO cells AS c SELECT * FROM unnest(?::bigint[], ?::bigint[], ?::bigint[]) "
                "ON CONFLICT(place, cell) DO UPDATE SET count = c.count + excluded.count",
                list(map(list, zip(*rows, strict=True))),
            )

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
                for held in held_in(read)
                for sentence in unbalanced(
                    held, counts_in(read, held.id), totals_in(read, held.id), seen_in(read, held.id)
                )
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
