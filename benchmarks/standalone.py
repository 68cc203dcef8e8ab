"""A Spark cluster of processes on this machine, from the installed PySpark: for trying out, measuring and testing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from entropie.errors import InvalidInput

__all__ = ["Standalone"]

_PATIENCE_SECONDS = 180


class Standalone:
    """A master and workers of one core each, all on loopback, on ports that are free; a context that ends them.

    with Standalone(folder, workers=2) as cluster:
        spark = connect(cluster.master)
    """

    def __init__(self, folder: Path, workers: int = 2, memory: str = "1g") -> None:
        import pyspark

        self._home = Path(pyspark.__file__).parent
        self.folder = folder
        self._memory = memory
        self._workers = workers
        self._started = 0
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._log = self._start("master", "org.apache.spark.deploy.master.Master", "--webui-port", "0")
        try:
            found = _awaited(lambda: re.search(r"spark://127\.0\.0\.1:\d+", self._log.read_text()), self._log)
            self.master: str = found[0]
            self.mend()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Standalone:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def mend(self) -> None:
        """Start workers in place of those that were killed."""
        while len(self._processes) <= self._workers:
            self.add_worker()

    def add_worker(self) -> None:
        """Start one more worker, and wait until the master knows it."""
        known = self._registered()
        name = f"worker{self._started}"
        options = ("--cores", "1", "--memory", self._memory, "--work-dir", str(self.folder / name))
        self._start(name, "org.apache.spark.deploy.worker.Worker", "--webui-port", "0", *options, self.master)
        _awaited(lambda: self._registered() > known, self._log)

    def kill_worker(self) -> None:
        """Kill a worker and all it runs, without a word."""
        name = next(name for name in self._processes if name.startswith("worker"))
        _end(self._processes.pop(name), signal.SIGKILL)

    def stop(self) -> None:
        """End every process that was started."""
        while self._processes:
            _end(self._processes.popitem()[1], signal.SIGTERM)

    def _registered(self) -> int:
        return self._log.read_text().count("Registering worker")

    def _start(self, name: str, kind: str, *options: str) -> Path:
        self._started += 1
        log = self.folder / f"{name}.log"
        environment = {
            **os.environ,
            "SPARK_HOME": str(self._home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-Dspark.master.rest.enabled=false",
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [str(self._home / "bin" / "spark-class"), kind, "--host", "127.0.0.1", "--port", "0", *options]
        with log.open("wb") as said:
            self._processes[name] = subprocess.Popen(
                command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, env=environment, start_new_session=True
            )
        return log


def _end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    try:
        os.killpg(process.pid, how)
        process.wait(20)
    except ProcessLookupError:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(20)


def _awaited(look: Callable[[], Any], log: Path) -> Any:
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < give_up:
        if found := look():
            return found
        time.sleep(0.2)
    raise InvalidInput(f"The cluster did not start; {log} says: {log.read_text()[-500:]}")
