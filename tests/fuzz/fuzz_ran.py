"""A case run, and what must hold of it: the right exit code, one sentence, no traceback, nothing left, rows accounted."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from fuzz_cases import Case
from fuzz_nasty import MARK

__all__ = ["Ran", "in_a_process", "in_this_process", "kept", "kept_case", "problems"]

LONGEST_SENTENCE = 2_000
MOST_MB = 600
"""By which a case may make the process grow: more than the smallest `--memory`, and the program's own parts."""
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_NO_IDS = (".json", ".html", ".xml", ".md", ".prom", ".npz")
_RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\u200e\u200f]")


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a case: code -1 no end, -2 or a signal a dead process.

    seconds   of CPU time
    left      what is in the folder for temporary files afterwards
    written   outputs that exist afterwards
    changed   inputs that are not what they were
    faults    what is wrong with a file that was written
    grown     MB by which the process grew at most, where the system tells
    """

    code: int
    output: str
    errors: str
    seconds: float
    left: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    alone: bool = False
    grown: int = 0


def problems(asked: Case, ran: Ran) -> list[str]:
    """What does not hold."""
    said = []
    if ran.code not in asked.codes:
        last = ran.errors.strip().splitlines()[-1:] or [""]
        said.append(f"exit code {ran.code}: {last[0][:300]}")
    if "Traceback" in ran.errors or "Fatal Python error" in ran.errors:
        said.append("a traceback")
    # A suite of which an entry could not be judged, a table whose plan leaves nothing to write: what was found stands.
    told = asked.command[0] in ("check", "generalise") and ran.output
    if ran.code == 2 and not told:
        if not ran.errors.strip():
            said.append("no sentence")
        if len(ran.errors) > LONGEST_SENTENCE:
            said.append(f"a message of {len(ran.errors)} characters")
        if ran.written:
            said.append(f"written although the input was refused: {ran.written}")
    if (MARK in ran.errors or MARK in ran.output) and not _spliced(asked):
        said.append("somebody's id was printed")
    if _RAW.search(ran.errors.replace("\n", "")) or _RAW.search(ran.output.replace("\n", "")):
        said.append("a control character was printed")
    if ran.changed:
        said.append(f"inputs changed: {ran.changed}")
    said += () if _spliced(asked) else ran.faults
    if ran.left:
        said.append(f"left behind: {ran.left}")
    if ran.grown > MOST_MB:
        said.append(f"{ran.grown} MB were taken")
    unmade = ran.code == 1 and asked.command[0] == "collect"  # a limit is not met: a sentence, and no collection
    if ran.code in (0, 1, 3) and "--json" in asked.command and not unmade:
        said += _document_problems(asked, ran.output)
    return said


def _spliced(asked: Case) -> bool:
    """Whether damage has put an id among the names of columns, which may be printed."""
    heads = [data.split(b"\n", 1)[0] for data in asked.files.values()]
    return any(MARK.encode() in head and (b"user" in head or head.startswith(b"id")) for head in heads)


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _document_problems(asked: Case, output: str) -> list[str]:
    try:
        document = json.loads(output, parse_constant=_refused)
    except ValueError as problem:
        return [f"not one JSON document: {problem}"]
    facts = document.get("input")
    if not isinstance(facts, dict) or facts.get("rows") is None or "dropped" not in facts:
        return []
    used = facts.get("events", facts["rows"] - sum(facts["dropped"].values()))
    said = []
    if facts["rows"] != used + sum(facts["dropped"].values()):
        said.append(f"{facts['rows']} rows, {used} used, {facts['dropped']} refused")
    if asked.rows is not None and facts["rows"] != asked.rows:
        said.append(f"{asked.rows} rows were given, {facts['rows']} accounted for")
    return said


def in_this_process(asked: Case, folder: Path) -> Ran:
    """Run a case here, output caught; whatever escapes the program's own handling is told as a traceback."""
    from entropie.cli.main import run

    _laid_out(asked, folder)
    os.chdir(folder)
    temporary = _temporary(folder)
    tempfile.tempdir = str(temporary)
    output, errors, begun, before = _Text(), _Text(), time.process_time(), _most_mb(anew=True)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors), _standard_input(asked):
        try:
            code = run(asked.command)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except BaseException as problem:
            code = 70
            errors.write(f"Traceback: {type(problem).__name__}: {problem}")
    seconds = time.process_time() - begun
    return Ran(
        code,
        output.text(),
        errors.text(),
        seconds,
        _inside(temporary),
        _written(asked, folder),
        _changed(asked, folder),
        _faults(asked, folder),
        grown=_most_mb() - before,
    )


