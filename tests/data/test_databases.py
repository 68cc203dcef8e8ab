"""Events from real databases: the same as from a file, and every way in which one may fail."""

from __future__ import annotations

import gc
import json
import resource
import sqlite3
import threading
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import entropie
from entropie.cli.main import run
from entropie.data.databases import DatabaseTable, _said
from entropie.data.events import Events, read_events
from entropie.data.rejects import Rejects
from entropie.errors import InputTooLarge, InvalidInput, InvalidParameter, without_password
from entropie.progress import silent
from entropie.request import Request, Source

ROWS = [(n % 17, f"i{n * n % 23}", 1_600_000_000 + 60 * n) for n in range(4000)]
SECRET = "hunter2%40x"


def read(events: object = None, **options: Any) -> Events:
    job = Request.of(events, options)
    return read_events(job.source, job.run)


@pytest.fixture(scope="session")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("sqlite") / "a file?.db"
    with sqlite3.connect(path) as base:
        base.execute("create table events(user integer, item text, time integer)")
        base.executemany("insert into events values(?, ?, ?)", ROWS)
        base.execute("create table mixed(user, item, time)")
        late = [(n if n < 70_000 else f"u{n}", "i", n) for n in range(70_010)]
        base.executemany("insert into mixed values(?, ?, ?)", late)
    base.close()
    return f"sqlite:{path}"


@pytest.fixture(scope="session")
def duck(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("duck") / "a.duckdb"
    with duckdb.connect(str(path)) as base:
        base.execute('create table events("user" integer, item varchar, time timestamp)')
        base.execute(
            "insert into events select n % 17, 'i' || (n * n % 23), make_timestamp((1600000000 + 60 * n) * 1000000) "
            "from range(4000) as rows(n)"
        )
    return f"duckdb:{path}"


@pytest.fixture(scope="session")
def postgresql(postgres: str) -> str:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres) as base, base.cursor() as cursor:
        cursor.execute("create schema if not exists own")
        cursor.execute("drop table if exists own.events")
        cursor.execute(
            "create table own.events as select n % 17 as \"user\", 'i' || (n * n % 23) as item, "
            "to_timestamp(1600000000 + 60 * n) as time, (n % 17)::numeric as exact, timestamp '2012-03-04' as day "
            "from generate_series(0, 3999) as rows(n)"
        )
        base.commit()
    return postgres


def expected() -> Events:
    users, items, times = (list(part) for part in zip(*ROWS, strict=True))
    return read(pa.table({"user": users, "item": items, "time": times}))


def same(one: Events, other: Events) -> None:
    for name in ("offsets", "items", "times"):
        assert np.array_equal(getattr(one.traces, name), getattr(other.traces, name)), name
    assert one.user_ids.to_pylist() == other.user_ids.to_pylist()
    assert one.item_ids.equals(other.item_ids)
    assert one.report.rows == 4000


def test_sqlite(sqlite: str) -> None:
    same(read(source=sqlite, table="events"), expected())
    same(read(source=sqlite, query='select item, "user", time from events'), expected())
    same(read(source=sqlite.replace("sqlite:", "sqlite://"), table="events"), expected())
    assert read(source=sqlite, table="events").report.source.startswith("table `events` of /")


def test_duckdb(duck: str) -> None:
    same(read(source=duck, table="main.events"), expected())
    same(read(source=duck, query="from events"), expected())


def test_duckdb_puts_no_rows_into_files(duck: str) -> None:
    """What does not fit into memory it would put beside the database, for others to read."""
    asked = "select current_setting('temp_directory') as folder, current_setting('memory_limit') as most"
    table = DatabaseTable(Source(source=duck, query=asked))
    (batch,) = table.select(["folder", "most"], Rejects("x"), silent)
    with duckdb.connect(duck.removeprefix("duckdb:"), read_only=True) as base:
        (usual,) = base.execute(asked).fetchall()
    found = batch.to_pylist()[0]
    assert usual[0].endswith(".tmp")
    assert found["folder"] == ""
    assert found["most"] != usual[1]


def test_memory_allowed_is_all_that_a_database_may_fill(sqlite: str, duck: str, postgresql: str) -> None:
    """A value that is longer, a sort of everything: one sentence, and not half of the machine."""
    asked = "select 'a' as user, current_setting('memory_limit') as item, 1 as time"
    said = [read(source=duck, query=asked, memory=memory).item_ids[0].as_py() for memory in (10**8, 2 * 10**8)]
    assert said == ["95.3 MiB", "190.7 MiB"]
    queries = {
        sqlite: ("select 'a' as user, hex(zeroblob(300000000)) as item",),
        postgresql: ("select 'a' as user, repeat('x', 400000000) as item",),
        duck: (
            "select 'a' as user, repeat('x', 400000000) as item",
            "select n as user, 'i' || n as item from range(100000000) as r(n) order by item",
        ),
    }
    for source, asked_of in queries.items():
        for query in asked_of:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            with pytest.raises(
                InputTooLarge, match=r"takes more memory than the 100.MB allowed for it; allow more with"
            ):
                read(source=source, query=f"select * from ({query}) as q order by 2", memory=10**8)
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600_000, query
            assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


