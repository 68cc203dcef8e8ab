"""The table of the main job: speed and memory of `assess` and its parts, and how they grow to the paper's size.

    scripts/bench main_job                 all but the paper's size, about two minutes
    scripts/bench main_job --scale 16      also 1/16 of the paper's users; --scale 1 is all 1,370,637 of them

Every row is a process of its own, so that peak memory is its own. Events at scale are drawn: check-ins per person heavy
tailed around 62, three in five of them at a place she was before, new places by a Zipf-Mandelbrot law.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

HERE = Path(__file__).parent
USERS, ITEMS = 1_370_637, 10_500_393
DATA = HERE.parent.parent / "shared" / "data"


def write_events(path: Path, users: int, items: int, seed: int = 1) -> int:
    """Draw the events of `users` people and stream them to Parquet, block by block; return how many there are."""
    rng = np.random.default_rng(seed)
    popularity = np.cumsum((np.arange(11 * items // 5) + 500.0) ** -0.85)
    schema = pa.schema([("user", pa.int64()), ("item", pa.int64()), ("time", pa.int64())])
    events = 0
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, users, 100_000):
            block = min(100_000, users - begin)
            lengths = np.minimum(10 + rng.pareto(1.6, block) * 34, 2000).astype(np.int64)
            total = int(lengths.sum())
            user = np.repeat(np.arange(begin, begin + block), lengths)
            place = np.searchsorted(popularity, rng.random(total) * popularity[-1])
            first = np.repeat(np.cumsum(lengths) - lengths, lengths)
            step = np.arange(total) - first
            earlier = first + (rng.random(total) * np.maximum(step, 1)).astype(np.int64)
            again = (rng.random(total) < 0.6) & (step > 0)
            for _ in range(6):  # a return to a return goes to where that one went
                place = np.where(again, place[earlier], place)
            writer.write_table(pa.table({"user": user, "item": place, "time": step + 1_400_000_000}, schema=schema))
            events += total
    return events


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def cities() -> dict[str, Any]:
    """New York whole: all matchers, measures, intervals, null baselines."""
    import entropie

    def run() -> entropie.Assessment:
        return entropie.assess(DATA / "foursquare_nyc.parquet", user="user", item="venue", time="time")

    timed(run)  # compiles
    seconds, found = timed(run)
    errors = {attack.matcher: attack.error for attack in found.attacks}
    return {"seconds": seconds, "errors": errors, "gigabytes": peak_gigabytes()}


def cold() -> dict[str, Any]:
    """500 people x 50 events in a new process, imports and cached compile included."""
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(3)
        table = pa.table({"user": np.repeat(np.arange(500), 50), "item": rng.zipf(1.3, 25_000) % 5000})
        pq.write_table(table, f"{folder}/e.parquet")
        program = (
            "import resource, entropie; entropie.assess('e.parquet', user='user', item='item');"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        seconds, peak_bytes = 9e9, 0
        for _ in range(3):
            took, done = timed(
                lambda: subprocess.run(
                    [sys.executable, "-c", program], cwd=folder, check=True, capture_output=True, text=True
                )
            )
            seconds, peak_bytes = min(seconds, took), max(peak_bytes, int(done.stdout) * 1024)
    return {"seconds": seconds, "megabytes": peak_bytes / 10**6}


def pairs() -> dict[str, Any]:
    """All-pairs markov scoring of 20,000 people x 30 events."""
    from entropie.attack.matchers import matcher
    from entropie.attack.scoring import attack
    from entropie.data.split import split_traces
    from entropie.data.traces import Traces

    users, events = 20_000, 30
    rng = np.random.default_rng(5)
    items: NDArray[np.uint32] = (rng.zipf(1.2, users * events) % 100_000).astype(np.uint32)
    split = split_traces(Traces(np.arange(users + 1) * events, items, 100_000))
    matching = matcher("markov")(split.train, split.target)
    timed(lambda: attack(matching))
    seconds = min(timed(lambda: attack(matching))[0] for _ in range(3))
    return {"seconds": seconds, "nanoseconds_per_pair": seconds / users**2 * 1e9, "gigabytes": peak_gigabytes()}


def scale(share: int, path: str) -> dict[str, Any]:
    """The parts of the job at 1/share of the paper's people."""
    from entropie.attack.matchers import matcher
    from entropie.attack.measured import measure_outcome
    from entropie.attack.scoring import attack
    from entropie.attack.single import attack_single, pie_bits
    from entropie.data.events import read_events
    from entropie.data.filter import keep_active_users
    from entropie.data.split import split_traces
    from entropie.request import Source, SplitRule

    def ingest() -> Any:
        return keep_active_users(read_events(Source(path, user="user", item="item", time="time")).traces, 10).traces

    ingest_seconds, traces = timed(ingest)
    one = split_traces(traces, SplitRule("halves", target_events=1))
    single_seconds, single = timed(lambda: (attack_single(one.train, one.target), pie_bits(one.train)))
    measure_seconds, measured = timed(lambda: measure_outcome(single[0], users=one.train.users, seed=0))
    five = split_traces(traces, SplitRule("halves", target_events=5))
    model_seconds, matching = timed(lambda: matcher("markov")(five.train, five.target))
    attack_seconds, outcome = timed(lambda: attack(matching))
    return {
        "users": traces.users,
        "items": traces.domain_size,
        "events": traces.events,
        "ingest_and_models_seconds": ingest_seconds + model_seconds,
        "single_seconds": single_seconds + measure_seconds,
        "single_error": measured.identification_error.value if measured.identification_error else None,
        "single_bits": measured.pse_bits.value,
        "pie_bits": single[1],
        "five_seconds": attack_seconds,
        "five_error": 1.0 - float(outcome.credit.mean()),
        "core_seconds": time.process_time(),
        "gigabytes": peak_gigabytes(),
    }


