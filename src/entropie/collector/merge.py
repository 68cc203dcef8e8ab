"""Several stores to one: counts add up, in any order. Only what is closed is merged, so that nothing is counted later.

A device keeps to one collector: a report that was sent to two is counted by both, and nothing is left that could tell.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from entropie.atomic import check_file
from entropie.collector.sqlite_store import SqliteStore
from entropie.errors import InvalidInput, printable


def merge(sources: Sequence[Path], target: Path) -> dict[str, int]:
    """Write the store of all reports in `sources`; reports by collection."""
    if target.exists():
        raise InvalidInput(f"The file {printable(str(target))} is there already; name another with --out.")
    check_file(target)
    with contextlib.ExitStack() as stack:
        opened = []
        for path in sources:
            store = SqliteStore(path, reading=True)
            stack.callback(store.end)
            _check(store, path)
            opened.append(store)
        origins = [origin for store in opened for origin in store.origins()]
        if len(set(origins)) < len(origins):
            raise InvalidInput("The same reports are in two of the stores; name every store once.")
        merged = SqliteStore(target)
        stack.callback(merged.end)
        try:
            merged.absorb(opened, sorted(origins))
        except BaseException:
            merged.discard()
            raise
        return {held.id: merged.totals(held.id).accepted for held in merged.collections()}


def _check(store: SqliteStore, path: Path) -> None:
    name = printable(str(path))
    found = store.problems()
    if found:
        raise InvalidInput(f"The store {name} cannot be merged: {' '.join(found)}")
    for held in store.collections():
        if not held.closed:
            raise InvalidInput(f"Collection {held.id} is open in {name}; close it first, so that no report is missed.")
