"""What is promised when something goes wrong: exit codes, outputs that are whole, nothing left behind or obeyed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropie import atomic
from entropie.atomic import claimed, replacing, write_together
from entropie.cli import main as entry
from entropie.data.files import InputFile
from entropie.data.parquet import damaged
from entropie.errors import InvalidInput, OutputFailed

QUICK = ("--matcher", "visit", "--no-control")
SWEEP = ("--profile", "ema", "--only", "--top", "2")


def write_events(path: Path, users: int = 12, events: int = 12) -> None:
    rows = [f"u{user},i{(user * 7 + k * k) % 9},{1_500_000_000 + k}" for user in range(users) for k in range(events)]
    path.write_text("\n".join(["user,item,time", *rows]) + "\n", encoding="utf-8")


@pytest.fixture
def events(tmp_path: Path) -> Path:
    write_events(tmp_path / "events.csv")
    return tmp_path / "events.csv"


@pytest.fixture
def plain_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page at once: what it holds does not matter here."""
    monkeypatch.setattr("entropie.page.page.render", lambda document: f"<p>{document['provenance']['seed']}</p>")


def fail_with(problem: BaseException):
    def failing(*_: object, **__: object) -> None:
        raise problem

    return failing


def from_kernel() -> SystemError:
    """What comes out of a compiled loop that Ctrl-C meets."""
    problem = SystemError("CPUDispatcher returned a result with an exception set")
    problem.__cause__ = KeyboardInterrupt()
    return problem