def test_postgresql(postgresql: str) -> None:
    same(read(source=postgresql, table="own.events"), expected())
    text = read(source=postgresql, query="select exact as user, item, time from own.events")
    same(text, expected())  # numeric has a type of its own and comes as text
    secret = postgresql.replace("entropie@", f"entropie:{SECRET}@")
    events = read(source=secret, query='select "user", item, time from own.events')
    assert events.report.source.startswith("the query on postgresql://127.0.0.1:")
    naive = read(
        source=postgresql, query="select 1 as user, 'a' as item, day as time from own.events", time_zone="Asia/Tokyo"
    )
    assert naive.traces.times is not None
    assert naive.traces.times[0] == 1_330_786_800


def test_relative_paths(sqlite: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "here.db").write_bytes(Path(sqlite.removeprefix("sqlite:")).read_bytes())
    monkeypatch.chdir(tmp_path)
    for url in ("sqlite:here.db", "sqlite://here.db", "sqlite:///here.db"):
        same(read(source=url, table="events"), expected())


@pytest.mark.parametrize("base", ["sqlite", "duck", "postgresql"])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"table": "nobody"}, "Table `nobody` of .* cannot be read: there is no such table"),
        ({"query": "select absent from {events}"}, "cannot be read: there is no such"),
        (
            {"query": "delete from {events}"},
            "(would change the database; give one|must be one statement) that selects rows",
        ),
        ({"query": "selec 1"}, "; check the query"),
        ({"table": "{events}", "item": "nowhere"}, "Column `nowhere` is missing from table `"),
    ],
)
def test_what_a_database_refuses(request: pytest.FixtureRequest, base: str, options: dict[str, str], said: str) -> None:
    url = request.getfixturevalue(base)
    table = "own.events" if base == "postgresql" else "events"
    with pytest.raises(InvalidInput, match=said) as caught:
        read(source=url, **{name: value.replace("{events}", table) for name, value in options.items()})
    assert "\n" not in str(caught.value)
    assert len(read(source=url, table=table).traces.items) == 4000  # nothing was changed
    del caught
    gc.collect()  # no connection is left to be closed


def test_values_of_several_types(sqlite: str) -> None:
    with pytest.raises(
        InvalidInput, match=r"broke off after 65,536 rows; a column holds values of several types, cast"
    ):
        read(source=sqlite, table="mixed")
    assert read(source=sqlite, query="select cast(user as text) as user, item, time from mixed").report.rows == 70_010


def test_a_stream_that_breaks_off(postgresql: str) -> None:
    late = "select n as user, 1 / (n - 90000) as item, n as time from generate_series(1, 100000) as rows(n)"
    with pytest.raises(
        InvalidInput, match=r"The query on postgresql://[^@]*broke off after [\d,]+ rows; read it again"
    ):
        read(source=postgresql, query=late)


