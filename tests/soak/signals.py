"""Runs that are stopped, run out of disk, or meet each other: `scripts/soak signals`.

Every command is started again and again, and stopped by SIGINT, SIGTERM, SIGHUP or SIGKILL at a random moment between the
time it can hear signals and its end. Then: is the exit code right, is every output whole (old or new) or absent, do page
and JSON agree, is anything left in its folder or in the folder for temporary files, and does the next run remove what a
killed one left? The disk is made full at every size up to that of the outputs, by a limit on the size of files and, where
this may be mounted, on a small disk. Two runs are started into one folder.

Four trials of five are forked from a process that has loaded the program, the fifth is a new process.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import random
import re
import resource
import shutil
import signal
import stat
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PERSON = "person-7f3a"  # what every id begins with, and nothing else
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGKILL: -9}
PATIENCE_SECONDS = 60.0
EVENTS = ("--user", "user", "--item", "item", "--time", "time")


@dataclass(frozen=True)
class Trial:
    """A command, what it reads (made once), and what it writes."""

    name: str
    arguments: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    code: int = 0


COMMANDS = (
    Trial("assess", ("assess", "events.csv", *EVENTS, "--out", "out", "--metrics", "m.prom"),
          ("out/assessment.json", "out/report.html", "m.prom")),
    Trial("demo", ("demo", "--out", "out"), ("out/assessment.json", "out/report.html")),
    Trial("attributes", ("attributes", "people.csv", "--id", "user", "--columns", "age,place", "--out", "out"),
          ("out/attributes.json",)),
    Trial("scores", ("scores", "genuine.txt", "impostor.txt")),
    Trial("report", ("report", "found/assessment.json", "--out", "page.html"), ("page.html",)),
    Trial("compare", ("compare", "found/assessment.json", "found/assessment.json")),
    Trial("sweep", ("sweep", "events.csv", *EVENTS, "--out", "out"), ("out/sweep.json", "out/sweep.csv")),
    Trial("guarantee", ("guarantee", "--mechanism", "glh", "--domain", "1M", "--users", "1M", "--epsilon", "9",
                        "--hash-size", "99")),
    Trial("calibrate", ("calibrate", "--users", "1M", "--domain", "1M", "--bayes-error", "0.9", "--parameters", "p.json"),
          ("p.json",)),
    Trial("obfuscate", ("obfuscate", "large.csv", "--column", "item", "--keep", "user", "--dictionary", "d.csv",
                        "--mechanism", "rr", "--epsilon", "5", "--out", "r.csv"),
          ("r.csv", "d.csv", "r.csv.parameters.json")),
    Trial("estimate", ("estimate", "reports.csv", "--parameters", "reports.csv.parameters.json", "--out", "e.csv",
                       "--save-counts", "c.npz"), ("e.csv", "c.npz")),
    Trial("plan", ("plan", "--users", "1M", "--events-per-user", "30", "--items", "1M")),
    Trial("simulate", ("simulate", "foursquare", "--users", "60K", "--out", "s.parquet"), ("s.parquet",)),
    Trial("reproduce", ("reproduce", "9", "6", "--out", "out"), ("out/results.md",)),
)  # fmt: skip


@dataclass
class Row:
    """What came of the trials of one command."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    slowest: float = 0.0


