"""The admin listener, for whoever runs the collection: on loopback, behind a token, Starlette and JSON.

Everything under /v1 and /metrics asks for `Authorization: Bearer TOKEN`; the store knows the token's SHA-256 alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from entropie.collector.document import MOST_DOCUMENT_BYTES, read
from entropie.collector.ingest import Catalogue, Ingest, Known
from entropie.collector.public import Public, Receive, Scope, Send, refused
from entropie.collector.status import Status
from entropie.collector.store import Store, StoreFull
from entropie.collector.watch import Watch
from entropie.errors import EntropieError

TOKEN_NOTE = "token"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_EXPORT_SCHEMA = "entropie.counts"
_Found = TypeVar("_Found")


@dataclass(slots=True)
class Service:
    """What both listeners share."""

    store: Store
    catalogue: Catalogue
    ingest: Ingest
    public: Public
    watch: Watch

    async def apart(self, work: Callable[..., _Found], *given: Any) -> _Found:
        """Do slow work beside the requests, one piece at a time."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.catalogue.pool, functools.partial(work, *given))

    def status(self, known: Known) -> Status:
        """A collection as people watch it."""
        return self.watch.status(self.store.find(known.held.id) or known.held)


def new_token(store: Store) -> str:
    """A new token; the one before is worth nothing from now on."""
    token = secrets.token_urlsafe(32)
    store.note(TOKEN_NOTE, hashlib.sha256(token.encode()).hexdigest())
    return token


def admin(service: Service, openapi: bytes, more: list[BaseRoute]) -> Starlette:
    """The application of the admin listener; `more` are routes that show what these tell."""

    async def find(request: Request) -> Known:
        known = await service.catalogue.find(request.path_params["id"])
        if known is None:
            raise HTTPException(404, "This collector does not know the collection; check its id.")
        return known

    async def listed(request: Request) -> Response:
        await service.catalogue.refresh()
        rows = [
            {"id": one.held.id, "title": one.collection.title, "closed": one.held.closed}
            for one in service.catalogue.known.values()
        ]
        return _json({"collections": rows})

    async def create(request: Request) -> Response:
        collection = await service.apart(read, await _content(request))
        broken = await service.apart(collection.broken_limits, collection.users)
        if broken:
            raise HTTPException(422, " ".join(broken))
        new = await service.apart(service.store.create, collection.canonical)
        await service.catalogue.refresh()
        return _json({"id": collection.id, "created": new}, 201 if new else 200)

    async def close(request: Request) -> Response:
        known = await find(request)
        await service.apart(service.store.close, known.held.id)
        await service.catalogue.refresh()
        return _json({"id": known.held.id, "closed": True})

    async def whole(request: Request) -> Response:
        return _json((await service.apart(service.status, await find(request))).to_json())

    async def estimates(request: Request) -> Response:
        found = await service.apart(service.status, await find(request))
        return _json({"reports": found.came.reports, **found.estimates.to_json()})

    async def risk(request: Request) -> Response:
        found = (await service.apart(service.status, await find(request))).to_json()
        return _json({name: found[name] for name in ("guarantees", "limits", "influence")})

    async def raised(request: Request) -> Response:
        found = await service.apart(service.status, await find(request))
        return _json({"alerts": found.to_json()["alerts"]})

    async def seen(request: Request) -> Response:
        known = await find(request)
        await service.apart(service.watch.seen, known.held)
        return _json({"id": known.held.id, "seen": True})

    async def export(request: Request) -> Response:
        return _json(await service.apart(_exported, service.store, await find(request)))

    async def metrics(request: Request) -> Response:
        await service.catalogue.refresh(once=True)
        return Response(await service.apart(_metrics, service), media_type="text/plain; version=0.0.4")

    async def described(request: Request) -> Response:
        return Response(openapi, media_type="application/json")

    one = "/v1/collections/{id:str}"
    routes: list[BaseRoute] = [
        Route("/openapi.json", described),
        Route("/metrics", metrics),
        Route("/v1/collections", listed, methods=["GET"]),
        Route("/v1/collections", create, methods=["POST"]),
        Route(f"{one}/close", close, methods=["POST"]),
        Route(f"{one}/status", whole),
        Route(f"{one}/estimates", estimates),
        Route(f"{one}/risk", risk),
        Route(f"{one}/alerts", raised),
        Route(f"{one}/alerts/seen", seen, methods=["POST"]),
        Route(f"{one}/export", export),
        *more,
    ]
    made = Starlette(routes=routes, exception_handlers={HTTPException: _refusal, EntropieError: _problem})
    made.add_middleware(Guard, store=service.store)
    return made


