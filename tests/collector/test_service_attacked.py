"""The service against those who mean it harm: heads without end, connections that say nothing, floods, replays."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import collector_made as made
import numpy as np
import pytest
from collector_running import Running, altered, asked, body_of, held_up, running, written

from entropie.collector import service as serving
from entropie.collector.connection import MOST_HEAD_BYTES, MOST_REQUEST_BYTES
from entropie.collector.wire import MEDIA_TYPE, MOST_RECORDS

DRINKS, OTHERS = made.drinks(), made.fixed(made.drinks(), seed="ab" * 32)
REPORTS = f"POST /v1/collections/{DRINKS.id}/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\n".encode()
IMPATIENT = altered(
    "import entropie.collector.connection as c, entropie.collector.listening as l; "
    "c.READING_SECONDS = c.IDLE_SECONDS = 1.0; c.CROWDED_IDLE_SECONDS = 0.1; l._most_connections = lambda: 40"
)


@pytest.fixture
def rng():
    return np.random.default_rng(29)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacked")
    with running(folder / "store", "--collection", written(DRINKS, folder)) as one:
        yield one


@pytest.fixture(scope="module")
def impatient(tmp_path_factory):
    folder = tmp_path_factory.mktemp("impatient")
    with running(folder / "store", "--collection", written(DRINKS, folder), run=IMPATIENT) as one:
        yield one


def linked(service: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), timeout=20)


def memory(service: Running) -> int:
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def is_open(link: socket.socket) -> bool:
    link.settimeout(0.01)
    try:
        return link.recv(1) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


@pytest.mark.parametrize(
    ("begin", "piece", "most"),
    [
        (b"GET /" + b"a" * 100, b"a" * 10_000, MOST_HEAD_BYTES),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: ", b"a" * 10_000, MOST_HEAD_BYTES),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"A: b\r\n" * 2_000, MOST_HEAD_BYTES),
        (REPORTS + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n" * 2_000, MOST_REQUEST_BYTES),
        (REPORTS + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"a" * 10_000 + b"\r\nx\r\n", MOST_REQUEST_BYTES),
    ],
)
def test_a_request_without_end_is_cut(service, begin, piece, most):
    before, sent = memory(service), 0
    with linked(service) as link:
        link.sendall(begin)
        try:
            while sent < 100 * MOST_REQUEST_BYTES:
                link.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
    assert sent < most + 8 * 2**20  # what the system's own buffers take
    assert memory(service) - before < 30 * 2**20
    assert service.ask("GET", "/healthz")[0] == 200


def test_a_head_that_is_too_long_is_told_so(service):
    with linked(service) as link:
        link.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: ")
        time.sleep(0.2)  # what comes in one piece with the beginning is not counted
        link.sendall(b"a" * (MOST_HEAD_BYTES + 1))
        answer = http.client.HTTPResponse(link)
        answer.begin()
        (sentence,) = json.loads(answer.read()).values()
    assert (answer.status, str(MOST_HEAD_BYTES) in sentence) == (431, True)


def test_many_whole_requests_in_one_go_are_all_answered(service, rng):
    bodies = [body_of(rng.integers(0, 5, MOST_RECORDS), rng) for _ in range(25)]
    head = REPORTS + f"Content-Length: {len(bodies[0])}\r\n\r\n".encode()
    with linked(service) as link:
        sending = threading.Thread(target=link.sendall, args=(b"".join(head + body for body in bodies),))
        sending.start()
        reader = link.makefile("rb")
        accepted = 0
        for _ in bodies:
            assert reader.readline() == b"HTTP/1.1 200 OK\r\n"
            fields = http.client.parse_headers(reader)
            accepted += json.loads(reader.read(int(fields["content-length"])))["accepted"]
        sending.join()
    assert accepted == len(bodies) * MOST_RECORDS


def test_a_body_that_was_refused_before_it_came_is_not_taken_for_a_head(service, rng):
    with linked(service) as link:
        size = MOST_HEAD_BYTES + 4 * 24
        link.sendall(REPORTS.replace(b"octet", b"other") + f"Content-Length: {size}\r\n\r\n".encode())
        reader = link.makefile("rb")
        for status, more in ((b"415", bytes(size)), (b"200", b"")):
            assert reader.readline().split()[1] == status
            reader.read(int(http.client.parse_headers(reader)["content-length"]))
            link.sendall(more)
            if more:
                link.sendall(REPORTS + b"Content-Length: 24\r\n\r\n" + body_of([1], rng))


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET /hea",
        REPORTS + b"Content-Length: 24\r\n\r\n" + bytes(5),
        REPORTS.replace(b"octet", b"other") + b"Content-Length: 9999\r\n\r\n",  # refused, and its body never comes
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",  # answered, and nothing more comes
    ],
)
def test_who_says_nothing_more_loses_the_connection(impatient, said):
    with linked(impatient) as link:
        link.sendall(said)
        begun = time.perf_counter()
        while link.recv(1000):
            pass
        assert 0.5 < time.perf_counter() - begun < 8.0


def test_a_trickle_is_no_progress(impatient):
    with linked(impatient) as link:
        link.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        begun = time.perf_counter()
        while is_open(link) and time.perf_counter() - begun < 10.0:
            try:
                link.sendall(b"A: b\r\n")
            except OSError:
                break
            time.sleep(0.1)
        assert time.perf_counter() - begun < 8.0


def test_a_crowd_gives_way(impatient):
    """More connections than there may be: the newest is told to come again, and soon there is room."""
    with ThreadPoolExecutor(1) as apart:
        crowd = [linked(impatient) for _ in range(60)]
        status, content, headers = apart.submit(impatient.ask, "GET", "/healthz").result()
        assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
        assert "too many connections" in json.loads(content)["error"]
    begun = time.perf_counter()
    while impatient.ask("GET", "/healthz")[0] != 200 and time.perf_counter() - begun < 10.0:
        time.sleep(0.1)
    assert time.perf_counter() - begun < 8.0
    while (left := any(is_open(link) for link in crowd)) and time.perf_counter() - begun < 10.0:
        time.sleep(0.1)
    for link in crowd:
        link.close()
    assert not left


def test_a_flooded_collection_leaves_room_for_others(tmp_path, rng):
    """While nothing can be written, one collection may take three quarters of what may wait: 429, and 200 for others."""
    flood = [
        body_of(rng.integers(0, 5, MOST_RECORDS), rng) for _ in range(24)
    ]  # 18 may wait, and two or three more be under way
    files = ("--collection", written(DRINKS, tmp_path), "--collection", written(OTHERS, tmp_path))
    path, kind = f"/v1/collections/{DRINKS.id}/reports", {"Content-Type": MEDIA_TYPE}
    with running(tmp_path / "store", *files) as service, ThreadPoolExecutor(40) as senders:
        with held_up(tmp_path / "store"):
            many = [senders.submit(service.ask, "POST", path, body, **kind) for body in flood]
            while not any(one.done() for one in many):
                time.sleep(0.01)
            other = senders.submit(service.send, OTHERS, body_of([1, 2], rng))
            time.sleep(0.2)
        found = [one.result() for one in many]
        assert other.result() == (200, {"accepted": 2, "duplicate": 0, "invalid": 0})
    assert {status for status, _, _ in found} == {200, 429}
    assert all(headers["retry-after"] == "1" for status, _, headers in found if status == 429)


def test_a_random_number_is_counted_once_in_each_collection(service, rng):
    assert service.admin("POST", "/v1/collections", OTHERS.canonical)[0] == 201
    nonce = os.urandom(16)
    one, other = (nonce + cell.to_bytes(8, "big") for cell in (1, 2))
    counted, again = ({"accepted": n, "duplicate": 1 - n, "invalid": 0} for n in (1, 0))
    assert [service.send(DRINKS, body)[1] for body in (one, one, other)] == [counted, again, again]
    assert service.send(OTHERS, other)[1] == counted
    assert service.admin("GET", f"/v1/collections/{OTHERS.id}/export")[1]["cells"] == [2]


def test_what_a_browser_keeps_is_not_the_token(service):
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    _, _, headers = asked(service.admin_port, "POST", "/login", f"token={service.token}".encode(), kind)
    cookie = headers["set-cookie"].split(";")[0]
    assert service.token not in cookie

    def page(sent: str) -> int:
        return asked(service.admin_port, "GET", "/", None, {"Cookie": sent})[0]

    assert (page(cookie), page(f"entropie={service.token}")) == (200, 303)
    bearer = {"Authorization": f"Bearer {cookie.removeprefix('entropie=')}"}
    assert asked(service.admin_port, "GET", "/v1/collections", None, bearer)[0] == 401


def test_visits_end_with_the_token_they_were_begun_with():
    from entropie.collector.dashboard import routes

    visits = routes.Visits()
    cookie = visits.begin("token")
    assert [visits.knows(cookie, token) for token in ("token", "new token", None)] == [True, False, False]
    assert not visits.knows("", "token")
    for _ in range(routes._MOST_VISITS):
        visits.begin("token")
    assert not visits.knows(cookie, "token")


def test_a_clock_that_is_wrong_for_a_moment_closes_nothing(monkeypatch):
    """Closing drops nonces for good: it waits until every look of an hour has found the collection over."""
    closed: list[int] = []
    looks = 0
    known = SimpleNamespace(held=SimpleNamespace(id="x", closed=False), collection=made.drinks())
    over = made.fixed(made.drinks(), closes="2020-02-01", opens="2020-01-01")

    async def refresh() -> None:
        nonlocal looks
        looks += 1
        known.collection = DRINKS if looks == 50 else over

    async def apart(work: object, *_: object) -> None:
        if work == "close":
            closed.append(looks)
            known.held.closed = True

    service = SimpleNamespace(
        catalogue=SimpleNamespace(refresh=refresh, known={"x": known}),
        store=SimpleNamespace(close="close"),
        watch=SimpleNamespace(look="look"),
        apart=apart,
    )
    monkeypatch.setattr(serving, "_WATCH_SECONDS", 0.0005)

    async def watched() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(serving._watch(service, lambda _: None), 1.0)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, watched()).result()
    assert closed == [50 + serving._LOOKS_OVER + 1]


def test_who_leaves_in_the_middle_of_a_body_is_not_logged(tmp_path):
    """A traceback for each would let anybody on this machine fill the log."""
    with running(tmp_path / "store", "--collection", written(DRINKS, tmp_path)) as service:
        for path, port in (("/login", service.admin_port), (REPORTS.split()[1].decode(), service.port)):
            for _ in range(3):
                with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
                    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {MEDIA_TYPE}\r\n"
                    link.sendall(f"{head}Content-Length: 24\r\n\r\nxx".encode())
                    time.sleep(0.05)
        assert service.ask("GET", "/healthz")[0] == 200
        assert service.end() == (0, "")


def test_an_error_of_the_program_is_one_line_a_minute(tmp_path):
    broken = altered("import entropie.collector.public as p; p.decode = lambda *_: 1 / 0")
    with running(tmp_path / "store", "--collection", written(DRINKS, tmp_path), run=broken) as service:
        path, kind = f"/v1/collections/{DRINKS.id}/reports", {"Content-Type": MEDIA_TYPE}
        assert [service.ask("POST", path, bytes(24), **kind)[0] for _ in range(3)] == [500] * 3
        assert service.ask("GET", "/healthz")[0] == 200
        code, said = service.end()
    assert (code, said.count("\n"), "ZeroDivisionError" in said) == (0, 1, True)
    assert "Traceback" not in said
    assert "127.0.0.1" not in said
