"""Whether a store is sound, while a service may be counting in it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from entropie.collector.store import POSTGRES, Store, open_store
from entropie.document.base import Count, Part, Sha256
from entropie.errors import InvalidInput, printable


class Examined(Part, frozen=True):
    """One collection of the store."""

    id: Sha256
    closed: bool
    accepted: Count
    duplicate: Count
    invalid: Count
    seen: Annotated[Count, Meta(description="Different nonces.")]


class Examination(Part, frozen=True):
    """What was found; the store is sound where there are no problems."""

    sound: bool
    problems: list[str]
    collections: list[Examined]


def examined(where: str, mark: Path | None = None) -> Examination:
    """Look at everything in a store."""
    if not where.startswith(POSTGRES) and not Path(where).is_file():
        raise InvalidInput(f"There is no store {printable(where)}; name its file.")
    with contextlib.ExitStack() as stack:
        try:
            store = _opened(where, mark)
            stack.callback(store.end)
            problems = store.problems()
        except InvalidInput as problem:
            problems = [str(problem)]
        if problems:
            return Examination(False, problems, [])
        return Examination(True, [], [_examined(store, held.id, held.closed) for held in store.collections()])


def _opened(where: str, mark: Path | None) -> Store:
    if where.startswith(POSTGRES) or mark is not None:
        return open_store(where, mark, make=False)
    from entropie.collector.sqlite_store import SqliteStore

    return SqliteStore(where, "reading")


def _examined(store: Store, name: str, closed: bool) -> Examined:
    totals = store.totals(name)
    return Examined(name, closed, totals.accepted, totals.duplicate, totals.invalid, store.seen(name))
