"""What Spark costs on one machine: reading, scoring against the local engine's, the driver's memory, time by blocks.

    scripts/bench spark                    all tables, about a quarter of an hour on two cores
    scripts/bench spark --part reading     one of reading (two minutes), overhead, driver, blocks, rates

A standalone master and two workers of one core each run on loopback; the local engine has the same two cores. Every
row is a process of its own. Events are drawn: 24 per person, items by a Zipf law, a person returning to her own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

EVENTS = 24
COLUMNS = {"user": "user", "item": "item", "time": "time"}


def write_events(path: Path, users: int) -> None:
    """Draw events and write them as Parquet, 100,000 people at a time."""
    rng = np.random.default_rng(7)
    schema = pa.schema([("user", pa.int64()), ("item", pa.int64()), ("time", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, users, 100_000):
            people = min(100_000, users - begin)
            item = rng.zipf(1.2, (people, EVENTS)) % 500_000
            step = np.arange(EVENTS)
            earlier = (rng.random((people, EVENTS)) * np.maximum(step, 1)).astype(np.int64)
            again = (rng.random((people, EVENTS)) < 0.5) & (step > 0)
            item = np.where(again, np.take_along_axis(item, earlier, axis=1), item)
            user = np.repeat(np.arange(begin, begin + people), EVENTS)
            when = np.tile(step, people) + 1_400_000_000
            writer.write_table(pa.table({"user": user, "item": item.ravel(), "time": when}, schema=schema))


def peak_bytes(process: int | str = "self") -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


def local(path: str, matcher: str) -> dict[str, Any]:
    """Read, build models, score all pairs and measure, as `assess` does on this machine."""
    from entropie.attack.measured import Models
    from entropie.data.prepare import prepare
    from entropie.engine.local import LocalEngine
    from entropie.plan.plan import Counts, plan_of
    from entropie.request import Attackers, Request, Source

    begun = time.perf_counter()
    prepared = prepare(Request.of(path, COLUMNS))
    read = time.perf_counter()
    request = Request(Source(), attackers=Attackers((matcher,), (), control=False))
    engine = LocalEngine.of(prepared.split, request.run)
    plan = plan_of(request, Counts.of(prepared.split))
    Models.of(matcher, prepared.split.train, prepared.split.target)
    built = time.perf_counter()
    found = engine.execute(plan).attacks[0].measures
    done = time.perf_counter()
    models = built - read
    return {
        "read_seconds": read - begun,
        "models_seconds": models,
        "scoring_seconds": done - built - models,  # `execute` builds the models once more
        "error": found.identification_error.value if found.identification_error else None,
        "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def on_spark(path: str, matcher: str, block_users: int | None, memory: str | None) -> dict[str, Any]:
    """The same on a cluster of two workers; seconds by stage, and the driver's memory."""
    from standalone import Standalone

    from entropie.assessment import assess
    from entropie.engine.spark import connect

    stages: dict[str, float] = {}
    running: list[Any] = ["", time.perf_counter()]

    def tell(stage: str, share: float) -> None:
        now = time.perf_counter()
        name = stage.split(" ")[0]
        if name != running[0]:
            running[:] = [name, now]
        stages[name] = stages.get(name, 0.0) + now - running[1]
        running[1] = now
        if name == "scoring":
            stages["cells"] = float(stage.split(" ")[1])

    with tempfile.TemporaryDirectory() as folder, Standalone(Path(folder), workers=2, memory="3g") as cluster:
        os.environ["PYSPARK_SUBMIT_ARGS"] = "--driver-memory 512m pyspark-shell"
        spark = connect(cluster.master, memory="2g")
        options: dict[str, Any] = {**COLUMNS, "matchers": [matcher], "known_events": (), "control": False}
        cut: dict[str, Any] = {"block_users": block_users, "memory": memory}
        begun = time.perf_counter()
        found = assess(path, engine="spark", spark=spark, progress=tell, **options, **cut)
        seconds = time.perf_counter() - begun
        java: Any = spark.sparkContext._jvm
        pid = int(java.java.lang.ProcessHandle.current().pid())
        driver = {"python_bytes": peak_bytes(), "java_bytes": peak_bytes(pid)}
        error = found.attacks[0].error
        core_seconds = found.attacks[0].seconds
        spark.stop()
    return {"seconds": seconds, "stages": stages, "error": error, "core_seconds": core_seconds, **driver}


