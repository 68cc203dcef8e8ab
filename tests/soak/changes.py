"""What a run reads or writes to changes under it: `scripts/soak changes`.

At a random call of each command its input is grown, cut, replaced by another of the same size or removed, or the folder of
its results is removed, renamed, or renamed and a file put in its place. Then the run has ended well or with a sentence,
and what it wrote is whole: an assessment names the digest of the input as it was before or as it is after, never a mixture.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import itertools
import json
import os
import random
import resource
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import signals
from signals import COMMANDS, EVENTS, PERSON, How, Trial, Workshop, listed

QUICK = (*EVENTS, "--matcher", "visit", "--no-control", "--out", "out")
NAMES = ("attributes", "obfuscate", "estimate", "apply", "generalise", "sweep")
TRIALS = (
    *(Trial(f"assess {name}", ("assess", name, *QUICK), ("out/assessment.json", "out/report.html"))
      for name in ("events.csv", "events.csv.gz", "events.parquet")),
    *(trial for trial in COMMANDS if trial.name in NAMES),
)  # fmt: skip
INPUTS = ("grown", "cut", "replaced", "removed")
FOLDERS = ("folder removed", "folder renamed", "file in its place")


def changed(kind: str, path: Path, before: bytes) -> None:
    """Change an input, or the folder of results where there is one."""
    out = Path("out")
    if kind == "grown":
        with path.open("ab") as file:
            file.write(before[-300:] if path.suffix != ".gz" else gzip.compress(b"a,b,1\n"))
    elif kind == "cut":
        os.truncate(path, len(before) // 3)
    elif kind == "replaced":
        half = len(before) // 2
        Path("other").write_bytes(before[:half] + before[half:].replace(b"1", b"2"))
        Path("other").replace(path)
    elif kind == "removed":
        path.unlink()
    elif out.is_dir():
        Path("seen").write_text(" ".join(file.name for file in out.iterdir()))
        if kind == "folder removed":
            shutil.rmtree(out)
        else:
            out.rename("moved")
        if kind == "file in its place":
            out.write_text("in the way")


def changing(kind: str, path: Path) -> Callable[..., Callable[[list[str]], int]]:
    """What makes a command change its own surroundings at a call, in the place of a signal."""

    def signalled(run: Callable[[list[str]], int], how: How) -> Callable[[list[str]], int]:
        left, before = itertools.count(-(how.call or 0)), path.read_bytes()

        def tick(*_: object) -> None:
            if next(left) == 0:
                changed(kind, path, before)

        def traced(arguments: list[str]) -> int:
            sys.settrace(tick)
            try:
                return run(arguments)
            finally:
                sys.settrace(None)

        return traced

    return signalled


def change_one(trial: Trial, workshop: Workshop, kind: str, call: int, counts: Counter[str]) -> Iterator[str]:
    """Run a command and change something at a call; what does not hold."""
    with workshop.folder() as folder:
        path = folder / next(word for word in trial.arguments if "." in word and "plan" not in word)
        before = path.read_bytes()
        path.unlink()  # it is a link to what others read
        path.write_bytes(before)
        there = listed(folder) | {"seen", "other"}
        signals.signalled = changing(kind, path)
        code, _ = workshop.finish(workshop.forked(folder, trial.arguments, How(call=call)))
        said = (folder / "said.err").read_text()
        counts[f"{kind}: {code}"] += 1
        left = listed(folder) - there
        made = [name for name in trial.outputs if (folder / name).is_file()]
        if code not in (0, 2, 74) or "Traceback" in said or PERSON in said:
            yield f"exit code {code}: {said}"
        if code and said.count("\n") < 1:
            yield "no sentence"
        if kind != "folder renamed" and any("entropie-part" in name for name in left):
            yield f"left: {left}"
        ready = {*trial.outputs} <= {*made, *(f"out/{name}" for name in ((folder / "seen").read_text().split() if (folder / "seen").exists() else ()))}  # fmt: skip
        if code == 0 and not ready:
            yield f"exit code 0, only {made} are there"
        if kind in INPUTS and "out/assessment.json" in made:
            read = json.loads((folder / "out" / "assessment.json").read_text())["input"]["sha256"]
            after = path.read_bytes() if path.exists() else before
            if read not in {hashlib.sha256(content).hexdigest() for content in (before, after)}:
                yield "the digest is of no input that there was"


def write_packed(stock: Path, plain: Callable[[Path], None] = signals.write_inputs) -> None:
    """The inputs of the other trials, and the same events packed and as Parquet."""
    plain(stock)
    (stock / "events.csv.gz").write_bytes(gzip.compress((stock / "events.csv").read_bytes()))
    events = pyarrow.csv.read_csv(str(stock / "events.csv"))
    pyarrow.parquet.write_table(events, stock / "events.parquet", row_group_size=200)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--each", type=int, default=20, help="calls of each command for each kind of change")
    parser.add_argument(
        "--early", type=float, default=0.5, help="share of them in the first tenth, where inputs are read"
    )
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    rng = random.Random(wanted.seed)
    signals.write_inputs = write_packed
    place = Path(tempfile.mkdtemp(prefix="soak-"))
    broken = 0
    print(
        "| command | changes of | ended well | refused (2) | not written (74) | broken |\n|---|---|---:|---:|---:|---:|"
    )
    try:
        workshop = Workshop(place, list(TRIALS))
        for trial in TRIALS:
            for name, kinds in (("the input", INPUTS), ("the folder", FOLDERS if "out" in trial.arguments else ())):
                counts: Counter[str] = Counter()
                problems = []
                for kind, number in itertools.product(kinds, range(wanted.each)):
                    share = 0.1 if number < wanted.early * wanted.each else 1.0
                    call = 1 + int(rng.random() * share * (workshop.calls[trial.name] - 1))
                    problems += [f"{trial.name}, {kind} at call {call}: {found}" for found in change_one(trial, workshop, kind, call, counts)]  # fmt: skip
                print("".join(f"soak: {problem}\n" for problem in problems), end="", file=sys.stderr, flush=True)
                ends = Counter[str]()
                for key, count in counts.items():
                    ends[key.rpartition(" ")[2]] += count
                if kinds:
                    print(
                        f"| {trial.name} | {name} | {ends['0']} | {ends['2']} | {ends['74']} | {len(problems)} |",
                        flush=True,
                    )
                broken += len(problems)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"soak: {used.ru_utime + used.ru_stime:.0f} CPU seconds in children", file=sys.stderr)
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
