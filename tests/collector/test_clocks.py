"""A real service whose wall clock jumps while devices report: what is counted is what was confirmed."""

from __future__ import annotations

import datetime
import json
import shutil
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import collector_made as made
import numpy as np
import pytest
from collector_kills import Sender
from collector_running import Running, altered, asked, body_of, running, written

NOW = datetime.datetime.now(datetime.UTC)
OPEN = made.fixed(
    made.drinks(people=1_000_000),
    opens=str(NOW.date() - datetime.timedelta(30)),
    closes=str(NOW.date() + datetime.timedelta(30)),
)
LOOKING = altered("import entropie.collector.service as s; s._WATCH_SECONDS, s._LOOKS_OVER = 0.01, 30")
"""Looks at the collections every 0.01 seconds; over is what was over at more than 30 looks, which take at least 0.3."""


class Clock:
    """The clock of the service: so far from ours, or standing still at a moment."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.write_bytes(bytes(16))
        self.seconds = 0

    def apart(self, hours: int) -> None:
        """Go on, so many hours from ours."""
        self._say(3600 * hours, 0)

    def still(self) -> None:
        """Stand."""
        self._say(0, int(time.time()))

    def _say(self, seconds: int, moment: int) -> None:
        self.seconds = seconds
        with self.file.open("r+b", buffering=0) as file:  # in place: the service has mapped it
            file.write(struct.pack("@ll", seconds, moment))

    @property
    def hour(self) -> int:
        return int((time.time() + self.seconds) // 3600)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("there is no C compiler for another clock; run: apt-get install gcc libc6-dev")
    made = tmp_path_factory.mktemp("clock") / "clock.so"
    source = Path(__file__).with_name("clock.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O", "-Wall", "-Werror", "-o", made, source], check=True, timeout=60)
    return made


@pytest.fixture
def jumping(library: Path, tmp_path: Path) -> Iterator[tuple[Running, Clock]]:
    clock = Clock(tmp_path / "clock")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(library))
        patch.setenv("TEST_CLOCK", str(clock.file))
        context = running(tmp_path / "store", "--collection", written(OPEN, tmp_path), run=LOOKING)
        service = context.__enter__()
    try:
        yield service, clock
    finally:
        context.__exit__(None, None, None)


def seen(service: Running) -> dict[str, object]:
    """The page of the collection as people see it; the page itself and the list must be there too."""
    cookie = {"Cookie": f"entropie={service.token}"}
    status, found = service.admin("GET", f"/v1/collections/{OPEN.id}/status")
    assert (status, service.admin("GET", "/v1/collections")[0]) == (200, 200)
    assert asked(service.admin_port, "GET", "/", None, cookie)[0] in (200, 303)
    return found


def hours_of(found: dict) -> list[int]:
    texts = [datetime.datetime.fromisoformat(one["hour"]) for one in found["hours"]]
    return [int(text.replace(tzinfo=datetime.UTC).timestamp() // 3600) for text in texts]


def test_reports_under_a_clock_that_jumps(jumping, tmp_path):
    service, clock = jumping
    stop = threading.Event()
    devices = [Sender(service.port, OPEN, seed, 5, stop) for seed in (1, 2)]
    threads = [threading.Thread(target=device.run) for device in devices]
    again = body_of(range(5), np.random.default_rng(3))
    assert service.send(OPEN, again)[1]["accepted"] == 5
    for thread in threads:
        thread.start()
    try:
        for hours in (72, 71, -6, -24 * 20, None, 5):
            clock.still() if hours is None else clock.apart(hours)
            time.sleep(0.06)
            before, confirmed = clock.hour, sum(device.cells.total() for device in devices)
            assert service.send(OPEN, again)[1] == {"accepted": 0, "duplicate": 5, "invalid": 0}
            found = seen(service)
            assert found["came"]["reports"] >= confirmed + 5
            assert not found["asked"]["closed"]
            shown = hours_of(found)
            assert shown == sorted(set(shown))
            assert before in shown
            assert max(shown) <= clock.hour
            raised = {one["kind"] for one in found["alerts"] if one["level"] != "note"}
            assert raised <= {"volume"}  # days that passed at once had no reports
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    confirmed = sum((device.cells for device in devices), Counter(range(5)))
    _, export = service.admin("GET", f"/v1/collections/{OPEN.id}/export")
    assert Counter(dict(zip(export["cells"], export["counts"], strict=True))) == confirmed
    found = seen(service)
    assert (found["came"]["reports"], found["came"]["duplicate"]) == (confirmed.total(), 6 * 5)
    assert 0 < sum(one["accepted"] for one in found["hours"]) < confirmed.total()  # without those of other days
    assert service.end()[0] == 0
    assert doctor(tmp_path / "store") == 0


def test_a_clock_past_the_end_for_a_moment_closes_nothing(jumping, tmp_path):
    service, clock = jumping
    body = body_of(range(5), np.random.default_rng(4))
    clock.apart(24 * 60)
    assert service.send(OPEN, body)[0] == 410  # a client keeps what was not taken
    time.sleep(0.1)
    clock.apart(-24 * 60)
    assert service.send(OPEN, body)[0] == 410
    clock.apart(0)
    assert service.send(OPEN, body) == (200, {"accepted": 5, "duplicate": 0, "invalid": 0})
    clock.apart(24 * 60)
    for _ in range(200):  # what stays over is closed
        if closed := seen(service)["asked"]["closed"]:
            break
        time.sleep(0.05)
    assert closed
    clock.apart(0)
    assert service.send(OPEN, body)[0] == 410
    assert seen(service)["came"]["reports"] == 5
    code, _ = service.end()
    assert (code, doctor(tmp_path / "store")) == (0, 0)


def doctor(store: Path) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "entropie", "doctor", str(store), "--json"], capture_output=True, check=False
    )
    assert json.loads(done.stdout), done.stderr
    return done.returncode
