"""The relay as a real process, before a real collector and before ones that fail: nothing lost, nothing told."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from collector_made import drinks
from collector_running import asked, body_of, running, written

from entropie.collector.client import Client, Policy
from entropie.collector.relay import Relaying
from entropie.collector.wire import MEDIA_TYPE
from entropie.errors import InvalidParameter

DRINKS = drinks()
PATH = f"/v1/collections/{DRINKS.id}"
TYPE = {"Content-Type": MEDIA_TYPE}


@contextlib.contextmanager
def relayed(port: int, *more: str) -> Iterator[int]:
    """A relay to this port; gives its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "entropie", "relay", "--to", f"http://127.0.0.1:{port}", "--port", "0", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Relay: http://127.0.0.1:"), process.stderr.read() if process.stderr else line
        yield int(line.rsplit(":", 1)[1])
    finally:
        process.terminate()
        said, problems = process.communicate(timeout=30)
    assert (said, problems) == ("", "")  # nothing is written down
    assert process.returncode == 0


class Collector:
    """A collector that says what the test wants, and remembers all that it was sent."""

    def __init__(self) -> None:
        self.answer: tuple[int, bytes] | None = None
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.reply(200, DRINKS.canonical)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.bodies.append(body)
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                counts = {"accepted": len(body) // 24, "duplicate": 0, "invalid": 0}
                self.reply(*(outer.answer or (200, json.dumps(counts).encode())))

            def reply(self, status: int, body: bytes) -> None:
                if status == 0:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


def post(port: int, body: bytes, **headers: str) -> tuple[int, dict[str, int], dict[str, str]]:
    status, content, fields = asked(port, "POST", f"{PATH}/reports", body, {**TYPE, **headers})
    return status, json.loads(content), fields


def test_records_arrive_together_in_another_order_and_with_nothing_else(collector):
    records = [body_of([i % 5], np.random.default_rng(i)) for i in range(60)]
    marks = {"User-Agent": "device-7", "Cookie": "who=me", "X-Forwarded-For": "192.0.2.1", "Referer": "http://x/"}
    with relayed(collector.port, "--batch", "60", "--wait", "20") as port, ThreadPoolExecutor(60) as threads:
        found = list(threads.map(lambda record: post(port, record, **marks), records))
    assert [(status, counts) for status, counts, _ in found] == [
        (200, {"accepted": 1, "duplicate": 0, "invalid": 0})
    ] * 60
    (body,) = collector.bodies
    sent = [body[i : i + 24] for i in range(0, len(body), 24)]
    assert sorted(sent) == sorted(records)
    assert sent != records
    (headers,) = collector.headers
    assert set(headers) == {"host", "accept-encoding", "content-length", "content-type"}


def test_the_order_is_shuffled_evenly(collector):
    """One body of 40 records, sent 150 times: the first one's place has the mean and spread of a uniform place."""
    body, rng = b"", np.random.default_rng(3)
    places = []
    with relayed(collector.port, "--batch", "1") as port:
        for _ in range(150):
            body = body_of(np.zeros(40, int), rng)
            post(port, body)
            places.append(collector.bodies[-1].index(body[:24]) // 24)
    assert abs(np.mean(places) - 19.5) < 4 * np.sqrt((40**2 - 1) / 12 / 150)
    assert len(set(places)) > 25  # of 40 places; a fixed order has one


def test_few_records_go_after_the_wait(collector):
    with relayed(collector.port, "--batch", "1000", "--wait", "0.3") as port:
        begun = time.monotonic()
        assert post(port, body_of([1], np.random.default_rng(1)))[0] == 200
        assert time.monotonic() - begun >= 0.3


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ((500, b""), 503),
        ((503, b""), 503),
        ((0, b""), 503),
        ((200, b"what"), 503),
        ((200, b'{"accepted":0,"duplicate":0,"invalid":1}'), 503),
        ((410, b"{}"), 410),
        ((404, b"{}"), 404),
        ((507, b"{}"), 507),
    ],
)
def test_what_the_collector_does_not_confirm_is_not_acknowledged(collector, answer, status):
    record = body_of([1], np.random.default_rng(1))
    with relayed(collector.port, "--batch", "1") as port:
        collector.answer = answer
        code, said, fields = post(port, record)
        assert code == status
        assert set(said) == {"error"}
        assert ("retry-after" in fields) == (status in (503, 507))
        collector.answer = None
        assert post(port, record)[0] == 200  # the same bytes, later
    assert collector.bodies == [record, record]


def test_what_is_no_report_stays_here(collector):
    good, bad = body_of([1], np.random.default_rng(1)), body_of([99], np.random.default_rng(2))
    with relayed(collector.port, "--batch", "1") as port:
        assert post(port, bad)[1] == {"accepted": 0, "duplicate": 0, "invalid": 1}
        assert post(port, good + bad)[1] == {"accepted": 1, "duplicate": 0, "invalid": 1}
        assert post(port, b"short")[0] == 400
        assert post(port, b"0" * 24 * 4097)[0] == 413
        assert asked(port, "POST", f"{PATH}/reports", good, {"Content-Type": "text/plain"})[0] == 415
        assert asked(port, "GET", f"{PATH}/reports", None, {})[0] == 405
        assert asked(port, "GET", "/metrics", None, {})[0] == 404
        assert asked(port, "GET", "/healthz", None, {})[0] == 200
        assert asked(port, "GET", "/v1/collections/" + "0" * 64, None, {})[0] == 502  # another document than asked for
    assert collector.bodies == [good]


def test_clients_through_a_relay_while_the_collector_is_killed(tmp_path):
    """Acknowledged is counted, whatever happens in between; what was not is sent again and counted once."""
    store, document = tmp_path / "store", written(DRINKS, tmp_path)
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(running(store, "--collection", document))
        port = stack.enter_context(relayed(service.port, "--batch", "5", "--wait", "0.1"))
        address = f"http://127.0.0.1:{port}{PATH}"
        clients = [Client(address, tmp_path / f"ledger {i}", Policy(0.0, 1.0), attempts=1) for i in range(8)]
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda client: client.report("drink 1"), clients[:4]))
            service.kill()
            refused = [threads.submit(client.report, "drink 2") for client in clients[4:]]
            assert all(one.exception() is not None for one in refused)
        again = stack.enter_context(running(store, "--port", str(service.port)))
        assert sum(client.send() for client in clients) == 4
        assert sum(client.send() for client in clients) == 0
        status, found = again.send(DRINKS, body_of([0], np.random.default_rng(1)))
        assert (status, found["accepted"]) == (200, 1)
        again.end()
    from entropie.collector.sqlite_store import SqliteStore

    kept = SqliteStore(store)
    assert kept.totals(DRINKS.id).accepted == 9
    kept.end()


@pytest.mark.parametrize("to", ["http://example.org", "ftp://127.0.0.1", "https://a.example/?q=1", "", "https://"])
def test_an_unsafe_collector_is_refused(to):
    with pytest.raises(InvalidParameter, match="`to` must be"):
        Relaying(to)


@pytest.mark.parametrize("numbers", [{"batch": 0}, {"batch": 10**9}, {"wait": -1.0}, {"wait": 21.0}])
def test_numbers_out_of_range_are_refused(numbers):
    with pytest.raises(InvalidParameter):
        Relaying("https://collector.example", **numbers)