def child(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, *arguments], check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["cities", "cold", "pairs", "scale"])
    parser.add_argument("--scale", type=int, action="append", default=[], metavar="D", help="also 1/D of the paper")
    parser.add_argument("--file")
    args = parser.parse_args()
    if args.part == "scale":
        print(json.dumps(scale(args.scale[0], args.file)))
        return
    if args.part:
        print(json.dumps({"cities": cities, "cold": cold, "pairs": pairs}[args.part]()))
        return
    print("| job | time | peak memory | to reach |\n|---|---|---|---|", flush=True)
    if DATA.is_dir():
        row = child("--part", "cities")
        print(f"| New York, all matchers, measures, null | {row['seconds']:.1f} s | {row['gigabytes']:.2f} GB | 15 s |")
    row = child("--part", "cold")
    print(
        f"| 500 people x 50 events, cold process | {row['seconds']:.1f} s | {row['megabytes']:.0f} MB | 5 s, 300 MB |"
    )
    row = child("--part", "pairs")
    speed = f"{row['nanoseconds_per_pair']:.2f} ns per pair"
    print(f"| markov, 20,000 people x 30 events | {speed} | {row['gigabytes']:.2f} GB | 3 ns per pair |", flush=True)
    if not args.scale:
        return
    print("\n| people | items | events | ingest + models | single event | five events | core seconds | peak memory |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for share in sorted(args.scale, reverse=True):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
            path = f"{folder}/events.parquet"
            write_events(Path(path), USERS // share, ITEMS // share)
            row = child("--part", "scale", "--scale", str(share), "--file", path)
        print(
            f"| {row['users']:,} | {row['items']:,} | {row['events']:,} | {row['ingest_and_models_seconds']:.0f} s "
            f"| {row['single_seconds']:.1f} s | {row['five_seconds']:.0f} s | {row['core_seconds']:.0f} "
            f"| {row['gigabytes']:.1f} GB |",
            flush=True,
        )


if __name__ == "__main__":
    main()
