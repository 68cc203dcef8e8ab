"""What it takes to write a safer file: seconds, CPU seconds and memory, of simulated check-ins of many people.

    scripts/bench apply                            1/16 of 1.37 million people
    scripts/bench apply --parts 16 4 1             up to all of them, 85 million events
    scripts/bench apply --parts 1 --memory 3GB --only rotate exposed
    scripts/bench apply --spark                    on a cluster of two workers on this machine

Every row is a process of its own, which compiles before it is measured; memory is the most that it held. On Spark CPU
seconds are those of all processes with their start, and memory is that of the program, which writes the file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from entropie.data.simulation import find_world, simulate_file
from entropie.document.measured import ShareInterval
from entropie.mitigate.mitigation import Mitigation
from entropie.release.apply import Manifest, apply
from entropie.release.plan import Columns, Data, MitigationStep, ReleasePlan

COARSE = (Mitigation("top", 10), Mitigation("time_unit", "week"))
PLANS = {
    "top": (Mitigation("top", 1_000), Mitigation("time_unit", "day")),
    "rare": (Mitigation("time_unit", "day"), Mitigation("rare_cells", 10)),
    "rotate": (Mitigation("time_unit", "hour"), Mitigation("rotate", "week")),
    "exposed": (*COARSE, Mitigation("exposed", 0.1)),
    "exact": (Mitigation("exposed", 0.1),),
}


def plan_of(events: Path, parts: tuple[Mitigation, ...]) -> ReleasePlan:
    """A plan for a file, as a sweep would write it."""
    with events.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    named = Columns("user", "item", "time", None)
    data = Data(digest, 0, 0, 0, 0, named, None, None, None, None, None, 0.01, None)
    steps = tuple(MitigationStep(part.kind, part.setting) for part in parts)
    return ReleasePlan(steps, data, 0, 0.5, "ours", ShareInterval(0.1, 0.0, 0.2), 10, "0")


def measure(events: Path, small: Path, name: str, memory: str, out: Path, spark: bool) -> None:
    """Apply one plan, and print what it took."""
    apply(plan_of(small, PLANS[name]), small, out, memory=memory)  # compiles
    plan = plan_of(events, PLANS[name])
    before, begun = cpu_seconds(), time.perf_counter()
    if spark:
        from standalone import Standalone

        with tempfile.TemporaryDirectory() as folder, Standalone(Path(folder)) as cluster:
            made = apply(plan, events, out, engine="spark", master=cluster.master)
    else:
        made = apply(plan, events, out, memory=memory)
    assert isinstance(made, Manifest)
    used, cpu = resource.getrusage(resource.RUSAGE_SELF), cpu_seconds() - before
    found = {"people": made.input_people, "events": made.input_events, "left": made.events, "bytes": out.stat().st_size}
    print(json.dumps({**found, "cpu": cpu, "seconds": time.perf_counter() - begun, "gigabytes": used.ru_maxrss / 1e6}))


def cpu_seconds() -> float:
    """Of this process, and of those that it started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def table(parts: list[int], memory: str, only: list[str], kept: Path | None, spark: bool) -> None:
    """Print the table."""
    print("| people | events | plan | written | CPU s | s | memory |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=kept) as folder:
        small = Path(folder) / "small.parquet"
        simulate_file("foursquare", 3_000, path=small)
        for part in parts:
            events = Path(folder if kept is None else kept) / f"events-{part}.parquet"
            if not events.exists():
                simulate_file("foursquare", find_world("foursquare").users // part, path=events)
            for name in only or PLANS:
                files = [str(events), str(small), name, str(Path(folder) / "out.parquet")]
                more = ["--spark"] if spark else []
                command = [sys.executable, __file__, "--memory", memory, *more, "--measure", *files]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                row = json.loads(done.stdout.splitlines()[-1])
                told = "; ".join(one.name for one in PLANS[name])
                counts = f"{row['people']:,} | {row['events']:,} | {told} | {row['left']:,}"
                took = f"{row['cpu']:.0f} | {row['seconds']:.0f} | {row['gigabytes']:.1f} GB"
                print(f"| {counts} | {took} |", flush=True)


def main() -> None:
    """Read the options, measure or print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, nargs="+", default=[16], metavar="N", help="1/N of the people")
    parser.add_argument("--memory", default="2GB", metavar="SIZE", help="memory for the data")
    parser.add_argument("--only", nargs="*", default=[], choices=PLANS, metavar="NAME", help="these plans alone")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the simulated events there, and find them again")
    parser.add_argument("--spark", action="store_true", help="on a cluster of two workers on this machine")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure is not None:
        events, small, name, out = given.measure
        measure(Path(events), Path(small), name, given.memory, Path(out), given.spark)
    else:
        table(given.parts, given.memory, given.only, given.keep, given.spark)


if __name__ == "__main__":
    main()
