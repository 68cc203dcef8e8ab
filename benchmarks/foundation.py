"""The table of the foundation: mechanisms and estimation against pure-ldp and multi-freq-ldpy, in one run.

Run by `scripts/bench foundation`. Every row is a process of its own, so that peak memory is its own. A rival that would
take more than a few minutes is measured on fewer users and scaled, which its row says; both are linear in users.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
USERS, ITEMS = 1_370_637, 10_500_393


def run(python: str, script: str, **options: Any) -> dict[str, Any]:
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    done = subprocess.run([python, str(HERE / script), *arguments], check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def rival(package: str, mechanism: str, n: int, k: int, epsilon: float, measured: int) -> dict[str, Any]:
    """A rival's time for n users, measured on `measured` of them."""
    result = run(
        os.environ["RIVALS_PYTHON"], "rivals.py", package=package, mechanism=mechanism, n=measured, k=k, epsilon=epsilon
    )
    return {**result, "scaled_seconds": result["total_seconds"] * n / measured, "measured": measured}


def help_seconds() -> float:
    """Wall time of `entropie --help`, best of five."""
    command = [str(Path(sys.executable).parent / "entropie"), "--help"]
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - begun)
    return min(times)


def import_cost(module: str) -> tuple[float, float]:
    """Processor seconds and megabytes that importing a module adds to numpy, the best of three."""
    program = (
        "import numpy, resource, time; peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        f"begun, before = time.process_time(), peak(); import {module};"
        "print(time.process_time() - begun, (peak() - before) / 1000)"
    )
    costs = []
    for _ in range(3):
        done = subprocess.run([os.environ["RIVALS_PYTHON"], "-c", program], check=True, capture_output=True, text=True)
        costs.append(tuple(map(float, done.stdout.split())))
    return min(costs)  # type: ignore[return-value]


def main() -> None:
    processor = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    print(f"{os.cpu_count()} cores, {processor}, Python {platform.python_version()}\n")
    print("| job | entropie | peak memory | rival | its time | its memory | times faster | to reach |")
    print("|---|---|---|---|---|---|---|---|")

    def row(job: str, mine: dict[str, Any], seconds: float, other: dict[str, Any] | None, goal: str) -> None:
        cells = [job, f"{seconds:.3f} s", f"{mine['peak_bytes'] / 2**20:.0f} MB"]
        if other is None:
            cells += ["", "", "", ""]
        else:
            note = "" if other["measured"] == mine["n"] else f" (from {other['measured']:,} users)"
            cells += [
                f"{other['package']} {other['version']}",
                f"{other['scaled_seconds']:.2f} s{note}",
                f"{other['peak_bytes'] / 2**20:.0f} MB",
                f"{other['scaled_seconds'] / seconds:,.0f}",
            ]
        print("| " + " | ".join([*cells, goal]) + " |", flush=True)

    size = f"n = {USERS:,}, k = {ITEMS:,}"
    mine = run(sys.executable, "ours.py", mechanism="rr", n=USERS, k=ITEMS, epsilon=10, rounds=15)
    for package, measured in (("pure-ldp", USERS), ("multi-freq-ldpy", 250)):
        other = rival(package, "rr", USERS, ITEMS, 10.0, measured)
        goal = "0.15 s and 50 times faster" if package == "pure-ldp" else ""
        row(f"RR, {size}: simulate + estimate", mine, mine["total_seconds"], other, goal)
    for hash_size, rounds, goal in ((10**8, 5, "0.5 s"), (10**6, 5, "1 s"), (10**3, 1, "40 s")):
        mine = run(
            sys.executable, "ours.py", mechanism="glh", n=USERS, k=ITEMS, theta=0.5, hash_size=hash_size, rounds=rounds
        )
        row(f"GLH, {size}, g = {hash_size:,}: decode", mine, mine["server_seconds"], None, goal)
    for items, measured in ((1_000, 100_000), (10_000, 10_000)):
        mine = run(sys.executable, "ours.py", mechanism="olh", n=100_000, k=items, epsilon=1.0, rounds=3)
        for package in ("pure-ldp", "multi-freq-ldpy"):
            other = rival(package, "olh", 100_000, items, 1.0, measured)
            row(f"OLH, n = 100,000, k = {items:,}: simulate + estimate", mine, mine["total_seconds"], other, "")
    print(f"| `entropie --help` | {help_seconds():.3f} s | | | | | | 0.4 s |")
    for module in ("scipy.special", "scipy.stats"):
        print(
            "| import {} after numpy, not used here | | | | {:.2f} s | {:.0f} MB | | |".format(
                module, *import_cost(module)
            )
        )


if __name__ == "__main__":
    main()