def core_seconds() -> float:
    """CPU time of this process and all that it started: driver, workers, executors and their Python processes."""
    spent: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # ended meanwhile
                continue
            spent[int(entry.name)] = sum(map(int, fields[11:15]))
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    waiting, total = [os.getpid()], 0
    while waiting:
        process = waiting.pop()
        total += spent.get(process, 0)
        waiting += children.get(process, [])
    return total / os.sysconf("SC_CLK_TCK")


def reading(tiny: str, path: str) -> dict[str, Any]:
    """A run on tiny data, and reading many events; both in a session that ran the same before."""
    from standalone import Standalone

    from entropie.assessment import assess
    from entropie.engine.spark import connect
    from entropie.engine.spark.encoding import ingest
    from entropie.request import Request

    with tempfile.TemporaryDirectory() as folder, Standalone(Path(folder), workers=2, memory="3g") as cluster:
        spark = connect(cluster.master, memory="2g")
        options: dict[str, Any] = {**COLUMNS, "matchers": ["markov"], "known_events": (), "control": False}
        fixed: list[dict[str, float]] = []
        for _ in range(2):
            begun, spent = time.perf_counter(), core_seconds()
            assess(tiny, engine="spark", spark=spark, **options)
            fixed.append({"seconds": time.perf_counter() - begun, "core_seconds": core_seconds() - spent})
        jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup(None)) / 2
        begun, spent = time.perf_counter(), core_seconds()
        people = ingest(spark, Request.of(path, COLUMNS))
        read = {"seconds": time.perf_counter() - begun, "core_seconds": core_seconds() - spent}
        people.release()
        spark.stop()
    return {"fixed": fixed, "jobs": jobs, "read": read, "events": people.facts["events"]}


def reading_table(folder: Path, users: int) -> None:
    """The fixed cost of a run, and the core time of an event."""
    tiny, path = folder / "tiny.parquet", folder / f"{users}.parquet"
    write_events(tiny, 300)
    if not path.exists():
        write_events(path, users)
    row = child("--one", "reading", "--file", str(path), "--tiny", str(tiny))
    print("\n| what | seconds | core seconds |\n|---|---|---|")
    for name, spent in zip(("300 people, first run of a session", "... once more"), row["fixed"], strict=True):
        print(f"| {name} ({row['jobs']:.0f} jobs) | {spent['seconds']:.1f} | {spent['core_seconds']:.1f} |")
    read, events = row["read"], row["events"]
    each = (read["core_seconds"]) / events * 1e6
    print(f"| reading {events:,} events | {read['seconds']:.1f} | {read['core_seconds']:.1f}, {each:.1f} us an event |")


def rates(path: str, matcher: str) -> dict[str, Any]:
    """What one core takes to score: seconds, matched pairs, entries of the rows."""
    from entropie.attack.matchers import matcher as find
    from entropie.attack.scoring import attack
    from entropie.attack.scoring import prepare as index_of
    from entropie.data.prepare import prepare
    from entropie.request import Request

    split = prepare(Request.of(path, COLUMNS)).split
    matching = find(matcher)(split.train, split.target)
    index, targets = index_of(matching)
    matched = int(np.diff(index.starts)[targets.features].sum())
    attack(matching, threads=1)  # compiles
    begun = time.perf_counter()
    attack(matching, threads=1)
    seconds = time.perf_counter() - begun
    users, distinct = split.train.users, _distinct(split.train)
    return {
        "users": users,
        "seconds": seconds,
        "matched": matched,
        "distinct": distinct,
        "user_entries": matching.users.features.size / distinct,
        "target_entries": matching.targets.features.size / _distinct(split.target),
        "sharing": _sharing(split.train, split.target),
    }


def _distinct(traces: Any) -> int:
    from entropie.attack.features import item_rows

    return int(item_rows(traces).features.size)


def _sharing(train: Any, target: Any) -> float:
    """People who have the item of a target's distinct item in training, on average."""
    from entropie.attack.features import item_rows

    return float(item_rows(train).holders()[item_rows(target).features].mean())


def rates_table(folder: Path, users: int = 24_000) -> None:
    """Time of one core per matched pair."""
    path = folder / f"{users}.parquet"
    write_events(path, users)
    print(
        "\n| matcher | reach | ns per matched pair | entries of a person | of a target |\n|---|---|---|---|---|",
        flush=True,
    )
    for matcher in ("markov", "visit", "tfidf", "cosine", "bayes", "pitman_yor"):
        row = child("--one", "rates", "--file", str(path), "--matcher", matcher)
        reach = row["matched"] / (row["distinct"] * row["sharing"])
        each = row["seconds"] / row["matched"] * 1e9
        print(
            f"| {matcher} | {reach:.2f} | {each:.1f} | {row['user_entries']:.2f} | {row['target_entries']:.2f} |",
            flush=True,
        )


