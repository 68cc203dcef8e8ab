"""What `entropie plan` predicts against what a run takes: seconds and bytes of the same plan, at three sizes.

    scripts/bench plan                     all attacks on this machine, a few minutes on two cores
    scripts/bench plan --users 1000        one size
    scripts/bench plan --spark             also on a cluster of two workers, about ten minutes more

Every row is a process of its own. Core time is the processor time of the whole process, so that other work on the
machine hardly changes it. Events are drawn as in `scripts/bench spark`.
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

from spark import write_events

from entropie.data.split import Split

SIZES = (1_000, 6_000, 24_000)


def priced(split: Split, items: int, on_cluster: bool) -> Any:
    """The price of a run on these people: the same request, their own counts."""
    from entropie.attack.features import item_rows
    from entropie.plan.costs import price
    from entropie.plan.plan import Counts, plan_of
    from entropie.plan.sizes import Data, Machines
    from entropie.request import Attackers, Request, Run, Source

    train, target = item_rows(split.train), item_rows(split.target)
    sharing = float(train.holders()[target.features].mean())
    data = Data(Counts.of(split), items, sharing, train.features.size / split.train.events)
    if on_cluster:
        request = Request(Source(), attackers=Attackers(("markov",), (), False), run=Run(engine="spark"))
        machines = Machines(2, 1, 3e9)
        return price(plan_of(request, data.counts, machines.workers), data, machines)
    machines = Machines(1, os.cpu_count() or 1, 8e9)
    return price(plan_of(Request(Source()), data.counts), data, machines, on_cluster=False)


def split_of(path: str) -> tuple[Split, int]:
    from entropie.data.events import read_events
    from entropie.data.split import split_traces
    from entropie.request import Source

    traces = read_events(Source(path, user="user", item="item", time="time")).traces
    return split_traces(traces), traces.domain_size


def local(path: str) -> dict[str, Any]:
    """A whole run on this machine, then what was predicted for it."""
    import entropie

    begun = time.perf_counter()
    entropie.assess(path, user="user", item="item", time="time")
    seconds = time.perf_counter() - begun
    used = resource.getrusage(resource.RUSAGE_SELF)
    expected = priced(*split_of(path), on_cluster=False)
    return {
        "core_seconds": used.ru_utime + used.ru_stime,
        "seconds": seconds,
        "bytes": used.ru_maxrss * 1024,
        "predicted_core_seconds": 3600 * (expected.hours["start"] + sum(expected.core_hours.values())),
        "predicted_seconds": 3600 * expected.total_hours,
        "predicted_bytes": expected.memory_bytes["process"],
        "attacks": len(expected.attacks),
    }


def on_spark(path: str) -> dict[str, Any]:
    """One attack on two workers; the seconds of its stages, then what was predicted."""
    from spark import on_spark as run

    done = run(path, "markov", None, None)
    expected = priced(*split_of(path), on_cluster=True)
    return {
        "seconds": done["seconds"],
        "predicted_seconds": 3600 * expected.total_hours,
        "cells": done["stages"]["cells"],
        "predicted_cells": expected.plan.grid.cells,
    }


def child(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, action="append", help="people, may be repeated")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--one", choices=["local", "spark"], help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps((local if args.one == "local" else on_spark)(args.file)))
        return
    with tempfile.TemporaryDirectory() as folder:
        sizes = args.users or SIZES
        print("| people | attacks | core time | predicted | ratio | memory | predicted | ratio |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        for users in sizes:
            path = Path(folder) / f"{users}.parquet"
            write_events(path, users)
            row = child("--one", "local", "--file", str(path))
            time_ratio = row["predicted_core_seconds"] / row["core_seconds"]
            print(
                f"| {users:,} | {row['attacks']} | {row['core_seconds']:.1f} s | {row['predicted_core_seconds']:.1f} s "
                f"| {time_ratio:.2f} | {row['bytes'] / 1e6:.0f} MB | {row['predicted_bytes'] / 1e6:.0f} MB "
                f"| {row['predicted_bytes'] / row['bytes']:.2f} |",
                flush=True,
            )
        if not args.spark:
            return
        print("\n| people | cells | predicted | whole run | predicted | ratio |\n|---|---|---|---|---|---|", flush=True)
        for users in sizes:
            row = child("--one", "spark", "--file", str(Path(folder) / f"{users}.parquet"))
            print(
                f"| {users:,} | {row['cells']:.0f} | {row['predicted_cells']} | {row['seconds']:.0f} s "
                f"| {row['predicted_seconds']:.0f} s | {row['predicted_seconds'] / row['seconds']:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
