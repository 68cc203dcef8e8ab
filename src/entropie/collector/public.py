"""The public listener: reports in, documents out. It looks at nothing of a request but method, path and body.

Written against ASGI itself: a report is one short request, and a framework would be most of its price.
"""

from __future__ import annotations

import asyncio
import datetime
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, ClassVar

import msgspec

from entropie.collector.ingest import Catalogue, Flooded, Ingest, Known
from entropie.collector.store import Added, Batch, StoreFull, hashed
from entropie.collector.wire import MEDIA_TYPE, MOST_BODY_BYTES, MOST_RECORDS, Records, decode
from entropie.errors import EntropieError, InvalidInput

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Fields = list[tuple[bytes, bytes]]

BODY_SECONDS = 20.0
"""How long the body of a request may take to arrive."""
RETRY_SECONDS = b"1"
_PATH = re.compile(r"/v1/collections/([0-9a-f]{64})(/reports)?")
JSON = [(b"content-type", b"application/json")]
HEALTHY = (200, JSON, b'{"status":"ok"}')
_ANY_PAGE = (b"access-control-allow-origin", b"*")  # any web page may send reports: nothing here depends on who asks
_PREFLIGHT = [
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"content-type"),
    (b"access-control-max-age", b"86400"),
]
_FULL = (507, "The collector's disk is full; nothing was counted, send the same bytes again later.")
_BUSY = (503, "The collector cannot write just now; nothing was counted, send the same bytes again.")


class Refusal(Exception):
    """A status and one sentence."""

    def __init__(self, status: int, sentence: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(sentence)
        self.status, self.headers = status, headers


Given = tuple[int, Fields, bytes]
"""An answer: status, headers, body."""


class Application(ABC):
    """What answers requests about collections: a collector, or a relay before one."""

    PAGES: ClassVar[tuple[str, ...]]
    """Paths that have an answer beside those of collections."""
    NOTHING: ClassVar[str]
    """What is said of any other path."""

    def __init__(self) -> None:
        self.answers: Counter[int] = Counter()
        """Requests by the status of their answer."""

    @abstractmethod
    def _page(self, path: str) -> Given: ...

    @abstractmethod
    async def _document(self, collection: str) -> Given: ...

    @abstractmethod
    async def _report(self, collection: str, scope: Scope, receive: Receive) -> bytes: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        try:
            status, headers, body = await self._answer(scope, receive)
        except Refusal as refusal:
            status, headers, body = refused(refusal.status, str(refusal), *refusal.headers)
        except Flooded as problem:
            status, headers, body = refused(429, str(problem))
        except EntropieError as problem:
            status, headers, body = refused(*(_FULL if isinstance(problem, StoreFull) else _BUSY))  # names no file
        self.answers[status] += 1
        headers = [*headers, _ANY_PAGE, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope, receive: Receive) -> Given:
        method, path = scope["method"], scope["path"]
        found = _PATH.fullmatch(path)
        if found is None and path not in self.PAGES:
            raise Refusal(404, self.NOTHING)
        allowed = "POST" if found is not None and found[2] else "GET"
        if method == "OPTIONS":
            return 204, _PREFLIGHT, b""
        if method != allowed:
            raise Refusal(405, f"The method must be {allowed}.", (b"allow", f"{allowed}, OPTIONS".encode()))
        if found is None:
            return self._page(path)
        return (200, JSON, await self._report(found[1], scope, receive)) if found[2] else await self._document(found[1])


class Public(Application):
    """The application of the public listener."""

    PAGES = ("/healthz", "/openapi.json")
    NOTHING = "There is nothing here; see /openapi.json."

    def __init__(self, catalogue: Catalogue, ingest: Ingest, openapi: bytes) -> None:
        super().__init__()
        self._catalogue, self._ingest, self._openapi = catalogue, ingest, openapi

    def _page(self, path: str) -> Given:
        if path == "/openapi.json":
            return 200, JSON, self._openapi
        if self._ingest.failing is not None:
            raise self._ingest.failing
        return HEALTHY

    async def _document(self, collection: str) -> Given:
        known = await self._known(collection)
        return 200, [*JSON, (b"cache-control", b"public, max-age=3600, immutable")], known.held.document

    async def _known(self, collection: str) -> Known:
        known = await self._catalogue.find(collection)
        if known is None:
            raise Refusal(404, "This collector does not know the collection; check its id.")
        return known

    async def _report(self, collection: str, scope: Scope, receive: Receive) -> bytes:
        known = await self._known(collection)
        body, asked = await body_of(scope, receive), known.collection
        if known.held.key is None or not asked.is_open(datetime.datetime.now(datetime.UTC).date()):
            days = f"from {asked.opens} to {asked.closes}"
            raise Refusal(410, f"Reports are taken {days} and while the collection is open; it takes none now.")
        records = records_of(body, known.cells)
        batch = Batch(known.held.id, hashed(known.held.key, records.nonces), records.cells, records.invalid)
        answer = await self._ingest.offer(batch)
        if isinstance(answer, Added):
            return b'{"accepted":%d,"duplicate":%d,"invalid":%d}' % (answer.accepted, answer.duplicate, answer.invalid)
        if answer is not None:
            raise answer
        await self._catalogue.refresh(once=True)
        raise Refusal(410, "The collection takes no reports any more.")


def refused(status: int, sentence: str, *headers: tuple[bytes, bytes]) -> Given:
    """An answer that says why not; whoever may try again is told when."""
    again = [(b"retry-after", RETRY_SECONDS)] if status in (429, 503, 507) else []
    return status, [*JSON, *again, *headers], msgspec.json.encode({"error": sentence})


def records_of(body: bytes, cells: int) -> Records:
    """The records of a body, or the refusal of what is none."""
    try:
        return decode(body, cells)
    except InvalidInput as problem:
        raise Refusal(400, str(problem)) from None


async def body_of(scope: Scope, receive: Receive) -> bytes:
    """All of the body, or the refusal of one that is of another kind, too long or too slow."""
    headers = dict(scope["headers"])
    if headers.get(b"content-type", b"").lower() != MEDIA_TYPE.encode():
        raise Refusal(415, f"The content type must be {MEDIA_TYPE}.")
    too_long = Refusal(413, f"A body may have {MOST_RECORDS} records of 24 bytes; send fewer at once.")
    stated = headers.get(b"content-length", b"0")
    if not stated.isdigit() or int(stated[:20]) > MOST_BODY_BYTES:
        raise too_long
    parts, size, more = [], 0, True
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refusal(400, "The body did not come to its end.")
                part = message.get("body", b"")
                size += len(part)
                if size > MOST_BODY_BYTES:
                    raise too_long
                parts.append(part)
                more = message.get("more_body", False)
    except TimeoutError:
        raise Refusal(408, f"The body must arrive within {BODY_SECONDS:g} seconds.") from None
    return b"".join(parts)
