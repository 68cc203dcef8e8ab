"""The package as a whole: its public names, its start-up, what the repository may not contain."""

from __future__ import annotations

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
