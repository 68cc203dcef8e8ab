"""Listeners: a socket, a server on it that writes no log, and how it ends: with every request answered."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import math
import os
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from entropie.collector.connection import IDLE_SECONDS, MOST_REQUEST_BYTES, Connection
from entropie.errors import InvalidInput

ENDING_SECONDS = 20
"""How long requests that are under way may take once the service is told to end."""
_TOLD_AGAIN_SECONDS = 60.0


class Listener(uvicorn.Server):
    """A listener that leaves signals to the service, and ends connections that do not get on."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        if counter % 10 == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                if isinstance(connection, Connection):
                    connection.look(now)
        return await super().on_tick(counter)


class Brief(logging.Handler):
    """Errors that nobody expected, each kind once a minute in one line: no traceback, no request and no address."""

    def __init__(self, log: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._log = log
        self._told: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Say that there was one, and of which kind."""
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else record.name
        if record.created - self._told.get(kind, -math.inf) > _TOLD_AGAIN_SECONDS:
            self._told[kind] = record.created
            self._log(f"A request or connection failed in an unexpected way ({kind}); the service goes on.")


def report_briefly(log: Callable[[str], None]) -> None:
    """Let what servers and event loop would log go to `log`, as `Brief` says it."""
    for name in ("uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [Brief(log)], False


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # an answer is two writes; the second must not wait
        made.bind((host, port))
        made.listen(2048)
    except (OSError, OverflowError) as problem:
        made.close()
        why = getattr(problem, "strerror", None) or "it is no port"
        raise InvalidInput(f"The service cannot listen on {host}, port {port} ({why}); name another.") from None
    return made


def url_of(bound: socket.socket) -> str:
    """The address that a socket listens on."""
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def listener(app: object, *, most: int | None = None, most_bytes: int = MOST_REQUEST_BYTES) -> Listener:
    """A server for an ASGI application; it takes `most` connections, or as many as there are descriptors for."""
    connection = functools.partial(Connection, most=most or _most_connections(), most_bytes=most_bytes)
    return Listener(
        uvicorn.Config(
            app,  # type: ignore[arg-type]
            loop="asyncio",
            http=connection,  # type: ignore[arg-type]
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",  # whoever sends nonsense must not fill the log
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=int(IDLE_SECONDS),
            timeout_graceful_shutdown=ENDING_SECONDS,
        )
    )


def _most_connections() -> int:
    """As many as there are descriptors for, with some left for the store."""
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    except ImportError:
        soft = 1024
    return max(64, min(20_000, (soft if soft > 0 else 20_000) - 256))


def heed(listeners: list[Listener]) -> None:
    """End at a signal; at once at the second."""

    def told() -> None:
        for one in listeners:
            one.force_exit = one.should_exit
            one.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if os.name == "posix" and signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, told)
