"""From requests to the store: whatever waits while one commit is on its way goes into the next, all together.

A request is answered when its records are on the disk. When too much waits, new requests are turned away at once; one
collection alone is turned away a little earlier, so that those who flood it do not keep out the devices of the others.
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from entropie.collector.document import Collection, read
from entropie.collector.store import Added, Batch, Held, Store, StoreBusy
from entropie.errors import EntropieError

MOST_WAITING_REQUESTS = 2_000
MOST_WAITING_RECORDS = 100_000
MOST_OF_ONE = 0.75
"""What one collection may take of both."""
MOST_TOGETHER = 10_000
"""Records of one commit, or a little more; the next ones need not wait for it."""
_FRESH_SECONDS = 1.0

Answer = Added | EntropieError | None


class Overloaded(EntropieError):
    """More waits than can be written soon; nothing was counted."""


class Flooded(EntropieError):
    """More waits of one collection than its share; nothing was counted."""


@dataclass(slots=True)
class _Line:
    """Requests that wait, and their records."""

    requests: int = 0
    records: int = 0

    def takes(self, size: int, share: float) -> bool:
        """Whether so many more records may wait in a line that has this share of what may."""
        few = self.requests < share * MOST_WAITING_REQUESTS
        return few and self.records + size <= share * MOST_WAITING_RECORDS

    def add(self, requests: int, records: int) -> None:
        self.requests += requests
        self.records += records


class Ingest:
    """The one thread that writes, and what waits for it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._changed = threading.Condition()
        self._waiting: list[tuple[Batch, asyncio.Future[Answer]]] = []
        self._all = _Line()
        self._lines: defaultdict[str, _Line] = defaultdict(_Line)
        self._ending = False
        self.commits = 0
        self.failing: EntropieError | None = None
        """Why the last commit failed; None where it did not."""
        self._thread = threading.Thread(target=self._write, name="entropie-writer")
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Requests that wait now."""
        return len(self._waiting)

    def offer(self, batch: Batch) -> asyncio.Future[Answer]:
        """Queue a batch; its answer comes when it is on the disk, or cannot be."""
        size = max(1, len(batch.hashes))
        with self._changed:
            line = self._lines[batch.collection]
            if not self._all.takes(size, 1.0) or self._ending:
                raise Overloaded("The collector has more to write than it can just now; send the same bytes again.")
            if not line.takes(size, MOST_OF_ONE):
                raise Flooded("Too many reports come for this collection just now; send the same bytes again.")
            answer: asyncio.Future[Answer] = self._loop.create_future()
            self._waiting.append((batch, answer))
            for one in (self._all, line):
                one.add(1, size)
            self._changed.notify()
        return answer

    def end(self) -> None:
        """Write what waits, then stop."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        self._thread.join()

    def _write(self) -> None:
        while taken := self._next():
            answers: Sequence[Answer]
            try:
                answers, self.failing = self._store.add([batch for batch, _ in taken]), None
                self.commits += 1
            except Exception as problem:  # whatever it is, whoever waits is told that nothing was counted
                self.failing = (
                    problem
                    if isinstance(problem, EntropieError)
                    else StoreBusy(f"The store failed ({type(problem).__name__}); nothing was counted.")
                )
                answers = [self.failing] * len(taken)
            self._loop.call_soon_threadsafe(_settle, taken, answers)

    def _next(self) -> list[tuple[Batch, asyncio.Future[Answer]]]:
        """What goes into the next commit; nothing at the end."""
        with self._changed:
            while not self._waiting and not self._ending:
                self._changed.wait()
            size = place = 0
            while place < len(self._waiting) and size < MOST_TOGETHER:
                batch = self._waiting[place][0]
                own = max(1, len(batch.hashes))
                self._lines[batch.collection].add(-1, -own)
                size += own
                place += 1
            taken, self._waiting = self._waiting[:place], self._waiting[place:]
            self._all.add(-place, -size)
            return taken


def _settle(taken: list[tuple[Batch, asyncio.Future[Answer]]], answers: Sequence[Answer]) -> None:
    for (_, waiting), answer in zip(taken, answers, strict=True):
        if not waiting.done():
            waiting.set_result(answer)


@dataclass(frozen=True, slots=True)
class Known:
    """A collection as requests need it."""

    held: Held
    collection: Collection
    cells: int


@dataclass(slots=True)
class Catalogue:
    """The collections of the store, read again at most once a second when one is asked for that is not known."""

    store: Store
    known: dict[str, Known] = field(default_factory=dict)
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "entropie-reader"))
    _read_at: float = -_FRESH_SECONDS
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def find(self, collection: str) -> Known | None:
        """The collection, if it is here."""
        found = self.known.get(collection)
        if found is None:
            await self.refresh(once=True)
            found = self.known.get(collection)
        return found

    async def refresh(self, *, once: bool = False) -> None:
        """Read the collections again; with `once` not if they were read a moment ago."""
        async with self._reading:
            loop = asyncio.get_running_loop()
            if once and loop.time() - self._read_at < _FRESH_SECONDS:
                return
            rows = await loop.run_in_executor(self.pool, self.store.collections)
            self.known = {held.id: self._known(held) for held in rows}
            self._read_at = loop.time()

    def _known(self, held: Held) -> Known:
        before = self.known.get(held.id)
        collection = read(held.document) if before is None else before.collection
        return Known(held, collection, collection.cells)
