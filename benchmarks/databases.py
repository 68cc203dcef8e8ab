"""How fast events come from databases: rows a second of processor time and of the clock, and the drivers by themselves.

    scripts/bench databases --rows 2000000

A PostgreSQL server is started for it on this machine (it works in processes of its own, whose time counts on the clock
alone); SQLite and DuckDB read files.
"""

from __future__ import annotations

import argparse
import contextlib
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import duckdb
import real_postgres  # type: ignore[import-not-found]

from entropie.data.databases import DatabaseTable
from entropie.data.events import read_events
from entropie.request import Source

_MADE = (
    "select n % 100000 as \"user\", 'i' || (n * 7919 % 50000) as item, 1600000000 + n as time from {rows} as rows(n)"
)


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=1_000_000, help="rows of three columns in each database")
    rows = arguments.parse_args().rows
    print(f"{rows:,} rows of three columns (number, text, number)\n")
    print("| database | driver alone, rows/s of CPU | of the clock | read_events, rows/s of CPU | of the clock |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as servers:
        for name, url in _databases(Path(folder), rows, servers):
            source = Source(source=url, table="events")
            read_events(Source(source=url, query="select * from events limit 1000"))  # compiled, imported
            driver, whole = (_measured(partial(work, source), rows) for work in (_drained, read_events))
            print(f"| {name} | {driver[0]:,.0f} | {driver[1]:,.0f} | {whole[0]:,.0f} | {whole[1]:,.0f} |", flush=True)


def _databases(folder: Path, rows: int, servers: contextlib.ExitStack) -> Iterator[tuple[str, str]]:
    with duckdb.connect(str(folder / "a.duckdb")) as base:
        base.execute(f"create table events as {_MADE.format(rows=f'range({rows})')}")
        made = base.sql("select * from events").fetchall()
    yield "DuckDB", f"duckdb:{folder / 'a.duckdb'}"
    with contextlib.closing(sqlite3.connect(folder / "a.db")) as small:
        small.execute("create table events(user integer, item text, time integer)")
        small.executemany("insert into events values(?, ?, ?)", made)
        small.commit()
    del made
    yield "SQLite", f"sqlite:{folder / 'a.db'}"
    if real_postgres.programs() is None:
        print("| PostgreSQL | not installed | | | |")
        return
    url = servers.enter_context(real_postgres.server())
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(url) as server, server.cursor() as cursor:
        cursor.execute(f"create table events as {_MADE.format(rows=f'generate_series(0::bigint, {rows - 1})')}")
        server.commit()
    yield "PostgreSQL", url


def _drained(source: Source) -> None:
    """All batches of the driver, and nothing made of them."""
    table = DatabaseTable(source)
    for _ in table._reader:
        pass


def _measured(work: Callable[[], object], rows: int) -> tuple[float, float]:
    """Rows a second of this process's processor time, and of the clock."""
    begun, spent = time.perf_counter(), time.process_time()
    work()
    return rows / (time.process_time() - spent), rows / (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
