"""The service as a real process on loopback: what it answers, what it keeps, what it tells nobody."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import collector_made as made
import numpy as np
import psycopg
import pytest
from collector_load import loaded
from collector_running import RUN, Running, asked, body_of, held_up, running, started, written
from facts_made import honest_cells

import entropie
from entropie.collector import openapi
from entropie.collector.client import NotSent
from entropie.collector.sqlite_store import SqliteStore
from entropie.collector.wire import MEDIA_TYPE, MOST_BODY_BYTES

ANYTHING = entropie.Policy(min_error=0.0, max_certainty=1.0, max_epsilon=1000.0)
DRINKS, PLACES = made.drinks(), made.places(pool=4096)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="module")
def service(folder):
    with running(folder / "store", "--collection", written(PLACES, folder)) as one:
        yield one


@pytest.fixture
def rng():
    return np.random.default_rng(15)


def fresh(service: Running, **changes) -> made.Collection:
    """A collection of its own for a test."""
    collection = made.fixed(made.drinks(), seed=os.urandom(32).hex(), **changes)
    status, answer = service.admin("POST", "/v1/collections", collection.canonical)
    assert (status, answer) == (201, {"id": collection.id, "created": True})
    return collection


def test_reports_are_counted_once_and_invalid_ones_not(service, rng):
    drinks = fresh(service)
    body = body_of([0, 4, 5, 2**64 - 1, 4], rng)
    assert service.send(drinks, body) == (200, {"accepted": 3, "duplicate": 0, "invalid": 2})
    assert service.send(drinks, body) == (200, {"accepted": 0, "duplicate": 3, "invalid": 2})
    status, export = service.admin("GET", f"/v1/collections/{drinks.id}/export")
    assert (status, export["cells"], export["counts"]) == (200, [0, 4], [1, 2])
    assert export["collection"].encode() == drinks.canonical
    status, content, headers = service.ask("GET", f"/v1/collections/{drinks.id}")
    assert (status, content) == (200, drinks.canonical)
    assert headers["access-control-allow-origin"] == "*"


def test_the_python_client_end_to_end(service, tmp_path):
    drinks = fresh(service, reports_per_person="3")
    client = entropie.Client(service.url(drinks), tmp_path / "ledger", ANYTHING)
    for question in ("monday", "tuesday", "monday"):
        assert client.report("drink 1", question).confirmed
    _, export = service.admin("GET", f"/v1/collections/{drinks.id}/export")
    assert export["reports"] == 2
    service.admin("POST", f"/v1/collections/{drinks.id}/close")
    with pytest.raises(entropie.collector.client.Refused, match="takes no answers"):
        client.report("drink 1", "friday")


@pytest.mark.parametrize(
    ("method", "path", "body", "kind", "status"),
    [
        ("GET", "/healthz", None, None, 200),
        ("GET", "/openapi.json", None, None, 200),
        ("GET", "/nothing", None, None, 404),
        ("POST", "/healthz", None, None, 405),
        ("GET", "/v1/collections/" + "0" * 64, None, None, 404),
        ("POST", "/v1/collections/" + "0" * 64 + "/reports", bytes(24), MEDIA_TYPE, 404),
        ("GET", "/v1/collections/ID/reports", None, None, 405),
        ("OPTIONS", "/v1/collections/ID/reports", None, None, 204),
        ("POST", "/v1/collections/ID/reports", bytes(24), "text/plain", 415),
        ("POST", "/v1/collections/ID/reports", bytes(23), MEDIA_TYPE, 400),
        ("POST", "/v1/collections/ID/reports", b"", MEDIA_TYPE, 400),
        ("POST", "/v1/collections/ID/reports", bytes(MOST_BODY_BYTES + 24), MEDIA_TYPE, 413),
    ],
)
def test_every_refusal_is_one_sentence(service, method, path, body, kind, status):
    headers = {} if kind is None else {"Content-Type": kind}
    found, content, _ = service.ask(method, path.replace("ID", PLACES.id), body, **headers)
    assert found == status
    if status >= 400:
        (sentence,) = json.loads(content).values()
        assert sentence.endswith(".")
        assert "Traceback" not in sentence


def test_a_body_in_pieces_is_bounded(service):
    with socket.create_connection(("127.0.0.1", service.port)) as link:
        head = f"POST /v1/collections/{PLACES.id}/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\n"
        link.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        piece = b"4000\r\n" + bytes(0x4000) + b"\r\n"
        with contextlib.suppress(OSError):
            for _ in range(20):
                link.sendall(piece)
        assert b"413" in link.recv(100)


def test_answers_on_one_connection_do_not_wait_for_each_other(service):
    """Each is two writes; where the second waits for the first to be acknowledged, it takes 40 ms."""
    link = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
    taken = []
    for _ in range(30):
        begun = time.perf_counter()
        link.request("GET", "/healthz")
        assert link.getresponse().read() == b'{"status":"ok"}'
        taken.append(time.perf_counter() - begun)
    link.close()
    assert sorted(taken)[15] < 0.03


def test_a_refused_body_leaves_its_connection_in_step(service, rng):
    """What follows a body that was not read is not taken for a request."""
    path = f"/v1/collections/{PLACES.id}/reports"
    for body, kind, status in ((bytes(MOST_BODY_BYTES + 24), MEDIA_TYPE, 413), (bytes(5000), "text/plain", 415)):
        link = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
        smuggled = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        link.request("POST", path, body[: -len(smuggled)] + smuggled, {"Content-Type": kind})
        answer = link.getresponse()
        assert (answer.status, b"status" in answer.read()) == (status, False)
        link.request("POST", path, body_of([1], rng), {"Content-Type": MEDIA_TYPE})
        assert json.loads(link.getresponse().read())["accepted"] == 1
        link.close()


def test_load_gets_no_errors_and_every_report_is_counted(tmp_path):
    with running(tmp_path / "store", "--collection", written(DRINKS, tmp_path)) as service:
        found = loaded(service.port, DRINKS, links=32, seconds=60.0, most=1_500)
        many = loaded(service.port, DRINKS, links=200, seconds=60.0, most=400, records=30)
        _, export = service.admin("GET", f"/v1/collections/{DRINKS.id}/export")
        assert service.end() == (0, "")
    assert (found.statuses, found.broken, many.broken) == ({200: 1_500}, 0, 0)
    assert set(many.statuses) <= {200, 429, 503}
    assert export["reports"] == found.accepted + many.accepted


def test_what_is_closed_or_not_open_takes_nothing(service, rng):
    for days in ({"opens": "2119-01-01"}, {"closes": "2020-02-01"}):
        assert service.send(fresh(service, **days), body_of([1], rng))[0] == 410
    drinks = fresh(service)
    service.send(drinks, body_of([1], rng))
    assert service.admin("POST", f"/v1/collections/{drinks.id}/close")[0] == 200
    assert service.send(drinks, body_of([1], rng))[0] == 410
    assert service.admin("GET", f"/v1/collections/{drinks.id}/export")[1]["reports"] == 1


def test_the_admin_listener_asks_for_its_token(service):
    for path in ("/v1/collections", "/metrics", f"/v1/collections/{PLACES.id}/export"):
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {service.token}"}):
            assert asked(service.admin_port, "GET", path, None, headers)[0] == 401
        right = {"Authorization": f"Bearer {service.token}"}
        assert asked(service.admin_port, "GET", path, None, right)[0] == 200
        assert asked(service.admin_port, "GET", path, None, {**right, "Host": "evil.example"})[0] == 421
    assert service.ask("GET", "/v1/collections", Authorization=f"Bearer {service.token}")[0] == 404


def raw(port: int, text: bytes) -> bytes:
    """The first line of the answer to these bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
        link.sendall(text)
        return link.recv(1000).split(b"\r\n")[0]


