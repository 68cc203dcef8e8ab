"""The Python client: drawn once, on the disk before it is sent, the same bytes until they are confirmed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import collector_made as made
import pytest

import entropie
from entropie.collector import client as clients
from entropie.collector.client import Client, NotSent, Policy, Refused, wait_seconds
from entropie.errors import EntropieError, InvalidInput, InvalidParameter, OutputFailed

ANYTHING = Policy(min_error=0.0, max_certainty=1.0, max_epsilon=1000.0)
TAKEN = (200, b'{"accepted":1,"duplicate":0,"invalid":0}')


@dataclass
class Collector:
    """A server that answers what a test wants, the last answer for ever, and keeps what it got."""

    document: bytes
    id: str
    answers: list[tuple[int, bytes]] = field(default_factory=lambda: [TAKEN])
    posted: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1/collections/{self.id}"


@contextmanager
def serving(collection, *answers) -> Iterator[Collector]:
    collector = Collector(collection.canonical, collection.id, list(answers) or [TAKEN])

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer(200, collector.document)

        def do_POST(self):
            collector.posted.append(self.rfile.read(int(self.headers["content-length"])))
            status, body = collector.answers.pop(0) if len(collector.answers) > 1 else collector.answers[0]
            if status:
                self.answer(status, body)
            else:
                self.close_connection = True

        def answer(self, status, body):
            collector.headers.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    collector.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    waited = []
    monkeypatch.setattr(clients, "sleep", waited.append)
    return waited


def test_an_answer_is_drawn_once_and_sent_once(tmp_path):
    ledger = tmp_path / "ledger"
    with serving(made.drinks()) as collector:
        client = entropie.Client(collector.url, ledger, ANYTHING)
        assert client.report("drink 1") == clients.Sent(confirmed=True, repeated=False)
        assert client.report("drink 2") == clients.Sent(confirmed=True, repeated=True)
        assert Client(collector.url, ledger, ANYTHING).report("drink 1").repeated
    assert len(collector.posted) == 1
    assert len(collector.posted[0]) == 24


def test_what_is_kept_is_for_its_owner_and_holds_no_true_answer(tmp_path):
    ledger = tmp_path / "ledger"
    ledger.touch(0o644)
    ledger.write_bytes(b'{"schema":"entropie.device","version":1}')
    with serving(made.places()) as collector:
        Client(collector.url, ledger, ANYTHING).report("the café at the corner")
    for file in tmp_path.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
        assert b"corner" not in file.read_bytes()
    assert collector.posted[0].hex() in ledger.read_text()


def test_the_same_bytes_until_they_are_confirmed(tmp_path, waits):
    duplicate = (200, b'{"accepted":0,"duplicate":1,"invalid":0}')
    odd = [(503, b""), (0, b""), (429, b""), (507, b""), (200, b"{}"), (200, b"[]"), (200, b"no"), duplicate]
    with serving(made.drinks(), *odd) as collector:
        Client(collector.url, tmp_path / "ledger", ANYTHING, attempts=8).report("drink 0")
    assert len(collector.posted) == 8
    assert len(set(collector.posted)) == 1
    assert len(waits) == 7


def test_what_is_not_confirmed_is_sent_later(tmp_path):
    ledger = tmp_path / "ledger"
    with serving(made.drinks(), (503, b""), (503, b""), TAKEN) as collector:
        client = Client(collector.url, ledger, ANYTHING, attempts=2)
        with pytest.raises(NotSent, match="same bytes"):
            client.report("drink 0")
        assert (client.send(), client.send()) == (1, 0)
    assert len(collector.posted) == 3
    assert len(set(collector.posted)) == 1


@pytest.mark.parametrize("status", [400, 404, 410, 413, 415])
def test_a_refusal_for_good_is_not_tried_again(status, tmp_path):
    with serving(made.drinks(), (status, b"")) as collector, pytest.raises(Refused):
        Client(collector.url, tmp_path / "ledger", ANYTHING).report("drink 0")
    assert len(collector.posted) == 1


def test_requests_carry_nothing_but_their_body(tmp_path):
    with serving(made.drinks()) as collector:
        Client(collector.url, tmp_path / "ledger", ANYTHING).report("drink 0")
    for headers in collector.headers:
        assert set(headers) <= {"host", "accept-encoding", "content-type", "content-length"}


@pytest.mark.parametrize(
    ("policy", "part"),
    [
        (Policy(min_error=0.9998, max_certainty=1.0), "error rate"),
        (Policy(min_error=0.0, max_certainty=0.001), "Certainty"),
        (Policy(min_error=0.0, max_certainty=1.0, max_epsilon=1.9), "1.9 of 1.9 is left"),
    ],
)
def test_weak_parameters_are_refused_before_anything_is_drawn(policy, part, tmp_path):
    with serving(made.drinks()) as collector, pytest.raises(Refused, match=part):
        Client(collector.url, tmp_path / "ledger", policy).report("drink 0")
    assert collector.posted == []
    assert not (tmp_path / "ledger").exists()


def test_the_ledger_adds_up_over_collections_and_stops(tmp_path):
    ledger, policy = tmp_path / "ledger", Policy(min_error=0.0, max_certainty=1.0, max_epsilon=5.5)
    several = made.fixed(made.drinks(), reports_per_person="2")
    with serving(several) as one, serving(made.places()) as other:
        client = Client(one.url, ledger, policy)
        client.report("drink 0", "monday")
        Client(other.url, ledger, policy).report("somewhere")
        assert client._keeper.read().spent.epsilon == pytest.approx(5.0)
        with pytest.raises(Refused, match=r"costs epsilon 2; 0\.5 of 5\.5 is left"):
            client.report("drink 0", "tuesday")
        client.report("drink 0", "monday")
        roomy = Client(one.url, ledger, ANYTHING)
        roomy.report("drink 0", "tuesday")
        with pytest.raises(Refused, match="All 2 answers"):
            roomy.report("drink 0", "wednesday")
    assert len(one.posted) == 2


def test_a_collection_that_is_closed_or_not_open_yet(tmp_path):
    for opens, closes in (("2020-01-01", "2020-01-02"), ("2119-01-01", "2119-01-02")):
        collection = made.fixed(made.drinks(), opens=opens, closes=closes)
        with serving(collection) as collector, pytest.raises(Refused, match=f"from {opens} to {closes}"):
            Client(collector.url, tmp_path / "ledger", ANYTHING).report("drink 0")
        assert collector.posted == []


def test_opting_out(tmp_path):
    with serving(made.drinks(), (503, b""), TAKEN) as collector:
        client = Client(collector.url, tmp_path / "ledger", ANYTHING, attempts=1)
        with pytest.raises(NotSent):
            client.report("drink 0")
        client.opt_out()
        assert "opted out" in client.preview()
        with pytest.raises(Refused, match="opted out"):
            client.report("drink 0")
        assert client.send() == 0
        client.opt_in()
        assert client.send() == 1
    assert len(set(collector.posted)) == 1


def test_another_document_is_refused(tmp_path):
    with serving(made.drinks()) as collector:
        collector.document = made.drinks(epsilon=9.0).canonical
        with pytest.raises(InvalidInput, match="sent another one"):
            Client(collector.url, tmp_path / "ledger", ANYTHING)


@pytest.mark.parametrize(
    "change", [lambda u: u + "?user=7", lambda u: u[:-1], lambda u: u.replace("//", "//me@"), lambda u: u + "#x",
               lambda u: u.replace("127.0.0.1", "example.org"), lambda u: u.replace("http", "ftp"),
               lambda u: u.replace(":1/", ":x/")],
)  # fmt: skip
def test_an_address_that_tells_more_or_is_not_safe(change, tmp_path):
    with pytest.raises(InvalidParameter):
        Client(change(f"http://127.0.0.1:1/v1/collections/{'0' * 64}"), tmp_path / "ledger", ANYTHING)


def test_where_nothing_can_be_kept_nothing_is_drawn(tmp_path, monkeypatch):
    with serving(made.drinks()) as collector:
        with pytest.raises(OutputFailed, match="nothing was drawn or sent"):
            Client(collector.url, tmp_path / "none" / "ledger", ANYTHING).report("drink 0")
        damaged = tmp_path / "damaged"
        damaged.write_text('{"schema":"entropie.device","version":1,')
        with pytest.raises(InvalidInput, match="restore it"):
            Client(collector.url, damaged, ANYTHING).report("drink 0")
        full = tmp_path / "full"

        def no_space(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", no_space)
        with pytest.raises(OutputFailed, match="No space left"):
            Client(collector.url, full, ANYTHING).report("drink 0")
        assert not full.exists()
    assert collector.posted == []


def test_the_preview_says_what_leaves(tmp_path):
    title = "Drinks\n\x1b[31m\u202e"
    with serving(made.fixed(made.drinks(), title=title)) as collector:
        text = Client(collector.url, tmp_path / "ledger", Policy()).preview()
    assert text.splitlines()[0] == "Question: Drinks\\n\\x1b[31m\\u202e"
    for part in (collector.url, "24 bytes", "one of 5 items", "10,000 people", "Spent on this device: 0 of 8"):
        assert part in text
    assert collector.posted == []


def test_waits_double_and_end():
    assert wait_seconds(0, None, 0.5) == 0.25
    assert wait_seconds(3, None, 1.0) == 4.0
    assert wait_seconds(90, None, 1.0) == 60.0
    assert wait_seconds(0, "7", 0.0) == 7.0
    assert wait_seconds(0, "soon", 0.0) == 0.0


def test_threads_at_once_draw_one_answer(tmp_path):
    with serving(made.drinks()) as collector:
        jobs = [
            threading.Thread(target=lambda: Client(collector.url, tmp_path / "ledger", ANYTHING).report("drink 0"))
            for _ in range(8)
        ]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
    assert len(set(collector.posted)) == 1


def test_a_device_that_dies_at_any_step_never_draws_again(tmp_path):
    """Killed before and after every call between the draw and the confirmation, then started again."""
    with serving(made.drinks()) as collector:
        script = Path(__file__).with_name("client_crashes.py")
        done = subprocess.run(
            [sys.executable, str(script), collector.url, str(tmp_path)], capture_output=True, text=True, timeout=120
        )
    assert done.returncode == 0, done.stderr
    steps = int(done.stdout)
    assert steps >= 30
    ledgers = [file for file in tmp_path.iterdir() if not file.name.startswith(".")]
    records = {json.loads(file.read_text())["answers"][0]["record"] for file in ledgers}
    assert len(ledgers) == len(records) == steps + 1
    assert {body.hex() for body in collector.posted} == records  # nothing else ever left
    for file in ledgers:
        assert len(json.loads(file.read_text())["answers"]) == 1
        assert json.loads(file.read_text())["answers"][0]["confirmed"]


@pytest.mark.parametrize("wrong", [{"min_error": 1.1}, {"max_certainty": -0.1}, {"max_epsilon": -1.0}])
def test_a_policy_is_checked(wrong):
    with pytest.raises(EntropieError):
        Policy(**wrong)
