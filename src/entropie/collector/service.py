"""The service: two listeners in one process, which end when they are told to, with every request answered."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import os
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from entropie.collector import openapi
from entropie.collector.admin import TOKEN_NOTE, Service, admin, new_token
from entropie.collector.dashboard.routes import routes
from entropie.collector.document import read
from entropie.collector.ingest import Catalogue, Ingest
from entropie.collector.public import Public
from entropie.collector.store import POSTGRES, Store, open_store
from entropie.collector.watch import Watch
from entropie.collector.webhook import Webhook
from entropie.errors import EntropieError, InvalidInput

ENDING_SECONDS = 20
"""How long requests that are under way may take once the service is told to end."""
_WATCH_SECONDS = 60.0
_LOOPBACK = "127.0.0.1"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Served:
    """What to serve, and where."""

    store: str
    host: str = _LOOPBACK
    port: int = 8080
    admin_port: int = 8081
    documents: tuple[bytes, ...] = ()
    renew_token: bool = False
    webhook: Webhook | None = None


class _Listener(uvicorn.Server):
    """A listener that leaves signals to the service."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(served: Served, show: Say, log: Say) -> None:
    """Run until told to end; `show` gets what whoever started it should read, `log` what should be kept."""
    with (
        contextlib.closing(_bound(served.host, served.port)) as public,
        contextlib.closing(_bound(_LOOPBACK, served.admin_port)) as private,
        contextlib.ExitStack() as stack,
    ):
        store = open_store(served.store)
        stack.callback(store.end)
        for document in served.documents:
            _create(store, document)
        if served.renew_token or store.note(TOKEN_NOTE) is None:
            show(f"Admin token, shown this once: {new_token(store)}")
        asyncio.run(_serve(served, store, (public, private), show, log))


def _create(store: Store, document: bytes) -> None:
    collection = read(document)
    broken = collection.broken_limits(collection.users)
    if broken:
        raise InvalidInput(" ".join(broken))
    store.create(document)


def _bound(host: str, port: int) -> socket.socket:
    """A socket that listens."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(2048)
    except (OSError, OverflowError) as problem:
        made.close()
        why = getattr(problem, "strerror", None) or "it is no port"
        raise InvalidInput(f"The service cannot listen on {host}, port {port} ({why}); name another.") from None
    return made


async def _serve(
    served: Served, store: Store, sockets: tuple[socket.socket, socket.socket], show: Say, log: Say
) -> None:
    catalogue, ingest = Catalogue(store), Ingest(store)
    public = Public(catalogue, ingest, openapi.public_document())
    path = None if served.store.startswith(POSTGRES) else Path(served.store).resolve()
    service = Service(store, catalogue, ingest, public, Watch(store, path, log, served.webhook))
    pages = routes(service.watch, TOKEN_NOTE, service.apart)
    listeners = [_listener(public), _listener(admin(service, openapi.admin_document(), pages))]
    _heed(listeners)
    await catalogue.refresh()
    for what, bound in zip(("Reports", "Admin"), sockets, strict=True):
        host, port = bound.getsockname()[:2]
        show(f"{what}: http://{f'[{host}]' if ':' in host else host}:{port}")
    for known in catalogue.known.values():
        show(f"Collection: /v1/collections/{known.held.id} ({'closed' if known.held.closed else 'open'})")
    watching = asyncio.create_task(_watch(service, log))
    try:
        await asyncio.gather(
            *(one.serve(sockets=[bound]) for one, bound in zip(listeners, sockets, strict=True)),
        )
    finally:
        watching.cancel()
        await asyncio.get_running_loop().run_in_executor(None, ingest.end)
        catalogue.pool.shutdown()


def _listener(app: object) -> _Listener:
    return _Listener(
        uvicorn.Config(
            app,  # type: ignore[arg-type]
            loop="asyncio",
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=ENDING_SECONDS,
            limit_concurrency=_most_connections(),
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
    return max(64, min(20_000, (soft if soft > 0 else 20_000) - 128))


def _heed(listeners: list[_Listener]) -> None:
    """End at a signal; at once at the second."""

    def told() -> None:
        for one in listeners:
            one.force_exit = one.should_exit
            one.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if os.name == "posix" and signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, told)


async def _watch(service: Service, log: Say) -> None:
    """Once a minute: close what is over, look at everything."""
    while True:
        today = datetime.datetime.now(datetime.UTC).date()
        try:
            await service.catalogue.refresh()
            for known in list(service.catalogue.known.values()):
                if not known.held.closed and known.collection.closes < today:
                    await service.apart(service.store.close, known.held.id)
                    await service.catalogue.refresh()
                await service.apart(service.watch.look, known.held)
        except EntropieError as problem:
            log(str(problem))
        await asyncio.sleep(_WATCH_SECONDS)
