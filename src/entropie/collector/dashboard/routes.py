"""The pages on the admin listener. A browser signs in with the admin token once, and then sends it as a cookie.

The cookie opens pages only. Whatever changes something asks for the token in a header, which no other site can send.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import urllib.parse
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from entropie.collector.dashboard import site
from entropie.collector.status import ItemEstimate, Status
from entropie.collector.store import Store
from entropie.collector.watch import Watch

COOKIE = "entropie"
_MOST_FORM_BYTES = 4096
_Found = TypeVar("_Found")
Apart = Callable[..., Awaitable[_Found]]


@dataclass(frozen=True, slots=True)
class Watched:
    """The collections of a watched store, as the pages ask for them."""

    watch: Watch

    def statuses(self) -> Sequence[Status]:
        """All collections."""
        return [self.watch.status(held) for held in self.watch.store.collections()]

    def status(self, collection: str) -> Status | None:
        """One collection, if it is here."""
        held = self.watch.store.find(collection)
        return None if held is None else self.watch.status(held)

    def named(self, collection: str, name: str) -> ItemEstimate | None:
        """The estimate of one name, if there is any."""
        held = self.watch.store.find(collection)
        return None if held is None else self.watch.named(held, name)


def routes(watch: Watch, token_note: str, apart: Apart[site.Answer]) -> list[BaseRoute]:
    """What the admin listener shows to people; `apart` does slow work beside the requests."""
    watched = Watched(watch)

    async def signed_in(token: str) -> bool:
        return await asyncio.get_running_loop().run_in_executor(None, _is_token, watch.store, token_note, token)

    async def show(request: Request) -> Response:
        path = request.url.path
        if path.startswith("/static/") or path == "/favicon.ico":
            return _response(site.answer(watched, path, {}))
        if not await signed_in(request.cookies.get(COOKIE, "")):
            return RedirectResponse("/login", 303, site.HEADERS)
        return _response(await apart(site.answer, watched, path, dict(request.query_params)))

    async def ask(request: Request) -> Response:
        return _response(site.login())

    async def sign_in(request: Request) -> Response:
        form = b""
        async for part in request.stream():
            form += part
            if len(form) > _MOST_FORM_BYTES:
                return _response(site.login(wrong=True))
        token = dict(urllib.parse.parse_qsl(form.decode("latin-1"))).get("token", "")
        if not await signed_in(token):
            return _response(site.login(wrong=True))
        answer = RedirectResponse("/", 303, site.HEADERS)
        answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", path="/")
        return answer

    return [
        Route("/login", ask, methods=["GET"]),
        Route("/login", sign_in, methods=["POST"]),
        *(Route(path, show) for path in ("/", "/design", "/design.json", "/favicon.ico", "/static/{name}")),
        Route("/collections/{rest:path}", show),
    ]


def _is_token(store: Store, note: str, token: str) -> bool:
    kept = store.note(note)
    return kept is not None and hmac.compare_digest(hashlib.sha256(token.encode()).hexdigest(), kept)


def _response(answer: site.Answer) -> Response:
    return Response(answer.body, answer.status, {**site.HEADERS, "Content-Type": answer.media_type})