@pytest.mark.parametrize("path", [b"//v1/collections", b"/%76%31/collections", b"/./v1/collections", b"/v1/../metrics"])
def test_no_spelling_of_a_path_gets_past_the_token(service, path):
    assert raw(service.admin_port, b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")[9:12] in (b"401", b"404")


@pytest.mark.parametrize(
    "lengths", [b"-5", b"24\r\nContent-Length: 48", b"24\r\nTransfer-Encoding: chunked", b"9" * 400, b"+24"]
)
def test_bodies_of_two_lengths_are_refused(service, lengths):
    before = service.admin("GET", f"/v1/collections/{PLACES.id}/export")[1]["reports"]
    head = f"POST /v1/collections/{PLACES.id}/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\n".encode()
    assert raw(service.port, head + b"Content-Length: " + lengths + b"\r\n\r\n" + os.urandom(48))[9:12] in (
        b"400",
        b"413",
    )
    assert service.admin("GET", f"/v1/collections/{PLACES.id}/export")[1]["reports"] == before


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/collections", b"[" * 100_000, 400),
        ("POST", "/v1/collections", b"{}", 400),
        ("POST", "/v1/collections", b"\xff", 400),
        ("POST", "/v1/collections", PLACES.canonical + b" ", 400),
        ("POST", "/v1/collections", PLACES.canonical, 200),
        ("GET", "/v1/collections/" + "0" * 64 + "/status", None, 404),
        ("POST", "/v1/collections/x/close", None, 404),
        ("GET", "/v1/nothing", None, 404),
        ("DELETE", "/v1/collections", None, 405),
    ],
)
def test_the_admin_listener_refuses_in_words(service, method, path, body, status):
    found, answer = service.admin(method, path, body)
    assert found == status
    assert status < 400 or isinstance(answer["error"], str)


