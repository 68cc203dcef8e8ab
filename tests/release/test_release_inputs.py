"""Every input of `assess` goes through `sweep` and `apply`: the plan says how to read it, the file is what was judged."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from mitigate_oracles import HOUR
from test_release_sweep import FEW, with_habits

import entropie
from entropie import Mitigation
from entropie.document.measured import ShareInterval
from entropie.errors import InvalidInput, InvalidParameter
from entropie.release.apply import apply
from entropie.release.plan import read_plan

LIMIT = {"limit": 0.9999, "limit_name": "ours", "fail_on": "worst"}  # nobody decides alone, everything passes
DAILY = (Mitigation("time_unit", "day"),)
Made = tuple[object, dict[str, Any]]


def places() -> pa.Table:
    """Check-ins whose items are points on a map."""
    table = with_habits()
    items = table["item"].to_numpy()
    points = {"lat": 40.0 + items // 20 * 0.02, "lon": -74.0 + items % 20 * 0.02}
    return table.drop(["item", "kind"]).append_column("lat", pa.array(points["lat"])).append_column(
        "lon", pa.array(points["lon"])
    )  # fmt: skip


def written(table: pa.Table, path: Path) -> Path:
    pa_csv.write_csv(table, str(path))
    return path


def cells(folder: Path, _: Callable[[], str]) -> Made:
    return written(places(), folder / "a.csv"), {"cells": "h3:7", "lat": "lat", "lon": "lon"}


def stays(folder: Path, _: Callable[[], str]) -> Made:
    """Two positions an hour apart at each place: every check-in is a stay."""
    table = places()
    twice = pa.concat_tables([table, table.set_column(1, "time", pa.array(table["time"].to_numpy() + HOUR // 2))])
    assert table.column_names[1] == "time"
    return written(twice, folder / "a.csv"), {"cells": "grid:2km", "lat": "lat", "lon": "lon", "stays": "100m,20min"}


def lines(folder: Path, _: Callable[[], str]) -> Made:
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in with_habits().to_pylist()), encoding="utf-8")
    return path, {}


def several(folder: Path, _: Callable[[], str]) -> Made:
    return written(with_habits(), folder / "a.csv"), {"item": "item,kind"}


def memory(folder: Path, _: Callable[[], str]) -> Made:
    """Further columns are read for what is tried, and most of them not for what is chosen."""
    return with_habits(), {"mitigations": [*DAILY, Mitigation("category", "kind")]}


def sqlite(folder: Path, _: Callable[[], str]) -> Made:
    with contextlib.closing(sqlite3.connect(folder / "a.db")) as base:
        base.execute("create table visits(user integer, item integer, time integer, kind integer)")
        base.executemany("insert into visits values(:user, :item, :time, :kind)", with_habits().to_pylist())
        base.commit()
    return None, {"source": f"sqlite:{folder / 'a.db'}", "query": "select user, item, time from visits order by time"}


def duck(folder: Path, _: Callable[[], str]) -> Made:
    given = with_habits()  # noqa: F841 - DuckDB finds it by its name
    with duckdb.connect(str(folder / "a.duckdb")) as base:
        base.execute("create table visits as select * from given")
    return None, {"source": f"duckdb:{folder / 'a.duckdb'}", "table": "visits"}


def postgres(_: Path, url: Callable[[], str]) -> Made:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(url()) as server, server.cursor() as cursor:
        cursor.execute('drop table if exists "release visits"')
        cursor.adbc_ingest("release visits", with_habits())
        server.commit()
    return None, {"source": url(), "table": "release visits"}


@pytest.mark.parametrize("make", [cells, stays, lines, several, memory, sqlite, duck, postgres])
def test_every_input_is_swept_applied_and_confirmed(
    make: Callable[..., Made], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    events, how = make(tmp_path, lambda: str(request.getfixturevalue("postgresql")))
    how = {"mitigations": list(DAILY), **how}
    # Only what is in the file can be chosen: the data as they are would meet this limit, too.
    found = entropie.sweep(events, only=True, seed=5, **{**LIMIT, "limit": 0.5, "scope": ["points"]}, **how, **FEW)
    exact = entropie.sweep(events, only=True, seed=5, **LIMIT, **how, **FEW)
    row = next(one for one in (*exact.rows, *found.rows) if one.combination.parts == DAILY)
    plan = msgspec_plan(exact, tmp_path, row)
    made = apply(tmp_path / "plan.json", events, tmp_path / "safer.csv")
    assert (made.events, made.people, made.items) == (row.events, row.people, row.items)
    want = entropie.assess(
        tmp_path / "safer.csv", seed=5, replicates=20, points=[4], control=False, one_id_per_person=True,
        item=made.columns[1], **LIMIT,
    )  # fmt: skip
    assert want.users == plan.data.users
    assert want.reidentified.value == pytest.approx(row.reidentified.value, abs=1e-12)
