"""The package as a whole: its public names, its start-up, what the repository may not contain."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import entropie

ROOT = Path(__file__).resolve().parents[1]


def test_every_public_name_is_there_and_listed():
    assert sorted(entropie.__all__) == list(entropie.__all__)
    assert set(entropie.__all__) == set(entropie._HOMES) | {"__version__"}
    for name in entropie.__all__:
        assert getattr(entropie, name) is not None
    assert dir(entropie) == entropie.__all__


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="nonsense"):
        entropie.nonsense  # noqa: B018


def loaded_by(statement: str) -> set[str]:
    program = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_start_up_imports_nothing_heavy():
    heavy = {"numpy", "numba", "pyarrow", "duckdb", "pandas", "rich"}
    assert not heavy & loaded_by("import entropie")
    assert not heavy & loaded_by("import entropie.cli.main")


def test_guarantees_need_no_compiler():
    statement = "import entropie; entropie.RandomizedResponse(domain_size=9, epsilon=1).guarantee(users=5)"
    assert not {"numba", "pyarrow"} & loaded_by(statement)


def test_locks_have_hashes_and_name_no_address():
    for lock in [*ROOT.glob("*.lock"), *ROOT.glob("benchmarks/*.lock")]:
        text = lock.read_text()
        assert "://" not in text, lock
        pins = [line for line in text.splitlines() if "==" in line]
        assert pins
        assert all(line.endswith("\\") for line in pins), lock


def test_ctrl_c_leaves_no_door_as_another_error(monkeypatch):
    """Compiled code turns KeyboardInterrupt into a SystemError; every function that runs some turns it back."""

    def stopped(*_: object, **__: object) -> None:
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    doors = {
        "entropie.assessment.assessed": lambda: entropie.assess("x.csv"),
        "entropie.release.sweep.swept": lambda: entropie.sweep("x.csv"),
    }
    for inner, door in doors.items():
        monkeypatch.setattr(inner, stopped)
        with pytest.raises(KeyboardInterrupt):
            door()
    unexpected = SystemError("of another kind")
    monkeypatch.setattr("entropie.assessment.assessed", lambda request: (_ for _ in ()).throw(unexpected))
    with pytest.raises(SystemError, match="of another kind"):
        entropie.assess("x.csv")


@pytest.mark.parametrize("name", ["apply", "assess", "attributes", "compare", "protect", "report", "scores", "sweep"])
def test_every_door_to_compiled_code_is_one_of_these(name):
    assert inspect.unwrap(getattr(entropie, name)) is not getattr(entropie, name)
