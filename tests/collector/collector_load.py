"""Load on a service, from this process, on loopback: connections that ask as soon as they are answered."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from entropie.collector.document import Collection
from entropie.collector.wire import MEDIA_TYPE, RECORD_BYTES

Cells = NDArray[np.uint64] | None


@dataclass
class Load:
    """What a load found: answers by status, how long each took, and how long all did."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    broken: int = 0
    taken: float = 0.0
    accepted: int = 0

    @property
    def rate(self) -> float:
        return self.statuses[200] / self.taken if self.taken else 0.0

    def quantile(self, share: float) -> float:
        return float(np.quantile(self.seconds, share)) if self.seconds else float("nan")


class _Link(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    def __init__(self, asking: _Asking) -> None:
        self._asking, self._left, self._begun = asking, b"", 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._asking.links += 1
        self.ask()

    def ask(self) -> None:
        if self._asking.over():
            self._transport.close()
            return
        self._begun = time.perf_counter()
        self._transport.write(self._asking.request())

    def data_received(self, data: bytes) -> None:
        self._left += data
        end = self._left.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._left[:end].lower()
        size = int(head.split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0]) if b"content-length" in head else 0
        if len(self._left) < end + 4 + size:
            return
        body, self._left = self._left[end + 4 :], b""
        found = self._asking.load
        found.seconds.append(time.perf_counter() - self._begun)
        status = int(head[9:12])
        found.statuses[status] += 1
        if status == 200:
            found.accepted += int(body.split(b":", 1)[1].split(b",", 1)[0])
        self.ask()

    def connection_lost(self, problem: Exception | None) -> None:
        if problem is not None or not self._asking.over():
            self._asking.load.broken += 1
        self._asking.links -= 1
        if self._asking.links == 0:
            self._asking.done.set()


class _Asking:
    def __init__(self, collection: Collection, records: int, seconds: float, most: int, given: Cells) -> None:
        size = RECORD_BYTES * records
        self._head = (
            f"POST /v1/collections/{collection.id}/reports HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Content-Type: {MEDIA_TYPE}\r\nContent-Length: {size}\r\n\r\n"
        ).encode()
        self._records, self._cells, self._left = records, collection.cells, most
        self._given = given
        self._rng = np.random.default_rng(1)
        self._until = time.perf_counter() + seconds
        self.load, self.links, self.done = Load(), 0, asyncio.Event()

    def request(self) -> bytes:
        self._left -= 1
        if self._given is None:
            cells = self._rng.integers(0, self._cells, self._records).tolist()
        else:
            cells = self._given[self._left * self._records : (self._left + 1) * self._records].tolist()
        noise = os.urandom(16 * self._records)
        return self._head + b"".join(
            noise[16 * place : 16 * place + 16] + cell.to_bytes(8, "big") for place, cell in enumerate(cells)
        )

    def over(self) -> bool:
        return self._left <= 0 or time.perf_counter() >= self._until


def loaded(
    port: int,
    collection: Collection,
    *,
    links: int,
    seconds: float,
    records: int = 1,
    most: int = 10**7,
    cells: Cells = None,
) -> Load:
    """Ask over so many connections for so long, or until so many requests were sent; with these cells, each once."""
    most = most if cells is None else len(cells) // records

    async def run() -> Load:
        asking = _Asking(collection, records, seconds, most, cells)
        begun = time.perf_counter()
        loop = asyncio.get_running_loop()
        for _ in range(links):
            try:
                await loop.create_connection(lambda: _Link(asking), "127.0.0.1", port)
            except OSError:
                asking.load.broken += 1
        if asking.links:
            await asyncio.wait_for(asking.done.wait(), seconds + 60.0)
        asking.load.taken = time.perf_counter() - begun
        return asking.load

    with ThreadPoolExecutor(1) as apart:  # a browser of other tests may have a loop in this thread
        return apart.submit(asyncio.run, run()).result()
