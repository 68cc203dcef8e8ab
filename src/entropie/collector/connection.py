"""A connection that has to get on: bounds in bytes and seconds that the server underneath does not have.

Without them whoever sends a head without end takes the memory, and whoever opens connections and says nothing takes all
of them. Nobody's address is looked at: whoever has many addresses is the business of a proxy.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD_BYTES = 2**15
MOST_REQUEST_BYTES = 2**20
"""Of a whole request, its pieces' own lengths and what follows them included."""
READING_SECONDS = 30.0
"""How long a request may take to arrive, from the first byte that it could have sent."""
ANSWERING_SECONDS = 300.0
"""How long its answer may take to be made and read."""
IDLE_SECONDS = 15.0
CROWDED_IDLE_SECONDS = 1.0
"""How long a connection may wait for its next request; less where half of all connections are taken."""

_CROWDED = b'{"error":"The collector has too many connections just now; send the same bytes again."}'
_LONG_HEAD = b'{"error":"The head of a request may have %d bytes."}' % MOST_HEAD_BYTES
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_LONG_HEAD), _LONG_HEAD)
)


class Connection(HttpToolsProtocol):
    """One connection of a listener that takes `most`, and lets a request have so many bytes."""

    def __init__(self, *given: Any, most: int, most_bytes: int, **named: Any) -> None:
        super().__init__(*given, **named)
        self._most, self._most_bytes = most, most_bytes
        self._since = self.loop.time()
        self._reading, self._idle, self._in_head, self._new, self._size = True, False, True, False, 0

    def connection_made(self, transport: Any) -> None:
        """Take it, or end it at once where even those that are to be refused are too many."""
        super().connection_made(transport)
        if len(self.connections) > self._most + 64:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read on; a request that goes on too long is refused."""
        self._idle = self._new = False
        super().data_received(data)
        if not self._reading or self._new or self._idle or self.transport.is_closing():
            return  # what came together with the beginning or end of a request is bounded by the size of one piece
        self._size += len(data)
        if self._size > (MOST_HEAD_BYTES if self._in_head else self._most_bytes):
            if self._in_head or not self.cycle.response_started:
                self.transport.write(_TOO_LARGE)
            self.transport.close()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._since, self._reading, self._in_head, self._new, self._size = self.loop.time(), True, True, True, 0

    def on_headers_complete(self) -> None:
        """The head is whole: it is answered, with the refusal of whoever came too late where too many are here."""
        self._in_head = False
        if len(self.connections) > self._most:
            self.app = _crowded
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole."""
        super().on_message_complete()
        self._reading = False
        if self.cycle is not None and self.cycle.response_complete:
            self._wait()

    def on_response_complete(self) -> None:
        """The answer is written; what was read meanwhile comes next."""
        begun = bool(self.pipeline)
        super().on_response_complete()
        if not begun and not self._reading:
            self._wait()

    def _wait(self) -> None:
        self._since, self._reading, self._idle, self._in_head, self._size = self.loop.time(), True, True, True, 0

    def look(self, now: float) -> None:
        """End the connection where it has not got on."""
        crowded = 2 * len(self.connections) > self._most
        idle = CROWDED_IDLE_SECONDS if crowded else IDLE_SECONDS
        allowed = idle if self._idle else READING_SECONDS if self._reading else ANSWERING_SECONDS
        if now - self._since > allowed:
            self.transport.abort()


async def _crowded(scope: Any, receive: Any, send: Any) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"retry-after", b"1"),
        (b"connection", b"close"),
        (b"access-control-allow-origin", b"*"),
        (b"content-length", b"%d" % len(_CROWDED)),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": _CROWDED})