def main() -> None:
    """Run what is asked for, print the tables, exit with 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--moments", type=int, default=200, help="moments per command")
    parser.add_argument("--limits", type=int, default=25, help="sizes of disk per command")
    parser.add_argument("--pairs", type=int, default=20, help="pairs of runs into one folder")
    parser.add_argument("--command", action="append", help="this command only; repeatable")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no trial after this time")
    parser.add_argument("--write", type=Path, help="put the tables into this page")
    wanted = parser.parse_args()
    chosen = [trial for trial in COMMANDS if not wanted.command or trial.name in wanted.command]
    rng, begun = random.Random(wanted.seed), time.monotonic()
    place = Path(tempfile.mkdtemp(prefix="soak-"))  # not one that children would remove at their end
    try:
        workshop = Workshop(place, chosen)
        stopped = stop(chosen, workshop, rng, wanted.moments, begun + 0.6 * wanted.seconds)
        full = fill(chosen, workshop, wanted.limits, begun + 0.9 * wanted.seconds)
        met = meet(workshop, rng, wanted.pairs, begun + wanted.seconds)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    command = f"scripts/soak signals --moments {wanted.moments} --seed {wanted.seed}"
    if wanted.seconds < float("inf"):
        command += f" --seconds {wanted.seconds:g}"
    tables = {
        "signals": signal_table(stopped, command),
        "full disks": disk_table(full),
        "concurrent runs": pair_table(met),
    }
    print("\n".join(tables.values()))
    problems = [problem for row in [*stopped, *full, met] for problem in row.problems]
    print("\n".join(problems[:50]))
    if wanted.write:
        put_into(wanted.write, tables)
    sys.exit(bool(problems))


class Workshop:
    """Folders with inputs, and ways to start a command in one."""

    def __init__(self, place: Path, chosen: list[Trial]) -> None:
        self.place = place
        self.heard: dict[int, tuple[int, Path]] = {}
        self.stock = place / "stock"
        self.stock.mkdir()
        write_inputs(self.stock)
        preload()
        for arguments in (
            ("assess", "events.csv", *EVENTS, "--out", "found", "--no-report"),
            ("obfuscate", "events.csv", "--column", "item", "--dictionary", "names.csv", "--mechanism", "rr", "--epsilon",
             "5", "--out", "reports.csv"),
        ):  # fmt: skip
            made = arguments[arguments.index("--out") + 1]
            if not any(word.startswith(made) for trial in chosen for word in trial.arguments):
                continue
            code, _ = self.finish(self.forked(self.stock, arguments))
            assert code == 0, (code, (self.stock / "said.err").read_text())
        (self.stock / "said.err").unlink(missing_ok=True)

    @contextlib.contextmanager
    def folder(self) -> Iterator[Path]:
        """A folder of its own for one trial: the inputs, and a place for temporary files."""
        place = Path(tempfile.mkdtemp(dir=self.place))
        try:
            for file in self.stock.rglob("*"):
                if file.is_file():
                    target = place / file.relative_to(self.stock)
                    target.parent.mkdir(exist_ok=True)
                    os.link(file, target)
            (place / "tmp").mkdir()
            yield place
        finally:
            shutil.rmtree(place)

    def forked(self, folder: Path, arguments: tuple[str, ...], size: int | None = None) -> int:
        """Run a command in a child of this process; its process number."""
        child = self._fork(folder)
        if child:
            return child
        try:
            prepare(folder, size)
            sys.argv = ["entropie", *arguments]
            from entropie.cli.main import main as entry

            entry()
        except SystemExit as ended:
            sys.stdout.flush()
            os._exit(int(ended.code or 0))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(99)

    def fresh(self, folder: Path, arguments: tuple[str, ...], size: int | None = None) -> int:
        """Run a command in a new process; its process number."""
        child = self._fork(folder)
        if child:
            return child
        try:
            prepare(folder, size)
            os.execv(sys.executable, [sys.executable, "-m", "entropie", *arguments])
        finally:
            os._exit(99)

    def _fork(self, folder: Path) -> int:
        """A child whose standard error comes here: a file would be part of the trial."""
        here, there = os.pipe()
        child = os.fork()
        if not child:
            os.dup2(there, 2)
        os.close(there)
        self.heard[child] = (here, folder / "said.err")
        return child

    def finish(self, child: int) -> tuple[int | None, float]:
        """Wait for a child, and file what it said: its exit code, None where it hangs, and the seconds that took."""
        try:
            return self._finish(child)
        finally:
            here, file = self.heard.pop(child)
            os.set_blocking(here, False)
            with contextlib.suppress(BlockingIOError):
                file.write_bytes(os.read(here, 65_536))
            os.close(here)

    @staticmethod
    def _finish(child: int) -> tuple[int | None, float]:
        begun = time.monotonic()
        while time.monotonic() - begun < PATIENCE_SECONDS:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status), time.monotonic() - begun
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None, PATIENCE_SECONDS


def prepare(folder: Path, size: int | None) -> None:
    """In a child: its folder, where it prints, how large its files may be, and signals as a shell has them."""
    os.chdir(folder)
    os.environ["TMPDIR"] = str(folder / "tmp")
    tempfile.tempdir = None
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def preload() -> None:
    """Load what commands load when they run, and run none of it: a fork must find no thread."""
    import importlib

    for name in ("cli.main", "assessment", "page", "data.simulation", "data.columns", "engine.local", "mitigate.sweep",
                 "mitigate.attributes", "paper.reproduce", "gate.metrics", "cli.summary", "estimation.estimates"):  # fmt: skip
        importlib.import_module(f"entropie.{name}")


def write_inputs(stock: Path) -> None:
    """People with ids that are easy to find again."""
    rng = random.Random(1)
    for name, users in (("events", 150), ("large", 4000)):
        with (stock / f"{name}.csv").open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["user", "item", "time"])
            for user in range(users):
                for k in range(20):
                    out.writerow(
                        [f"{PERSON}-{user}", f"place {int(rng.paretovariate(0.8)) % 300}", 1_500_000_000 + 3600 * k]
                    )
    with (stock / "people.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["user", "age", "place"])
        out.writerows([f"{PERSON}-{user}", rng.randrange(90), f"town {rng.randrange(40)}"] for user in range(20_000))
    for name, centre, count in (("genuine", 2.0, 500), ("impostor", 0.0, 20_000)):
        (stock / f"{name}.txt").write_text("\n".join(str(rng.gauss(centre, 1.0)) for _ in range(count)) + "\n")


def is_deaf(child: int) -> bool:
    """Whether the process has no handler for SIGTERM yet."""
    with contextlib.suppress(OSError, StopIteration):
        status = Path(f"/proc/{child}/status").read_text()
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
        return not int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1
    return False


def hearing(child: int) -> None:
    """Wait until a process can hear signals."""
    while is_deaf(child):
        time.sleep(0.001)


def stop(chosen: list[Trial], workshop: Workshop, rng: random.Random, moments: int, deadline: float) -> list[Row]:
    """Stop every command at random moments; moments go round the commands, so that all get the same number."""
    rows = {trial.name: Row(trial.name) for trial in chosen}
    lengths: dict[tuple[str, bool], float] = {}
    for moment in range(moments):
        for trial in chosen:
            if time.monotonic() > deadline:
                return list(rows.values())
            fresh, number = moment % 5 == 4, list(SIGNALS)[moment % 4]
            if (trial.name, fresh) not in lengths:
                lengths[trial.name, fresh] = length_of(trial, workshop, fresh)
            share = rng.random()
            stop_once(rows[trial.name], trial, workshop, (number, fresh, share * lengths[trial.name, fresh]))
    return list(rows.values())


def length_of(trial: Trial, workshop: Workshop, fresh: bool) -> float:
    """Seconds from the moment when a command hears signals to its end."""
    with workshop.folder() as folder:
        child = (workshop.fresh if fresh else workshop.forked)(folder, trial.arguments)
        hearing(child)
        code, seconds = workshop.finish(child)
        assert code == trial.code, (trial.name, code, (folder / "said.err").read_text())
        return seconds


def stop_once(row: Row, trial: Trial, workshop: Workshop, how: tuple[signal.Signals, bool, float]) -> None:
    """One moment: start, wait, send, look."""
    number, fresh, wait = how
    with workshop.folder() as folder:
        before = listed(folder)
        child = (workshop.fresh if fresh else workshop.forked)(folder, trial.arguments)
        hearing(child)
        time.sleep(wait)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)
        code, seconds = workshop.finish(child)
        row.slowest = max(row.slowest, seconds if code != trial.code else 0.0)
        row.counts["ended first" if code == trial.code else number.name] += 1
        found = list(problems_of(trial, folder, before, code, SIGNALS[number]))
        if number == signal.SIGKILL:
            code, _ = workshop.finish(workshop.forked(folder, trial.arguments))
            if code != trial.code:
                found.append(f"the next run ends with {code}: {(folder / 'said.err').read_text()}")
            left = sorted(name for name in listed(folder) if "entropie-part" in name)
            found += [f"left after the next run: {name}" for name in left]
        what = f"{trial.name}, {number.name} after {wait:.3f} s{' (new process)' if fresh else ''}"
        row.problems += [f"{what}: {problem}" for problem in found]


def problems_of(trial: Trial, folder: Path, before: set[str], code: int | None, expected: int) -> Iterator[str]:
    """Every promise that a stopped run has broken."""
    said = (folder / "said.err").read_text() if (folder / "said.err").exists() else ""
    if code not in (expected, trial.code):
        yield f"exit code {code}: {said[-300:]}"
    if "Traceback" in said or "Fatal" in said:
        yield f"said {said[-300:]}"
    there = [name for name in trial.outputs if (folder / name).exists()]
    for name in there:
        with contextlib.suppress(AssertionError):
            check_whole(folder / name)
            continue
        yield f"{name} is not whole"
    if "Stopped; nothing was written" in said and there:
        yield f"says that nothing was written, and {there} are there"
    yield from disagreement(folder)
    for name in sorted(listed(folder) - before - set(trial.outputs) - {"said.err"}):
        file = folder / name
        if expected == -9 and ".entropie-part" in name:
            if stat.S_IMODE(file.stat().st_mode) != 0o600:
                yield f"{name} is open to others"
        elif not name.startswith("out/") or trial.name != "reproduce":  # finished steps are kept
            yield f"left: {name}"
    for file in (folder / "tmp").rglob("*"):
        if file.is_file() and PERSON.encode() in file.read_bytes():
            yield f"ids in {file.name}"


def listed(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if not file.is_dir()}


def check_whole(file: Path) -> None:
    """Refuse a file that was cut off."""
    ending, content = file.suffix, file.read_bytes()
    assert content, file
    if ending == ".json":
        json.loads(content)
    elif ending == ".html":
        assert content.rstrip().endswith(b"</html>")
    elif ending == ".parquet":
        assert content[-4:] == b"PAR1"
    elif ending == ".npz":
        assert b"PK\x05\x06" in content[-64:]
    else:
        assert content.endswith(b"\n")


def disagreement(folder: Path) -> Iterator[str]:
    """A page beside a JSON that it is not about."""
    page, document = folder / "out" / "report.html", folder / "out" / "assessment.json"
    if page.exists() and document.exists():
        inside = re.search(
            r'<script type="application/json" id="assessment">(.*?)</script>', page.read_text(), re.DOTALL
        )
        if inside is None or json.loads(inside[1]) != json.loads(document.read_text()):
            yield "page and JSON disagree"
    elif page.exists():
        yield "a page without its JSON"


def fill(chosen: list[Trial], workshop: Workshop, limits: int, deadline: float) -> list[Row]:
    """Run every command that writes with a limit on the size of files, from nothing to more than it needs."""
    rows = []
    for trial in chosen:
        if not trial.outputs or time.monotonic() > deadline:
            continue
        row = Row(trial.name)
        with workshop.folder() as folder:
            workshop.finish(workshop.forked(folder, trial.arguments))
            largest = max((folder / name).stat().st_size for name in trial.outputs)
        for step in range(limits):
            if time.monotonic() < deadline:
                fill_once(row, trial, workshop, round(1.3 * largest * step / max(1, limits - 1)))
        rows.append(row)
    return rows


def fill_once(row: Row, trial: Trial, workshop: Workshop, size: int) -> None:
    with workshop.folder() as folder:
        before = listed(folder)
        code, _ = workshop.finish(workshop.forked(folder, trial.arguments, size))
        said = (folder / "said.err").read_text()
        row.counts[str(code)] += 1
        found = list(problems_of(trial, folder, before, code, 74))
        missing = [name for name in trial.outputs if not (folder / name).exists()]
        if (code == trial.code) != (not missing):
            found.append(f"exit code {code}, and {missing} are missing")
        if code == 74 and "could not be written" not in said:
            found.append(f"said {said}")
        row.problems += [f"{trial.name}, files of at most {size} bytes: {problem}" for problem in found]


def meet(workshop: Workshop, rng: random.Random, pairs: int, deadline: float) -> Row:
    """Start two runs into one folder, the second a little later."""
    row, trial = Row("two runs"), COMMANDS[0]
    for _ in range(pairs):
        if time.monotonic() > deadline:
            break
        with workshop.folder() as folder:
            before = listed(folder)
            first = workshop.forked(folder, (*trial.arguments, "--seed", "1"))
            time.sleep(rng.random())
            second = workshop.forked(folder, (*trial.arguments, "--seed", "2"))
            codes = sorted(str(workshop.finish(child)[0]) for child in (first, second))
            row.counts[" and ".join(codes)] += 1
            if codes not in (["0", "0"], ["0", "2"]):
                row.problems.append(f"two runs end with {codes}")
            left = listed(folder) - before - set(trial.outputs) - {"said.err"}
            row.problems += [
                f"two runs: {problem}" for problem in (*disagreement(folder), *map("left: {}".format, left))
            ]
    return row


def signal_table(rows: list[Row], command: str) -> str:
    """Markdown: what the signals met."""
    names = ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL", "ended first"]
    lines = [
        f"| command | {' | '.join(names)} | slowest end, s | broken |",
        f"|---|{'---:|' * (len(names) + 2)}",
        *(
            f"| {row.name} | {' | '.join(str(row.counts[name]) for name in names)} | {row.slowest:.2f} | "
            f"{len(row.problems)} |"
            for row in rows
        ),
    ]
    return f"`{command}`:\n\n" + "\n".join(lines) + "\n"


def disk_table(rows: list[Row]) -> str:
    """Markdown: exit codes of runs without room."""
    return "\n".join(
        [
            "| command | sizes tried | file not written (74) | written (0) | broken |",
            "|---|---:|---:|---:|---:|",
            *(
                f"| {row.name} | {row.counts.total()} | {row.counts['74']} | {row.counts['0']} | {len(row.problems)} |"
                for row in rows
            ),
            "",
        ]
    )


def pair_table(row: Row) -> str:
    """Markdown: exit codes of pairs."""
    return "\n".join(
        [
            "| pairs | one refused (exit 2) | one after the other | broken |",
            "|---:|---:|---:|---:|",
            f"| {row.counts.total()} | {row.counts['0 and 2']} | {row.counts['0 and 0']} | {len(row.problems)} |",
            "",
        ]
    )


def put_into(page: Path, tables: dict[str, str]) -> None:
    """Put each table between the marks with its name."""
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        marks = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
        text = re.sub(marks, lambda found, table=table: f"{found[1]}\n{table}\n{found[2]}", text, flags=re.DOTALL)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