def test_a_collection_below_its_limits_is_refused(service):
    weak = made.fixed(
        DRINKS, limits={"bayes_error": "1", "certainty": None, "list_error": None, "list_size": "1"}
    )  # fmt: skip
    assert service.admin("POST", "/v1/collections", weak.canonical)[0] == 422


def test_nothing_about_senders_is_kept_or_said(tmp_path, rng):
    with running(tmp_path / "store", "--collection", written(DRINKS, tmp_path)) as service:
        path = f"/v1/collections/{DRINKS.id}/reports"
        told = {"User-Agent": "MARKED-agent", "Cookie": "MARKED", "X-Forwarded-For": "MARKED", "Referer": "MARKED"}
        body = body_of([1], rng)
        assert service.ask("POST", path, body, **{"Content-Type": MEDIA_TYPE, **told})[0] == 200
        service.ask("POST", path, b"bad", **told)
        service.ask("GET", "/MARKED", **told)
        with socket.create_connection(("127.0.0.1", service.port)) as link:
            link.sendall(b"MARKED nonsense\r\n\r\n")
            assert link.recv(100).startswith(b"HTTP/1.1 400")
        token = service.token.encode()
        code, said = service.end()
    assert (code, said) == (0, "")
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        assert not any(mark in content for mark in (b"MARKED", b"127.0.0.1", token, body[:8]))
        assert not file.name.startswith("store") or file.stat().st_mode & 0o777 == 0o600


def test_a_restart_keeps_counts_and_token(tmp_path, rng):
    body = body_of([1, 2], rng)
    with running(tmp_path / "store", "--collection", written(DRINKS, tmp_path)) as service:
        service.send(DRINKS, body)
        token = service.token
        assert service.end()[0] == 0
    with running(tmp_path / "store") as service:
        assert service.token is None
        assert service.send(DRINKS, body)[1]["duplicate"] == 2
        service.token = token
        assert service.admin("GET", "/v1/collections")[0] == 200
        with pytest.raises(RuntimeError, match="in use by another process"):
            started(tmp_path / "store")
    with running(tmp_path / "store", "--new-token") as service:
        assert service.token not in (None, token)
        assert service.admin("GET", "/v1/collections")[0] == 200


def test_requests_under_way_are_answered_at_the_end(tmp_path, rng):
    with running(tmp_path / "store", "--collection", written(DRINKS, tmp_path)) as service:
        answers: list[int] = []
        bodies = [body_of([1], rng) for _ in range(5)]
        sending = [
            threading.Thread(target=lambda body: answers.append(service.send(DRINKS, body)[0]), args=(body,))
            for body in bodies
        ]
        with held_up(tmp_path / "store"):
            for thread in sending:
                thread.start()
            time.sleep(0.3)
            service.process.terminate()
            time.sleep(0.3)
            assert answers == []
        for thread in sending:
            thread.join()
        assert answers == [200] * 5
        assert service.process.wait(timeout=30) == 0
    store = SqliteStore(tmp_path / "store")
    assert (store.totals(DRINKS.id).accepted, store.problems()) == (5, [])
    store.end()