def child(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def scoring_seconds(row: dict[str, Any]) -> float:
    return float(sum(row["stages"].get(name, 0.0) for name in ("own", "scoring")))


def overhead(folder: Path, users: int) -> None:
    """Spark's scoring against the local engine's, same data and same cores."""
    path = folder / f"{users}.parquet"
    write_events(path, users)
    print(f"\n{users:,} people x {EVENTS} events, two cores:\n")
    print("| matcher | local: scoring | Spark: own scores, cells, merging, measures | ratio | cells alone, per core |")
    print("|---|---|---|---|---|", flush=True)
    for matcher in ("markov",):
        here = child("--one", "local", "--file", str(path), "--matcher", matcher)
        there = child("--one", "spark", "--file", str(path), "--matcher", matcher)
        assert here["error"] == there["error"], (here, there)
        spent = scoring_seconds(there)
        print(
            f"| {matcher} | {here['scoring_seconds']:.1f} s | {spent:.1f} s | {spent / here['scoring_seconds']:.2f} "
            f"| {there['core_seconds'] / 2:.1f} s |",
            flush=True,
        )
        stages = ", ".join(f"{name} {value:.1f} s" for name, value in there["stages"].items() if name != "cells")
        print(
            f"<!-- {matcher}: local read {here['read_seconds']:.1f} s, models {here['models_seconds']:.1f} s, "
            f"{here['bytes'] / 1e9:.2f} GB; Spark {stages}, whole {there['seconds']:.1f} s -->",
            flush=True,
        )


def driver(folder: Path) -> None:
    """The driver's peak memory as people are added."""
    print("\n| people | events | driver, Python | driver, Java (heap 512 MB) | whole run | scoring |")
    print("|---|---|---|---|---|---|", flush=True)
    for users in (50_000, 100_000, 200_000, 400_000):
        path = folder / f"{users}.parquet"
        if not path.exists():
            write_events(path, users)
        row = child("--one", "spark", "--file", str(path), "--matcher", "markov")
        print(
            f"| {users:,} | {users * EVENTS:,} | {row['python_bytes'] / 1e6:.0f} MB | {row['java_bytes'] / 1e6:.0f} MB "
            f"| {row['seconds']:.0f} s | {scoring_seconds(row):.0f} s |",
            flush=True,
        )


def blocks(folder: Path, users: int) -> None:
    """Time against the number of blocks."""
    path = folder / f"{users}.parquet"
    if not path.exists():
        write_events(path, users)
    print(f"\n{users:,} people, markov:\n\n| blocks | cells | scoring | cells alone, all cores |\n|---|---|---|---|")
    for count in (1, 2, 4):
        size = str(-(-users // count))
        row = child("--one", "spark", "--file", str(path), "--matcher", "markov", "--block-users", size)
        print(
            f"| {count} | {row['stages']['cells']:.0f} | {scoring_seconds(row):.1f} s | {row['core_seconds']:.1f} s |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["reading", "overhead", "driver", "blocks", "rates"], action="append")
    parser.add_argument("--users", type=int, default=200_000, help="people of the table of overhead")
    parser.add_argument("--one", choices=["local", "spark", "rates", "reading"], help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--tiny", help=argparse.SUPPRESS)
    parser.add_argument("--matcher", default="markov", help=argparse.SUPPRESS)
    parser.add_argument("--block-users", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one == "local":
        print(json.dumps(local(args.file, args.matcher)))
        return
    if args.one == "rates":
        print(json.dumps(rates(args.file, args.matcher)))
        return
    if args.one == "reading":
        print(json.dumps(reading(args.tiny, args.file)))
        return
    if args.one == "spark":
        print(json.dumps(on_spark(args.file, args.matcher, args.block_users, args.memory)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in args.part or ("reading", "overhead", "driver", "blocks", "rates"):
            if part == "reading":
                reading_table(folder, args.users)
            elif part == "overhead":
                overhead(folder, args.users)
            elif part == "rates":
                rates_table(folder)
            elif part == "driver":
                driver(folder)
            else:
                blocks(folder, 100_000)


if __name__ == "__main__":
    main()
