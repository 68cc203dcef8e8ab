"""The package as a whole: its public names, its start-up, what the repository may not contain."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import entropie
import entropie.gate.comparison

ROOT = Path(__file__).resolve().parents[1]


def test_every_public_name_is_there_and_listed():
    assert sorted(entropie.__all__) == list(entropie.__all__)
    assert set(entropie.__all__) == set(entropie._HOMES) | {"__version__"}
    for name in entropie.__all__:
        assert getattr(entropie, name) is not None
    assert dir(entropie) == entropie.__all__


def test_type_checkers_see_every_public_name():
    """What is imported for them alone is what `__getattr__` finds, under the same names."""
    tree = ast.parse(Path(entropie.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {alias.asname or alias.name for node in block.body for alias in node.names}
    assert seen == set(entropie._HOMES)


def test_results_say_what_they_are_in_a_few_lines():
    colour = entropie.RandomizedResponse(domain_size=10, epsilon=1.0)
    found = colour.guarantee(users=1000)
    lines = [
        "Guarantee of rr with epsilon 1: 1,000 people, 10 items, 1 report each",
        "  all reports leak: at most 0.2\xa0% of people re-identified, certainty at most 0.7\xa0%",
        "  one person's alone: at most 0.2\xa0% of people re-identified, certainty at most 0.3\xa0%",
    ]
    assert repr(found).splitlines() == lines
    spent = entropie.Ledger().add(colour, "monday").guarantee(users=1000)
    assert repr(spent).splitlines() == ["Guarantee of 1 report of each of 1,000 people, epsilon 1 in all", *lines[1:]]
    made = entropie.calibrate(users=1000, domain_size=10, bayes_error=0.9)
    head, cost, *rest = repr(made).splitlines()
    assert head == "Calibration: randomized response, epsilon 3.453"
    assert cost.startswith("  a share of 1 % has a standard error of ")
    assert rest == repr(made.guarantee).splitlines()


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


def test_shares_and_counts_may_be_text_in_python_too():
    """A budget, a policy and a goal read 90% and 1K as the command line does, and keep them as numbers."""
    limits = {"certainty": "50%", "bayes_error": "90%"}
    budget = entropie.Budget(users="1K", epsilon=3.0, **limits)
    assert budget == entropie.Budget(users=1000, epsilon=3.0, certainty=0.5, bayes_error=0.9)
    spent = entropie.Ledger().add(entropie.RandomizedResponse(domain_size=10, epsilon=1.0), "monday")
    assert spent.left(budget).within
    assert entropie.Policy("90%", "50%") == entropie.Policy(0.9, 0.5)
    assert entropie.Goal(entropie.Crowd(1000), 10, **limits) == entropie.Goal(entropie.Crowd(1000), 10, 0.9, 0.5)
    for name in limits:
        with pytest.raises(entropie.InvalidParameter, match=f"`{name}` must be a (share|probability) from 0 to 1"):
            entropie.Budget(users=10, **{name: "110%"})
    with pytest.raises(
        entropie.InvalidParameter, match="`tolerance_error` must be a share of people from 0 to below 1"
    ):
        entropie.gate.comparison.tolerated("100%")
    assert entropie.gate.comparison.tolerated("1%") == 0.01