def test_too_much_at_once_is_turned_away_and_comes_again(tmp_path, rng):
    bodies = [body_of(rng.integers(0, 5, 4096), rng) for _ in range(50)]
    with running(tmp_path / "store", "--collection", written(DRINKS, tmp_path)) as service:
        answers: dict[int, tuple[int, dict[str, str]]] = {}

        def send(place: int) -> None:
            path = f"/v1/collections/{DRINKS.id}/reports"
            status, _, headers = service.ask("POST", path, bodies[place], **{"Content-Type": MEDIA_TYPE})
            answers[place] = status, headers

        sending = [threading.Thread(target=send, args=(place,)) for place in range(len(bodies))]
        with held_up(tmp_path / "store"):
            for thread in sending:
                thread.start()
            time.sleep(1.0)
        for thread in sending:
            thread.join()
        assert {status for status, _ in answers.values()} == {200, 429}
        assert all(headers["retry-after"] == "1" for status, headers in answers.values() if status == 429)
        for place, (status, _) in answers.items():
            accepted = service.send(DRINKS, bodies[place])[1]["accepted"]
            assert accepted == (0 if status == 200 else 4096)
        assert service.ask("GET", "/healthz")[0] == 200


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path, rng):
    with running(tmp_path / "store", "--collection", written(DRINKS, tmp_path)) as service:
        before = body_of(rng.integers(0, 5, 100), rng)
        assert service.send(DRINKS, before)[0] == 200
        room = (tmp_path / "store-wal").stat().st_size
        limit = resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        later = [body_of(rng.integers(0, 5, 100), rng) for _ in range(3)]
        for body in later:
            status, answer = service.send(DRINKS, body)
            assert (status, "disk is full" in answer["error"]) == (507, True)
            assert str(tmp_path) not in answer["error"]
        assert service.ask("GET", "/healthz")[0] == 507
        assert service.send(DRINKS, before)[0] in (200, 507)
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, limit)
        for body in later:
            assert service.send(DRINKS, body) == (200, {"accepted": 100, "duplicate": 0, "invalid": 0})
        assert service.send(DRINKS, before)[1]["duplicate"] == 100
        assert service.ask("GET", "/healthz")[0] == 200
        assert service.end()[0] == 0
    store = SqliteStore(tmp_path / "store")
    assert (store.totals(DRINKS.id).accepted, store.problems()) == (400, [])
    store.end()


def test_a_start_on_a_full_disk_is_refused_in_words(tmp_path):
    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    with pytest.raises(RuntimeError, match="is full"):
        started(tmp_path / "store", preexec_fn=no_room)