class Guard:
    """Lets nobody in who is elsewhere, or who has no token where one is needed."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Any], store: Store) -> None:
        self._app, self._store = app, store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on, or refuse."""
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            host = headers.get(b"host", b"").decode("latin-1").rsplit(":", 1)[0]
            why = None
            if host not in _LOOPBACK:  # a page elsewhere whose name was made to point here
                why = (421, "The admin listener answers on this machine only.")
            elif scope["path"].startswith(("/v1", "/metrics")) and not await self._right(headers):
                why = (401, "Send the admin token, as `Authorization: Bearer TOKEN`.")
            if why is not None:
                code, fields, body = refused(*why, (b"www-authenticate", b"Bearer"))
                await send({"type": "http.response.start", "status": code, "headers": fields})
                await send({"type": "http.response.body", "body": body})
                return
        with contextlib.suppress(ClientDisconnect):  # nobody is left to answer
            await self._app(scope, receive, send)

    async def _right(self, headers: dict[bytes, bytes]) -> bool:
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        given = hashlib.sha256(token).hexdigest()
        kept = await asyncio.get_running_loop().run_in_executor(None, self._store.note, TOKEN_NOTE)
        return kind.lower() == b"bearer" and kept is not None and hmac.compare_digest(given, kept)


def _json(document: Any, code: int = 200) -> Response:
    headers = {"cache-control": "no-store"}
    return Response(msgspec.json.encode(document), code, headers, media_type="application/json")


async def _content(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_DOCUMENT_BYTES:
            raise HTTPException(413, f"A document may have {MOST_DOCUMENT_BYTES} bytes.")
        parts.append(part)
    return b"".join(parts)


def _exported(store: Store, known: Known) -> dict[str, Any]:
    """Counts by cell, with the document that says what a cell is."""
    cells = store.counts(known.held.id)
    return {
        "schema": _EXPORT_SCHEMA,
        "version": 1,
        "collection": known.held.document.decode("ascii"),
        "reports": int(cells.counts.sum()),
        "cells": cells.cells.tolist(),
        "counts": cells.counts.tolist(),
    }


def _metrics(service: Service) -> str:
    """Numbers of the process and of every collection, as Prometheus reads them."""
    lines = ["# TYPE entropie_reports_total counter"]
    for one in sorted(service.catalogue.known):
        found = service.store.totals(one)
        for outcome in ("accepted", "duplicate", "invalid"):
            labels = f'collection="{one}",outcome="{outcome}"'
            lines.append(f"entropie_reports_total{{{labels}}} {getattr(found, outcome)}")
    lines.append("# TYPE entropie_requests_total counter")
    lines += [f'entropie_requests_total{{status="{code}"}} {n}' for code, n in sorted(service.public.answers.items())]
    lines += ["# TYPE entropie_commits_total counter", f"entropie_commits_total {service.ingest.commits}"]
    lines += ["# TYPE entropie_waiting_requests gauge", f"entropie_waiting_requests {service.ingest.waiting}"]
    return "\n".join(lines) + "\n"


async def _refusal(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    return _said(problem.status_code, problem.detail, dict(problem.headers or {}))


async def _problem(request: Request, problem: Exception) -> Response:
    if isinstance(problem, ValueError):  # bad input or parameter
        return _said(400, str(problem))
    return _said(507 if isinstance(problem, StoreFull) else 503, str(problem))


def _said(code: int, sentence: str, more: dict[str, str] | None = None) -> Response:
    _, fields, body = refused(code, sentence)
    headers = {name.decode(): value.decode() for name, value in fields}
    return Response(body, code, {**headers, **(more or {}), "cache-control": "no-store"})
