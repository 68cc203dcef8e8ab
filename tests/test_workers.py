"""Threads of generators end with them: at once where a reader raises, and without a lock where garbage is collected."""

import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import entropie
from entropie.data.blocks import ahead
from entropie.workers import Workers


def reading() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("entropie-reading")]


def test_nothing_is_read_any_more_once_an_error_is_raised(tmp_path: Path) -> None:
    """Whoever keeps the error keeps the frames it passed, and in them the streams: they are closed all the same."""
    path = tmp_path / "events.csv"
    rows = [f"{'x' * 200}{row},i,soon\n" for row in range(60_000)]  # several blocks
    path.write_text("user,item,time\n" + "".join(rows))
    with pytest.raises(entropie.EntropieError) as kept:
        entropie.assess(path, user="user", item="item", time="time")
    for thread in reading():
        thread.join(5)
    assert not reading()
    assert "time" in str(kept.value)


@pytest.mark.filterwarnings("error")
def test_an_abandoned_generator_joins_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joining takes a lock that the thread in which garbage is collected may hold itself."""

    def values() -> Iterator[int]:
        yield from range(10)

    stream = ahead(values())
    assert next(stream) == 0
    cycle: list[object] = [stream]
    cycle.append(cycle)
    ended = reading()
    assert len(ended) == 1

    def joined(*_: object) -> None:
        raise AssertionError("a thread was joined")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "join", joined)
        del stream, cycle
        gc.collect()
    ended[0].join(5)
    assert not ended[0].is_alive()


def test_the_end_waits_for_work_that_has_begun_and_drops_the_rest() -> None:
    begun, go, done = threading.Event(), threading.Event(), []

    def work(number: int) -> None:
        begun.set()
        go.wait(5)
        done.append(number)

    with Workers(1) as pool:
        futures = [pool.submit(work, number) for number in range(3)]
        begun.wait(5)
        threading.Timer(0.05, go.set).start()
    assert done == [0]
    assert [future.cancelled() for future in futures] == [False, True, True]


def test_a_pool_that_ends_in_one_of_its_own_threads_does_not_wait_for_itself() -> None:
    pool = Workers(1)
    ended = pool.submit(lambda: pool.__exit__())
    ended.result(5)
