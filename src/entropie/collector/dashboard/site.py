"""Which page an address shows. No framework: a path and a query in, bytes with their headers out; a service mounts it.

Everything is served from here: no page asks another host for anything, and the policy in `HEADERS` forbids it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Protocol

from entropie.collector.dashboard import pages
from entropie.collector.dashboard.design import Wish, designed
from entropie.collector.status import ItemEstimate, Status
from entropie.errors import EntropieError

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATIC = {"dashboard.css": "text/css", "refresh.js": "text/javascript", "design.js": "text/javascript"}
_COLLECTION = re.compile(r"/collections/(?P<id>[0-9a-f]{64})(?P<json>/status\.json)?")


class Site(Protocol):
    """What the pages ask of the service."""

    def statuses(self) -> Sequence[Status]:
        """All collections."""

    def status(self, collection: str) -> Status | None:
        """One collection, if it is here."""

    def named(self, collection: str, name: str) -> ItemEstimate | None:
        """The estimate of one name, if there is any."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back; `HEADERS` go with every answer."""

    status: int
    media_type: str
    body: bytes


def answer(site: Site, path: str, query: Mapping[str, str]) -> Answer:
    """The page, document or file at this path."""
    if path.startswith("/static/"):
        return _static(path.removeprefix("/static/"))
    if path == "/favicon.ico":
        return Answer(204, "image/x-icon", b"")
    if path == "/":
        return _page(200, pages.overview(site.statuses()))
    if path in ("/design", "/design.json"):
        return _design(query, as_json=path.endswith(".json"))
    found = _COLLECTION.fullmatch(path)
    status = site.status(found["id"]) if found else None
    if found is None or status is None:
        return _page(404, pages.missing())
    if found["json"]:
        return _json(200, status.to_json())
    asked = query.get("name", "").strip()
    return _page(200, pages.collection(status, *_looked_up(site, status, asked)))


def _looked_up(site: Site, status: Status, name: str) -> tuple[str, ItemEstimate | None, str | None]:
    """A name that was looked up, its estimate, and why there is none."""
    if not name or status.came.reports == 0:
        return name, None, None
    try:
        return name, site.named(status.asked.id, name), None
    except EntropieError as problem:
        return name, None, str(problem)


def login(wrong: bool = False) -> Answer:
    """The page that asks for the token; the form posts it as `token` to `/login`."""
    return _page(401 if wrong else 200, pages.login(wrong))


def _design(query: Mapping[str, str], *, as_json: bool) -> Answer:
    try:
        wish = Wish.of(query)
    except EntropieError as problem:
        return _json(400, {"reason": str(problem)}) if as_json else _page(400, pages.refused(str(problem)))
    found = designed(wish)
    if not as_json:
        return _page(200, pages.design(wish, found))
    return _json(200, {"calibration": found.document, "reason": found.reason, "html": pages.design_result(found)})


def _static(name: str) -> Answer:
    kind = _STATIC.get(name)
    return _page(404, pages.missing()) if kind is None else Answer(200, f"{kind}; charset=utf-8", _file(name))


@functools.cache
def _file(name: str) -> bytes:
    return (files("entropie.collector.dashboard") / "static" / name).read_bytes()


def _page(status: int, html: str) -> Answer:
    return Answer(status, "text/html; charset=utf-8", html.encode("utf-8", "replace"))


def _json(status: int, document: dict[str, Any]) -> Answer:
    return Answer(status, "application/json", json.dumps(document, allow_nan=False).encode())
