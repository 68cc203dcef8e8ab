"""The search for the cheapest generalisation: CPU seconds, memory, and the answer beside that of all combinations.

Made people in the shape of the Adult census extract: 32,561 rows, eight columns with as many values, skewed and
dependent; hierarchies as files, with as many levels as those that ARX ships for them (6,480 combinations). The data
themselves are not at hand in any package. Every row is a process of its own, so that peak memory is its own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import entropie
from entropie.mitigate.ladders import levels_of, read_people
from entropie.mitigate.lattice import SCALES, Lattice, Limit

ROWS, LARGE = 32_561, 1_000_000
COLUMNS = {
    "age": (73, (5, 10, 20)),
    "sex": (2, ()),
    "race": (5, ()),
    "marital-status": (7, (3,)),
    "education": (16, (4, 8)),
    "native-country": (41, (10,)),
    "workclass": (8, (3,)),
    "occupation": (14, (5,)),
}
"""Values of each column, and how many of them a group has at each level between as they are and dropped."""
LIMITS: dict[str, dict[str, Any]] = {
    "k": {"k": 10},
    "l": {"k": 10, "sensitive": "occupation", "l_diversity": 5},
    "t": {"sensitive": "occupation", "t_closeness": 0.3},
}
"""What is asked for; a sensitive column is none that an attacker knows."""


def made(folder: Path, people: int) -> Path:
    """The table and its hierarchies; columns lean on one hidden place of each person, so that they depend."""
    rng = np.random.default_rng(1994)
    place = rng.random(people)
    columns = []
    for number, (size, _) in enumerate(COLUMNS.values()):
        skew = 1.0 / np.arange(1, size + 1) ** (0.3 if size > 50 else 1.2)
        own = rng.choice(size, people, p=skew / skew.sum())
        leaning = np.minimum(size - 1, (np.abs(place - (number % 3) / 3) * size * 0.6).astype(int))
        columns.append(np.where(rng.random(people) < 0.3, leaning, own))
    table = folder / "people.csv"
    names = ",".join(COLUMNS)
    np.savetxt(table, np.column_stack(columns), fmt=["v%d"] * len(columns), delimiter=",", header=names, comments="")
    for name, (size, widths) in COLUMNS.items():
        rows = [[f"v{value}", *(f"{width}:{value // width}" for width in widths), "*"] for value in range(size)]
        (folder / f"{name}.csv").write_text("".join(";".join(row) + "\n" for row in rows))
    return table


def one(folder: Path, people: int, cost: str, suppress: float, limit: str, exhaustive: bool) -> dict[str, object]:
    """One search in this process, by itself or beside every node counted."""
    table = made(folder, people)
    wanted = LIMITS[limit]
    files = {name: str(folder / f"{name}.csv") for name in COLUMNS if name != wanted.get("sensitive")}
    processor, wall = time.process_time(), time.perf_counter()
    found = entropie.generalise(
        table,
        columns=list(files),
        suppress=suppress,
        hierarchies=files,
        cost=cost,  # type: ignore[arg-type]
        **wanted,
    )
    took = {"cpu": time.process_time() - processor, "seconds": time.perf_counter() - wall}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    same = best_of_all(table, files, cost, int(suppress * people)) if exhaustive and limit == "k" else None
    return {**took, "memory": peak, "nodes": found.nodes, "counted": found.counted, "cost": found.cost, "all": same}


def best_of_all(table: Path, files: dict[str, str], cost: str, left_out: int) -> float:
    """The least cost of all nodes that meet the limit, each counted from the rows' finest groups."""
    read = read_people(table, list(COLUMNS))
    levels = [levels_of(person, Path(files[person.column.name]), None, False) for person in read.columns]
    ladders = [person.ladder(steps) for person, steps in zip(read.columns, levels, strict=True)]
    lattice = Lattice([person.column.exact for person in read.columns], ladders, cost)  # type: ignore[arg-type]
    limit = Limit(10, 1.0, left_out)
    nodes = (lattice.node(node, limit) for node in itertools.product(*map(range, lattice.shape)))
    return min(node.cost for node in nodes if node.meets)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="*", default=[ROWS, LARGE])
    parser.add_argument("--exhaustive", action="store_true", help="also count every node of the smaller table")
    parser.add_argument("--limit", default="k", choices=LIMITS, help="k = 10; l = 5 of a column beside; t = 0.3")
    parser.add_argument("--one", nargs=3, metavar=("ROWS", "COST", "SUPPRESS"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        people, cost, suppress = asked.one
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(one(Path(folder), int(people), cost, float(suppress), asked.limit, asked.exhaustive)))
        return
    head = f"{'rows':>10}  {'cost':<15}{'left out':>9}{'nodes':>8}{'counted':>9}{'CPU':>10}{'time':>10}{'memory':>10}"
    print(f"{head}  lost")
    shares = (0.0,) if asked.limit == "t" else (0.0, 0.01)
    for people, cost, suppress in itertools.product(asked.rows, SCALES, shares):
        command = [sys.executable, __file__, "--limit", asked.limit, "--one", str(people), cost, str(suppress)]
        more = ["--exhaustive"] if asked.exhaustive and people <= ROWS else []
        done = subprocess.run([*command, *more], check=True, capture_output=True, text=True)
        row = json.loads(done.stdout.splitlines()[-1])
        best = "" if row["all"] is None else f" (all nodes: {row['all']:.6f})"
        print(
            f"{people:>10,}  {cost:<15}{suppress:>8.0%} {row['nodes']:>8,}{row['counted']:>9,}{row['cpu']:>8.1f} s"
            f"{row['seconds']:>8.1f} s{row['memory']:>7.0f} MB  {row['cost']:.6f}{best}",
            flush=True,
        )


if __name__ == "__main__":
    main()