def test_a_server_that_dies(postgresql: str) -> None:
    """The connection is cut by the server in the middle of a long answer."""
    from adbc_driver_postgresql import dbapi

    slow = "select n as user, n as item, n as time, pg_sleep(case when n % 1000 = 0 then 0.05 else 0 end) as nap"
    slow += " from generate_series(1, 400000) as rows(n) where n >= 0 /* doomed */"

    def kill() -> None:
        with dbapi.connect(postgresql) as base, base.cursor() as cursor:
            cursor.execute(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity where query like '%doomed%' "
                "and pid <> pg_backend_pid()"
            )
            assert cursor.fetchone() is not None

    killer = threading.Timer(1.0, kill)
    killer.start()
    try:
        with pytest.raises(InvalidInput, match=r"broke off after|cannot be read"):
            read(source=postgresql, query=slow.replace(" as nap", "::text as nap"))
    finally:
        killer.join()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"source": f"postgresql://ann:{SECRET}@127.0.0.1:1/base", "table": "t"}, "the database cannot be reached"),
        ({"source": f"postgresql://ann:{SECRET}@127.0.0.1:port/base", "table": "t"}, "the database cannot be reached"),
        ({"source": "sqlite:nowhere.db", "table": "t"}, "nowhere.db does not exist or is no file"),
        ({"source": "duckdb:nowhere.db", "table": "t"}, "nowhere.db does not exist or is no file"),
        (
            {"source": f"mysql://ann:{SECRET}@host/base", "table": "t"},
            "must be postgresql://host/database, sqlite:FILE",
        ),
        ({"source": "sqlite:"}, "needs --table or --query, and not both"),
        ({"source": "sqlite:x", "table": "t", "query": "select 1"}, "needs --table or --query, and not both"),
        ({"source": "sqlite:x", "table": "t", "preset": "gowalla"}, "--preset is for files"),
        ({"table": "t"}, "--table needs --source"),
    ],
)
def test_databases_that_are_not_there(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    for more in ([], ["--show-values"]):
        events = [] if "source" in options else ["events.csv"]
        assert run(["assess", *events, *words, *more]) == 2
        printed = capsys.readouterr()
        assert said in printed.err
        assert SECRET not in printed.err + printed.out
        assert "hunter2" not in printed.err + printed.out
        assert printed.err.count("\n") <= 3
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_kind(sqlite: str, duck: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("user,item\na,b\n")
    for url in (f"sqlite:{tmp_path / 't.csv'}", f"duckdb:{tmp_path / 't.csv'}", duck.replace("duckdb:", "sqlite:")):
        with pytest.raises(InvalidInput, match="is no database of this kind; name it as"):
            read(source=url, table="events")
    with pytest.raises(InvalidInput, match="is a SQLite database; read it with --source"):
        read(sqlite.removeprefix("sqlite:"))


def test_rows_without_an_order(sqlite: str) -> None:
    with pytest.raises(InvalidInput, match="Rows of a database have no order; name the column of times with `time=`"):
        read(source=sqlite, query="select user, item from events")
    assert read(source=sqlite, query="select user, item from events order by time").report.order_only
    with pytest.raises(InvalidParameter, match="leave EVENTS out"):
        read("events.csv", source=sqlite, table="events")


def test_a_job_from_a_database(
    sqlite: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["assess", "--source", sqlite, "--table", "events", "--matcher", "visit", "--no-report"]
    assert run([*words, "--print-config"]) == 0
    (tmp_path / "job.toml").write_text(capsys.readouterr().out)
    assert run(["assess", "--config", "job.toml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["input"]
    assert found["rows"] == 4000
    assert run([*words, "--out", "again"]) == 0
    assert "table `events` of" in capsys.readouterr().out
    result = entropie.assess(source=sqlite, table="events", matchers=["visit"], replicates=20)
    assert result.document["input"]["events"] == 4000


def test_a_job_that_is_kept_has_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    url = f"postgresql://ann:{SECRET}@host:5432/base?sslmode=require&password={SECRET}"
    assert run(["assess", "--source", url, "--table", "t", "--print-config"]) == 0
    printed = capsys.readouterr().out
    assert 'source = "postgresql://ann@host:5432/base?sslmode=require&password="' in printed
    assert "hunter2" not in printed


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("postgresql://ann:a:b@c@host/db", "postgresql://ann@host/db"),
        ("postgresql://:pw@host/db", "postgresql://@host/db"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        ("--source postgresql://a:b@h/d --x s://c:d@e", "--source postgresql://a@h/d --x s://c@e"),
        ("https://example.org/a@b", "https://example.org/a@b"),
    ],
)
def test_passwords_are_taken_out(text: str, without: str) -> None:
    assert without_password(text) == without


@pytest.mark.parametrize(
    ("base", "query"),
    [
        ("sqlite", "attach 'made.db' as other"),
        ("sqlite", "-- select\n/* select */ attach 'file:made.db?mode=rwc' as other"),
        ("sqlite", "pragma journal_mode = delete"),
        ("sqlite", "vacuum into 'made.db'"),
        ("duck", "copy events to 'made.csv'"),
        ("duck", "select * from events; copy events to 'made.csv'"),
        ("duck", "export database 'made'"),
        ("duck", "pragma enable_profiling = 'json'; pragma profiling_output = 'made.json'; select * from events"),
        ("duck", "-- nothing"),
    ],
)
def test_a_query_writes_no_file(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, base: str, query: str
) -> None:
    url = request.getfixturevalue(base)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(InvalidInput, match="must be one statement that selects rows"):
        read(source=url, query=query)
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.parametrize(
    "query", ["/* all */ SELECT * FROM events", "with a as (select * from events) select * from a"]
)
@pytest.mark.parametrize("base", ["sqlite", "duck"])
def test_other_ways_to_select(request: pytest.FixtureRequest, base: str, query: str) -> None:
    same(read(source=request.getfixturevalue(base), query=query), expected())


@pytest.mark.parametrize(
    "text",
    [
        "IO: Failed to step query: database or disk is full",  # SQLite, as where a small tmpfs is the folder of TMPDIR
        'could not write to file "base/pgsql_tmp/pgsql_tmp7.0": No space left on device',
    ],
)
def test_a_sort_without_room_is_not_blamed_on_the_query(text: str) -> None:
    assert str(InvalidInput(_said(OSError(text)))).startswith("there is no room for what the query sorts")
