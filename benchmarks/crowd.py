"""How the attackers grow with the crowd: CPU seconds and memory on simulated check-ins of 1/16 to all of the people.

    scripts/bench crowd                       1/16 of 1.37 million people, 20,000 of them attacked
    scripts/bench crowd --parts 16 8 4 2 1    the whole table, hours on a busy machine
    scripts/bench crowd --all                 everybody attacked, by markov and by the profile attacker
    scripts/bench crowd --stages --parts 16 4 1   where the profile attacker's time goes, and what everybody would take

Whole traces, first half against second half. CPU seconds are of all threads of a process that does nothing else; on two
idle cores the time is a little more than half of it. Memory is the most that the process held, with the traces.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from entropie.attack.chance import by_content
from entropie.attack.matchers import MATCHERS
from entropie.attack.measured import Models
from entropie.attack.points import RESOLUTIONS, PointIndex, drawn_points, queries_of
from entropie.attack.profile import profile_attack
from entropie.attack.profile.attack import KEPT_OF_MANY, everybody_of, learn
from entropie.attack.profile.candidates import HABITS, Candidates, best_candidates, index_of, scene_of, search_among
from entropie.attack.profile.conjunctions import conjunctions
from entropie.attack.profile.evidence import weighed
from entropie.attack.scoring import core_count
from entropie.data.filter import lowest, user_hashes
from entropie.data.simulation import find_world, simulate_traces
from entropie.data.split import Split, split_traces
from entropie.data.traces import Traces
from entropie.request import USUAL_TARGETS, Run, SplitRule

POINTS = (1, 2, 4, 8)


def spent() -> float:
    """CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak() -> float:
    """The most that this process held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def points(traces: Traces, rows: np.ndarray) -> str:
    """Every number of points at every resolution; what 4 items without times tell is printed."""
    index = PointIndex.of(traces)
    drawn = drawn_points(traces, POINTS[-1], 1, 0, rows)[:, 0]
    told = 0.0
    for resolution in RESOLUTIONS:
        for known in POINTS:
            holders = index.holders(queries_of(traces, drawn[:, :known], resolution))
            told = float((1.0 / holders).mean()) if (resolution, known) == ("none", 4) else told
    return f"{told:.1%} from 4 items"


def by_matcher(name: str, split: Split) -> str:
    """One matcher on whole traces, its law of scores too."""
    order = by_content(split)
    found = Models.of(name, split.train, split.target, split.attacked).attack(Run(), pilot=order)
    return f"{float(found.credit.mean()):.1%}"


def by_profile(split: Split) -> str:
    """All evidence weighed: each target alone, the crowd, one-to-one."""
    found = profile_attack(split.train, split.target, attacked=split.attacked)
    owners = np.arange(split.train.users) if split.attacked is None else split.attacked
    return f"{float((found.plain.people[:, 0] == owners).mean()):.1%}"


def by_conjunctions(split: Split) -> str:
    """What goes together in nobody else's life."""
    found = conjunctions(split.train, split.target, rows=split.attacked, threads=core_count(None))
    owners = np.arange(split.train.users) if split.attacked is None else split.attacked
    return f"{float((found.named.people[:, 0] == owners).mean()):.1%}"


def jobs(traces: Traces, targets: int | None) -> Iterator[tuple[str, Callable[[], str]]]:
    """What is measured; without targets what the strongest attackers take on everybody."""
    rows = np.arange(traces.users) if targets is None else lowest(user_hashes(range(traces.users)), targets)
    split = split_traces(traces, SplitRule("halves"), None if targets is None else rows)
    yield "points", lambda: points(traces, rows)
    for name in ("markov",) if targets is None else MATCHERS:
        yield name, lambda name=name: by_matcher(name, split)  # type: ignore[misc]
    yield "profile, crowd, joint", lambda: by_profile(split)
    yield "conjunctions", lambda: by_conjunctions(split)


