"""The pages on the admin listener. A browser signs in with the admin token once, and gets a cookie of its own for it.

The cookie opens pages only, until the service ends or the token is replaced: browsers send it to every port of this
machine. Whatever changes something asks for the token in a header, which no other site can send.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import urllib.parse
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from entropie.collector.dashboard import site
from entropie.collector.status import ItemEstimate, Status
from entropie.collector.watch import Watch

COOKIE = "entropie"
_MOST_FORM_BYTES = 4096
_MOST_VISITS = 1_000
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

    visits = Visits()

    async def token_kept() -> str | None:
        return await asyncio.get_running_loop().run_in_executor(None, watch.store.note, token_note)

    async def show(request: Request) -> Response:
        path = request.url.path
        if path.startswith("/static/") or path == "/favicon.ico":
            return _response(site.answer(watched, path, {}))
        if not visits.knows(request.cookies.get(COOKIE, ""), await token_kept()):
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
        kept = await token_kept()
        if kept is None or not hmac.compare_digest(_hashed(token), kept):
            return _response(site.login(wrong=True))
        answer = RedirectResponse("/", 303, site.HEADERS)
        answer.set_cookie(COOKIE, visits.begin(kept), httponly=True, samesite="strict", path="/")
        return answer

    return [
        Route("/login", ask, methods=["GET"]),
        Route("/login", sign_in, methods=["POST"]),
        *(Route(path, show) for path in ("/", "/design", "/design.json", "/favicon.ico", "/static/{name}")),
        Route("/collections/{rest:path}", show),
    ]


class Visits:
    """Browsers that have signed in: the hash of each one's cookie, and of the token that was right then."""

    def __init__(self) -> None:
        self._tokens: OrderedDict[str, str] = OrderedDict()

    def begin(self, token: str) -> str:
        """A new cookie; of many, the oldest is forgotten."""
        cookie = secrets.token_urlsafe(32)
        self._tokens[_hashed(cookie)] = token
        if len(self._tokens) > _MOST_VISITS:
            self._tokens.popitem(last=False)
        return cookie

    def knows(self, cookie: str, token: str | None) -> bool:
        """Whether the cookie was given for the token that is right now."""
        return token is not None and self._tokens.get(_hashed(cookie)) == token


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _response(answer: site.Answer) -> Response:
    return Response(answer.body, answer.status, {**site.HEADERS, "Content-Type": answer.media_type})
