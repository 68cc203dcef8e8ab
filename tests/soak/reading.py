"""Bad files read again and again: the right exit code, one sentence, no hang, no abort.

    scripts/soak reading [RUNS]    every command on every file, RUNS times each, as far as --seconds allow

Reading used to leave a thread behind that called into a dying interpreter, in a third of the runs. It needs a file of
several blocks, not many rows: rows are padded. A good file is read too, so that a refusal says something.

Each run is a process that ends as any program ends, so that what is left running meets the end of the interpreter. Most
are forked from one that has loaded the program, which costs a tenth; one in fifty is started anew.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import io
import os
import pickle
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from entropie.data.blocks import LINE_LIMIT_BYTES

PATIENCE_SECONDS = 600.0  # the machine may be busy
FRESH_EVERY = 50
ENTROPIE = [sys.executable, "-c", "from entropie.cli.main import main; main()"]
MECHANISM = ["--mechanism", "rr", "--epsilon", "2"]
HEAD = "user,item,time,code,parameters,report,note\n"
GOOD = "good.csv"
Found = Counter[tuple[str, str, str]]


@dataclass(frozen=True)
class Trial:
    """A command on a file, and the exit code it ought to have."""

    command: str
    name: str
    words: tuple[str, ...]
    code: int


CUT_OFF = "cut off.csv.gz"


def files(folder: Path, rows: int, label: str, asked: list[str]) -> Iterator[Path]:
    """Those asked for, or all: a good file, and files that are found to be bad late, in the middle and at once; all of several blocks."""
    note = "x" * 180
    people = [f"u{n % 97},i{n % 101}" for n in range(rows)]
    good = "".join(f"{who},{1_500_000_000 + n},{n % 9},{label},{n % 9},{note}\n" for n, who in enumerate(people))
    bad = "".join(f"{who},whenever {n},x,{label},x,{note}\n" for n, who in enumerate(people))
    line = "x" * (5 * LINE_LIMIT_BYTES)
    contents = {
        GOOD: HEAD + good,
        "times.csv": HEAD + bad,
        "times later.csv": HEAD + good + bad,
        "one line.csv": HEAD + line,
        "line later.csv": HEAD + good + line,
        "quote.csv": HEAD + good + 'u1,"i1,5,5\n' + good,
        "few fields.csv": HEAD + good + f"u1,{note}\n" * rows,
    }
    for name in asked or [*contents, CUT_OFF]:
        if name == CUT_OFF:
            (folder / name).write_bytes(gzip.compress((HEAD + good).encode(), 1)[:-1000])
        else:
            (folder / name).write_text(contents[name])
        yield folder / name


def trials(folder: Path, rows: int, asked: list[str]) -> Iterator[Trial]:
    """Every command that reads a table, on every file that it has something to say about."""
    small = folder / "small.csv"
    small.write_text(HEAD + "u,i,1500000000,1,p,1,n\n")
    made = folder / "made.csv"
    words = [*("obfuscate", str(small), "--column", "code", "--domain", "9", "--out", str(made)), *MECHANISM]
    subprocess.run([*ENTROPIE, *words], check=True, capture_output=True)
    with made.open() as file:
        label = next(csv.DictReader(file))["parameters"]
    for path in files(folder, rows, label, asked):
        for command, words in commands(path, f"{made}.parameters.json").items():
            # A table of attributes has no times to be read, and scores are no table.
            if (command == "attributes" and path.name.startswith("times")) or (
                command == "scores" and path.name == GOOD
            ):
                continue
            yield Trial(command, path.name, tuple(words), 0 if path.name == GOOD else 2)


def commands(path: Path, parameters: str) -> dict[str, list[str]]:
    """Every command that reads a table; OUT stands for a folder of its own."""
    events = ["--user", "user", "--item", "item", "--time", "time"]
    return {
        "assess": ["assess", str(path), *events, "--out", "OUT/a", "--matcher", "visit", "--no-report"],
        "sweep": ["sweep", str(path), *events, "--profile", "ema", "--only", "--thin", "0.5"],
        "attributes": ["attributes", str(path), "--columns", "user,item,code"],
        "obfuscate": ["obfuscate", str(path), "--column", "code", "--domain", "9", "--out", "OUT/o.csv", *MECHANISM],
        "estimate": ["estimate", str(path), "--parameters", parameters, "--out", "OUT/e.csv"],
        "simulate": ["simulate", "new-york", "--users", "50", "--compare", str(path)],
        "scores": ["scores", str(path)],
    }


class Forked(BaseException):
    """Raised in a child, to leave everything that its parent was doing and run a command at the very end of this file."""


def tried(trial: Trial, fresh: bool) -> str:
    """Run one command; "ok" if it does its work, or refuses with one sentence and exit code 2."""
    out = tempfile.mkdtemp(prefix="entropie-soak-")
    words = [word.replace("OUT", out) for word in trial.words]
    here, there = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(there, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if fresh:
            os.execv(ENTROPIE[0], [*ENTROPIE, *words])
        raise Forked(words)
    os.close(there)
    said, code = heard(here, child)
    shutil.rmtree(out)
    lines = said.splitlines()
    if code == trial.code and (trial.code == 0 or (said.startswith("entropie: ") and len(lines) == 1)):
        return "ok"
    return "hangs" if code is None else f"exit {code}: {lines[-1][:200] if lines else 'nothing said'}"


def heard(here: int, child: int) -> tuple[str, int | None]:
    """What a child says until it ends, and its exit code; None where it does not end."""
    said, deadline = b"", time.monotonic() + PATIENCE_SECONDS
    while select.select([here], [], [], max(0.0, deadline - time.monotonic()))[0]:
        more = os.read(here, 65_536)
        said += more
        if not more:
            break
    os.close(here)
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return said.decode(errors="replace").strip(), os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return said.decode(errors="replace"), None


def soak(chosen: list[Trial], runs: int, at_once: int, deadline: float) -> Found:
    """How often each command on each file came to what; runs go round, so that all get about the same number."""
    jobs = [(trial, run) for run in range(runs) for trial in chosen]
    pipes = []
    for worker in range(at_once):
        here, there = os.pipe()
        if not os.fork():
            found = worked(jobs[worker::at_once], random.Random(worker), deadline)
            with os.fdopen(there, "wb") as told:
                pickle.dump(found, told)
            os._exit(0)
        os.close(there)
        pipes.append(here)
    every: Found = Counter()
    for here in pipes:
        with os.fdopen(here, "rb") as told:
            every += pickle.load(told)
    return every


def worked(jobs: list[tuple[Trial, int]], rng: random.Random, deadline: float) -> Found:
    """What one worker sees until the deadline."""
    found: Found = Counter()
    begun = shown = time.monotonic()
    for trial, run in jobs:
        if time.monotonic() > deadline:
            break
        came = tried(trial, rng.randrange(FRESH_EVERY) == 0)
        found[trial.command, trial.name, came] += 1
        if came != "ok":
            print(f"{trial.command} on {trial.name}: {came}", flush=True)
        if time.monotonic() - shown > 60:
            shown = time.monotonic()
            print(f"round {run + 1}: {found.total()} runs, {wrong_in(found)} wrong, {shown - begun:.0f} s", flush=True)
    return found


def warmed(chosen: list[Trial]) -> None:
    """Run every command once in this process, so that children find it loaded."""
    from entropie.cli.main import run

    said = io.StringIO()
    with tempfile.TemporaryDirectory() as out, contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        for trial in chosen:
            assert run([word.replace("OUT", out) for word in trial.words]) == trial.code, trial
    assert threading.active_count() == 1, "a fork must find no thread"


def wrong_in(found: Found) -> int:
    """How many runs were anything but right."""
    return sum(times for (_, _, came), times in found.items() if came != "ok")


def main() -> None:
    """Print each round and at last the table; exit 1 if anything but what ought to be was seen."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="?", type=int, default=200)
    parser.add_argument("--rows", type=int, default=70_000)
    parser.add_argument("--seconds", type=float, default=3300.0, help="begin no run after this time")
    parser.add_argument("--at-once", type=int, default=2, help="runs at the same time")
    parser.add_argument("--only", action="append", default=[], help="a command; repeatable")
    parser.add_argument("--on", action="append", default=[], help="a file; repeatable")
    given = parser.parse_args()
    begun, owner, folder = time.monotonic(), os.getpid(), tempfile.mkdtemp(prefix="entropie-soak-")
    try:
        chosen = [
            trial
            for trial in trials(Path(folder), given.rows, given.on)
            if trial.command in (given.only or [trial.command])
        ]
        for path in sorted(Path(folder).glob("*.csv*")):
            print(f"{path.name}: {path.stat().st_size / LINE_LIMIT_BYTES:.1f} blocks", flush=True)
        warmed(chosen)
        found = soak(chosen, given.runs, given.at_once, begun + given.seconds)
    finally:
        if os.getpid() == owner:
            shutil.rmtree(folder)
    print("\n| command | file | runs | wrong |\n|---|---|---:|---:|")
    for command, name in sorted({(command, name) for command, name, _ in found}):
        each = Counter({came: times for (c, n, came), times in found.items() if (c, n) == (command, name)})
        print(f"| {command} | {name} | {each.total()} | {each.total() - each['ok']} |")
    print(f"\n{found.total():,} runs in {time.monotonic() - begun:.0f} s, {wrong_in(found)} of them wrong.")
    sys.exit(1 if wrong_in(found) else 0)


if __name__ == "__main__":
    try:
        main()
    except Forked as child:
        sys.argv = ["entropie", *child.args[0]]
        from entropie.cli.main import main as entry

        entry()
