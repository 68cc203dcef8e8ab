"""The service: two listeners in one process, which end when they are told to, with every request answered."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from entropie.collector import openapi
from entropie.collector.admin import TOKEN_NOTE, Service, admin, new_token
from entropie.collector.dashboard.routes import routes
from entropie.collector.document import MOST_DOCUMENT_BYTES, read
from entropie.collector.ingest import Catalogue, Ingest
from entropie.collector.listening import bound, heed, listener, report_briefly, url_of
from entropie.collector.public import Public
from entropie.collector.store import POSTGRES, Store, open_store
from entropie.collector.watch import Watch
from entropie.collector.webhook import Webhook
from entropie.errors import EntropieError, InvalidInput

_WATCH_SECONDS = 60.0
_LOOKS_OVER = 60
_LOOPBACK = "127.0.0.1"
_MOST_ADMINS = 100
"""Connections of the admin listener."""
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
    mark: Path | None = None


def serve(served: Served, show: Say, log: Say) -> None:
    """Run until told to end; `show` gets what whoever started it should read, `log` what should be kept."""
    with (
        contextlib.closing(bound(served.host, served.port)) as public,
        contextlib.closing(bound(_LOOPBACK, served.admin_port)) as private,
        contextlib.ExitStack() as stack,
    ):
        store = open_store(served.store, served.mark)
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


async def _serve(
    served: Served, store: Store, sockets: tuple[socket.socket, socket.socket], show: Say, log: Say
) -> None:
    catalogue, ingest = Catalogue(store), Ingest(store)
    public = Public(catalogue, ingest, openapi.public_document())
    path = None if served.store.startswith(POSTGRES) else Path(served.store).resolve()
    service = Service(store, catalogue, ingest, public, Watch(store, path, log, served.webhook))
    pages = routes(service.watch, TOKEN_NOTE, service.apart)
    apart = admin(service, openapi.admin_document(), pages)
    listeners = [listener(public), listener(apart, most=_MOST_ADMINS, most_bytes=2 * MOST_DOCUMENT_BYTES)]
    heed(listeners)
    report_briefly(log)
    await catalogue.refresh()
    for what, open_socket in zip(("Reports", "Admin"), sockets, strict=True):
        show(f"{what}: {url_of(open_socket)}")
    for known in catalogue.known.values():
        show(f"Collection: /v1/collections/{known.held.id} ({'closed' if known.held.closed else 'open'})")
    watching = asyncio.create_task(_watch(service, log))
    try:
        await asyncio.gather(
            *(one.serve(sockets=[own]) for one, own in zip(listeners, sockets, strict=True)),
        )
    finally:
        watching.cancel()
        await asyncio.get_running_loop().run_in_executor(None, ingest.end)
        catalogue.pool.shutdown()


async def _watch(service: Service, log: Say) -> None:
    """Once a minute: close what is over, look at everything.

    Over is what was over at every look of an hour: closing cannot be undone, and a clock may be wrong for a moment.
    """
    over: Counter[str] = Counter()
    while True:
        today = datetime.datetime.now(datetime.UTC).date()
        try:
            await service.catalogue.refresh()
            for known in list(service.catalogue.known.values()):
                past = known.collection.closes < today
                over[known.held.id] = over[known.held.id] + 1 if past else 0
                if not known.held.closed and over[known.held.id] > _LOOKS_OVER:
                    await service.apart(service.store.close, known.held.id)
                    await service.catalogue.refresh()
                await service.apart(service.watch.look, known.held)
        except EntropieError as problem:
            log(str(problem))
        except Exception as problem:  # whatever it is, alerts must not end in silence
            log(f"Alerts could not be looked at ({type(problem).__name__}); tried again in a minute.")
        await asyncio.sleep(_WATCH_SECONDS)
