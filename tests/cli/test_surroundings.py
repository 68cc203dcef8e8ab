"""What is around a run may be missing or change under it: folders, homes, terminals, clocks, other runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from entropie.atomic import claimed
from entropie.cli.main import run
from entropie.errors import InvalidInput

QUICK = ("--matcher", "visit", "--no-control", "--no-report")


@pytest.fixture
def events(tmp_path: Path) -> Path:
    rows = [f"u{user},i{(user * 7 + k * k) % 9},{1_500_000_000 + k}" for user in range(12) for k in range(12)]
    (tmp_path / "events.csv").write_text("\n".join(["user,item,time", *rows]) + "\n", encoding="utf-8")
    return tmp_path / "events.csv"


@pytest.mark.parametrize("file", [False, True])
def test_a_folder_that_goes_during_the_run_costs_no_result(entropie, events, monkeypatch, file):
    """It is made again; where something else has its name, what was found is printed, and the exit code tells."""
    import entropie.assessment as module

    found = module.findings_of

    def going(*given: object, **named: object) -> object:
        Path("out").rmdir()
        if file:
            Path("out").write_text("in the way")
        return found(*given, **named)

    monkeypatch.setattr(module, "findings_of", going)
    ran = entropie("assess", events, *QUICK, "--out", "out")
    assert "re-identified" in ran.out
    if file:
        assert ran.code == 74
        assert ran.err == "entropie: Output out/assessment.json cannot be written: the folder out is none.\n"
        assert Path("out").read_text() == "in the way"
    else:
        assert (ran.code, ran.err) == (0, "")
        json.loads(Path("out/assessment.json").read_text())
        assert Path("out").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_may_not_be_read_is_refused_in_a_sentence(tmp_path, monkeypatch):
    opened = os.open

    def closed(path: object, *how: int, **named: object) -> int:
        if path == tmp_path:
            raise PermissionError(13, "Permission denied", str(tmp_path))
        return opened(path, *how, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("entropie.atomic.os.open", closed)
    with pytest.raises(InvalidInput, match="cannot be read, only written to"), claimed(tmp_path):
        pass


def test_a_current_folder_that_is_gone_is_told(tmp_path, monkeypatch, capsys):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert run(["assess", "events.csv", *QUICK, "--out", "out"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_no_home_no_terminal_no_locale_and_no_folder_for_temporary_files(events, tmp_path):
    """As under a scheduler: the result is printed, and nothing appears but what was asked for."""
    (tmp_path / "work").mkdir()
    surroundings = {
        "PATH": os.environ["PATH"], "HOME": "/nonexistent", "TMPDIR": "/nonexistent", "LC_ALL": "C", "TERM": "",
        "PYTHONIOENCODING": "ascii:strict", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "20", "TZ": "Nowhere/None",
    }  # fmt: skip
    command = [sys.executable, "-m", "entropie", "assess", str(events), *QUICK, "--out", "out", "--title", "é"]
    done = subprocess.run(command, cwd=tmp_path / "work", env=surroundings, capture_output=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"re-identified" in done.stdout
    assert [str(path.relative_to(tmp_path)) for path in (tmp_path / "work").rglob("*")] == [
        "work/out",
        "work/out/assessment.json",
    ]