@pytest.mark.parametrize("damage", ["cut", "other", "rolled back"])
def test_a_damaged_store_is_refused_by_the_service(damage, tmp_path):
    path = tmp_path / "store"
    store = SqliteStore(path)
    old = path.read_bytes()
    store.create(DRINKS.canonical)
    store.end()
    content = path.read_bytes()
    path.write_bytes({"cut": content[:3000], "other": b"no store", "rolled back": old}[damage])
    done = subprocess.run([*RUN, "--store", str(path)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("entropie: ")
    assert done.stderr.count("\n") == 1
    assert path.read_bytes() != content


def test_a_port_that_is_taken(service, tmp_path):
    command = [*RUN, "--store", str(tmp_path / "s"), "--port", str(service.port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "cannot listen" in done.stderr
    assert not list(tmp_path.iterdir())


def test_processes_share_a_database(postgres, tmp_path, rng):
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS entropie_collector CASCADE")
    with running(postgres, "--collection", written(DRINKS, tmp_path)) as one, running(postgres) as other:
        bodies = [body_of(rng.integers(0, 5, 50), rng) for _ in range(20)]
        accepted = []

        def send(service: Running) -> None:
            accepted.extend(service.send(DRINKS, body)[1]["accepted"] for body in bodies)

        sending = [threading.Thread(target=send, args=(service,)) for service in (one, other)]
        for thread in sending:
            thread.start()
        for thread in sending:
            thread.join()
        assert sum(accepted) == 1000
        other.token = one.token
        _, found = other.admin("GET", f"/v1/collections/{DRINKS.id}/export")
        assert found["reports"] == 1000
        later = fresh(one)
        time.sleep(1.1)
        assert other.send(later, bodies[0])[0] == 200
        one.admin("POST", f"/v1/collections/{later.id}/close")
        assert other.send(later, bodies[1])[0] == 410
        assert (one.end()[0], other.end()[0]) == (0, 0)
    done = subprocess.run([sys.executable, "-m", "entropie", "doctor", postgres], capture_output=True, text=True)
    assert (done.returncode, done.stdout[:4]) == (0, "PASS")


def simulated(service: Running, collection, truth: np.ndarray, rng) -> None:
    """Simulated devices answer over HTTP."""
    cells = honest_cells(collection, truth, rng)
    for begin in range(0, len(cells), 4096):
        status, answer = service.send(collection, body_of(cells[begin : begin + 4096], rng))
        assert (status, answer["duplicate"], answer["invalid"]) == (200, 0, 0)


def inside(service: Running, collection, shares: np.ndarray) -> np.ndarray:
    _, found = service.admin("GET", f"/v1/collections/{collection.id}/estimates")
    assert len(found["shown"]) == len(shares)
    return np.array([one["low"] <= shares[one["code"]] <= one["high"] for one in found["shown"]])


def test_estimates_through_http_hold_the_truth(service, rng):
    """5 collections of 60 items, 6,000 devices each: 93 % of 300 items is 2 standard deviations below 95 %."""
    held, wrong = [], []
    for place in range(5):
        maker = made.drinks(items=60, epsilon=3.0) if place % 2 else made.places(size=60, pool=4096)
        collection = made.fixed(maker, seed=rng.bytes(32).hex())
        service.admin("POST", "/v1/collections", collection.canonical)
        shares = rng.dirichlet(np.full(60, 0.3))
        truth = rng.choice(60, 6_000, p=shares).astype(np.uint64)
        simulated(service, collection, truth, rng)
        held.append(inside(service, collection, shares))
        wrong.append(inside(service, collection, np.roll(shares, 1)))
    assert np.concatenate(held).mean() >= 0.93
    assert np.concatenate(wrong).mean() < 0.93  # the same test sees that these are other items' shares


@pytest.mark.parametrize("maker", [lambda: made.drinks(items=10), lambda: made.places(size=50, pool=4096)])
def test_poisoning_moves_an_estimate_by_its_bound_and_no_more(service, maker, rng):
    honest, fake = 4_000, 200
    collection = made.fixed(maker(), seed=rng.bytes(32).hex())
    service.admin("POST", "/v1/collections", collection.canonical)
    size = collection.device.domain_size
    simulated(service, collection, rng.integers(0, size, honest, dtype=np.uint64), rng)

    def estimates() -> dict[int, float]:
        _, found = service.admin("GET", f"/v1/collections/{collection.id}/estimates")
        return {one["code"]: one["share"] for one in found["shown"]}

    before = estimates()
    forged = [
        int.from_bytes(entropie.collector.device.report(always_true(collection), 3)[16:], "big") for _ in range(fake)
    ]
    service.send(collection, body_of(forged, rng))
    after = estimates()
    bound = collection.influence(fake, honest + fake)
    moved = {code: after[code] - before[code] for code in before}
    assert max(abs(one) for one in moved.values()) <= bound * (1 + 1e-9)
    assert moved[3] > 0.5 * bound  # forged reports that name an item do move it
    _, risk = service.admin("GET", f"/v1/collections/{collection.id}/risk")
    assert risk["influence"]["one_report"] == pytest.approx(collection.influence(1, honest + fake))


def always_true(collection):
    """The same collection with devices that never lie: what an attacker sends to push an item."""
    fields = json.loads(collection.canonical)["mechanism"]
    return made.fixed(collection, seed=collection.seed, mechanism={**fields, "theta_numerator": str(2**64)})


def test_the_documents_describe_what_is_there(service):
    _, public, _ = service.ask("GET", "/openapi.json")
    assert public == openapi.public_document()
    _, content, _ = asked(service.admin_port, "GET", "/openapi.json", None, {})
    paths = json.loads(content)["paths"]
    for path, methods in paths.items():
        for method in methods:
            if path != "/metrics" and not path.endswith("close"):
                status, _ = service.admin(method.upper(), path.replace("{id}", PLACES.id), PLACES.canonical)
                assert status == 200, path


def test_a_device_keeps_its_answer_while_the_service_is_away(tmp_path, monkeypatch):
    monkeypatch.setattr("entropie.collector.client.sleep", lambda _: None)
    service = started(tmp_path / "store", "--collection", written(DRINKS, tmp_path))
    client = entropie.Client(service.url(DRINKS), tmp_path / "ledger", ANYTHING, attempts=2)
    assert service.end()[0] == 0
    with pytest.raises(NotSent):
        client.report("drink 1")
    with running(tmp_path / "store", "--port", str(service.port)):
        assert client.send() == 1
    store = SqliteStore(tmp_path / "store")
    assert store.totals(DRINKS.id).accepted == 1
    store.end()
