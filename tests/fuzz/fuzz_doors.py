"""Inputs for the further doors: JSON Lines, pipes, coordinates, ways to write times, databases, plans, stores, mechanisms."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import random
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fuzz_cases import PEOPLE, Case, column, events, material, packed, rows_of
from fuzz_nasty import MARK, NAMES, OPTION_VALUES, TEXTS, WORDS, damaged_bytes, damaged_json

__all__ = ["DOORS", "LIMIT", "MECHANISMS", "MITIGATIONS", "one_of", "table"]

ASSESSED = ["--min-events", "2", "--matcher", "visit", "--no-control", "--no-report", "--json", "--out", "out"]
LIMIT = ["--limit", "99%", "--limit-name", "house rule", "--fail-on", "average"]
JUDGED = frozenset({0, 1, 2, 3})
MECHANISMS = ("rr", "glh", "subset", "unary", "hadamard", "noise")


def one_of(rng: random.Random, *values: str, wrong: tuple[str, ...] = ()) -> str:
    """One of the values that an option expects, or now and then one that nearly is, or one that none expects."""
    drawn = rng.random()
    return (
        rng.choice(OPTION_VALUES)
        if drawn < 0.05
        else rng.choice(wrong)
        if wrong and drawn < 0.15
        else rng.choice(values)
    )


def _given(rng: random.Random, options: dict[str, tuple[str, ...]], most: int = 2) -> list[str]:
    """A few of these options."""
    names = rng.sample(list(options), rng.randrange(min(most, len(options)) + 1))
    return [part for name in names for part in (name, one_of(rng, *options[name]))]


def _lines(rng: random.Random) -> tuple[bytes, int | None]:
    """Events as JSON Lines, and how many rows they have where that is certain."""
    rows: list[Any] = [dict(zip(("user", "item", "time"), row, strict=True)) for row in rows_of(rng)]
    numbers = rng.random() < 0.3  # ids and times as numbers
    for row in rows:
        row |= {"user": f"{MARK}{row['user']}" if not numbers else len(row["user"]) + 7, "shop": rng.randrange(3)}
        if numbers and row["time"].isdigit():
            row["time"] = int(row["time"])
    certain = True
    for _ in range(rng.choice((0, 0, 1, 1, 3))):
        row = rng.choice(rows)
        kind = rng.randrange(4)
        if not isinstance(row, dict) or kind == 3:
            rows[rng.randrange(len(rows))] = rng.choice(WORDS)
        elif kind == 0:
            row[rng.choice(list(row) or ["user"])] = rng.choice((*WORDS, *TEXTS))
        elif kind == 1:
            row.pop(rng.choice(("user", "item", "time", "shop")), None)
        else:
            row[rng.choice((*NAMES, "\ud800"))] = rng.choice(WORDS)
    texts = [json.dumps(row, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass") for row in rows]
    if rng.random() < 0.15:
        bad = (b"[" * 3_000, b'{"user":' * 2_000, b"NaN", b'{"user": 1e400}', b'{"user": ' + b"9" * 4_400 + b"}", b"\xff", b"",
               b'{"user": "a", "user": "b"}', b'{"user": "\\ud800"}', b'{"a": 1} {"b": 2}', b" ", b"\x00")  # fmt: skip
        texts.insert(rng.randrange(len(texts) + 1), rng.choice(bad))
        certain = False
    data = rng.choice((b"\n", b"\n", b"\r\n")).join([*texts, b""])
    if rng.random() < 0.1:
        data, certain = b"\xef\xbb\xbf" + data, False
    if rng.random() < 0.35:
        data, certain = damaged_bytes(rng, data), False
    return data, len(texts) if certain else None


def _jsonl(rng: random.Random) -> Case:
    data, rows = _lines(rng)
    name, data = packed(
        rng, rng.choice(("events.jsonl", "events.jsonl", "events.ndjson", "events.json", "events.csv")), data
    )
    wrong = ("shop,item,user", "item,", ",", "item,item", f"item,{rng.choice(NAMES)}")
    item = one_of(rng, "item", "item", "item,shop", wrong=wrong)
    command = [name, "--user", "user", "--item", item, *(["--time", "time"] if rng.random() < 0.7 else [])]
    command += _given(
        rng, {"--format": ("jsonl",) * 6 + ("csv", "parquet"), "--category": ("shop",), "--rating": ("shop",)}
    )
    command += ["--max-dirty-share", rng.choice(("1", "1", "0.01"))]
    if rng.random() < 0.2:
        tried = ["--top", "2", "--only", *LIMIT, "--min-events", "2", "--json", "--out", "out"]
        return Case("jsonl", ["sweep", *command, *tried], {name: data}, JUDGED, rows)
    return Case("jsonl", ["assess", *command, *ASSESSED], {name: data}, rows=rows)


def _piped(rng: random.Random) -> Case:
    """Events through standard input, of any kind."""
    if rng.random() < 0.4:
        data, rows = _lines(rng)
        _, data = packed(rng, "", data)
    else:
        _, data, rows = events(rng)
    command = ["assess", "-", "--user", "user", "--item", "item", *(["--time", "time"] if rng.random() < 0.6 else [])]
    command += _given(rng, {"--format": ("jsonl", "csv", "parquet")}, 1)
    return Case("piped", [*command, *ASSESSED, "--max-dirty-share", "1"], {"piped": data}, rows=rows, piped="piped")


def table(rng: random.Random, name: str, names: list[str], rows: list[list[str]]) -> tuple[str, bytes]:
    """Rows as text or Parquet, whole or damaged."""
    if rng.random() < 0.25:
        held = io.BytesIO()
        pq.write_table(
            pa.Table.from_arrays([column(rng, list(texts)) for texts in zip(*rows, strict=True)], names), held
        )
        data, name = held.getvalue(), f"{name}.parquet"
    else:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([names, *rows])
        name, data = packed(rng, f"{name}.csv", text.getvalue().encode("utf-8", "replace"))
    return name, damaged_bytes(rng, data) if rng.random() < 0.3 else data


_DEGREES = ("90", "-90", "180", "-180", "180.0000001", "0", "1e-320", "91", "360", "48°51'24\"N", "48.85,2.35", "48,85", "N48.85",
            "48 51 24", "-0.0", "8.9e1", "1e400", "nan")  # fmt: skip


def _places(rng: random.Random) -> Case:
    """Coordinates: cells of a map, and visits from raw positions."""
    rows = []
    for person in range(PEOPLE):
        for step in range(rng.randrange(1, 9)):
            here = [f"{48.85 + 0.01 * rng.randrange(4):.4f}", f"{2.35 + 0.01 * person:.4f}"]
            rows.append([f"{MARK}-{person}", *here, f"2012-04-{1 + step:02d} 18:{rng.randrange(60):02d}:07"])
    for _ in range(rng.choice((0, 0, 1, 3, 8))):
        rng.choice(rows)[rng.choice((1, 2, 1, 2, 0, 3))] = rng.choice((*_DEGREES, *TEXTS))
    name, data = table(rng, "trace", ["user", "lat", "lon", "time"], rows)
    command = ["assess", name, "--user", "user", "--time", "time"]
    if rng.random() < 0.9:
        command += [
            "--lat",
            rng.choice(("lat",) * 60 + NAMES),
            "--lon",
            rng.choice(("lon",) * 30 + ("lat", "user", "time")),
        ]
    cells = (
        "h3:9",
        "h3:0",
        "h3:15",
        "grid:500m",
        "grid:0.01deg",
        "h3:16",
        "grid:",
        "grid:1e-300m",
        "grid:1e300km",
        "h3:-1",
        "grid:1mm",
    )
    command += ["--cells", one_of(rng, *cells[:5], wrong=cells[5:])] if rng.random() < 0.95 else []
    stays = (
        "200m,20min",
        "1km,1h",
        "200m",
        "20min,200m",
        "0m,0s",
        "1e300m,1s",
        "200m,1e300h",
        "200m,-5min",
        "1m,1s",
        ",",
    )
    command += ["--stays", one_of(rng, *stays[:2], "1m,1s", wrong=stays[2:])] if rng.random() < 0.5 else []
    return Case("places", [*command, *ASSESSED, "--max-dirty-share", rng.choice(("1", "1", "0.01"))], {name: data})


_TIMES = {"{d:02d}.04.12": "%d.%m.%y", "{d}/4/2012 6:05 PM": "%d/%m/%Y %I:%M %p", "04/{d:02d}/2012": "month-first", "{d:02d}-Apr-2012 18:00": "%d-%b-%Y %H:%M",
          "2012-04-{d:02d}T18:00:00+05:30": "%Y-%m-%dT%H:%M:%S%z", "{d}": "order", "13334760{d:02d}": "s", "13334760{d:02d}000": "ms",
          "2012-03-25 0{d}:30:00": "%Y-%m-%d %H:%M:%S", "April {d}, 2012": "%B %d, %Y", "{d:02d}/04/2012 02:30:00.123456789": "day-first",
          "1333476{d:03d}.5": "s", "9999-12-{d:02d} 23:59:59": "%Y-%m-%d %H:%M:%S", "0001-01-{d:02d} 00:00:00": "%F %T", "1e{d}": "s"}  # fmt: skip
_FORMATS = ("s", "ms", "us", "ns", "order", "day-first", "month-first", "year-first", "%d.%m.%y", "%d/%m/%Y %I:%M %p", "%d-%b-%Y %H:%M",
            "%B %d, %Y", "%Y-%m-%dT%H:%M:%S%z", "%", "%%", "%Q", "%d", "%d%d%m%Y", "(%Y|%m)%d", "%Y%m%d", "%Y-%m-%d %H:%M:%S.%f",
            "[" * 50 + "%Y%m%d", "%s", "%Y " * 300, "(?P<year>)%Y%m%d", "\\%Y\\%m\\%d", "%Y*%m+%d?")  # fmt: skip
_ZONES = ("Europe/Paris", "America/New_York", "UTC", "utc", "Etc/GMT+5", "Mars/Base", "../../etc/passwd", "/etc/localtime", "+02:00", "CET",
          "Europe", "posixrules", "a" * 300, "\x00", "America/Sao_Paulo", "Asia/Kathmandu")  # fmt: skip


def _times(rng: random.Random) -> Case:
    """Times as people write them, and what a user says about them."""
    rows = rows_of(rng)
    written, fitting = rng.choice(list(_TIMES.items()))
    for number, row in enumerate(rows):
        row[2] = written.format(d=1 + number % rng.choice((9, 12, 28)))
    for _ in range(rng.choice((0, 0, 1, 3))):
        other = rng.choice(list(_TIMES)).format(d=rng.randrange(99))
        rng.choice(rows)[2] = rng.choice((other, *TEXTS))
    name, data = table(rng, "events", ["user", "item", "time"], rows)
    command = ["assess", name, "--user", "user", "--item", "item"]
    command += ["--time", "time"] if rng.random() < 0.95 else []
    command += ["--time-format", rng.choice((fitting,) * 6 + _FORMATS)] if rng.random() < 0.75 else []
    command += ["--time-zone", one_of(rng, *_ZONES[:4], *_ZONES[-2:], wrong=_ZONES[4:])] if rng.random() < 0.4 else []
    return Case("times", [*command, *ASSESSED, "--max-dirty-share", "1"], {name: data})


_CELLS: tuple[Any, ...] = (None, 1, -1.5, 2**63 - 1, float("inf"), float("nan"), b"\xff\x00", "", *TEXTS[:24])


def _sqlite(rng: random.Random, rows: list[list[Any]]) -> bytes:
    connection = sqlite3.connect(":memory:")
    with contextlib.closing(connection):
        kinds = rng.choice(
            (
                "user TEXT, item TEXT, time TEXT",
                "user, item, time",
                "user BLOB, item INTEGER, time REAL",
                "user TEXT, item TEXT, time DATETIME",
            )
        )
        connection.execute(f"CREATE TABLE events({kinds})")
        connection.execute('CREATE VIEW "odd view" AS SELECT *, user AS "a""b" FROM events')
        connection.execute("CREATE TABLE bare(user)")
        connection.executemany("INSERT INTO events VALUES(?, ?, ?)", rows)
        connection.commit()
        return connection.serialize()


def _duckdb(rng: random.Random, rows: list[list[Any]]) -> bytes:
    import duckdb

    texts = [[None if cell is None else str(cell).replace("\x00", "") for cell in row] for row in rows]
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "made.duckdb"
        with duckdb.connect(path) as connection:
            kind = rng.choice(
                ("VARCHAR", "VARCHAR", "VARCHAR[]", "STRUCT(a VARCHAR)", "BLOB", "ENUM('a')", "UUID", "HUGEINT")
            )
            connection.execute('CREATE TABLE events("user" VARCHAR, item VARCHAR, time VARCHAR)')
            connection.execute(f'CREATE VIEW "odd view" AS SELECT *, NULL::{kind} AS "a""b" FROM events')
            connection.execute("CREATE TABLE bare(n INTEGER)")
            connection.executemany("INSERT INTO events VALUES(?, ?, ?)", texts)
        return path.read_bytes()


_QUERIES = ("select * from events order by time", "select user, item from events", "", ";", "drop table events", "select", "select 1 as user, 2 as item, 3 as time",
            "select * from events; drop table events", "pragma table_info(events)", "select user, user, item from events", "attach 'other.db' as x",
            "select * from read_csv('/etc/hostname')", "copy events to 'stolen.csv'", "select zeroblob(9) as user, item, time from events",
            "with recursive t(n) as (select 1 union all select n + 1 from t limit 50) select n as user, n as item, n as time from t",
            "insert into events values (1, 2, 3)", "select * from nowhere", "select \x00", "install httpfs", "vacuum into 'copy.db'", "begin",
            "select user, item, time / 0 as time from events", "create temp table t as select 1", "explain select 1", "-- nothing")  # fmt: skip


def _database(rng: random.Random) -> Case:
    """A table or a query of a database in a file, which may be damaged."""
    rows: list[list[Any]] = [list(row) for row in rows_of(rng)]
    for _ in range(rng.choice((0, 0, 1, 3))):
        rng.choice(rows)[rng.randrange(3)] = rng.choice(_CELLS)
    kind = rng.choice(("sqlite", "sqlite", "duckdb"))
    data = (_sqlite if kind == "sqlite" else _duckdb)(rng, rows)
    certain = rng.random() < 0.65
    data = data if certain else damaged_bytes(rng, data)
    url = rng.choice(
        (f"{kind}:data.db",) * 9
        + (
            f"{kind}://data.db",
            f"{kind}:///data.db",
            "sqlite:nothing.db",
            "x:data.db",
            "duckdb::memory:",
            "sqlite:data.db?mode=rwc",
        )
    )
    command = ["assess", "--source", url]
    tabled = rng.random() < 0.5
    if tabled:
        command += [
            "--table",
            one_of(rng, "events", "events", "main.events", "odd view", wrong=("bare", "nowhere", 'a"b', "", ".")),
        ]
    if not tabled or rng.random() < 0.05:
        command += ["--query", rng.choice(_QUERIES)]
    command += ["--user", "user", "--item", "item", *(["--time", "time"] if rng.random() < 0.8 else [])]
    return Case("database", [*command, *ASSESSED, "--max-dirty-share", "1"], {"data.db": data})


_SETTINGS = (0, 1, 2, 3, 0.5, 1.0, -1, 1e308, 2**63, "day", "hour", "week", "none", "2h", "500m", "item", "kind", "groups.csv:1",
             "groups.csv:9", "/etc/passwd:1", "", "\x1b[31m", "1e300h", "9" * 400, "0.1", "1/3")  # fmt: skip
_STEPS: dict[str, tuple[Any, ...]] = {
    "top": (1, 3, 99), "category": ("kind", "item"), "grid": ("500m", "1deg"), "prefix": (1, 6, 99), "hierarchy": ("groups.csv:1", "groups.csv:2"),
    "time_unit": ("hour", "day", "week", "none"), "jitter": ("2h", "1s"), "rare_items": (2, 99), "rare_cells": (2, 99), "exposed": (0.1, 0.9),
    "scatter": (0.2, 0.9), "sample": (0.5, 0.01), "first": (1, 3), "last": (2, 99), "thin": (0.5, 0.001), "rotate": ("day", "week"), "nothing": (1,),
}  # fmt: skip


def _apply(rng: random.Random) -> Case:
    """A plan that is damaged, or says other things, or is for other events."""
    plan, found = json.loads(material()["plan.json"]), material()["swept.csv"]
    kind = rng.randrange(4)
    if kind < 2:
        kinds = [rng.choice(list(_STEPS)) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
        plan["steps"] = [
            {"mitigation": kind, "setting": rng.choice(_SETTINGS if rng.random() < 0.2 else _STEPS[kind])}
            for kind in kinds
        ]
        plan["data"]["coordinates"] = rng.choice(
            (None, *(["lat", "lon"],) * 8, ["lon", "nothing"], ["item", "user"], ["lat", "lat"])
        )
        plan["data"]["min_rating"] = rng.choice((None,) * 9 + (2.0,))
        plan["seed"] = rng.choice((0, 1, 2**31, 2**59, 2**63))
    if kind == 1:
        found = damaged_bytes(rng, found)
        plan["data"] |= rng.choice(({"sha256": None}, {"sha256": hashlib.sha256(found).hexdigest()}))
    text = (
        damaged_json(rng, plan)
        if kind == 2
        else damaged_bytes(rng, material()["plan.json"])
        if kind == 3
        else json.dumps(plan).encode()
    )
    command = [
        "apply",
        "plan.json",
        "swept.csv",
        "--out",
        rng.choice(
            ("safer.csv",) * 9 + ("safer.parquet",) * 4 + ("safer.txt", "plan.json", "no/safer.csv", "groups.csv")
        ),
        "--json",
    ]
    command += (
        ["--keep-key", rng.choice(("key.csv", "key.csv", "safer.csv", "swept.csv", "key.txt"))]
        if rng.random() < 0.2
        else []
    )
    files = {"plan.json": text, "swept.csv": found}
    if any(step["mitigation"] == "hierarchy" for step in plan["steps"]):
        files["groups.csv"] = _groups(rng, 0.1)
    return Case("apply", command, files)


def _groups(rng: random.Random, damaged: float) -> bytes:
    """A hierarchy of the places of `swept.csv`."""
    rows = [[f"place-{place}", f"quarter {place % 3}", "city"] for place in range(7)]
    for _ in range(rng.choice((0, 0, 1, 3)) if rng.random() < 4 * damaged else 0):
        row = rng.choice(rows)
        change = rng.randrange(4)
        if change == 0:
            row[rng.randrange(len(row))] = rng.choice(TEXTS)
        elif change == 1 and len(row) > 1:
            row.pop()
        elif change == 2:
            rows.append([*row[:1], "another", "one"])
        else:
            row.append(rng.choice(TEXTS))
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=rng.choice((";",) * 9 + (",",)), lineterminator="\n").writerows(rows)
    data = text.getvalue().encode(rng.choice(("utf-8",) * 9 + ("utf-16", "utf-8-sig")), "replace")
    return damaged_bytes(rng, data) if rng.random() < damaged else data


MITIGATIONS = {
    "--top": ("2", "2,3", "0", "1,1", "3,"), "--category": ("kind", "nothing", "user"), "--grid": ("500m", "0.01deg,5km", "1e-300m"),
    "--prefix": ("6", "1,99"), "--time-unit": ("day", "hour,day", "none", "year"), "--jitter": ("2h", "1e300h", "-1h", "0h"),
    "--rare-items": ("2", "1,99"), "--rare-cells": ("2", "0"), "--exposed": ("0.1", "1", "10%"), "--scatter": ("0.2", "0", "1"),
    "--sample": ("0.5", "0.001"), "--first": ("2", "1"), "--last": ("2", "99"), "--thin": ("0.5", "0.0001"), "--rotate": ("day", "week,day"),
    "--cost": ("information", "items", "item-hours", "flows", "top"), "--budget": ("1", "3", "0"), "--seconds": ("0", "1e-9", "5"),
    "--min-rating": ("1",), "--time-format": ("order", "s"),
}  # fmt: skip


def _hierarchy(rng: random.Random) -> Case:
    """A sweep with groups from a file."""
    wrong = ("groups.csv:3", "nothing.csv:1", "groups.csv:-1", ":", "/", "swept.csv:1")
    setting = one_of(rng, "groups.csv:1", "groups.csv:2", "groups.csv", wrong=wrong)
    command = [
        "sweep",
        "swept.csv",
        "--user",
        "user",
        "--item",
        "item",
        "--time",
        "time",
        *LIMIT,
        "--min-events",
        "2",
        "--hierarchy",
        setting,
        "--only",
    ]
    command += ["--apply", rng.choice(("safer.csv", "groups.csv", "safer.parquet"))] if rng.random() < 0.3 else []
    return Case(
        "hierarchy",
        [*command, "--json", "--out", "out"],
        {"swept.csv": material()["swept.csv"], "groups.csv": _groups(rng, 0.4)},
        JUDGED,
    )


def _combined(rng: random.Random) -> Case:
    """A sweep with several kinds of mitigation, its budget and its cost."""
    command = [
        "sweep",
        "swept.csv",
        "--user",
        "user",
        "--item",
        "item",
        "--min-events",
        "2",
        *LIMIT,
    ]
    command += ["--time", "time"] if rng.random() < 0.9 else []
    command += _given(rng, MITIGATIONS, 3)
    command += ["--lat", "lat", "--lon", "lon"] if rng.random() < 0.7 else []
    command += ["--only"] if rng.random() < 0.7 else ["--budget", "2"]
    command += ["--apply", "safer.csv"] if rng.random() < 0.3 else []
    found = material()["swept.csv"]
    found = damaged_bytes(rng, found) if rng.random() < 0.3 else found
    return Case(
        "combined", [*command, "--json", "--out", "out", "--max-dirty-share", "1"], {"swept.csv": found}, JUDGED
    )


def _shares(rng: random.Random) -> Case:
    """Calibration for the most frequent items, with their shares from a file or a law."""
    rows = [[f"item {item}", str(1 + rng.randrange(99))] for item in range(rng.choice((1, 5, 20, 100)))]
    for _ in range(rng.choice((0, 0, 1, 3))):
        rng.choice(rows)[1] = rng.choice(TEXTS)
    name, data = table(
        rng, "shares", ["item", rng.choice(("count",) * 20 + ("share",) * 20 + ("consistent_share", *NAMES))], rows
    )
    options = {"--users": "1K", "--domain": str(len(rows)), "--bayes-error": "0.9"}
    if rng.random() < 0.7:
        options["--shares"] = rng.choice((name,) * 9 + ("nothing.csv",))
    elif rng.random() < 0.5:
        options["--zipf"] = one_of(rng, "1", "0", "1.5", "99")
    if rng.random() < 0.7:
        options["--top"] = one_of(rng, "1", "5", wrong=("20", "101"))
    more = {"--max-epsilon": ("1", "5", "0"), "--max-report-bits": ("1", "64", "0"), "--mechanism": (*MECHANISMS[:5], *MECHANISMS[:5], "noise", "x"), "--domain": ("100",),
            "--certainty": ("0.5", "1"), "--scope": ("all", "alone"), "--users": ("2", "1M")}  # fmt: skip
    given = [part for pair in options.items() for part in pair]
    command = [
        "calibrate",
        *given,
        *_given(rng, more),
        *(["--parameters", "p.json"] if rng.random() < 0.3 else []),
        "--json",
    ]
    return Case("shares", command, {name: data}, frozenset({0, 1, 2}))


def _noisy(rng: random.Random) -> Case:
    """Reports of every mechanism, with noise from a file; or what one guarantees."""
    noise = [f"{1 / 7:.17f}"] * 6 + ["0.14285714285714302"]
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        noise[rng.randrange(7)] = rng.choice((*TEXTS, "0", "0.2", "1", "-0.1", "1e-320"))
    held = io.BytesIO()
    name = rng.choice(("noise.csv", "noise.csv", "noise.npy"))
    numbers = np.full(rng.choice((0, 1, 2, 7, 7, 7, 8)), 1 / 7).reshape(rng.choice(((-1,), (1, -1), (-1, 1))))
    np.save(held, numbers.astype(rng.choice(("f8", "f8", "f4", "i8", "U9"))))
    data = (
        rng.choice((",", ",", ";", "\n")).join(noise).encode("utf-8", "replace")
        if name == "noise.csv"
        else held.getvalue()
    )
    data = damaged_bytes(rng, data) if rng.random() < 0.25 else data
    kind = rng.choice((*MECHANISMS, "noise", "noise", "erasure", "x"))
    options = [
        "--mechanism",
        kind,
        *(
            ["--epsilon", one_of(rng, "2", "30", wrong=("0",))]
            if rng.random() < 0.8
            else ["--theta", one_of(rng, "0.5", wrong=("0", "1"))]
        ),
    ]
    options += ["--noise", name] if (kind == "noise") != (rng.random() < 0.05) else []
    options += (
        _given(rng, {"--subset-size": ("1", "3", "7"), "--hash-size": ("2", "9"), "--prime": ("11", "large", "4")}, 1)
        if rng.random() < 0.3
        else []
    )
    options += ["--symmetric"] if kind == "unary" and rng.random() < 0.5 else []
    if rng.random() < 0.4:
        command = [
            "guarantee",
            "--users",
            "50",
            *(["--domain", one_of(rng, "7", wrong=("2", "1M"))] if rng.random() < 0.8 else []),
            *options,
            "--json",
        ]
        return Case("noisy", command, {name: data})
    found = material()["swept.csv"]
    found = damaged_bytes(rng, found) if rng.random() < 0.2 else found
    out = rng.choice(("reports.csv",) * 5 + ("reports.parquet",) * 3 + (name,))
    command = [
        "obfuscate",
        "swept.csv",
        "--column",
        "item",
        *options,
        "--out",
        out,
        "--dictionary",
        "places.csv",
        "--json",
    ]
    return Case("noisy", command, {"swept.csv": found} | ({name: data} if "--noise" in options else {}))


def _likely(rng: random.Random) -> Case:
    """Estimates, likely ones too, from reports of every mechanism."""
    kind = rng.choice(MECHANISMS)
    names = {
        "r.csv": f"{kind}.csv",
        "r.csv.parameters.json": f"{kind}.csv.parameters.json",
        "places.csv": f"places-{kind}.csv",
    }
    files = {name: material()[kept] for name, kept in names.items()}
    name = rng.choice(list(files))
    if rng.random() < 0.9:
        files[name] = (
            damaged_json(rng, json.loads(files[name])) if name.endswith(".json") else damaged_bytes(rng, files[name])
        )
    if rng.random() < 0.1:  # parameters of another mechanism
        files["r.csv.parameters.json"] = material()[f"{rng.choice(MECHANISMS)}.csv.parameters.json"]
    command = ["estimate", "r.csv", "--json", *(["--likely"] if rng.random() < 0.7 else [])]
    command += ["--dictionary", "places.csv"] if rng.random() < 0.6 else []
    command += ["--out", rng.choice(("e.csv", "e.parquet"))] if rng.random() < 0.3 else []
    return Case(
        "likely",
        [*command, *_given(rng, {"--top": ("1", "0"), "--level": ("0.5", "1"), "--item": ("1", "place-1")}, 1)],
        files,
    )


def _collect_new(rng: random.Random) -> Case:
    """A collection document from a list of names."""
    names = [f"drink {number}" for number in range(rng.choice((1, 2, 5, 40)))]
    for _ in range(rng.choice((0, 0, 1, 3))):
        names[rng.randrange(len(names))] = rng.choice((*TEXTS, names[0]))
    data = (
        rng.choice(("\n", "\n", "\r\n"))
        .join(names)
        .encode(rng.choice(("utf-8",) * 9 + ("utf-16", "latin-1")), "replace")
    )
    data = damaged_bytes(rng, data) if rng.random() < 0.3 else data
    options = {
        "--title": rng.choice(("Drinks", "Drinks", *TEXTS)),
        "--people": one_of(rng, "10K", "50", "2"),
        "--mechanism": rng.choice(("rr", "glh")),
    }
    options |= rng.choice(({"--items": "drinks.txt"},) * 4 + ({"--domain": one_of(rng, "100", "1M")}, {}))
    options |= rng.choice(({"--epsilon": one_of(rng, "2", "0.1")}, {"--theta": one_of(rng, "0.5", wrong=("1/3",))}))
    more = {"--reports": ("1", "30"), "--opens": ("2026-01-01", "9999-12-31", "0001-01-01", "2026-02-30"), "--closes": ("2026-03-01", "9999-12-31", "0001-01-01"),
            "--hash-size": ("2", "50"), "--bayes-error": ("0.5", "99%"), "--certainty": ("50%", "1"), "--list-error": ("0.1",), "--list": ("3", "1M")}  # fmt: skip
    given = [part for pair in options.items() for part in pair]
    out = rng.choice(("made.json",) * 9 + ("drinks.txt", "no/made.json", "."))
    command = ["collect", "new", *given, *_given(rng, more, 3), "--out", out, "--json"]
    files = {"drinks.txt": data} if "--items" in options else {}
    return Case("collect-new", command, files, frozenset({0, 1, 2}))


def _store(rng: random.Random, data: bytes) -> bytes:
    """A store that is damaged: what its tables say, its schema, or its bytes."""
    kind = rng.randrange(4)
    if kind == 0:
        return data
    if kind == 1:
        return damaged_bytes(rng, data)
    if kind == 2:  # pages and their headers, where bytes mean most
        held = bytearray(data)
        for _ in range(rng.choice((1, 2, 8))):
            held[(rng.randrange(len(held)) // 4096) * 4096 % len(held) + rng.randrange(100)] = rng.randrange(256)
        return bytes(held)
    connection = sqlite3.connect(":memory:")
    with contextlib.closing(connection), contextlib.suppress(sqlite3.Error):
        connection.deserialize(data[:18] + b"\x01\x01" + data[20:])  # a log cannot be in memory
        table, name = rng.choice((("facts", "value"), ("facts", "name"), ("cells", "count"), ("cells", "cell"), ("hours", "hour"), ("hours", "accepted"),
                                  *(("collections", one) for one in ("id", "document", "key", "seen", "accepted", "duplicate", "invalid", "place"))))  # fmt: skip
        value = rng.choice(
            (
                None,
                0,
                -1,
                2**63 - 1,
                -(2**63),
                1e308,
                float("inf"),
                1.5,
                "",
                "x",
                "9" * 400,
                "\x1b[31m",
                "\u202e",
                b"",
                b"\xff",
                b"{}",
                b"[" * 3_000,
                MARK,
            )
        )
        changes = (
            (f"UPDATE OR IGNORE {table} SET {name} = ?", (value,)), (f"DELETE FROM {table}", ()), (f"DROP TABLE {table}", ()),
            (f"ALTER TABLE {table} RENAME COLUMN {name} TO other", ()), (f"ALTER TABLE {table} ADD COLUMN more DEFAULT 1", ()), ("DROP TABLE nonces_1", ()),
            (f"PRAGMA user_version = {rng.choice((0, 2, -1, 2**31 - 1))}", ()), (f"PRAGMA application_id = {rng.choice((0, 1, -1))}", ()),
            ("INSERT INTO facts VALUES(?, ?)", (rng.choice(("origin x", "origin ", "store2", f"origin {MARK}")), "")),
            ("UPDATE facts SET value = ? WHERE name = 'commits'", (rng.choice(("-1", "x", "9" * 400, "1e400", "", "0")),)),
            ("UPDATE collections SET document = CAST(? AS BLOB)", (damaged_json(rng, {"title": "x", "items": [1]}),)),
            ("CREATE VIEW v AS SELECT * FROM nowhere", ()), ("CREATE TRIGGER t AFTER INSERT ON cells BEGIN SELECT RAISE(FAIL, 'x'); END", ()),
        )  # fmt: skip
        for _ in range(rng.choice((1, 1, 2))):
            connection.execute(*rng.choice(changes))
        connection.commit()
        changed = connection.serialize()
        return changed[:18] + rng.choice((b"\x01\x01", b"\x02\x02")) + changed[20:]
    return data


def _doctor(rng: random.Random) -> Case:
    """A store of a service, looked at."""
    files = {"drinks.store": _store(rng, material()[rng.choice(("open.store", "closed.store"))])}
    if rng.random() < 0.4:
        files["drinks.store.mark"] = (
            damaged_bytes(rng, material()["closed.store.mark"])
            if rng.random() < 0.7
            else material()["closed.store.mark"]
        )
    if rng.random() < 0.1:
        files["drinks.store-wal"] = rng.randbytes(rng.choice((0, 10, 4_200)))
    name = rng.choice(("drinks.store",) * 19 + (rng.choice(NAMES),))
    return Case(
        "doctor", ["doctor", *(["--"] if name.startswith("-") else []), name, "--json"], files, frozenset({0, 1, 2})
    )


def _merge(rng: random.Random) -> Case:
    """Stores added up."""
    files = {"north.store": material()["closed.store"], "south.store": material()["other.store"]}
    name = rng.choice(list(files))
    files[name] = material()["open.store"] if rng.random() < 0.1 else _store(rng, files[name])
    named = rng.choice((list(files),) * 9 + ([name], [name, name], [*files, "nothing.store"]))
    out = rng.choice(("all.store",) * 12 + ("north.store", "no/all.store", "."))
    return Case("merge", ["collect", "merge", *named, "--out", out, "--json"], files)


DOORS: dict[str, Callable[[random.Random], Case]] = {
    "jsonl": _jsonl,
    "piped": _piped,
    "places": _places,
    "times": _times,
    "database": _database,
    "apply": _apply,
    "hierarchy": _hierarchy,
    "combined": _combined,
    "shares": _shares,
    "noisy": _noisy,
    "likely": _likely,
    "collect-new": _collect_new,
    "doctor": _doctor,
    "merge": _merge,
}
