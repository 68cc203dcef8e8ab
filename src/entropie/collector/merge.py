"""Several stores to one: counts add up, in any order. Only what is closed is merged, so that nothing is counted later.

A device keeps to one collector: a report that was sent to two is counted by both, and nothing is left that could tell.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from entropie.atomic import check_file, replacing
from entropie.collector.mark import mark_of, rolled_back, shown
from entropie.collector.sqlite_store import SqliteStore
from entropie.collector.store import StoreFull
from entropie.errors import InvalidInput, OutputFailed, printable


def merge(sources: Sequence[Path], target: Path) -> dict[str, int]:
    """Write the store of all reports in `sources`; reports by collection."""
    if target.exists():
        raise InvalidInput(f"The file {printable(str(target))} is there already; name another with --out.")
    if orphaned := rolled_back(shown(target), mark_of(target), "", 0):
        raise InvalidInput(" ".join(orphaned))
    check_file(target)
    with contextlib.ExitStack() as stack:
        opened = []
        for path in sources:
            store = SqliteStore(path, "reading")
            stack.callback(store.end)
            _check(store, path)
            opened.append(store)
        origins = [origin for store in opened for origin in store.origins()]
        if len(set(origins)) < len(origins):
            raise InvalidInput("The same reports are in two of the stores; name every store once.")
        return _filled(opened, origins, target)


def _filled(opened: Sequence[SqliteStore], origins: Sequence[str], target: Path) -> dict[str, int]:
    """Make the store under a hidden name; it takes its own when it is whole and on the disk."""
    try:
        with replacing(target) as hidden:
            merged = SqliteStore(hidden, "filling")
            try:
                merged.absorb(opened, sorted(origins))
                return {held.id: merged.totals(held.id).accepted for held in merged.collections()}
            finally:
                merged.end()
    except StoreFull:
        raise OutputFailed(f"Output {printable(str(target))} could not be written: the disk is full.") from None


def _check(store: SqliteStore, path: Path) -> None:
    name = printable(str(path))
    found = store.problems()
    if found:
        raise InvalidInput(f"The store {name} cannot be merged: {' '.join(found)}")
    for held in store.collections():
        if not held.closed:
            raise InvalidInput(f"Collection {held.id} is open in {name}; close it first, so that no report is missed.")
