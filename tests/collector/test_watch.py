"""A store that is watched: changes are told once, also over a restart; the attack is simulated once a day."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from collector_made import drinks

from entropie.collector import watch as watching
from entropie.collector.regression import Attacked, Reached
from entropie.collector.sqlite_store import SqliteStore
from entropie.collector.store import Batch
from entropie.collector.watch import Watch
from entropie.collector.webhook import Webhook

SMALL = drinks(people=3, epsilon=0.1)


@pytest.fixture
def store(tmp_path):
    made = SqliteStore(tmp_path / "store")
    made.create(SMALL.canonical)
    yield made
    made.end()


def fill(store, first: int, last: int) -> None:
    hashes = range(first, last)
    store.add([Batch(SMALL.id, tuple(hashes), tuple(one % 5 for one in hashes))])


def looked(store, lines: list[str], **more) -> Watch:
    made = Watch(store, None, lines.append, **more)
    made.look(store.find(SMALL.id))
    return made


def test_a_change_is_told_once_also_after_a_restart(store):
    lines: list[str] = []
    fill(store, 0, 3)
    looked(store, lines)
    assert lines == []
    fill(store, 3, 5)
    watch = looked(store, lines)
    assert [line.split(":")[0] for line in lines] == [
        f"alert raised kind=too-many level=critical collection={SMALL.id[:12]}"
    ]
    watch.look(store.find(SMALL.id))
    looked(store, lines)  # another process
    assert len(lines) == 1


def test_to_look_at_a_page_changes_nothing(store):
    lines: list[str] = []
    fill(store, 0, 5)
    watch = Watch(store, None, lines.append)
    assert [alert.kind for alert in watch.status(store.find(SMALL.id)).alerts] == ["too-many"]
    assert lines == []
    assert store.note(f"alerts {SMALL.id}") is None
    watch.look(store.find(SMALL.id))
    assert len(lines) == 1


def test_the_attack_is_simulated_once_a_day(store, monkeypatch):
    runs, hour = [], 24 * 500
    bad = Attacked(3, 1, Reached(1.0, 0.1, 0.0), Reached(0.1, 0.1, 1.0))
    good = Attacked(3, 1, Reached(0.1, 0.1, 1.0), Reached(0.1, 0.1, 1.0))
    monkeypatch.setattr(watching, "attacked", lambda *_: runs.append(1) or (bad if len(runs) == 1 else good))
    monkeypatch.setattr("entropie.collector.facts.this_hour", lambda: hour)
    lines: list[str] = []
    looked(store, lines)
    watch = looked(store, lines)
    assert len(runs) == 1
    assert watch.status(store.find(SMALL.id)).attacked == bad
    assert "kind=attack" in lines[0]
    hour += 24
    looked(store, lines)
    assert len(runs) == 2
    assert [line.split()[1] for line in lines] == ["raised", "over"]


def test_a_roll_back_under_a_running_service_stays_until_it_is_seen(store, tmp_path):
    lines: list[str] = []
    fill(store, 0, 3)
    watch = looked(store, lines)
    watch._most[SMALL.id] = 4  # the store has held one more
    watch.look(store.find(SMALL.id))
    fill(store, 10, 11)
    watch.look(store.find(SMALL.id))
    (store_line, _) = (line for line in lines if "level=critical" in line)
    assert "kind=store" in store_line
    kinds = {alert.kind for alert in watch.status(store.find(SMALL.id)).alerts}
    assert "store" in kinds
    watch.seen(store.find(SMALL.id))
    assert "store" not in {alert.kind for alert in watch.status(store.find(SMALL.id)).alerts}


def test_a_webhook_that_fails_is_logged_and_nothing_else_breaks(store):
    lines: list[str] = []
    fill(store, 0, 5)
    looked(store, lines, webhook=Webhook("http://127.0.0.1:9/", b"sixteen bytes or more"))
    assert len(lines) == 2
    assert lines[1].startswith("The webhook's receiver cannot be reached")


def test_what_goes_wrong_does_not_end_the_watch(monkeypatch):
    from entropie.collector import service

    lines: list[str] = []

    async def refresh() -> None:
        raise OSError(f"try {len(lines)}")

    monkeypatch.setattr(service, "_WATCH_SECONDS", 0.001)
    broken = SimpleNamespace(catalogue=SimpleNamespace(refresh=refresh))

    async def watched() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(service._watch(broken, lines.append), 0.2)

    with ThreadPoolExecutor(1) as apart:  # a browser of other tests may have a loop in this thread
        apart.submit(asyncio.run, watched()).result()
    assert len(lines) > 1
    assert lines[0] == "Alerts could not be looked at (OSError); tried again in a minute."