def stages(part: int, targets: int) -> dict[str, Any]:
    """CPU seconds of what the profile attacker does once, and for each target with the lists of many targets.

    Targets are drawn and so lie apart; where everybody is attacked those who go to the same places stand together.
    """
    traces = simulate_traces("foursquare", find_world("foursquare").users // part)
    split = split_traces(traces, SplitRule("halves"))
    rows = np.sort(lowest(user_hashes(range(traces.users)), targets))
    train, target, taken = split.train, split.target, [spent()]

    def lap() -> float:
        taken.append(spent())
        return taken[-1] - taken[-2]

    lesson = learn(train)
    learning = lap()
    everybody = everybody_of(train, target, None, lesson.level, lesson.habits)
    weights = lesson.fusion.weights[-HABITS:]
    how = search_among(train.users, KEPT_OF_MANY, lesson.repeats, weights, train.users)
    scene = scene_of(train, target, everybody, rows[:1])
    index = index_of(scene, how)
    profiles = lap()
    scene = scene.asking(target, rows, everybody)
    describing = lap()
    lists = best_candidates(scene, how, 1, index).people
    searching = lap()
    found = Candidates(lists, weighed(scene, lists, lesson.fusion.weights, 1, lesson.missing))
    weighing = lap()
    lesson.crowd(found, train.users)
    lesson.joint(found, train.users)
    matching = lap()
    once, each = learning + profiles, (describing, searching, weighing, matching)
    row = {"people": traces.users, "learn": learning, "profiles": profiles, "each": [one / targets for one in each]}
    return {**row, "all": once + traces.users * sum(each) / targets, "gigabytes": peak()}


def stages_table(parts: list[int], targets: int) -> None:
    """Print the stages of each size, each in a process of its own."""
    print("| people | learn | profiles, index | describe | search | weigh | crowd, joint | everybody | memory |")
    print("|---|---|---|---|---|---|---|---|---|")
    for part in parts:
        command = [sys.executable, __file__, "--stages", "--measure", str(part), "--targets", str(targets)]
        row: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        each = " | ".join(f"{1e3 * one:.2f} ms" for one in row["each"])
        cells = f"{row['people']:,} | {row['learn']:.0f} s | {row['profiles']:.0f} s | {each}"
        print(f"| {cells} | {row['all']:,.0f} s | {row['gigabytes']:.1f} GB |", flush=True)


def measured(part: int, targets: int | None, only: list[str]) -> Iterator[dict[str, Any]]:
    """Measure one size in this process, attacker by attacker."""
    traces = simulate_traces("foursquare", find_world("foursquare").users // part)
    for name, job in jobs(traces, targets):
        if only and name.split(",")[0] not in only:
            continue
        begun, clock = spent(), time.perf_counter()
        found = job()
        row = {"attacker": name, "cpu": spent() - begun, "seconds": time.perf_counter() - clock, "gigabytes": peak()}
        yield {**row, "people": traces.users, "events": traces.events, "found": found}


def table(parts: list[int], targets: int | None, only: list[str]) -> None:
    """Print the table, each size in a process of its own; a process compiles before it is measured."""
    print("| part | people | events | attacker | re-identified | CPU s | memory so far |")
    print("|---|---|---|---|---|---|---|")
    for part in parts:
        command = [sys.executable, __file__, "--measure", str(part), "--targets", str(targets or 0), "--only", *only]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for line in child.stdout:
                row: dict[str, Any] = json.loads(line)
                people, events = f"{row['people']:,}", f"{row['events'] / 1e6:.1f} M"
                share, memory = "1" if part == 1 else f"1/{part}", f"{row['gigabytes']:.1f} GB"
                cells = (share, people, events, row["attacker"], row["found"], f"{row['cpu']:.0f}", memory)
                print("| " + " | ".join(cells) + " |", flush=True)
        if child.returncode:
            raise SystemExit(child.returncode)


def main() -> None:
    """Read the options, measure or print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, nargs="+", default=[16], metavar="N", help="1/N of the people")
    parser.add_argument("--targets", type=int, default=USUAL_TARGETS, metavar="N", help="people attacked")
    parser.add_argument("--all", action="store_true", help="attack everybody, by fewer attackers")
    parser.add_argument("--stages", action="store_true", help="the profile attacker, stage by stage")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these attackers alone")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    targets = None if given.all or not given.targets else given.targets
    if given.stages and given.measure is None:
        stages_table(given.parts, given.targets)
    elif given.stages:
        stages(512, 100)  # compiles
        print(json.dumps(stages(given.measure, given.targets)))
    elif given.measure is not None:
        list(measured(512, None if targets is None else 100, given.only))  # compiles
        for row in measured(given.measure, targets, given.only):
            print(json.dumps(row), flush=True)
    else:
        table(given.parts, targets, given.only)


if __name__ == "__main__":
    main()
