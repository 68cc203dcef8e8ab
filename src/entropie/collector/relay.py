"""A relay between devices and a collector, run by somebody else: the collector does not learn who sent what, or when.

It takes the same requests as a collector and hands on nothing of them but the records: no address, no header, no
connection. Records wait until there are enough of them or the oldest has waited long enough, are shuffled with the
operating system's randomness and sent together. A device is answered when the collector has confirmed all of its
records, and told to try again when it has not; the same bytes sent twice are counted once. Nothing is written down.

A relay learns which address sends records and could keep that, but records alone say no more than the guarantee.
Whoever runs both relay and collector has taken nothing away from themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import http.client
import json
import random
import socket
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from entropie.collector.client import Address
from entropie.collector.document import Collection, read
from entropie.collector.listening import bound, heed, listener, report_briefly, url_of
from entropie.collector.public import HEALTHY, JSON, Application, Given, Receive, Refusal, Scope, body_of, records_of
from entropie.collector.wire import MOST_RECORDS, Records
from entropie.errors import EntropieError, InvalidParameter
from entropie.theory import checks

MOST_WAIT_SECONDS = 20.0
"""Devices give up on an answer after 30 seconds."""
MOST_WAITING_RECORDS = 100_000
_MOST_KNOWN = 64
_AGAIN = "send the same bytes again later"
_PASSED_ON = (404, 410, 507)
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Relaying:
    """Where to, and how long to mix: `batch` records, or as many as have come after `wait` seconds."""

    to: str
    batch: int = 100
    wait: float = 5.0

    def __post_init__(self) -> None:
        checks.whole_number("batch", self.batch, at_most=MOST_WAITING_RECORDS)
        rule = f"seconds from 0 to {MOST_WAIT_SECONDS:g}"
        checks.real_number("wait", self.wait, rule, 0.0, MOST_WAIT_SECONDS)
        try:
            self.address("0" * 64)
        except InvalidParameter:
            rule = "an address that begins with https://, or is on this machine, without query"
            raise InvalidParameter.of("to", rule, self.to) from None

    def address(self, collection: str) -> Address:
        """Where the collector has a collection."""
        return Address.of(f"{self.to.rstrip('/')}/v1/collections/{collection}")


@dataclass(slots=True)
class _Mix:
    """Records of one collection that wait, and who waits for them."""

    records: list[bytes] = field(default_factory=list)
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    timer: asyncio.TimerHandle | None = None


class Relay(Application):
    """The application of the relay's listener."""

    PAGES = ("/healthz",)
    NOTHING = "There is nothing here; a relay takes reports for a collector."

    def __init__(self, relaying: Relaying) -> None:
        super().__init__()
        self._relaying = relaying
        self._known: OrderedDict[str, Collection] = OrderedDict()
        self._mixes: dict[str, _Mix] = {}
        self._waiting = 0
        self._sending: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(8, "entropie-relay")

    def _page(self, path: str) -> Given:
        return HEALTHY

    async def _document(self, collection: str) -> Given:
        return 200, JSON, (await self._collection(collection)).canonical

    async def _report(self, collection: str, scope: Scope, receive: Receive) -> bytes:
        """Put the valid records of a body among the others; the answer comes when the collector has them."""
        body = await body_of(scope, receive)
        records = records_of(body, (await self._collection(collection)).cells)
        if records.nonces:
            await asyncio.shield(self._added(collection, records))
        return b'{"accepted":%d,"duplicate":0,"invalid":%d}' % (len(records.nonces), records.invalid)

    def _added(self, collection: str, records: Records) -> asyncio.Future[None]:
        if self._waiting + len(records.nonces) > MOST_WAITING_RECORDS:
            raise Refusal(503, f"More reports wait here than can be sent soon; {_AGAIN}.")
        mix = self._mixes.setdefault(collection, _Mix())
        if mix.timer is None:
            loop = asyncio.get_running_loop()
            mix.timer = loop.call_later(self._relaying.wait, self._begin, collection)
        pairs = zip(records.nonces, records.cells, strict=True)
        mix.records += [nonce + cell.to_bytes(8, "big") for nonce, cell in pairs]
        self._waiting += len(records.nonces)
        if len(mix.records) >= self._relaying.batch:
            self._begin(collection)
        return mix.done

    def _begin(self, collection: str) -> None:
        """Send what has come for a collection; what comes from now on waits for the next time."""
        mix = self._mixes.pop(collection)
        assert mix.timer is not None
        mix.timer.cancel()
        task = asyncio.create_task(self._send(collection, mix))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send(self, collection: str, mix: _Mix) -> None:
        random.SystemRandom().shuffle(mix.records)
        address = self._relaying.address(collection)
        bodies = [mix.records[i : i + MOST_RECORDS] for i in range(0, len(mix.records), MOST_RECORDS)]
        try:
            for records in bodies:
                status, content, _ = await self._asked(address, "POST", "/reports", b"".join(records))
                if status != 200 or not _all_taken(content, len(records)):
                    raise _not_taken(status)
            mix.done.set_result(None)
        except Refusal as refusal:
            mix.done.set_exception(refusal)
            mix.done.exception()  # seen, also where every device has gone
        finally:
            self._waiting -= len(mix.records)

    async def _collection(self, collection: str) -> Collection:
        """The document, asked for once and checked against its id."""
        if collection not in self._known:
            status, content, _ = await self._asked(self._relaying.address(collection), "GET", "", None)
            if status != 200:
                raise _not_taken(status)
            if hashlib.sha256(content).hexdigest() != collection:
                raise Refusal(502, "The collector sent another document than the one asked for.")
            try:
                loop = asyncio.get_running_loop()
                self._known[collection] = await loop.run_in_executor(self._threads, read, content)
            except EntropieError as problem:
                raise Refusal(502, str(problem)) from None
            if len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return self._known[collection]

    async def _asked(
        self, address: Address, method: str, more: str, body: bytes | None
    ) -> tuple[int, bytes, str | None]:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, address.ask, method, more, body)
        except (OSError, http.client.HTTPException):
            raise Refusal(503, f"The collector cannot be reached; {_AGAIN}.") from None


def relay(relaying: Relaying, host: str, port: int, show: Say, log: Say) -> None:
    """Run until told to end; `show` gets what whoever started it should read, `log` what should be kept."""
    with contextlib.closing(bound(host, port)) as own:
        report_briefly(log)
        asyncio.run(_relay(relaying, own, show))


async def _relay(relaying: Relaying, own: socket.socket, show: Say) -> None:
    server = listener(Relay(relaying))
    heed([server])
    show(f"Relay: {url_of(own)}")
    await server.serve(sockets=[own])


def _all_taken(content: bytes, records: int) -> bool:
    """Whether the collector says that it has all of them, new or for the second time."""
    try:
        counts = json.loads(content)
        return bool(counts["accepted"] + counts["duplicate"] == records)
    except (ValueError, KeyError, TypeError):
        return False


def _not_taken(status: int) -> Refusal:
    if status in _PASSED_ON:
        return Refusal(status, f"The collector answered {status}; nothing was confirmed.")
    return Refusal(503, f"The collector did not confirm the reports; {_AGAIN}.")
