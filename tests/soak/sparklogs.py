"""What Spark's logs, event logs and folders hold of people: `scripts/soak sparklogs`.

A session that the program starts is made to log all that it can, and to write its event log; events with ids that can be
recognised go through it in files and as a table, well and badly. Nothing that lies beside the events may hold an id in
the clear, while it runs or afterwards. A session that is asked for a person by name, and one that does not encrypt what it
writes, show that an id would be found.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

MARKS = b"pii7f3a", b"plc9e2b"
LOGGING = """rootLogger.level = {level}
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {folder}/logs/spark.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c: %m%n%ex
"""
SETTINGS = """spark.eventLog.enabled true
spark.eventLog.compress false
spark.eventLog.dir file://{folder}/logs
"""
TRIALS = ("INFO", "DEBUG", "INFO, asked for a person", "INFO, not encrypted")


class Watcher:
    """Looks again and again through the files of some folders, those too that go again."""

    def __init__(self, *folders: Path) -> None:
        self.folders, self.sizes, self.found = folders, {}, {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.1):
            self.look()

    def look(self) -> None:
        for path in (path for folder in self.folders for path in folder.rglob("*")):
            try:
                if path.is_file() and path.stat().st_size != self.sizes.get(path):
                    data = path.read_bytes()
                    self.sizes[path], self.found[path] = len(data), any(mark in data for mark in MARKS)
            except OSError:  # gone
                continue

    def end(self) -> None:
        self._stop.set()
        self._thread.join()
        self.look()


def one(trial: str, folder: Path) -> None:
    """A session, in a process of its own; prints a row of the table."""
    level, _, more = trial.partition(", ")
    places = {name: folder / name for name in ("local", "conf", "logs", "tmp")}
    for place in places.values():
        place.mkdir()
    (places["conf"] / "log4j2.properties").write_text(LOGGING.format(level=level, folder=folder))
    (places["conf"] / "spark-defaults.conf").write_text(SETTINGS.format(folder=folder))
    os.environ |= {
        "SPARK_CONF_DIR": str(places["conf"]),
        "SPARK_LOCAL_DIRS": str(places["local"]),
        "TMPDIR": str(places["tmp"]),
    }
    rng, rows = np.random.default_rng(0), 24 * 30
    people, items = (
        [f"pii7f3a-{row // 30}" for row in range(rows)],
        [f"plc9e2b-{one}" for one in rng.integers(0, 40, rows)],
    )
    events = pa.table({"user": people, "item": items, "time": 1_500_000_000 + rng.integers(0, 10**6, rows)})
    pq.write_table(events, folder / "e.parquet")
    pa_csv.write_csv(events, folder / "e.csv")
    pa_csv.write_csv(events.set_column(2, "time", pa.array(people)), folder / "bad.csv")
    watcher = Watcher(places["local"], places["logs"], places["tmp"])
    try:
        _worked(level, more, folder)
    finally:
        watcher.end()
    logged = sum(size for path, size in watcher.sizes.items() if path.parts[len(folder.parts)] == "logs")
    held = [path for path, found in watcher.found.items() if found]
    print(f"| {trial} | {logged / 1e6:.1f} | {len(watcher.sizes)} | {len(held)} |")
    for path in held if not more else []:
        print(f"soak: {path.relative_to(folder)}", file=sys.stderr)
    sys.exit(bool(held) != bool(more))


def _worked(level: str, more: str, folder: Path) -> None:
    import pyspark

    import entropie
    from entropie.engine.spark import session
    from entropie.errors import InvalidInput

    set_level, settings = pyspark.SparkContext.setLogLevel, session.settings

    def loud(context: Any, _: str) -> None:
        set_level(context, level)

    def changed(*given: Any, **named: Any) -> dict[str, str]:
        encrypted = {} if more != "not encrypted" else {"spark.io.encryption.enabled": "false"}
        return {**settings(*given, **named), "spark.log.level": level, **encrypted}

    pyspark.SparkContext.setLogLevel, session.settings = loud, changed  # type: ignore[method-assign]
    spark = session.connect("local[2]")
    named = {"user": "user", "item": "item", "time": "time", "matchers": ["visit"], "control": False}
    table = spark.read.parquet(f"file://{folder}/e.parquet")
    if more == "asked for a person":
        assert table.filter("user = 'pii7f3a-3'").count() == 30
        return
    entropie.assess(table, **named)
    if not more:
        run: Callable[..., Any] = entropie.assess
        for file in ("e.parquet", "e.csv", "bad.csv"):
            refused = contextlib.suppress(InvalidInput) if file == "bad.csv" else contextlib.nullcontext()
            with refused:
                run(str(folder / file), engine="spark", master="local[2]", **named)
    spark.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--one", choices=TRIALS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(given.one, given.folder)
    print("| session | MB logged | files looked at | with an id |\n|---|---:|---:|---:|", flush=True)
    codes = []
    for trial in TRIALS:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--one", trial, "--folder", folder]
            codes.append(subprocess.run(command, check=False, timeout=600).returncode)
    print(f"\n{len(codes)} sessions, {sum(map(bool, codes))} broken promises.")
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