def _most_mb(*, anew: bool = False) -> int:
    """The most that this process has held; `anew` forgets what came before."""
    if not _CLEAR.exists():
        return 0
    if anew:
        _CLEAR.write_text("5")
    return int(re.findall(r"VmHWM:\s+(\d+)", _STATUS.read_text())[0]) // 1000


def in_a_process(asked: Case, folder: Path, seconds: float) -> Ran:
    """Run a case as a user does."""
    _laid_out(asked, folder)
    temporary = _temporary(folder)
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"}
    words = [word.replace("\x00", "").encode("utf-8", "surrogateescape") for word in asked.command]
    before = os.times()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "entropie", *words],
            cwd=folder,
            env=environment,
            input=_piped(asked),
            capture_output=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return Ran(-1, "", "no end", seconds, alone=True)
    texts = [data.decode("utf-8", "replace") for data in (done.stdout, done.stderr)]
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return Ran(
        done.returncode,
        *texts,
        spent,
        _inside(temporary),
        _written(asked, folder),
        _changed(asked, folder),
        _faults(asked, folder),
        alone=True,
    )


class _Text(io.TextIOWrapper):
    """A stream that keeps what is written, bytes or text."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8", "backslashreplace", write_through=True)

    def text(self) -> str:
        """All of it."""
        self.flush()
        data: bytes = self.buffer.getvalue()  # type: ignore[attr-defined]
        return data.decode("utf-8", "replace")


def _piped(asked: Case) -> bytes:
    return b"" if asked.piped is None else asked.files[asked.piped]


@contextlib.contextmanager
def _standard_input(asked: Case) -> Iterator[None]:
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(_piped(asked)), "utf-8")
    try:
        yield
    finally:
        sys.stdin = before


def _laid_out(asked: Case, folder: Path) -> None:
    for name, data in asked.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _temporary(folder: Path) -> Path:
    (folder / "tmp").mkdir()
    return folder / "tmp"


def _inside(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(str(path.relative_to(folder)) for path in folder.rglob("*")))


def _written(asked: Case, folder: Path) -> tuple[str, ...]:
    """Everything beside the inputs; an empty folder is nothing."""
    return tuple(
        sorted(
            str(path.relative_to(folder))
            for path in folder.rglob("*")
            if path.is_file() and path.parent.name != "tmp" and str(path.relative_to(folder)) not in asked.files
        )
    )


def _changed(asked: Case, folder: Path) -> tuple[str, ...]:
    return tuple(name for name, data in asked.files.items() if (folder / name).read_bytes() != data)


def _faults(asked: Case, folder: Path) -> tuple[str, ...]:
    """What is wrong with the files that were written: open to others, unfinished, not of their kind, an id in one."""
    found = []
    for name in _written(asked, folder):
        path, data = folder / name, (folder / name).read_bytes()
        if stat.S_IMODE(path.stat().st_mode) != 0o600:
            found.append(f"{name} is open to others")
        if name.endswith("entropie-part"):
            found.append(f"{name} is not finished")
        if path.suffix in _NO_IDS and MARK.encode() in data:
            found.append(f"an id in {name}")
        try:
            if path.suffix == ".json":
                json.loads(data, parse_constant=_refused)
            if path.suffix == ".xml":
                ElementTree.fromstring(data)
        except (ValueError, ElementTree.ParseError) as problem:
            found.append(f"{name} cannot be read: {problem}")
        if path.suffix in (".xml", ".md", ".prom") and _RAW.search(data.decode().replace("\n", "")):
            found.append(f"a control character in {name}")
    return tuple(found)


def kept(asked: Case, folder: Path, name: str) -> Path:
    """Write a case down, to be run again."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    files = {name: base64.b64encode(data).decode() for name, data in asked.files.items()}
    document = {
        "target": asked.target,
        "command": asked.command,
        "codes": sorted(asked.codes),
        "rows": asked.rows,
        "piped": asked.piped,
        "files": files,
    }
    path.write_text(json.dumps(document, indent=1) + "\n")
    return path


def kept_case(path: Path) -> Case:
    """Read it again."""
    document = json.loads(path.read_text())
    files = {name: base64.b64decode(text) for name, text in document["files"].items()}
    codes, piped = frozenset(document["codes"]), document.get("piped")
    return Case(document["target"], document["command"], files, codes, document["rows"], piped)
