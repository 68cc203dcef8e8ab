"""Every input of `assess` goes through `sweep` and `apply`: the plan says how to read it, the file is what was judged."""

from __future__ import annotations

import contextlib
import datetime
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from test_release_sweep import DAY, FEW, HOUR, START, with_habits

import entropie
from entropie import Mitigation
from entropie.data.events import read_events
from entropie.errors import InputTooLarge, InvalidInput, InvalidParameter
from entropie.release.apply import apply
from entropie.release.plan import Data, read_plan
from entropie.request import Run, Source

LIMIT = {"limit": 0.3, "limit_name": "ours", "fail_on": "worst", "accept_limited": True}
DAILY = (Mitigation("time_unit", "day"),)
Made = tuple[object, dict[str, Any]]


def by_the_hour() -> pa.Table:
    """Everybody comes to the same places on the same days, each at hours of their own: the hour gives people away."""
    user, day = np.divmod(np.arange(80 * 12), 12)
    hour = np.random.default_rng(7).integers(0, 24, user.size)
    item = day % 3 * 10
    return pa.table({"user": user, "item": item, "time": START + day * DAY + hour * HOUR, "kind": item // 20})


def places() -> pa.Table:
    """Check-ins whose items are points on a map."""
    table = by_the_hour()
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


def geolife(folder: Path, _: Callable[[], str]) -> Made:
    """A folder for everybody, a trajectory in it, whose points are given by days since 1899 as well."""
    for row in places().to_pylist():
        path = folder / "a" / f"{row['user']:03d}" / "Trajectory" / "all.plt"
        path.parent.mkdir(parents=True, exist_ok=True)
        moment = datetime.datetime.fromtimestamp(row["time"], datetime.UTC)
        with path.open("a") as file:
            file.write("a line of the head\n" * 6 if file.tell() == 0 else "")
            file.write(f"{row['lat']},{row['lon']},0,100,0.0,{moment:%Y-%m-%d,%H:%M:%S}\n")
    return folder / "a", {"preset": "geolife", "cells": "grid:500m"}


def lines(folder: Path, _: Callable[[], str]) -> Made:
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in by_the_hour().to_pylist()), encoding="utf-8")
    return path, {}


def several(folder: Path, _: Callable[[], str]) -> Made:
    return written(by_the_hour(), folder / "a.csv"), {"item": "item,kind"}


def memory(folder: Path, _: Callable[[], str]) -> Made:
    """Further columns are read for what is tried, and most of them not for what is chosen."""
    return by_the_hour(), {"mitigations": [*DAILY, Mitigation("category", "kind")]}


def sqlite(folder: Path, _: Callable[[], str]) -> Made:
    with contextlib.closing(sqlite3.connect(folder / "a.db")) as base:
        base.execute("create table visits(user integer, item integer, time integer, kind integer)")
        base.executemany("insert into visits values(:user, :item, :time, :kind)", by_the_hour().to_pylist())
        base.commit()
    return None, {"source": f"sqlite:{folder / 'a.db'}", "query": "select user, item, time from visits order by time"}


def duck(folder: Path, _: Callable[[], str]) -> Made:
    given = by_the_hour()  # noqa: F841 - DuckDB finds it by its name
    with duckdb.connect(str(folder / "a.duckdb")) as base:
        base.execute("create table visits as select * from given")
    return None, {"source": f"duckdb:{folder / 'a.duckdb'}", "table": "visits"}


def postgres(_: Path, url: Callable[[], str]) -> Made:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(url()) as server, server.cursor() as cursor:
        cursor.execute('drop table if exists "release visits"')
        cursor.adbc_ingest("release visits", by_the_hour())
        server.commit()
    return None, {"source": url(), "table": "release visits"}


@pytest.mark.parametrize("make", [cells, stays, geolife, lines, several, memory, sqlite, duck, postgres])
def test_every_input_is_swept_applied_and_confirmed(
    make: Callable[..., Made], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    events, how = make(tmp_path, lambda: str(request.getfixturevalue("postgres")))
    found = entropie.sweep(events, only=True, seed=5, **LIMIT, **FEW, **{"mitigations": list(DAILY), **how})
    assert found.plan is not None
    assert found.cheapest is not None
    assert (found.as_it_is.decision, found.cheapest.name) == ("FAIL", "times: day")
    row, plan = found.cheapest, tmp_path / "plan.json"
    plan.write_text(json.dumps(found.plan.to_json()), encoding="utf-8")
    assert read_plan(plan) == found.plan
    made = apply(plan, events, tmp_path / "safer.csv")
    assert (made.events, made.people, made.items) == (row.events, row.people, row.items)
    want = entropie.assess(
        tmp_path / "safer.csv", user=made.columns[0], item=made.columns[1], time="time", seed=5, replicates=20,
        points=[4], control=False, one_id_per_person=True, **LIMIT,
    )  # fmt: skip
    assert want.reidentified.value == pytest.approx(row.reidentified.value, abs=0.004)
    if events is None:
        with pytest.raises(InvalidInput, match="The plan is for other data"):
            apply(plan, with_habits(50), tmp_path / "other.csv")


def test_a_plan_keeps_no_password_and_says_what_it_is_for(tmp_path: Path) -> None:
    _, how = sqlite(tmp_path, str)
    found = entropie.sweep(None, list(DAILY), only=True, **how, **LIMIT, **FEW)
    assert found.plan is not None
    data = found.plan.data
    assert (data.source, data.query, data.table) == (how["source"], how["query"], None)
    secret = Source(source="postgresql://ann:hush@host/db", table="t")
    report = read_events(Source(with_habits(5))).report
    assert "hush" not in json.dumps(Data.of(report, secret, None).to_json())
    with pytest.raises(InvalidParameter, match="leave EVENTS out"):
        apply(found.plan, with_habits(), tmp_path / "a.csv", source=how["source"])
    table = entropie.sweep(by_the_hour(), list(DAILY), only=True, **LIMIT, **FEW).plan
    assert table is not None
    with pytest.raises(InvalidParameter, match="file or a table in memory"):
        apply(table, None, tmp_path / "a.csv", source=how["source"])
    with pytest.raises(InvalidInput, match="No events are named"):
        apply(table, None, tmp_path / "a.csv")
    assert {path.name for path in tmp_path.iterdir()} == {"a.db"}


def test_a_sweep_refuses_events_that_memory_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading them would fit: a sweep holds them, and what it makes of them."""
    monkeypatch.setattr("entropie.release.sweep.EVENT_BYTES", 100_000)  # 64 MiB are allowed at any rate
    monkeypatch.setattr("entropie.release.sweep.attacker_bytes", lambda *counts: 1_000_000)
    table, needed = by_the_hour(), 97_000_000
    read_events(Source(table), Run(memory=needed - 1))
    with pytest.raises(InputTooLarge, match="allow more with `memory=`"):
        entropie.sweep(table, list(DAILY), only=True, memory=needed - 1, **LIMIT, **FEW)
    assert entropie.sweep(table, list(DAILY), only=True, memory=needed, **LIMIT, **FEW).plan is not None
