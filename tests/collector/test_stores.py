"""Stores: one contract, kept by every kind of store."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import collector_made as made
import numpy as np
import psycopg
import pytest

from entropie.collector import sqlite_store
from entropie.collector.examine import examined
from entropie.collector.mark import mark_of
from entropie.collector.sqlite_store import SqliteStore
from entropie.collector.store import Added, Batch, Hour, StoreBusy, hashed, open_store, this_hour
from entropie.errors import InvalidInput

DRINKS, PLACES = made.drinks(), made.places()


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "store"


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, path) -> str:
    """A store that is empty, of every kind."""
    if request.param == "sqlite":
        return str(path)
    url = request.getfixturevalue("postgres")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS entropie_collector CASCADE")
    return url


@pytest.fixture
def store(where):
    opened = open_store(where)
    yield opened
    opened.end()


@pytest.fixture
def file_store(path):
    opened = SqliteStore(path)
    yield opened
    opened.end()


def batch(*records: tuple[int, int], invalid: int = 0, of=DRINKS) -> Batch:
    return Batch(of.id, [nonce for nonce, _ in records], [cell for _, cell in records], invalid)


def sound(store, collection=DRINKS) -> int:
    assert store.problems() == []
    total = store.totals(collection.id).accepted
    assert int(store.counts(collection.id).counts.sum()) == total == store.seen(collection.id)
    return total


def test_reports_are_counted_once(store):
    assert store.create(DRINKS.canonical)
    assert not store.create(DRINKS.canonical)
    hour = this_hour()
    answers = store.add([batch((1, 4), (2, 4), (1, 3), invalid=2), batch((2, 0), (-(2**63), 0), (2**63 - 1, 4))])
    assert answers == [Added(2, 1, 2), Added(2, 1, 0)]
    assert store.totals(DRINKS.id) == Added(4, 2, 2)
    cells = store.counts(DRINKS.id)
    assert (cells.cells.tolist(), cells.counts.tolist()) == ([0, 4], [1, 3])
    assert store.hourly(DRINKS.id) in ([Hour(hour, 4, 2, 2)], [Hour(hour + 1, 4, 2, 2)])
    assert sound(store) == 4


def test_collections_are_apart(store):
    store.create(DRINKS.canonical)
    store.create(PLACES.canonical)
    assert store.add([batch((1, 0)), batch((1, 9), of=PLACES)]) == [Added(1, 0, 0), Added(1, 0, 0)]
    assert [held.id for held in store.collections()] == sorted([DRINKS.id, PLACES.id])
    assert store.find(DRINKS.id).document == DRINKS.canonical
    assert store.find(DRINKS.id).key != store.find(PLACES.id).key
    assert store.find("0" * 64) is None
    assert sound(store) == sound(store, PLACES) == 1


def test_a_closed_collection_takes_nothing_and_knows_no_nonce(store, where):
    store.create(DRINKS.canonical)
    key = store.find(DRINKS.id).key
    nonces = hashed(key, [os.urandom(16) for _ in range(500)])
    store.add([Batch(DRINKS.id, nonces, [0] * 500)])
    store.close(DRINKS.id)
    assert store.add([batch((7, 0)), Batch("0" * 64, [1], [1])]) == [None, None]
    assert store.find(DRINKS.id).closed
    assert sound(store) == 500
    store.close(DRINKS.id)
    assert sound(store) == 500


def test_dropped_nonces_are_overwritten(file_store, path):
    file_store.create(DRINKS.canonical)
    key = file_store.find(DRINKS.id).key
    nonces = hashed(key, [os.urandom(16) for _ in range(500)])
    file_store.add([Batch(DRINKS.id, nonces, [0] * 500)])
    file_store.close(DRINKS.id)
    kept = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert key not in kept
    assert not [nonce for nonce in nonces if nonce.to_bytes(8, "big", signed=True) in kept]


def test_nothing_of_a_report_is_kept_but_its_cell_and_hash(file_store, path):
    store = file_store
    store.create(PLACES.canonical)
    nonce = os.urandom(16)
    store.add([Batch(PLACES.id, hashed(store.find(PLACES.id).key, [nonce]), [5])])
    store.end()
    for file in path.parent.iterdir():
        assert nonce[:8] not in file.read_bytes()
        assert file.stat().st_mode & 0o777 == 0o600


def test_a_store_is_opened_again_as_it_was(where):
    first = open_store(where)
    first.create(DRINKS.canonical)
    first.add([batch((1, 0))])
    first.note("token", "abc")
    first.end()
    again = open_store(where)
    assert again.add([batch((1, 0), (2, 0))]) == [Added(1, 1, 0)]
    assert (again.note("token"), again.note("other")) == ("abc", None)
    assert sound(again) == 2
    again.end()


def test_hashes_depend_on_the_key():
    nonce = bytes(16)
    assert hashed(b"a" * 16, [nonce]) == hashed(b"a" * 16, [nonce]) != hashed(b"b" * 16, [nonce])


def test_a_batch_that_cannot_be_counted_leaves_no_trace(store):
    store.create(DRINKS.canonical)
    before = store.totals(DRINKS.id)
    with pytest.raises((OverflowError, StoreBusy)):
        store.add([batch((1, 0)), batch((2**63, 0))])
    assert store.totals(DRINKS.id) == before
    assert sound(store) == 0
    assert store.add([batch((1, 0))]) == [Added(1, 0, 0)]


def test_what_is_written_is_on_the_disk_before_the_answer(file_store):
    (mode,), (synced,) = (
        file_store._own.execute(f"PRAGMA {name}").fetchone() for name in ("journal_mode", "synchronous")
    )
    assert (mode, synced) == ("wal", 2)


def test_one_process_writes_and_others_read(file_store, path):
    store = file_store
    store.create(DRINKS.canonical)
    with pytest.raises(InvalidInput, match="in use by another process"):
        SqliteStore(path)
    reader = SqliteStore(path, "reading")
    store.add([batch((1, 0))])
    assert sound(reader) == 1
    reader.end()


def test_reading_leaves_no_file_and_changes_none(path):
    store = SqliteStore(path)
    store.create(DRINKS.canonical)
    store.add([batch((1, 0))])
    store.end()
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    reader = SqliteStore(path, "reading")
    assert sound(reader) == 1
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader._own.execute("DELETE FROM cells")
    reader.end()
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


def test_a_service_that_starts_while_somebody_reads_counts_on(path):
    store = SqliteStore(path)
    store.create(DRINKS.canonical)
    store.end()
    reader = SqliteStore(path, "reading")
    store = SqliteStore(path)
    store.add([batch((1, 0))])
    assert sound(reader) == 1
    reader.end()
    store.add([batch((2, 0))])
    assert sound(store) == 2
    store.end()


def test_a_store_that_was_rolled_back_is_refused(path):
    first = SqliteStore(path)
    first.create(DRINKS.canonical)
    first.end()
    old = path.read_bytes()
    later = SqliteStore(path)
    later.add([batch((1, 0))])
    later.end()
    path.write_bytes(old)
    for _ in range(2):
        with pytest.raises(InvalidInput, match=r"rolled back: it has 1 commits, its mark says 2"):
            SqliteStore(path)
        assert len(SqliteStore(path, "reading").problems()) == 1
    path.unlink()
    with pytest.raises(InvalidInput, match="another one than its mark says"):
        SqliteStore(path)
    path.write_bytes(old)
    mark_of(path).unlink()
    store = SqliteStore(path)
    assert sound(store) == 0
    store.end()


@pytest.mark.parametrize(
    "wrong",
    [
        "UPDATE cells SET count = count + 1",
        "UPDATE cells SET count = 0",
        "DELETE FROM cells",
        "UPDATE collections SET accepted = accepted + 1",
        "DELETE FROM nonces_1 WHERE hash = 1",
        "UPDATE collections SET document = X'00'",
        "UPDATE cells SET cell = 5 WHERE cell = 1",
        "UPDATE cells SET cell = -1 WHERE cell = 1",
        "DROP TABLE nonces_1",
        "DELETE FROM facts",
    ],
)
def test_numbers_that_do_not_agree_are_refused(path, wrong):
    first = SqliteStore(path)
    first.create(DRINKS.canonical)
    first.add([batch((1, 0), (2, 1))])
    first.end()
    with sqlite3.connect(path) as connection:
        connection.execute(wrong)
    connection.close()
    with pytest.raises(InvalidInput):
        SqliteStore(path)
    assert SqliteStore(path, "reading").problems()


def test_damage_anywhere_is_refused_or_harmless(path):
    """Bytes overwritten all over the file: every number that is told is the right one, or nothing is told."""
    first = SqliteStore(path)
    first.create(DRINKS.canonical)
    first.add([batch(*((one * 7919, one % 5) for one in range(300)))])
    first.end()
    content = path.read_bytes()
    rng = np.random.default_rng(5)
    refused = 0
    for place in rng.integers(0, len(content) - 64, 60).tolist():
        path.write_bytes(content[:place] + rng.bytes(64) + content[place + 64 :])
        try:
            store = SqliteStore(path)
        except InvalidInput:
            refused += 1
            continue
        assert store.totals(DRINKS.id).accepted == 300
        store.end()
    assert refused > 8
    for cut in (b"", content[:5000], b"no database at all" * 100):
        path.write_bytes(cut)
        with pytest.raises(InvalidInput):
            SqliteStore(path)


def test_another_database_is_not_touched(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine(x)")
    connection.close()
    with pytest.raises(InvalidInput, match="no store of a collector"):
        SqliteStore(path)
    assert [file.name for file in path.parent.iterdir()] == ["store"]


def test_a_store_is_backed_up_before_its_version_changes(path, monkeypatch):
    first = SqliteStore(path)
    first.create(DRINKS.canonical)
    first.add([batch((1, 0))])
    first.end()
    old = SqliteStore(path)
    monkeypatch.setattr(sqlite_store, "MIGRATIONS", (*sqlite_store.MIGRATIONS, "CREATE TABLE more(x);"))
    old.end()
    with pytest.raises(InvalidInput, match="brings it up"):
        SqliteStore(path, "reading")
    store = SqliteStore(path)
    assert sound(store) == 1
    store.end()
    backup = path.with_name("store.version-1")
    assert backup.stat().st_mode & 0o777 == 0o600
    monkeypatch.undo()
    with pytest.raises(InvalidInput, match="has version 2, this program knows 1"):
        SqliteStore(path)
    mark_of(path).rename(mark_of(backup))
    before = SqliteStore(backup)
    assert sound(before) == 1
    before.end()


def test_a_migration_that_fails_changes_nothing(path, monkeypatch):
    first = SqliteStore(path)
    first.create(DRINKS.canonical)
    first.end()
    monkeypatch.setattr(sqlite_store, "MIGRATIONS", (*sqlite_store.MIGRATIONS, "CREATE TABLE more(x); BROKEN;"))
    with pytest.raises(InvalidInput, match="damaged"):
        SqliteStore(path)
    monkeypatch.undo()
    store = SqliteStore(path)
    assert sound(store) == 0
    store.end()


def test_a_store_where_none_can_be(tmp_path):
    with pytest.raises(OSError, match="cannot be written"):
        SqliteStore(tmp_path / "none" / "store")
    with pytest.raises(InvalidInput, match="There is no store"):
        SqliteStore(tmp_path / "store", "reading")


def test_processes_share_a_database(postgres):
    """Two stores at once, the same reports to both: each is counted once."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS entropie_collector CASCADE")
    stores = [open_store(postgres) for _ in range(2)]
    stores[0].create(DRINKS.canonical)
    accepted = [0, 0]

    def send(which: int) -> None:
        for group in range(20):
            mine = [batch(*((40 * group + one, one % 5) for one in range(40)))]
            accepted[which] += sum(one.accepted for one in stores[which].add(mine))

    threads = [threading.Thread(target=send, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(accepted) == sound(stores[0]) == 800
    stores[1].close(DRINKS.id)
    assert stores[0].add([batch((9999, 0))]) == [None]
    for store in stores:
        store.end()


def test_a_database_that_was_put_back_is_refused_where_a_mark_is_kept(postgres, tmp_path):
    mark = tmp_path / "mark"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS entropie_collector CASCADE")
        with pytest.raises(InvalidInput, match="no store in this database"):
            raise InvalidInput(*examined(postgres, mark).problems)
        store = open_store(postgres, mark)
        with pytest.raises(InvalidInput, match="in use by another process"):
            open_store(postgres, mark)
        store.create(DRINKS.canonical)
        store.add([batch((1, 0), (2, 1), invalid=1)])
        store.end()
        before = mark.read_bytes()
        assert before.endswith(b" %020d\n" % 5)  # a collection counts as two, and each record
        assert mark.stat().st_mode & 0o777 == 0o600
        again = open_store(postgres, mark)
        assert sound(again) == 2
        connection.execute("UPDATE entropie_collector.collections SET accepted = 1, seen = 1")
        connection.execute("DELETE FROM entropie_collector.cells WHERE cell = 1")
        connection.execute("DELETE FROM entropie_collector.nonces_1 WHERE hash = 2")
        again.note("x", "1")  # the service goes on, its mark does not go down
        again.end()
        assert mark.read_bytes() == before
        for _ in range(2):
            with pytest.raises(InvalidInput, match="has 4 commits, its mark says 5"):
                open_store(postgres, mark)
        assert examined(postgres, mark).problems[0].startswith("The store in PostgreSQL was rolled back")
        assert examined(postgres).sound
        connection.execute("DROP SCHEMA entropie_collector CASCADE")
        with pytest.raises(InvalidInput, match="is another one than its mark says"):
            open_store(postgres, mark)
    mark.unlink()
    with pytest.raises(InvalidInput, match="beside it"):
        open_store(str(tmp_path / "store"), mark)
    assert not list(tmp_path.iterdir())


def test_a_database_that_ends_is_said_without_its_address(postgres):
    store = open_store(postgres)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND pid = %s",
            (store._own.info.backend_pid,),
        )
    with pytest.raises(StoreBusy, match="just now"):
        store.note("x", "1")
    assert store.note("x", "2") == "2"
    store.end()
    with pytest.raises(StoreBusy) as found:
        open_store("postgresql://secret:word@127.0.0.1:1/nothing")
    assert "secret" not in str(found.value)
