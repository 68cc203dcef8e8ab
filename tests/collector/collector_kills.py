"""A service that is killed or stopped at random moments while devices send and try again; used by tests and by the soak."""

from __future__ import annotations

import http.client
import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from collector_running import Running, body_of, started, written

from entropie.collector.document import Collection
from entropie.collector.wire import MEDIA_TYPE


@dataclass
class Sender:
    """Devices that send the same bytes until they are confirmed, then the next ones."""

    port: int
    collection: Collection
    seed: int
    size: int
    stop: threading.Event
    cells: Counter[int] = field(default_factory=Counter)
    """Cells of all reports that were confirmed."""
    tries: int = 0

    def run(self) -> None:
        rng = np.random.default_rng(self.seed)
        while not self.stop.is_set():
            cells = rng.integers(0, self.collection.cells, self.size)
            self.deliver(body_of(cells, rng))
            self.cells.update(cells.tolist())

    def deliver(self, body: bytes) -> None:
        while True:
            self.tries += 1
            link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            try:
                path = f"/v1/collections/{self.collection.id}/reports"
                link.request("POST", path, body, {"Content-Type": MEDIA_TYPE})
                answer = link.getresponse()
                content = answer.read()
                if answer.status == 200:
                    told = json.loads(content)
                    assert told["accepted"] + told["duplicate"] == self.size
                    return
                assert answer.status in (429, 503), content
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
            finally:
                link.close()


@dataclass
class Killed:
    """What came of it: reports confirmed, lost and counted twice, and tries that it took."""

    kills: int
    confirmed: int
    lost: int
    twice: int
    tries: int


def kill_often(
    store: str | Path,
    collection: Collection,
    folder: Path,
    kills: int,
    senders: int = 4,
    numbers: Sequence[signal.Signals] = (signal.SIGKILL,),
) -> Killed:
    """Kill the service so often, at random moments; then compare what it has counted with what it confirmed.

    Or stop it, by these signals in turn.
    """
    rng = np.random.default_rng(kills)
    service = started(store, "--collection", written(collection, folder))
    port, token, stop = service.port, service.token, threading.Event()
    devices = [Sender(port, collection, seed, 1 + 20 * (seed % 2), stop) for seed in range(senders)]
    threads = [threading.Thread(target=device.run) for device in devices]
    for thread in threads:
        thread.start()
    try:
        for place in range(kills):
            time.sleep(float(rng.uniform(0.0, 0.25)))
            dead(service, numbers[place % len(numbers)])
            service = started(store, "--port", str(port))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    service.token = token
    _, export = service.admin("GET", f"/v1/collections/{collection.id}/export")
    code, said = service.end()
    assert code == 0, said
    # These devices do try again, and a fast machine lets them send more than was declared: alerts are right.
    told = [line for line in said.splitlines() if not line.startswith("entropie: alert ")]
    assert told == [], told
    counted = Counter(dict(zip(export["cells"], export["counts"], strict=True)))
    confirmed = sum((device.cells for device in devices), Counter())
    lost, twice = (confirmed - counted).total(), (counted - confirmed).total()
    return Killed(kills, confirmed.total(), lost, twice, sum(device.tries for device in devices))


def dead(service: Running, number: signal.Signals) -> None:
    """End it by a signal; one that it hears ends it in order, and nothing but the store and its mark stays."""
    service.process.send_signal(number)
    _, said = service.process.communicate(timeout=60)
    assert service.process.returncode == (-9 if number == signal.SIGKILL else 0), said
    assert "Traceback" not in said, said
