"""A store that dies before and after every call of a commit, opened again each time: python store_crashes.py FOLDER.

Prints how many steps there were. A process of its own, since it forks.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import sys
from pathlib import Path

import collector_made as made

from entropie.collector.sqlite_store import SqliteStore
from entropie.collector.store import Added, Batch

DRINKS = made.drinks()
BATCHES = [Batch(DRINKS.id, [1, 2, -3], [0, 4, 4], 1), Batch(DRINKS.id, [2, 9], [4, 1])]
steps = 0


def step(last: int) -> None:
    global steps
    if steps == last:
        os.kill(os.getpid(), signal.SIGKILL)
    steps += 1


def dying(last: int) -> type[sqlite3.Connection]:
    class Dying(sqlite3.Connection):
        def execute(self, *given):
            step(last)
            found = super().execute(*given)
            step(last)
            return found

        def executemany(self, *given):
            step(last)
            found = super().executemany(*given)
            step(last)
            return found

    return Dying


def run(path: Path, last: int) -> bool:
    """Count in a child that dies at this step; whether it confirmed."""
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        connect, kind = sqlite3.connect, dying(last)
        store = SqliteStore(path)
        store._own.close()
        sqlite3.connect = lambda *given, **named: connect(*given, factory=kind, **named)
        store._own = store._connected()
        for name in ("pwrite", "fsync"):
            real = getattr(os, name)

            def dies(*given, real=real):
                step(last)
                found = real(*given)
                step(last)
                return found

            setattr(os, name, dies)
        global steps
        steps = 0
        store.add(BATCHES)
        os.write(told, b"1")
        store.end()
        os._exit(0)
    os.close(told)
    confirmed = os.read(heard, 1) == b"1"
    os.close(heard)
    _, ended = os.waitpid(child, 0)
    if os.WIFEXITED(ended):
        assert os.WEXITSTATUS(ended) == 0
        print(last)
        sys.exit(0)
    return confirmed


def main(folder: Path) -> None:
    empty = folder / "empty"
    store = SqliteStore(empty)
    store.create(DRINKS.canonical)
    store.end()
    for last in range(10_000):
        path = folder / f"store-{last}"
        shutil.copyfile(empty, path)
        confirmed = run(path, last)
        store = SqliteStore(path)
        assert store.problems() == []
        accepted = store.totals(DRINKS.id).accepted
        assert accepted in ((4,) if confirmed else (0, 4)), (last, accepted)
        again = store.add(BATCHES)
        assert again == ([Added(0, 3, 1), Added(0, 2, 0)] if accepted else [Added(3, 0, 1), Added(1, 1, 0)])
        assert store.counts(DRINKS.id).counts.tolist() == [1, 1, 2]
        assert store.problems() == []
        store.end()


main(Path(sys.argv[1]))
