"""Whatever is sent: no answer of the 500s, no change by what is refused, and only answers that are described."""

from __future__ import annotations

import http.client
import json

import collector_made as made
import pytest
import schemathesis
from collector_running import running, written
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import positive_data_acceptance

from entropie.collector.sqlite_store import SqliteStore
from entropie.collector.wire import MEDIA_TYPE

DRINKS = made.drinks()
QUICK = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
FEW_NONCES = st.sampled_from([bytes([one]) * 16 for one in range(3)])
RECORDS = st.builds(
    lambda nonce, cell: nonce + cell.to_bytes(8, "big"),
    FEW_NONCES
    | st.randoms(use_true_random=False).map(lambda rng: rng.randbytes(16))
    | st.binary(min_size=16, max_size=16),
    st.integers(0, 4) | st.integers(0, 6) | st.integers(0, 2**64 - 1),
)
BODIES = st.lists(RECORDS, max_size=12).map(b"".join) | st.binary(max_size=100)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "store"


@pytest.fixture(scope="module")
def service(path):
    with running(path, "--collection", written(DRINKS, path.parent)) as one:
        yield one


def model(body: bytes, seen: set[bytes], cells: dict[int, int]) -> dict[str, int] | None:
    """What must come of a body, by the words of the wire form alone; None: it is refused."""
    if not body or len(body) % 24:
        return None
    told = {"accepted": 0, "duplicate": 0, "invalid": 0}
    for place in range(0, len(body), 24):
        nonce, cell = body[place : place + 16], int.from_bytes(body[place + 16 : place + 24], "big")
        if cell >= 5:
            told["invalid"] += 1
        elif nonce in seen:
            told["duplicate"] += 1
        else:
            told["accepted"] += 1
            seen.add(nonce)
            cells[cell] = cells.get(cell, 0) + 1
    return told


def test_any_bytes(service, path):
    link = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
    reader = SqliteStore(path, "reading")
    seen: set[bytes] = set()
    cells: dict[int, int] = {}

    @QUICK
    @given(BODIES, st.sampled_from([MEDIA_TYPE, MEDIA_TYPE, MEDIA_TYPE, "application/json", ""]))
    def send(body: bytes, kind: str) -> None:
        link.request("POST", f"/v1/collections/{DRINKS.id}/reports", body, {"Content-Type": kind})
        answer = link.getresponse()
        content = json.loads(answer.read())
        expected = model(body, seen, cells) if kind == MEDIA_TYPE else None
        if expected is None:
            assert answer.status == (400 if kind == MEDIA_TYPE else 415)
        else:
            assert (answer.status, content) == (200, expected)
        counts = reader.counts(DRINKS.id)
        assert dict(zip(counts.cells.tolist(), counts.counts.tolist(), strict=True)) == cells

    send()
    link.close()
    reader.end()
    assert len(seen) > 10


@pytest.mark.parametrize("which", ["public", "admin"])
def test_only_answers_that_are_described(service, which):
    """Requests made from the documents themselves, right and wrong ones."""
    port = service.port if which == "public" else service.admin_port
    headers = {"Authorization": f"Bearer {service.token}"} if which == "admin" else {}
    schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{port}/openapi.json")
    tried, statuses = 0, set()
    for operation in schema.get_all_operations():

        @settings(QUICK, max_examples=8)
        @given(case=operation.ok().as_strategy())
        def ask(case) -> None:
            nonlocal tried
            if "id" in (case.path_parameters or {}) and tried % 2:
                case.path_parameters["id"] = DRINKS.id
            answer = case.call(headers=headers)
            statuses.add(answer.status_code)
            assert answer.status_code < 500
            case.validate_response(answer, excluded_checks=[positive_data_acceptance])  # no schema says "canonical"
            tried += 1

        ask()
    assert tried > 10
    assert statuses >= ({200, 400, 404} if which == "public" else {200, 404})
    assert service.ask("GET", "/healthz")[0] == 200
