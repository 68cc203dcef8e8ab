"""A real service in a process of its own, on loopback, and a client for it that keeps its connection."""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from entropie.collector.document import Collection
from entropie.collector.wire import MEDIA_TYPE, encode_many

RUN = [sys.executable, "-m", "entropie", "serve", "--port", "0", "--admin-port", "0"]


def altered(statements: str) -> list[str]:
    """The same, after these statements: limits that a test can reach."""
    return [sys.executable, "-c", f"{statements}; from entropie.cli import start; start()", *RUN[3:]]


@dataclass
class Running:
    """A service that has said where it listens."""

    process: subprocess.Popen[str]
    port: int
    admin_port: int
    token: str | None

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        return asked(self.port, method, path, body, headers)

    def admin(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
        status, content, _ = asked(self.admin_port, method, path, body, {"Authorization": f"Bearer {self.token}"})
        return status, json.loads(content)

    def send(self, collection: Collection, body: bytes) -> tuple[int, Any]:
        path = f"/v1/collections/{collection.id}/reports"
        status, content, _ = asked(self.port, "POST", path, body, {"Content-Type": MEDIA_TYPE})
        return status, json.loads(content)

    def url(self, collection: Collection) -> str:
        return f"http://127.0.0.1:{self.port}/v1/collections/{collection.id}"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> tuple[int, str]:
        """End it as a system does; its exit code and what it said on standard error."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said


def asked(port: int, method: str, path: str, body: bytes | None, headers: Any) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def _die_with_parent() -> None:
    """Let the service end with the tests, also where these are killed (Linux)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background ignores it
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def started(store: str | Path, *more: str, **settings: Any) -> Running:
    """Start a service and wait until it listens."""
    before = settings.pop("preexec_fn", lambda: None)
    process = subprocess.Popen(
        [*settings.pop("run", RUN), "--store", str(store), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: (_die_with_parent(), before()),
        **settings,
    )
    assert process.stdout is not None
    found: dict[str, str] = {}
    for line in process.stdout:
        if match := re.fullmatch(
            r"(Reports|Admin|Admin token, shown this once): (?:http://127\.0\.0\.1:)?(\S+)\n", line
        ):
            found[match[1]] = match[2]
        if "Admin" in found:
            return Running(
                process, int(found["Reports"]), int(found["Admin"]), found.get("Admin token, shown this once")
            )
    _, said = process.communicate()
    raise RuntimeError(said.strip())


@contextlib.contextmanager
def running(store: str | Path, *more: str, **settings: Any) -> Iterator[Running]:
    service = started(store, *more, **settings)
    try:
        yield service
    finally:
        service.kill()
        for stream in (service.process.stdout, service.process.stderr):
            if stream is not None:
                stream.close()


def written(collection: Collection, folder: Path) -> str:
    """The file of a collection document."""
    path = folder / f"{collection.id[:8]}.json"
    path.write_bytes(collection.canonical)
    return str(path)


def body_of(cells: Any, rng: np.random.Generator) -> bytes:
    """Records of these cells, each with a nonce of its own."""
    numbers = np.asarray(cells, np.uint64)
    return encode_many(np.frombuffer(rng.bytes(16 * len(numbers)), np.uint8).reshape(-1, 16), numbers)


@contextlib.contextmanager
def held_up(path: Path):
    """The store's disk is slow: nothing can be written while the block runs."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()
