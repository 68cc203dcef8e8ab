"""Damaged and hostile inputs for every command, thousands of them; what must hold of each is in `problems`.

    scripts/fuzz                             200 cases of every target
    scripts/fuzz --cases 10000 assess        so many of one
    scripts/fuzz --seconds 600 --seed 7      as many as fit, drawn anew
    scripts/fuzz --replay FILE               one kept case again

Most cases run inside two workers, one in 250 in a process of its own; one report in ten draws its charts. A case that fails is kept under out/fuzz as a
file that `--replay` and, moved to tests/fuzz/corpus, the tests run again. Exit code 1 where a case failed.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

from fuzz_cases import Case
from fuzz_doors import MECHANISMS
from fuzz_nasty import MARK
from fuzz_ran import Ran, in_a_process, in_this_process, kept, kept_case, problems
from fuzz_releases import TARGETS, case

from entropie import drawing
from entropie.collector import document
from entropie.collector.sqlite_store import SqliteStore
from entropie.collector.store import Batch

CASES, WORKERS, SECONDS_PER_CASE = 200, 2, 600.0
ALONE_EVERY, DRAWN_EVERY = 250, 10
AVAILABLE = drawing.available
ROOT = Path(__file__).parent.parent.parent


@dataclass
class Tally:
    """What became of the cases of one target."""

    codes: Counter[int] = field(default_factory=Counter)
    alone: int = 0
    failed: int = 0
    seconds: float = 0.0


def main() -> int:
    """Run the cases and print the table."""
    options = _options()
    if options.replay:
        return _replay(options.replay)
    targets = options.target or list(TARGETS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _make_material(folder / "material")
        limit = options.cases if options.cases or options.seconds else CASES
        numbers = itertools.count(options.first) if limit is None else range(options.first, options.first + limit)
        todo = ((target, number) for number in numbers for target in targets)
        tallies: dict[str, Tally] = {}
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):  # what was done by then is told
            _run(todo, folder, options, tallies)
    print(
        "| target | cases | in a process of their own | exit codes | failed | CPU seconds |\n|---|---|---|---|---|---|"
    )
    for target, tally in tallies.items():
        codes = ", ".join(f"{code}: {count}" for code, count in sorted(tally.codes.items()))
        cases = sum(tally.codes.values())
        print(f"| {target} | {cases:,} | {tally.alone} | {codes} | {tally.failed} | {tally.seconds:.0f} |")
    failed = sum(tally.failed for tally in tallies.values())
    print(f"\n{sum(sum(tally.codes.values()) for tally in tallies.values()):,} cases, {failed} failed.")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description="Damaged and hostile inputs for every command.")
    parser.add_argument("target", nargs="*", choices=[[], *TARGETS], help="what to try [all]")
    parser.add_argument("--cases", type=int, help=f"cases of each target [{CASES}, or as many as fit]")
    parser.add_argument("--first", type=int, default=0, help="the number to begin with, to go on after a stop [0]")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--at-once", type=int, default=WORKERS, help=f"workers [{WORKERS}]")
    parser.add_argument("--seed", type=int, default=0, help="draws other cases [0]")
    parser.add_argument("--replay", type=Path, help="run one kept case again")
    return parser.parse_args()


def _replay(path: Path) -> int:
    again = kept_case(path)
    with tempfile.TemporaryDirectory() as name:
        ran = in_a_process(again, Path(name), SECONDS_PER_CASE)
    print(ran.output + ran.errors)
    for problem in (said := problems(again, ran)):
        print(f"fuzz: {problem}", file=sys.stderr)
    return 1 if said else 0


def _make_material(folder: Path) -> None:
    """Documents and reports by the program itself, to be damaged."""
    folder.mkdir()
    rows = [f"person-{person},place-{(person * event) % 7},{event}" for person in range(12) for event in range(8)]
    (folder / "events.csv").write_text("user,item,time\n" + "\n".join(rows) + "\n")
    there = [
        f"{MARK}-{person},place-{(person * event) % 7},{1_500_000_000 + 3_600 * event},48.{85 + event % 4},2.35,kind {event % 3}"
        for person in range(24)
        for event in range(8)
    ]
    (folder / "swept.csv").write_text("user,item,time,lat,lon,kind\n" + "\n".join(there) + "\n")
    (folder / "shape.csv").write_text(",".join(["0.125"] * 6 + ["0.25"]) + "\n")
    people = [
        f"{MARK}-{person},{person * 7 % 90},{'mf'[person % 2]},{person % 10:05d},{'ab'[person % 2]}"
        for person in range(40)
    ]
    (folder / "people.csv").write_text("id,age,sex,postcode,note\n" + "\n".join(people) + "\n")
    (folder / "ages.csv").write_text(
        "".join(f"{age};{age // 10 * 10}s;{'adult' if age > 17 else 'child'}\n" for age in range(90))
    )
    named = "--user user --item item --time time --min-events 2"
    assess = "assess events.csv --matcher visit --min-events 2 --profile ema --out . --quiet"
    obfuscate = "obfuscate events.csv --column item --epsilon 3"
    own = {"noise": "--noise shape.csv"}
    commands = [
        assess,
        f"{obfuscate} --mechanism rr --keep user --dictionary places.csv --out reports.csv",
        "estimate reports.csv --parameters reports.csv.parameters.json --save-counts counts.npz",
        f"sweep swept.csv {named} --limit 99% --limit-name rule --fail-on average --only --top 3 --out swept --quiet",
        *(
            f"{obfuscate} --mechanism {kind} {own.get(kind, '')} --dictionary places-{kind}.csv --out {kind}.csv"
            for kind in MECHANISMS
        ),
        "generalise people.csv --id id --columns age,sex,postcode --hierarchy age=ages.csv --k 4 --out table --quiet",
        "collect new --title Drinks --domain 20 --people 50 --mechanism rr --epsilon 2 --out drinks.json",
    ]
    for command in commands:
        _said(folder, command)
    (folder / "job.toml").write_bytes(_said(folder, f"{assess} --print-config"))
    (folder / "swept" / "plan.json").rename(folder / "plan.json")
    (folder / "table" / "plan.json").rename(folder / "table.plan.json")
    for done in ("swept", "table"):
        shutil.rmtree(folder / done)
    _make_stores(folder)


def _said(folder: Path, command: str) -> bytes:
    """Run a command that must not fail, whatever its verdict; what it prints."""
    program = [sys.executable, "-m", "entropie", *command.split()]
    done = subprocess.run(program, cwd=folder, check=False, capture_output=True, timeout=3000)
    assert done.returncode in (0, 1, 3), done.stderr.decode()
    return done.stdout


def _make_stores(folder: Path) -> None:
    """Stores of a service: one that counts, two that are closed."""
    content = (folder / "drinks.json").read_bytes()
    name = document.read(content).id
    for place, store in enumerate(("open", "closed", "other")):
        held = SqliteStore(folder / f"{store}.store")
        held.create(content)
        held.add([Batch(name, [100 * place + nonce for nonce in range(9)], [nonce % 5 for nonce in range(9)], 1)])
        if place:
            held.close(name)
        held.end()


def _run(todo: Iterator[tuple[str, int]], folder: Path, options: argparse.Namespace, tallies: dict[str, Tally]) -> None:
    """Deal cases to workers until there are none or the time is over; count what becomes of them."""
    workers = [_Worker(folder / f"worker{number}") for number in range(options.at_once)]
    seed, seconds = options.seed, options.seconds
    begun = shown = time.monotonic()
    idle, busy = list(workers), []
    try:
        while True:
            while idle and (seconds is None or time.monotonic() - begun < seconds):
                following = next(todo, None)
                if following is None:
                    break
                idle[-1].begin(*following, seed)
                busy.append(idle.pop())
            if not busy:
                return
            for worker in _ready(busy):
                busy.remove(worker)
                idle.append(worker)
                _count(tallies, worker)
            if time.monotonic() - shown > 60:
                shown = time.monotonic()
                done = sum(sum(tally.codes.values()) for tally in tallies.values())
                print(f"fuzz: {done:,} cases, {shown - begun:.0f} s", file=sys.stderr, flush=True)
    finally:
        for worker in workers:
            worker.stop()


def _ready(busy: list[_Worker]) -> list[_Worker]:
    """Those who have an answer, have died, or have taken too long."""
    wait([worker.connection for worker in busy], timeout=1.0)
    return [worker for worker in busy if worker.finished()]


def _count(tallies: dict[str, Tally], worker: _Worker) -> None:
    asked, ran = worker.answer()
    tally = tallies.setdefault(asked.target, Tally())
    tally.codes[ran.code] += 1
    tally.alone += ran.alone
    tally.seconds += ran.seconds
    said = problems(asked, ran)
    if said:
        tally.failed += 1
        where = kept(asked, ROOT / "out" / "fuzz", worker.name)
        print(f"fuzz: {where}: {'; '.join(said)}", file=sys.stderr, flush=True)


class _Worker:
    """A process that runs cases one by one; it is begun anew when a case ends it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, self.folder), daemon=True)
        self.process.start()
        theirs.close()

    def begin(self, target: str, number: int, seed: int) -> None:
        """Hand over a case."""
        self.asked = (target, seed, number)
        self.name = f"{target}-{seed}-{number}"
        self.begun = time.monotonic()
        self.connection.send((self.asked, number % ALONE_EVERY == ALONE_EVERY - 1))

    def finished(self) -> bool:
        """Whether there is anything to tell."""
        return self.connection.poll() or not self.process.is_alive() or time.monotonic() - self.begun > SECONDS_PER_CASE

    def answer(self) -> tuple[Case, Ran]:
        """The case and what came of it; a worker that hangs or died is replaced."""
        if self.connection.poll():
            try:
                told: tuple[Case, Ran] = self.connection.recv()
                return told
            except EOFError:
                pass
            self.process.join(10.0)  # what has let go of its pipe is ending
        seconds = time.monotonic() - self.begun
        hung = self.process.is_alive()
        self.stop()
        code = -1 if hung else self.process.exitcode or -2
        self._start()
        os.chdir(self.folder)
        return case(*self.asked), Ran(code, "", "no end" if hung else "the process died", seconds)

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def _work(connection: Connection, folder: Path) -> None:
    os.chdir(folder)
    while True:
        try:
            (target, seed, number), alone = connection.recv()
        except EOFError:
            return
        asked = case(target, seed, number)
        inside = folder / "case"
        shutil.rmtree(inside, ignore_errors=True)  # of a case that ended another worker
        inside.mkdir()
        drawing.available = AVAILABLE if number % DRAWN_EVERY == 0 else lambda: False
        ran = in_a_process(asked, inside, SECONDS_PER_CASE) if alone else in_this_process(asked, inside)
        os.chdir(folder)
        shutil.rmtree(inside, ignore_errors=True)
        connection.send((asked, ran))


if __name__ == "__main__":
    sys.exit(main())