@pytest.mark.parametrize(
    ("problem", "code", "said"),
    [
        (TypeError("Jane Doe, 078-05-1120"), 70, "error of the program (TypeError in cli"),
        (RecursionError("deep"), 70, "RecursionError"),
        (AssertionError("Jane Doe"), 70, "--debug"),
        (SystemError("Jane Doe"), 70, "SystemError"),
        (ZeroDivisionError(), 70, "ZeroDivisionError"),
        (MemoryError(), 70, "Memory is exhausted"),
        (KeyboardInterrupt(), 130, "Stopped; nothing was written."),
        (from_kernel(), 130, "Stopped; nothing was written."),
        (OSError(errno.ENOSPC, "No space left on device"), 74, "No space left"),
        (OutputFailed("Output x could not be written."), 74, "could not be written"),
        (InvalidInput("Events are missing."), 2, "Events are missing."),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_every_error_has_its_code_and_one_sentence_without_values(entropie, events, monkeypatch, problem, code, said):
    monkeypatch.setattr("entropie.assessment.assessed", fail_with(problem))
    ran = entropie("assess", events, *QUICK, "--out", "out")
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.lstrip("\n").startswith("entropie: ")
    assert said in ran.err
    assert ran.err.strip().count("\n") == 0
    assert "Jane" not in ran.err
    assert not Path("out").exists()


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_shows_where_an_error_comes_from(entropie, events, monkeypatch, place):
    monkeypatch.setattr("entropie.assessment.assessed", fail_with(TypeError("told")))
    command = ("assess", events, *QUICK)
    ran = entropie("--debug", *command) if place == "before" else entropie(*command, "--debug")
    assert ran.code == 70
    assert "Traceback" in ran.err
    assert "TypeError: told" in ran.err


def test_a_wish_that_cannot_be_met_is_no_verdict(entropie, events):
    """--protect asks for more than chance gives; no limit was named, so that 1 would be a lie."""
    ran = entropie("assess", events, *QUICK, "--protect", "0.99", "--out", "out", "--no-report")
    assert ran.code == 2
    assert "cannot be guaranteed" in ran.err
    assert "re-identified" in ran.out
    assert Path("out/assessment.json").exists()


def test_outputs_are_for_their_owner_unless_public(entropie, events, plain_page):
    before = os.umask(0o022)
    try:
        assert entropie("assess", events, *QUICK, "--out", "own", "--metrics", "own.prom", "--quiet").code == 0
        assert (
            entropie("assess", events, *QUICK, "--out", "all", "--metrics", "all.prom", "--quiet", "--public").code == 0
        )
        os.umask(0o027)
        assert entropie("sweep", events, *SWEEP, "--out", "group", "--public", "--quiet").code in (0, 1, 3)
    finally:
        os.umask(before)

    def modes(*names: str) -> set[str]:
        return {oct(stat.S_IMODE(Path(name).stat().st_mode)) for name in names}

    assert modes("own/assessment.json", "own/report.html", "own.prom") == {"0o600"}
    assert modes("own") == {"0o700"}
    assert modes("all/assessment.json", "all/report.html", "all.prom") == {"0o644"}
    assert modes("group/sweep.json", "group/sweep.csv") == {"0o640"}


def test_a_file_is_closed_to_others_while_it_is_written(tmp_path):
    with replacing(tmp_path / "a.csv") as hidden:
        assert stat.S_IMODE(hidden.stat().st_mode) == 0o600
        hidden.write_text("half")
        assert [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()] == [0o600]
    assert (tmp_path / "a.csv").read_text() == "half"


@pytest.mark.parametrize("mask", [0, 0o022, 0o277])
def test_no_umask_opens_or_closes_a_file(entropie, events, plain_page, mask):
    """0: everybody may; 0o277: not even the owner may write."""
    before = os.umask(mask)
    try:
        ran = entropie("assess", events, *QUICK, "--out", "out", "--metrics", "m.prom", "--quiet")
    finally:
        os.umask(before)
    assert ran.code == 0, ran.err
    files = [Path("m.prom"), Path("out/assessment.json"), Path("out/report.html")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(Path("out").stat().st_mode) == 0o700


def test_a_run_that_is_given_up_makes_no_file_again(tmp_path, monkeypatch):
    """A signal comes, what is unfinished goes, and the other thread opens its hidden file once more."""
    monkeypatch.setattr(atomic, "_naming", threading.RLock())
    with contextlib.suppress(OutputFailed, FileNotFoundError), replacing(tmp_path / "a.npz") as hidden:
        atomic.discard_unfinished()
        with hidden.open("wb") as again:
            again.write(b"u17,clinic")
        assert list(tmp_path.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def test_content_is_on_the_disk_before_a_name_says_so(tmp_path, monkeypatch):
    """Every file is flushed before it is renamed, and its folder after: what a power cut leaves is whole."""
    steps: list[str] = []
    flush, rename = os.fsync, Path.replace

    def flushed(place: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(place).st_mode) else f"file of {os.fstat(place).st_size}")
        flush(place)

    def renamed(self: Path, target: Path) -> Path:
        steps.append(f"rename {target.name}")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "replace", renamed)
    atomic.write_file(tmp_path / "a", "12345")
    assert steps == ["file of 5", "rename a", "folder"]
    steps.clear()
    write_together(tmp_path, {"a": "1234567", "b": "123"})
    assert steps == ["file of 7", "file of 3", "folder", "rename a", "rename b", "folder"]


def test_a_disk_that_fails_only_when_flushed_is_told(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old")
    monkeypatch.setattr(os, "fsync", fail_with(OSError(errno.EIO, "Input/output error")))
    with pytest.raises(OutputFailed, match="the disk reports an error"):
        atomic.write_file(tmp_path / "a", "new")
    with pytest.raises(OutputFailed, match="the disk reports an error"):
        write_together(tmp_path, {"a": "new"})
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]
    monkeypatch.setattr(os, "fsync", fail_with(OSError(errno.EINVAL, "not here")))
    atomic.write_file(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"


def test_what_one_run_writes_has_one_mark(entropie, events):
    for seed in ("1", "2"):
        out = ("--out", f"out{seed}", "--metrics", f"out{seed}/m.prom")
        Path(f"out{seed}").mkdir()
        assert entropie("assess", events, *QUICK, *out, "--seed", seed, "--quiet", "--no-report").code == 0
    run = json.loads(Path("out1/assessment.json").read_text())["provenance"]["run"]
    assert f'run="{run}"' in Path("out1/m.prom").read_text()
    assert run not in Path("out2/m.prom").read_text()
    for command in (("compare", "out1/assessment.json", "out1/assessment.json"), ("report", "out1/assessment.json")):
        assert entropie(*command).err == ""
    Path("out1/other.prom").write_bytes(Path("out2/m.prom").read_bytes())
    Path("out1/foreign.prom").write_text("node_cpu 1\n")
    for command in (("compare", "out1/assessment.json", "out2/assessment.json"), ("report", "out1/assessment.json")):
        said = entropie(*command).err
        assert said == "entropie: Note: out1/other.prom is not of the same run as the JSON beside it.\n"


def test_two_runs_may_write_one_file_of_metrics(entropie, events, plain_page):
    with replacing("m.prom") as hidden:
        hidden.write_text("of another")
        ran = entropie("assess", events, *QUICK, "--out", "out", "--metrics", "m.prom", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    assert Path("m.prom").read_text() == "of another"


def test_no_report_takes_the_old_one_away(entropie, events, plain_page):
    assert entropie("assess", events, *QUICK, "--out", "out", "--quiet").code == 0
    assert Path("out/report.html").exists()
    assert entropie("assess", events, *QUICK, "--seed", "3", "--out", "out", "--quiet", "--no-report").code == 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["assessment.json"]


def test_a_page_of_another_run_is_noticed(entropie, events, plain_page):
    assert entropie("assess", events, *QUICK, "--out", "out", "--quiet").code == 0
    document, page = Path("out/assessment.json"), Path("out/report.html")
    assert "not of the same run" not in entropie("compare", document, document).err
    text = '<script type="application/json" id="assessment">{}</script>'
    page.write_text(text.format(document.read_text()), encoding="utf-8")
    assert entropie("compare", document, document).err == ""
    page.write_text(text.format('{"schema": "of another"}'), encoding="utf-8")
    assert "entropie: Note: out/report.html is not of the same run" in entropie("compare", document, document).err


def test_metrics_that_fail_cost_nothing_else(entropie, events, plain_page, monkeypatch):
    failing = fail_with(OutputFailed("Output m.prom could not be written: the disk is full."))
    monkeypatch.setattr("entropie.gate.metrics.write_file", failing)
    ran = entropie(
        "assess",
        events,
        *QUICK,
        "--out",
        "out",
        "--metrics",
        "m.prom",
        "--limit",
        "1%",
        "--limit-name",
        "ours",
        "--fail-on",
        "average",
    )
    assert ran.code == 74
    assert ran.err == "entropie: Output m.prom could not be written: the disk is full.\n"
    assert "re-identified" in ran.out
    assert (
        json.loads(Path("out/assessment.json").read_text())["verdict"]["decision"] == "INCONCLUSIVE"
    )  # too few people
    assert Path("out/report.html").exists()


def test_a_report_that_cannot_be_made_costs_no_json(entropie, events, plain_page, monkeypatch):
    assert entropie("assess", events, *QUICK, "--out", "out", "--quiet").code == 0
    monkeypatch.setattr("entropie.page.page.render", fail_with(ValueError("Jane")))
    ran = entropie("assess", events, *QUICK, "--seed", "3", "--out", "out")
    assert ran.code == 70
    assert "re-identified" in ran.out
    assert sorted(path.name for path in Path("out").iterdir()) == ["assessment.json"]
    assert json.loads(Path("out/assessment.json").read_text())["provenance"]["seed"] == 3


@contextlib.contextmanager
def files_no_larger_than(size: int):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_named_and_leaves_what_was_there(tmp_path):
    (tmp_path / "a.json").write_text("old")
    with files_no_larger_than(100_000), pytest.raises(OutputFailed, match="may not become so large"):
        write_together(tmp_path, {"a.json": "x" * 200_000, "b.html": "y"})
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]
    with files_no_larger_than(100_000), pytest.raises(OutputFailed, match=r"b\.html could not be written"):
        write_together(tmp_path, {"a.json": "new", "b.html": "y" * 200_000})
    assert [path.read_text() for path in tmp_path.iterdir()] == ["new"]


def test_a_folder_without_room_is_refused_before_the_work(entropie, events):
    with files_no_larger_than(0):
        ran = entropie("assess", events, *QUICK, "--out", "out")
    assert (ran.code, ran.out) == (74, "")
    assert "Folder out could not be written" in ran.err


def test_a_folder_takes_one_run_at_a_time(entropie, events, plain_page):
    with claimed("out"):
        ran = entropie("assess", events, *QUICK, "--out", "out")
    assert (ran.code, ran.out) == (2, "")
    assert "is being written to by another run" in ran.err
    assert entropie("assess", events, *QUICK, "--out", "out", "--quiet").code == 0


def test_a_file_takes_one_run_at_a_time(tmp_path):
    with replacing(tmp_path / "a") as hidden:
        hidden.write_text("mine")
        with pytest.raises(InvalidInput, match="is being written by another run"), replacing(tmp_path / "a"):
            pass
        with replacing(tmp_path / "b") as other:
            other.write_text("other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_what_dead_runs_left_goes_and_nothing_else(tmp_path):
    dead = tmp_path / ".report.html.0123456789abcdef.entropie-part"
    kept = [tmp_path / name for name in (".report.html.part", ".x.entropie-part", "a.0123456789abcdef.entropie-part")]
    for path in (dead, *kept):
        path.write_text("u17,clinic")
    link = tmp_path / ".link.0123456789abcdef.entropie-part"
    link.symlink_to(kept[0])
    with claimed(tmp_path):
        pass
    assert not dead.exists()
    assert link.is_symlink()
    assert all(path.exists() for path in kept)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--metrics", "events.csv"), "is also an input"),
        (("--metrics", "same.csv"), "is also an input"),
        (("--metrics", "out/report.html"), "is named twice"),
        (("--metrics", "/dev/null"), "not a plain file"),
        (("--metrics", "none/m.prom"), "does not exist"),
        (("--out", "events.csv"), "cannot be written to"),
        (("--out", "x" * 300), "Folder"),
    ],
)
def test_outputs_are_checked_before_the_work(entropie, events, monkeypatch, arguments, said):
    Path("same.csv").hardlink_to(events)
    monkeypatch.setattr("entropie.assessment.assessed", fail_with(AssertionError("worked")))
    ran = entropie("assess", "events.csv", *QUICK, "--out", "out", *arguments)
    assert ran.code in (2, 74)
    assert said in ran.err


def test_files_of_a_pattern_or_folder_are_inputs_too(entropie, tmp_path):
    (tmp_path / "in").mkdir()
    write_events(tmp_path / "in" / "a.csv")
    for events in ("in", "in/*.csv"):
        ran = entropie("assess", events, *QUICK, "--out", "out", "--metrics", "in/a.csv")
        assert (ran.code, "is also an input" in ran.err) == (2, True)


NASTY = "n\x1b[31m\u202e\n[red]x\u2066.csv"


def test_no_name_reaches_the_terminal_as_it_is(entropie, tmp_path, plain_page):
    write_events(tmp_path / NASTY)
    for arguments in (("assess", *QUICK), ("sweep", *SWEEP)):
        for form in ((), ("--json",), ("--verbose",)):
            ran = entropie(arguments[0], NASTY, *arguments[1:], *form)
            assert ran.code in ((0,) if arguments[0] == "assess" else (0, 1, 3)), ran.err
            assert not set(ran.out + ran.err) & set("\x1b\u202e\u2066")
            if form == ("--json",):
                json.loads(ran.out)
    ran = entropie("assess", f"none{NASTY}")
    assert ran.code == 2
    assert not set(ran.err) & set("\x1b\u202e\u2066")
    assert ran.err.count("\n") == 1


def test_json_is_escaped_and_the_same(capsys):
    from entropie.cli import output

    document = {"name": "caf\u00e9\u00a0\u202e\x1b\x9b\ud800\U000e0041", "line": "a\nb"}
    output.print_json(document)
    text = capsys.readouterr().out
    assert json.loads(text) == document
    assert not set(text) & set("\u202e\x1b\x9b\ud800\U000e0041")
    assert "caf\u00e9\u00a0" in text


FORMULAS = ["=1+1", "'=1", "''@x", "-2", "bakery", "\uff1dA1", "it's", "'quoted'", "+a"]


def test_formula_cells_are_text_and_read_back(entropie, tmp_path):
    (tmp_path / "v.csv").write_text("place,=who\n" + "\n".join(f'"{name}",={n}' for n, name in enumerate(FORMULAS * 3)))
    options = ("--column", "place", "--dictionary", "d.csv", "--mechanism", "rr", "--theta", "1", "--keep", "=who")
    assert entropie("obfuscate", "v.csv", *options, "--out", "r.csv").code == 0
    for file in ("d.csv", "r.csv"):
        cells = [cell.strip('"') for line in Path(file).read_text().splitlines() for cell in line.split(",")]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\uff1d"))]
    known = ("--parameters", "r.csv.parameters.json", "--dictionary", "d.csv")
    ran = entropie("estimate", "r.csv", *known, "--json")
    assert {row["item"] for row in json.loads(ran.out)["estimates"]} == set(FORMULAS)
    again = entropie("obfuscate", "v.csv", "--column", "place", *known, "--out", "again.csv")
    assert again.code == 0, again.err


def test_simulated_events_as_csv(entropie):
    assert entropie("simulate", "foursquare", "--users", "30", "--out", "a.csv").code == 0
    assert entropie("simulate", "foursquare", "--users", "30", "--out", "a.parquet").code == 0
    table = pq.read_table("a.parquet").to_pydict()
    rows = [line.split(",") for line in Path("a.csv").read_text().splitlines()[1:]]
    assert [[int(cell) for cell in row] for row in rows] == [list(row) for row in zip(*table.values(), strict=True)]


def start(folder: Path, *arguments: str, **settings) -> subprocess.Popen[str]:
    """Start a command that hears every signal, also where these tests themselves run under nohup."""
    return subprocess.Popen(
        ["env", "--default-signal", sys.executable, "-m", "entropie", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )


def heeds(process: subprocess.Popen[str], number: int) -> bool:
    """Whether the process has its handler for a signal."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGQUIT, 131)])
def test_signals_clean_up(tmp_path, number, code):
    """While a file is being written; no events are needed for that."""
    process = start(tmp_path, "simulate", "foursquare", "--users", "400K", "--out", "a.parquet", "--threads", "1")
    try:
        deadline = time.monotonic() + 60.0
        while not list(tmp_path.glob(".*.entropie-part")) and time.monotonic() < deadline:
            time.sleep(0.005)
        assert heeds(process, number)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (code, "", "entropie: Stopped; nothing was written.\n")
    assert list(tmp_path.iterdir()) == []


def test_a_signal_at_the_very_end_changes_nothing(tmp_path):
    """Python sets signals back to what kills a process while it ends; the work is done by then."""
    program = (
        "import os, sys\n"
        "from entropie.cli import main\n"
        "class Late:\n"
        f"    def __del__(self, kill=os.kill, me=os.getpid()): kill(me, {int(signal.SIGTERM)})\n"
        "late = Late()\n"
        "sys.argv = ['entropie', '--version']\n"
        "main.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_output_that_nobody_reads_changes_no_exit_code(tmp_path, monkeypatch):
    command = f"{sys.executable} -m entropie guarantee --mechanism rr --domain 10 --users 10 --epsilon 1"
    for closed, code in ((" | true", "0 0"), (" >&-", "0"), (" > /dev/full", "74")):
        done = subprocess.run(
            ["bash", "-c", f'{command}{closed}; echo "${{PIPESTATUS[*]}}" >&2'],
            cwd=tmp_path, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.stderr.splitlines()[-1] == code, done.stderr
        assert "Traceback" not in done.stderr
        assert "Exception" not in done.stderr


def test_streams_that_are_closed_change_nothing(tmp_path):
    """No output file takes the place of a stream that is closed, and no exit code changes for it."""
    write_events(tmp_path / "events.csv")
    entropie = f"{sys.executable} -m entropie"
    quick = " ".join(QUICK)
    script = f"""
        {entropie} assess events.csv {quick} --no-report --out a <&- >&- 2>&-; echo $?
        {entropie} assess none.csv 2>&-; echo $?
        {entropie} assess none.csv 2>/dev/full; echo $?
    """
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("0\n2\n2\n", "")
    json.loads((tmp_path / "a" / "assessment.json").read_text())


def test_importing_installs_nothing():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    assert entry.run(["--version"]) == 0
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
    assert atomic.written() == ()


LOOSE = ("--limit", "99%", "--limit-name", "rule", "--fail-on", "average", "--min-events", "2")
SUITE = """[defaults.verdict]
profile = "ema"
[defaults.attackers]
matchers = ["visit"]
control = false
[[entry]]
name = "visits"
source = {events = "events.csv"}
"""


@pytest.mark.parametrize(
    ("command", "unwritten"),
    [
        (("check", "suite.toml", "--out", "out", "--no-report", "--junit", "v.xml"), "check.json"),
        (("sweep", "events.csv", *LOOSE, "--only", "--first", "2", "--apply", "safer.csv"), "safer.csv"),
        (("generalise", "events.csv", "--columns", "item,time", "--k", "2", "--apply", "safer.csv"), "safer.csv"),
    ],
)
def test_what_was_found_is_printed_also_where_it_cannot_be_written(entropie, events, command, unwritten):
    Path("suite.toml").write_text(SUITE)
    write_events(events, 60)
    assert entropie(*command).code in (0, 1, 3)  # compiled loops are kept in files, too
    for made in ("safer.csv", "safer.csv.manifest.json", "v.xml", "out/check.json"):
        Path(made).unlink(missing_ok=True)
    with files_no_larger_than(10):
        ran = entropie(*command, "--json")
    assert ran.code == 74, ran.err
    assert unwritten in ran.err
    assert json.loads(ran.out)["schema"]
    assert not [path for path in Path().rglob("*") if path.name.endswith(("entropie-part", "safer.csv", "v.xml"))]


@pytest.mark.parametrize(
    "command",
    [
        ("sweep", "events.csv", *SWEEP, "--apply", "safer.txt"),
        ("generalise", "events.csv", "--columns", "item", "--k", "2", "--apply", "safer.txt"),
    ],
)
def test_a_name_that_says_no_kind_of_table_is_refused_first(entropie, events, monkeypatch, command):
    monkeypatch.setattr("entropie.release.sweep.swept", fail_with(AssertionError("it was begun")))
    monkeypatch.setattr("entropie.release.generalise.generalise", fail_with(AssertionError("it was begun")))
    ran = entropie(*command)
    assert (ran.code, ran.err) == (2, "entropie: Output safer.txt must end in .csv or .parquet.\n")


def test_too_few_addresses_are_told_before_a_library_gives_up(tmp_path):
    write_events(tmp_path / "events.csv")
    few = f"ulimit -v 600000; {sys.executable} -m entropie assess events.csv"
    done = subprocess.run(["bash", "-c", few], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.replace("\N{NO-BREAK SPACE}", " ") == (
        "entropie: This process may address 614 MB (see `ulimit -v`), and the program needs 1 GB without any data; "
        "raise that limit.\n"
    )


def test_a_lack_of_memory_is_not_blamed_on_the_file(events):
    with pytest.raises(MemoryError):
        InputFile(events).unreadable(pa.ArrowMemoryError("malloc of size 64 failed"))
    with pytest.raises(MemoryError):
        damaged(events, pa.ArrowMemoryError("malloc of size 64 failed"))


def test_a_short_soak(tmp_path):
    """What `scripts/soak signals` does for hours, for seconds."""
    script = Path(__file__).parents[1] / "soak" / "signals.py"
    short = ("--moments", "4", "--limits", "3", "--pairs", "0", "--command", "calibrate")
    done = subprocess.run([sys.executable, script, *short], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_place_prints_and_one_writes():
    """Nothing is printed or written past the escapes, modes and names of these two modules."""
    sources = Path(atomic.__file__).parent
    prints = re.compile(r"click\.s?echo\(|\bprint\(|sys\.std(out|err)\.write")
    writes = re.compile(
        r"\.write_(text|bytes)\(|\bopen\([^)]*[\"'][wax]b?[\"']|tempfile\.(mk|Named)|os\.(replace|rename)\("
    )
    for pattern, allowed in ((prints, {"cli/output.py"}), (writes, ALLOWED_WRITERS)):
        found = {
            path.relative_to(sources).as_posix()
            for path in sources.rglob("*.py")
            if pattern.search(path.read_text(encoding="utf-8"))
        }
        assert found == allowed


ALLOWED_WRITERS = {
    "atomic.py",
    "engine/spark/scratch.py",  # folders of its own, closed to others
    "estimation/counts.py",  # into a hidden file
    "paper/steps.py",  # a switch of the system
}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("calibrate", "--users", "9", "--domain", "9", "--bayes-error", "0.8", "--parameters", "/proc/p.json"),
            "Folder /proc cannot be written to; name a file in another.",
        ),
        (
            ("reproduce", "99"),
            "There is no figure `99`; choose among 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, cities, growth, all.",
        ),
        (
            ("attributes", "events.csv", "--columns", "age", "sex"),
            "Got unexpected extra argument (sex). Try 'entropie attributes --help'.",
        ),
        (("report", "events.csv"), "Assessment events.csv is not JSON; make it anew with `entropie assess`."),
    ],
)
def test_a_message_names_what_the_command_has(entropie, events, arguments, said):
    ran = entropie(*arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", f"entropie: {said}\n")


def test_limits_of_the_process_end_in_a_sentence_or_in_a_report_without_charts(events):
    """The library that draws ends the process where addresses are limited; with few files everything fails anywhere."""
    command = [sys.executable, "-m", "entropie", "assess", "events.csv", *QUICK, "--out"]

    def ran(what: int, soft: int, hard: int, out: str) -> subprocess.CompletedProcess[str]:
        limit = {"preexec_fn": lambda: resource.setrlimit(what, (soft, hard))}
        return subprocess.run([*command, out], cwd=events.parent, capture_output=True, text=True, check=False, **limit)

    few = ran(resource.RLIMIT_NOFILE, 20, 20, "few")
    assert (few.returncode, few.stderr.count("\n")) == (2, 1)
    assert "may open 20 files (see `ulimit -n`), and the program needs 64" in few.stderr
    assert ran(resource.RLIMIT_NOFILE, 20, 4096, "raised").returncode == 0
    bounded = ran(resource.RLIMIT_AS, 8 << 30, 8 << 30, "bounded")
    assert (bounded.returncode, bounded.stderr) == (0, "")
    assert "The report has no charts; what draws them needs a process without a limit" in bounded.stdout
    assert (events.parent / "bounded" / "report.html").exists()
