"""A store in one SQLite file: a write-ahead log that is on the disk before `add` returns, many requests per commit.

While a service runs, beside FILE lie FILE-wal and FILE-shm, which are SQLite's, and FILE.mark (mark.py). All are for
their owner alone. One process writes; others may read at the same time, and whoever reads makes no file: without a log
the file is read as it is, with one as its writer left it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from entropie.atomic import replacing
from entropie.collector.mark import Mark, in_use, mark_of, rolled_back
from entropie.collector.store import (
    Held,
    Store,
    StoreBusy,
    StoreFull,
    add_collection,
    add_records,
    counts_in,
    held_in,
    seen_in,
    totals_in,
    unbalanced,
    whole,
)
from entropie.errors import InvalidInput, OutputFailed, printable

APPLICATION = 0x656E7470
MIGRATIONS = (
    """
    CREATE TABLE facts(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE collections(
        place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, document BLOB NOT NULL, key BLOB, seen INTEGER NOT NULL,
        accepted INTEGER NOT NULL, duplicate INTEGER NOT NULL, invalid INTEGER NOT NULL);
    CREATE TABLE cells(
        place INTEGER NOT NULL, cell INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY(place, cell)) WITHOUT ROWID;
    CREATE TABLE hours(
        place INTEGER NOT NULL, hour INTEGER NOT NULL, accepted INTEGER NOT NULL, duplicate INTEGER NOT NULL,
        invalid INTEGER NOT NULL, PRIMARY KEY(place, hour)) WITHOUT ROWID;
    """,
)
"""What makes a store of version i one of version i + 1; each runs once, in one transaction with the new number."""

_SETTINGS = (
    "PRAGMA synchronous=FULL",
    "PRAGMA secure_delete=ON",  # nonces that are dropped are overwritten
    "PRAGMA wal_autocheckpoint=8000",
    "PRAGMA journal_size_limit=67108864",
    "PRAGMA cache_size=-16384",  # full after about a million reports: from then on a service's memory stays as it is
    "PRAGMA temp_store=MEMORY",
)
_ENDS = {
    "counting": "PRAGMA query_only=OFF",
    "reading": "PRAGMA query_only=ON",
    "filling": "PRAGMA journal_mode=MEMORY",
}
_FULL = {"SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_TRUNCATE"}
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")

Use = Literal["counting", "reading", "filling"]


class SqliteStore(Store):
    """The store in a file, used for one of three ends.

    counting    made where there is none, with its mark, a log and the lock of the one process that writes
    reading     makes no file, takes no lock and is not changed to a new version
    filling     an empty file of somebody else's is made a store, with nothing beside it; they put it on the disk
    """

    _HASH = "INTEGER"

    def __init__(self, where: str | os.PathLike[str], use: Use = "counting") -> None:
        self.path = Path(where).resolve()
        self._use = use
        self._sound = False
        self._mark: Mark | None = None
        self._lock = threading.Lock()
        if use == "reading" and not self.path.is_file():
            raise InvalidInput(f"There is no store {self._shown}; name its file.")
        self._indexed = _beside(self.path, "-shm").exists()
        try:
            if use == "counting":
                self._mark = Mark(mark_of(self.path), self._shown)
                self._make_file()
            self._own = self._connected()
            self._begin()
            self._sound = True
        except (sqlite3.Error, UnicodeError) as problem:  # a damaged name is not always text
            self.end()
            raise self._refusal(problem) from None
        except BaseException:
            self.end()
            raise

    @property
    def _shown(self) -> str:
        return printable(str(self.path))

    def _rolled_back(self, name: str, commits: int) -> list[str]:
        return rolled_back(self._shown, mark_of(self.path), name, commits)

    def _make_file(self) -> None:
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self.path.chmod(0o600)
        except OSError as problem:
            why = problem.strerror or type(problem).__name__
            raise OutputFailed(f"The store {self._shown} cannot be written ({why}).") from None

    def _logged(self) -> bool:
        """Whether reports may stand in a log beside the file: one that holds something, or that somebody is using."""
        log = _beside(self.path, "-wal")
        return log.exists() and (log.stat().st_size > 0 or _beside(self.path, "-shm").exists())

    def _connected(self) -> sqlite3.Connection:
        mode = "mode=rw"
        if self._use == "reading":  # SQLite makes a log to read, too, unless it is told that the file stays as it is
            mode = "mode=ro" if self._logged() else "mode=ro&immutable=1"
        made = sqlite3.connect(
            f"{self.path.as_uri()}?{mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=10.0,
        )
        try:
            for setting in _SETTINGS:
                made.execute(setting)
            made.execute(_ENDS[self._use])
        except sqlite3.Error:
            made.close()
            raise
        return made

    def _begin(self) -> None:
        """Refuse what is no sound store; make it one of this version."""
        (version,), (application,) = (
            self._own.execute(f"PRAGMA {name}").fetchone() for name in ("user_version", "application_id")
        )
        if application != APPLICATION and (version or self._own.execute("SELECT * FROM sqlite_schema").fetchone()):
            raise InvalidInput(f"The file {self._shown} is a database, but no store of a collector; name another file.")
        if version > len(MIGRATIONS):
            raise InvalidInput(
                f"The store {self._shown} has version {version}, this program knows {len(MIGRATIONS)}; update it."
            )
        if self._use == "reading":
            if version < len(MIGRATIONS):
                raise InvalidInput(f"The store {self._shown} has version {version}; `entropie serve` brings it up.")
            return
        found = self.problems(brief=True) if version else self._rolled_back("", 0)
        if found:
            raise InvalidInput(" ".join(found))
        if version < len(MIGRATIONS):
            self._migrate(version)
        if self._use == "counting" and self._own.execute("PRAGMA journal_mode=WAL").fetchone() != ("wal",):
            raise InvalidInput(f"The disk of the store {self._shown} has no shared memory; name one on a local disk.")

    def _migrate(self, version: int) -> None:
        if version:
            self._back_up(version)
        script = "".join(MIGRATIONS[version:])
        if not version:
            script += f"INSERT INTO facts VALUES('store', '{secrets.token_hex(16)}'), ('commits', '0');"
        done = f"PRAGMA application_id={APPLICATION}; PRAGMA user_version={len(MIGRATIONS)}; COMMIT;"
        self._own.executescript(f"BEGIN IMMEDIATE; {script} {done}")

    def _back_up(self, version: int) -> None:
        """A copy of the store as it was, beside it."""
        self._own.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        target = self.path.with_name(f"{self.path.name}.version-{version}")
        if target.exists():
            raise InvalidInput(f"The backup {printable(str(target))} is there already; move it away.")
        with replacing(target) as hidden:
            shutil.copyfile(self.path, hidden)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._own.execute("BEGIN IMMEDIATE")
                yield self._own
                self._own.execute("UPDATE facts SET value = value + 1 WHERE name = 'commits'")
                commits = self._commits(self._own)
                self._own.execute("COMMIT")
            except BaseException as problem:
                with contextlib.suppress(sqlite3.Error):
                    if self._own.in_transaction:
                        self._own.execute("ROLLBACK")
                if isinstance(problem, sqlite3.Error):
                    raise self._refusal(problem) from None
                raise
            if self._mark is not None:
                self._mark.keep(*commits)

    @contextlib.contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        try:
            with contextlib.closing(self._connected()) as connection:
                connection.execute("BEGIN")
                yield connection
        except (sqlite3.Error, UnicodeError) as problem:
            raise self._refusal(problem) from None

    def close(self, collection: str) -> None:
        """Take no more reports for it, and drop its nonces and their key."""
        super().close(collection)
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._own.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the log holds them too, else

    def _open_places(self, change: sqlite3.Connection, collections: list[str]) -> dict[str, int]:
        rows = dict(change.execute("SELECT id, place FROM collections WHERE key IS NOT NULL"))
        return {name: rows[name] for name in collections if name in rows}

    def _newcomers(self, change: sqlite3.Connection, place: int, nonces: Iterable[int]) -> Callable[[int], bool]:
        insert = f"INSERT OR IGNORE INTO nonces_{place} VALUES(?)"
        return lambda nonce: bool(change.execute(insert, (nonce,)).rowcount)

    def _add_cells(self, change: sqlite3.Connection, rows: Collection[tuple[int, int, int]]) -> None:
        change.executemany(
            "INSERT INTO cells VALUES(?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count", rows
        )

    def problems(self, *, brief: bool = False) -> list[str]:
        """Sentences on what does not add up; `brief` skips the check of indices against their tables."""
        logged = self._logged()
        found = self._problems(brief)
        if found and not logged and self._logged():  # a service began to write what was read as it was
            found = self._problems(brief)
        return found

    def _problems(self, brief: bool) -> list[str]:
        try:
            with self._read() as read:
                check = "quick_check" if brief else "integrity_check"
                if read.execute(f"PRAGMA {check}(1)").fetchone() != ("ok",):
                    return [self._damage()]
                found = self._rolled_back(*self._commits(read))
                for held in held_in(read):
                    numbers = counts_in(read, held.id), totals_in(read, held.id), seen_in(read, held.id)
                    found += [*_wrong_document(held), *unbalanced(held, *numbers)]
                for hour in read.execute("SELECT * FROM hours"):
                    whole(hour)
                return found
        except (InvalidInput, TypeError, ValueError, OverflowError) as problem:
            return [str(problem) if isinstance(problem, InvalidInput) else self._damage()]

    def origins(self) -> list[str]:
        """The stores whose reports are here: itself, or those that it was merged from."""
        with self._read() as read:
            rows = read.execute("SELECT name FROM facts WHERE name LIKE 'origin %'").fetchall()
            return [row[0].removeprefix("origin ") for row in rows] or [self._commits(read)[0]]

    def absorb(self, others: Sequence[SqliteStore], origins: Sequence[str]) -> None:
        """Add all that closed collections of other stores have counted, in one transaction."""
        with self._changing() as change:
            for other in others:
                for held in other.collections():
                    self._absorb(change, other, held)
            change.executemany("INSERT INTO facts VALUES(?, '')", [(f"origin {one}",) for one in origins])

    def _absorb(self, change: sqlite3.Connection, other: SqliteStore, held: Held) -> None:
        add_collection(change, held.id, held.document, None)
        (place,) = change.execute("SELECT place FROM collections WHERE id = ?", (held.id,)).fetchone()
        cells = other.counts(held.id)
        rows = zip(cells.cells.tolist(), cells.counts.tolist(), strict=True)
        self._add_cells(change, [(place, *row) for row in rows])
        change.execute("UPDATE collections SET seen = seen + ? WHERE place = ?", (other.seen(held.id), place))
        add_records(change, place, other.hourly(held.id))

    def end(self) -> None:
        """Let go of the store."""
        with contextlib.suppress(sqlite3.Error, AttributeError, TypeError, ValueError):
            if self._mark is not None and self._sound:  # one that was refused must not lower its mark
                self._mark.keep(*self._commits(self._own), now=True)
        with contextlib.suppress(sqlite3.Error, AttributeError):
            self._own.close()
        if self._mark is not None:
            self._mark.end()
            self._mark = None
        if self._use == "reading" and not self._indexed and not in_use(self.path):
            _beside(self.path, "-shm").unlink(missing_ok=True)  # SQLite's index of a log that came without one

    def _commits(self, connection: sqlite3.Connection) -> tuple[str, int]:
        facts = dict(connection.execute("SELECT name, value FROM facts WHERE name IN ('store', 'commits')"))
        if set(facts) != {"store", "commits"}:
            raise InvalidInput(self._damage())
        return str(facts["store"]), int(facts["commits"])

    def _damage(self) -> str:
        return f"The store {self._shown} is damaged; put its newest backup back."

    def _refusal(self, problem: sqlite3.Error | UnicodeError) -> InvalidInput | StoreFull | StoreBusy:
        name = getattr(problem, "sqlite_errorname", "")
        if name in _FULL:
            return StoreFull(f"The disk of the store {self._shown} is full; nothing was counted.")
        if name.startswith(_DAMAGED) or isinstance(problem, UnicodeError):
            return InvalidInput(self._damage())
        return StoreBusy(f"The store {self._shown} cannot be used just now ({name or 'closed'}); nothing was counted.")


def _beside(store: Path, ending: str) -> Path:
    return store.with_name(store.name + ending)


def _wrong_document(held: Held) -> list[str]:
    if hashlib.sha256(held.document).hexdigest() == held.id:
        return []
    return [f"The document of collection {held.shown} is another one; put the newest backup back."]
